// The freeze test of the queues: threads stop for ever before their k-th atomic access, for every k in turn, and the
// others must still move elements: 500 in one thread that pushes and pops in turn, and 20 from a producer to a consumer
// whose accesses interleave. Vyukov's queue, as a control, is found to block.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/lockfree/mpmc_ring.hpp"
#include "headrace/lockfree/spsc_ring.hpp"
#include "support/scheduler.hpp"
#include "support/vyukov_queue.hpp"

namespace headrace {
namespace {

using test::ScheduledAtomic;
using test::Scheduler;
using Points = std::vector<std::uint64_t>;
using Ring = MpmcRing<std::uint64_t, std::uint64_t, ScheduledAtomic>;

enum class Victims { producers, consumers, mixed };

struct Verdict {
  unsigned points = 0;  // at which a victim did stop
  Points blocking;      // at which the others could not go on
};

// `victims` threads, each frozen before its access number `point` of one operation. Can the others go on?
template <class Queue>
bool others_go_on(Queue& queue, Victims who, unsigned victims, std::uint64_t point, bool one_thread, bool& reached) {
  Scheduler scheduler(3 + 4 * point);
  scheduler.limit_steps(20'000);
  std::vector<unsigned> script;
  for (unsigned v = 0; v < victims; ++v) {
    const bool produces = who == Victims::producers || (who == Victims::mixed && v % 2 == 0);
    scheduler.spawn([&queue, produces, v] {
      if (produces) {
        static_cast<void>(queue.try_push(std::uint64_t{800} + v) == PushResult::ok);
      } else {
        static_cast<void>(queue.try_pop());
      }
    });
    scheduler.freeze(v, point);
    script.insert(script.end(), point + 2, v);
  }
  scheduler.script(script);
  const std::uint64_t items = one_thread ? 500 : 20;
  std::atomic<std::uint64_t> pushed{0}, popped{0};
  std::atomic<bool> in_order{true};
  const auto push = [&] {
    const std::uint64_t next = pushed;
    if (next < items && queue.try_push(next) == PushResult::ok) ++pushed;
  };
  const auto pop = [&] {
    const auto value = queue.try_pop();
    if (!value || *value >= items) return;  // one of the victims' or of the first filling
    if (*value != popped++) in_order = false;
  };
  if (one_thread) {
    scheduler.spawn([&] {
      while (popped < items) {
        push();
        pop();
      }
    });
  } else {
    scheduler.spawn([&] {
      while (pushed < items) push();
    });
    scheduler.spawn([&] {
      while (popped < items) pop();
    });
  }
  const bool on = scheduler.run() == Scheduler::Outcome::finished;
  EXPECT_TRUE(!on || in_order);
  for (unsigned v = 0; v < victims; ++v) reached = reached || scheduler.reached_freeze(v);
  pushed = popped = items;  // whatever was stopped ends when the scheduler lets it go
  return on;
}

template <class Queue>
Verdict freeze_everywhere(std::size_t capacity, Victims who, unsigned victims, std::size_t prefill) {
  Verdict verdict;
  for (std::uint64_t point = 0; point < 100; ++point) {
    bool reached = false, on = true;
    for (const bool one_thread : {true, false}) {
      Queue queue(capacity);
      for (std::uint64_t i = 0; i < prefill; ++i) EXPECT_EQ(queue.try_push(std::uint64_t{900} + i), PushResult::ok);
      on = on && others_go_on(queue, who, victims, point, one_thread, reached);
    }
    if (!on) verdict.blocking.push_back(point);
    if (!reached) break;
    ++verdict.points;
  }
  return verdict;
}

TEST(RingsProgress, MpmcRing_goes_on_with_up_to_capacity_minus_one_threads_frozen_anywhere) {
  for (const std::size_t capacity : {2u, 3u, 8u}) {
    for (const Victims who : {Victims::producers, Victims::consumers, Victims::mixed}) {
      for (const unsigned victims : {1u, static_cast<unsigned>(capacity - 1)}) {
        SCOPED_TRACE(std::to_string(capacity) + " places, " + std::to_string(victims) + " victims, kind " +
                     std::to_string(static_cast<int>(who)));
        const std::size_t prefill = who == Victims::producers   ? 0
                                    : who == Victims::consumers ? capacity - 1
                                                                : capacity / 2;
        const auto verdict = freeze_everywhere<Ring>(capacity, who, victims, prefill);
        EXPECT_GE(verdict.points, 6u);
        EXPECT_EQ(verdict.blocking, Points{});
      }
    }
  }
}

TEST(RingsProgress, MpmcRing_as_many_threads_frozen_as_places_stop_it) {
  const auto verdict = freeze_everywhere<Ring>(2, Victims::producers, 2, 0);
  EXPECT_FALSE(verdict.blocking.empty()) << "the condition of the progress guarantee is not idle";
}

TEST(RingsProgress, MpmcRing_of_capacity_one_blocks_and_this_is_where) {
  const auto producer = freeze_everywhere<Ring>(1, Victims::producers, 1, 0);
  const auto consumer = freeze_everywhere<Ring>(1, Victims::consumers, 1, 1);
  // A push: 0 closed?, 1-3 take a number (head, entry, head's compare-exchange), 4-6 put it (tail, entry, entry's
  // compare-exchange). It holds the only number before accesses 4 to 6.
  EXPECT_EQ(producer.points, 7u);
  EXPECT_EQ(producer.blocking, (Points{4, 5, 6}));
  // A pop: 0-2 take, 3-5 put.
  EXPECT_GE(consumer.points, 6u);
  EXPECT_EQ(consumer.blocking.front(), 3u);
  EXPECT_GE(consumer.blocking.size(), 3u);
}

TEST(RingsProgress, Vyukovs_queue_is_found_to_block_between_claim_and_publication) {
  using Control = test::VyukovQueue<ScheduledAtomic>;
  const auto producer = freeze_everywhere<Control>(8, Victims::producers, 1, 3);
  const auto consumer = freeze_everywhere<Control>(8, Victims::consumers, 1, 3);
  EXPECT_EQ(producer.points, 4u);
  EXPECT_EQ(producer.blocking, Points{3});
  EXPECT_EQ(consumer.points, 4u);
  EXPECT_EQ(consumer.blocking, Points{3});
}

TEST(RingsProgress, MpmcRing_close_frozen_anywhere_stops_nobody) {
  for (std::uint64_t point = 0; point < 20; ++point) {
    Ring queue(2);
    ASSERT_EQ(queue.try_push(std::uint64_t{7}), PushResult::ok);
    Scheduler scheduler(point);
    scheduler.limit_steps(5000);
    const unsigned closer = scheduler.spawn([&] { queue.close(); });
    scheduler.freeze(closer, point);
    scheduler.script(std::vector<unsigned>(point + 2, closer));
    scheduler.spawn([&] {  // every call returns, whatever it answers
      for (int i = 0; i < 5; ++i) static_cast<void>(queue.try_push(std::uint64_t{8}) == PushResult::ok);
      bool end = false;
      for (int i = 0; i < 5; ++i) end = end || queue.drained();
      for (int i = 0; i < 5; ++i) static_cast<void>(queue.try_pop());
    });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << point;
    if (!scheduler.reached_freeze(closer)) {
      EXPECT_GE(point, 4u);
      break;
    }
  }
}

// Wait-free: each side's operations return within a fixed number of their own accesses, wherever the other side
// stopped.
TEST(RingsProgress, SpscRing_each_side_goes_on_wherever_the_other_stops) {
  for (const std::size_t capacity : {1u, 2u, 3u}) {
    for (const bool freeze_producer : {true, false}) {
      unsigned points = 0;
      for (std::uint64_t point = 0; point < 60; ++point) {
        SpscRing<std::uint64_t, ScheduledAtomic> queue(capacity);
        Scheduler scheduler(point);
        scheduler.limit_steps(5000);
        constexpr std::uint64_t calls = 10, most_accesses = 6;
        const auto produce = [&] {
          for (std::uint64_t i = 0; i < calls; ++i) static_cast<void>(queue.try_push(i) == PushResult::ok);
        };
        const auto consume = [&] {
          for (std::uint64_t i = 0; i < calls; ++i) static_cast<void>(queue.try_pop());
        };
        const unsigned victim = freeze_producer ? scheduler.spawn(produce) : scheduler.spawn(consume);
        const unsigned other = freeze_producer ? scheduler.spawn(consume) : scheduler.spawn(produce);
        scheduler.freeze(victim, point);
        ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << point;
        EXPECT_LE(scheduler.accesses(other), calls * most_accesses);
        if (!scheduler.reached_freeze(victim)) break;
        ++points;
      }
      EXPECT_GE(points, 10u);
    }
  }
}

}  // namespace
}  // namespace headrace
