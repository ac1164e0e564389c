// The engine's contract, one sentence a test.
#include "headrace/runtime/engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace headrace {
namespace {

using namespace std::chrono_literals;

// A job made of functions.
struct Job {
  struct Slot {
    std::uint64_t step = 0;
    std::vector<std::atomic<std::uint32_t>> made = std::vector<std::atomic<std::uint32_t>>(8);
  };
  std::function<unsigned(std::uint64_t)> items = [](std::uint64_t) { return 1u; };
  std::function<unsigned(std::uint64_t, unsigned)> parts = [](std::uint64_t, unsigned) { return 1u; };
  std::function<void(std::uint64_t, unsigned, unsigned, PartInfo)> body = [](std::uint64_t, unsigned, unsigned,
                                                                             PartInfo) {};

  unsigned bind(std::uint64_t step, Slot& slot) noexcept {
    slot.step = step;
    for (auto& m : slot.made) m = 0;
    return items(step);
  }
  unsigned open(std::uint64_t step, unsigned i, Slot&) noexcept { return parts(step, i); }
  void part(std::uint64_t step, unsigned i, unsigned k, Slot& slot, PartInfo info) noexcept {
    body(step, i, k, info);
    slot.made[i % 8].fetch_add(1);
  }
};
using E = Engine<Job>;

std::function<unsigned(std::uint64_t)> steps(std::uint64_t n, unsigned items = 1) {
  return [=](std::uint64_t s) { return s < n ? items : 0; };
}

// Runs `f` in another thread and fails if it does not end.
template <class F>
bool ends_in_time(F&& f, std::chrono::seconds most = 60s) {
  auto done = std::async(std::launch::async, std::forward<F>(f));
  return done.wait_for(most) == std::future_status::ready;
}

class EngineOn : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Threads, EngineOn, testing::Values(0u, 1u, 2u, 8u));

TEST_P(EngineOn, No_steps_is_an_end_and_stays_one) {
  E engine(Job{.items = steps(0)}, {.threads = GetParam()});
  EXPECT_FALSE(engine.next());
  EXPECT_FALSE(engine.next());
  EXPECT_EQ(engine.try_next().status, NextStatus::end);
  EXPECT_EQ(engine.next_for(1ms).status, NextStatus::end);
}

TEST_P(EngineOn, Items_of_0_1_and_16383_parts) {
  const unsigned counts[] = {0, 1, 2, max_parts, 0, max_parts};
  Job job{.items = steps(20, 6), .parts = [&](std::uint64_t, unsigned i) { return counts[i]; }};
  E engine(std::move(job), {.threads = GetParam(), .window = 2, .batch = 6});
  std::uint64_t s = 0;
  while (const auto lease = engine.next()) {
    ASSERT_EQ(lease.step(), s++);
    for (unsigned i = 0; i < 6; ++i) ASSERT_EQ(lease->made[i], counts[i]) << "step " << s << " item " << i;
    ASSERT_FALSE(lease.refused_item());
  }
  EXPECT_EQ(s, 20u);
}

TEST_P(EngineOn, One_part_too_many_is_an_error_and_no_wrap) {
  Job job{.items = steps(5, 4),
          .parts = [](std::uint64_t s, unsigned i) { return s == 2 && i >= 1 ? max_parts + i : 2; }};
  E engine(std::move(job), {.threads = GetParam(), .batch = 4});
  for (std::uint64_t s = 0; s < 5; ++s) {
    const auto lease = engine.next();
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease.refused_item(), s == 2 ? std::optional(1u) : std::nullopt);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(lease->made[i], s == 2 && i >= 1 ? 0u : 2u);
  }
}

struct RefusingJob : Job {
  std::shared_ptr<std::atomic<unsigned>> refused = std::make_shared<std::atomic<unsigned>>(0);
  void refuse(std::uint64_t, unsigned, Slot&, unsigned parts_asked) noexcept { *refused = parts_asked; }
};
TEST_P(EngineOn, The_job_is_told_of_a_refused_item) {
  RefusingJob job;
  job.items = steps(1);
  job.parts = [](std::uint64_t, unsigned) { return 20'000u; };
  const auto refused = job.refused;
  Engine<RefusingJob> engine(std::move(job), {.threads = GetParam()});
  EXPECT_TRUE(engine.next());
  EXPECT_EQ(*refused, 20'000u);
}

TEST_P(EngineOn, A_lease_too_many_fails_at_once_naming_hold_and_changes_nothing) {
  E engine(Job{.items = steps(10)}, {.threads = GetParam(), .window = 2, .hold = 2});
  auto a = engine.next();
  auto b = engine.next();
  for (int i = 0; i < 3; ++i) {
    try {
      static_cast<void>(engine.next());
      FAIL() << "no error";
    } catch (const HoldError& error) {
      EXPECT_NE(std::string(error.what()).find("`hold` is 2"), std::string::npos) << error.what();
    }
    EXPECT_THROW(static_cast<void>(engine.try_next()), HoldError);
    EXPECT_THROW(static_cast<void>(engine.next_for(1ms)), HoldError);
  }
  a.release();
  auto c = engine.next();
  ASSERT_TRUE(c);
  EXPECT_EQ(c.step(), 2u) << "the refused calls took nothing";
  EXPECT_EQ(b.step(), 1u);
}

TEST_P(EngineOn, A_lease_outlives_its_engine_and_may_be_released_anywhere) {
  E::Lease lease;
  {
    E engine(Job{.items = steps(100), .parts = [](std::uint64_t, unsigned) { return 3u; }}, {.threads = GetParam()});
    lease = engine.next();
  }
  EXPECT_EQ(lease->made[0], 3u);
  std::thread([moved = std::move(lease)]() mutable { moved.release(); }).join();
  EXPECT_FALSE(lease);
}

TEST_P(EngineOn, A_bind_above_batch_is_an_error_in_its_place) {
  E engine(Job{.items = [](std::uint64_t s) { return s == 3 ? 9u : 2u; }}, {.threads = GetParam(), .batch = 2});
  for (int s = 0; s < 3; ++s) ASSERT_TRUE(engine.next());
  EXPECT_THROW(static_cast<void>(engine.next()), std::length_error);
  EXPECT_THROW(static_cast<void>(engine.next()), std::length_error);
}

TEST_P(EngineOn, Restart_goes_on_counting_steps) {
  std::uint64_t first = 0, n = 5;
  E engine(Job{.items = [&](std::uint64_t s) { return s - first < n ? 1u : 0u; }}, {.threads = GetParam()});
  for (std::uint64_t s = 0; s < 5; ++s) ASSERT_EQ(engine.next().step(), s);
  ASSERT_FALSE(engine.next());
  std::uint64_t next = 5;
  for (int run = 0; run < 50; ++run) {
    engine.restart([&](Job&) { first = next; });
    const auto lease = engine.next();
    ASSERT_TRUE(lease);
    ASSERT_GE(lease.step(), next);
    next = lease.step() + 10;  // where the next run's bind looks from is its own affair
    first = lease.step() + 1;
    engine.restart([&](Job& job) {
      job.items = [&, any = false](std::uint64_t s) mutable {
        if (!any) first = s;
        any = true;
        return s - first < n ? 1u : 0u;
      };
    });
    for (std::uint64_t s = 0; s < n; ++s) {
      const auto again = engine.next();
      ASSERT_TRUE(again);
      ASSERT_EQ(again.step(), first + s);
    }
    ASSERT_FALSE(engine.next());
    next = first + n;
    engine.restart(
        [&](Job& job) { job.items = [&](std::uint64_t s) { return s >= next && s - next < n + 20 ? 1u : 0u; }; });
    first = next;
  }
}

TEST(Engine, Bad_options_are_named) {
  const auto error = [](EngineOptions o) -> std::string {
    try {
      E engine(Job{}, std::move(o));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_NE(error({.window = 0}).find("window"), std::string::npos);
  EXPECT_NE(error({.window = 70000}).find("window"), std::string::npos);
  EXPECT_NE(error({.hold = 0}).find("hold"), std::string::npos);
  EXPECT_NE(error({.window = 60000, .hold = 6000}).find("hold"), std::string::npos);
  EXPECT_NE(error({.batch = 0}).find("batch"), std::string::npos);
  EXPECT_NE(error({.batch = ~0u}).find("batch"), std::string::npos);
  EXPECT_NE(error({.window = 60000, .batch = 1u << 20}).find("batch"), std::string::npos);
  EXPECT_NE(error({.shutdown_timeout = -1ms}).find("shutdown_timeout"), std::string::npos);
}

TEST(Engine, Polling_never_runs_the_job_on_the_consumers_thread) {
  const auto me = std::this_thread::get_id();
  std::atomic<bool> here{false};
  E engine(Job{.items = steps(50),
               .body =
                   [&](std::uint64_t, unsigned, unsigned, PartInfo) {
                     if (std::this_thread::get_id() == me) here = true;
                   }},
           {.threads = 2});
  for (int s = 0; s < 50;) {
    const auto next = s % 2 ? engine.try_next() : engine.next_for(100ms);
    if (next.status == NextStatus::ready) ++s;
  }
  // On a machine so busy that no worker came for half a second, the consumer is the last resort.
  EXPECT_TRUE(!here || engine.stats().last_resorts != 0);
}

TEST(Engine, Without_help_the_consumer_never_computes) {
  const auto me = std::this_thread::get_id();
  std::atomic<bool> here{false};
  E engine(Job{.items = steps(300, 2),
               .parts = [](std::uint64_t, unsigned) { return 3u; },
               .body =
                   [&](std::uint64_t, unsigned, unsigned, PartInfo) {
                     if (std::this_thread::get_id() == me) here = true;
                   }},
           {.threads = 2, .batch = 2, .help = false});
  while (engine.next()) {
  }
  EXPECT_TRUE(!here || engine.stats().last_resorts != 0);
  EXPECT_EQ(engine.stats().helped == 0, !here);
}

TEST(Engine, Next_for_gives_up_in_time_and_loses_nothing) {
  std::atomic<bool> open{false};
  E engine(Job{.items = steps(1),
               .body =
                   [&](std::uint64_t, unsigned, unsigned, PartInfo) {
                     while (!open) std::this_thread::sleep_for(1ms);
                   }},
           {.threads = 1});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(engine.next_for(20ms).status, NextStatus::pending);
  EXPECT_EQ(engine.next_for(0ms).status, NextStatus::pending);
  EXPECT_EQ(engine.next_for(-5ms).status, NextStatus::pending);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  open = true;
  EXPECT_EQ(engine.next_for(std::chrono::nanoseconds::max()).status, NextStatus::ready);
}

// Two parts that meet: each waits until both run. One worker alone could never end them.
Job meeting_job(std::uint64_t n, std::shared_ptr<std::atomic<unsigned>> arrived, std::chrono::milliseconds prefix) {
  return Job{.items = steps(n),
             .parts =
                 [=](std::uint64_t, unsigned) {
                   std::this_thread::sleep_for(prefix);
                   return 2u;
                 },
             .body =
                 [=](std::uint64_t s, unsigned, unsigned, PartInfo) {
                   arrived->fetch_add(1);
                   while (arrived->load() < 2 * (s + 1)) std::this_thread::yield();
                 }};
}

TEST(Engine, A_sleeping_consumer_is_woken_to_help_when_parts_open) {
  const auto arrived = std::make_shared<std::atomic<unsigned>>(0);
  EXPECT_TRUE(ends_in_time([&] {
    // The prefix lasts long enough for the consumer to fall asleep.
    E engine(meeting_job(5, arrived, 20ms), {.threads = 1, .window = 1});
    engine.start();
    std::this_thread::sleep_for(5ms);
    while (engine.next()) {
    }
    EXPECT_GE(engine.stats().parts_stolen, 5u);
    EXPECT_GE(engine.stats().sleeps, 1u);
    EXPECT_EQ(engine.stats().rescues, 0u);
  }));
}

// Parts that sleep overlap whatever else the machine does: what stealing inside the only item in flight gives.
TEST(Engine, Eight_parts_of_one_item_take_half_the_time_on_two_threads) {
  const auto time = [](EngineOptions options) {
    options.window = 1;
    E engine(Job{.items = steps(4), .parts = [](std::uint64_t, unsigned) { return 8u; },
                 .body = [](std::uint64_t, unsigned, unsigned, PartInfo) { std::this_thread::sleep_for(10ms); }}, options);
    const auto begin = std::chrono::steady_clock::now();
    while (engine.next()) {
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double one = time({.threads = 1, .help = false});
  const double two = time({.threads = 2, .help = false});
  const double helped = time({.threads = 1, .help = true});
  std::printf("8 sleeping parts: one thread %.0f ms, two threads %.2fx, one worker and the consumer %.2fx\n", one * 1e3,
              one / two, one / helped);
  EXPECT_GE(one / two, 1.6);
  EXPECT_GE(one / helped, 1.6);
}

TEST(Engine, Parts_of_one_item_run_on_two_workers) {
  const auto arrived = std::make_shared<std::atomic<unsigned>>(0);
  EXPECT_TRUE(ends_in_time([&] {
    E engine(meeting_job(20, arrived, 0ms), {.threads = 2, .window = 1, .help = false});
    while (engine.next()) {
    }
    EXPECT_GE(engine.stats().parts_stolen, 20u);
  }));
}

TEST(Engine, Without_stealing_an_item_stays_on_one_thread) {
  std::atomic<bool> stolen{false};
  E engine(Job{.items = steps(100, 2),
               .parts = [](std::uint64_t, unsigned) { return 5u; },
               .body =
                   [&](std::uint64_t, unsigned, unsigned, PartInfo info) {
                     if (info.stolen) stolen = true;
                   }},
           {.threads = 3, .batch = 2, .steal = false});
  while (engine.next()) {
  }
  EXPECT_FALSE(stolen);
  EXPECT_EQ(engine.stats().parts_stolen, 0u);
}

TEST(Engine, Destruction_skips_what_was_not_begun) {
  std::atomic<unsigned> run{0};
  {
    E engine(Job{.parts = [](std::uint64_t, unsigned) { return 1000u; },
                 .body =
                     [&](std::uint64_t, unsigned, unsigned, PartInfo) {
                       ++run;
                       std::this_thread::sleep_for(1ms);
                     }},
             {.threads = 2, .window = 8});
    engine.start();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_LT(run, 500u);
}

TEST(Engine, Destruction_gives_up_on_a_thread_that_does_not_come_out_and_says_so) {
  const auto open = std::make_shared<std::atomic<bool>>(false);
  ShutdownReport report;
  const auto begin = std::chrono::steady_clock::now();
  {
    E engine(Job{.items = steps(4),
                 .body =
                     [=](std::uint64_t, unsigned, unsigned, PartInfo) {
                       while (!*open) std::this_thread::sleep_for(1ms);
                     }},
             {.threads = 2, .shutdown_timeout = 30ms, .on_detach = [&](const ShutdownReport& r) { report = r; }});
    engine.start();
    std::this_thread::sleep_for(30ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  EXPECT_FALSE(report.clean);
  EXPECT_GE(report.steps_left, 1u);
  *open = true;  // the threads come out and free what they shared
  for (int i = 0; i < 1000 && !shutdown(); ++i) std::this_thread::sleep_for(5ms);
}

TEST(Engine, A_clean_shutdown_reports_nothing_and_next_says_end) {
  bool told = false;
  {
    E engine(Job{}, {.threads = 2, .on_detach = [&](const ShutdownReport&) { told = true; }});
    EXPECT_TRUE(engine.next());
    EXPECT_TRUE(engine.shutdown().clean);
    EXPECT_FALSE(engine.next());
    engine.restart([](Job&) {});
    EXPECT_EQ(engine.try_next().status, NextStatus::end);
  }
  EXPECT_FALSE(told);
}

TEST(Engine, A_step_cancelled_while_a_thread_is_inside_keeps_its_slot_until_it_comes_out) {
  // window 1, hold 1, no spares: two slots. One is leased, the other is stuck in a cancelled step.
  const auto open = std::make_shared<std::atomic<bool>>(true);
  const auto inside = std::make_shared<std::atomic<bool>>(false);
  E engine(Job{.body =
                   [=](std::uint64_t, unsigned, unsigned, PartInfo) {
                     *inside = true;
                     while (!*open) std::this_thread::sleep_for(1ms);
                   }},
           {.threads = 1, .window = 1, .hold = 1, .help = false});
  auto lease = engine.next();
  *open = false;
  *inside = false;
  engine.restart([](Job&) {});
  while (!*inside) std::this_thread::sleep_for(1ms);
  engine.cancel();
  lease.release();
  engine.start();
  auto next = engine.next_for(20ms);  // the lease's slot is bound, but the only worker is stuck
  EXPECT_EQ(next.status, NextStatus::pending);
  *open = true;
  next = engine.next_for(20s);
  EXPECT_EQ(next.status, NextStatus::ready);
  EXPECT_EQ(next.lease->made[0], 1u);
}

TEST(Engine, A_lease_released_elsewhere_wakes_a_consumer_that_waits_for_a_slot) {
  // hold 2, window 1: three slots. One is leased, two are stuck in cancelled steps.
  const auto open = std::make_shared<std::atomic<bool>>(true);
  const auto inside = std::make_shared<std::atomic<int>>(0);
  E engine(Job{.body =
                   [=](std::uint64_t, unsigned, unsigned, PartInfo) {
                     ++*inside;
                     while (!*open) std::this_thread::sleep_for(1ms);
                     --*inside;
                   }},
           {.threads = 3, .window = 1, .hold = 2, .help = false});
  auto lease = engine.next();
  engine.cancel();
  *open = false;
  for (int stuck = 1; stuck <= 2; ++stuck) {
    engine.start();
    while (*inside != stuck) std::this_thread::sleep_for(1ms);
    engine.cancel();
  }
  engine.start();
  EXPECT_EQ(engine.next_for(1ms).status, NextStatus::pending) << "there is no slot";
  EXPECT_EQ(engine.stats().slots_high_water, 3u);
  std::jthread elsewhere([moved = std::move(lease)]() mutable {
    std::this_thread::sleep_for(20ms);
    moved.release();
  });
  std::jthread opener([&] {  // the slot is bound, and the job then let go
    while (*inside != 3) std::this_thread::sleep_for(1ms);
    *open = true;
  });
  EXPECT_TRUE(engine.next());
  EXPECT_EQ(engine.next().items(), 1u);
  EXPECT_EQ(engine.stats().rescues, 0u);
}

}  // namespace
}  // namespace headrace
