// MpmcRing on real threads: exactly once, per-producer order and the four bad patterns over long histories, the narrow
// cycle, more threads than places, many short-lived threads, all on one processor.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headrace/lockfree/mpmc_ring.hpp"
#include "support/deadline.hpp"
#include "support/payloads.hpp"
#include "support/queue_history.hpp"

namespace headrace {
namespace {

using test::QueueHistory;
using test::QueueOp;
using Kind = QueueOp::Kind;

std::uint64_t now() { return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

void pin_to_one_processor() {
  cpu_set_t allowed;
  ASSERT_EQ(pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed), 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &allowed)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof one, &one), 0);
}

struct Case {
  std::size_t capacity;
  unsigned producers, consumers;
  bool one_processor;
};

// Every thread writes down its own history; at the close the consumers go on to the end, which drained() alone decides.
template <class Queue>
void run(Queue& queue, Case c, std::uint64_t per_producer) {
  SCOPED_TRACE("capacity " + std::to_string(c.capacity) + ", " + std::to_string(c.producers) + " producers, " +
               std::to_string(c.consumers) + " consumers" + (c.one_processor ? ", one processor" : ""));
  std::vector<QueueHistory> histories(c.producers + c.consumers);
  std::vector<std::thread> pushing, popping;
  std::atomic<std::uint64_t> eaten{0};
  for (unsigned p = 0; p < c.producers; ++p) {
    pushing.emplace_back([&, p] {
      if (c.one_processor) pin_to_one_processor();
      auto& history = histories[p];
      history.reserve(per_producer);
      for (std::uint64_t i = 0; i < per_producer; ++i) {
        auto value = std::make_unique<std::uint64_t>(std::uint64_t{p} << 32 | i);
        for (;;) {
          const std::uint64_t call = now();
          if (queue.try_push(std::move(value)) == PushResult::ok) {
            history.push_back({Kind::pushed, std::uint64_t{p} << 32 | i, call, now()});
            break;
          }
          if (!value) ++eaten;
          sched_yield();
        }
      }
    });
  }
  for (unsigned k = 0; k < c.consumers; ++k) {
    popping.emplace_back([&, k] {
      if (c.one_processor) pin_to_one_processor();
      auto& history = histories[c.producers + k];
      while (!queue.drained()) {
        const std::uint64_t call = now();
        if (const auto value = queue.try_pop()) {
          history.push_back({Kind::popped, **value, call, now()});
        } else {
          if (history.size() < 4 * per_producer) history.push_back({Kind::nothing, 0, call, now()});
          sched_yield();
        }
      }
    });
  }
  for (auto& thread : pushing) thread.join();
  queue.close();
  for (auto& thread : popping) thread.join();
  QueueHistory all;
  std::size_t popped = 0;
  for (unsigned t = 0; t < histories.size(); ++t) {
    std::vector<std::uint64_t> next(c.producers, 0);
    for (const QueueOp& op : histories[t]) {
      if (op.kind != Kind::popped) continue;
      ++popped;
      ASSERT_GE(op.value & 0xFFFFFFFF, next[op.value >> 32]) << "a producer's elements out of order";
      next[op.value >> 32] = (op.value & 0xFFFFFFFF) + 1;
    }
    all.insert(all.end(), histories[t].begin(), histories[t].end());
  }
  EXPECT_EQ(eaten, 0u) << "a failed push ate its argument";
  EXPECT_EQ(popped, c.producers * per_producer);
  EXPECT_EQ(test::bad_pattern(all, 300), "");
}

TEST(RingsStress, Histories_of_many_threads_are_a_queues) {
  const test::Deadline deadline(std::chrono::seconds(240));
  for (const bool one_processor : {false, true}) {
    for (const std::size_t capacity : {1u, 2u, 3u, 5u, 8u, 100u}) {
      for (const unsigned threads : {2u, 4u}) {
        // Spinning through a queue of one place on one processor is a matter of the scheduler's patience.
        const auto per = static_cast<std::uint64_t>(test::scaled(capacity == 1 ? 1000 : 4000));
        MpmcRing<test::MoveOnly> queue(capacity);
        run(queue, {capacity, threads, threads, one_processor}, per);
      }
    }
  }
}

// Plain data before the close: whoever is told of the close may read it. Without the orders it is a race.
TEST(RingsStress, Whoever_is_told_of_the_close_sees_its_reason) {
  for (int round = 0; round < test::scaled(200); ++round) {
    MpmcRing<std::uint64_t> queue(2);
    int reason = 0;
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      while (queue.try_push(std::uint64_t{1}) != PushResult::closed) sched_yield();
      EXPECT_EQ(reason, 7);
    });
    threads.emplace_back([&] {
      while (!queue.closed()) sched_yield();
      EXPECT_EQ(reason, 7);
    });
    threads.emplace_back([&] {
      while (!queue.drained()) static_cast<void>(queue.try_pop());
      EXPECT_EQ(reason, 7);
    });
    sched_yield();
    reason = 7;
    queue.close();
    for (auto& thread : threads) thread.join();
  }
}

TEST(RingsStress, Cycles_wrap_under_load) {
  const test::Deadline deadline(std::chrono::seconds(240));
  for (const std::size_t capacity : {1u, 3u, 7u}) {
    MpmcRing<test::MoveOnly> queue(capacity, (std::uint64_t{1} << 48) - 100);
    run(queue, {capacity, 2, 2, false}, static_cast<std::uint64_t>(test::scaled(3000)));
  }
}

TEST(RingsStress, Ten_thousand_short_lived_threads_leave_nothing_behind) {
  const test::Deadline deadline(std::chrono::seconds(240));
  {
    MpmcRing<test::Tracked> queue(5);
    std::atomic<std::uint64_t> pushed{0}, popped{0};
    const int rounds = test::scaled(10'000) / 4;
    for (int round = 0; round < rounds; ++round) {
      std::thread threads[4];
      for (int t = 0; t < 4; ++t) {
        threads[t] = std::thread([&, t] {
          if (t % 2 == 0)
            pushed += queue.try_push(test::Tracked(1)) == PushResult::ok ? 1u : 0u;
          else
            popped += queue.try_pop().has_value() ? 1u : 0u;
        });
      }
      for (auto& thread : threads) thread.join();
    }
    EXPECT_EQ(test::Tracked::live(), static_cast<long>(pushed - popped));
    EXPECT_LE(pushed - popped, 5u);
    // No thread has taken a place along when it ended.
    std::uint64_t room = 0, inside = 0;
    while (queue.try_push(test::Tracked(1)) == PushResult::ok) ++room;
    EXPECT_EQ(room + pushed - popped, 5u);
    while (queue.try_pop()) ++inside;
    EXPECT_EQ(inside, 5u);
    EXPECT_EQ(queue.try_push(test::Tracked(2)), PushResult::ok);
  }
  EXPECT_EQ(test::Tracked::live(), 0);
  EXPECT_EQ(test::Tracked::faults(), 0);
}

}  // namespace
}  // namespace headrace
