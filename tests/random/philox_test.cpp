// The block function against published answers and against an independent implementation.
#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <headrace/random/philox.hpp>
#include <random>

namespace headrace {
namespace {

// Random123's known answers, at compile time.
static_assert(philox_block({{0, 0, 0, 0}}, {{0, 0}}) == PhiloxBlock{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox_block({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {{0xffffffff, 0xffffffff}}) ==
              PhiloxBlock{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
static_assert(philox_block({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}) ==
              PhiloxBlock{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});

TEST(Philox, Gives_the_known_answers_at_run_time) {
  volatile std::uint32_t zero = 0;
  const PhiloxBlock pi =
      philox_block({{0x243f6a88u + zero, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}});
  EXPECT_EQ(pi, (PhiloxBlock{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST(Philox, Equals_Random123_over_a_million_random_blocks) {
  std::mt19937 generator(1);
  r123::Philox4x32 reference;
  for (int i = 0; i < 1000000; ++i) {
    PhiloxBlock counter;
    PhiloxKey key;
    for (auto& word : counter.word) word = static_cast<std::uint32_t>(generator());
    for (auto& word : key.word) word = static_cast<std::uint32_t>(generator());
    const auto expected =
        reference({{counter.word[0], counter.word[1], counter.word[2], counter.word[3]}}, {{key.word[0], key.word[1]}});
    const PhiloxBlock block = philox_block(counter, key);
    for (std::size_t w = 0; w < 4; ++w) ASSERT_EQ(block.word[w], expected[w]) << "block " << i << " word " << w;
  }
}

// std::philox_engine as the C++26 standard words it (rand.eng.philox): the counter is raised once a block, words come
// out in order, the default seed 20111115 is the key's low word.
class StandardEngine {
 public:
  std::uint32_t operator()() {
    if (++index_ == 4) {
      block_ = philox_block(counter_, {{20111115, 0}});
      ++counter_.word[0];
      index_ = 0;
    }
    return block_.word[index_];
  }

 private:
  PhiloxBlock counter_{};
  PhiloxBlock block_{};
  int index_ = 3;
};

TEST(Philox, Gives_the_ten_thousandth_value_that_the_standard_requires) {
  StandardEngine engine;
  for (int i = 0; i < 9999; ++i) engine();
  EXPECT_EQ(engine(), 1955073260u);
}

}  // namespace
}  // namespace headrace
