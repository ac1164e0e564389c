// RandSpatialCrop and RandSpatialCropSamples: one patch, or num_samples patches, of a size that is given or random, at a
// random place or in the middle. The same box of every key.
//
//   RandSpatialCrop({.roi_size = 64})
//   RandSpatialCropSamples({.roi_size = {96, 96, 32}, .num_samples = 4})
//
// An entry of roi_size that is 0 or less is the image's own size. With random_size the size of each axis is uniform from
// roi_size to max_roi_size (not given: the image's size), both included. With random_center every place where the patch
// fits is alike; without, the patch lies as CenterSpatialCrop's. Results are views: no voxel is copied.
//
// Draws, whatever the options and the number of axes: 3 numbers below(n) for the sizes (n = 1 where they are fixed), then
// 3 for the places: 12 words but for a rejection, which happens about once in 2^50 draws.
//
// Errors: std::invalid_argument from the constructor; for keys whose spatial shapes differ, a patch larger than the image
// (unless allow_smaller), a smallest size above the largest. Thread-safety: immutable.
// Source: MONAI 1.6.1 RandSpatialCrop(Samples)d, which gives silently smaller patches where ours is an error.
#pragma once

#include <cstdint>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct RandSpatialCropOptions {
  Keys keys{};
  Sizes roi_size{};      // needed
  Sizes max_roi_size{};  // with random_size
  bool random_center = true;
  bool random_size = false;
  bool allow_smaller = false;         // an image smaller than roi_size gives smaller patches instead of an error
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

namespace detail {

// What the two ops share.
class RandomBox {
 public:
  struct Plan {
    Shape start, size;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  RandomBox(RandSpatialCropOptions options, const char* op);

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  // The one spatial shape of all keys.
  Shape image_shape(const Sample& sample) const;

  RandSpatialCropOptions options_;
  const char* op_;
};

}  // namespace detail

class RandSpatialCrop : public detail::RandomBox {
 public:
  static constexpr const char* name = "RandSpatialCrop";
  explicit RandSpatialCrop(RandSpatialCropOptions options) : RandomBox(std::move(options), name) {}
};

struct RandSpatialCropSamplesOptions {
  Keys keys{};
  Sizes roi_size{};          // needed
  unsigned num_samples = 1;  // 1 to 16383
  Sizes max_roi_size{};
  bool random_center = true;
  bool random_size = false;
  bool allow_smaller = false;
  std::optional<std::uint16_t> op{};
};

class RandSpatialCropSamples : public detail::RandomBox {
 public:
  static constexpr const char* name = "RandSpatialCropSamples";
  explicit RandSpatialCropSamples(RandSpatialCropSamplesOptions options);
  unsigned count() const { return num_samples_; }
  std::string describe() const;

 private:
  unsigned num_samples_;
};

}  // namespace headrace
