#include <gtest/gtest.h>

#include <cstdint>
#include <headrace/random/address.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace headrace {
namespace {

static_assert(stream_version == 1);
static_assert(stream_counter({.seed = 9, .epoch = 0xABCDE, .item = 0xFEDCBA98765, .patch = 0x1234, .op = 0x5678}, 42) ==
              PhiloxBlock{{42, 0x12345678, 0xCBA98765, 0xABCDEFED}});
static_assert(stream_key(0x0123456789ABCDEF) == PhiloxKey{{0x89ABCDEF, 0x01234567}});

std::string error_of(const StreamAddress& address) {
  try {
    (void)stream_counter(address);
  } catch (const std::out_of_range& error) {
    return error.what();
  }
  return "";
}

TEST(Address, Top_values_fit_and_leave_the_two_top_bits_of_c1_zero) {
  const StreamAddress top{.seed = ~std::uint64_t{0},
                          .epoch = max_stream_epoch,
                          .item = max_stream_item,
                          .patch = item_patch,
                          .op = max_stream_op};
  EXPECT_EQ(stream_counter(top, 0xFFFFFFFF), (PhiloxBlock{{0xFFFFFFFF, 0x3FFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}}));
  EXPECT_EQ(error_of({.patch = max_stream_patch}), "");
}

TEST(Address, A_field_beyond_its_limit_is_an_error_that_names_it) {
  EXPECT_EQ(error_of({.epoch = 1u << 20}), "stream epoch 1048576 is out of range: expected 0..1048575");
  EXPECT_EQ(error_of({.epoch = 0xFFFFFFFF}), "stream epoch 4294967295 is out of range: expected 0..1048575");
  EXPECT_EQ(error_of({.item = std::uint64_t{1} << 44}),
            "stream item 17592186044416 is out of range: expected 0..17592186044415");
  EXPECT_EQ(error_of({.item = ~std::uint64_t{0}}),
            "stream item 18446744073709551615 is out of range: expected 0..17592186044415");
  EXPECT_EQ(error_of({.patch = 0x4000}), "stream patch 16384 is out of range: expected 0..16382");
  EXPECT_EQ(error_of({.op = 0x10000}), "stream op 65536 is out of range: expected 0..65535");
}

TEST(Address, Counter_and_key_give_the_address_back) {
  std::mt19937_64 generator(3);
  for (int i = 0; i < 100000; ++i) {
    const StreamAddress address{.seed = generator(),
                                .epoch = static_cast<std::uint32_t>(generator()) & max_stream_epoch,
                                .item = generator() & max_stream_item,
                                .patch = static_cast<std::uint32_t>(generator()) & item_patch,
                                .op = static_cast<std::uint32_t>(generator()) & max_stream_op};
    ASSERT_EQ(stream_address(stream_key(address.seed), stream_counter(address)), address);
  }
}

// Values at and around every power of two of every field: no two addresses share a counter.
TEST(Address, Streams_do_not_collide_across_fields) {
  const auto around_powers = [](std::uint64_t top) {
    std::set<std::uint64_t> values{0, top};
    for (std::uint64_t power = 1; power <= top; power *= 8) {
      values.insert(power);
      values.insert(power - 1);
    }
    return std::vector<std::uint64_t>(values.begin(), values.end());
  };
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  std::size_t addresses = 0;
  for (const auto epoch : around_powers(max_stream_epoch)) {
    for (const auto item : around_powers(max_stream_item)) {
      for (const auto patch : around_powers(item_patch)) {
        for (const auto op : around_powers(max_stream_op)) {
          const PhiloxBlock c = stream_counter({.epoch = static_cast<std::uint32_t>(epoch),
                                                .item = item,
                                                .patch = static_cast<std::uint32_t>(patch),
                                                .op = static_cast<std::uint32_t>(op)});
          seen.emplace(c.word[1], c.word[2], c.word[3]);
          ++addresses;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), addresses);
  EXPECT_GT(addresses, 50000u);
}

TEST(Address, Reserved_ops_are_above_every_pipeline_op_and_distinct) {
  const std::set<std::uint32_t> ops{op_shuffle, op_weighted_draw, op_substitute, op_mixing};
  EXPECT_EQ(ops.size(), 4u);
  EXPECT_EQ(*ops.begin(), first_reserved_op);
  EXPECT_EQ(first_reserved_op, 0xFF00u);
}

}  // namespace
}  // namespace headrace
