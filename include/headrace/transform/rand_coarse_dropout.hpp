// RandCoarseDropout: with probability `prob`, fills boxes at random places.
//
//   RandCoarseDropout({.keys = "image", .holes = 6, .spatial_size = 16, .fill_value = 0, .prob = 0.5})
//
// The number of holes is uniform from holes to max_holes (not given: holes), each axis of each hole from spatial_size to
// max_spatial_size (not given: spatial_size), and every place where the hole fits is alike. Sizes above the image's are
// cut to it. What a hole becomes: fill_value; or, with fill_range, one number per voxel, uniform in it, from the op's
// voxel field (the voxel's index in C order, channels included, so all keys agree and holes may overlap); without
// either, uniform from the image's own minimum to its maximum. With dropout_holes = false everything but the holes is
// filled. The element type stays; integers truncate and saturate.
//
// Draws, whatever the options, the coin and the rank: 2 words for the coin, below(n) for the number of holes, then for each
// of max_holes holes 3 x below(n) for its size and 3 x below(n) for its place: 4 + 12 max_holes words but for a rejection.
//
// Errors: std::invalid_argument from the constructor (numbers out of range or order, both fills); for keys whose spatial
// shapes differ. Thread-safety: immutable; a plan with more than 4 holes allocates.
// Source: MONAI 1.6.1 RandCoarseDropoutd, with independent sizes and one field for all keys.
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
#include <vector>

namespace headrace {

struct RandCoarseDropoutOptions {
  Keys keys{};
  unsigned holes = 1;    // 1 to 1024
  Sizes spatial_size{};  // needed; 0 or less: the image's own size
  std::optional<unsigned> max_holes{};
  Sizes max_spatial_size{};
  bool dropout_holes = true;
  std::optional<double> fill_value{};
  std::optional<Range> fill_range{};
  double prob = 0.1;
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandCoarseDropout {
 public:
  static constexpr const char* name = "RandCoarseDropout";
  struct Hole {
    Shape start, size;
    friend bool operator==(const Hole&, const Hole&) = default;
  };
  struct Plan {
    bool apply = false;
    std::vector<Hole> holes{};
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandCoarseDropout(RandCoarseDropoutOptions options);

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan, const Rng& rng) const;
  Effect effect(std::string_view field) const {
    return options_.keys.contains(field) ? Effect::in_place : Effect::none;
  }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandCoarseDropoutOptions options_;
};

}  // namespace headrace
