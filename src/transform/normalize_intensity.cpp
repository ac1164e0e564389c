#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/normalize_intensity.hpp>
#include <stdexcept>

#include "channels.hpp"
#include "describe.hpp"
#include "dtype_option.hpp"
#include "statistics.hpp"

namespace headrace {
namespace {

struct Map {
  double minus = 0, by = 1;
  bool nonzero = false;

  template <class C>
  void operator()(C* row, std::int64_t n) const {
    const C m = static_cast<C>(minus), d = static_cast<C>(by);
    if (nonzero)
      for (std::int64_t i = 0; i < n; ++i) row[i] = row[i] != 0 ? (row[i] - m) / d : row[i];
    else
      for (std::int64_t i = 0; i < n; ++i) row[i] = (row[i] - m) / d;
  }
};

}  // namespace

NormalizeIntensity::NormalizeIntensity(NormalizeIntensityOptions options) : options_(std::move(options)) {
  const auto check = [&](const char* option, const std::vector<double>& values) {
    for (const double v : values)
      if (!std::isfinite(v)) detail::throw_option(name, option, detail::option_text(values), "finite numbers");
    if (values.size() > 1 && !options_.channel_wise)
      detail::throw_option(name, option, detail::option_text(values), "one value, or channel_wise = true");
  };
  check("subtrahend", options_.subtrahend);
  check("divisor", options_.divisor);
}

void NormalizeIntensity::apply(Sample& sample) const {
  const NormalizeIntensityOptions& o = options_;
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor& image = sample.get(field);
    const auto channels = image.rank() > 0 ? static_cast<std::size_t>(image.size(0)) : 1;
    const auto check = [&](const char* option, const std::vector<double>& values) {
      if (o.channel_wise && !values.empty() && values.size() != channels)
        throw std::invalid_argument(std::string(name) + ": " + option + " = " + detail::option_text(values) +
                                    ", but expected one value for each of the " + std::to_string(channels) +
                                    " channels of " + field_text(sample, field));
    };
    check("subtrahend", o.subtrahend);
    check("divisor", o.divisor);
    std::size_t channel = 0;
    const auto map_of = [&](const Tensor& part) {
      Map map{.nonzero = o.nonzero};
      detail::Moments m;
      if (o.subtrahend.empty() || o.divisor.empty()) m = detail::moments(part, o.nonzero);
      map.minus = o.subtrahend.empty() ? m.mean : o.subtrahend[channel];
      const double deviation = std::sqrt(m.variance);
      map.by = o.divisor.empty() ? (deviation <= 1e-6 * std::fabs(m.mean) ? 0 : deviation) : o.divisor[channel];
      if (map.by == 0) map.by = 1;
      ++channel;
      return map;
    };
    const DType dtype = o.dtype.value_or(image.dtype());
    detail::rewrite_channels(sample, field, dtype, effect(field) == Effect::rewrite, o.channel_wise, map_of);
  });
}

SampleSpec NormalizeIntensity::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

Effect NormalizeIntensity::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string NormalizeIntensity::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("subtrahend", options_.subtrahend)
      .add("divisor", options_.divisor)
      .add("nonzero", options_.nonzero)
      .add("channel_wise", options_.channel_wise)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
