// A good neighbour: a host that uses oneTBB keeps its width and its limits, nothing is printed, no thread too many, and
// whatever the host does with its workers, steps are delivered and nothing hangs.
//
// The tests run in the order written: oneTBB's threads, once made, stay.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <oneapi/tbb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "headrace/runtime/engine.hpp"
#include "headrace/runtime/processors.hpp"

namespace headrace {
namespace {

using namespace std::chrono_literals;

unsigned process_threads() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Threads:", 0) == 0) return static_cast<unsigned>(std::stoul(line.substr(8)));
  }
  return 0;
}

// Before oneTBB made any. (A sanitizer starts a thread of its own with the first thread of the program.)
const unsigned own_threads = [] {
  std::thread([] {}).join();
  return process_threads();
}();

// What was written to file descriptor 2 while this lived.
class StderrCapture {
 public:
  StderrCapture() : before_(dup(2)) {
    EXPECT_EQ(pipe(pipe_), 0);
    fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
    dup2(pipe_[1], 2);
  }
  std::string stop() {
    if (before_ < 0) return {};
    dup2(before_, 2);
    close(before_);
    before_ = -1;
    close(pipe_[1]);
    std::string text(65536, '\0');
    const auto n = read(pipe_[0], text.data(), text.size());
    close(pipe_[0]);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  ~StderrCapture() { stop(); }

 private:
  int before_;
  int pipe_[2] = {};
};

struct Sums {
  struct Slot {
    std::atomic<std::uint64_t> sum{0};
  };
  std::uint64_t steps = 50;
  unsigned parts = 4;
  bool nested = false;

  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    slot.sum = 0;
    return s < steps ? 2 : 0;
  }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return parts; }
  void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
    if (nested) {
      tbb::this_task_arena::isolate(
          [&] { tbb::parallel_for(0, 64, [&](int j) { slot.sum += (s + i + k) * static_cast<unsigned>(j); }); });
    } else {
      slot.sum += (s + i + k) * (63 * 64 / 2);
    }
  }
  std::uint64_t expected(std::uint64_t s) const {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < 2; ++i)
      for (unsigned k = 0; k < parts; ++k) sum += (s + i + k) * (63 * 64 / 2);
    return sum;
  }
};
using E = Engine<Sums>;

// Delivers everything and checks it. The time it took.
std::chrono::duration<double> deliver(EngineOptions options, Sums job = {}) {
  const auto begin = std::chrono::steady_clock::now();
  options.batch = 2;
  E engine(job, options);
  std::uint64_t s = 0;
  while (const auto lease = engine.next()) {
    EXPECT_EQ(lease->sum, job.expected(s));
    ++s;
  }
  EXPECT_EQ(s, job.steps);
  return std::chrono::steady_clock::now() - begin;
}

template <class F>
bool ends_in_time(F&& f, std::chrono::seconds most = 60s) {
  auto done = std::async(std::launch::async, std::forward<F>(f));
  return done.wait_for(most) == std::future_status::ready;
}

TEST(Neighbour, A_No_thread_too_many_for_engines_one_after_another_and_at_once) {
  unsigned largest = 0;
  for (unsigned threads : {2u, 5u, 3u, 9u, 1u}) {
    largest = std::max(largest, threads);
    deliver({.threads = threads});
    EXPECT_LE(process_threads(), own_threads + largest) << "threads " << threads;
  }
  E a(Sums{}, {.threads = 6, .batch = 2}), b(Sums{}, {.threads = 9, .batch = 2}), c(Sums{}, {.threads = 8, .batch = 2});
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(a.next());
    EXPECT_TRUE(b.next());
    EXPECT_TRUE(c.next());
    EXPECT_LE(process_threads(), own_threads + largest);
  }
}

TEST(Neighbour, B_Shutdown_ends_the_threads_unless_an_engine_lives_and_they_come_back) {
  {
    E engine(Sums{}, {.threads = 2, .batch = 2});
    EXPECT_TRUE(engine.next());
    EXPECT_FALSE(shutdown()) << "an engine lives";
  }
  bool ended = false;
  for (int i = 0; i < 400 && !ended; ++i) {
    ended = shutdown();
    if (!ended) std::this_thread::sleep_for(5ms);
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(process_threads(), own_threads);
  deliver({.threads = 3});
  EXPECT_LE(process_threads(), own_threads + 3);
}

TEST(Neighbour, C_Nothing_is_printed_and_more_workers_than_processors_come) {
  StderrCapture capture;
  for (unsigned threads : {1u, 2u, 16u, 40u}) {
    E engine(Sums{}, {.threads = threads, .batch = 2});
    EXPECT_EQ(engine.threads(), threads);
    while (engine.next()) {
    }
  }
  {
    const tbb::global_control host(tbb::global_control::max_allowed_parallelism, 3);
    E engine(Sums{}, {.threads = 12, .batch = 2});
    EXPECT_EQ(engine.threads(), 2u) << "cut to what the host allows";
    EXPECT_EQ(engine.stats().threads, 2u);
    while (engine.next()) {
    }
  }
  EXPECT_EQ(capture.stop(), "");
}

TEST(Neighbour, D_A_host_limit_of_one_still_delivers) {
  const tbb::global_control host(tbb::global_control::max_allowed_parallelism, 1);
  for (const bool help : {true, false}) {
    EXPECT_TRUE(ends_in_time([&] {
      deliver({.threads = 4, .help = help});
      E engine(Sums{}, {.threads = 4, .batch = 2, .help = help});
      EXPECT_EQ(engine.threads(), 0u);
      EXPECT_EQ(engine.try_next().status, NextStatus::ready);
      EXPECT_EQ(engine.next_for(0ms).status, NextStatus::ready);
    }));
  }
}

TEST(Neighbour, E_A_host_limit_that_comes_later_still_delivers) {
  for (const bool help : {true, false}) {
    EXPECT_TRUE(ends_in_time([&] {
      E engine(Sums{}, {.threads = 4, .batch = 2, .help = help});
      const tbb::global_control host(tbb::global_control::max_allowed_parallelism, 1);
      std::uint64_t s = 0;
      while (engine.next()) ++s;
      EXPECT_EQ(s, 50u);
    }));
  }
}

TEST(Neighbour, F_The_hosts_own_loops_keep_their_width) {
  const int width = tbb::this_task_arena::max_concurrency();
  deliver({.threads = 16});
  E engine(Sums{}, {.threads = 16, .batch = 2});
  EXPECT_TRUE(engine.next());
  EXPECT_EQ(tbb::this_task_arena::max_concurrency(), width);
  EXPECT_EQ(tbb::info::default_concurrency(), width);
  std::atomic<int> now{0}, most{0};
  tbb::task_arena host(2);
  std::atomic<int> arrived{0};
  EXPECT_TRUE(ends_in_time([&] {  // two bodies that meet: the host really gets its second thread
    host.execute([&] {
      tbb::parallel_for(
          0, 2,
          [&](int) {
            ++arrived;
            most = std::max<int>(most, ++now);
            while (arrived < 2) std::this_thread::yield();
            --now;
          },
          tbb::simple_partitioner());
    });
  }));
  EXPECT_EQ(most, 2);
}

TEST(Neighbour, G_Nested_loops_inside_parts) {
  for (unsigned threads : {0u, 1u, 4u}) {
    EXPECT_TRUE(ends_in_time([&] { deliver({.threads = threads, .window = 4}, Sums{.nested = true}); }));
  }
}

// An engine used and destroyed inside a oneTBB task while no other worker can come.
TEST(Neighbour, H_Inside_a_hosts_task_on_its_only_worker) {
  for (const bool help : {true, false}) {
    for (const bool all : {true, false}) {
      EXPECT_TRUE(ends_in_time([&] {
        const tbb::global_control host(tbb::global_control::max_allowed_parallelism, 2);  // one worker in the process
        std::promise<void> done;
        tbb::task_arena arena(2, 1);
        arena.enqueue([&] {
          {
            E engine(Sums{}, {.threads = 1, .batch = 2, .help = help});
            EXPECT_TRUE(engine.next());
            while (all && engine.next()) {
            }
          }
          done.set_value();
        });
        done.get_future().wait();
      }));
    }
  }
}

TEST(Neighbour, I_Default_threads_is_at_least_one) { EXPECT_GE(default_threads(), 1u); }

// Two engines that each want all workers, consumers on two threads that do not help: both get on.
TEST(Neighbour, J_Two_engines_share_the_workers) {
  EXPECT_TRUE(ends_in_time([&] {
    std::jthread other([] { deliver({.threads = 2, .help = false}, Sums{.steps = 3000}); });
    deliver({.threads = 2, .help = false}, Sums{.steps = 3000});
  }));
}

}  // namespace
}  // namespace headrace
