// Uses headrace::headrace from an install tree: the whole chain on synthetic volumes, with a callable of the host's
// own. What it prints must not depend on the compiler flags of this file. (With -ffast-math the start-up code even sets
// flush-to-zero for the process.)
#include <cstdio>
#include <headrace/headrace.hpp>

namespace hr = headrace;

static hr::Sample make_item(std::uint64_t index) {
  const hr::Shape shape{1, 40 + static_cast<std::int64_t>(index), 36, 33};
  hr::Tensor image = hr::Tensor::zeros(hr::DType::i16, shape), label = hr::Tensor::zeros(hr::DType::u8, shape);
  hr::Rng rng({.seed = 99, .item = index});
  auto* voxels = image.mutable_data<std::int16_t>();
  auto* labels = label.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < image.numel(); ++i) {
    voxels[i] = static_cast<std::int16_t>(rng.below(2000));
    labels[i] = (i / 7 + static_cast<std::int64_t>(index)) % 11 == 0;
  }
  hr::Affine affine = hr::Affine::scaling({-1.1, 0.9, 1.3});
  affine(0, 1) = 0.05;
  hr::Sample sample;
  sample.set("image", image.to(hr::DType::f32), affine);
  sample.set("label", label, affine);
  return sample;
}

int main() {
  const hr::SampleSpec spec{{{.name = "image", .dtype = hr::DType::f32, .shape = {1, -1, -1, -1}},
                             {.name = "label", .dtype = hr::DType::u8, .shape = {1, -1, -1, -1}}}};
  const hr::CacheDataset cached(
      hr::FunctionDataset(7, spec, make_item),
      hr::compose(hr::Orientation({.axcodes = "RAS"}), hr::Spacing({.pixdim = {1.2, 1.0, 1.1}}),
                  hr::ScaleIntensityRangePercentiles(
                      {.keys = "image", .lower = 1, .upper = 99, .b_min = 0, .b_max = 1, .clip = true}),
                  hr::CropForeground({.source_key = "image"}),
                  hr::FgBgToIndices({.label_key = "label", .image_key = "image"})));
  const auto augment = hr::compose(
      hr::RandCropByPosNegLabel({.label_key = "label", .spatial_size = {16, 15, 14}, .num_samples = 3}),
      hr::RandAffine(
          {.prob = 0.8, .rotate_range = {0.3, 0.2, 0.1}, .shear_range = {0.1}, .scale_range = {0.1, 0.1, 0.1}}),
      hr::RandFlip({.prob = 0.5, .spatial_axis = {0, 2}}),
      [](hr::Sample& s, hr::Rng& rng) { s.tensor("image").add_(rng.normal(0, 0.01)).mul_(rng.uniform(0.9, 1.1)); });
  for (unsigned threads : {0u, 3u}) {
    hr::Loader loader(cached, augment, {.batch_size = 2, .shuffle = true, .seed = 5, .threads = threads});
    hr::DigestChain digest;
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch)
      for (hr::Batch& batch : loader.epoch(epoch)) digest.add(batch);
    std::printf("library %s: %s\n", hr::version_string, digest.ordered().hex().c_str());
  }
}
