#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <headrace/random/rng.hpp>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace headrace {
namespace {

constexpr StreamAddress sample_address{.seed = 77, .epoch = 3, .item = 41, .patch = 2, .op = 5};

// Everything that does not round also runs at compile time.
static_assert([] {
  Rng a(sample_address), b(sample_address);
  const std::uint32_t first = a();
  b.skip(1);
  return a == b && first == Rng(sample_address)() && a.below(10) < 10 && a.uniform() < 1 && a.uniform<float>() < 1;
}());
static_assert(sizeof(Rng) == 48);

TEST(Rng, Word_w_is_word_w_mod_4_of_block_w_div_4) {
  Rng rng(sample_address);
  for (std::uint32_t w = 0; w < 100; ++w) {
    ASSERT_EQ(rng.position(), w);
    ASSERT_EQ(rng(), philox_block(stream_counter(sample_address, w / 4), stream_key(77)).word[w % 4]);
  }
}

TEST(Rng, Draws_take_the_words_they_say) {
  Rng rng(sample_address);
  const auto taken = [&rng](auto draw) {
    const std::uint64_t before = rng.position();
    draw();
    return rng.position() - before;
  };
  EXPECT_EQ(taken([&] { rng(); }), 1u);
  EXPECT_EQ(taken([&] { rng.uniform<float>(); }), 1u);
  EXPECT_EQ(taken([&] { rng.uniform(); }), 2u);
  EXPECT_EQ(taken([&] { rng.uniform(-1, 1); }), 2u);
  EXPECT_EQ(taken([&] { rng.below(7); }), 2u);
  EXPECT_EQ(taken([&] { rng.bernoulli(0); }), 2u);
  EXPECT_EQ(taken([&] { rng.bernoulli(1); }), 2u);
  EXPECT_EQ(taken([&] { rng.normal<float>(); }), 1u);
  EXPECT_EQ(taken([&] { rng.normal(); }), 2u);
}

TEST(Rng, Uniforms_are_the_documented_bits_of_the_words) {
  Rng words(sample_address), floats(sample_address), doubles(sample_address);
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t low = words(), high = words();
    ASSERT_EQ(floats.uniform<float>(), static_cast<float>(low >> 8) / 16777216.0f);
    ASSERT_EQ(floats.uniform<float>(), static_cast<float>(high >> 8) / 16777216.0f);
    const std::uint64_t both = low | (std::uint64_t{high} << 32);
    ASSERT_EQ(doubles.uniform(), std::ldexp(static_cast<double>(both >> 11), -53));
  }
}

TEST(Rng, At_seek_and_skip_reach_any_word) {
  std::vector<std::uint32_t> words(64);
  Rng(sample_address).fill_bits(words);
  for (std::uint64_t w = 0; w < words.size(); ++w) {
    Rng sought(sample_address), skipped(sample_address);
    sought.seek(w);
    skipped();
    skipped.seek(0);
    skipped.skip(w / 2);
    skipped.skip(w - w / 2);
    ASSERT_EQ(sought, skipped);
    ASSERT_EQ(sought(), words[w]);
    ASSERT_EQ(skipped(), words[w]);
    if (w % 4 == 0) {
      ASSERT_EQ(Rng(sample_address).at(static_cast<std::uint32_t>(w / 4))(), words[w]);
    }
  }
  EXPECT_EQ(Rng(sample_address).address(), sample_address);
}

TEST(Rng, A_copy_goes_its_own_way) {
  Rng a(sample_address);
  a();
  Rng b = a;
  EXPECT_EQ(a(), b());
  a();
  EXPECT_NE(a, b);
}

TEST(Rng, The_last_word_comes_and_the_next_is_an_error) {
  Rng rng(sample_address);
  rng.seek(stream_words_per_op - 1);
  EXPECT_EQ(rng(), philox_block(stream_counter(sample_address, 0xFFFFFFFF), stream_key(77)).word[3]);
  EXPECT_THROW(rng(), std::out_of_range);
  EXPECT_THROW(rng.skip(1), std::out_of_range);
  EXPECT_THROW(rng.seek(stream_words_per_op + 1), std::out_of_range);
  EXPECT_NO_THROW(rng.skip(0));
  rng.seek(stream_words_per_op - 1);
  EXPECT_THROW(rng.uniform(), std::out_of_range);
  EXPECT_THROW(rng.skip(~std::uint64_t{0}), std::out_of_range);
  EXPECT_EQ(rng.position(), stream_words_per_op - 1) << "a refused draw takes nothing";
}

TEST(Rng, A_fill_up_to_the_last_word_works_and_beyond_it_takes_nothing) {
  for (const std::size_t n : {1u, 5u, 100u, 3000u}) {
    Rng rng(sample_address), single(sample_address);
    rng.seek(stream_words_per_op - n);
    single.seek(stream_words_per_op - n);
    std::vector<float> out(n + 1, -7);
    EXPECT_THROW(rng.fill_uniform(out), std::out_of_range);
    EXPECT_THROW(rng.fill_normal(out), std::out_of_range);
    EXPECT_EQ(out, std::vector<float>(n + 1, -7)) << "a refused fill writes nothing";
    EXPECT_EQ(rng, single);
    out.resize(n);
    rng.fill_uniform(out);
    for (const float x : out) ASSERT_EQ(x, single.uniform<float>());
    EXPECT_THROW(rng(), std::out_of_range);
    EXPECT_NO_THROW(rng.fill_uniform(std::span<float>()));
  }
}

TEST(Rng, Uniform_of_a_range_stays_below_its_end) {
  Rng rng(sample_address);
  const double tiny_top = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(rng.uniform(1, tiny_top), 1) << "rounding up to the end must not be seen";
    ASSERT_EQ(rng.uniform(3, 3), 3);
    const double x = rng.uniform(-5, -std::numeric_limits<double>::denorm_min());
    ASSERT_TRUE(x >= -5 && x < 0);
    const double y = rng.uniform(-std::numeric_limits<double>::denorm_min(), 0);
    ASSERT_TRUE(y < 0);
  }
}

TEST(Rng, Bad_arguments_say_what_was_expected) {
  Rng rng(sample_address);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_THROW(rng.below(0), std::invalid_argument);
  for (const double p : {-0.1, 1.1, nan, inf}) EXPECT_THROW(rng.bernoulli(p), std::invalid_argument);
  EXPECT_THROW(rng.uniform(1, 0), std::invalid_argument);
  EXPECT_THROW(rng.uniform(nan, 1), std::invalid_argument);
  EXPECT_THROW(rng.uniform(0, inf), std::invalid_argument);
  EXPECT_THROW(rng.uniform(-1.7e308, 1.7e308), std::invalid_argument);
  EXPECT_THROW(rng.normal(0, -1), std::invalid_argument);
  EXPECT_THROW(rng.normal(nan, 1), std::invalid_argument);
  EXPECT_THROW(rng.normal<float>(0, inf), std::invalid_argument);
  std::vector<float> out(4);
  EXPECT_THROW(rng.fill_normal(out, 0, nan), std::invalid_argument);
  EXPECT_EQ(rng.position(), 0u) << "a refused draw takes nothing";
}

TEST(Rng, Works_with_the_standard_distributions_and_shuffles) {
  Rng rng(sample_address);
  std::uniform_int_distribution<int> die(1, 6);
  for (int i = 0; i < 100; ++i) {
    const int x = die(rng);
    ASSERT_TRUE(x >= 1 && x <= 6);
  }
}

// Rejections of below(n): the largest n have chances up to 1/2, and then words go in pairs.
TEST(Rng, Below_rejects_in_pairs_of_words_and_keeps_the_bound) {
  Rng rng(sample_address);
  const std::uint64_t n = (std::uint64_t{1} << 63) + 1;
  std::uint64_t draws = 0;
  for (int i = 0; i < 1000; ++i, ++draws) ASSERT_LT(rng.below(n), n);
  EXPECT_EQ(rng.position() % 2, 0u);
  EXPECT_NEAR(static_cast<double>(rng.position()) / (2.0 * static_cast<double>(draws)), 2, 0.2);
  EXPECT_EQ(rng.below(1), 0u);
}

}  // namespace
}  // namespace headrace
