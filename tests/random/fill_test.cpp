// n filled = n single draws, bit for bit: for every n, start, alignment, and for every instruction set there is here.
#include "random/fill.hpp"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <headrace/random/rng.hpp>
#include <span>
#include <string>
#include <vector>

#include "random/normal_quantile.hpp"

namespace headrace {
namespace {

constexpr StreamAddress address{.seed = 11, .epoch = 1, .item = 99, .patch = 0, .op = 4};

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Runs `fill` into every alignment of a guarded buffer and compares with `single`.
template <class T, class Fill, class Single>
void compare(std::size_t n, std::uint64_t start, Fill fill, Single single) {
  const T guard = static_cast<T>(-7);
  const std::size_t offset = (n + start) % 17;
  std::vector<T> buffer(n + 40, guard);
  Rng filled(address), drawn(address);
  filled.seek(start);
  drawn.seek(start);
  fill(filled, std::span<T>(buffer.data() + offset, n));
  for (std::size_t i = 0; i < n; ++i) {
    const T expected = single(drawn);
    ASSERT_TRUE(same_bits(buffer[offset + i], expected)) << "number " << i << " of " << n << " from word " << start
                                                         << ": " << +buffer[offset + i] << " and " << +expected;
  }
  ASSERT_EQ(filled, drawn);
  ASSERT_EQ(filled.position() == stream_words_per_op ? 0 : filled(),
            drawn.position() == stream_words_per_op ? 0 : drawn());
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    if (i < offset || i >= offset + n) {
      ASSERT_EQ(buffer[i], guard) << "written outside, at " << i;
    }
  }
}

void compare_all(std::size_t n, std::uint64_t start) {
  compare<std::uint32_t>(
      n, start, [](Rng& r, auto out) { r.fill_bits(out); }, [](Rng& r) { return r(); });
  compare<float>(
      n, start, [](Rng& r, auto out) { r.fill_uniform(out); }, [](Rng& r) { return r.uniform<float>(); });
  compare<double>(
      n, start, [](Rng& r, auto out) { r.fill_uniform(out); }, [](Rng& r) { return r.uniform(); });
  compare<float>(
      n, start, [](Rng& r, auto out) { r.fill_normal(out, 1.5, 0.3); },
      [](Rng& r) { return r.normal<float>(1.5, 0.3); });
  compare<double>(
      n, start, [](Rng& r, auto out) { r.fill_normal(out, -2, 7); }, [](Rng& r) { return r.normal(-2, 7); });
}

class Fill : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

TEST_P(Fill, Equals_single_draws_for_every_small_size_and_start) {
  for (std::size_t n = 0; n <= 70; ++n) {
    for (std::uint64_t start = 0; start < 9; ++start) compare_all(n, start);
  }
}

TEST_P(Fill, Equals_single_draws_around_the_chunk_size) {
  for (const std::size_t n : {508u, 511u, 512u, 513u, 1020u, 1023u, 1024u, 1025u, 1031u, 2047u, 2050u, 5000u}) {
    for (const std::uint64_t start : {0u, 1u, 2u, 3u, 1001u}) compare_all(n, start);
  }
}

TEST_P(Fill, Equals_single_draws_where_the_block_number_is_large) {
  for (const std::size_t n : {1u, 7u, 100u, 1500u}) {
    compare_all(n, (std::uint64_t{1} << 33) - 50);  // block number passes 2^31
    compare_all(n, stream_words_per_op - 2 * n);    // up to the last word for the pairs
    compare_all(n, stream_words_per_op - 2 * n - 1);
  }
}

TEST_P(Fill, Equals_single_draws_over_many_normals) {
  constexpr std::size_t n = std::size_t{1} << 18;
  std::vector<float> floats(n);
  std::vector<double> doubles(n);
  Rng a(address), b(address), c(address), d(address);
  a.fill_normal(floats);
  b.fill_normal(doubles);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(same_bits(floats[i], c.normal<float>())) << i;
    ASSERT_TRUE(same_bits(doubles[i], d.normal())) << i;
  }
}

// Words that chance does not bring: the far tail (probability below 1.4e-11), and both sides of every boundary.
TEST_P(Fill, Equals_the_scalar_formula_in_the_far_tails_and_at_the_boundaries) {
  std::vector<std::uint64_t> pairs;
  for (int bit = 0; bit < 64; ++bit) {
    for (std::int64_t d = -3; d <= 3; ++d) pairs.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(d));
  }
  for (const double q : {0.075, 1.3887943864964e-11}) {  // central to tail; near to far tail
    const auto word = static_cast<std::uint64_t>(q * 0x1p65);
    for (std::uint64_t d = 0; d < 64; ++d) pairs.push_back(word + ((d - 32) << 11));
  }
  pairs.resize(pairs.size() / 32 * 32);
  std::vector<std::uint32_t> words;
  for (const std::uint64_t pair : pairs) {
    words.push_back(static_cast<std::uint32_t>(pair));
    words.push_back(static_cast<std::uint32_t>(pair >> 32));
  }
  ASSERT_LE(words.size(), detail::fill_chunk * 2);
  words.resize(words.size() + detail::fill_padding);
  std::vector<double> doubles(pairs.size());
  std::vector<float> floats(pairs.size());
  detail::normals(words.data(), doubles.size(), 0, 1, doubles.data());
  detail::normals(words.data(), floats.size(), 0, 1, floats.data());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_TRUE(same_bits(doubles[i], 0 + 1 * detail::normal_deviate(pairs[i]))) << pairs[i];
    ASSERT_TRUE(same_bits(floats[i], static_cast<float>(0 + 1 * detail::normal_deviate(words[i])))) << words[i];
  }
}

// What this processor has and the library was compiled for.
std::vector<std::int64_t> targets_here() {
  std::vector<std::int64_t> targets;
  hwy::SetSupportedTargetsForTest(0);
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1)
    targets.push_back(left & -left);
  return targets;
}

INSTANTIATE_TEST_SUITE_P(Targets, Fill, testing::ValuesIn(targets_here()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

TEST(FillTargets, There_is_more_than_one_to_force) {
  std::printf("instruction sets forced:");
  for (const std::int64_t target : targets_here()) std::printf(" %s", hwy::TargetName(target));
  std::printf("\n");
  EXPECT_GE(targets_here().size(), 1u);
}

}  // namespace
}  // namespace headrace
