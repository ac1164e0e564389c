#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/scale_intensity_range_percentiles.hpp>
#include <limits>
#include <stdexcept>

#include "describe.hpp"
#include "dtype_option.hpp"
#include "intensity.hpp"

namespace headrace {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("ScaleIntensityRangePercentiles: " + what);
}

// The mapping for these voxels.
detail::Rescale mapping(const Tensor& voxels, const ScaleIntensityRangePercentilesOptions& o,
                        const std::string& field) {
  std::pair<double, double> a;
  try {
    a = percentiles(voxels, o.lower, o.upper, o.skip_nan);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(field + ": " + e.what());
  }
  if (!std::isfinite(a.first) || !std::isfinite(a.second))
    throw std::invalid_argument(field + ": the percentiles " + detail::option_text(a.first) + " and " +
                                detail::option_text(a.second) + " are not finite");
  detail::Rescale map{.a_min = a.first, .a_max = a.second, .b_min = o.b_min, .b_max = o.b_max, .clip = o.clip};
  if (o.relative) {
    const double width = *o.b_max - *o.b_min;
    map.b_min = width * (o.lower / 100) + *o.b_min;
    map.b_max = width * (o.upper / 100) + *o.b_min;
  }
  return map;
}

}  // namespace

ScaleIntensityRangePercentiles::ScaleIntensityRangePercentiles(Options options) : options_(std::move(options)) {
  const Options& o = options_;
  const auto check = [](const char* option, double p) {
    if (!(p >= 0 && p <= 100))
      refuse(std::string(option) + " = " + detail::option_text(p) + "; expected a percentage from 0 to 100");
  };
  check("lower", o.lower);
  check("upper", o.upper);
  if (o.lower > o.upper)
    refuse("lower = " + detail::option_text(o.lower) + " is above upper = " + detail::option_text(o.upper));
  detail::check_target(name, o.b_min, o.b_max, o.clip);
  if (o.relative && !(o.b_min && o.b_max)) refuse("relative = true needs both b_min and b_max");
}

void ScaleIntensityRangePercentiles::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view key) {
    const std::string field = field_text(sample, key);
    const DType dtype = options_.dtype.value_or(sample.get(key).dtype());
    if (!options_.channel_wise) {
      const detail::Rescale map = mapping(sample.get(key), options_, field);
      const Tensor to = detail::intensity_target(sample, key, dtype, effect(key) == Effect::rewrite);
      detail::rescale(sample.get(key), to, map);
      sample.set(key, to);
      return;
    }
    if (sample.get(key).rank() < 2) throw std::invalid_argument(field + " has no channel axis");
    // All mappings first: an error in a later channel must not leave earlier ones rescaled in place.
    std::vector<detail::Rescale> maps;
    const std::int64_t channels = sample.get(key).size(0);
    for (std::int64_t c = 0; c < channels; ++c)
      maps.push_back(mapping(sample.get(key).select(0, c), options_, field + ", channel " + std::to_string(c)));
    const Tensor to = detail::intensity_target(sample, key, dtype, effect(key) == Effect::rewrite);
    for (std::int64_t c = 0; c < channels; ++c)
      detail::rescale(sample.get(key).select(0, c), to.select(0, c), maps[static_cast<std::size_t>(c)]);
    sample.set(key, to);
  });
}

SampleSpec ScaleIntensityRangePercentiles::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

Effect ScaleIntensityRangePercentiles::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string ScaleIntensityRangePercentiles::describe() const {
  const Options& o = options_;
  return detail::OptionList()
      .add("keys", o.keys)
      .add("lower", o.lower)
      .add("upper", o.upper)
      .add_text("b_min", detail::optional_text(o.b_min))
      .add_text("b_max", detail::optional_text(o.b_max))
      .add("clip", o.clip)
      .add("relative", o.relative)
      .add("channel_wise", o.channel_wise)
      .add("skip_nan", o.skip_nan)
      .add_text("dtype", detail::optional_text(o.dtype))
      .str();
}

}  // namespace headrace
