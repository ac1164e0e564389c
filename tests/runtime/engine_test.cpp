// The engine's contract, one sentence a test: steps, parts, leases, errors, restarts, polling.
#include "headrace/runtime/engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "runtime/function_job.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using Job = test::FunctionJob;
using test::steps;
using E = Engine<Job>;

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

}  // namespace
}  // namespace headrace
