// Random shapes, thread counts, windows and consumers: every item made exactly once, delivered in order, memory
// bounded, whatever the consumer does - wait, poll, hold, release elsewhere, cancel, restart, leave.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <thread>

#include "headrace/runtime/engine.hpp"
#include "runtime/checked_job.hpp"
#include "support/delivery_order.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using test::CheckedJob;
using test::DeliveryOrder;
using test::Shape;

int rounds(int normal) {
  const char* factor = std::getenv("HEADRACE_TEST_ROUNDS_PERCENT");
  return factor ? normal * std::atoi(factor) / 100 : normal;
}

struct Run {
  Shape shape;
  EngineOptions options;
  unsigned restarts = 0;  // in a hundred deliveries
  unsigned leave_in = 0;  // in a hundred deliveries
  bool polls = false;
  bool releases_elsewhere = false;
};

Run random_run(std::mt19937_64& g) {
  Run run;
  run.shape.seed = g();
  run.shape.steps = g() % 60;
  run.shape.batch = 1 + static_cast<unsigned>(g() % 7);
  run.shape.most_parts = g() % 3 == 0 ? 1 : static_cast<unsigned>(g() % 9);
  run.shape.slow_one_in = g() % 3 == 0 ? 0 : 64;
  run.shape.full_steps = g() % 2 == 0;
  run.options.threads = g() % 6 == 0 ? 0 : 1 + static_cast<unsigned>(g() % 8);
  run.options.window = 1 + static_cast<unsigned>(g() % 5);
  run.options.hold = 1 + static_cast<unsigned>(g() % 3);
  run.options.spares = static_cast<unsigned>(g() % 2);
  run.options.batch = run.shape.batch;
  const unsigned spans[] = {0, 0, 0, 1, 2, 4, 256};
  run.options.span = spans[g() % 7];
  run.options.help = g() % 3 != 0;
  run.options.help_ahead = g() % 2 != 0;
  run.options.steal = g() % 5 != 0;
  run.restarts = g() % 2 == 0 ? 0 : static_cast<unsigned>(g() % 30);
  run.leave_in = g() % 3 == 0 ? static_cast<unsigned>(g() % 10) : 0;
  run.polls = g() % 3 == 0;
  run.releases_elsewhere = g() % 4 == 0;
  return run;
}

// One life of an engine; an empty string when all was right.
std::string live(const Run& run, std::mt19937_64& g) {
  using E = Engine<CheckedJob>;
  auto faults = std::make_shared<CheckedJob::Faults>();
  auto job = std::make_shared<CheckedJob>(run.shape, faults);
  std::deque<E::Lease> held;
  std::string wrong;
  EngineStats stats;
  std::vector<std::jthread> elsewhere;
  {
    E engine(job, run.options);
    if (g() % 2) engine.start();
    std::uint64_t delivered = 0;  // of this run
    std::optional<DeliveryOrder> order;
    unsigned restarts_left = 4;
    for (;;) {
      while (held.size() >= run.options.hold || (!held.empty() && g() % 2)) {
        if (run.releases_elsewhere)
          elsewhere.emplace_back([lease = std::move(held.front())]() mutable { lease.release(); });
        held.pop_front();
      }
      if (run.releases_elsewhere) elsewhere.clear();  // joined: else the lease may still count as held
      E::Lease lease;
      NextStatus status = NextStatus::pending;
      if (run.polls) {
        auto next = g() % 2 ? engine.try_next() : engine.next_for(std::chrono::microseconds(g() % 300));
        status = next.status;
        lease = std::move(next.lease);
        if (status == NextStatus::pending && g() % 4 == 0) std::this_thread::yield();
      } else {
        lease = engine.next();
        status = lease ? NextStatus::ready : NextStatus::end;
      }
      if (g() % 100 < run.restarts && restarts_left > 0) {
        --restarts_left;
        delivered = 0;
        order.reset();
        const auto before = job->first();
        engine.restart([](CheckedJob& j) { j.begin_run(); });
        if (run.shape.steps != 0 && engine.threads() != 0 && job->first() < before) return "step numbers went back";
        if (lease) held.push_back(std::move(lease));
        continue;
      }
      if (status == NextStatus::end) {
        if (delivered != run.shape.steps) return "ended after " + std::to_string(delivered) + " steps";
        if (engine.next()) return "a step after the end";
        break;
      }
      if (status == NextStatus::pending) continue;
      if (!order) order.emplace(run.options.span, job->first());
      wrong = order->deliver(lease.step());
      if (!wrong.empty()) return wrong;
      wrong = job->wrong(lease.step(), lease.items(), *lease);
      if (!wrong.empty()) return wrong;
      ++delivered;
      held.push_back(std::move(lease));
      if (g() % 100 < run.leave_in) break;
    }
    stats = engine.stats();
    if (g() % 2) engine.cancel();
  }
  faults->over = true;
  if (faults->wrong_slot) return "a thread was in a slot of another step";
  if (faults->wrong_mode) return "the job ran in the host's floating-point mode";
  if (faults->overlap) return "a slot was bound while somebody was inside";
  if (faults->late) return "somebody came after destruction";
  if (stats.window_high_water > run.options.window) return "window exceeded";
  if (stats.slots_high_water > run.options.window + run.options.hold + run.options.spares) return "slots exceeded";
  if (stats.rescues != 0) return "a wakeup was lost";
  if (!run.options.steal && faults->stolen) return "a part was stolen although that is off";
  if (run.options.threads == 0 && faults->stolen) return "a part was stolen although there are no workers";
  for (const E::Lease& lease : held) {  // leases outlive the engine
    wrong = job->wrong(lease.step(), lease.items(), *lease);
    if (!wrong.empty()) return "after the engine: " + wrong;
  }
  return {};
}

void live_many(int count, std::uint64_t seed) {
  std::mt19937_64 g(seed);
  for (int round = 0; round < count; ++round) {
    const Run run = random_run(g);
    const std::string wrong = live(run, g);
    ASSERT_EQ(wrong, "") << "round " << round << ": threads " << run.options.threads << " window " << run.options.window
                         << " span " << run.options.span << " hold " << run.options.hold << " batch "
                         << run.options.batch << " help " << run.options.help << " steal " << run.options.steal
                         << " seed " << run.shape.seed << " restarts " << run.restarts << " polls " << run.polls
                         << " elsewhere " << run.releases_elsewhere;
  }
}

TEST(EngineStress, Any_shape_any_consumer) { live_many(rounds(1500), 1); }

TEST(EngineStress, The_same_on_one_processor) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  // Workers that exist keep their mask; all but the consumer may still use the others: so end them first.
  shutdown();
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  live_many(rounds(300), 2);
  shutdown();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(EngineStress, Two_engines_at_once) {
  std::string wrong[2];
  {
    std::jthread other([&] {
      std::mt19937_64 g(3);
      for (int i = 0; i < rounds(150) && wrong[0].empty(); ++i) wrong[0] = live(random_run(g), g);
    });
    std::mt19937_64 g(4);
    for (int i = 0; i < rounds(150) && wrong[1].empty(); ++i) wrong[1] = live(random_run(g), g);
  }
  EXPECT_EQ(wrong[0], "");
  EXPECT_EQ(wrong[1], "");
}

}  // namespace
}  // namespace headrace
