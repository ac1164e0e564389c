// Rank and select against counting.
#include <gtest/gtest.h>

#include <headrace/sample/voxel_set.hpp>
#include <random>
#include <vector>

using namespace headrace;

namespace {

using Engine = std::mt19937_64;

void check(const Shape& shape, const std::vector<bool>& bits) {
  std::vector<std::uint64_t> words((bits.size() + 63) / 64, 0);
  for (std::size_t v = 0; v < bits.size(); ++v)
    if (bits[v]) words[v / 64] |= std::uint64_t{1} << (v % 64);
  const VoxelSet set(shape, words);
  ASSERT_EQ(set.voxels(), bits.size());
  ASSERT_EQ(set.shape(), shape);
  ASSERT_EQ(set.words(), words);
  std::uint64_t members = 0;
  for (std::size_t v = 0; v < bits.size(); ++v) {
    ASSERT_EQ(set.rank(v), members) << v;
    ASSERT_EQ(set.contains(v), bits[v]) << v;
    if (bits[v]) {
      ASSERT_EQ(set.select(members++), v);
    }
  }
  ASSERT_EQ(set.size(), members);
  ASSERT_EQ(set.empty(), members == 0);
  ASSERT_EQ(set.rank(bits.size()), members);
  ASSERT_EQ(set.rank(~std::uint64_t{0}), members);
  ASSERT_THROW(set.select(members), std::out_of_range);
  ASSERT_THROW(set.select(~std::uint64_t{0}), std::out_of_range);
}

TEST(VoxelSet, RankAndSelectOfEverySizeAndDensity) {
  Engine e(60);
  for (std::int64_t n : {0, 1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513, 575, 576, 1023, 1024, 1025, 5000, 20000})
    for (double density : {0.0, 0.001, 0.02, 0.5, 0.98, 1.0}) {
      std::vector<bool> bits(static_cast<std::size_t>(n));
      std::bernoulli_distribution coin(density);
      for (std::size_t v = 0; v < bits.size(); ++v) bits[v] = coin(e);
      check({n}, bits);
      if (HasFatalFailure()) return;
    }
}

TEST(VoxelSet, LoneMembersAndLongGaps) {
  for (std::size_t n : {64u, 513u, 4096u, 4100u})
    for (std::size_t at : {std::size_t{0}, std::size_t{63}, n / 2, n - 1}) {
      std::vector<bool> one(n, false), all_but(n, true);
      one[at] = true;
      all_but[at] = false;
      check({static_cast<std::int64_t>(n)}, one);
      check({static_cast<std::int64_t>(n)}, all_but);
      if (HasFatalFailure()) return;
    }
  std::vector<bool> ends(10000, false);
  ends.front() = ends.back() = true;
  check({10, 20, 50}, ends);
}

TEST(VoxelSet, RefusesWordsThatDoNotFitTheShape) {
  const auto words = [](std::size_t n) { return std::vector<std::uint64_t>(n, 0); };
  EXPECT_THROW(VoxelSet({64}, words(2)), std::invalid_argument);
  EXPECT_THROW(VoxelSet({65}, words(1)), std::invalid_argument);
  EXPECT_THROW(VoxelSet({0}, words(1)), std::invalid_argument);
  EXPECT_THROW(VoxelSet({1}, words(0)), std::invalid_argument);
  EXPECT_THROW(VoxelSet({63}, {std::uint64_t{1} << 63}), std::invalid_argument);
  EXPECT_THROW(VoxelSet({65}, {0, 2}), std::invalid_argument);
  EXPECT_NO_THROW(VoxelSet({65}, {0, 1}));
  EXPECT_THROW(VoxelSet({-1}, {}), std::length_error);
  EXPECT_THROW(VoxelSet({std::int64_t{1} << 40, std::int64_t{1} << 40}, {}), std::length_error);
}

TEST(VoxelSet, TheDefaultOneIsEmpty) {
  const VoxelSet none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.voxels(), 0u);
  EXPECT_EQ(none.rank(0), 0u);
  EXPECT_EQ(none.rank(100), 0u);
  EXPECT_THROW(none.select(0), std::out_of_range);
}

TEST(VoxelSet, TakesABitAndAnEighthPerVoxel) {
  const VoxelSet set({128, 128, 128}, std::vector<std::uint64_t>(128 * 128 * 2, ~std::uint64_t{0}));
  EXPECT_EQ(set.size(), 128u * 128 * 128);
  EXPECT_LE(set.bytes(), 128u * 128 * 128 / 8 * 9 / 8 + 8);
}

}  // namespace
