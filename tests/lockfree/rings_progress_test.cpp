// The freeze test of the queues: threads stop for ever before their k-th atomic access, for every k in turn, and the
// others must still move elements: 500 in one thread that pushes and pops in turn, and 500 from a producer to a
// consumer whose accesses interleave. Vyukov's queue, as a control, is found to block.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "headrace/lockfree/mpmc_ring.hpp"
#include "headrace/lockfree/spsc_ring.hpp"
#include "support/deadline.hpp"
#include "support/freeze.hpp"
#include "support/scheduler.hpp"
#include "support/vyukov_queue.hpp"

namespace headrace {
namespace {

using test::CallCounts;
using test::FreezeVerdict;
using test::Meter;
using test::Points;
using test::print_verdict;
using test::ScheduledAtomic;
using test::Scheduler;
using Ring = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;

enum class Victims { producers, consumers, mixed };
const char* text(Victims who) {
  return who == Victims::producers ? "push" : who == Victims::consumers ? "pop" : "push and pop";
}
std::size_t filled_before(Victims who, std::size_t capacity) {
  return who == Victims::producers ? 0 : who == Victims::consumers ? capacity - 1 : capacity / 2;
}

// One victim for each of `points`, frozen before its access of that number of one operation. Can the others go on?
template <class Queue>
bool others_go_on(Queue& queue, Victims who, const Points& points, bool one_thread, bool& reached, CallCounts& counts) {
  Scheduler scheduler(3 + 4 * points[0]);
  scheduler.limit_steps(100'000);
  std::vector<unsigned> script;
  const auto victims = static_cast<unsigned>(points.size());
  for (unsigned v = 0; v < victims; ++v) {
    const bool produces = who == Victims::producers || (who == Victims::mixed && v % 2 == 0);
    scheduler.spawn([&queue, produces, v] {
      if (produces) {
        static_cast<void>(queue.try_push(std::uint64_t{800} + v) == PushResult::ok);
      } else {
        static_cast<void>(queue.try_pop());
      }
    });
    scheduler.freeze(v, points[v]);
    script.insert(script.end(), points[v] + 2, v);
  }
  scheduler.script(script);
  const auto items = static_cast<std::uint64_t>(test::scaled(500));
  std::atomic<std::uint64_t> pushed{0}, popped{0};
  std::atomic<bool> in_order{true};
  const auto push = [&](const Meter& meter) {
    const std::uint64_t next = pushed;
    if (next < items && meter([&] { return queue.try_push(next); }) == PushResult::ok) ++pushed;
  };
  const auto pop = [&](const Meter& meter) {
    const auto value = meter([&] { return queue.try_pop(); });
    if (!value || *value >= items) return;  // one of the victims' or of the first filling
    if (*value != popped++) in_order = false;
  };
  if (one_thread) {
    scheduler.spawn([&, meter = Meter(scheduler, victims, counts)] {
      while (popped < items) {
        push(meter);
        pop(meter);
      }
    });
  } else {
    scheduler.spawn([&, meter = Meter(scheduler, victims, counts)] {
      while (pushed < items) push(meter);
    });
    scheduler.spawn([&, meter = Meter(scheduler, victims + 1, counts)] {
      while (popped < items) pop(meter);
    });
  }
  const bool on = scheduler.run() == Scheduler::Outcome::finished;
  EXPECT_TRUE(!on || in_order);
  for (unsigned v = 0; v < victims; ++v) reached = reached || scheduler.reached_freeze(v);
  pushed = popped = items;  // whatever was stopped ends when the scheduler lets it go
  return on;
}

template <class Queue>
bool others_go_on_in_both_forms(std::size_t capacity, Victims who, const Points& points, std::size_t prefill,
                                bool& reached, FreezeVerdict& verdict) {
  bool on = true;
  for (const bool one_thread : {true, false}) {
    Queue queue(capacity);
    for (std::uint64_t i = 0; i < prefill; ++i) EXPECT_EQ(queue.try_push(std::uint64_t{900} + i), PushResult::ok);
    CallCounts counts;
    on = others_go_on(queue, who, points, one_thread, reached, counts) && on;
    if (on) verdict.add(counts);
  }
  return on;
}

template <class Queue>
FreezeVerdict freeze_everywhere(const std::string& name, std::size_t capacity, Victims who, unsigned victims,
                                std::size_t prefill) {
  FreezeVerdict verdict;
  for (std::uint64_t point = 0; point < 100; ++point) {
    bool reached = false;
    if (!others_go_on_in_both_forms<Queue>(capacity, who, Points(victims, point), prefill, reached, verdict))
      verdict.blocking.push_back(point);
    if (!reached) break;
    ++verdict.points;
  }
  print_verdict(name + "(" + std::to_string(capacity) + ")",
                std::to_string(victims) + (victims == 1 ? " thread in " : " threads in ") + text(who), verdict);
  return verdict;
}

TEST(RingsProgress, MpmcRing_goes_on_with_up_to_capacity_minus_one_threads_frozen_anywhere) {
  for (const std::size_t capacity : {2u, 3u, 8u}) {
    for (const Victims who : {Victims::producers, Victims::consumers, Victims::mixed}) {
      for (unsigned victims = 1; victims < capacity; ++victims) {
        SCOPED_TRACE(std::to_string(capacity) + " places, " + std::to_string(victims) + " victims in " + text(who));
        const auto verdict = freeze_everywhere<Ring>("MpmcRing", capacity, who, victims, filled_before(who, capacity));
        EXPECT_GE(verdict.points, 6u);
        EXPECT_EQ(verdict.blocking, Points{});
      }
    }
  }
}

// Each victim at a point of its own.
TEST(RingsProgress, MpmcRing_goes_on_with_threads_frozen_at_different_points) {
  std::mt19937_64 random(1);
  for (const std::size_t capacity : {3u, 8u}) {
    FreezeVerdict verdict;
    for (int round = 0; round < test::scaled(40); ++round) {
      Points points(capacity - 1);
      for (auto& point : points) point = random() % 8;
      const auto who = static_cast<Victims>(random() % 3);
      bool reached = false;
      SCOPED_TRACE("round " + std::to_string(round) + ", victims in " + text(who));
      ASSERT_TRUE(
          others_go_on_in_both_forms<Ring>(capacity, who, points, filled_before(who, capacity), reached, verdict));
      verdict.points += reached;
    }
    EXPECT_GT(verdict.points, 0u);
    print_verdict("MpmcRing(" + std::to_string(capacity) + ")",
                  std::to_string(capacity - 1) + " threads, each at a point of its own", verdict);
  }
}

TEST(RingsProgress, MpmcRing_as_many_threads_frozen_as_places_stop_it) {
  for (const std::size_t capacity : {2u, 3u}) {
    const auto verdict =
        freeze_everywhere<Ring>("MpmcRing", capacity, Victims::producers, static_cast<unsigned>(capacity), 0);
    EXPECT_EQ(verdict.blocking, (Points{4, 5, 6})) << "the condition of the progress guarantee is not idle";
  }
}

TEST(RingsProgress, MpmcRing_of_capacity_one_blocks_and_this_is_where) {
  const auto producer = freeze_everywhere<Ring>("MpmcRing", 1, Victims::producers, 1, 0);
  const auto consumer = freeze_everywhere<Ring>("MpmcRing", 1, Victims::consumers, 1, 1);
  // A push: 0 closed?, 1-3 take a number (head, entry, head's compare-exchange), 4-6 put it (tail, entry, entry's
  // compare-exchange). It holds the only number before accesses 4 to 6.
  EXPECT_EQ(producer.points, 7u);
  EXPECT_EQ(producer.blocking, (Points{4, 5, 6}));
  // A pop: 0-2 take the number from the other ring, 3-5 put it back.
  EXPECT_EQ(consumer.points, 6u);
  EXPECT_EQ(consumer.blocking, (Points{3, 4, 5}));
}

TEST(RingsProgress, Vyukovs_queue_is_found_to_block_between_claim_and_publication) {
  using Control = test::VyukovQueue<ScheduledAtomic>;
  const auto producer = freeze_everywhere<Control>("Vyukov's (a control)", 8, Victims::producers, 1, 3);
  const auto consumer = freeze_everywhere<Control>("Vyukov's (a control)", 8, Victims::consumers, 1, 3);
  EXPECT_EQ(producer.points, 4u);
  EXPECT_EQ(producer.blocking, Points{3});
  EXPECT_EQ(consumer.points, 4u);
  EXPECT_EQ(consumer.blocking, Points{3});
}

// The closer stops: every call of the others still returns, whatever it answers. The questions are wait-free.
TEST(RingsProgress, MpmcRing_close_frozen_anywhere_stops_nobody) {
  FreezeVerdict verdict;
  for (std::uint64_t point = 0; point < 20; ++point) {
    Ring queue(2);
    ASSERT_EQ(queue.try_push(std::uint64_t{7}), PushResult::ok);
    CallCounts counts, questions;
    Scheduler scheduler(point);
    scheduler.limit_steps(5000);
    const unsigned closer = scheduler.spawn([&] { queue.close(); });
    scheduler.freeze(closer, point);
    scheduler.script(std::vector<unsigned>(point + 2, closer));
    const auto other = [&](unsigned number) {
      const Meter meter(scheduler, number, counts), question(scheduler, number, questions);
      for (int i = 0; i < 5; ++i) {
        static_cast<void>(meter([&] { return queue.try_push(std::uint64_t{8}); }) == PushResult::ok);
        static_cast<void>(question([&] { return queue.empty(); }));
        static_cast<void>(question([&] { return queue.full(); }));
        static_cast<void>(question([&] { return queue.drained(); }));
        static_cast<void>(question([&] { return queue.closed(); }));
        static_cast<void>(meter([&] { return queue.try_pop(); }));
      }
    };
    for (unsigned n = 1; n <= 2; ++n) scheduler.spawn([other, n] { other(n); });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << point;
    EXPECT_LE(questions.longest, 4u) << "empty, full, closed: 1 or 2 loads; drained: 2, a load and a store of the flag";
    if (!scheduler.reached_freeze(closer)) break;
    ++verdict.points;
    verdict.add(counts);
    verdict.add(questions);
  }
  EXPECT_GE(verdict.points, 4u);
  print_verdict("MpmcRing(2)", "1 thread in close", verdict);
}

// Wait-free: each call of either side returns within a fixed number of its own accesses, wherever the other side
// stopped. A push: closed, tail, head, tail, tail; a pop: head, tail, head, head; the end: closed, head, tail.
TEST(RingsProgress, SpscRing_each_side_goes_on_wherever_the_other_stops) {
  constexpr std::uint64_t calls = 10, most_accesses = 5;
  for (const std::size_t capacity : {1u, 2u, 3u, 8u}) {
    for (const bool freeze_producer : {true, false}) {
      FreezeVerdict verdict;
      for (std::uint64_t point = 0; point < 100; ++point) {
        SpscRing<std::uint64_t, ScheduledAtomic> queue(capacity);
        CallCounts counts[2];
        Scheduler scheduler(point);
        scheduler.limit_steps(5000);
        const auto produce = [&](const Meter& meter) {
          for (std::uint64_t i = 0; i < calls; ++i) {
            static_cast<void>(meter([&] { return queue.try_push(i); }) == PushResult::ok);
            if (std::uint64_t* const place = meter([&] { return queue.try_claim(); })) {
              *place = i;
              meter([&] { queue.publish(); });
            }
            static_cast<void>(meter([&] { return queue.full(); }));
          }
          meter([&] { queue.close(); });
        };
        const auto consume = [&](const Meter& meter) {
          for (std::uint64_t i = 0; i < calls; ++i) {
            static_cast<void>(meter([&] { return queue.try_pop(); }));
            if (meter([&] { return queue.front(); }) != nullptr) meter([&] { queue.pop(); });
            static_cast<void>(meter([&] { return queue.drained(); }));
            static_cast<void>(meter([&] { return queue.empty(); }));
          }
        };
        const Meter meters[2] = {{scheduler, 0, counts[0]}, {scheduler, 1, counts[1]}};
        const auto first = [&] { freeze_producer ? produce(meters[0]) : consume(meters[0]); };
        const auto second = [&] { freeze_producer ? consume(meters[1]) : produce(meters[1]); };
        const unsigned victim = scheduler.spawn(first);
        scheduler.spawn(second);
        scheduler.freeze(victim, point);
        ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << point;
        EXPECT_LE(counts[1].longest, most_accesses);
        if (!scheduler.reached_freeze(victim)) break;
        ++verdict.points;
        verdict.add(counts[1]);
      }
      EXPECT_GE(verdict.points, 10u);
      print_verdict("SpscRing(" + std::to_string(capacity) + ")",
                    freeze_producer ? "the producer, in " + std::to_string(3 * calls) + " calls and close"
                                    : "the consumer, in " + std::to_string(4 * calls) + " calls",
                    verdict);
    }
  }
}

}  // namespace
}  // namespace headrace
