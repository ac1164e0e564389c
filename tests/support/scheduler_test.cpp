// The verification kit must be able to fail: a race, a lost wakeup and an endless loop planted and found, and equal
// seeds give equal schedules.
#include "support/scheduler.hpp"

#include <gtest/gtest.h>

#include <string>

namespace headrace::test {
namespace {

using Counter = ScheduledAtomic<std::uint64_t>;

TEST(Scheduler, A_lost_update_is_found_by_some_seed_and_replayed_by_it) {
  const auto total = [](std::uint64_t seed) {
    Counter counter;
    Scheduler scheduler(seed);
    for (int t = 0; t < 2; ++t) scheduler.spawn([&] { counter.store(counter.load() + 1); });
    EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
    return counter.peek();
  };
  std::uint64_t failing = 0;
  for (std::uint64_t seed = 1; seed < 200 && failing == 0; ++seed) {
    if (total(seed) == 1) failing = seed;
  }
  ASSERT_NE(failing, 0u);
  for (int again = 0; again < 5; ++again) EXPECT_EQ(total(failing), 1u);
}

TEST(Scheduler, A_script_fixes_the_schedule) {
  std::string order;
  Counter word;
  Scheduler scheduler(0);
  for (int t = 0; t < 2; ++t) {
    scheduler.spawn([&, t] {
      for (int i = 0; i < 3; ++i) {
        word.load();
        order += static_cast<char>('a' + t);
      }
    });
  }
  // Each thread's first turn brings it to its first access.
  scheduler.script({0, 1, 1, 0, 0, 1, 1, 0});
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
  EXPECT_EQ(order, "baabba");
}

TEST(Scheduler, A_thread_that_waits_for_a_frozen_one_is_found) {
  Counter flag;
  Scheduler scheduler(1);
  scheduler.limit_steps(2000);
  const unsigned setter = scheduler.spawn([&] { flag.store(1); });
  scheduler.spawn([&] {
    while (flag.load() == 0) {
    }
  });
  scheduler.freeze(setter, 0);
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::endless);
  EXPECT_TRUE(scheduler.reached_freeze(setter));
}

TEST(Scheduler, A_sleep_without_a_wake_runs_out) {
  ScheduledAtomic<std::uint64_t> word{7ull << 32};
  bool woken = true;
  Scheduler scheduler(1);
  scheduler.spawn([&] { woken = detail::Futex<ScheduledAtomic>::wait(word, 7, std::chrono::seconds(1)); });
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
  EXPECT_FALSE(woken);
  EXPECT_EQ(scheduler.expired(), 1u);
}

}  // namespace
}  // namespace headrace::test
