#include "intensity.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "describe.hpp"
#include "rows.hpp"

namespace headrace::detail {
namespace {

template <class C>
struct Constants {
  C a_min, width, scale, b_min, low, high;
  bool divide, stretch, clip_low, clip_high;

  explicit Constants(const Rescale& map, DType computed_in) {
    divide = !degenerate(map.a_min, map.a_max, computed_in);
    a_min = static_cast<C>(map.a_min);
    width = divide ? static_cast<C>(map.a_max - map.a_min) : C{1};
    const bool both = map.b_min && map.b_max;
    stretch = divide ? both : map.b_min.has_value();
    scale = divide && both ? static_cast<C>(*map.b_max - *map.b_min) : C{1};
    b_min = stretch ? static_cast<C>(*map.b_min) : C{0};
    clip_low = divide && map.clip && map.b_min;
    clip_high = divide && map.clip && map.b_max;
    low = clip_low ? static_cast<C>(*map.b_min) : C{0};
    high = clip_high ? static_cast<C>(*map.b_max) : C{0};
  }
};

// One row; the branches are loop-invariant and the comparisons leave NaN alone.
template <class C, class From>
void rescale_row(const From* from, std::int64_t from_step, C* to, std::int64_t to_step, std::int64_t n,
                 const Constants<C>& k) {
  for (std::int64_t i = 0; i < n; ++i) {
    C y = static_cast<C>(from[i * from_step]) - k.a_min;
    if (k.divide) y = y / k.width;
    if (k.stretch) y = y * k.scale + k.b_min;
    if (k.clip_low) y = y < k.low ? k.low : y;
    if (k.clip_high) y = y > k.high ? k.high : y;
    to[i * to_step] = y;
  }
}

template <class C, class From>
void rescale_rows(const Tensor& from, const Tensor& to, const Rescale& map) {
  const Constants<C> k(map, dtype_of<C>);
  const From* source = from.data<From>();
  C* target = own_data<C>(to);
  const int last = from.rank() - 1;
  const std::int64_t n = from.shape()[last], step_from = from.strides()[last], step_to = to.strides()[last];
  for_each_row(from.shape(), from.strides(), to.strides(), [&](const auto&, std::int64_t a, std::int64_t b) {
    if (step_from == 1 && step_to == 1)
      rescale_row<C, From>(source + a, 1, target + b, 1, n, k);
    else
      rescale_row<C, From>(source + a, step_from, target + b, step_to, n, k);
  });
}

}  // namespace

bool degenerate(double a_min, double a_max, DType computed_in) noexcept {
  const double smallest = computed_in == DType::f64 ? std::numeric_limits<double>::min()
                                                    : static_cast<double>(std::numeric_limits<float>::min());
  return std::fabs(a_max - a_min) < smallest;
}

void check_target(const char* op, const std::optional<double>& b_min, const std::optional<double>& b_max, bool clip) {
  const auto check = [&](const char* option, const std::optional<double>& v) {
    // beyond float32 the mapping would make infinities of ordinary voxels
    if (v && !(std::fabs(*v) <= static_cast<double>(std::numeric_limits<float>::max())))
      throw std::invalid_argument(std::string(op) + ": " + option + " = " + option_text(*v) +
                                  "; expected a finite float32 number");
  };
  check("b.min", b_min);
  check("b.max", b_max);
  if (clip && !b_min && !b_max)
    throw std::invalid_argument(std::string(op) + ": clip = true needs b.min or b.max, the values to clip to");
  if (clip && b_min && b_max && *b_min > *b_max)
    throw std::invalid_argument(std::string(op) + ": clip = true needs b.min <= b.max, not " + option_text(*b_min) +
                                " and " + option_text(*b_max));
}

Tensor intensity_target(Sample& sample, std::string_view field, DType dtype, bool announced_rewrite) {
  const Tensor& now = sample.get(field);
  if (now.dtype() == dtype && now.writable() && !(announced_rewrite && sample.output_place())) return now;
  return sample.output(field, dtype, now.shape());
}

void rescale(const Tensor& from, const Tensor& to, const Rescale& map) {
  if (from.numel() == 0) return;
  if (from.rank() == 0) return rescale(from.unsqueeze(0), to.unsqueeze(0), map);
  const Tensor source = arithmetic_form(from);
  const DType computed = source.dtype() == DType::f64 ? DType::f64 : DType::f32;
  if (to.dtype() != computed) {
    const Tensor between = Tensor::empty(computed, source.shape());
    rescale(source, between, map);
    Tensor target = to;
    target.copy_from(between);
    return;
  }
  visit_arithmetic(source.dtype(), [&](auto zero) {
    using From = decltype(zero);
    using C = std::conditional_t<std::is_same_v<From, double>, double, float>;
    rescale_rows<C, From>(source, to, map);
  });
}

}  // namespace headrace::detail
