// ScaleIntensityRangePercentiles: ScaleIntensityRange whose a.min and a.max are percentiles of the image itself.
//
// The percentile p of N values is numpy's default: h = p/100 * (N - 1) in double, interpolated linearly between the
// order statistics floor(h) and floor(h) + 1. It is exact at every size and for every element type, over all channels
// together or, with channel_wise, for each by itself. With `relative`, b becomes (b_max - b_min) * p/100 + b_min at
// either end. Where both percentiles are equal, y = x - a + b_min, not clipped. The result always has `dtype`, whatever
// the voxels.
//
// NaN: an image that holds one is an error, unless skip_nan leaves them out of the percentiles (and as they are in the
// result). Percentiles that are infinite, an image without voxels or with NaN only are errors too; they name the file.
//
// Cost: the order statistics come from counting passes over 16-bit digits of the values (1 for 8- and 16-bit types, 2
// for 32-bit, 4 for 64-bit): the volume is neither copied nor sorted. About 0.5 MB of counters are allocated per digit.
// Thread-safety: const. Source: Hyndman and Fan 1996, type 7; MONAI 1.6 for the options.
#pragma once

#include <headrace/transform/keys.hpp>
#include <headrace/transform/scale_intensity_range.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace headrace {

// The two percentiles (in percent, 0 <= lower, upper <= 100) of a tensor's elements. Throws std::invalid_argument for a
// percentage out of range, a tensor without elements (or only NaN), and for NaN unless skip_nan.
std::pair<double, double> percentiles(const Tensor& values, double lower, double upper, bool skip_nan = false);

struct ScaleIntensityRangePercentilesOptions {
  Keys keys{};
  double lower = 0;    // percent
  double upper = 100;  // percent, not below lower
  std::optional<double> b_min{};
  std::optional<double> b_max{};
  bool clip = false;
  bool relative = false;  // needs both b_min and b_max
  bool channel_wise = false;
  bool skip_nan = false;
  std::optional<DType> dtype = DType::f32;  // std::nullopt: the input's
};

class ScaleIntensityRangePercentiles {
 public:
  static constexpr const char* name = "ScaleIntensityRangePercentiles";
  using Options = ScaleIntensityRangePercentilesOptions;

  explicit ScaleIntensityRangePercentiles(Options options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const;
  std::string describe() const;

 private:
  Options options_;
};

}  // namespace headrace
