// AdjustContrast and RandAdjustContrast: gamma correction over the image's own range.
//
//   z = x (-x with invert_image);  y = ((z - min z) / (max z - min z + 1e-7))^gamma * (max z - min z) + min z
//
// With retain_stats y is then shifted and scaled to the mean and standard deviation (of the sample, N - 1) that z had,
// so the range is not kept; with invert_image the result is negated back. All channels together. Arithmetic in float32
// (float64 input: float64), the power in double. A constant image stays as it is; NaN does not count and stays NaN.
//
// RandAdjustContrast draws 2 words for the coin and 2 for gamma, uniform in `gamma`, also when the coin says no. The
// result has `dtype`, whatever the coin says.
//
// Errors: std::invalid_argument from the constructor (a gamma that is not above 0 and at most 1000, a prob outside
// 0..1); for an image that holds an infinity. Thread-safety: immutable. Source: MONAI 1.6.1 (Rand)AdjustContrastd.
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

struct AdjustContrastOptions {
  Keys keys{};
  double gamma = 1;
  bool invert_image = false;
  bool retain_stats = false;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
};

class AdjustContrast {
 public:
  static constexpr const char* name = "AdjustContrast";

  explicit AdjustContrast(AdjustContrastOptions options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;

 private:
  AdjustContrastOptions options_;
};

struct RandAdjustContrastOptions {
  Keys keys{};
  double prob = 0.1;
  Range gamma{0.5, 4.5};
  bool invert_image = false;
  bool retain_stats = false;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
  std::optional<std::uint16_t> op{};        // pins the op's number in random addresses
};

class RandAdjustContrast {
 public:
  static constexpr const char* name = "RandAdjustContrast";
  struct Plan {
    bool apply = false;
    double gamma = 1;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  explicit RandAdjustContrast(RandAdjustContrastOptions options = {});

  Plan plan(const Sample& sample, Rng& rng) const;
  void apply(Sample& sample, const Plan& plan) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;
  std::optional<std::uint16_t> op_number() const { return options_.op; }

 private:
  RandAdjustContrastOptions options_;
};

}  // namespace headrace
