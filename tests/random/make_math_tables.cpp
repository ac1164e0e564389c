// Makes src/random/math_tables.hpp with MPFR (200+ bits). Without an argument it prints the file; with the path of the
// committed file it checks that file byte for byte, which is the test that no table entry was ever edited by hand.
#include <mpfr.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

constexpr mpfr_prec_t precision = 1600;

class Real {
 public:
  Real() { mpfr_init2(value_, precision); }
  explicit Real(double x) : Real() { mpfr_set_d(value_, x, MPFR_RNDN); }
  Real(const Real& other) : Real() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  double to_double() const { return mpfr_get_d(value_, MPFR_RNDN); }

 private:
  mpfr_t value_;
};

std::string hex(double x) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%a", x);
  return buffer;
}

// The multiple of 2^-bits nearest to x.
double on_grid(Real x, long bits) {
  mpfr_mul_2si(x.get(), x.get(), bits, MPFR_RNDN);
  mpfr_rint(x.get(), x.get(), MPFR_RNDN);
  mpfr_mul_2si(x.get(), x.get(), -bits, MPFR_RNDN);
  return x.to_double();
}

double rest(Real x, double high) {
  mpfr_sub_d(x.get(), x.get(), high, MPFR_RNDN);
  return x.to_double();
}

Real ln2() {
  Real x;
  mpfr_const_log2(x.get(), MPFR_RNDN);
  return x;
}

std::string pair(const char* name, const Real& x, double high) {
  return std::string("inline constexpr double ") + name + "_high = " + hex(high) + ";\ninline constexpr double " +
         name + "_low = " + hex(rest(x, high)) + ";\n";
}

std::string constants() {
  std::string text;
  text += "// ln 2; the high part a multiple of 2^-42, so that k times it is exact for |k| < 2^11.\n";
  text += pair("ln2", ln2(), on_grid(ln2(), 42));
  Real step = ln2();
  mpfr_div_ui(step.get(), step.get(), 128, MPFR_RNDN);
  text += "\n// ln 2 / 128, the high part a multiple of 2^-43 (36 bits), so that k times it is exact for |k| < 2^17;\n";
  text += "// and 128 / ln 2.\n";
  text += pair("exp_step", step, on_grid(step, 43));
  mpfr_ui_div(step.get(), 1, step.get(), MPFR_RNDN);
  text += "inline constexpr double exp_inverse_step = " + hex(step.to_double()) + ";\n";
  Real pi;
  mpfr_const_pi(pi.get(), MPFR_RNDN);
  mpfr_div_ui(pi.get(), pi.get(), 2, MPFR_RNDN);
  text += "\n// pi / 2 in two doubles.\n";
  text += pair("half_pi", pi, pi.to_double());
  return text;
}

std::string log_table() {
  std::string text =
      "\n// For each of 128 slices of [0.6875, 1.375): c near 1 / m with at most 10 significant bits, and -log c in "
      "two\n"
      "// parts, the high one a multiple of 2^-42. The two slices around 1 have c = 1.\n"
      "struct LogEntry {\n  double inverse;\n  double log_high;\n  double log_low;\n};\n"
      "inline constexpr LogEntry log_table[128] = {\n";
  for (int i = 0; i < 128; ++i) {
    const double low = i < 80 ? 0.6875 + i / 256.0 : 1 + (i - 80) / 128.0;
    const double middle = low + (i < 80 ? 1 / 512.0 : 1 / 256.0);
    double c = 1;
    if (i != 79 && i != 80) c = on_grid(Real(1 / middle), 9);
    Real log(c);
    mpfr_log(log.get(), log.get(), MPFR_RNDN);
    mpfr_neg(log.get(), log.get(), MPFR_RNDN);
    const double high = c == 1 ? 0 : on_grid(log, 42);
    text += "    {" + hex(c) + ", " + hex(high) + ", " + hex(c == 1 ? 0 : rest(log, high)) + "},\n";
  }
  return text + "};\n";
}

std::string exp_table() {
  std::string text =
      "\n// 2^(j / 128) in two doubles.\nstruct ExpEntry {\n  double high;\n  double low;\n};\n"
      "inline constexpr ExpEntry exp_table[128] = {\n";
  for (int j = 0; j < 128; ++j) {
    Real x(j / 128.0);
    mpfr_exp2(x.get(), x.get(), MPFR_RNDN);
    text += "    {" + hex(x.to_double()) + ", " + hex(rest(x, x.to_double())) + "},\n";
  }
  return text + "};\n";
}

std::string erf_table() {
  std::string text =
      "\n// At c = j / 16, j = 8..96: erf c in two doubles, and its slope 2 / sqrt(pi) * e^(-c^2).\n"
      "struct ErfEntry {\n  double high;\n  double low;\n  double slope;\n};\n"
      "inline constexpr int erf_first = 8;\ninline constexpr ErfEntry erf_table[89] = {\n";
  for (int j = 8; j <= 96; ++j) {
    Real value(j / 16.0);
    mpfr_erf(value.get(), value.get(), MPFR_RNDN);
    Real slope(j / 16.0);
    mpfr_sqr(slope.get(), slope.get(), MPFR_RNDN);
    mpfr_neg(slope.get(), slope.get(), MPFR_RNDN);
    mpfr_exp(slope.get(), slope.get(), MPFR_RNDN);
    Real root;
    mpfr_const_pi(root.get(), MPFR_RNDN);
    mpfr_rec_sqrt(root.get(), root.get(), MPFR_RNDN);
    mpfr_mul(slope.get(), slope.get(), root.get(), MPFR_RNDN);
    mpfr_mul_ui(slope.get(), slope.get(), 2, MPFR_RNDN);
    text += "    {" + hex(value.to_double()) + ", " + hex(rest(value, value.to_double())) + ", " +
            hex(slope.to_double()) + "},\n";
  }
  text +=
      "};\n\n// Coefficients of erf(x) = x + x * (c0 + c1 x^2 + c2 x^4 + ...): 2 / sqrt(pi) * (-1)^n / (n! (2n + 1)), "
      "less 1\n";
  text += "// for n = 0.\ninline constexpr double erf_series[14] = {\n";
  double factorial = 1;
  for (int n = 0; n < 14; ++n) {
    if (n > 0) factorial *= n;
    Real c;
    mpfr_const_pi(c.get(), MPFR_RNDN);
    mpfr_rec_sqrt(c.get(), c.get(), MPFR_RNDN);
    mpfr_mul_si(c.get(), c.get(), n % 2 == 0 ? 2 : -2, MPFR_RNDN);
    mpfr_div_d(c.get(), c.get(), factorial * (2 * n + 1), MPFR_RNDN);
    if (n == 0) mpfr_sub_ui(c.get(), c.get(), 1, MPFR_RNDN);
    text += "    " + hex(c.to_double()) + ",\n";
  }
  return text + "};\n";
}

std::string two_over_pi() {
  std::string text =
      "\n// The first 1280 binary digits of 2 / pi after the point, 64 to a word, most significant first.\n"
      "inline constexpr std::uint64_t two_over_pi[20] = {\n";
  Real x;
  mpfr_const_pi(x.get(), MPFR_RNDN);
  mpfr_ui_div(x.get(), 2, x.get(), MPFR_RNDN);
  for (int i = 0; i < 20; ++i) {
    std::uint64_t word = 0;
    for (int bit = 0; bit < 64; ++bit) {
      mpfr_mul_2ui(x.get(), x.get(), 1, MPFR_RNDN);
      const bool one = mpfr_cmp_ui(x.get(), 1) >= 0;
      if (one) mpfr_sub_ui(x.get(), x.get(), 1, MPFR_RNDN);
      word = (word << 1) | (one ? 1u : 0u);
    }
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "    0x%016llX,\n", static_cast<unsigned long long>(word));
    text += buffer;
  }
  return text + "};\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text =
      "// Tables of random/math, made by tests/random/make_math_tables.cpp with MPFR and checked against it by a "
      "test.\n"
      "// Do not edit: a changed bit here is a new stream version.\n#pragma once\n\n#include <cstdint>\n\n"
      "namespace headrace::math::detail {\n\n" +
      constants() + log_table() + exp_table() + erf_table() + two_over_pi() +
      "\n}  // namespace headrace::math::detail\n";
  if (argc < 2) {
    std::cout << text;
    return 0;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string committed{std::istreambuf_iterator<char>(file), {}};
  if (committed == text) return 0;
  std::cerr << argv[1] << " differs from what MPFR gives\n";
  return 1;
}
