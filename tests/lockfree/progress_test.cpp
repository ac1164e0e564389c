// The freeze test: one thread stops for ever before its k-th atomic access, for every k in turn; every operation of the
// others must still return within a bound of its own steps. What is called wait-free or lock-free passes; a lock, as a
// control, does not. (The queues: rings_progress_test.cpp.)
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/lockfree/event_count.hpp"
#include "headrace/lockfree/reorder_ring.hpp"
#include "headrace/lockfree/slab_pool.hpp"
#include "headrace/runtime/activity.hpp"
#include "headrace/runtime/open_items.hpp"
#include "support/freeze.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using test::CallCounts;
using test::FreezeVerdict;
using test::Meter;
using test::Points;
using test::print_verdict;
using test::ScheduledAtomic;
using test::Scheduler;

// What a thread that is not frozen does: a bounded number of calls, each through the meter or, uncounted, without.
class Other {
 public:
  template <class Body>
  Other(Body body) {  // NOLINT: as std::function
    if constexpr (std::is_invocable_v<Body&, const Meter&>)
      body_ = std::move(body);
    else
      body_ = [body = std::move(body)](const Meter&) { body(); };
  }
  void operator()(const Meter& meter) const { body_(meter); }

 private:
  std::function<void(const Meter&)> body_;
};

struct Threads {
  std::function<void()> victim;
  std::vector<Other> others;
  std::shared_ptr<void> state;
};

constexpr auto plain = [](auto&& call) { return call(); };  // a victim's calls are not counted

// The points at which freezing the victim kept the others from ending within `bound` accesses each, or made them sleep
// until the time ran out; with the number of points tried.
template <class Make>
FreezeVerdict freeze_everywhere(const std::string& structure, const std::string& victim_in, Make&& make,
                                std::uint64_t bound) {
  FreezeVerdict verdict;
  for (std::uint64_t point = 0; point < 200; ++point) {
    bool reached = false;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Threads threads = make();
      CallCounts counts;
      Scheduler scheduler(seed);
      const unsigned victim = scheduler.spawn(threads.victim);
      scheduler.freeze(victim, point);
      scheduler.limit_steps(bound * (threads.others.size() + 1));
      // First the victim alone, to the point; then the others.
      scheduler.script(std::vector<unsigned>(point + 2, victim));
      unsigned number = victim;
      for (auto& other : threads.others) {
        scheduler.spawn([&other, meter = Meter(scheduler, ++number, counts)] { other(meter); });
      }
      const auto outcome = scheduler.run();
      reached = reached || scheduler.reached_freeze(victim);
      const bool slept = scheduler.expired() != 0;
      if (outcome != Scheduler::Outcome::finished || slept) {
        verdict.blocking.push_back(point);
        break;
      }
      verdict.add(counts);
    }
    if (!reached) break;
    ++verdict.points;
  }
  print_verdict(structure, victim_in, verdict);
  return verdict;
}

// The same, in the table under the test's name.
template <class Make>
FreezeVerdict freeze_everywhere(Make&& make, std::uint64_t bound) {
  return freeze_everywhere(testing::UnitTest::GetInstance()->current_test_info()->name(), "1 thread", make, bound);
}

TEST(Progress, ReorderRing_publish) {
  const auto verdict = freeze_everywhere(
      "ReorderRing(4)", "1 thread in publish",
      [] {
        auto ring = std::make_shared<ReorderRing<std::unique_ptr<int>, ScheduledAtomic>>(4);
        return Threads{
            [ring] { EXPECT_TRUE(ring->publish(1, std::make_unique<int>(1))); },
            {[ring](const Meter& meter) {  // publishers of other sequences
               for (const int s : {0, 2, 3}) {
                 EXPECT_TRUE(meter([&] { return ring->publish(static_cast<unsigned>(s), std::make_unique<int>(s)); }));
               }
             },
             [ring](const Meter& meter) {  // the consumer: sequence 1 may be missing, and that is the truth
               for (int i = 0; i < 20; ++i) {
                 static_cast<void>(meter([&] { return ring->ready(); }));
                 static_cast<void>(meter([&] { return ring->try_take(); }));
               }
             }},
            ring};
      },
      100);
  EXPECT_EQ(verdict.points, 2u);
  EXPECT_EQ(verdict.blocking, Points{});
  EXPECT_LE(verdict.longest, 2u) << "wait-free: a load and a store";
}

TEST(Progress, ReorderRing_the_consumer_frozen_anywhere_stops_no_publisher) {
  for (const bool published : {false, true}) {
    for (const bool revoke : {false, true}) {
      const auto verdict = freeze_everywhere(
          "ReorderRing(2)",
          std::string("the consumer in ") + (revoke ? "revoke" : "try_take") + (published ? ", published" : ""),
          [=] {
            auto ring = std::make_shared<ReorderRing<std::uint16_t, ScheduledAtomic>>(2);
            if (published) static_cast<void>(ring->publish_first(0, 7));
            return Threads{
                [=] {
                  if (revoke)
                    ring->revoke();
                  else
                    static_cast<void>(ring->try_take());
                },
                {[ring](const Meter& meter) {
                   static_cast<void>(meter([&] { return ring->publish_first(0, 1); }));
                   EXPECT_TRUE(meter([&] { return ring->publish_first(1, 1); }));
                 },
                 [ring](const Meter& meter) { static_cast<void>(meter([&] { return ring->publish_first(0, 2); })); }},
                ring};
          },
          100);
      // try_take: a load and, where something is there, a store. revoke: a compare-exchange, then as try_take.
      EXPECT_EQ(verdict.points, published ? (revoke ? 3u : 2u) : 1u);
      EXPECT_EQ(verdict.blocking, Points{});
      EXPECT_LE(verdict.longest, 1u) << "wait-free: one compare-exchange";
    }
  }
}

TEST(Progress, ReorderRing_publish_first) {
  const auto verdict = freeze_everywhere(
      "ReorderRing(2)", "1 of 2 publishers of a sequence",
      [] {
        auto ring = std::make_shared<ReorderRing<std::uint16_t, ScheduledAtomic>>(2);
        return Threads{
            [ring] { static_cast<void>(ring->publish_first(0, 1)); },
            {[ring](const Meter& meter) {
               static_cast<void>(meter([&] { return ring->publish_first(0, 2); }));
               static_cast<void>(meter([&] { return ring->publish_first(1, 3); }));  // may be revoked already
             },
             [ring](const Meter& meter) {
               for (int i = 0; i < 5; ++i) static_cast<void>(meter([&] { return ring->try_take(); }));
               static_cast<void>(meter([&] { return ring->revoke(); }));
             }},
            ring};
      },
      100);
  EXPECT_EQ(verdict.points, 1u);
  EXPECT_EQ(verdict.blocking, Points{});
  EXPECT_LE(verdict.longest, 3u);
}

TEST(Progress, ReorderRing_take_within_a_span) {
  const auto verdict = freeze_everywhere(
      "ReorderRing(3)", "the consumer in try_take_within",
      [] {
        auto ring = std::make_shared<ReorderRing<std::unique_ptr<int>, ScheduledAtomic>>(3);
        EXPECT_TRUE(ring->publish(1, std::make_unique<int>(1)));
        return Threads{[ring] {  // takes 1, and 0 and 2 if they are there
                         for (int i = 0; i < 3; ++i) static_cast<void>(ring->try_take_within(2));
                       },
                       {[ring](const Meter& meter) {
                          EXPECT_TRUE(meter([&] { return ring->publish(0, std::make_unique<int>(0)); }));
                        },
                        [ring](const Meter& meter) {
                          EXPECT_TRUE(meter([&] { return ring->publish(2, std::make_unique<int>(2)); }));
                          // If the place of 1 is empty.
                          static_cast<void>(meter([&] { return ring->publish(4, std::make_unique<int>(4)); }));
                        }},
                       ring};
      },
      100);
  EXPECT_GE(verdict.points, 3u);
  EXPECT_EQ(verdict.blocking, Points{});
  EXPECT_LE(verdict.longest, 2u);
  // A frozen publisher: the consumer's calls return, and take what others made.
  const auto publisher = freeze_everywhere(
      "ReorderRing(3)", "1 thread in publish, span 1",
      [] {
        auto ring = std::make_shared<ReorderRing<std::unique_ptr<int>, ScheduledAtomic>>(3);
        return Threads{[ring] { EXPECT_TRUE(ring->publish(0, std::make_unique<int>(0))); },
                       {[ring](const Meter& meter) {
                         EXPECT_TRUE(meter([&] { return ring->publish(1, std::make_unique<int>(1)); }));
                         bool came = false;
                         for (int i = 0; i < 2; ++i) {
                           const auto taken = meter([&] { return ring->try_take_within(1); });
                           came = came || (taken && *taken->value == 1);
                         }
                         EXPECT_TRUE(came) << "1 overtakes 0, whose publisher is frozen";
                       }},
                       ring};
      },
      100);
  EXPECT_EQ(publisher.points, 2u);
  EXPECT_EQ(publisher.blocking, Points{});
  EXPECT_LE(publisher.longest, 5u);
}

TEST(Progress, SlabPool_acquire_and_release) {
  for (const std::uint32_t slabs : {3u, 65u}) {  // one word, two words
    const auto verdict = freeze_everywhere(
        "SlabPool(" + std::to_string(slabs) + ")", "1 thread in acquire and release",
        [=] {
          auto pool = std::make_shared<SlabPool<ScheduledAtomic>>(slabs);
          // All of the first word but two are out, so that three users meet there and, where there is one, in the
          // second.
          for (std::uint32_t i = 0; i + 3 < slabs; ++i) static_cast<void>(pool->acquire());
          const auto user = [pool](const auto& call) {
            for (int i = 0; i < 5; ++i) {
              const auto slab = call([&] { return pool->acquire(); });
              EXPECT_TRUE(slab) << "one slab each: a frozen thread keeps one at most";
              if (slab) call([&] { pool->release(*slab); });
              static_cast<void>(call([&] { return pool->available(); }));
            }
          };
          return Threads{[user] { user(plain); }, {user, user}, pool};
        },
        300);
    EXPECT_GE(verdict.points, 10u);
    EXPECT_EQ(verdict.blocking, Points{});
    EXPECT_LE(verdict.longest, 20u);
  }
}

// A waiter that is woken by another notifier, and calls that never sleep, are not held up, wherever the victim stopped.
struct EventState {
  EventCount<ScheduledAtomic> events;
  ScheduledAtomic<std::uint64_t> flag{0};
};
void notifier(const std::shared_ptr<EventState>& s, const Meter& meter) {
  s->flag.store(1);
  meter([&] { s->events.notify_all(); });
  for (int i = 0; i < 3; ++i) {
    meter([&] { s->events.notify_one(); });
    static_cast<void>(meter([&] { return s->events.waiters(); }));
    static_cast<void>(meter([&] { return s->events.prepare(); }));
    meter([&] { s->events.cancel(); });
  }
}

TEST(Progress, EventCount_notify) {
  for (const bool all : {false, true}) {
    const auto verdict = freeze_everywhere(
        "EventCount", all ? "1 thread in notify_all" : "1 thread in notify_one",
        [=] {
          auto s = std::make_shared<EventState>();
          return Threads{[s, all] { all ? s->events.notify_all() : s->events.notify_one(); },
                         {[s](const Meter&) { s->events.await([&]() noexcept { return s->flag.load() != 0; }); },
                          [s](const Meter& meter) { notifier(s, meter); }},
                         s};
        },
        300);
    EXPECT_GE(verdict.points, 1u);
    EXPECT_EQ(verdict.blocking, Points{});
    EXPECT_LE(verdict.longest, 2u) << "wait-free: the word, and a call into the kernel that does not block";
  }
}

TEST(Progress, EventCount_waiter_frozen_anywhere_stops_no_notifier_and_no_other_waiter) {
  for (const bool awaits : {false, true}) {
    const auto verdict = freeze_everywhere(
        "EventCount", awaits ? "1 thread in await" : "1 thread in prepare and wait",
        [=] {
          auto s = std::make_shared<EventState>();
          return Threads{[s, awaits] {
                           if (awaits) {
                             s->events.await([&]() noexcept { return s->flag.load() != 0; });
                           } else {
                             const auto key = s->events.prepare();
                             s->events.wait(key, std::chrono::seconds(1));
                           }
                         },
                         {[s](const Meter&) { s->events.await([&]() noexcept { return s->flag.load() != 0; }); },
                          [s](const Meter& meter) { notifier(s, meter); }},
                         s};
        },
        300);
    EXPECT_GE(verdict.points, 3u);
    EXPECT_EQ(verdict.blocking, Points{});
    EXPECT_LE(verdict.longest, 2u);
  }
}

TEST(Progress, Activity_announce_join_leave) {
  const auto verdict = freeze_everywhere(
      "Activity", "1 thread in announce, join, leave",
      [] {
        auto activity = std::make_shared<detail::Activity<ScheduledAtomic>>();
        const auto user = [activity](const auto& call) {
          for (int i = 0; i < 4; ++i) {
            if (!call([&] { return activity->announce(8); })) continue;
            static_cast<void>(call([&] { return activity->join(8); }));
            while (!call([&] { return activity->leave(activity->look()); })) {
            }
          }
        };
        return Threads{[user] { user(plain); }, {user, user}, activity};
      },
      2000);
  EXPECT_GE(verdict.points, 12u);
  EXPECT_EQ(verdict.blocking, Points{});
}

TEST(Progress, OpenItems) {
  const auto verdict = freeze_everywhere(
      "OpenItems(130)", "1 thread in set and find",
      [] {
        auto bits = std::make_shared<detail::OpenItems<ScheduledAtomic>>(130);
        const auto user = [bits](const auto& call) {
          for (std::size_t p : {0u, 64u, 129u}) {
            call([&] { bits->set(p); });
            EXPECT_NE(call([&] { return bits->find(p, 1); }), bits->none) << "set by itself, cleared by nobody else";
          }
        };
        return Threads{[user] { user(plain); }, {user, user}, bits};
      },
      300);
  EXPECT_GE(verdict.points, 6u);
  EXPECT_EQ(verdict.blocking, Points{});
}

TEST(Progress, A_lock_is_found_to_block) {
  const auto verdict = freeze_everywhere(
      [] {
        auto lock = std::make_shared<ScheduledAtomic<std::uint64_t>>(0);
        const auto user = [lock](const auto& call) {
          call([&] {
            std::uint64_t free = 0;
            while (!lock->compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed))
              free = 0;
            lock->store(0);
          });
        };
        return Threads{[user] { user(plain); }, {user}, lock};
      },
      200);
  EXPECT_EQ(verdict.points, 2u);
  EXPECT_EQ(verdict.blocking, Points{1}) << "frozen while it holds the lock";
}

}  // namespace
}  // namespace headrace
