// ThresholdIntensity: keeps what lies strictly above (or below) a threshold and replaces the rest by cval.
//
//   above: y = x > threshold ? x : cval          below: y = x < threshold ? x : cval
//
// The element type stays; in an integer image cval truncates toward zero and saturates. NaN becomes cval.
//
// Errors: std::invalid_argument from the constructor for a threshold that is NaN. Thread-safety: immutable.
// Source: MONAI 1.6.1 ThresholdIntensityd.
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

struct ThresholdIntensityOptions {
  Keys keys{};
  double threshold = 0;  // infinities are allowed
  bool above = true;
  double cval = 0;
};

class ThresholdIntensity {
 public:
  static constexpr const char* name = "ThresholdIntensity";

  explicit ThresholdIntensity(ThresholdIntensityOptions options);

  void apply(Sample& sample) const;
  Effect effect(std::string_view field) const {
    return options_.keys.contains(field) ? Effect::in_place : Effect::none;
  }
  std::string describe() const;

 private:
  ThresholdIntensityOptions options_;
};

}  // namespace headrace
