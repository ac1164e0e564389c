// Completion order: every step once, made as in order, none overtaken by more than `span` others - and by so many where
// it is slow.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "headrace/runtime/engine.hpp"
#include "support/deadline.hpp"
#include "support/delivery_order.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;
using test::Deadline;
using test::DeliveryOrder;

// Values by step, item and part; some parts are held up; groups of steps that keep among themselves.
struct Job {
  struct Slot {
    std::uint64_t step = 0;
    std::atomic<std::uint64_t> sum{0};
  };
  std::uint64_t steps = 0;
  unsigned batch = 1, parts = 1;
  std::uint64_t group = 0;  // steps in a group; 0: all
  unsigned slow_one_in = 0;
  const std::atomic<bool>* gate = nullptr;  // the first part of step `held_step` waits until it is set
  std::uint64_t held_step = 0;

  unsigned items(std::uint64_t s) const { return 1 + static_cast<unsigned>(s * 7 % batch); }
  static std::uint64_t value(std::uint64_t s, unsigned i, unsigned k) { return (s * 64 + i) * 64 + k + 1; }
  std::uint64_t expected(std::uint64_t s) const {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < items(s); ++i)
      for (unsigned k = 0; k < parts; ++k) sum += value(s, i, k);
    return sum;
  }
  std::uint64_t group_end(std::uint64_t s) const noexcept {
    return group == 0 ? ~std::uint64_t{0} : (s / group + 1) * group;
  }
  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    if (s >= steps) return 0;
    slot.step = s;
    slot.sum = 0;
    return items(s);
  }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return parts; }
  void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
    if (gate != nullptr && s == held_step && i == 0 && k == 0) gate->wait(false);
    if (slow_one_in != 0 && (value(s, i, k) * 0x9E3779B97F4A7C15u >> 32) % slow_one_in == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    slot.sum += value(s, i, k);
  }
};
using E = Engine<Job>;

// Lets the step that hangs go on when a test ends early.
struct OpenAtEnd {
  std::atomic<bool>& gate;
  ~OpenAtEnd() {
    gate = true;
    gate.notify_all();
  }
};

TEST(CompletionOrder, Every_step_once_and_none_overtaken_by_more_than_span) {
  const Deadline deadline;
  std::uint64_t overtaken_somewhere = 0;
  for (const unsigned span : {0u, 1u, 2u, 5u, 256u})
    for (const unsigned window : {1u, 2u, 3u, 8u})
      for (const unsigned threads : {0u, 1u, 2u, 4u})
        for (const bool help : {false, true}) {
          const Job job{.steps = 60, .batch = 3, .parts = 1 + window % 3, .group = 0, .slow_one_in = 20};
          E engine(job, {.threads = threads, .window = window, .batch = 3, .span = span, .help = help});
          DeliveryOrder order(span);
          std::mt19937 g(span * 97 + window);
          while (const auto lease = engine.next()) {
            ASSERT_EQ(order.deliver(lease.step()), "")
                << "span " << span << " window " << window << " threads " << threads;
            ASSERT_EQ(lease->step, lease.step());
            ASSERT_EQ(lease->sum, job.expected(lease.step())) << "step " << lease.step();
            if (g() % 16 == 0) std::this_thread::sleep_for(100us);
          }
          ASSERT_TRUE(order.complete(60));
          const EngineStats stats = engine.stats();
          ASSERT_LE(stats.window_high_water, window);
          ASSERT_LE(stats.slots_high_water, window + 2);
          ASSERT_EQ(stats.rescues, 0u);
          if (span == 0 || threads == 0 || window == 1) {
            ASSERT_EQ(order.most_overtaken(), 0u);
          }
          ASSERT_EQ(stats.steps_ahead == 0, order.most_overtaken() == 0);
          overtaken_somewhere = std::max(overtaken_somewhere, order.most_overtaken());
        }
  EXPECT_GT(overtaken_somewhere, 0u) << "no step was overtaken: nothing was tested";
}

TEST(CompletionOrder, A_step_that_hangs_is_overtaken_by_span_others_and_then_waited_for) {
  const Deadline deadline;
  for (const unsigned span : {1u, 2u, 7u, 256u})
    for (const unsigned window : {2u, 5u}) {
      std::atomic<bool> gate{false};
      // Long enough that the ring goes round several times afterwards.
      const std::uint64_t steps = 3 * (std::uint64_t{window} + span) + 10;
      E engine(Job{.steps = steps, .slow_one_in = 4, .gate = &gate, .held_step = 3},
               {.threads = 2, .window = window, .span = span, .help = false});
      const OpenAtEnd open{gate};
      DeliveryOrder order(span);
      const auto begin = std::chrono::steady_clock::now();
      for (std::uint64_t n = 0; n < 3 + std::uint64_t{span}; ++n) {
        const auto lease = engine.next();
        ASSERT_TRUE(lease);
        EXPECT_EQ(order.deliver(lease.step()), "");
        EXPECT_NE(lease.step(), 3u);
        // Sleeps that only their bound ends (100 ms each) would take far longer.
        ASSERT_LT(std::chrono::steady_clock::now() - begin, 10s) << "steps that may overtake do not wake the consumer";
      }
      EXPECT_EQ(order.oldest(), 3u);
      // All that may overtake it have. The window goes on being filled, but nobody passes.
      EXPECT_EQ(engine.next_for(20ms).status, NextStatus::pending) << "span " << span << " window " << window;
      EXPECT_EQ(engine.try_next().status, NextStatus::pending);
      gate = true;
      gate.notify_all();
      while (const auto lease = engine.next()) EXPECT_EQ(order.deliver(lease.step()), "");
      EXPECT_TRUE(order.complete(steps));
      EXPECT_EQ(order.most_overtaken(), span);
      EXPECT_LE(engine.stats().window_high_water, window);
    }
}

TEST(CompletionOrder, No_step_passes_the_end_of_its_group) {
  const Deadline deadline;
  for (const std::uint64_t group : {1u, 2u, 5u, 9u}) {
    std::atomic<bool> gate{false};
    const std::uint64_t held = 2 * group;  // the first of its group
    E engine(Job{.steps = 5 * group, .group = group, .gate = &gate, .held_step = held},
             {.threads = 2, .window = 4, .span = 100, .help = false});
    const OpenAtEnd open{gate};
    DeliveryOrder order(100);
    for (std::uint64_t n = 0; n + 1 < 3 * group; ++n) {
      const auto lease = engine.next();
      ASSERT_LT(lease.step(), held + group) << "group " << group;
      EXPECT_EQ(order.deliver(lease.step()), "");
    }
    EXPECT_EQ(engine.next_for(20ms).status, NextStatus::pending) << "group " << group;
    gate = true;
    gate.notify_all();
    while (const auto lease = engine.next()) EXPECT_EQ(order.deliver(lease.step()), "");
    EXPECT_TRUE(order.complete(5 * group));
    EXPECT_LT(order.most_overtaken(), group);
  }
}

TEST(CompletionOrder, The_waiting_consumer_works_on_the_oldest_step) {
  const Deadline deadline;
  // The only worker hangs in step 1; the consumer, which helps, makes 0 and must then wait for 1, not make 2.
  std::atomic<bool> gate{false};
  std::atomic<unsigned> inside{0};
  struct Two : Job {
    std::atomic<unsigned>* in = nullptr;
    void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo info) noexcept {
      if (s == 1 && !info.helped) in->fetch_add(1);
      if (s >= 2 && info.helped) in->fetch_add(1000);
      Job::part(s, i, k, slot, info);
    }
  };
  Two job;
  job.steps = 6;
  job.gate = &gate;
  job.held_step = 1;
  job.in = &inside;
  Engine<Two> engine(std::move(job), {.threads = 1, .window = 3, .span = 3});
  engine.start();
  std::jthread opener([&] {
    while (inside == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    gate = true;
    gate.notify_all();
  });
  while (inside == 0) std::this_thread::sleep_for(1ms);  // the worker has made 0 and hangs in 1
  DeliveryOrder order(3);
  EXPECT_EQ(engine.next().step(), 0u);
  EXPECT_EQ(engine.next().step(), 1u);
  EXPECT_LT(inside, 1000u) << "the consumer worked on a later step while it waited for the oldest";
}

TEST(CompletionOrder, A_sleeping_consumer_is_woken_for_the_steps_it_can_take_and_for_no_other) {
  const Deadline deadline;
  for (const unsigned span : {0u, 3u}) {
    std::atomic<bool> gate{false};
    std::atomic<std::uint64_t> made{0};
    struct Counting : Job {
      std::atomic<std::uint64_t>* made = nullptr;
      void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo info) noexcept {
        if (s > 3) std::this_thread::sleep_for(100us);  // one at a time: each would be a waking of its own
        Job::part(s, i, k, slot, info);
        made->fetch_add(1);
      }
    };
    Counting job;
    job.steps = 100;
    job.gate = &gate;
    job.made = &made;
    Engine<Counting> engine(std::move(job), {.threads = 2, .window = 100, .span = span, .help = false});
    const OpenAtEnd open{gate};
    for (unsigned n = 0; n < span; ++n) ASSERT_EQ(engine.next().step(), n + 1);  // all that may pass step 0
    std::jthread opener([&] {
      while (made != 99) std::this_thread::sleep_for(1ms);
      gate = true;
      gate.notify_all();
    });
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t before = engine.stats().sleeps;
    ASSERT_EQ(engine.next().step(), 0u);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_LE(engine.stats().sleeps - before, 3u + static_cast<std::uint64_t>(took / 100ms))
        << "woken by steps it does not wait for";
    EXPECT_EQ(engine.stats().rescues, 0u);
  }
}

TEST(CompletionOrder, Cancel_and_restart_with_steps_taken_ahead) {
  const Deadline deadline;
  std::mt19937 g(5);
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> gate{false};
    const auto span = static_cast<unsigned>(1 + g() % 6);
    E engine(Job{.steps = 1000, .batch = 2, .parts = 3, .gate = &gate, .held_step = 1},
             {.threads = 2, .window = 3, .spares = 1, .batch = 2, .span = span, .help = false});
    const OpenAtEnd open{gate};
    DeliveryOrder order(span);
    const auto ahead = static_cast<unsigned>(1 + g() % span);
    for (unsigned n = 0; n < 1 + ahead; ++n) {
      const auto lease = engine.next();
      ASSERT_EQ(order.deliver(lease.step()), "");
    }
    ASSERT_EQ(order.oldest(), 1u) << "step 1 hangs, the others passed it";
    engine.cancel();
    if (g() % 2) engine.start();
    gate = true;
    gate.notify_all();
    auto first = engine.next();
    ASSERT_TRUE(first);
    const std::uint64_t begin = first.step();  // or up to `span` before it
    ASSERT_GT(begin, ahead + 1);
    std::vector<std::uint64_t> came{begin};
    first.release();
    while (const auto lease = engine.next()) {
      ASSERT_EQ(lease->sum, engine.job().expected(lease.step()));
      came.push_back(lease.step());
    }
    DeliveryOrder rest(span, *std::min_element(came.begin(), came.end()));
    for (const std::uint64_t s : came) ASSERT_EQ(rest.deliver(s), "");
    ASSERT_TRUE(rest.complete(1000));
  }
}

TEST(CompletionOrder, Options_are_checked) {
  EXPECT_NO_THROW(E(Job{}, {.threads = 1, .span = 256}));
  try {
    E(Job{}, {.threads = 1, .span = 257});
    FAIL() << "no error";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("span must be at most 256"), std::string::npos) << e.what();
  }
  EXPECT_THROW(E(Job{}, {.threads = 1, .window = 1024, .batch = 1u << 16, .span = 1}), std::invalid_argument);
}

}  // namespace
}  // namespace headrace
