// bench_dispatch: what the engine's tickets cost, and how near its schedule is to the best one, beside
// tbb::parallel_pipeline and tbb::flow. `bench/run` runs it cell by cell; flags as bench_queues.
//   dispatch/...  empty items in order, nanoseconds each; `slow`: every 4,096th item is 300 us of work, and 4,096 may
//   be
//                 in flight behind it
//   skewed/...    items with lognormal costs (sigma 1.2, median 200 us of processor work), in order
//   patches/...   the same where an item is 8 patches
// Counters of the last two: `of_greedy`, the greedy schedule's time (greedy.hpp; same window, same threads) over the
// measured time; `of_bound`, the makespan bound over it: half of all work, or the longest piece that cannot be divided.
// Every run checks that all items were made, once, and came in order.
#include <oneapi/tbb.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "headrace/runtime/engine.hpp"
#include "runtime/greedy.hpp"
#include "support/settings.hpp"

namespace bench {
namespace {

using headrace::Engine;
using headrace::EngineOptions;
using Costs = std::shared_ptr<const std::vector<std::uint64_t>>;

// A different number for every part, so that the sum tells whether each was made once.
std::uint64_t mark(std::uint64_t item, unsigned part) { return (item * 16 + part + 1) * 0x9E3779B97F4A7C15u; }

struct Job {
  struct Slot {
    std::atomic<std::uint64_t> made{0};
  };
  Costs cost;
  unsigned batch = 1, parts = 1;

  unsigned bind(std::uint64_t s, Slot& slot) noexcept {
    slot.made.store(0, std::memory_order_relaxed);
    const std::uint64_t n = cost->size();
    return static_cast<unsigned>(std::min<std::uint64_t>(batch, n - std::min(n, s * batch)));
  }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return parts; }
  void part(std::uint64_t s, unsigned i, unsigned k, Slot& slot, headrace::PartInfo) noexcept {
    const std::uint64_t item = s * batch + i;
    if (const std::uint64_t units = (*cost)[item]; units != 0) spin(units / parts);
    slot.made.fetch_add(mark(item, k), std::memory_order_relaxed);
  }
};

struct Timing {
  double seconds;
  double items;
};

Timing through_engine(const Job& job, EngineOptions options) {
  options.batch = job.batch;
  Engine<Job> engine(job, options);
  const std::int64_t begin = nanoseconds();
  std::uint64_t s = 0;
  while (const auto lease = engine.next()) {
    std::uint64_t expected = 0;
    for (std::uint64_t i = s * job.batch; i < s * job.batch + lease.items(); ++i)
      for (unsigned k = 0; k < job.parts; ++k) expected += mark(i, k);
    if (lease.step() != s || lease->made.load(std::memory_order_relaxed) != expected) fail("engine: a step");
    ++s;
  }
  const double time = double(nanoseconds() - begin) * 1e-9;
  if (s != (job.cost->size() + job.batch - 1) / job.batch) fail("engine: the number of steps");
  if (engine.stats().rescues != 0) fail("engine: a wakeup was lost");
  return {time, double(job.cost->size())};
}

// ---- Peers: each on two threads ------------------------------------------------------------------------------------

struct Piece {
  std::uint64_t first, made;
};

std::uint64_t make(const Job& job, std::uint64_t item, bool nested) {
  const std::uint64_t units = (*job.cost)[item];
  std::uint64_t sum = 0;
  for (unsigned k = 0; k < job.parts; ++k) sum += mark(item, k);
  if (units == 0) return sum;
  if (nested) {
    tbb::parallel_for(
        0u, job.parts, [&](unsigned) { spin(units / job.parts); }, tbb::simple_partitioner());
  } else {
    for (unsigned k = 0; k < job.parts; ++k) spin(units / job.parts);
  }
  return sum;
}

// The consumer's check; items come `each` at a time.
struct Consumer {
  const Job& job;
  std::uint64_t next = 0;
  void take(const Piece& piece, std::uint64_t each) {
    std::uint64_t expected = 0;
    const std::uint64_t end = std::min<std::uint64_t>(next + each, job.cost->size());
    if (piece.first != next) fail("peer: out of order");
    for (; next < end; ++next)
      for (unsigned k = 0; k < job.parts; ++k) expected += mark(next, k);
    if (piece.made != expected) fail("peer: an item");
  }
};

Timing through_pipeline(const Job& job, unsigned tokens, unsigned each, bool nested) {
  tbb::task_arena arena(2, 1);
  Consumer consumer{job};
  std::uint64_t next = 0;
  const std::int64_t begin = nanoseconds();
  arena.execute([&] {
    tbb::parallel_pipeline(
        tokens, tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                      [&](tbb::flow_control& control) -> std::uint64_t {
                                                        const std::uint64_t item = next;
                                                        if (item >= job.cost->size()) control.stop();
                                                        next += each;
                                                        return item;
                                                      }) &
                    tbb::make_filter<std::uint64_t, Piece>(tbb::filter_mode::parallel,
                                                           [&](std::uint64_t first) {
                                                             const std::uint64_t end = std::min<std::uint64_t>(
                                                                 first + each, job.cost->size());
                                                             Piece piece{first, 0};
                                                             for (std::uint64_t i = first; i < end; ++i)
                                                               piece.made += make(job, i, nested);
                                                             return piece;
                                                           }) &
                    tbb::make_filter<Piece, void>(tbb::filter_mode::serial_in_order,
                                                  [&](const Piece& piece) { consumer.take(piece, each); }));
  });
  const double time = double(nanoseconds() - begin) * 1e-9;
  if (consumer.next != job.cost->size()) fail("pipeline: the number of items");
  return {time, double(job.cost->size())};
}

Timing through_flow_graph(const Job& job, unsigned in_flight) {
  namespace flow = tbb::flow;
  tbb::task_arena arena(2, 1);
  Consumer consumer{job};
  double time = 0;
  arena.execute([&] {
    flow::graph graph;
    std::uint64_t next = 0;
    flow::input_node<std::uint64_t> source(graph, [&](tbb::flow_control& control) -> std::uint64_t {
      if (next == job.cost->size()) control.stop();
      return next++;
    });
    flow::limiter_node<std::uint64_t> limiter(graph, in_flight);
    flow::function_node<std::uint64_t, Piece> worker(graph, flow::unlimited, [&](std::uint64_t item) {
      return Piece{item, make(job, item, false)};
    });
    flow::sequencer_node<Piece> order(graph, [](const Piece& piece) { return static_cast<std::size_t>(piece.first); });
    flow::function_node<Piece, flow::continue_msg> sink(graph, flow::serial, [&](const Piece& piece) {
      consumer.take(piece, 1);
      return flow::continue_msg();
    });
    flow::make_edge(source, limiter);
    flow::make_edge(limiter, worker);
    flow::make_edge(worker, order);
    flow::make_edge(order, sink);
    flow::make_edge(sink, limiter.decrementer());
    const std::int64_t begin = nanoseconds();
    source.activate();
    graph.wait_for_all();
    time = double(nanoseconds() - begin) * 1e-9;
  });
  if (consumer.next != job.cost->size()) fail("flow graph: the number of items");
  return {time, double(job.cost->size())};
}

// ---- Cells ---------------------------------------------------------------------------------------------------------

void add(const std::string& name, std::function<Timing(benchmark::State&)> run) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [run = std::move(run)](benchmark::State& state) {
                                 double items = 0;
                                 for (auto _ : state) {
                                   const Timing timing = run(state);
                                   state.SetIterationTime(timing.seconds);
                                   items += timing.items;
                                 }
                                 state.SetItemsProcessed(static_cast<std::int64_t>(items));
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

std::string batch_window(unsigned batch, unsigned window) {
  return "batch:" + std::to_string(batch) + "/window:" + std::to_string(window);
}

struct Threads {
  const char* name;
  unsigned workers;
  bool help;
  bool ahead = false;
};
constexpr Threads helps_ahead{"engine_1_worker_and_consumer_ahead", 1, true, true};
constexpr Threads settings_of_threads[] = {{"engine_2_workers", 2, false},
                                           {"engine_1_worker_and_consumer", 1, true},
                                           {"engine_2_workers_and_consumer", 2, true}};

// `in_flight` items; a slow one every 4,096 or none.
void add_dispatch(const char* kind, unsigned in_flight, double slow_us) {
  const auto costs = [=] {
    auto cost = std::make_shared<std::vector<std::uint64_t>>(settings.quick ? 5'000 : 8 * 4'096, 0);
    for (std::size_t i = 0; slow_us > 0 && i < cost->size(); i += 4'096) (*cost)[i] = work_units(slow_us);
    return cost;
  };
  std::vector<Threads> all(std::begin(settings_of_threads), std::end(settings_of_threads));
  all.push_back({"engine_plain_loop", 0, false});
  for (const Threads& t : all) {
    for (const unsigned batch : {1u, 8u, 32u}) {
      const unsigned window = std::max(3u, in_flight / batch);
      add(std::string("dispatch/") + t.name + "/" + batch_window(batch, window) + "/" + kind, [=](benchmark::State&) {
        return through_engine({costs(), batch}, {.threads = t.workers, .window = window, .help = t.help});
      });
    }
  }
  const std::string tokens = "in_flight:" + std::to_string(in_flight) + "/" + kind;
  add("dispatch/tbb_pipeline/" + tokens,
      [=](benchmark::State&) { return through_pipeline({costs()}, in_flight, 1, false); });
  add("dispatch/tbb_pipeline_8_per_token/" + tokens,
      [=](benchmark::State&) { return through_pipeline({costs()}, in_flight / 8, 8, false); });
  add("dispatch/tbb_flow_graph/" + tokens, [=](benchmark::State&) { return through_flow_graph({costs()}, in_flight); });
}

Costs skewed_costs() {
  std::mt19937_64 generator(1);
  std::lognormal_distribution<double> distribution(0, 1.2);
  auto cost = std::make_shared<std::vector<std::uint64_t>>(settings.quick ? 64 : 640);
  for (auto& c : *cost) c = work_units(distribution(generator) * (settings.quick ? 5 : 200));
  return cost;
}

// Nanoseconds of a unit of work while both processors work, as processor time, so that a neighbour does not lengthen
// it.
double unit_ns() {
  const std::uint64_t units = settings.quick ? 10'000 : 5'000'000;
  double ns[2];
  const auto measure = [&](double& result) {
    timespec a{}, b{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    spin(units);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    result = (double(b.tv_sec - a.tv_sec) * 1e9 + double(b.tv_nsec - a.tv_nsec)) / double(units);
  };
  std::thread other(measure, std::ref(ns[1]));
  measure(ns[0]);
  other.join();
  return (ns[0] + ns[1]) / 2;
}

// The shares of one timing; averaged over the iterations.
void count_shares(benchmark::State& state, const Timing& timing, double unit, double greedy_units, const Job& job) {
  double total = 0, longest = 0;
  for (const std::uint64_t c : *job.cost) total += double(c), longest = std::max(longest, double(c));
  const double bound = std::max(total / 2, longest / job.parts);
  const auto average = [](double share) { return benchmark::Counter(share, benchmark::Counter::kAvgIterations); };
  state.counters["of_greedy"].value += greedy_units * unit * 1e-9 / timing.seconds;
  state.counters["of_greedy"].flags = average(0).flags;
  state.counters["of_bound"].value += bound * unit * 1e-9 / timing.seconds;
  state.counters["of_bound"].flags = average(0).flags;
}

void add_engine_schedule(const char* group, const Threads& t, unsigned batch, unsigned window, unsigned parts) {
  add(std::string(group) + "/" + t.name + "/" + batch_window(batch, window), [=](benchmark::State& state) {
    const Job job{skewed_costs(), batch, parts};
    const double greedy = greedy_time(*job.cost, {.workers = t.workers,
                                                  .help = t.help,
                                                  .ahead = t.ahead,
                                                  .processors = 2,
                                                  .batch = batch,
                                                  .window = window,
                                                  .parts = parts});
    const double unit = unit_ns();
    const Timing timing =
        through_engine(job, {.threads = t.workers, .window = window, .help = t.help, .help_ahead = t.ahead});
    count_shares(state, timing, unit, greedy, job);
    return timing;
  });
}

// Peers have no batches: an item is delivered, and makes room, by itself. (Their greedy schedule has that rule, too.)
void add_peer_schedules(const char* group, unsigned in_flight, unsigned parts) {
  const auto add_peer = [=](const char* name, std::function<Timing(const Job&)> run, unsigned divided) {
    add(std::string(group) + "/" + name + "/in_flight:" + std::to_string(in_flight), [=](benchmark::State& state) {
      const Job job{skewed_costs(), 1, parts};
      const double greedy = greedy_time(*job.cost, {.workers = 2, .window = in_flight, .parts = divided});
      const double unit = unit_ns();
      const Timing timing = run(job);
      count_shares(state, timing, unit, greedy, job);
      return timing;
    });
  };
  add_peer(
      "tbb_pipeline", [=](const Job& job) { return through_pipeline(job, in_flight, 1, false); }, 1);
  if (parts > 1)
    add_peer(
        "tbb_pipeline_nested_for", [=](const Job& job) { return through_pipeline(job, in_flight, 1, true); }, parts);
  add_peer(
      "tbb_flow_graph", [=](const Job& job) { return through_flow_graph(job, in_flight); }, 1);
}

void add_all() {
  if (!greedy_time_is_right()) fail("the greedy schedule");
  add_dispatch("empty", 64, 0);
  add_dispatch("slow", 4'096, 300);
  std::vector<Threads> all(std::begin(settings_of_threads), std::end(settings_of_threads));
  all.push_back(helps_ahead);
  for (const Threads& t : all) {
    for (const unsigned batch : {1u, 8u, 32u})
      for (const unsigned window : {1u, 3u, 8u}) add_engine_schedule("skewed", t, batch, window, 1);
    for (const unsigned in_flight : {4u, 8u, 16u}) {
      add_engine_schedule("patches", t, 1, in_flight, 8);
      add_engine_schedule("patches", t, 4, in_flight / 4, 8);
    }
  }
  for (const unsigned in_flight : {1u, 3u, 8u, 24u, 32u, 64u, 96u, 256u}) add_peer_schedules("skewed", in_flight, 1);
  for (const unsigned in_flight : {4u, 8u, 16u}) add_peer_schedules("patches", in_flight, 8);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::start(argc, argv, bench::add_all); }
