// sin, cos, exp, log, pow, erf in double, made of +, -, *, / and integers only, so that they give the same bits with
// every compiler, option and processor. The C library's do not: it picks fused-multiply-add variants at run time, and
// their last bits differ. Whatever reaches a plan or a voxel uses these.
//
// When not to use them: where bits do not matter (statistics for a person to read), or where the hardware's own sqrt
// will do (IEEE 754 rounds it correctly; std::sqrt is fine).
//
// Accuracy: the result is the correctly rounded value or one of its two neighbours (checked against MPFR; the figures
// are in docs/streams.md), on the whole domain stated with each function. Special values follow IEEE 754-2019
// section 9.2 (so C's Annex F); no errno, no exception; NaN in, NaN out (its sign and payload are not specified).
// Subnormal arguments and results are right. Conditions: round to nearest, and no flush-to-zero or denormals-are-zero.
// The engine sets that mode around every item; a caller outside of it who changed the mode gets other bits.
// Thread-safe: pure functions. Cost: about 5 to 40 ns.
#pragma once

namespace headrace::math {

/// Sine of x radians, any finite x (the argument is reduced exactly). sin(+-0) = +-0; NaN for an infinity.
double sin(double x);

/// Cosine of x radians, any finite x. NaN for an infinity.
double cos(double x);

struct SinCos {
  double sin;
  double cos;
};

/// Both, with one reduction; the same bits as sin and cos.
SinCos sincos(double x);

/// e^x, any x: +inf above 709.78, gradual underflow below -708.4, 0 below -745.2.
double exp(double x);

/// Natural logarithm: -inf for +-0, NaN below 0, +inf for +inf.
double log(double x);

/// x^y: negative x with integer y allowed; pow(x, 0) = pow(1, y) = 1 even for NaN.
double pow(double x, double y);

/// Error function 2/sqrt(pi) * integral of e^(-t^2) from 0 to x, any x.
double erf(double x);

}  // namespace headrace::math
