// RandGaussianNoise: with probability `prob`, adds normal noise of the given mean and a standard deviation that is
// uniform in [0, std), or std itself without sample_std.
//
//   RandGaussianNoise({.keys = "image", .prob = 0.15, .std = 0.1})
//
// Draws 2 words for the coin and 2 for the deviation, also when the coin says no. The noise of voxel v (its index in C
// order, channels included) is the number at word v of the op's voxel field, one word each: the same field for all
// keys, on any number of threads. The result has `dtype`, whatever the coin says. Arithmetic in float32: x + float32
// noise (float64 input: the sum is float64).
//
// Errors: std::invalid_argument from the constructor (a prob outside 0..1; mean or std not finite, std below 0).
// Thread-safety: immutable. Source: MONAI 1.6.1 RandGaussianNoised, with one element type.
#pragma once

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

struct RandGaussianNoiseOptions {
  Keys keys{};
  double prob = 0.1;
  double mean = 0;
  double std = 0.1;
  bool sample_std = true;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
  std::optional<std::uint16_t> op{};        // pins the op's number in random addresses
};

class RandGaussianNoise {
 public:
  static constexpr const char* name = "RandGaussianNoise";
  struct Plan {
    bool apply = false;
    double std = 0;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandGaussianNoise(RandGaussianNoiseOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan, const Rng& rng) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandGaussianNoiseOptions options_;
};

}  // namespace headrace
