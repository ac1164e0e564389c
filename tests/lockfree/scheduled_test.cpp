// The lock-free structures under the deterministic scheduler: many seeded schedules, exact scripts, planted faults.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headrace/lockfree/event_count.hpp"
#include "headrace/lockfree/reorder_ring.hpp"
#include "headrace/lockfree/slab_pool.hpp"
#include "headrace/runtime/activity.hpp"
#include "support/delivery_order.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using test::ScheduledAtomic;
using test::Scheduler;
constexpr std::uint64_t schedules = 400;

// ---- ReorderRing -------------------------------------------------------------------------------------------------

TEST(ScheduledReorderRing, Delivers_in_order_over_laps_whatever_the_schedule) {
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    constexpr std::uint64_t n = 6;
    const std::size_t capacity = 1 + seed % 3;
    ReorderRing<std::unique_ptr<std::uint64_t>, ScheduledAtomic> ring(capacity);
    ScheduledAtomic<std::uint64_t> next{0}, limit{capacity};
    Scheduler scheduler(seed);
    for (int p = 0; p < 2; ++p) {
      scheduler.spawn([&] {
        for (;;) {
          std::uint64_t s = next.load(std::memory_order_relaxed);
          if (s >= n) return;
          if (s >= limit.load(std::memory_order_acquire)) continue;
          if (!next.compare_exchange_strong(s, s + 1, std::memory_order_relaxed, std::memory_order_relaxed)) continue;
          ASSERT_TRUE(ring.publish(s, std::make_unique<std::uint64_t>(s * 7)));
        }
      });
    }
    scheduler.spawn([&] {
      for (std::uint64_t s = 0; s < n;) {
        const auto value = ring.try_take();
        if (!value) continue;
        ASSERT_EQ(**value, s * 7);
        ++s;
        limit.store(s + capacity, std::memory_order_release);
      }
    });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
  }
}

TEST(ScheduledReorderRing, Within_a_span_delivers_each_once_and_overtakes_no_more) {
  std::set<std::uint64_t> overtaken;
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    constexpr std::uint64_t n = 7;
    const std::uint64_t span = 1 + seed % 2;
    const std::size_t capacity = span + 1 + seed % 3;
    ReorderRing<std::unique_ptr<std::uint64_t>, ScheduledAtomic> ring(capacity);
    ScheduledAtomic<std::uint64_t> next{0}, limit{capacity};
    Scheduler scheduler(seed);
    for (int p = 0; p < 2; ++p) {
      scheduler.spawn([&] {
        for (;;) {
          std::uint64_t s = next.load(std::memory_order_relaxed);
          if (s >= n) return;
          if (s >= limit.load(std::memory_order_acquire)) continue;
          if (!next.compare_exchange_strong(s, s + 1, std::memory_order_relaxed, std::memory_order_relaxed)) continue;
          ASSERT_TRUE(ring.publish(s, std::make_unique<std::uint64_t>(s * 7)));
        }
      });
    }
    test::DeliveryOrder order(span);
    scheduler.spawn([&] {
      for (std::uint64_t came = 0; came < n;) {
        const auto taken = ring.try_take_within(span);
        if (!taken) continue;
        ASSERT_EQ(*taken->value, taken->sequence * 7);
        ASSERT_EQ(order.deliver(taken->sequence), "") << "seed " << seed;
        ++came;
        limit.store(ring.next_sequence() + capacity, std::memory_order_release);
      }
    });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
    ASSERT_TRUE(order.complete(n));
    overtaken.insert(order.most_overtaken());
  }
  EXPECT_GE(overtaken.size(), 2u) << "some schedules overtake, some do not";
}

TEST(ScheduledReorderRing, One_of_two_publishers_wins_or_the_revoker_does) {
  std::set<int> winners;
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    ReorderRing<std::uint16_t, ScheduledAtomic> ring(2, (std::uint64_t{1} << 47) - 1);  // the stamp's sequence wraps
    const std::uint64_t s = ring.next_sequence();
    bool won[2] = {};
    std::optional<std::uint16_t> revoked;
    Scheduler scheduler(seed);
    for (int p = 0; p < 2; ++p) {
      scheduler.spawn([&, p] { won[p] = ring.publish_first(s, static_cast<std::uint16_t>(10 + p)); });
    }
    scheduler.spawn([&] { revoked = ring.revoke(); });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
    ASSERT_EQ(won[0] + won[1], revoked.has_value() ? 1 : 0) << "seed " << seed;
    ASSERT_EQ(revoked.value_or(0), won[0] ? 10 : won[1] ? 11 : 0);
    ASSERT_FALSE(ring.publish_first(s, 1)) << "a revoked place stays closed";
    winners.insert(won[0] ? 0 : won[1] ? 1 : 2);
  }
  EXPECT_EQ(winners.size(), 3u) << "every outcome was met";
}

// ---- EventCount --------------------------------------------------------------------------------------------------

// Waiters that each need one token; a producer that makes them one by one.
template <class Notify>
std::uint64_t lost_wakeups(std::uint64_t seed, int waiters, Notify&& notify) {
  EventCount<ScheduledAtomic> events(0xFFFFFFFE);  // the epoch wraps
  ScheduledAtomic<std::uint64_t> tokens{0};
  Scheduler scheduler(seed);
  for (int w = 0; w < waiters; ++w) {
    scheduler.spawn([&] {
      for (;;) {
        events.await([&]() noexcept { return tokens.load() != 0; });
        std::uint64_t have = tokens.load();
        if (have != 0 &&
            tokens.compare_exchange_strong(have, have - 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
          return;
        }
      }
    });
  }
  scheduler.spawn([&] {
    for (int i = 0; i < waiters; ++i) {
      tokens.fetch_add(1);
      notify(events);
    }
  });
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
  EXPECT_EQ(events.waiters(), 0u);
  return scheduler.expired();
}

TEST(ScheduledEventCount, No_wakeup_is_lost) {
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    ASSERT_EQ(lost_wakeups(seed, 1, [](auto& e) { e.notify_one(); }), 0u) << "seed " << seed;
    ASSERT_EQ(lost_wakeups(seed, 2, [](auto& e) { e.notify_all(); }), 0u) << "seed " << seed;
  }
}

// A consumer that waits for one value after the other, and writes down for which; publishers that come in another
// order.
template <class Publish>
std::uint64_t lost_with_awaited(std::uint64_t seed, Publish&& publish) {
  EventCount<ScheduledAtomic> events(0xFFFFFFFE);
  ScheduledAtomic<std::uint64_t> flags[3] = {}, awaited{0};
  Scheduler scheduler(seed);
  scheduler.spawn([&] {
    for (std::uint64_t s = 0; s < 3; ++s) {
      awaited.store(s, std::memory_order_relaxed);
      events.await([&]() noexcept { return flags[s].load(std::memory_order_acquire) != 0; });
    }
  });
  scheduler.spawn([&] {
    publish(events, flags[2], awaited, 2);
    publish(events, flags[0], awaited, 0);
  });
  scheduler.spawn([&] { publish(events, flags[1], awaited, 1); });
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
  EXPECT_EQ(events.waiters(), 0u);
  return scheduler.expired();
}

TEST(ScheduledEventCount, Waking_only_for_what_is_awaited_loses_nothing) {
  std::uint64_t lost_by_looking_early = 0;
  for (std::uint64_t seed = 0; seed < 4 * schedules; ++seed) {
    const auto after = [](auto& events, auto& flag, auto& awaited, std::uint64_t s) {
      flag.store(1, std::memory_order_release);
      events.notify_one_if([&]() noexcept { return awaited.load(std::memory_order_relaxed) == s; });
    };
    ASSERT_EQ(lost_with_awaited(seed, after), 0u) << "seed " << seed;
    // The fault it must not have: what is awaited is read before the word is.
    const auto early = [](auto& events, auto& flag, auto& awaited, std::uint64_t s) {
      const bool wanted = awaited.load(std::memory_order_relaxed) == s;
      flag.store(1, std::memory_order_release);
      if (wanted) events.notify_one();
    };
    lost_by_looking_early += lost_with_awaited(seed, early);
  }
  EXPECT_GT(lost_by_looking_early, 0u) << "the fault is not found: nothing was tested";
}

TEST(ScheduledEventCount, A_notifier_that_only_looks_whether_somebody_waits_is_not_enough_and_is_found) {
  // The classic fault: look first, then make the condition true. Here: notify before the condition.
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    EventCount<ScheduledAtomic> events;
    ScheduledAtomic<std::uint64_t> flag{0};
    Scheduler scheduler(seed);
    scheduler.spawn([&] { events.await([&]() noexcept { return flag.load() != 0; }); });
    scheduler.spawn([&] {
      events.notify_one();
      flag.store(1);
    });
    scheduler.run();
    lost += scheduler.expired();
  }
  EXPECT_GT(lost, 0u);
}

TEST(ScheduledEventCount, A_lost_wakeup_is_counted_as_a_rescue_and_a_notify_is_not) {
  for (const bool notifies : {false, true}) {
    EventCount<ScheduledAtomic> events;
    ScheduledAtomic<std::uint64_t> first{0}, second{0};
    Scheduler scheduler(0);
    const unsigned waiter = scheduler.spawn([&] {
      events.await([&]() noexcept { return first.load() != 0; });
      Scheduler::of_this_thread()->spawn([&] {
        second.store(1);
        events.notify_one();
      });
      events.await([&]() noexcept { return second.load() != 0; });
    });
    scheduler.spawn([&] {
      first.store(1);
      if (notifies) events.notify_one();
    });
    // The waiter is asleep before the other begins; and it announces itself again before the third begins.
    scheduler.script(std::vector<unsigned>(20, waiter));
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
    EXPECT_EQ(scheduler.expired(), notifies ? 0u : 1u);
    EXPECT_EQ(events.rescues(), notifies ? 0u : scheduler.expired());
  }
}

// ---- SlabPool ----------------------------------------------------------------------------------------------------

TEST(ScheduledSlabPool, A_slab_has_one_holder) {
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    SlabPool<ScheduledAtomic> pool(2);
    int holders[2] = {};
    Scheduler scheduler(seed);
    for (int t = 0; t < 3; ++t) {
      scheduler.spawn([&] {
        for (int i = 0; i < 3;) {
          const auto slab = pool.acquire();
          if (!slab) continue;
          ASSERT_EQ(holders[*slab]++, 0);
          ASSERT_LE(pool.available(), 1u);
          --holders[*slab];
          pool.release(*slab);
          ++i;
        }
      });
    }
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
    ASSERT_EQ(pool.available(), 2u);
  }
}

// ---- Activity: coming and going ----------------------------------------------------------------------------------

// One worker looks for work and leaves; a producer makes one piece of work and asks whether a worker must be launched.
// True: the work is left behind with nobody to do it.
template <class Leave>
bool work_is_lost(Scheduler& scheduler, Leave&& leave) {
  detail::Activity<ScheduledAtomic> activity;
  ScheduledAtomic<std::uint64_t> work{0};
  bool launched = activity.announce(1);  // the worker's own start
  EXPECT_TRUE(launched);
  bool relaunch = false;
  scheduler.spawn([&] {
    for (;;) {
      const auto seen = activity.look();
      if (work.load() != 0) {
        work.store(0);
        continue;
      }
      if (leave(activity, seen)) return;
    }
  });
  scheduler.spawn([&] {
    work.store(1);
    relaunch = activity.announce(1);
  });
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
  return work.peek() != 0 && !relaunch;
}

TEST(ScheduledActivity, Work_is_never_left_behind) {
  for (std::uint64_t seed = 0; seed < schedules * 2; ++seed) {
    Scheduler scheduler(seed);
    ASSERT_FALSE(work_is_lost(scheduler, [](auto& a, auto seen) { return a.leave(seen); })) << "seed " << seed;
  }
}

TEST(ScheduledActivity, Leaving_without_the_tick_loses_work_in_this_schedule) {
  // The worker looks and finds nothing; the work comes and finds the worker still there; the worker leaves.
  Scheduler scheduler(0);
  scheduler.script({0, 0, 0, 1, 1, 1, 1, 1, 0, 0});
  EXPECT_TRUE(work_is_lost(scheduler, [](auto& a, auto) {
    a.withdraw();  // the mutant: one worker fewer, whatever was announced
    return true;
  }));
  // The same schedule with the tick.
  Scheduler again(0);
  again.script({0, 0, 0, 1, 1, 1, 1, 1, 0, 0});
  EXPECT_FALSE(work_is_lost(again, [](auto& a, auto seen) { return a.leave(seen); }));
}

}  // namespace
}  // namespace headrace
