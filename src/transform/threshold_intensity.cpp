#include <cmath>
#include <headrace/transform/threshold_intensity.hpp>

#include "../tensor/convert.hpp"
#include "describe.hpp"
#include "rows.hpp"

namespace headrace {

ThresholdIntensity::ThresholdIntensity(ThresholdIntensityOptions options) : options_(std::move(options)) {
  if (std::isnan(options_.threshold)) detail::throw_option(name, "threshold", "NaN", "a number");
}

// Compared in double, not in float32: large integers keep their last digits.
void ThresholdIntensity::apply(Sample& sample) const {
  const double t = options_.threshold;
  const bool above = options_.above;
  options_.keys.for_each(sample, [&](std::string_view field) {
    const Tensor from = sample.get(field);
    if (from.numel() == 0) return;
    const Tensor to = sample.output(field, from.dtype(), from.shape());
    visit_dtype(from.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T other = detail::convert<T>(options_.cval);
      const T* in = from.data<T>();
      T* out = detail::own_data<T>(to);
      const int last = from.rank() - 1;
      const std::int64_t n = last < 0 ? 1 : from.shape()[last], step = last < 0 ? 1 : from.strides()[last];
      const auto row = [&](std::int64_t a) {
        for (std::int64_t i = 0; i < n; ++i) {
          const T v = in[a + i * step];
          const auto x = detail::convert<double>(v);
          *out++ = (above ? x > t : x < t) ? v : other;
        }
      };
      if (last < 0)
        row(0);
      else
        detail::for_each_row(from.shape(), from.strides(), [&](const auto&, std::int64_t a) { row(a); });
    });
    sample.set(field, to);
  });
}

std::string ThresholdIntensity::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("threshold", options_.threshold)
      .add("above", options_.above)
      .add("cval", options_.cval)
      .str();
}

}  // namespace headrace
