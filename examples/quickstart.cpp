// The whole of Headrace in twenty lines: read NIfTI volumes, prepare them once, cut and augment patches, get batches.
//   quickstart FOLDER      with imagesTr/*.nii.gz and labelsTr/*.nii.gz of the same names
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <headrace/headrace.hpp>

namespace hr = headrace;

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: quickstart FOLDER\n"), 2;
  const std::filesystem::path root = argv[1];
  std::vector<std::string> images, labels;
  for (const auto& file : std::filesystem::directory_iterator(root / "imagesTr")) images.push_back(file.path());
  std::sort(images.begin(), images.end());
  for (const std::string& image : images) labels.push_back(root / "labelsTr" / std::filesystem::path(image).filename());

  auto files = hr::NiftiDataset({{"image", images}, {"label", labels}}, {.dtypes = {{"label", hr::DType::i16}}});
  auto cached =
      hr::CacheDataset(files, hr::compose(  // computed once
                                  hr::Orientation({.axcodes = "RAS"}),
                                  hr::ScaleIntensityRangePercentiles(
                                      {.keys = "image", .lower = 1, .upper = 99, .b_min = 0, .b_max = 1, .clip = true}),
                                  hr::CropForeground({.source_key = "image"}),
                                  hr::FgBgToIndices({.label_key = "label", .image_key = "image"})));
  auto augment = hr::compose(  // every epoch anew
      hr::RandCropByPosNegLabel({.label_key = "label", .spatial_size = 32, .num_samples = 4}),
      hr::RandAffine({.prob = 0.5, .rotate_range = {0.26, 0.26, 0.26}}), hr::RandFlip({.prob = 0.5, .spatial_axis = 0}),
      [](hr::Sample& s, hr::Rng& rng) { s.tensor("image").add_(rng.normal(0, 0.01)); });  // your own

  hr::Loader loader(cached, augment, {.batch_size = 2, .shuffle = true, .seed = 0, .threads = 2});
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch)
    for (hr::Batch& batch : loader.epoch(epoch))
      std::printf("epoch %u step %llu: image %s, label %s\n", epoch, static_cast<unsigned long long>(batch.step()),
                  batch["image"].shape().str().c_str(), batch["label"].shape().str().c_str());
}
