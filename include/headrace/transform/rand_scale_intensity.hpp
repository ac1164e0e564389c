// RandScaleIntensity: with probability `prob`, multiplies by 1 + f, f uniform in `factors`.
//
//   RandScaleIntensity({.keys = "image", .factors = 0.1, .prob = 0.5})
//
// Draws 2 words for the coin, then 2 for f (with channel_wise 2 for each channel of the first key), also when the coin
// says no; one decision and one f for all keys. The result has `dtype`, whatever the coin says. Arithmetic in float32
// (float64 input: float64).
//
// Errors: std::invalid_argument from the constructor (a prob outside 0..1; factors that are not finite or not in
// order). With channel_wise, keys with more channels than the first one are an error. Thread-safety: immutable;
// channel_wise allocates. Source: MONAI 1.6.1 RandScaleIntensityd, with one draw.
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
#include <vector>

namespace headrace {

struct RandScaleIntensityOptions {
  Keys keys{};
  Range factors{};  // needed: f stands for [-f, f)
  double prob = 0.1;
  bool channel_wise = false;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
  std::optional<std::uint16_t> op{};        // pins the op's number in random addresses
};

class RandScaleIntensity {
 public:
  static constexpr const char* name = "RandScaleIntensity";
  struct Plan {
    bool apply = false;
    double factor = 0;
    std::vector<double> factors{};  // per channel, with channel_wise
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandScaleIntensity(RandScaleIntensityOptions options);

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandScaleIntensityOptions options_;
};

}  // namespace headrace
