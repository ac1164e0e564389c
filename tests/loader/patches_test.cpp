// Many patches from volumes of mixed shapes on eight threads: each of the size asked for, image and label cut at the
// same place. The voxels hold their own coordinates, so that a wrong cut cannot hide.
#include <gtest/gtest.h>

#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>

#include "support/deadline.hpp"
#include "support/volumes.hpp"

namespace headrace::test {
namespace {

struct Coordinates {
  std::uint64_t item;
  std::int64_t x, y, z;
};
Coordinates decode(float value) {
  const auto code = static_cast<std::int64_t>(value);
  return {static_cast<std::uint64_t>(code >> 18), code >> 12 & 63, code >> 6 & 63, code & 63};
}

// The number of voxels that are not what the patch's first voxel says they must be.
std::int64_t wrong_voxels(const Sample& s, const std::array<std::int64_t, 3>& n, bool flipped) {
  const Tensor image = s.get("image"), label = s.get("label");
  if (!(image.shape() == Shape{1, n[0], n[1], n[2]}) || !(label.shape() == image.shape())) return -1;
  const float* f = image.data<float>();
  const std::int32_t* l = label.data<std::int32_t>();
  const Coordinates first = decode(*f);
  if (first.item != s.origin().index) return -2;
  std::int64_t wrong = 0;
  for (std::int64_t x = 0; x < n[0]; ++x)
    for (std::int64_t y = 0; y < n[1]; ++y)
      for (std::int64_t z = 0; z < n[2]; ++z, ++f, ++l) {
        const std::int64_t vx = first.x + (flipped ? -x : x), vy = first.y + y, vz = first.z + z;
        const std::int64_t code = code_of(first.item, vx, vy, vz);
        if (static_cast<std::int64_t>(*f) != code || *l != (is_foreground(vx, vy, vz) ? code : 0)) ++wrong;
      }
  return wrong;
}

void run(bool flips, std::int64_t patches, LoaderOptions options) {
  const std::array<std::int64_t, 3> n{5, 4, 3};
  const CacheDataset data(MemoryDataset(coded_samples(24)), compose(FgBgToIndices({.label_key = "label"})));
  const Pipeline pipeline =
      compose(RandCropByPosNegLabel({.label_key = "label", .spatial_size = {n[0], n[1], n[2]}, .num_samples = 32}),
              RandFlip({.prob = flips ? 1.0 : 0.0, .spatial_axis = {0}}));
  Loader loader(data, pipeline, std::move(options));
  std::int64_t seen = 0, bad = 0;
  std::uint64_t foreground_centres = 0;
  for (std::uint32_t epoch = 0; seen < patches; ++epoch)
    for (Batch& batch : loader.epoch(epoch))
      for (std::size_t i = 0; i < batch.size(); ++i, ++seen) {
        const Sample s = batch.sample(i);
        if (wrong_voxels(s, n, flips) != 0) ++bad;
        // The affine says the same: voxel 0 lies where its coordinates put it.
        const Coordinates first = decode(*s.get("image").data<float>());
        const auto at = s.affine("image").apply({0, 0, 0});
        if (at[0] != static_cast<double>(first.x) || at[1] != 1.25 * static_cast<double>(first.y) ||
            at[2] != 1.5 * static_cast<double>(first.z))
          ++bad;
        const Tensor& label = s.get("label");
        foreground_centres += label.at<std::int64_t>({0, flips ? 2 : 2, 2, 1}) != 0;
      }
  EXPECT_EQ(bad, 0) << "of " << seen;
  EXPECT_GE(seen, patches);
  // pos : neg = 1 : 1, and a third of the voxels is foreground where centres were moved inward.
  EXPECT_GT(foreground_centres, static_cast<std::uint64_t>(seen) / 3);
  EXPECT_LT(foreground_centres, static_cast<std::uint64_t>(seen) * 2 / 3);
  EXPECT_LE(loader.stats().engine.window_high_water, loader.stats().window);
}

TEST(Patches, AHundredThousandFromMixedShapesOnEightThreads) {
  const Deadline deadline;
  const int each = scaled(50000);
  run(false, each, {.batch_size = 3, .shuffle = true, .seed = 1, .threads = 8});
  run(true, each, {.batch_size = 4, .shuffle = true, .seed = 2, .threads = 8, .window = 3, .help = false});
}

}  // namespace
}  // namespace headrace::test
