#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/power.cpp"  // read again for every instruction set
#include <hwy/foreach_target.h>
// Highway's own order: foreach_target first.
#include <hwy/highway.h>

#include <algorithm>

#include "transform/power.hpp"

HWY_BEFORE_NAMESPACE();
namespace headrace::detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// Multiplication and addition each rounded: a fused step would give other bits where there is none.
V horner(V x, const double* coefficients, int n) {
  const D d;
  V sum = hn::Set(d, coefficients[0]);
  for (int i = 1; i < n; ++i) sum = hn::Add(hn::Mul(sum, x), hn::Set(d, coefficients[i]));
  return sum;
}

// e^(gamma ln z) for 0 < z < 2^100.
V power(V z, V gamma) {
  const D d;
  const hn::RebindToSigned<D> di;
  // z = 2^k m, m in [sqrt(1/2), sqrt(2)); ln m = 2 f (1 + f^2/3 + f^4/5 + ...), f = (m - 1) / (m + 1), |f| < 0.1716.
  constexpr double log_series[] = {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0};
  const auto bits = hn::BitCast(di, z);
  const auto origin = hn::Set(di, 0x3FE6A09E667F3BCD);  // sqrt(1/2)
  const auto offset = hn::Sub(bits, origin);
  const auto k = hn::ShiftRight<52>(offset);
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(k)));
  const V f = hn::Div(hn::Sub(m, hn::Set(d, 1.0)), hn::Add(m, hn::Set(d, 1.0)));
  const V log_m = hn::Mul(f, horner(hn::Mul(f, f), log_series, 8));
  const V log_z = hn::Add(hn::Mul(hn::ConvertTo(d, k), hn::Set(d, 0x1.62e42fefa39efp-1)), log_m);
  // e^t = 2^n e^r, r in [-ln 2 / 2, ln 2 / 2].
  constexpr double exp_series[] = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                                   1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2,     1.0,        1.0};
  // Below e^-700 the result is 0 in float and next to it in double.
  const V t = hn::Min(hn::Max(hn::Mul(log_z, gamma), hn::Set(d, -700.0)), hn::Set(d, 700.0));
  const V shift = hn::Set(d, 0x1.8p52);
  const V n = hn::Sub(hn::Add(hn::Mul(t, hn::Set(d, 0x1.71547652b82fep0)), shift), shift);
  const V r =
      hn::Sub(hn::Sub(t, hn::Mul(n, hn::Set(d, 0x1.62e42feep-1))), hn::Mul(n, hn::Set(d, 0x1.a39ef35793c76p-33)));
  const V e = horner(r, exp_series, 12);
  return hn::BitCast(d, hn::Add(hn::BitCast(di, e), hn::ShiftLeft<52>(hn::ConvertTo(di, n))));
}

// 0 and below give 0; NaN comes back.
V checked_power(V z, V gamma) {
  const D d;
  const V tiny = hn::Set(d, 0x1p-1000);
  const V y = power(hn::Max(z, tiny), gamma);
  const V clean = hn::IfThenElse(hn::Gt(z, tiny), y, hn::Zero(d));
  return hn::IfThenElse(hn::IsNaN(z), z, clean);
}

void power_floats(float* row, std::int64_t n, double gamma) {
  const D d;
  const hn::Rebind<float, D> df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V g = hn::Set(d, gamma);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(df, checked_power(hn::PromoteTo(d, hn::LoadU(df, row + i)), g)), df, row + i);
  if (i < n) {
    HWY_ALIGN float rest[hn::MaxLanes(df)] = {};
    std::copy(row + i, row + n, rest);
    hn::Store(hn::DemoteTo(df, checked_power(hn::PromoteTo(d, hn::Load(df, rest)), g)), df, rest);
    std::copy(rest, rest + (n - i), row + i);
  }
}

void power_doubles(double* row, std::int64_t n, double gamma) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V g = hn::Set(d, gamma);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(checked_power(hn::LoadU(d, row + i), g), d, row + i);
  if (i < n) {
    HWY_ALIGN double rest[hn::MaxLanes(d)] = {};
    std::copy(row + i, row + n, rest);
    hn::Store(checked_power(hn::Load(d, rest), g), d, rest);
    std::copy(rest, rest + (n - i), row + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::detail {

HWY_EXPORT(power_floats);
HWY_EXPORT(power_doubles);

void power_row(float* row, std::int64_t n, double gamma) { HWY_DYNAMIC_DISPATCH(power_floats)(row, n, gamma); }
void power_row(double* row, std::int64_t n, double gamma) { HWY_DYNAMIC_DISPATCH(power_doubles)(row, n, gamma); }

}  // namespace headrace::detail
#endif
