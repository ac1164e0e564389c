#include <cmath>
#include <headrace/transform/adjust_contrast.hpp>
#include <headrace/transform/crop_geometry.hpp>
#include <stdexcept>

#include "describe.hpp"
#include "dtype_option.hpp"
#include "pointwise.hpp"
#include "power.hpp"
#include "statistics.hpp"

namespace headrace {
namespace {

constexpr double largest_gamma = 1000;

void check_gamma(double gamma, const char* op, const std::string& shown) {
  if (!(gamma > 0 && gamma <= largest_gamma))
    detail::throw_option(op, "gamma", shown, "numbers above 0 and at most 1000");
}

struct Correction {
  double gamma = 1;
  bool invert = false;
  bool retain_stats = false;
};

// The statistics that survive: mean and deviation with N - 1.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread sample_moments(const Tensor& t) {
  const detail::Moments m = detail::moments(t);
  const auto n = static_cast<double>(m.count);
  return {m.mean, m.count > 1 ? std::sqrt(m.variance * (n / (n - 1))) : 0};
}

void correct(Sample& sample, std::string_view field, DType dtype, bool announced_rewrite, const Correction& c) {
  const detail::Extremes e = detail::extremes(sample.get(field));
  if (std::isinf(e.min) || std::isinf(e.max))
    throw std::invalid_argument(field_text(sample, field) + " holds an infinity; expected finite voxels");
  const double low = c.invert ? -e.max : e.min, range = e.max - e.min;
  Spread before;
  if (c.retain_stats) {
    before = sample_moments(sample.get(field));
    if (c.invert) before.mean = -before.mean;
  }
  // Not touched, but for the type: a constant image, and one of nothing but NaN.
  const bool flat = !(range > 0);
  detail::rewrite_rows(sample, field, dtype, announced_rewrite, [&](auto* row, std::int64_t n, std::int64_t) {
    using C = std::remove_pointer_t<decltype(row)>;
    if (flat) return;
    const C a = static_cast<C>(low), r = static_cast<C>(range), divisor = static_cast<C>(range + 1e-7);
    if (c.invert)
      for (std::int64_t i = 0; i < n; ++i) row[i] = (-row[i] - a) / divisor;
    else
      for (std::int64_t i = 0; i < n; ++i) row[i] = (row[i] - a) / divisor;
    detail::power_row(row, n, c.gamma);
    const C sign = c.invert && !c.retain_stats ? C{-1} : C{1};
    for (std::int64_t i = 0; i < n; ++i) row[i] = sign * (row[i] * r + a);
  });
  if (!c.retain_stats || flat) return;
  const Spread after = sample_moments(sample.get(field));
  detail::rewrite_rows(sample, field, dtype, announced_rewrite, [&](auto* row, std::int64_t n, std::int64_t) {
    using C = std::remove_pointer_t<decltype(row)>;
    const C m = static_cast<C>(after.mean), d = static_cast<C>(after.deviation + 1e-8),
            s = static_cast<C>(before.deviation), b = static_cast<C>(before.mean), sign = c.invert ? C{-1} : C{1};
    for (std::int64_t i = 0; i < n; ++i) row[i] = sign * ((row[i] - m) / d * s + b);
  });
}

}  // namespace

AdjustContrast::AdjustContrast(AdjustContrastOptions options) : options_(std::move(options)) {
  check_gamma(options_.gamma, name, detail::option_text(options_.gamma));
}

void AdjustContrast::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType dtype = options_.dtype.value_or(sample.get(field).dtype());
    correct(sample, field, dtype, effect(field) == Effect::rewrite,
            {options_.gamma, options_.invert_image, options_.retain_stats});
  });
}

SampleSpec AdjustContrast::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }
Effect AdjustContrast::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string AdjustContrast::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("gamma", options_.gamma)
      .add("invert_image", options_.invert_image)
      .add("retain_stats", options_.retain_stats)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

RandAdjustContrast::RandAdjustContrast(RandAdjustContrastOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  detail::check_range(options_.gamma, name, "gamma");
  check_gamma(options_.gamma.low, name, detail::option_text(options_.gamma));
  check_gamma(options_.gamma.high, name, detail::option_text(options_.gamma));
}

RandAdjustContrast::Plan RandAdjustContrast::plan(const Sample&, Rng& rng) const {
  const bool apply = rng.bernoulli(options_.prob);
  return {apply, rng.uniform(options_.gamma.low, options_.gamma.high)};
}

void RandAdjustContrast::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType dtype = options_.dtype.value_or(sample.get(field).dtype());
    const bool rewrite = effect(field) == Effect::rewrite;
    if (plan.apply)
      correct(sample, field, dtype, rewrite, {plan.gamma, options_.invert_image, options_.retain_stats});
    else
      detail::rewrite_dtype(sample, field, dtype, rewrite);
  });
}

SampleSpec RandAdjustContrast::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }
Effect RandAdjustContrast::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string RandAdjustContrast::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("gamma", options_.gamma)
      .add("invert_image", options_.invert_image)
      .add("retain_stats", options_.retain_stats)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
