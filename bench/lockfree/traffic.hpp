// Items through a queue: producers make numbered items (and work for each), consumers take them and check. Every number
// must arrive once (sums) and each consumer must see every producer's items in that producer's order (unless the queue is
// known not to keep it).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headrace/lockfree/backoff.hpp"
#include "lockfree/team.hpp"
#include "support/settings.hpp"

namespace bench {

enum class Placement { pinned, one_cpu };

struct Shape {
  unsigned producers, consumers;
  std::size_t capacity;
  Placement placement;
  double work_us;  // what a producer does for each item

  std::string name() const {
    return std::to_string(producers) + "P" + std::to_string(consumers) + "C/cap:" + std::to_string(capacity) +
           "/work:" + std::to_string(static_cast<int>(work_us)) + "us/" +
           (placement == Placement::pinned ? "pinned" : "one_cpu");
  }
  // Consumers are shifted by one, so that the first producer and the first consumer are on different processors.
  std::vector<unsigned> places(bool with_consumers) const {
    std::vector<unsigned> p;
    for (unsigned i = 0; i < producers; ++i) p.push_back(placement == Placement::pinned ? i : 0);
    for (unsigned i = 0; with_consumers && i < consumers; ++i) p.push_back(placement == Placement::pinned ? i + 1 : 0);
    return p;
  }
  std::size_t items_per_producer() const {
    const std::size_t all = settings.quick ? 400 : work_us >= 20 ? 4'000 : work_us > 0 ? 10'000 : 20'000;
    return all / producers;
  }
};

// An item carries producer and count in one number that is never 0.
inline constexpr unsigned count_bits = 20;
inline constexpr std::uint64_t numbered(unsigned producer, std::uint64_t count) {
  return std::uint64_t{producer} << count_bits | (count + 1);
}
inline constexpr std::size_t numbers_of(unsigned producers) { return std::size_t{producers + 1} << count_bits; }

// Move-only, as big as a pointer, with nothing to free: what is measured is the queue and not the allocator.
struct KeepIt {
  void operator()(const char*) const noexcept {}
};
using Handle = std::unique_ptr<const char, KeepIt>;
// The object behind handle n is byte n of this; it is never touched.
inline const char* handle_base() {
  static const std::unique_ptr<char[]> bytes(new char[numbers_of(8)]);
  return bytes.get();
}

template <class T>
T make_item(std::uint64_t number) {
  if constexpr (std::is_same_v<T, Handle>)
    return Handle(handle_base() + number);
  else
    return number;
}
inline std::uint64_t number_of(std::uint64_t item) { return item; }
inline std::uint64_t number_of(const Handle& item) { return static_cast<std::uint64_t>(item.get() - handle_base()); }

// Waiting the same way for every queue that only tries: a few pauses, then give the processor away.
class Retry {
 public:
  void operator()() noexcept {
    if (++tries_ <= 64)
      headrace::detail::pause_processor();
    else
      sched_yield();
  }

 private:
  unsigned tries_ = 0;
};

// One thread's way into the queue; queues with per-thread tokens give their own.
template <class Queue>
decltype(auto) producer_of(Queue& queue) {
  if constexpr (requires { queue.producer(); })
    return queue.producer();
  else
    return (queue);
}
template <class Queue>
decltype(auto) consumer_of(Queue& queue) {
  if constexpr (requires { queue.consumer(); })
    return queue.consumer();
  else
    return (queue);
}

template <class End, class T>
void put(End& end, T&& item) {
  if constexpr (requires { end.push(std::move(item)); }) {
    end.push(std::move(item));
  } else {
    for (Retry again; !end.try_push(std::move(item));) again();
  }
}
template <class T, class End>
T get(End& end) {
  T item{};
  if constexpr (requires { end.pop(item); }) {
    end.pop(item);
  } else {
    for (Retry again; !end.try_pop(item);) again();
  }
  return item;
}

struct alignas(64) Received {
  std::uint64_t sum = 0;
  std::uint64_t overtaken = 0;  // items that came after a later one of the same producer
};

// A queue that says in_order = false does not keep a producer's order; then it is only counted.
template <class Queue>
constexpr bool keeps_order() {
  if constexpr (requires { Queue::in_order; }) return Queue::in_order;
  return true;
}

template <class Queue>
void consume(Queue& queue, std::size_t n, Received& received) {
  using T = typename Queue::value_type;
  std::array<std::uint64_t, 8> last{};
  std::uint64_t sum = 0, overtaken = 0;
  auto&& end = consumer_of(queue);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t number = number_of(get<T>(end));
    std::uint64_t& before = last[number >> count_bits & 7];
    if (number <= before) {
      if constexpr (keeps_order<Queue>()) fail(std::string(Queue::name) + ": a producer's items overtook each other");
      ++overtaken;
    }
    before = std::max(before, number);
    sum += number;
  }
  received.sum = sum;
  received.overtaken += overtaken;
}

template <class T, class End>
void produce(End& end, unsigned producer, std::size_t n, std::uint64_t units) {
  for (std::size_t i = 0; i < n; ++i) {
    if (units != 0) spin(units);
    put(end, make_item<T>(numbered(producer, i)));
  }
}

inline void report(benchmark::State& state, double items, const Usage& begin, const Usage& end) {
  state.SetItemsProcessed(static_cast<std::int64_t>(items));
  state.counters["cpu_ns"] = (end.cpu_ns - begin.cpu_ns) / items;  // per item, all threads
  state.counters["switches"] = (end.switches - begin.switches) / items;
}

// The first producer takes what does not divide evenly; so does the first consumer.
template <class Queue>
void run_traffic(benchmark::State& state, Shape shape) {
  using T = typename Queue::value_type;
  const std::size_t each = shape.items_per_producer();
  const std::size_t all = each * shape.producers;
  const std::uint64_t units = work_units(shape.work_us);
  static_cast<void>(handle_base());
  state.counters["line_ns"] = line_round_trip();
  Queue queue(shape.capacity);
  std::vector<Received> received(shape.consumers);
  Team team(shape.places(true), [&](unsigned i) {
    if (i < shape.producers) {
      auto&& end = producer_of(queue);
      produce<T>(end, i, each, units);
    } else {
      const unsigned c = i - shape.producers;
      consume(queue, all / shape.consumers + (c == 0 ? all % shape.consumers : 0), received[c]);
    }
  });
  std::uint64_t expected = 0;
  for (unsigned p = 0; p < shape.producers; ++p)
    for (std::size_t i = 0; i < each; ++i) expected += numbered(p, i);
  double items = 0;
  const Usage begin = Usage::now();
  for (auto _ : state) {
    state.SetIterationTime(team.run());
    items += double(all);
    std::uint64_t sum = 0;
    for (const Received& r : received) sum += r.sum;
    if (sum != expected) fail(std::string(Queue::name) + ": the sum of what arrived");
  }
  report(state, items, begin, Usage::now());
  if constexpr (!keeps_order<Queue>()) {
    double overtaken = 0;
    for (const Received& r : received) overtaken += double(r.overtaken);
    state.counters["overtaken"] = overtaken;
  }
}

// The same producers' work with no queue and no consumers: the ideal.
inline void run_ideal(benchmark::State& state, Shape shape) {
  const std::size_t each = shape.items_per_producer();
  const std::uint64_t units = work_units(shape.work_us);
  state.counters["line_ns"] = line_round_trip();
  Team team(shape.places(false), [&](unsigned) {
    for (std::size_t i = 0; i < each; ++i) spin(units);
  });
  double items = 0;
  const Usage begin = Usage::now();
  for (auto _ : state) {
    state.SetIterationTime(team.run());
    items += double(each * shape.producers);
  }
  report(state, items, begin, Usage::now());
}

// ---- The cells -----------------------------------------------------------------------------------------------------

inline constexpr std::array<std::size_t, 3> capacities{1024, 16, 2};
inline constexpr std::array<double, 3> works{0, 2, 20};

template <class F>
void for_each_shape(unsigned most_threads, F&& f) {
  for (const double work : works)
    for (const std::size_t capacity : capacities)
      for (const unsigned n : {1u, 2u, 4u}) {
        if (n > most_threads) continue;
        f(Shape{n, n, capacity, Placement::pinned, work});
        if (n <= 2) f(Shape{n, n, capacity, Placement::one_cpu, work});
      }
}

inline benchmark::internal::Benchmark* add(const std::string& name, std::function<void(benchmark::State&)> run) {
  return benchmark::RegisterBenchmark(name.c_str(), [run = std::move(run)](benchmark::State& s) { run(s); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

// Name: group/queue/payload/shape.
template <class Queue>
void add_queue(const char* group, unsigned most_threads) {
  for_each_shape(most_threads, [&](Shape shape) {
    if constexpr (requires { Queue::accepts(shape); })
      if (!Queue::accepts(shape)) return;
    const char* payload = std::is_same_v<typename Queue::value_type, Handle> ? "handle" : "u64";
    add(std::string(group) + "/" + Queue::name + "/" + payload + "/" + shape.name(),
        [shape](benchmark::State& s) { run_traffic<Queue>(s, shape); });
  });
}

}  // namespace bench
