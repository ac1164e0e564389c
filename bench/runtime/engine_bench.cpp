// What stealing inside an item gives. (What a ticket costs, and skewed items: dispatch_bench.cpp.) Every figure is the
// median of several runs with its range; every run checks that all items were made, once, and arrived in order.
//
//   bench_engine [--quick] [stealing] [giant]
// All parts without a name. --quick: a smoke run for ctest; its figures mean nothing. Needs a quiet machine: with other
// work on the processors the speed-ups show that work.
#include <oneapi/tbb.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/runtime/engine.hpp"
#include "headrace/runtime/processors.hpp"

namespace {

using headrace::Engine;
using headrace::EngineOptions;
using headrace::EngineStats;
using headrace::PartInfo;

bool quick = false;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Processor work that no compiler removes; one unit is some nanoseconds.
std::uint64_t spin(std::uint64_t units) noexcept {
  std::uint64_t x = units | 1;
  for (std::uint64_t i = 0; i < units; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    asm volatile("" : "+r"(x));
  }
  return x;
}

void fail(const char* what) {
  std::fprintf(stderr, "bench_engine: wrong result: %s\n", what);
  std::exit(1);
}

struct Sample {
  double median = 0, low = 0, high = 0;
};
Sample repeat(int runs, const std::function<double()>& run) {
  if (quick) runs = 1;
  std::vector<double> all;
  for (int i = 0; i < runs; ++i) all.push_back(run());
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all.front(), all.back()};
}

// Items of given costs, each in `parts` equal parts.
struct Costs {
  struct Slot {
    std::atomic<std::uint64_t> made{0};
  };
  std::shared_ptr<const std::vector<std::uint64_t>> cost;
  unsigned batch = 1, parts = 1;

  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    slot.made.store(0, std::memory_order_relaxed);
    return static_cast<unsigned>(
        std::min<std::uint64_t>(batch, cost->size() - std::min<std::uint64_t>(cost->size(), s * batch)));
  }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return parts; }
  void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
    const std::uint64_t item = s * batch + i;
    if ((*cost)[item] != 0) spin((*cost)[item] / parts);
    slot.made.fetch_add(item * parts + k + 1, std::memory_order_relaxed);
  }
};

double deliver(const Costs& job, EngineOptions options, EngineStats* stats = nullptr) {
  options.batch = job.batch;
  Engine<Costs> engine(job, options);
  const double begin = seconds();
  std::uint64_t s = 0;
  while (const auto lease = engine.next()) {
    std::uint64_t expected = 0;
    for (std::uint64_t i = s * job.batch; i < s * job.batch + lease.items(); ++i)
      for (unsigned k = 0; k < job.parts; ++k) expected += i * job.parts + k + 1;
    if (lease.step() != s || lease->made.load(std::memory_order_relaxed) != expected) fail("a step");
    ++s;
  }
  const double time = seconds() - begin;
  if (s != (job.cost->size() + job.batch - 1) / job.batch) fail("the number of steps");
  if (stats) *stats = engine.stats();
  return time;
}

Costs equal(std::size_t items, std::uint64_t cost, unsigned batch, unsigned parts) {
  return {std::make_shared<std::vector<std::uint64_t>>(items, cost), batch, parts};
}

void stealing() {
  const unsigned processors = headrace::default_threads();
  std::printf("stealing inside an item: 8 parts of processor work, window 1 (%u processors)\n", processors);
  const std::uint64_t cost = quick ? 40'000 : 4'000'000;
  const std::size_t items = quick ? 4 : 60;
  for (unsigned batch : {1u, 2u}) {
    const Costs job = equal(items, cost, batch, 8);
    double loop = 0;
    loop = repeat(5, [&] {
             const double begin = seconds();
             for (std::size_t i = 0; i < items * 8; ++i) spin(cost / 8);
             return seconds() - begin;
           }).median;
    const auto line = [&](const char* what, EngineOptions options, double base) {
      EngineStats stats;
      options.window = 1;
      const Sample s = repeat(5, [&] { return deliver(job, options, &stats); });
      std::printf("  batch %u  %-34s %7.1f ms (%.1f to %.1f)  %.2fx  %llu parts stolen\n", batch, what, s.median * 1e3,
                  s.low * 1e3, s.high * 1e3, base / s.median, static_cast<unsigned long long>(stats.parts_stolen));
      return s.median;
    };
    std::printf("  batch %u  %-34s %7.1f ms\n", batch, "plain loop", loop * 1e3);
    const double one = line("1 thread, no help", {.threads = 1, .help = false}, loop);
    line("2 threads, no help (against 1)", {.threads = 2, .help = false}, one);
    line("1 worker, consumer helps (against 1)", {.threads = 1, .help = true}, one);
    line("2 threads, no help, no stealing", {.threads = 2, .help = false, .steal = false}, one);
    const Sample nested = repeat(5, [&] {
      tbb::task_arena arena(2, 1);
      const double begin = seconds();
      arena.execute([&] {
        for (std::size_t s = 0; s < items; s += batch) {
          tbb::parallel_for(
              std::size_t{0}, std::size_t{batch},
              [&](std::size_t) {
                tbb::parallel_for(
                    0, 8, [&](int) { spin(cost / 8); }, tbb::simple_partitioner());
              },
              tbb::simple_partitioner());
        }
      });
      return seconds() - begin;
    });
    std::printf("  batch %u  %-34s %7.1f ms (%.1f to %.1f)  %.2fx\n", batch, "nested tbb::parallel_for, 2 threads",
                nested.median * 1e3, nested.low * 1e3, nested.high * 1e3, one / nested.median);
  }
}

void giant() {
  std::printf("one giant item (40x) among small ones, 16 parts each, batch 4, window 2\n");
  auto cost = std::make_shared<std::vector<std::uint64_t>>(quick ? 8 : 64, quick ? 8'000 : 200'000);
  for (std::size_t i = 5; i < cost->size(); i += 32) (*cost)[i] *= 40;
  for (const bool steal : {false, true}) {
    EngineStats one, two;
    const Costs job{cost, 4, 16};
    const double a = repeat(5, [&] {
                       return deliver(job, {.threads = 1, .window = 2, .help = false, .steal = steal}, &one);
                     }).median;
    const double b = repeat(5, [&] {
                       return deliver(job, {.threads = 2, .window = 2, .help = false, .steal = steal}, &two);
                     }).median;
    std::printf("  stealing %-3s: 1 thread %7.1f ms, 2 threads %7.1f ms, %.2fx, %llu parts stolen\n",
                steal ? "on" : "off", a * 1e3, b * 1e3, a / b, static_cast<unsigned long long>(two.parts_stolen));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto given = [&](const char* name) {
    return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
  };
  quick = given("--quick");
  const bool all = arguments.size() == (quick ? 1u : 0u);
  if (all || given("stealing")) stealing();
  if (all || given("giant")) giant();
  std::printf("all results checked\n");
}
