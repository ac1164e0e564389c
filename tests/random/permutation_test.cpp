#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <headrace/random/permutation.hpp>
#include <headrace/random/rng.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "statistics.hpp"

namespace headrace {
namespace {

using test::chi_square_deviate;
using test::correlation_deviate;
using test::sigma_limit;
using test::uniformity_deviate;

constexpr PermutationKind both_kinds[] = {PermutationKind::Automatic, PermutationKind::Network};

void expect_bijection(const Permutation& p) {
  std::vector<bool> seen(p.size());
  for (std::uint64_t i = 0; i < p.size(); ++i) {
    const std::uint64_t v = p(i);
    ASSERT_LT(v, p.size());
    ASSERT_FALSE(seen[v]) << "n = " << p.size() << ", value " << v << " twice";
    seen[v] = true;
    ASSERT_EQ(p.inverse(v), i) << "n = " << p.size();
  }
}

TEST(Permutation, Is_a_bijection_with_its_inverse_for_every_n_to_1000_by_table_and_network) {
  for (std::uint64_t n = 0; n <= 1000; ++n) {
    for (const PermutationKind kind : both_kinds) {
      for (std::uint32_t epoch = 0; epoch < 2; ++epoch) expect_bijection(Permutation(n, shuffle_key(1, epoch), kind));
    }
  }
}

TEST(Permutation, Is_a_bijection_around_squares_and_the_table_limit) {
  for (const std::uint64_t n : {4094u, 4095u, 4096u, 4097u, 65535u, 65536u, 65537u, 65792u, 65793u, 100003u}) {
    for (const PermutationKind kind : both_kinds) expect_bijection(Permutation(n, shuffle_key(2, 3), kind));
  }
}

TEST(Permutation, Has_an_exact_inverse_at_large_sizes) {
  Rng rng({.seed = 12});
  for (int bits = 17; bits <= 44; ++bits) {
    for (const std::uint64_t n :
         {(std::uint64_t{1} << bits) - 1, std::uint64_t{1} << bits, rng.below(std::uint64_t{1} << bits) + 4096}) {
      if (n > max_permutation_size) continue;
      const Permutation p(n, rng(), 9);
      std::set<std::uint64_t> values;
      for (int i = 0; i < 500; ++i) {
        const std::uint64_t x = i == 0 ? 0 : i == 1 ? n - 1 : rng.below(n);
        const std::uint64_t v = p(x);
        ASSERT_LT(v, n);
        ASSERT_EQ(p.inverse(v), x);
        ASSERT_EQ(p(p.inverse(x)), x);
      }
    }
  }
}

TEST(Permutation, Values_at_2_to_44_are_spread_evenly) {
  const Permutation p(max_permutation_size, 5, 1);
  std::vector<int> counts(1024), steps(1024);
  std::uint64_t before = p(0);
  for (std::uint64_t i = 1; i <= 200000; ++i) {
    const std::uint64_t v = p(i);
    ++counts[v >> 34];
    ++steps[((v - before) & (max_permutation_size - 1)) >> 34];
    before = v;
  }
  EXPECT_LT(std::abs(uniformity_deviate(counts, 200000 / 1024.0)), sigma_limit);
  EXPECT_LT(std::abs(uniformity_deviate(steps, 200000 / 1024.0)), sigma_limit);
}

TEST(Permutation, Refuses_what_is_out_of_range) {
  EXPECT_THROW(Permutation(max_permutation_size + 1, 0, 0), std::out_of_range);
  EXPECT_THROW(Permutation(10, 0, max_stream_epoch + 1), std::out_of_range);
  for (const PermutationKind kind : both_kinds) {
    const Permutation p(10, shuffle_key(0, 0), kind);
    EXPECT_THROW((void)p(10), std::out_of_range);
    EXPECT_THROW((void)p.inverse(~std::uint64_t{0}), std::out_of_range);
    EXPECT_THROW((void)Permutation(0, shuffle_key(0, 0), kind)(0), std::out_of_range);
  }
}

TEST(Permutation, Is_a_function_of_size_and_key) {
  const Permutation a(5000, 1, 2), b(5000, 1, 2), c(5000, 1, 3), d(5000, 2, 2);
  const Permutation copy = a;
  int same_epoch = 0, same_seed = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(a(i), b(i));
    ASSERT_EQ(a(i), copy(i));
    same_epoch += a(i) == c(i) ? 1 : 0;
    same_seed += a(i) == d(i) ? 1 : 0;
  }
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
}

// The rank of an order among all orders (Lehmer's code).
std::size_t rank_of(const Permutation& p) {
  std::size_t rank = 0;
  for (std::uint64_t i = 0; i < p.size(); ++i) {
    std::size_t smaller = 0;
    for (std::uint64_t j = i + 1; j < p.size(); ++j) smaller += p(j) < p(i) ? 1u : 0u;
    rank = rank * static_cast<std::size_t>(p.size() - i) + smaller;
  }
  return rank;
}

TEST(PermutationStatistics, Every_order_of_up_to_six_comes_equally_often) {
  std::size_t orders = 1;
  for (std::uint64_t n = 1; n <= 6; ++n) {
    orders *= n;
    std::vector<int> counts(orders);
    for (std::uint32_t epoch = 0; epoch < 100 * orders; ++epoch) ++counts[rank_of(Permutation(n, 13, epoch))];
    if (n > 1) {
      EXPECT_LT(std::abs(uniformity_deviate(counts, 100)), sigma_limit) << n;
    }
  }
}

// Position x value over `epochs` successive epochs. Each row and column of the table of counts has a fixed sum, so it
// has (n - 1)^2 degrees of freedom.
double position_value_deviate(std::uint64_t n, std::uint32_t epochs, PermutationKind kind) {
  std::vector<std::uint16_t> counts(n * n);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const Permutation p(n, shuffle_key(17, epoch), kind);
    for (std::uint64_t i = 0; i < n; ++i) ++counts[i * n + p(i)];
  }
  const double expected = static_cast<double>(epochs) / static_cast<double>(n);
  double sum = 0;
  for (const std::uint16_t count : counts) sum += (count - expected) * (count - expected) / expected;
  const auto size = static_cast<double>(n);
  return chi_square_deviate(sum * (size - 1) / size, (size - 1) * (size - 1));
}

TEST(PermutationStatistics, Every_value_comes_equally_often_at_every_position) {
  EXPECT_LT(std::abs(position_value_deviate(41, 20000, PermutationKind::Automatic)), sigma_limit);
  EXPECT_LT(std::abs(position_value_deviate(41, 20000, PermutationKind::Network)), sigma_limit);
  EXPECT_LT(std::abs(position_value_deviate(1000, 1000, PermutationKind::Network)), sigma_limit);
  EXPECT_LT(std::abs(position_value_deviate(5000, 600, PermutationKind::Automatic)), sigma_limit);
}

TEST(PermutationStatistics, Neighbours_and_successive_epochs_are_uncorrelated) {
  for (const std::uint64_t n : {41u, 1000u, 5000u}) {
    for (const PermutationKind kind : both_kinds) {
      const int epochs = 300;
      double neighbours = 0, successive = 0, adjacent = 0, fixed = 0;
      std::vector<double> before;
      for (int epoch = 0; epoch <= epochs; ++epoch) {
        const Permutation p(n, shuffle_key(19, static_cast<std::uint32_t>(epoch)), kind);
        std::vector<double> order(n), next(n);
        for (std::uint64_t i = 0; i < n; ++i) order[i] = static_cast<double>(p(i));
        std::rotate_copy(order.begin(), order.begin() + 1, order.end(), next.begin());
        if (epoch > 0) {
          neighbours += correlation_deviate(order, next);
          successive += correlation_deviate(order, before);
          for (std::uint64_t i = 0; i < n; ++i) {
            adjacent += next[i] == order[i] + 1 ? 1 : 0;
            fixed += order[i] == before[i] ? 1 : 0;
          }
        }
        before = order;
      }
      const double root = std::sqrt(static_cast<double>(epochs));
      // The correlation around a cycle of n distinct values is -1 / (n - 1) on average.
      const double bias = root / std::sqrt(static_cast<double>(n));
      EXPECT_LT(std::abs(neighbours / root + bias), sigma_limit) << n;
      EXPECT_LT(std::abs(successive / root), sigma_limit) << n;
      // Both counts are on average 1 per epoch with variance 1 (to 1 / n).
      EXPECT_LT(std::abs(adjacent - epochs) / root, sigma_limit) << n;
      EXPECT_LT(std::abs(fixed - epochs) / root, sigma_limit) << n;
    }
  }
}

}  // namespace
}  // namespace headrace
