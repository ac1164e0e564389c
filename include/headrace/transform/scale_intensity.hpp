// ScaleIntensity: maps an image's own smallest and largest value to minv and maxv, or multiplies by 1 + factor.
//
//   y = (x - min) / (max - min) * (maxv - minv) + minv
//   y = x * (1 + factor)      where minv and maxv are both absent; y = x without a factor
//
// With one of minv and maxv only, the result is 0 to 1, as in MONAI. An image of one value: y = x * minv (x where there
// is no minv). Arithmetic in float32 (float64 input: float64); then the result becomes `dtype`, integers truncated and
// saturated. NaN does not count and stays NaN. With channel_wise every channel has its own min and max.
//
// Errors: std::invalid_argument from the constructor for numbers that are not finite; for an image that holds an
// infinity. Thread-safety: immutable. Source: MONAI 1.6.1 ScaleIntensityd.
#pragma once

#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/keys.hpp>
#include <headrace/transform/options.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

struct ScaleIntensityOptions {
  Keys keys{};
  std::optional<double> minv = 0.0;
  std::optional<double> maxv = 1.0;
  std::optional<double> factor{};
  bool channel_wise = false;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
};

class ScaleIntensity {
 public:
  static constexpr const char* name = "ScaleIntensity";

  explicit ScaleIntensity(ScaleIntensityOptions options = {});

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;

 private:
  ScaleIntensityOptions options_;
};

}  // namespace headrace
