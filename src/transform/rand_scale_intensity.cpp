#include <headrace/transform/rand_scale_intensity.hpp>

#include "channels.hpp"
#include "describe.hpp"
#include "dtype_option.hpp"

namespace headrace {
namespace {

struct Times {
  double factor = 1;
  template <class C>
  void operator()(C* row, std::int64_t n) const {
    const C k = static_cast<C>(factor);
    if (k == 1) return;
    for (std::int64_t i = 0; i < n; ++i) row[i] = row[i] * k;
  }
};

}  // namespace

RandScaleIntensity::RandScaleIntensity(RandScaleIntensityOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  detail::check_range(options_.factors, name, "factors");
}

RandScaleIntensity::Plan RandScaleIntensity::plan(const Sample& sample, Rng& rng) const {
  Plan p{.apply = rng.bernoulli(options_.prob)};
  detail::draw_per_channel(sample, options_.keys, options_.channel_wise, options_.factors, rng, p.factor, p.factors);
  return p;
}

void RandScaleIntensity::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType own = sample.get(field).dtype(), dtype = options_.dtype.value_or(own);
    if (!plan.apply && own == dtype) return;
    detail::check_channels(sample, field, options_.channel_wise, plan.factors.size(), name);
    std::size_t channel = 0;
    detail::rewrite_channels(sample, field, dtype, effect(field) == Effect::rewrite, options_.channel_wise,
                             [&](const Tensor&) {
                               if (!plan.apply) return Times{};
                               return Times{1 + (options_.channel_wise ? plan.factors[channel++] : plan.factor)};
                             });
  });
}

SampleSpec RandScaleIntensity::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

Effect RandScaleIntensity::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string RandScaleIntensity::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("factors", options_.factors)
      .add("prob", options_.prob)
      .add("channel_wise", options_.channel_wise)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
