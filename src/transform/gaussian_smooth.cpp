#include <array>
#include <cmath>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/gaussian_smooth.hpp>

#include "describe.hpp"
#include "dtype_option.hpp"
#include "pointwise.hpp"
#include "smoothing.hpp"

namespace headrace {
namespace {

constexpr double widest = 1000;
constexpr std::array<std::string_view, 3> kernel_names{"erf", "sampled", "scalespace"};

std::string_view text(GaussianKernel k) { return kernel_names[static_cast<std::size_t>(k)]; }
std::string_view text(SmoothPadding p) { return p == SmoothPadding::border ? "border" : "zeros"; }

void check_sigma(double sigma, const char* op, std::string_view option, const std::string& shown) {
  if (!(sigma >= 0 && sigma <= widest)) detail::throw_option(op, option, shown, "from 0 to 1000 voxels");
}

// The field in its computing type, smoothed, then in `dtype`.
void smooth(Sample& sample, std::string_view field, DType dtype, std::span<const double> sigma, GaussianKernel approx,
            SmoothPadding padding) {
  const Shape spatial = spatial_shape(sample, field);
  std::array<std::vector<double>, 3> kernels;
  for (std::size_t d = 0; d < static_cast<std::size_t>(spatial.rank()); ++d)
    if (sigma[d] > 0) kernels[d] = detail::gaussian_kernel(sigma[d], approx, padding == SmoothPadding::border);
  const Tensor from = sample.get(field);
  const DType computed = detail::computed_in(from.dtype());
  const Tensor to = sample.output(field, dtype, from.shape());
  const Tensor image = dtype == computed ? to : sample.scratch(computed, from.shape());
  detail::for_each_computed_row(from, image, [](auto*, std::int64_t, std::int64_t) {});
  detail::filter_axes(image, sample.scratch(computed, from.shape()), kernels, padding);
  if (dtype != computed) {
    Tensor target = to;
    target.copy_from(image);
  }
  sample.set(field, to);
}

}  // namespace

GaussianSmooth::GaussianSmooth(GaussianSmoothOptions options) : options_(std::move(options)) {
  if (options_.sigma.empty()) detail::throw_option(name, "sigma", "[]", "one sigma, or one for each spatial axis");
  for (const double s : options_.sigma.values()) check_sigma(s, name, "sigma", detail::option_text(options_.sigma));
}

void GaussianSmooth::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const int rank = spatial_shape(sample, field).rank();
    if (!options_.sigma.is_one() && static_cast<int>(options_.sigma.values().size()) != rank)
      detail::throw_option(name, "sigma", detail::option_text(options_.sigma),
                           "one value, or one for each of the " + std::to_string(rank) + " spatial axes");
    std::array<double, 3> sigma{};
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) sigma[d] = options_.sigma.at(d);
    const DType dtype = options_.dtype.value_or(sample.get(field).dtype());
    smooth(sample, field, dtype, sigma, options_.approx, options_.padding);
  });
}

SampleSpec GaussianSmooth::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

std::string GaussianSmooth::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("sigma", options_.sigma)
      .add("approx", text(options_.approx))
      .add("padding", text(options_.padding))
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

RandGaussianSmooth::RandGaussianSmooth(RandGaussianSmoothOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  const auto check = [](const char* option, const Range& r) {
    detail::check_range(r, name, option);
    check_sigma(r.low, name, option, detail::option_text(r));
    check_sigma(r.high, name, option, detail::option_text(r));
  };
  check("sigma_x", options_.sigma_x);
  check("sigma_y", options_.sigma_y);
  check("sigma_z", options_.sigma_z);
}

RandGaussianSmooth::Plan RandGaussianSmooth::plan(const Sample&, Rng& rng) const {
  Plan p{.apply = rng.bernoulli(options_.prob)};
  p.sigma[0] = rng.uniform(options_.sigma_x.low, options_.sigma_x.high);
  p.sigma[1] = rng.uniform(options_.sigma_y.low, options_.sigma_y.high);
  p.sigma[2] = rng.uniform(options_.sigma_z.low, options_.sigma_z.high);
  return p;
}

void RandGaussianSmooth::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType dtype = options_.dtype.value_or(sample.get(field).dtype());
    if (plan.apply)
      smooth(sample, field, dtype, plan.sigma, options_.approx, options_.padding);
    else
      detail::rewrite_dtype(sample, field, dtype, true);
  });
}

SampleSpec RandGaussianSmooth::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

std::string RandGaussianSmooth::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("prob", options_.prob)
      .add("sigma_x", options_.sigma_x)
      .add("sigma_y", options_.sigma_y)
      .add("sigma_z", options_.sigma_z)
      .add("approx", text(options_.approx))
      .add("padding", text(options_.padding))
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
