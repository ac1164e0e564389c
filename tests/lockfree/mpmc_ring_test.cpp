// MpmcRing on one thread: capacities, wrap-around, element types, exceptions, close, leftovers.
#include "headrace/lockfree/mpmc_ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>

#include "support/payloads.hpp"

namespace headrace {
namespace {

using test::MoveOnly;
using test::OverAligned;
using test::ThrowingCopy;
using test::Tracked;
using Small = MpmcRing<std::uint64_t, std::uint16_t>;  // 8 bits of cycle, 8 of place: wraps after 256 laps

constexpr std::size_t capacities[] = {1, 2, 3, 4, 5, 7, 8, 100, 127, 128, 129, 255, 256, 257, 1000};

// Random pushes and pops against a deque; every answer must be the deque's.
template <class Queue>
void compare_with_a_deque(Queue& queue, std::uint64_t seed, int steps) {
  std::deque<std::uint64_t> model;
  std::mt19937_64 random(seed);
  std::uint64_t next = 0;
  std::size_t high = 0;
  for (int i = 0; i < steps; ++i) {
    // In phases of filling and of emptying, so that both ends are met.
    const bool push = random() % 4 < (i / 300 % 2 == 0 ? 3u : 1u);
    if (push) {
      const PushResult expected = model.size() == queue.capacity() ? PushResult::full : PushResult::ok;
      ASSERT_EQ(queue.try_push(next), expected) << "step " << i;
      if (expected == PushResult::ok) model.push_back(next++);
    } else {
      const auto value = queue.try_pop();
      ASSERT_EQ(value.has_value(), !model.empty()) << "step " << i;
      if (!value) continue;
      ASSERT_EQ(*value, model.front());
      model.pop_front();
    }
    high = std::max(high, model.size());
    ASSERT_EQ(queue.empty(), model.empty());
    ASSERT_EQ(queue.full(), model.size() == queue.capacity());
  }
  EXPECT_LE(high, queue.capacity());
}

TEST(MpmcRing, Is_a_queue_of_exactly_its_capacity) {
  for (const std::size_t capacity : capacities) {
    SCOPED_TRACE(capacity);
    MpmcRing<std::uint64_t> queue(capacity);
    ASSERT_EQ(queue.capacity(), capacity);
    for (std::uint64_t i = 0; i < capacity; ++i) ASSERT_EQ(queue.try_push(i), PushResult::ok);
    ASSERT_EQ(queue.try_push(std::uint64_t{0}), PushResult::full);
    for (std::uint64_t i = 0; i < capacity; ++i) ASSERT_EQ(queue.try_pop(), i);
    ASSERT_EQ(queue.try_pop(), std::nullopt);
    compare_with_a_deque(queue, capacity, 6000);
  }
}

TEST(MpmcRing, Cycles_wrap_in_a_narrow_word) {
  for (const std::size_t capacity : {1u, 2u, 3u, 5u, 8u, 127u, 128u, 254u, 255u}) {
    SCOPED_TRACE(capacity);
    Small queue(capacity);
    compare_with_a_deque(queue, capacity, 2000);
    for (std::uint64_t i = 0; i < 600 * capacity; ++i) {  // more than two wraps of the cycle
      while (queue.try_pop()) {
      }
      ASSERT_EQ(queue.try_push(i), PushResult::ok) << i;
      ASSERT_EQ(queue.try_pop(), i);
    }
  }
}

TEST(MpmcRing, Cycles_wrap_in_the_wide_word_too) {
  for (const std::size_t capacity : {1u, 3u, 7u, 16u}) {
    MpmcRing<std::uint64_t> wide(capacity, (std::uint64_t{1} << 48) - 3);
    compare_with_a_deque(wide, capacity, 3000);
    MpmcRing<std::uint64_t, std::uint32_t> narrow(capacity, 0xFFFE);
    compare_with_a_deque(narrow, capacity, 3000);
  }
}

TEST(MpmcRing, Refuses_impossible_capacities_before_it_asks_for_memory) {
  EXPECT_THROW(MpmcRing<std::uint64_t>(0), std::invalid_argument);
  EXPECT_THROW(MpmcRing<std::uint64_t>(65536), std::invalid_argument);
  EXPECT_THROW(MpmcRing<std::uint64_t>(~std::size_t{0}), std::invalid_argument);
  EXPECT_THROW(Small(256), std::invalid_argument);
  try {
    MpmcRing<std::uint64_t> queue(0);
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("between 1 and 65535"), std::string::npos);
  }
  MpmcRing<std::uint64_t> largest(65535);
  for (std::uint64_t i = 0; i < 65535; ++i) ASSERT_EQ(largest.try_push(i), PushResult::ok);
  EXPECT_EQ(largest.try_push(std::uint64_t{1}), PushResult::full);
  largest.close();
  for (std::uint64_t i = 0; i < 65535; ++i) ASSERT_EQ(largest.try_pop(), i);
  EXPECT_TRUE(largest.drained());
}

TEST(MpmcRing, A_failed_push_leaves_the_argument) {
  MpmcRing<MoveOnly> queue(1);
  ASSERT_EQ(queue.try_push(std::make_unique<std::uint64_t>(1)), PushResult::ok);
  auto second = std::make_unique<std::uint64_t>(2);
  ASSERT_EQ(queue.try_push(std::move(second)), PushResult::full);
  ASSERT_TRUE(second) << "a full queue ate the argument";
  queue.close();
  ASSERT_EQ(queue.try_push(std::move(second)), PushResult::closed);
  ASSERT_TRUE(second) << "a closed queue ate the argument";
  EXPECT_EQ(**queue.try_pop(), 1u);
}

TEST(MpmcRing, A_throwing_copy_changes_nothing_and_costs_no_place) {
  {
    MpmcRing<ThrowingCopy> queue(8);
    const ThrowingCopy value(7);
    for (int round = 0; round < 20; ++round) {
      ThrowingCopy::armed() = true;
      ASSERT_THROW((void)queue.try_push(value), std::runtime_error);
      ThrowingCopy::armed() = false;
      for (int i = 0; i < 8; ++i) ASSERT_EQ(queue.try_push(value), PushResult::ok) << "a place was lost";
      ThrowingCopy::armed() = true;
      ASSERT_THROW((void)queue.try_push(value), std::runtime_error) << "full, and the copy is made first";
      ThrowingCopy::armed() = false;
      for (int i = 0; i < 8; ++i) ASSERT_EQ(queue.try_pop()->value(), 7u);
      ASSERT_FALSE(queue.try_pop());
    }
  }
  EXPECT_EQ(ThrowingCopy::live(), 0);
}

template <std::size_t Alignment>
void check_alignment() {
  MpmcRing<OverAligned<Alignment>> queue(3);
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_EQ(queue.try_push(OverAligned<Alignment>(i)), PushResult::ok);
    ASSERT_EQ(queue.try_pop()->value(), i);
  }
  EXPECT_EQ(OverAligned<Alignment>::misplaced(), 0);
}

TEST(MpmcRing, Over_aligned_elements_are_aligned) {
  check_alignment<64>();
  check_alignment<128>();
  check_alignment<4096>();
}

TEST(MpmcRing, Destroys_what_is_left_once_and_nothing_else) {
  for (const std::size_t capacity : {1u, 2u, 3u, 8u}) {
    for (std::size_t before = 0; before <= 2 * capacity; ++before) {
      for (std::size_t left = 0; left <= capacity; ++left) {
        for (const bool close : {false, true}) {
          {
            MpmcRing<Tracked> queue(capacity);
            for (std::size_t i = 0; i < before; ++i) {
              ASSERT_EQ(queue.try_push(Tracked(i)), PushResult::ok);
              ASSERT_EQ(queue.try_pop()->value(), i);
            }
            for (std::size_t i = 0; i < left; ++i) ASSERT_EQ(queue.try_push(Tracked(i)), PushResult::ok);
            if (close) queue.close();
            ASSERT_EQ(Tracked::live(), static_cast<long>(left));
          }
          ASSERT_EQ(Tracked::live(), 0) << capacity << ' ' << before << ' ' << left << ' ' << close;
        }
      }
    }
  }
  EXPECT_EQ(Tracked::faults(), 0);
}

TEST(MpmcRing, After_close_pushes_fail_and_pops_go_on_to_the_end) {
  for (const std::size_t capacity : {1u, 2u, 5u}) {
    for (std::uint64_t left = 0; left <= capacity; ++left) {
      MpmcRing<std::uint64_t> queue(capacity);
      for (std::uint64_t i = 0; i < left; ++i) ASSERT_EQ(queue.try_push(i), PushResult::ok);
      EXPECT_FALSE(queue.closed());
      EXPECT_FALSE(queue.drained()) << "empty is not the end";
      queue.close();
      queue.close();
      EXPECT_TRUE(queue.closed());
      EXPECT_EQ(queue.try_push(std::uint64_t{9}), PushResult::closed) << "also on a full queue";
      for (std::uint64_t i = 0; i < left; ++i) {
        EXPECT_FALSE(queue.drained());
        ASSERT_EQ(queue.try_pop(), i);
      }
      EXPECT_TRUE(queue.drained());
      EXPECT_EQ(queue.try_pop(), std::nullopt);
      EXPECT_EQ(queue.try_push(std::uint64_t{9}), PushResult::closed);
    }
  }
}

TEST(MpmcRing, Its_neighbours_cannot_share_a_line) {
  EXPECT_EQ(alignof(MpmcRing<char>) % cache_line, 0u);
  EXPECT_EQ(sizeof(MpmcRing<char>) % cache_line, 0u);
  EXPECT_EQ(sizeof(detail::IndexRing<std::uint64_t, std::atomic>), 3 * cache_line) << "read only, head, tail";
}

}  // namespace
}  // namespace headrace
