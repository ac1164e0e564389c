// Cancel and the end: what is skipped, who is waited for, which slots come back when.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "headrace/runtime/engine.hpp"
#include "runtime/function_job.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using Job = test::FunctionJob;
using test::steps;
using E = Engine<Job>;

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
