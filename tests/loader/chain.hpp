// The whole chain of the field's example on small pictures in memory.
#pragma once

#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/dataset/dataset.hpp>
#include <headrace/transform/crop_foreground.hpp>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <headrace/transform/orientation.hpp>
#include <headrace/transform/rand_affine.hpp>
#include <headrace/transform/rand_crop_by_pos_neg_label.hpp>
#include <headrace/transform/rand_flip.hpp>
#include <headrace/transform/random_delay.hpp>
#include <headrace/transform/scale_intensity_range_percentiles.hpp>
#include <headrace/transform/spacing.hpp>

#include "support/volumes.hpp"

namespace headrace::test {

inline std::vector<Sample> pictures(std::uint32_t count) {
  std::vector<Sample> samples;
  for (std::uint32_t i = 0; i < count; ++i) {
    Affine affine;
    // Oblique, left-handed, axes in another order; another spacing in each.
    affine.m = {-0.05, 1.25, 0.0, -11.5, 1.0, 0.125, 0.0, 4.25, 0.0, 0.0625, -1.125, 30.0, 0, 0, 0, 1};
    affine(0, 1) += 0.125 * i;
    samples.push_back(picture(i, {22 + i % 3, 25 - i % 4, 20 + i % 5}, affine));
  }
  return samples;
}

inline Pipeline deterministic_part() {
  return compose(Orientation({.axcodes = "RAS"}), Spacing({.pixdim = {1.5, 1.25, 1.0}}),
                 ScaleIntensityRangePercentiles(
                     {.keys = "image", .lower = 1, .upper = 99, .b_min = 0.0, .b_max = 1.0, .clip = true}),
                 CropForeground({.source_key = "image"}), FgBgToIndices({.label_key = "label", .image_key = "image"}));
}

struct RandomPart {
  double flip = 0.5;
  double rotate = 0.26;
  std::chrono::microseconds delay{0};
};

inline Pipeline random_part(RandomPart o = {}) {
  return compose(
      RandomDelay{o.delay}, RandCropByPosNegLabel({.label_key = "label", .spatial_size = {9, 8, 7}, .num_samples = 3}),
      RandAffine({.prob = 0.5, .rotate_range = {o.rotate, o.rotate, o.rotate}, .scale_range = {0.1, 0.1, 0.1}}),
      RandFlip({.prob = o.flip, .spatial_axis = {0}}), RandomDelay{o.delay},
      [](Sample& s, Rng& rng) { s.tensor("image").add_(rng.normal(0, 0.01)); });
}

}  // namespace headrace::test
