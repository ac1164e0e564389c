#include <cmath>
#include <headrace/random/math.hpp>
#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/rand_bias_field.hpp>
#include <vector>

#include "describe.hpp"
#include "dtype_option.hpp"
#include "pointwise.hpp"

namespace headrace {
namespace {

// P_0 ... P_degree at each of n points from -1 to 1: [point][order].
std::vector<double> legendre(std::int64_t n, int degree) {
  const auto orders = static_cast<std::size_t>(degree + 1);
  std::vector<double> p(static_cast<std::size_t>(n) * orders);
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = n == 1 ? -1 : -1 + 2 * static_cast<double>(i) / static_cast<double>(n - 1);
    double* row = p.data() + static_cast<std::size_t>(i) * orders;
    row[0] = 1;
    if (degree >= 1) row[1] = x;
    for (int k = 2; k <= degree; ++k) row[k] = ((2 * k - 1) * x * row[k - 1] - (k - 1) * row[k - 2]) / k;
  }
  return p;
}

}  // namespace

RandBiasField::RandBiasField(RandBiasFieldOptions options) : options_(std::move(options)) {
  detail::check_prob(options_.prob, name);
  detail::check_range(options_.coeff_range, name, "coeff_range");
  if (options_.degree < 1 || options_.degree > most_degree)
    detail::throw_option(name, "degree", detail::option_text(options_.degree), "1 to 8");
}

RandBiasField::Plan RandBiasField::plan(const Sample&, Rng& rng) const {
  Plan p{.apply = rng.bernoulli(options_.prob)};
  const int d = options_.degree, count = (d + 1) * (d + 2) * (d + 3) / 6;
  for (int i = 0; i < count; ++i)
    p.coefficients[static_cast<std::size_t>(i)] = rng.uniform(options_.coeff_range.low, options_.coeff_range.high);
  return p;
}

void RandBiasField::apply(Sample& sample, const Plan& plan) const {
  options_.keys.for_each(sample, [&](std::string_view field) {
    const DType dtype = options_.dtype.value_or(sample.get(field).dtype());
    const bool rewrite = effect(field) == Effect::rewrite;
    if (!plan.apply) return detail::rewrite_dtype(sample, field, dtype, rewrite);
    const Shape image = spatial_shape(sample, field);
    const int rank = image.rank(), degree = options_.degree;
    const auto orders = static_cast<std::size_t>(degree + 1);
    std::int64_t n[3] = {1, 1, 1};
    for (int d = 0; d < rank; ++d) n[d] = image[d];
    std::vector<double> p[3];
    for (int d = 0; d < rank; ++d) p[d] = legendre(n[d], degree);
    const auto at = [&](int axis, std::int64_t i, int order) {
      if (axis >= rank) return order == 0 ? 1.0 : 0.0;
      return p[axis][static_cast<std::size_t>(i) * orders + static_cast<std::size_t>(order)];
    };
    // A row of the field: the exponent is a polynomial in the last axis whose coefficients the other axes give.
    std::vector<double> row_factor(static_cast<std::size_t>(image[rank - 1]));
    const auto fill = [&](std::int64_t a, std::int64_t b) {
      std::array<double, most_degree + 1> along{};
      std::size_t c = 0;
      for (int i = 0; i <= degree; ++i)
        for (int j = 0; j <= degree - i; ++j)
          for (int k = 0; k <= degree - i - j; ++k, ++c) {
            const double w = plan.coefficients[c];
            if (rank == 3)
              along[static_cast<std::size_t>(k)] += w * at(0, a, i) * at(1, b, j);
            else if (rank == 2 && k == 0)
              along[static_cast<std::size_t>(j)] += w * at(0, a, i);
            else if (rank == 1 && k == 0 && j == 0)
              along[static_cast<std::size_t>(i)] += w;
          }
      for (std::int64_t z = 0; z < image[rank - 1]; ++z) {
        double exponent = 0;
        for (int k = 0; k <= degree; ++k) exponent += along[static_cast<std::size_t>(k)] * at(rank - 1, z, k);
        row_factor[static_cast<std::size_t>(z)] = math::exp(exponent);
      }
    };
    const std::int64_t length = image[rank - 1];
    std::int64_t made = -1;
    detail::rewrite_rows(sample, field, dtype, rewrite, [&](auto* row, std::int64_t count, std::int64_t first) {
      using C = std::remove_pointer_t<decltype(row)>;
      for (std::int64_t i = 0; i < count;) {  // a piece may hold several rows, or parts of them
        const std::int64_t line = (first + i) / length, z = (first + i) % length;
        const std::int64_t take = std::min(count - i, length - z);
        if (line != made) {
          fill(rank == 3 ? line / n[1] % n[0] : rank == 2 ? line % n[0] : 0, rank == 3 ? line % n[1] : 0);
          made = line;
        }
        for (std::int64_t k = 0; k < take; ++k)
          row[i + k] = row[i + k] * static_cast<C>(row_factor[static_cast<std::size_t>(z + k)]);
        i += take;
      }
    });
  });
}

SampleSpec RandBiasField::infer(SampleSpec spec) const { return detail::infer_dtype(options_, std::move(spec)); }

Effect RandBiasField::effect(std::string_view field) const { return detail::dtype_effect(options_, field); }

std::string RandBiasField::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("degree", options_.degree)
      .add("coeff_range", options_.coeff_range)
      .add("prob", options_.prob)
      .add_text("dtype", detail::optional_text(options_.dtype))
      .str();
}

}  // namespace headrace
