// ScaleIntensityRange: maps the intensities [a.min, a.max] to [b.min, b.max].
//
//   y = (x - a.min) / (a.max - a.min);  with both of b:  y = y * (b.max - b.min) + b.min;  with clip: y into [b.min,
//   b.max]
//
// Arithmetic is in float32 (integers become float32 first; float64 input is computed in float64), in this order, the
// widths a.max - a.min and b.max - b.min computed in double and then rounded. Then the result becomes `dtype`; integer
// targets truncate toward zero and saturate. NaN stays NaN (0 in an integer type), infinities clip. A missing side of b
// leaves that side of the clip open; with one side only there is no mapping to b.
// a.min == a.max: y = x - a.min (+ b.min where given), not clipped, in the input's own type, as MONAI does.
//
// New voxels go to Sample::output() where the type changes, otherwise in place (shared voxels are written elsewhere
// first). Errors (construction): std::invalid_argument naming the option. Thread-safety: const.
#pragma once

#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

// `.a = {-57, 164}`; a side left out is open: `.b = {.max = 1}`.
struct IntensityRange {
  std::optional<double> min{};
  std::optional<double> max{};
};

namespace detail {

// The mapping itself, for whoever knows a and b: finite numbers.
struct Rescale {
  double a_min = 0, a_max = 1;
  std::optional<double> b_min{}, b_max{};
  bool clip = false;
};

}  // namespace detail

struct ScaleIntensityRangeOptions {
  Keys keys{};         // default: every tensor
  IntensityRange a{};  // needed
  IntensityRange b{};
  // The same four numbers under MONAI's names; each may be given once.
  std::optional<double> a_min{}, a_max{}, b_min{}, b_max{};
  bool clip = false;
  std::optional<DType> dtype = DType::f32;  // std::nullopt: the input's
};

class ScaleIntensityRange {
 public:
  static constexpr const char* name = "ScaleIntensityRange";
  using Options = ScaleIntensityRangeOptions;

  explicit ScaleIntensityRange(Options options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;

 private:
  Keys keys_;
  detail::Rescale map_;
  std::optional<DType> dtype_;
};

}  // namespace headrace
