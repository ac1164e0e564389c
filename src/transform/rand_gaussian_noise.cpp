#include <array>
#include <cmath>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/rand_gaussian_noise.hpp>

#include "describe.hpp"
#include "dtype_option.hpp"
#include "pointwise.hpp"

namespace headrace {

RandGaussianNoise::RandGaussianNoise(RandGaussianNoiseOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  if (!std::isfinite(options_.mean))
    detail::throw_option(name, "mean", detail::option_text(options_.mean), "a finite number");
  if (!(options_.std >= 0) || !std::isfinite(options_.std))
    detail::throw_option(name, "std", detail::option_text(options_.std), "a finite number of at least 0");
}

RandGaussianNoise::Plan RandGaussianNoise::plan(const Sample&, Rng& rng) const {
  const bool apply = rng.bernoulli(options_.prob);
  const double drawn = rng.uniform(0, options_.std);
  return {apply, options_.sample_std ? drawn : options_.std};
}

void RandGaussianNoise::apply(Sample& sample, const Plan& plan, const Rng& rng) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType own = sample.get(field).dtype(), dtype = options_.dtype.value_or(own);
    if (!plan.apply && own == dtype) return;
    Rng voxels = rng;
    std::array<float, 1024> noise;
    detail::rewrite_rows(
        sample, field, dtype, effect(field) == Effect::rewrite, [&](auto* row, std::int64_t n, std::int64_t first) {
          using C = std::remove_pointer_t<decltype(row)>;
          if (!plan.apply) return;
          voxels.seek(voxel_words_begin + static_cast<std::uint64_t>(first));
          for (std::int64_t i = 0; i < n;) {
            const auto count = std::min(n - i, static_cast<std::int64_t>(noise.size()));
            voxels.fill_normal(std::span(noise).first(static_cast<std::size_t>(count)), options_.mean, plan.std);
            for (std::int64_t j = 0; j < count; ++j)
              row[i + j] = row[i + j] + static_cast<C>(noise[static_cast<std::size_t>(j)]);
            i += count;
          }
        });
  });
}

SampleSpec RandGaussianNoise::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

Effect RandGaussianNoise::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string RandGaussianNoise::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("mean", options_.mean)
      .add("std", options_.std)
      .add("sample_std", options_.sample_std)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
