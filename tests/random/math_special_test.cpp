// random/math: special values (C's Annex F), and the bits of a grid of results, which must be the same with every
// compiler, optimisation level and processor.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <headrace/random/math.hpp>
#include <headrace/random/rng.hpp>
#include <limits>

namespace headrace {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double tiny = std::numeric_limits<double>::denorm_min();

void expect_bits(double x, double expected) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(x), std::bit_cast<std::uint64_t>(expected)) << x << " and " << expected;
}

TEST(MathSpecial, Nan_and_infinity) {
  for (const auto f : {math::sin, math::cos, math::exp, math::log, math::erf}) EXPECT_TRUE(std::isnan(f(nan)));
  for (const double x : {inf, -inf}) {
    EXPECT_TRUE(std::isnan(math::sin(x)));
    EXPECT_TRUE(std::isnan(math::cos(x)));
  }
  expect_bits(math::exp(inf), inf);
  expect_bits(math::exp(-inf), 0);
  expect_bits(math::log(inf), inf);
  EXPECT_TRUE(std::isnan(math::log(-inf)));
  EXPECT_TRUE(std::isnan(math::log(-tiny)));
  expect_bits(math::erf(inf), 1);
  expect_bits(math::erf(-inf), -1);
}

TEST(MathSpecial, Zeros_and_subnormals) {
  for (const auto f : {math::sin, math::erf}) {
    expect_bits(f(0.0), 0.0);
    expect_bits(f(-0.0), -0.0);
    expect_bits(f(tiny), tiny);
    expect_bits(f(-tiny), -tiny);
  }
  expect_bits(math::cos(-0.0), 1);
  expect_bits(math::exp(-0.0), 1);
  expect_bits(math::exp(tiny), 1);
  expect_bits(math::log(0.0), -inf);
  expect_bits(math::log(-0.0), -inf);
  expect_bits(math::log(1.0), 0);
  expect_bits(math::exp(1e308), inf);
  expect_bits(math::exp(-1e308), 0);
  expect_bits(math::exp(-745), tiny);
}

TEST(MathSpecial, Pow_of_annex_F) {
  expect_bits(math::pow(nan, 0), 1);
  expect_bits(math::pow(1, nan), 1);
  EXPECT_TRUE(std::isnan(math::pow(nan, 1)));
  EXPECT_TRUE(std::isnan(math::pow(2, nan)));
  expect_bits(math::pow(-1, inf), 1);
  expect_bits(math::pow(-1, -inf), 1);
  EXPECT_TRUE(std::isnan(math::pow(-2, 0.5)));
  const double values[] = {0.0, -0.0, 0.5,  -0.5,  1,   -1,     2,          -2,    3,     -3,
                           inf, -inf, tiny, -tiny, 2.5, 0x1p53, 0x1p53 + 2, 1e300, -1e300};
  for (const double x : values) {
    for (const double y : values) {
      const double ours = math::pow(x, y), library = std::pow(x, y);
      if (std::isnan(library)) {
        EXPECT_TRUE(std::isnan(ours)) << x << ' ' << y;
      } else if (library == 0 || std::isinf(library) || std::abs(library) == 1) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(ours), std::bit_cast<std::uint64_t>(library)) << x << ' ' << y;
      }
    }
  }
}

// FNV-1a over the bits of results.
class BitHash {
 public:
  void add(double x) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(x), i = 0; i < 8; ++i, bits >>= 8) {
      hash_ = (hash_ ^ (bits & 255)) * 0x100000001B3u;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

std::uint64_t hash_of(double (*f)(double), double lo, double hi) {
  BitHash hash;
  Rng rng({.seed = 200});
  for (int i = 0; i < 50000; ++i) hash.add(f(rng.uniform(lo, hi)));
  return hash.value();
}

// A change here is a change of every plan that uses the function: a new stream version.
TEST(MathSpecial, Bits_are_the_recorded_ones) {
  EXPECT_EQ(hash_of(math::sin, -100, 100), 0xC6BE78F842EB8DD6u);
  EXPECT_EQ(hash_of(math::cos, -1e9, 1e9), 0x3A610D437DF2C37Du);
  EXPECT_EQ(hash_of(math::exp, -746, 710), 0x28EAA19F1299664Cu);
  EXPECT_EQ(hash_of(math::log, 0, 10), 0xB50E655F5AEB114Cu);
  EXPECT_EQ(hash_of(math::erf, -6, 6), 0xC142BE245C0262E2u);
  BitHash hash;
  Rng rng({.seed = 201});
  for (int i = 0; i < 50000; ++i) {
    const double x = rng.uniform(0, 10);
    hash.add(math::pow(x, rng.uniform(-50, 50)));
  }
  EXPECT_EQ(hash.value(), 0x0B224A035A6557E2u);
  BitHash normals;
  for (int i = 0; i < 50000; ++i) normals.add(rng.normal(1, 3));
  EXPECT_EQ(normals.value(), 0xA0A0278621D6A280u);
}

}  // namespace
}  // namespace headrace
