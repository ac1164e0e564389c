// SpscRing: capacities, in-place use, element types, exceptions, close, leftovers; then two threads.
#include "headrace/lockfree/spsc_ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "support/deadline.hpp"
#include "support/payloads.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using test::MoveOnly;
using test::OverAligned;
using test::ThrowingCopy;
using test::Tracked;

TEST(SpscRing, Is_a_queue_of_exactly_its_capacity_over_many_laps) {
  for (const std::size_t capacity : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 100u, 127u, 128u, 129u, 255u, 256u, 257u, 1000u}) {
    SCOPED_TRACE(capacity);
    SpscRing<std::uint64_t> queue(capacity);
    ASSERT_EQ(queue.capacity(), capacity);
    std::deque<std::uint64_t> model;
    std::mt19937_64 random(capacity);
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < 4000 + 20 * capacity; ++i) {
      const std::size_t phase = 2 * capacity + 7;
      if (random() % 8 < (i / phase % 2 == 0 ? 6u : 2u)) {
        const auto expected = model.size() == capacity ? PushResult::full : PushResult::ok;
        ASSERT_EQ(queue.try_push(next), expected);
        if (expected == PushResult::ok) model.push_back(next++);
      } else {
        const auto value = queue.try_pop();
        ASSERT_EQ(value.has_value(), !model.empty());
        if (value) {
          ASSERT_EQ(*value, model.front());
          model.pop_front();
        }
      }
      ASSERT_EQ(queue.empty(), model.empty());
      ASSERT_EQ(queue.full(), model.size() == capacity);
    }
  }
}

TEST(SpscRing, Refuses_impossible_capacities_before_it_asks_for_memory) {
  EXPECT_THROW(SpscRing<std::uint64_t>(0), std::invalid_argument);
  EXPECT_THROW(SpscRing<std::uint64_t>(~std::size_t{0}), std::invalid_argument);
  EXPECT_THROW(SpscRing<std::uint64_t>(~std::size_t{0} / 2), std::bad_array_new_length);
  EXPECT_THROW(SpscRing<std::uint64_t>(~std::size_t{0} / 8), std::bad_array_new_length);
}

TEST(SpscRing, Elements_are_made_and_used_in_place) {
  SpscRing<std::string> queue(2);
  EXPECT_EQ(queue.front(), nullptr);
  for (int i = 0; i < 7; ++i) {
    std::string* const place = queue.try_claim();
    ASSERT_NE(place, nullptr);
    EXPECT_EQ(queue.try_claim(), place) << "a claim that is not published costs nothing";
    EXPECT_EQ(queue.front(), nullptr) << "a claim is not seen";
    std::construct_at(place, 40, static_cast<char>('a' + i));
    queue.publish();
    ASSERT_EQ(queue.front(), place) << "the same object, not a copy";
    EXPECT_EQ(*queue.front(), std::string(40, static_cast<char>('a' + i)));
    queue.pop();
  }
  std::construct_at(queue.try_claim(), "x");
  queue.publish();
  std::construct_at(queue.try_claim(), "y");
  queue.publish();
  EXPECT_EQ(queue.try_claim(), nullptr);
}

TEST(SpscRing, A_failed_push_leaves_the_argument) {
  SpscRing<MoveOnly> queue(1);
  ASSERT_EQ(queue.try_push(std::make_unique<std::uint64_t>(1)), PushResult::ok);
  auto second = std::make_unique<std::uint64_t>(2);
  ASSERT_EQ(queue.try_push(std::move(second)), PushResult::full);
  ASSERT_TRUE(second);
  queue.close();
  ASSERT_EQ(queue.try_push(std::move(second)), PushResult::closed);
  ASSERT_TRUE(second);
  EXPECT_FALSE(queue.drained());
  EXPECT_EQ(**queue.try_pop(), 1u);
  EXPECT_TRUE(queue.drained());
}

TEST(SpscRing, A_throwing_copy_changes_nothing_and_costs_no_place) {
  {
    SpscRing<ThrowingCopy> queue(3);
    const ThrowingCopy value(7);
    for (int round = 0; round < 10; ++round) {
      ThrowingCopy::armed() = true;
      ASSERT_THROW((void)queue.try_push(value), std::runtime_error);
      ThrowingCopy::armed() = false;
      EXPECT_FALSE(queue.try_pop());
      for (int i = 0; i < 3; ++i) ASSERT_EQ(queue.try_push(value), PushResult::ok);
      for (int i = 0; i < 3; ++i) ASSERT_EQ(queue.try_pop()->value(), 7u);
    }
  }
  EXPECT_EQ(ThrowingCopy::live(), 0);
}

template <std::size_t Alignment>
void check_alignment() {
  SpscRing<OverAligned<Alignment>> queue(3);
  for (std::uint64_t i = 0; i < 7; ++i) {
    ASSERT_EQ(queue.try_push(OverAligned<Alignment>(i)), PushResult::ok);
    ASSERT_EQ(queue.try_pop()->value(), i);
  }
  EXPECT_EQ(OverAligned<Alignment>::misplaced(), 0);
}

TEST(SpscRing, Over_aligned_elements_are_aligned) {
  check_alignment<64>();
  check_alignment<128>();
  check_alignment<4096>();
}

TEST(SpscRing, Destroys_what_is_left_once_and_nothing_else) {
  for (const std::size_t capacity : {1u, 2u, 3u, 8u}) {
    for (std::size_t before = 0; before <= 2 * capacity + 1; ++before) {
      for (std::size_t left = 0; left <= capacity; ++left) {
        {
          SpscRing<Tracked> queue(capacity);
          for (std::size_t i = 0; i < before; ++i) {
            ASSERT_EQ(queue.try_push(Tracked(i)), PushResult::ok);
            ASSERT_EQ(queue.try_pop()->value(), i);
          }
          for (std::size_t i = 0; i < left; ++i) ASSERT_EQ(queue.try_push(Tracked(i)), PushResult::ok);
          ASSERT_EQ(Tracked::live(), static_cast<long>(left));
        }
        ASSERT_EQ(Tracked::live(), 0) << capacity << ' ' << before << ' ' << left;
      }
    }
  }
  EXPECT_EQ(Tracked::faults(), 0);
}

TEST(SpscRing, Its_lines_are_the_sides_own) {
  EXPECT_EQ(sizeof(SpscRing<char>), 5 * cache_line);
  EXPECT_EQ(alignof(SpscRing<char>), cache_line);
}

TEST(SpscRing, Two_threads_in_order_and_to_the_end) {
  for (const std::size_t capacity : {1u, 2u, 3u, 64u}) {
    SpscRing<MoveOnly> queue(capacity);
    const auto n = static_cast<std::uint64_t>(test::scaled(5000));
    int reason = 0;  // plain: a close without its order is a race
    std::thread producer([&] {
      for (std::uint64_t i = 0; i < n; ++i) {
        auto value = std::make_unique<std::uint64_t>(i);
        while (queue.try_push(std::move(value)) != PushResult::ok) std::this_thread::yield();
      }
      reason = 7;
      queue.close();
    });
    std::uint64_t next = 0;
    while (!queue.drained()) {
      if (const auto value = queue.try_pop()) {
        ASSERT_EQ(**value, next++);
      } else {
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(reason, 7);
    producer.join();
    EXPECT_EQ(next, n) << "the end came before the last element";
  }
}

TEST(ScheduledSpscRing, Delivers_in_order_and_to_the_end_whatever_the_schedule) {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scaled(400)); ++seed) {
    const std::size_t capacity = 1 + seed % 3;
    SpscRing<Tracked, test::ScheduledAtomic> queue(capacity);
    std::uint64_t got = 0;
    constexpr std::uint64_t n = 7;  // at least two laps of every capacity
    test::Scheduler scheduler(seed);
    scheduler.spawn([&] {
      for (std::uint64_t i = 0; i < n;) i += queue.try_push(Tracked(i)) == PushResult::ok ? 1u : 0u;
      queue.close();
    });
    scheduler.spawn([&] {
      while (!queue.drained()) {
        const auto value = queue.try_pop();
        if (!value) continue;
        ASSERT_EQ(value->value(), got);
        ++got;
      }
    });
    ASSERT_EQ(scheduler.run(), test::Scheduler::Outcome::finished) << "seed " << seed;
    ASSERT_EQ(got, n) << "seed " << seed;
  }
  EXPECT_EQ(Tracked::live(), 0);
  EXPECT_EQ(Tracked::faults(), 0);
}

}  // namespace
}  // namespace headrace
