// Blocking queues: waiting, timeouts, close and cancel before, during and after a wait; no lost wakeup under any
// schedule.
#include "headrace/lockfree/blocking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "headrace/lockfree/mpmc_ring.hpp"
#include "headrace/lockfree/spsc_ring.hpp"
#include "support/deadline.hpp"
#include "support/payloads.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using test::Deadline;
using test::MoveOnly;
using test::ScheduledAtomic;
using test::Scheduler;
using Clock = std::chrono::steady_clock;
constexpr BlockingOptions sleeps_at_once{.spins = 0, .yields = 0, .wake_interval = 0ns};

template <class Ring>
class BlockingQueues : public ::testing::Test {};
using Rings = ::testing::Types<MpmcRing<MoveOnly>, SpscRing<MoveOnly>>;
TYPED_TEST_SUITE(BlockingQueues, Rings);

MoveOnly number(std::uint64_t n) { return std::make_unique<std::uint64_t>(n); }

TYPED_TEST(BlockingQueues, A_failed_push_leaves_the_argument_and_timeouts_are_kept) {
  const Deadline deadline;
  Blocking<TypeParam> queue(1, sleeps_at_once);
  ASSERT_EQ(queue.push(number(1)), PushResult::ok);
  auto value = number(2);
  ASSERT_EQ(queue.try_push(std::move(value)), PushResult::full);
  ASSERT_EQ(queue.push_for(std::move(value), 0ns), PushResult::full);
  ASSERT_EQ(queue.push_for(std::move(value), -1h), PushResult::full);
  ASSERT_EQ(queue.push_until(std::move(value), Clock::now() - 1s), PushResult::full);
  EXPECT_EQ(queue.sleeps(), 0u) << "a time of nothing must not sleep";
  const auto start = Clock::now();
  ASSERT_EQ(queue.push_for(std::move(value), 20ms), PushResult::full);
  EXPECT_GE(Clock::now() - start, 20ms);
  EXPECT_GT(queue.sleeps(), 0u);
  ASSERT_TRUE(value);
  EXPECT_EQ(**queue.pop(), 1u);
  const auto sleeps = queue.sleeps();
  EXPECT_FALSE(queue.try_pop());
  EXPECT_FALSE(queue.pop_for(0ns));
  EXPECT_EQ(queue.sleeps(), sleeps);
  const auto again = Clock::now();
  EXPECT_FALSE(queue.pop_for(20ms));
  EXPECT_GE(Clock::now() - again, 20ms);
  EXPECT_FALSE(queue.drained()) << "out of time is not the end";
  queue.close();
  EXPECT_EQ(queue.push(std::move(value)), PushResult::closed);
  EXPECT_TRUE(value);
  EXPECT_FALSE(queue.pop());
  EXPECT_TRUE(queue.drained());
  EXPECT_EQ(queue.rescues(), 0u);
}

TYPED_TEST(BlockingQueues, Sleepers_are_woken_by_a_push_a_pop_a_close_and_a_cancel) {
  const Deadline deadline;
  for (const std::string end : {"item", "close", "cancel"}) {
    Clock::duration fastest = 1h;
    for (int round = 0; round < test::scaled(20); ++round) {
      Blocking<TypeParam> queue(1, sleeps_at_once);
      std::optional<MoveOnly> got;
      std::thread consumer([&] { got = queue.pop(); });
      if (round % 2 == 0) {
        while (queue.sleeps() == 0) std::this_thread::yield();
      }
      const auto start = Clock::now();
      if (end == "item") {
        ASSERT_EQ(queue.push(number(7)), PushResult::ok);
      }
      if (end == "close") queue.close();
      if (end == "cancel") queue.cancel();
      consumer.join();
      if (round % 2 == 0) fastest = std::min(fastest, Clock::now() - start);
      ASSERT_EQ(got.has_value(), end == "item");
      ASSERT_EQ(queue.rescues(), 0u);
      if (end != "item") continue;
      // The other side: a producer that sleeps for room.
      ASSERT_EQ(queue.push(number(1)), PushResult::ok);
      PushResult result = PushResult::full;
      std::thread producer([&] { result = queue.push(number(2)); });
      if (round % 2 == 0) std::this_thread::sleep_for(1ms);
      ASSERT_EQ(**queue.pop(), 1u);
      producer.join();
      ASSERT_EQ(result, PushResult::ok);
      ASSERT_EQ(queue.rescues(), 0u);
    }
    EXPECT_LT(fastest, EventCount<>::longest_sleep / 2) << "it was the re-check that ended the sleep: " << end;
  }
}

TYPED_TEST(BlockingQueues, A_cancel_ends_both_sides_and_destroys_what_is_left) {
  const Deadline deadline;
  Blocking<TypeParam> queue(2, sleeps_at_once);
  ASSERT_EQ(queue.push(number(1)), PushResult::ok);
  ASSERT_EQ(queue.push(number(2)), PushResult::ok);
  PushResult result = PushResult::full;
  int reason = 0, seen = 0;  // plain: a cancel without its order is a race
  std::thread producer([&] {
    result = queue.push(number(3));
    seen = reason;
  });
  std::this_thread::sleep_for(1ms);
  reason = 7;
  queue.cancel();
  producer.join();
  EXPECT_EQ(result, PushResult::closed);
  EXPECT_EQ(seen, 7);
  EXPECT_FALSE(queue.pop());
  EXPECT_FALSE(queue.try_pop());
  EXPECT_TRUE(queue.drained());
  EXPECT_EQ(queue.try_push(number(4)), PushResult::closed);
}

void on_signal(int) {}

TEST(Blocking, A_storm_of_signals_neither_wakes_nor_prolongs_a_wait) {
  const Deadline deadline;
  struct sigaction action {
  }, before{};
  action.sa_handler = on_signal;  // no SA_RESTART: system calls return EINTR
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Blocking<MpmcRing<std::uint64_t>> queue(1, sleeps_at_once);
  std::atomic<bool> ended{false};
  std::optional<std::uint64_t> late, got;
  Clock::duration took{};
  std::thread consumer([&] {
    const auto start = Clock::now();
    late = queue.pop_for(100ms);
    took = Clock::now() - start;
    got = queue.pop();
    ended = true;
  });
  for (int i = 0; !ended; ++i) {
    pthread_kill(consumer.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(100us);
    if (i == 2000) {
      ASSERT_EQ(queue.push(9), PushResult::ok);
    }
  }
  consumer.join();
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_FALSE(late);
  EXPECT_GE(took, 100ms);
  EXPECT_EQ(got, 9u);
  EXPECT_EQ(queue.rescues(), 0u);
}

TEST(Blocking, Several_waiters_all_end_at_the_close_and_every_element_is_delivered_once) {
  const Deadline deadline;
  for (const bool naps : {false, true}) {
    for (const std::size_t capacity : {1u, 3u, 16u}) {
      BlockingOptions options = sleeps_at_once;
      if (naps) options = {.spins = 4, .yields = 1, .wake_interval = 200us};
      Blocking<MpmcRing<std::uint64_t>> queue(capacity, options);
      const std::uint64_t per = static_cast<std::uint64_t>(test::scaled(2000));
      constexpr std::uint64_t producers = 3, consumers = 3;
      std::vector<std::vector<std::uint64_t>> got(consumers);
      std::vector<std::thread> threads;
      for (std::uint64_t c = 0; c < consumers; ++c) {
        threads.emplace_back([&, c] {
          while (const auto value = queue.pop()) got[c].push_back(*value);
        });
      }
      std::vector<std::thread> pushing;
      for (std::uint64_t p = 0; p < producers; ++p) {
        pushing.emplace_back([&, p] {
          for (std::uint64_t i = 0; i < per; ++i) ASSERT_EQ(queue.push(p << 32 | i), PushResult::ok);
        });
      }
      for (auto& thread : pushing) thread.join();
      queue.close();
      for (auto& thread : threads) thread.join();
      std::set<std::uint64_t> all;
      for (const auto& one : got) {
        std::uint64_t next[producers] = {};
        for (const std::uint64_t value : one) {
          ASSERT_GE(value & 0xFFFFFFFF, next[value >> 32]) << "a producer's elements out of order";
          next[value >> 32] = (value & 0xFFFFFFFF) + 1;
          ASSERT_TRUE(all.insert(value).second) << "popped twice";
        }
      }
      EXPECT_EQ(all.size(), producers * per);
      EXPECT_EQ(queue.rescues(), 0u);
    }
  }
}

// ---- Under the scheduler: a sleep that only time can end is a lost wakeup ------------------------------------------

struct Shape {
  unsigned producers, consumers;
};

template <class Ring>
void no_wakeup_is_lost(Shape shape, std::uint64_t seeds) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::size_t capacity = 1 + seed % 2;
    constexpr std::uint64_t each = 3;
    Blocking<Ring, ScheduledAtomic> queue(capacity, sleeps_at_once);
    ScheduledAtomic<std::uint64_t> pushing{shape.producers};
    std::multiset<std::uint64_t> got;
    Scheduler scheduler(seed);
    for (unsigned p = 0; p < shape.producers; ++p) {
      scheduler.spawn([&, p] {
        for (std::uint64_t i = 0; i < each; ++i) ASSERT_EQ(queue.push(10 * p + i), PushResult::ok);
        if (pushing.fetch_sub(1) == 1) queue.close();
      });
    }
    for (unsigned c = 0; c < shape.consumers; ++c) {
      scheduler.spawn([&] {
        while (const auto value = queue.pop()) got.insert(*value);
      });
    }
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
    ASSERT_EQ(scheduler.expired(), 0u) << "lost wakeup, seed " << seed;
    ASSERT_EQ(got.size(), shape.producers * each) << "seed " << seed;
    ASSERT_EQ(std::set<std::uint64_t>(got.begin(), got.end()).size(), got.size()) << "seed " << seed;
  }
}

TEST(ScheduledBlocking, No_wakeup_is_lost_and_the_end_comes_after_the_last_element) {
  using Mpmc = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;
  const auto seeds = static_cast<std::uint64_t>(test::scaled(300));
  no_wakeup_is_lost<Mpmc>({1, 1}, seeds);
  no_wakeup_is_lost<Mpmc>({2, 2}, seeds);
  no_wakeup_is_lost<Mpmc>({1, 3}, seeds);
  no_wakeup_is_lost<SpscRing<std::uint64_t, ScheduledAtomic>>({1, 1}, seeds);
}

// Threads that take or give one element and leave do not come back to look for what others left: each wake-up counts.
TEST(ScheduledBlocking, Who_takes_one_element_and_leaves_passes_the_wakeup_on) {
  using Mpmc = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;
  for (const bool tries : {false, true}) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scaled(400)); ++seed) {
      Blocking<Mpmc, ScheduledAtomic> queue(3, sleeps_at_once);
      unsigned got = 0;
      Scheduler scheduler(seed);
      for (int c = 0; c < 3; ++c) {
        scheduler.spawn([&] { got += queue.pop().has_value(); });
      }
      scheduler.spawn([&] {
        for (std::uint64_t i = 0; i < 3; ++i) {
          ASSERT_EQ(tries ? queue.try_push(std::uint64_t{i}) : queue.push(i), PushResult::ok);
        }
      });
      ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
      ASSERT_EQ(scheduler.expired(), 0u) << "lost wakeup, seed " << seed;
      ASSERT_EQ(got, 3u);
    }
  }
}

TEST(ScheduledBlocking, A_waiter_whose_element_is_stolen_asks_again_before_it_looks) {
  using Mpmc = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scaled(1500)); ++seed) {
    Blocking<Mpmc, ScheduledAtomic> queue(2, sleeps_at_once);
    Scheduler scheduler(seed);
    scheduler.spawn([&] { ASSERT_TRUE(queue.pop()); });
    scheduler.spawn([&] {  // the thief: does not wait, does not pass anything on
      while (!queue.try_pop()) {
      }
    });
    scheduler.spawn([&] {
      for (std::uint64_t i = 0; i < 2; ++i) ASSERT_EQ(queue.push(i), PushResult::ok);
    });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
    ASSERT_EQ(scheduler.expired(), 0u) << "lost wakeup, seed " << seed;
  }
}

TEST(ScheduledBlocking, Who_makes_room_for_one_and_leaves_wakes_a_producer) {
  using Mpmc = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;
  for (const bool tries : {false, true}) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scaled(400)); ++seed) {
      Blocking<Mpmc, ScheduledAtomic> queue(2, sleeps_at_once);
      for (std::uint64_t i = 0; i < 2; ++i) ASSERT_EQ(queue.push(i), PushResult::ok);
      Scheduler scheduler(seed);
      for (int p = 0; p < 2; ++p) {
        scheduler.spawn([&] { ASSERT_EQ(queue.push(9), PushResult::ok); });
      }
      scheduler.spawn([&] {
        for (int i = 0; i < 2; ++i) {
          const auto value = tries ? queue.try_pop() : queue.pop();
          ASSERT_TRUE(value);
        }
      });
      ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
      ASSERT_EQ(scheduler.expired(), 0u) << "lost wakeup, seed " << seed;
    }
  }
}

TEST(ScheduledBlocking, A_cancel_reaches_every_waiter_at_every_moment) {
  using Mpmc = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scaled(300)); ++seed) {
    Blocking<Mpmc, ScheduledAtomic> queue(1, sleeps_at_once);
    Scheduler scheduler(seed);
    for (int p = 0; p < 2; ++p) {
      scheduler.spawn([&] {
        while (queue.push(1) == PushResult::ok) {
        }
      });
    }
    scheduler.spawn([&] {
      for (int i = 0; i < 2; ++i) static_cast<void>(queue.pop());
    });
    scheduler.spawn([&] { queue.cancel(); });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
    ASSERT_EQ(scheduler.expired(), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace headrace
