// Small histories of MpmcRing under the deterministic scheduler, judged exactly; and the kit's control: the lost
// element of an SCQ whose dequeuers set the safe bit, in an exact schedule.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headrace/lockfree/mpmc_ring.hpp"
#include "support/deadline.hpp"
#include "support/payloads.hpp"
#include "support/queue_history.hpp"
#include "support/scheduler.hpp"
#include "support/scq_ring.hpp"
#include "support/vyukov_queue.hpp"

namespace headrace {
namespace {

using test::QueueHistory;
using test::QueueOp;
using test::ScheduledAtomic;
using test::Scheduler;
using Kind = QueueOp::Kind;

// Runs one operation and writes down when. One thread runs at a time, so a plain clock will do.
class Recorder {
 public:
  template <class Op>
  void run(Op&& op) {
    const std::uint64_t call = ++now_;
    QueueOp done = op();
    done.call = call;
    done.end = ++now_;
    history.push_back(done);
  }
  template <class Queue>
  void push(Queue& queue, std::uint64_t value) {
    run([&] {
      const PushResult r = queue.try_push(typename Queue::value_type(value));
      return QueueOp{r == PushResult::ok ? Kind::pushed : r == PushResult::full ? Kind::full : Kind::refused, value};
    });
  }
  template <class Queue>
  void pop(Queue& queue) {
    run([&] {
      const auto value = queue.try_pop();
      return value ? QueueOp{Kind::popped, value->value()} : QueueOp{Kind::nothing};
    });
  }
  QueueHistory history;

 private:
  std::uint64_t now_ = 0;
};

std::string text(const QueueHistory& history) {
  static constexpr const char* names[] = {"push ok",     "push full", "push closed", "pop",
                                          "pop nothing", "close",     "drained",     "not drained"};
  std::string out;
  for (const QueueOp& op : history) {
    out += std::to_string(op.call) + "-" + std::to_string(op.end) + " " + names[static_cast<int>(op.kind)] + " " +
           std::to_string(op.value) + "\n";
  }
  return out;
}

TEST(RingsLinearizable, MpmcRing_small_histories_are_a_queues) {
  using Queue = MpmcRing<test::Tracked, std::uint16_t, ScheduledAtomic>;
  const int schedules = test::scaled(3000);
  std::uint64_t full = 0, nothing = 0, refused = 0;
  for (int n = 0; n < schedules; ++n) {
    const auto seed = static_cast<std::uint64_t>(n);
    std::mt19937_64 random(seed);
    const std::size_t capacity = 1 + random() % 3;
    // At the edge of a wrap of the cycle, and after a part of a lap.
    Queue queue(capacity, static_cast<std::uint16_t>(0xFE + random() % 3));
    Recorder record;
    for (std::uint64_t i = 0, first = random() % (2 * capacity); i < first; ++i) {
      record.push(queue, 100 + i);
      record.pop(queue);
    }
    const std::uint64_t threads = 2 + random() % 2, calls = 2 + random() % 3, closes = random() % 3;
    Scheduler scheduler(random());
    for (std::uint64_t t = 0; t < threads; ++t) {
      const std::uint64_t plan = random();
      scheduler.spawn([&, t, plan] {
        for (std::uint64_t i = 0; i < calls; ++i) {
          if (plan >> i & 1)
            record.push(queue, 10 * t + i);
          else
            record.pop(queue);
        }
        if (closes != 0 || t != 0) return;
        record.run([&] {
          queue.close();
          return QueueOp{Kind::close};
        });
        record.run([&] { return QueueOp{queue.drained() ? Kind::drained : Kind::not_drained}; });
      });
    }
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished) << "seed " << seed;
    for (std::size_t i = 0; i <= capacity; ++i) record.pop(queue);
    ASSERT_TRUE(test::linearizable(record.history, capacity)) << "seed " << seed << ", capacity " << capacity << "\n"
                                                              << text(record.history);
    ASSERT_EQ(test::bad_pattern(record.history), "") << "seed " << seed;
    for (const QueueOp& op : record.history) {
      full += op.kind == Kind::full;
      nothing += op.kind == Kind::nothing;
      refused += op.kind == Kind::refused;
    }
  }
  EXPECT_GT(full, 0u);
  EXPECT_GT(nothing, 0u);
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(test::Tracked::live(), 0);
  EXPECT_EQ(test::Tracked::faults(), 0);
}

TEST(RingsLinearizable, A_push_that_the_close_overtakes_gives_its_argument_back) {
  using Queue = MpmcRing<test::MoveOnly, std::uint64_t, ScheduledAtomic>;
  bool overtaken = false;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Queue queue(1);
    auto value = std::make_unique<std::uint64_t>(5);
    PushResult result = PushResult::full;
    Scheduler scheduler(seed);
    // The pusher sees the queue open and takes its number; then the close.
    scheduler.script({0, 0, 0, 0, 0});
    scheduler.spawn([&] { result = queue.try_push(std::move(value)); });
    scheduler.spawn([&] { queue.close(); });
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
    ASSERT_NE(result, PushResult::full);
    ASSERT_EQ(value == nullptr, result == PushResult::ok);
    if (result == PushResult::ok) {
      ASSERT_FALSE(queue.drained()) << "the end before the element";
      ASSERT_EQ(**queue.try_pop(), 5u);
    } else {
      ASSERT_EQ(*value, 5u);
      overtaken = true;
    }
    ASSERT_TRUE(queue.drained());
    ASSERT_FALSE(queue.full()) << "the place of the refused push is lost";
  }
  EXPECT_TRUE(overtaken);
}

// ---- The control: SCQ with the safe bit set by dequeuers ----------------------------------------------------------

// Three threads one or two laps late, step by step; true when the element of the last push is delivered.
template <bool KeepsSafeBit>
QueueHistory run_the_schedule_of_b1() {
  test::ScqRing<KeepsSafeBit, ScheduledAtomic> ring(2);  // 4 entries; positions begin at 4, in cycle 1
  Recorder record;
  const auto put = [&](std::uint64_t value) {
    record.run([&] {
      ring.put(value);
      return QueueOp{Kind::pushed, value};
    });
  };
  const auto take = [&] {
    record.run([&] {
      const auto value = ring.take();
      return value ? QueueOp{Kind::popped, *value} : QueueOp{Kind::nothing};
    });
  };
  Scheduler scheduler(0);
  std::vector<unsigned> script;
  const auto let_run = [&](unsigned thread, std::size_t steps) { script.insert(script.end(), steps, thread); };
  constexpr std::size_t to_the_end = 60;
  // take: threshold, then the head's fetch_add; stops before it reads the entry. put: stops after the tail's fetch_add.
  constexpr std::size_t past_head = 3, past_tail = 2;

  const unsigned first = scheduler.spawn([&] { put(0); });   // position 4, place 0
  const unsigned late_0 = scheduler.spawn([&] { take(); });  // head 4
  const unsigned lap_1 = scheduler.spawn([&] {               // positions 5, 6, 7
    for (std::uint64_t v = 1; v <= 3; ++v) put(v), take();
  });
  const unsigned late_1 = scheduler.spawn([&] { take(); });  // head 8, place 0
  const unsigned lap_2 = scheduler.spawn([&] {               // 8 is not free: positions 9, 10, 11
    for (std::uint64_t v = 4; v <= 6; ++v) put(v), take();
  });
  const unsigned enqueuer = scheduler.spawn([&] { put(7); });  // tail 12, place 0
  const unsigned gone_by = scheduler.spawn([&] { take(); });   // head 12: its element is not there yet
  const unsigned drain = scheduler.spawn([&] {
    for (int i = 0; i < 6; ++i) take();
  });
  let_run(first, to_the_end);
  let_run(late_0, past_head);
  let_run(lap_1, to_the_end);
  let_run(late_1, past_head);
  let_run(lap_2, to_the_end);
  let_run(enqueuer, past_tail);
  let_run(gone_by, to_the_end);   // finds the old element: marks the entry unsafe
  let_run(late_0, to_the_end);    // takes the old element
  let_run(late_1, to_the_end);    // takes the empty entry over to its cycle
  let_run(enqueuer, to_the_end);  // may fill position 12 only if the entry is not unsafe
  let_run(drain, to_the_end);
  scheduler.script(script);
  EXPECT_EQ(scheduler.run(), Scheduler::Outcome::finished);
  return record.history;
}

TEST(RingsLinearizable, The_lost_element_of_an_scq_that_sets_the_safe_bit_is_found) {
  const auto lost = run_the_schedule_of_b1<false>();
  EXPECT_NE(test::bad_pattern(lost).find("empty while surely not"), std::string::npos) << text(lost);
  EXPECT_FALSE(test::linearizable(lost, 100));
  const auto kept = run_the_schedule_of_b1<true>();
  bool delivered = false;
  for (const QueueOp& op : kept) delivered = delivered || (op.kind == Kind::popped && op.value == 7);
  EXPECT_TRUE(delivered) << text(kept);
  EXPECT_EQ(test::bad_pattern(kept), "");
}

// ---- The control: a queue whose answers are not a queue's ----------------------------------------------------------

TEST(RingsLinearizable, Vyukovs_empty_is_not_a_queues_and_is_found) {
  unsigned found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::VyukovQueue<ScheduledAtomic> queue(4);
    Recorder record;
    Scheduler scheduler(seed);
    for (std::uint64_t t = 0; t < 2; ++t) {
      scheduler.spawn([&, t] {
        record.run([&] { return QueueOp{queue.try_push(t) == PushResult::ok ? Kind::pushed : Kind::full, t}; });
        record.run([&] {
          const auto value = queue.try_pop();
          return value ? QueueOp{Kind::popped, *value} : QueueOp{Kind::nothing};
        });
      });
    }
    ASSERT_EQ(scheduler.run(), Scheduler::Outcome::finished);
    found += !test::linearizable(record.history, 4);
  }
  EXPECT_GT(found, 0u) << "a push that waits behind an unpublished one answers ok and is not there";
}

}  // namespace
}  // namespace headrace
