// The freeze test: one thread stops for ever before its k-th atomic access, for every k in turn; every operation of the
// others must still return within a bound of its own steps. What is called wait-free or lock-free passes; a lock, as a
// control, does not.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/lockfree/event_count.hpp"
#include "headrace/lockfree/reorder_ring.hpp"
#include "headrace/lockfree/slab_pool.hpp"
#include "headrace/runtime/activity.hpp"
#include "headrace/runtime/open_items.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using test::ScheduledAtomic;
using test::Scheduler;

struct Threads {
  std::function<void()> victim;
  std::vector<std::function<void()>> others;  // bounded numbers of operations
  std::shared_ptr<void> state;
};

// The points at which freezing the victim kept the others from ending within `bound` accesses each; with the number of
// points tried.
struct Verdict {
  unsigned points = 0;
  std::vector<std::uint64_t> blocking;
};
template <class Make>
Verdict freeze_everywhere(Make&& make, std::uint64_t bound) {
  Verdict verdict;
  for (std::uint64_t point = 0; point < 200; ++point) {
    bool reached = false;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Threads threads = make();
      Scheduler scheduler(seed);
      const unsigned victim = scheduler.spawn(threads.victim);
      scheduler.freeze(victim, point);
      scheduler.limit_steps(bound * (threads.others.size() + 1));
      // First the victim alone, to the point; then the others.
      scheduler.script(std::vector<unsigned>(point + 2, victim));
      for (auto& other : threads.others) scheduler.spawn(other);
      const auto outcome = scheduler.run();
      reached = reached || scheduler.reached_freeze(victim);
      const bool slept = scheduler.expired() != 0;
      if (outcome != Scheduler::Outcome::finished || slept) {
        verdict.blocking.push_back(point);
        break;
      }
    }
    if (!reached) break;
    ++verdict.points;
  }
  return verdict;
}

TEST(Progress, ReorderRing_publish) {
  const auto verdict = freeze_everywhere([] {
    auto ring = std::make_shared<ReorderRing<std::unique_ptr<int>, ScheduledAtomic>>(4);
    return Threads{[ring] { EXPECT_TRUE(ring->publish(1, std::make_unique<int>(1))); },
                   {[ring] {  // publishers of other sequences
                      EXPECT_TRUE(ring->publish(0, std::make_unique<int>(0)));
                      EXPECT_TRUE(ring->publish(2, std::make_unique<int>(2)));
                      EXPECT_TRUE(ring->publish(3, std::make_unique<int>(3)));
                    },
                    [ring] {  // the consumer: its calls return; sequence 1 may be missing, and that is the truth
                      for (int i = 0; i < 20; ++i) static_cast<void>(ring->try_take());
                    }},
                   ring};
  }, 100);
  EXPECT_EQ(verdict.points, 2u);
  EXPECT_TRUE(verdict.blocking.empty());
}

TEST(Progress, ReorderRing_take_and_revoke) {
  for (const bool revoke : {false, true}) {
    const auto verdict = freeze_everywhere([=] {
      auto ring = std::make_shared<ReorderRing<std::uint16_t, ScheduledAtomic>>(2);
      return Threads{[=] {
                       if (revoke) ring->revoke();
                       else static_cast<void>(ring->try_take());
                     },
                     {[ring] {
                        static_cast<void>(ring->publish_first(0, 1));
                        EXPECT_TRUE(ring->publish_first(1, 1));
                      },
                      [ring] { static_cast<void>(ring->publish_first(0, 2)); }},
                     ring};
    }, 100);
    EXPECT_EQ(verdict.points, 1u);  // nothing was published when the victim ran
    EXPECT_TRUE(verdict.blocking.empty());
  }
}

TEST(Progress, ReorderRing_take_within_a_span) {
  const auto verdict = freeze_everywhere([] {
    auto ring = std::make_shared<ReorderRing<std::unique_ptr<int>, ScheduledAtomic>>(3);
    EXPECT_TRUE(ring->publish(1, std::make_unique<int>(1)));
    return Threads{[ring] {  // takes 1, and 0 and 2 if they are there
                     for (int i = 0; i < 3; ++i) static_cast<void>(ring->try_take_within(2));
                   },
                   {[ring] { EXPECT_TRUE(ring->publish(0, std::make_unique<int>(0))); },
                    [ring] {
                      EXPECT_TRUE(ring->publish(2, std::make_unique<int>(2)));
                      static_cast<void>(ring->publish(4, std::make_unique<int>(4)));  // if the place of 1 is empty
                    }},
                   ring};
  }, 100);
  EXPECT_GE(verdict.points, 3u);
  EXPECT_TRUE(verdict.blocking.empty());
  // A frozen publisher: the consumer's calls return, and take what others made.
  const auto publisher = freeze_everywhere([] {
    auto ring = std::make_shared<ReorderRing<std::unique_ptr<int>, ScheduledAtomic>>(3);
    return Threads{[ring] { EXPECT_TRUE(ring->publish(0, std::make_unique<int>(0))); },
                   {[ring] {
                     EXPECT_TRUE(ring->publish(1, std::make_unique<int>(1)));
                     bool came = false;
                     for (int i = 0; i < 2; ++i) {
                       const auto taken = ring->try_take_within(1);
                       came = came || (taken && *taken->value == 1);
                     }
                     EXPECT_TRUE(came) << "1 overtakes 0, whose publisher is frozen";
                   }},
                   ring};
  }, 100);
  EXPECT_EQ(publisher.points, 2u);
  EXPECT_TRUE(publisher.blocking.empty());
}

TEST(Progress, SlabPool_acquire_and_release) {
  const auto verdict = freeze_everywhere([] {
    auto pool = std::make_shared<SlabPool<ScheduledAtomic>>(3);
    const auto user = [pool] {
      for (int i = 0; i < 5; ++i) {
        const auto slab = pool->acquire();
        EXPECT_TRUE(slab) << "one slab each: a frozen thread keeps one at most";
        if (slab) pool->release(*slab);
      }
    };
    return Threads{user, {user, user}, pool};
  }, 300);
  EXPECT_GE(verdict.points, 10u);
  EXPECT_TRUE(verdict.blocking.empty());
}

TEST(Progress, EventCount_notify) {
  // The victim notifies; a waiter that another notifier wakes is not held up, wherever the victim stopped.
  const auto verdict = freeze_everywhere([] {
    struct State {
      EventCount<ScheduledAtomic> events;
      ScheduledAtomic<std::uint64_t> flag{0};
    };
    auto s = std::make_shared<State>();
    return Threads{[s] { s->events.notify_all(); },
                   {[s] { s->events.await([&]() noexcept { return s->flag.load() != 0; }); },
                    [s] {
                      s->flag.store(1);
                      s->events.notify_all();
                    }},
                   s};
  }, 300);
  EXPECT_GE(verdict.points, 1u);
  EXPECT_TRUE(verdict.blocking.empty());
}

TEST(Progress, EventCount_waiter_frozen_anywhere_stops_no_notifier) {
  const auto verdict = freeze_everywhere([] {
    auto events = std::make_shared<EventCount<ScheduledAtomic>>();
    return Threads{[events] {
                     const auto key = events->prepare();
                     events->wait(key, std::chrono::seconds(1));
                   },
                   {[events] {
                     for (int i = 0; i < 5; ++i) events->notify_all();
                   }},
                   events};
  }, 100);
  EXPECT_GE(verdict.points, 3u);
  EXPECT_TRUE(verdict.blocking.empty());
}

TEST(Progress, Activity_announce_join_leave) {
  const auto verdict = freeze_everywhere([] {
    auto activity = std::make_shared<detail::Activity<ScheduledAtomic>>();
    const auto user = [activity] {
      for (int i = 0; i < 4; ++i) {
        if (activity->announce(8)) {
          static_cast<void>(activity->join(8));
          while (!activity->leave(activity->look())) {
          }
        }
      }
    };
    return Threads{user, {user, user}, activity};
  }, 2000);
  EXPECT_GE(verdict.points, 12u);
  EXPECT_TRUE(verdict.blocking.empty());
}

TEST(Progress, OpenItems) {
  const auto verdict = freeze_everywhere([] {
    auto bits = std::make_shared<detail::OpenItems<ScheduledAtomic>>(130);
    const auto user = [bits] {
      for (std::size_t p : {0u, 64u, 129u}) {
        bits->set(p);
        EXPECT_NE(bits->find(p, 1), bits->none) << "set by itself, cleared by nobody else";
      }
    };
    return Threads{user, {user, user}, bits};
  }, 300);
  EXPECT_GE(verdict.points, 6u);
  EXPECT_TRUE(verdict.blocking.empty());
}

TEST(Progress, A_lock_is_found_to_block) {
  const auto verdict = freeze_everywhere([] {
    auto lock = std::make_shared<ScheduledAtomic<std::uint64_t>>(0);
    const auto user = [lock] {
      std::uint64_t free = 0;
      while (!lock->compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed)) free = 0;
      lock->store(0);
    };
    return Threads{user, {user}, lock};
  }, 200);
  EXPECT_EQ(verdict.points, 2u);
  EXPECT_EQ(verdict.blocking, std::vector<std::uint64_t>{1}) << "frozen while it holds the lock";
}

}  // namespace
}  // namespace headrace
