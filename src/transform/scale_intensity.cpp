#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/scale_intensity.hpp>
#include <stdexcept>

#include "channels.hpp"
#include "describe.hpp"
#include "dtype_option.hpp"
#include "statistics.hpp"

namespace headrace {
namespace {

// y = x * times, or the stretch of an image whose smallest value is low.
struct Map {
  bool stretch = false;
  double times = 1;
  double low = 0, width = 1, to_low = 0, to_width = 1;

  template <class C>
  void operator()(C* row, std::int64_t n) const {
    if (stretch) {
      const C a = static_cast<C>(low), w = static_cast<C>(width), b = static_cast<C>(to_low),
              s = static_cast<C>(to_width);
      for (std::int64_t i = 0; i < n; ++i) row[i] = (row[i] - a) / w * s + b;
    } else {
      const C k = static_cast<C>(times);
      for (std::int64_t i = 0; i < n; ++i) row[i] = row[i] * k;
    }
  }
};

}  // namespace

ScaleIntensity::ScaleIntensity(ScaleIntensityOptions options) : options_(std::move(options)) {
  const auto check = [](const char* option, const std::optional<double>& v) {
    if (v && !std::isfinite(*v)) detail::throw_option(name, option, detail::option_text(*v), "a finite number");
  };
  check("minv", options_.minv);
  check("maxv", options_.maxv);
  check("factor", options_.factor);
}

void ScaleIntensity::apply(Sample& sample) const {
  const ScaleIntensityOptions& o = options_;
  const auto map_of = [&](const Tensor& image, std::string_view field) {
    Map m;
    if (!o.minv && !o.maxv) {
      m.times = 1 + o.factor.value_or(0);
      return m;
    }
    const detail::Extremes e = detail::extremes(image);
    if (std::isinf(e.min) || std::isinf(e.max))
      throw std::invalid_argument(field_text(sample, field) + " holds an infinity; expected finite voxels");
    // An image of nothing but NaN stays one.
    if (!(e.max - e.min > 0)) {
      m.times = o.minv.value_or(1);
      return m;
    }
    m.stretch = true;
    m.low = e.min;
    m.width = e.max - e.min;
    if (o.minv && o.maxv) {
      m.to_low = *o.minv;
      m.to_width = *o.maxv - *o.minv;
    }
    return m;
  };
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType dtype = o.dtype.value_or(sample.get(field).dtype());
    detail::rewrite_channels(sample, field, dtype, effect(field) == Effect::rewrite, o.channel_wise,
                             [&](const Tensor& image) { return map_of(image, field); });
  });
}

SampleSpec ScaleIntensity::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

Effect ScaleIntensity::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string ScaleIntensity::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add_text("minv", detail::optional_text(options_.minv))
      .add_text("maxv", detail::optional_text(options_.maxv))
      .add_text("factor", detail::optional_text(options_.factor))
      .add("channel_wise", options_.channel_wise)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
