// Who shares the work of an item, and who is woken for it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
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

// Runs `f` in another thread and fails if it does not end.
template <class F>
bool ends_in_time(F&& f, std::chrono::seconds most = 60s) {
  auto done = std::async(std::launch::async, std::forward<F>(f));
  return done.wait_for(most) == std::future_status::ready;
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

// One item per step, without parts: the worker always has the step that the consumer waits for. So a consumer that helps
// with that step only never gets anything; one that helps ahead takes every other item.
TEST(Engine, A_consumer_that_helps_ahead_takes_later_work_when_its_own_step_is_in_other_hands) {
  const auto helped = [](bool ahead) {
    const Job job{.items = steps(200),
                  .parts = [](std::uint64_t, unsigned) { return 1u; },
                  .body = [](std::uint64_t, unsigned, unsigned, PartInfo) { std::this_thread::sleep_for(300us); }};
    E engine(job, {.threads = 1, .window = 4, .help_ahead = ahead});
    engine.start();
    std::uint64_t next = 0;
    while (const auto lease = engine.next()) EXPECT_EQ(lease.step(), next++);
    EXPECT_EQ(next, 200u);
    return engine.stats().helped;
  };
  EXPECT_GT(helped(true), 60u);
  EXPECT_LT(helped(false), 40u);
}

// Parts that sleep overlap whatever else the machine does: what stealing inside the only item in flight gives.
TEST(Engine, Eight_parts_of_one_item_take_half_the_time_on_two_threads) {
  const auto time = [](EngineOptions options) {
    options.window = 1;
    E engine(Job{.items = steps(4),
                 .parts = [](std::uint64_t, unsigned) { return 8u; },
                 .body = [](std::uint64_t, unsigned, unsigned, PartInfo) { std::this_thread::sleep_for(10ms); }},
             options);
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

}  // namespace
}  // namespace headrace
