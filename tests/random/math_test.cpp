// random/math against MPFR: the result is the correctly rounded value or a neighbour of it, over the stated domains, on
// dense grids, random arguments of every size, and cases known to be hard. The largest error seen is printed.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <headrace/random/math.hpp>
#include <headrace/random/rng.hpp>
#include <limits>
#include <vector>

#include "random/normal_quantile.hpp"

namespace headrace {
namespace {

// A double's place among all doubles, so that neighbours differ by 1.
std::int64_t place(double x) {
  const auto bits = std::bit_cast<std::int64_t>(x);
  return bits < 0 ? std::numeric_limits<std::int64_t>::min() - bits : bits;
}

// Correct rounding to double, subnormals and overflow included.
template <class F>
double rounded(F compute) {
  mpfr_set_emin(-1073);
  mpfr_set_emax(1024);
  mpfr_t r;
  mpfr_init2(r, 53);
  const int direction = compute(r);
  mpfr_subnormalize(r, direction, MPFR_RNDN);
  const double x = mpfr_get_d(r, MPFR_RNDN);
  mpfr_clear(r);
  return x;
}

class Real {
 public:
  explicit Real(double x) {
    mpfr_init2(value_, 53);
    mpfr_set_d(value_, x, MPFR_RNDN);
  }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

using Oracle = int (*)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);

double oracle(Oracle f, double x) {
  Real argument(x);
  return rounded([&](mpfr_ptr r) { return f(r, argument.get(), MPFR_RNDN); });
}

double oracle_pow(double x, double y) {
  Real a(x), b(y);
  return rounded([&](mpfr_ptr r) { return mpfr_pow(r, a.get(), b.get(), MPFR_RNDN); });
}

struct Tally {
  std::int64_t checked = 0;
  std::int64_t off_by_one = 0;
  std::int64_t worst = 0;
  void print(const char* name) const {
    std::printf("%-4s %lld arguments, %.4f %% not correctly rounded, worst %lld ulp\n", name,
                static_cast<long long>(checked), 100.0 * static_cast<double>(off_by_one) / static_cast<double>(checked),
                static_cast<long long>(worst));
  }
  [[nodiscard]] bool take(double ours, double exact) {
    ++checked;
    if (ours != ours || exact != exact) return (ours != ours) == (exact != exact);
    const std::int64_t error = std::abs(place(ours) - place(exact));
    off_by_one += error != 0 ? 1 : 0;
    worst = std::max(worst, error);
    return error <= 1;
  }
};

double random_in(Rng& rng, double lo, double hi) { return rng.uniform(lo, hi); }
double random_bits(Rng& rng) { return std::bit_cast<double>(rng.next64()); }

void check(const char* name, double (*ours)(double), Oracle exact, const std::vector<double>& arguments) {
  Tally tally;
  for (const double x : arguments) {
    ASSERT_TRUE(tally.take(ours(x), oracle(exact, x)))
        << name << "(" << x << " = " << std::hex << std::bit_cast<std::uint64_t>(x) << ")";
  }
  tally.print(name);
}

void add_around(std::vector<double>& list, double x, int count = 4) {
  for (const double direction : {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()}) {
    double y = x;
    for (int i = 0; i < count; ++i, y = std::nextafter(y, direction)) list.push_back(y);
  }
}

std::vector<double> trigonometric_arguments() {
  Rng rng({.seed = 100});
  std::vector<double> list;
  for (int i = -20000; i <= 20000; ++i) list.push_back(i * 0x1p-11);
  for (int i = 0; i < 50000; ++i) list.push_back(random_in(rng, -7, 7));
  for (int i = 0; i < 30000; ++i) list.push_back(random_in(rng, -1e6, 1e6));
  for (int i = 0; i < 60000; ++i) {
    const double x = random_bits(rng);
    if (std::isfinite(x)) list.push_back(x);
  }
  for (int i = 1; i < 20000; ++i) add_around(list, i * 1.5707963267948966, 1);
  add_around(list, 0.7853981633974483);
  // Closest of all doubles to a multiple of pi/2 (Muller, Elementary Functions), and other known traps.
  for (const double x : {std::ldexp(6381956970095103.0, 797), 0x1.6ac5b262ca1ffp+849, 0x1.fffffffffffffp+1023, 0x1p1023,
                         0x1p-1074, 0x1p-1022, 0x1p-27, 1e22, 0x1p53, 0x1p54, 0x1p55, 0x1p56, 0x1p119, 0x1p120}) {
    add_around(list, x);
    add_around(list, -x);
  }
  std::erase_if(list, [](double x) { return !std::isfinite(x); });
  return list;
}

TEST(Math, Sin_is_within_one_ulp) { check("sin", math::sin, mpfr_sin, trigonometric_arguments()); }
TEST(Math, Cos_is_within_one_ulp) { check("cos", math::cos, mpfr_cos, trigonometric_arguments()); }

TEST(Math, Sincos_gives_the_bits_of_sin_and_cos) {
  for (const double x : trigonometric_arguments()) {
    const math::SinCos both = math::sincos(x);
    ASSERT_EQ(place(both.sin), place(math::sin(x)));
    ASSERT_EQ(place(both.cos), place(math::cos(x)));
  }
}

TEST(Math, Exp_is_within_one_ulp) {
  Rng rng({.seed = 101});
  std::vector<double> list;
  for (int i = -40000; i <= 40000; ++i) list.push_back(i * 0x1p-12);
  for (int i = 0; i < 100000; ++i) list.push_back(random_in(rng, -746, 710));
  for (int i = 0; i < 50000; ++i) list.push_back(random_in(rng, -1, 1));
  for (int i = 0; i < 30000; ++i) list.push_back(random_in(rng, -745.2, -708.3));
  for (int i = 0; i < 30000; ++i) list.push_back(random_bits(rng));
  for (int i = -1074 * 2; i < 1024 * 2; ++i) add_around(list, i * 0.34657359027997264, 2);
  for (const double x : {709.782712893384, -708.3964185322641, -745.1332191019411, -745.1332191019412,
                         -744.4400719213812, 710.0, -746.0, 0.0, 1.0, 7.541951283e-10, 0x1p-53, 0x1p-54, 0x1p-1074}) {
    add_around(list, x);
    add_around(list, -x);
  }
  check("exp", math::exp, mpfr_exp, list);
}

TEST(Math, Log_is_within_one_ulp) {
  Rng rng({.seed = 102});
  std::vector<double> list;
  for (int i = 1; i <= 50000; ++i) list.push_back(i * 0x1p-13);
  for (int i = 0; i < 50000; ++i) list.push_back(random_in(rng, 0.5, 2));
  for (int i = 0; i < 150000; ++i) list.push_back(std::abs(random_bits(rng)));
  add_around(list, 1, 20000);
  for (int i = 0; i <= 1024; ++i) add_around(list, 0.5 + i / 512.0);
  for (int e = -1074; e < 1024; ++e) add_around(list, std::ldexp(1, e), 2);
  std::erase_if(list, [](double x) { return x < 0; });
  check("log", math::log, mpfr_log, list);
}

TEST(Math, Erf_is_within_one_ulp) {
  Rng rng({.seed = 103});
  std::vector<double> list;
  for (int i = -24000; i <= 24000; ++i) list.push_back(i * 0x1p-12);
  for (int i = 0; i < 100000; ++i) list.push_back(random_in(rng, -6.2, 6.2));
  for (int i = 0; i < 30000; ++i) list.push_back(random_in(rng, -0.6, 0.6));
  for (int i = 0; i < 20000; ++i) list.push_back(random_bits(rng));
  for (int j = 0; j <= 200; ++j) add_around(list, j / 32.0, 10);
  for (const double x : {0x1p-1000, 0x1p-500, 0x1p-1022, 0x1p-1074, 0x1p-30, 5.92158719165536}) {
    add_around(list, x);
    add_around(list, -x);
  }
  check("erf", math::erf, mpfr_erf, list);
}

TEST(Math, Pow_is_within_one_ulp) {
  Rng rng({.seed = 104});
  Tally tally;
  const auto one = [&tally](double x, double y) {
    ASSERT_TRUE(tally.take(math::pow(x, y), oracle_pow(x, y)))
        << "pow(" << x << " = " << std::hex << std::bit_cast<std::uint64_t>(x) << ", " << y << " = "
        << std::bit_cast<std::uint64_t>(y) << ")";
  };
  const auto many = [&](int count, auto draw) {
    for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) draw();
  };
  many(40000, [&] { one(random_in(rng, 0, 1), random_in(rng, 0.3, 4.5)); });  // gamma of intensities
  many(40000, [&] { one(random_in(rng, 0, 10), random_in(rng, -100, 100)); });
  many(20000, [&] { one(std::abs(random_bits(rng)), random_in(rng, -2, 2)); });
  many(20000, [&] { one(random_bits(rng), random_bits(rng)); });
  many(20000, [&] { one(random_bits(rng), static_cast<double>(rng.below(40)) - 20); });
  // Results anywhere in the range, subnormal ones and the edges of overflow too.
  many(40000, [&] {
    const double x = std::abs(random_bits(rng));
    if (!std::isfinite(x) || x == 0 || x == 1) return;
    one(x, random_in(rng, -746, 710) / std::log(x));
  });
  many(20000, [&] {
    const double x = 1 + random_in(rng, -1, 1) * 0x1p-20;
    if (x == 1) return;
    one(x, random_in(rng, -746, 710) / std::log(x));
  });
  for (const double x : {std::nextafter(1.0, 2.0), std::nextafter(1.0, 0.0)}) {
    for (const double y :
         {1e15, -1e15, 3e18, -3e18, 0x1p62, 0x1p63, 0x1p64, 0x1p65, -0x1p65, 0x1p1000, 0x1p-60, 0x1p-66})
      one(x, y);
  }
  many(5000, [&] { one(static_cast<double>(rng.below(1000)), static_cast<double>(rng.below(30))); });  // exact cases
  many(5000, [&] { one(2, static_cast<double>(rng.below(2200)) - 1100); });
  many(5000, [&] { one(static_cast<double>(rng.below(100000)), 0.5); });
  tally.print("pow");
}

// z of a normal draw against the equation it solves: erfc(z / sqrt 2) / 2 = q, at 200 bits. A step dz of z changes the
// left side by -phi(z) dz.
TEST(NormalQuantile, Is_within_its_stated_error) {
  Rng rng({.seed = 105});
  double worst = 0;
  mpfr_set_emin(-100000);
  mpfr_set_emax(100000);
  mpfr_t x, phi;
  mpfr_init2(x, 200);
  mpfr_init2(phi, 200);
  const auto one = [&](std::uint64_t word) {
    const double z = std::abs(detail::normal_deviate(word)), q = detail::normal_q(word);
    mpfr_set_d(x, z, MPFR_RNDN);
    mpfr_sqr(phi, x, MPFR_RNDN);
    mpfr_div_si(phi, phi, -2, MPFR_RNDN);
    mpfr_exp(phi, phi, MPFR_RNDN);
    mpfr_mul_d(phi, phi, 0.3989422804014327, MPFR_RNDN);
    mpfr_sqr(x, x, MPFR_RNDN);
    mpfr_div_ui(x, x, 2, MPFR_RNDN);
    mpfr_sqrt(x, x, MPFR_RNDN);
    mpfr_erfc(x, x, MPFR_RNDN);
    mpfr_div_ui(x, x, 2, MPFR_RNDN);
    mpfr_sub_d(x, x, q, MPFR_RNDN);
    mpfr_div(x, x, phi, MPFR_RNDN);
    const double error = std::abs(mpfr_get_d(x, MPFR_RNDN)) / z;
    worst = std::max(worst, error);
    ASSERT_LT(error, 1.5e-15) << word;
  };
  for (int i = 0; i < 20000; ++i) one(rng.next64());
  for (int bits = 1; bits < 64; ++bits) {
    for (int i = 0; i < 200; ++i) one(rng.next64() >> bits);
  }
  for (std::uint64_t i = 0; i < 1000; ++i) one(~std::uint64_t{0} - (i << 12));  // z near 0
  mpfr_clear(x);
  mpfr_clear(phi);
  std::printf("normal: largest relative error %.2g\n", worst);
}

}  // namespace
}  // namespace headrace
