// NormalizeIntensity: y = (x - subtrahend) / divisor; by default the image's own mean and standard deviation.
//
// The deviation is the population's (divided by the count), in double. A divisor of 0 counts as 1, and so does a
// deviation below 1e-6 of the mean's size: a constant image becomes 0. With nonzero only voxels other than 0 count and
// change. With channel_wise every channel has its own numbers: subtrahend and divisor then hold one value per channel.
// Arithmetic in float32 (float64 input: float64); then the result becomes `dtype`.
//
// Errors: std::invalid_argument from the constructor (values that are not finite; several values without channel_wise);
// for a number of values other than the number of channels. Thread-safety: immutable.
// Source: MONAI 1.6.1 NormalizeIntensityd, except for the constant image.
#pragma once

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

struct NormalizeIntensityOptions {
  Keys keys{};
  std::vector<double> subtrahend{};  // none: the mean
  std::vector<double> divisor{};     // none: the standard deviation
  bool nonzero = false;
  bool channel_wise = false;
  std::optional<DType> dtype = DType::f32;  // nothing: the image's own
};

class NormalizeIntensity {
 public:
  static constexpr const char* name = "NormalizeIntensity";

  explicit NormalizeIntensity(NormalizeIntensityOptions options = {});

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;

 private:
  NormalizeIntensityOptions options_;
};

}  // namespace headrace
