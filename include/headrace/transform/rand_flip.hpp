// RandFlip: with probability `prob`, mirrors every key along the given spatial axes. One decision for all keys and
// axes.
//
//   RandFlip({.prob = 0.5, .spatial_axis = {0}})
//
// The result is a view: no voxel is copied. The affine is updated, so every voxel keeps its world position. Draws one
// coin (2 words), whatever the sample.
//
// Errors: std::invalid_argument from the constructor (a prob outside 0..1, an axis named twice); for an axis that the
// image does not have: when the specification is inferred, and when applied, whether or not the coin says flip.
// Thread-safety: immutable. Wait-free. Source: MONAI 1.6.1 RandFlipd.
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

struct RandFlipOptions {
  Keys keys{};
  double prob = 0.1;
  OneOrMany<int> spatial_axis{};      // negative axes count from the last one; none given: every spatial axis
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class RandFlip {
 public:
  static constexpr const char* name = "RandFlip";
  struct Plan {
    bool flip = false;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandFlip(RandFlipOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;  // checks the axes; shapes stay
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::view : Effect::none; }
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandFlipOptions options_;
};

}  // namespace headrace
