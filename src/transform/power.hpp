// z^gamma for rows of numbers from 0 to 1: the heart of gamma corrections, dispatched at run time to the widest
// instruction set there is; the same bits with every one of them.
#pragma once

#include <cstdint>

namespace headrace::detail {

// row[i] = max(row[i], 0)^gamma in double, rounded to the row's type; relative error below 1e-10 before that rounding. 0
// stays 0, NaN stays NaN. 0 < gamma <= 1000. Values above 1 are allowed up to 2^100.
void power_row(float* row, std::int64_t n, double gamma);
void power_row(double* row, std::int64_t n, double gamma);

}  // namespace headrace::detail
