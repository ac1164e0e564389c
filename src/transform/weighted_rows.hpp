// Weighted sums of rows: the inner loop of every separable filter, dispatched at run time to the widest instruction set
// there is. Products and sums are rounded one by one in the order of the rows, so the width cannot change a bit.
#pragma once

#include <cstdint>

namespace headrace::detail {

// out[i] = rows[0][i] * weights[0] + rows[1][i] * weights[1] + ... for n elements; count >= 1. `out` must not overlap the
// rows.
void weighted_rows(const float* const* rows, const float* weights, std::int64_t count, std::int64_t n, float* out);
void weighted_rows(const double* const* rows, const double* weights, std::int64_t count, std::int64_t n, double* out);

}  // namespace headrace::detail
