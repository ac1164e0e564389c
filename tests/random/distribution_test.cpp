// The distributions, by chi-square and Kolmogorov-Smirnov, over addresses as a loader uses them: many short streams as
// well as one long one. Seeds are fixed.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <headrace/random/rng.hpp>
#include <vector>

#include "statistics.hpp"

namespace headrace {
namespace {

using test::chi_square_deviate;
using test::correlation_deviate;
using test::kolmogorov_smirnov;
using test::sigma_limit;
using test::uniformity_deviate;

constexpr double ks_limit = 2.2;
constexpr int sample_size = 200000;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// One draw from each of many streams that differ in one field, and many draws from one stream.
template <class T, class Draw>
std::vector<std::vector<T>> samples(Draw draw) {
  std::vector<std::vector<T>> all(5);
  Rng one({.seed = 5, .epoch = 2, .item = 7, .patch = 1, .op = 3});
  for (std::uint32_t i = 0; i < sample_size; ++i) {
    all[0].push_back(draw(one));
    Rng item({.seed = 5, .epoch = 2, .item = i, .patch = 1, .op = 3});
    Rng epoch({.seed = 5, .epoch = i, .item = 7, .patch = 1, .op = 3});
    Rng seed({.seed = i, .epoch = 2, .item = 7, .patch = 1, .op = 3});
    Rng patch_op({.seed = 5, .epoch = 2, .item = 7, .patch = i % 16000, .op = i / 16000});
    all[1].push_back(draw(item));
    all[2].push_back(draw(epoch));
    all[3].push_back(draw(seed));
    all[4].push_back(draw(patch_op));
  }
  return all;
}

template <class T>
void expect_distribution(const std::vector<std::vector<T>>& all, double (*cdf)(double)) {
  for (std::size_t s = 0; s < all.size(); ++s) {
    EXPECT_LT(kolmogorov_smirnov(all[s], cdf), ks_limit) << "sample " << s;
    std::vector<T> next(all[s].begin() + 1, all[s].end());
    next.push_back(all[s].front());
    EXPECT_LT(std::abs(correlation_deviate(all[s], next)), sigma_limit) << "neighbours in sample " << s;
    for (std::size_t t = 0; t < s; ++t) {
      EXPECT_LT(std::abs(correlation_deviate(all[s], all[t])), sigma_limit) << "samples " << s << " and " << t;
    }
  }
}

TEST(Distribution, Uniform_float) {
  const auto all = samples<float>([](Rng& r) { return r.uniform<float>(); });
  expect_distribution(
      all, +[](double x) { return x; });
  for (const auto& sample : all) {
    for (const float x : sample) ASSERT_TRUE(x >= 0 && x < 1);
  }
}

TEST(Distribution, Uniform_double) {
  expect_distribution(
      samples<double>([](Rng& r) { return r.uniform(); }), +[](double x) { return x; });
}

TEST(Distribution, Uniform_of_a_range) {
  expect_distribution(
      samples<double>([](Rng& r) { return r.uniform(-3, 5); }), +[](double x) { return (x + 3) / 8; });
}

TEST(Distribution, Normal_float) {
  expect_distribution(samples<float>([](Rng& r) { return r.normal<float>(); }), normal_cdf);
}

TEST(Distribution, Normal_double) {
  expect_distribution(samples<double>([](Rng& r) { return r.normal(); }), normal_cdf);
}

TEST(Distribution, Normal_with_mean_and_deviation) {
  expect_distribution(
      samples<double>([](Rng& r) { return r.normal(2, 0.5); }), +[](double x) { return normal_cdf((x - 2) / 0.5); });
}

// Tails: counts beyond 2, 3, 4 deviations of four million normals.
TEST(Distribution, Normal_tails_have_their_weight) {
  constexpr int n = 4000000;
  Rng rng({.seed = 21});
  std::vector<float> values(n);
  rng.fill_normal(values);
  for (const double limit : {2.0, 3.0, 4.0}) {
    const double expected = n * 2 * normal_cdf(-limit);
    double count = 0;
    for (const float x : values) count += std::abs(x) > limit ? 1 : 0;
    EXPECT_LT(std::abs(count - expected) / std::sqrt(expected), sigma_limit) << limit;
  }
}

TEST(Distribution, Bits_are_even_and_uncorrelated) {
  constexpr int n = 200000;
  Rng rng({.seed = 8});
  std::array<double, 32> ones{};
  std::array<std::array<double, 32>, 32> both{};
  for (int i = 0; i < n; ++i) {
    const std::uint32_t word = rng();
    for (std::size_t a = 0; a < 32; ++a) {
      if ((word >> a & 1) == 0) continue;
      ++ones[a];
      for (std::size_t b = 0; b < a; ++b) both[a][b] += word >> b & 1;
    }
  }
  for (std::size_t a = 0; a < 32; ++a) {
    EXPECT_LT(std::abs(ones[a] - n / 2.0) / std::sqrt(n / 4.0), sigma_limit) << a;
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_LT(std::abs(both[a][b] - n / 4.0) / std::sqrt(n * 3.0 / 16), sigma_limit) << a << ' ' << b;
    }
  }
}

// A neighbour's stream shares no bit by habit: flipping one bit of the address flips half of the words' bits.
TEST(Distribution, One_bit_of_the_address_changes_half_of_the_words) {
  double flipped = 0, bits = 0;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const StreamAddress a{.seed = i, .epoch = i % 1000, .item = i * 7u, .patch = i % 64, .op = i % 32};
    StreamAddress b = a;
    switch (i % 5) {
      case 0:
        b.seed ^= 1;
        break;
      case 1:
        b.epoch ^= 1;
        break;
      case 2:
        b.item ^= 1;
        break;
      case 3:
        b.patch ^= 1;
        break;
      default:
        b.op ^= 1;
    }
    Rng x(a), y(b);
    for (int w = 0; w < 4; ++w, bits += 32) flipped += std::popcount(x() ^ y());
  }
  EXPECT_LT(std::abs(flipped - bits / 2) / std::sqrt(bits / 4), sigma_limit);
}

TEST(Distribution, Below_is_uniform_for_many_n) {
  Rng rng({.seed = 4});
  for (const std::uint64_t n : {2u, 3u, 7u, 10u, 41u, 256u, 1000u}) {
    std::vector<int> counts(n);
    for (std::uint64_t i = 0; i < 1000 * n; ++i) ++counts[rng.below(n)];
    EXPECT_LT(std::abs(uniformity_deviate(counts, 1000)), sigma_limit) << n;
  }
  // Where leaving out the rejection gives every even number twice the chance of an odd one: n = 2^64 / 3 * 2.
  const std::uint64_t n = 12297829382473034410u;
  std::array<int, 4> quarters{};  // (upper half?, odd?)
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t x = rng.below(n);
    ++quarters[(x >= n / 2 ? 2u : 0u) + (x & 1)];
  }
  EXPECT_LT(std::abs(uniformity_deviate(quarters, 25000)), sigma_limit);
}

TEST(Distribution, Bernoulli_has_its_probability) {
  constexpr int n = 200000;
  Rng rng({.seed = 6});
  for (const double p : {0.0, 1e-3, 0.1, 0.5, 0.9, 1.0}) {
    double hits = 0;
    for (int i = 0; i < n; ++i) hits += rng.bernoulli(p) ? 1 : 0;
    if (p == 0 || p == 1) {
      EXPECT_EQ(hits, n * p);
    } else {
      EXPECT_LT(std::abs(hits - n * p) / std::sqrt(n * p * (1 - p)), sigma_limit) << p;
    }
  }
}

}  // namespace
}  // namespace headrace
