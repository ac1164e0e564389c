// RandAffine: with probability `prob`, resamples every key under one random rotation, shear, translation and scaling
// about the image's centre.
//
//   RandAffine({.prob = 0.5, .rotate_range = {0.26, 0.26, 0.26}, .scale_range = {0.1, 0.1, 0.1}})
//
// Output voxel o of an image of size n, resampled to size m, shows the input at
//   x = M (o - (m-1)/2) + (n-1)/2,    M = Rotation * Shear * Translation * Scaling
// which is a pull map: a scale of 2 shrinks the picture, a translation of +1 moves it by -1. Rotations are in radians
// (2-D: one; 3-D: about axis 0, 1, 2, Rx Ry Rz), shears are elementary ones applied one after another in the order of
// the matrix entries (2-D: [0][1] [1][0]; 3-D: [0][1] [0][2] [1][0] [1][2] [2][0] [2][1]), translations are in voxels,
// a scale is 1 + the number drawn. An entry of a range is f for [-f, f), {low, high} for [low, high), or std::nullopt
// for 0; axes without an entry get 0.
//
// One plan for all keys: each key is resampled about its own centre, with its own mode and padding. Draws 2 words for
// the coin, then 2 per entry in the order rotate, shear, translate, scale, also when the coin says no and whatever the
// sample. The element type is kept: integers are taken from the nearest voxel unless .mode says linear (then rounded
// half to even and clamped). When the coin says no and the size stays, nothing is written; if the size changes, the
// image is resampled with M = 1. The affine is updated, so every voxel keeps its world position.
//
// Errors: std::invalid_argument from the constructor (a prob outside 0..1, a range that is not finite or has low >
// high, too many entries, modes that do not match the keys); for more entries than an image of this rank has
// parameters, keys of different rank, a spatial_size of the wrong length, more than 2^31 voxels per channel.
// Thread-safety: immutable. Source: MONAI 1.6.1 RandAffined, with the deliberate differences above (None is 0, one
// draw, own centres, own dtype).
#pragma once

#include <cstdint>
#include <headrace/random/rng.hpp>
#include <headrace/sample/affine.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

struct RandAffineOptions {
  Keys keys{};
  double prob = 0.1;
  std::vector<Range> rotate_range{};  // radians
  std::vector<Range> shear_range{};
  std::vector<Range> translate_range{};  // voxels
  std::vector<Range> scale_range{};      // added to 1
  Sizes spatial_size{};                  // 0 or negative, or nothing: the image's own size
  PerKey<Interpolation> mode = Interpolation::by_dtype;
  PerKey<Padding> padding_mode = Padding::reflection;
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

// M for an image of `rank` spatial axes (1 to 3), in the upper left of a 4x4 matrix with its translation in the last
// column. Missing entries are 0. Throws std::invalid_argument for more entries than the rank has parameters.
Affine affine_matrix(int rank, std::span<const double> rotate, std::span<const double> shear = {},
                     std::span<const double> translate = {}, std::span<const double> scale = {});

class RandAffine {
 public:
  static constexpr const char* name = "RandAffine";
  struct Plan {
    bool apply = false;
    Affine matrix{};  // M, about the centre; identity when not applied
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandAffine(RandAffineOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  // Any plan may be given, a hand-made one too.
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandAffineOptions options_;
};

}  // namespace headrace
