// The engine's own code, atomics replaced, under the deterministic scheduler: 2-4 threads, a few steps, many schedules.
// Workers are the scheduler's threads; everything else is what ships.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "headrace/runtime/engine.hpp"
#include "support/delivery_order.hpp"
#include "support/scheduler.hpp"

namespace headrace {
namespace {

using test::ScheduledAtomic;
using test::Scheduler;

// Workers that are threads of the scheduler that runs the caller.
class ScheduledWorkers {
 public:
  explicit ScheduledWorkers(unsigned threads) : threads_(threads) {}
  unsigned threads() const noexcept { return threads_; }
  bool launch(std::shared_ptr<detail::WorkerTask> task) noexcept {
    if (fail_one_in != 0 && ++asked_ % fail_one_in == 0) return false;
    Scheduler::of_this_thread()->spawn([task = std::move(task)] {
      while (task->work() == detail::WorkerExit::yielded) Scheduler::point();
    });
    return true;
  }
  static bool crowded() noexcept { return crowded_one_in != 0 && ++looks_ % crowded_one_in == 0; }

  static inline unsigned fail_one_in = 0;
  static inline unsigned crowded_one_in = 0;

 private:
  unsigned threads_;
  unsigned asked_ = 0;
  static inline unsigned looks_ = 0;
};

struct Job {
  struct Slot {
    std::uint64_t step = 0;
    unsigned opened[3] = {};
    unsigned made[3] = {};
  };
  std::uint64_t steps, seed;
  unsigned batch, parts;
  bool whole = true;

  unsigned items(std::uint64_t s) const { return whole ? batch : 1 + static_cast<unsigned>((s + seed) % batch); }
  unsigned parts_of(std::uint64_t s, unsigned i) const {
    return whole ? parts : static_cast<unsigned>((s * 3 + i + seed) % (parts + 1));
  }
  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    if (s >= steps) return 0;
    slot = Slot{};
    slot.step = s;
    return items(s);
  }
  unsigned open(std::uint64_t s, unsigned i, Slot& slot) noexcept {
    EXPECT_EQ(slot.step, s);
    Scheduler::point();
    ++slot.opened[i];
    return parts_of(s, i);
  }
  void part(std::uint64_t s, unsigned i, unsigned, Slot& slot, PartInfo) noexcept {
    EXPECT_EQ(slot.step, s);
    Scheduler::point();
    ++slot.made[i];
  }
};

using E = BasicEngine<Job, ScheduledAtomic, ScheduledWorkers>;

struct Case {
  std::uint64_t steps = 3;
  unsigned batch = 1, parts = 2;
  EngineOptions options{};
  bool whole = true;
  bool cancels = false;
  bool polls = false;
};

// One schedule; what went wrong, or nothing.
std::string run(const Case& c, std::uint64_t seed) {
  std::string wrong;
  Scheduler scheduler(seed);
  auto job =
      std::make_shared<Job>(Job{.steps = c.steps, .seed = seed, .batch = c.batch, .parts = c.parts, .whole = c.whole});
  std::mt19937_64 g(seed * 31 + 7);
  const std::uint64_t cancel_after = c.cancels ? g() % 40 : 0;
  bool released = false;
  scheduler.spawn([&] {
    EngineOptions options = c.options;
    options.batch = c.batch;
    E engine(job, options);
    if (c.cancels) {
      engine.start();
      for (std::uint64_t i = 0; i < cancel_after; ++i) Scheduler::point();
      if (g() % 2) {
        if (!engine.next()) wrong = "no step before the cancel";
      }
      if (g() % 4 == 0) return;                      // destroyed with everything in flight
      engine.restart([&](Job& j) { j.steps = 0; });  // nothing to bind
      engine.restart([&](Job& j) { j.steps = ~std::uint64_t{0}; });
      for (int i = 0; i < 2; ++i) {
        auto lease = engine.next();
        if (!lease)
          wrong = "no step after the cancel";
        else if (lease->opened[0] != 1 || lease->made[0] != job->parts_of(lease.step(), 0))
          wrong = "not made after cancel";
      }
      return;
    }
    E::Lease kept;
    test::DeliveryOrder order(c.options.span);
    for (std::uint64_t n = 0; n < c.steps; ++n) {
      E::Lease lease;
      if (c.polls) {
        for (E::Next next = engine.try_next();; next = engine.try_next()) {
          if (next.status == NextStatus::pending) continue;
          lease = std::move(next.lease);
          break;
        }
      } else {
        lease = engine.next();
      }
      if (!lease) {
        wrong = "delivery " + std::to_string(n) + " did not come";
        return;
      }
      const std::uint64_t s = lease.step();
      if (wrong = order.deliver(s); !wrong.empty()) return;
      for (unsigned i = 0; i < lease.items(); ++i) {
        if (lease->opened[i] != 1 || lease->made[i] != job->parts_of(s, i))
          wrong = "made wrongly: " + std::to_string(s);
      }
      if (n == 0 && c.options.hold > 1) {
        kept = std::move(lease);
        Scheduler::of_this_thread()->spawn([&] {
          kept.release();
          released = true;
        });
        while (!released) Scheduler::point();
      }
    }
    if (engine.next()) wrong = "a step after the end";
    const EngineStats stats = engine.stats();
    if (stats.window_high_water > c.options.window) wrong = "window exceeded";
    if (engine.shutdown().clean == false) wrong = "not clean";
  });
  const auto outcome = scheduler.run();
  if (outcome != Scheduler::Outcome::finished) return "did not come to its end";
  if (wrong.empty() && scheduler.expired() != 0) return "a wakeup was lost";
  return wrong;
}

void run_many(const Case& c, std::uint64_t schedules) {
  for (std::uint64_t seed = 0; seed < schedules; ++seed) ASSERT_EQ(run(c, seed), "") << "seed " << seed;
}

TEST(ScheduledEngine, One_worker_and_a_helping_consumer) {
  run_many({.steps = 4, .batch = 1, .parts = 2, .options = {.threads = 1, .window = 2}}, 500);
}
TEST(ScheduledEngine, Two_workers_and_a_consumer_that_does_not_help) {
  run_many({.steps = 4, .batch = 1, .parts = 2, .options = {.threads = 2, .window = 2, .help = false}}, 500);
}
TEST(ScheduledEngine, One_worker_that_comes_and_goes_for_a_consumer_that_does_not_help) {
  run_many({.steps = 3, .batch = 1, .parts = 1, .options = {.threads = 1, .window = 1, .help = false}}, 1000);
}
TEST(ScheduledEngine, Short_steps_and_items_without_parts) {
  run_many({.steps = 5, .batch = 3, .parts = 2, .options = {.threads = 2, .window = 2, .hold = 1}, .whole = false},
           400);
  run_many({.steps = 5, .batch = 3, .parts = 1, .options = {.threads = 2, .window = 1, .steal = false}, .whole = false},
           200);
}
TEST(ScheduledEngine, A_consumer_that_polls) {
  run_many({.steps = 3, .batch = 2, .parts = 2, .options = {.threads = 2, .window = 2}, .polls = true}, 200);
}
TEST(ScheduledEngine, Cancel_restart_and_destruction_anywhere) {
  run_many({.batch = 1, .parts = 3, .options = {.threads = 2, .window = 2, .hold = 1}, .cancels = true}, 500);
  run_many({.batch = 2,
            .parts = 2,
            .options = {.threads = 2, .window = 1, .hold = 1, .help = false},
            .whole = false,
            .cancels = true},
           300);
}
TEST(ScheduledEngine, Completion_order) {
  run_many({.steps = 5, .batch = 1, .parts = 2, .options = {.threads = 2, .window = 2, .span = 1}}, 150);
  run_many({.steps = 6,
            .batch = 2,
            .parts = 1,
            .options = {.threads = 2, .window = 2, .hold = 1, .span = 2, .help = false},
            .whole = false},
           150);
  run_many({.steps = 4, .batch = 1, .parts = 2, .options = {.threads = 2, .window = 3, .span = 2}, .polls = true}, 100);
}
TEST(ScheduledEngine, Completion_order_with_cancel_anywhere) {
  run_many({.batch = 2,
            .parts = 2,
            .options = {.threads = 2, .window = 2, .hold = 1, .span = 2},
            .whole = false,
            .cancels = true},
           150);
}
TEST(ScheduledEngine, Workers_take_turns) {
  ScheduledWorkers::crowded_one_in = 3;
  run_many({.steps = 4, .batch = 2, .parts = 2, .options = {.threads = 2, .window = 2}}, 200);
  ScheduledWorkers::crowded_one_in = 0;
}
TEST(ScheduledEngine, Launches_that_fail) {
  ScheduledWorkers::fail_one_in = 2;
  run_many({.steps = 4, .batch = 1, .parts = 3, .options = {.threads = 3, .window = 2}}, 200);
  ScheduledWorkers::fail_one_in = 0;
}

}  // namespace
}  // namespace headrace
