#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "transform/weighted_rows.cpp"  // read again for every instruction set
#include <hwy/foreach_target.h>
// Highway's own order: foreach_target first.
#include <hwy/highway.h>

#include "transform/weighted_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace headrace::detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void sum_rows(const T* const* rows, const T* weights, std::int64_t count, std::int64_t n, T* out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  // Two vectors at a time: their chains of additions overlap.
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    auto w = hn::Set(d, weights[0]);
    auto a = hn::Mul(hn::LoadU(d, rows[0] + i), w), b = hn::Mul(hn::LoadU(d, rows[0] + i + lanes), w);
    for (std::int64_t k = 1; k < count; ++k) {
      w = hn::Set(d, weights[k]);
      a = hn::Add(a, hn::Mul(hn::LoadU(d, rows[k] + i), w));
      b = hn::Add(b, hn::Mul(hn::LoadU(d, rows[k] + i + lanes), w));
    }
    hn::StoreU(a, d, out + i);
    hn::StoreU(b, d, out + i + lanes);
  }
  for (; i < n; ++i) {
    T sum = rows[0][i] * weights[0];
    for (std::int64_t k = 1; k < count; ++k) sum = sum + rows[k][i] * weights[k];
    out[i] = sum;
  }
}

void sum_float_rows(const float* const* rows, const float* weights, std::int64_t count, std::int64_t n, float* out) {
  sum_rows(rows, weights, count, n, out);
}
void sum_double_rows(const double* const* rows, const double* weights, std::int64_t count, std::int64_t n,
                     double* out) {
  sum_rows(rows, weights, count, n, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::detail {

HWY_EXPORT(sum_float_rows);
HWY_EXPORT(sum_double_rows);

void weighted_rows(const float* const* rows, const float* weights, std::int64_t count, std::int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(sum_float_rows)(rows, weights, count, n, out);
}
void weighted_rows(const double* const* rows, const double* weights, std::int64_t count, std::int64_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(sum_double_rows)(rows, weights, count, n, out);
}

}  // namespace headrace::detail
#endif
