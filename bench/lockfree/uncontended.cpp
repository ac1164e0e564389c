// One thread alone: what an operation costs when nobody is in the way.
#include <condition_variable>
#include <mutex>
#include <vector>

#include "headrace/lockfree/event_count.hpp"
#include "headrace/lockfree/reorder_ring.hpp"
#include "headrace/lockfree/slab_pool.hpp"
#include "lockfree/ours.hpp"
#include "lockfree/peers.hpp"
#include "lockfree/queue_bench.hpp"

namespace bench {
namespace {

void add_plain(const char* name, void (*run)(benchmark::State&)) {
  benchmark::RegisterBenchmark((std::string("uncontended/") + name).c_str(), run);
}

// The capacity is not a constant for the compiler, as in real use.
std::size_t hidden(std::size_t n) {
  benchmark::DoNotOptimize(n);
  return n;
}

// Published in reverse order within groups of four, so that it is a reorder ring and not a queue.
template <class T, std::size_t capacity>
void reorder_ring(benchmark::State& state) {
  headrace::ReorderRing<T> ring(hidden(capacity));
  std::uint64_t s = 0, sum = 0, expected = 0;
  for (auto _ : state) {
    for (std::uint64_t k = 4; k-- > 0;)
      if (!ring.publish(s + k, make_item<T>(((s + k) & 0xFFF) + 1))) fail("ReorderRing refused a sequence");
    for (unsigned k = 0; k < 4; ++k, ++s) {
      const auto value = ring.try_take();
      if (!value) fail("ReorderRing kept a sequence");
      sum += number_of(*value);
      expected += (s & 0xFFF) + 1;
    }
  }
  if (sum != expected) fail("ReorderRing: the sum of what arrived");
  state.SetItemsProcessed(static_cast<std::int64_t>(s));
}
void reorder_ring_packed(benchmark::State& state) {
  headrace::ReorderRing<std::uint16_t> ring(hidden(16));
  std::uint64_t s = 0, sum = 0, expected = 0;
  for (auto _ : state) {
    for (std::uint64_t k = 4; k-- > 0;)
      if (!ring.publish_first(s + k, static_cast<std::uint16_t>(s + k))) fail("ReorderRing refused a sequence");
    for (unsigned k = 0; k < 4; ++k, ++s) {
      sum += ring.try_take().value();
      expected += static_cast<std::uint16_t>(s);
    }
  }
  if (sum != expected) fail("ReorderRing: the sum of what arrived");
  state.SetItemsProcessed(static_cast<std::int64_t>(s));
}

// A push and a pop.
template <class Queue>
void queue_pair(benchmark::State& state) {
  Queue queue(hidden(16));
  auto&& in = producer_of(queue);
  auto&& out = consumer_of(queue);
  std::uint64_t n = 0;
  for (auto _ : state) {
    put(in, ++n);
    if (get<std::uint64_t>(out) != n) fail(std::string(Queue::name) + ": another item than was pushed");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(n));
}

// Acquire and release.
void slab_pool(benchmark::State& state) {
  headrace::SlabPool<> pool(64);
  std::uint64_t n = 0;
  for (auto _ : state) {
    const auto slab = pool.acquire();
    if (!slab) fail("SlabPool: no slab");
    pool.release(*slab);
    ++n;
  }
  if (pool.available() != 64) fail("SlabPool: a slab is missing");
  state.SetItemsProcessed(static_cast<std::int64_t>(n));
}
void mutex_free_list(benchmark::State& state) {
  std::mutex mutex;
  std::vector<unsigned> list(64);
  for (auto _ : state) {
    unsigned slab;
    {
      const std::lock_guard lock(mutex);
      slab = list.back();
      list.pop_back();
    }
    benchmark::DoNotOptimize(slab);
    const std::lock_guard lock(mutex);
    list.push_back(slab);
  }
  if (list.size() != 64) fail("the free list lost a slab");
  state.SetItemsProcessed(state.iterations());
}

// Nobody sleeps.
void event_count_notify(benchmark::State& state) {
  headrace::EventCount<> events;
  for (auto _ : state) events.notify_one();
  if (events.sleeps() != 0) fail("EventCount: a sleep");
  state.SetItemsProcessed(state.iterations());
}
void condition_variable_notify(benchmark::State& state) {
  std::mutex mutex;
  std::condition_variable condition;
  for (auto _ : state) {
    { const std::lock_guard lock(mutex); }
    condition.notify_one();
  }
  state.SetItemsProcessed(state.iterations());
}

template <class Queue>
void add_pair() {
  add_plain((std::string(Queue::name) + "/push_pop").c_str(), queue_pair<Queue>);
}

}  // namespace

void add_uncontended() {
  using U = std::uint64_t;
  add_plain("ReorderRing/u64/cap:16", reorder_ring<U, 16>);
  add_plain("ReorderRing/u64/cap:1024", reorder_ring<U, 1024>);
  add_plain("ReorderRing/handle/cap:16", reorder_ring<Handle, 16>);
  add_plain("ReorderRing/u16_in_the_stamp/cap:16", reorder_ring_packed);
  add_plain("SlabPool/acquire_release", slab_pool);
  add_plain("mutex_free_list/acquire_release", mutex_free_list);
  add_plain("EventCount/notify", event_count_notify);
  add_plain("mutex_condvar/notify", condition_variable_notify);
  add_pair<OurMpmc<U>>();
  add_pair<OurSpsc<U>>();
  add_pair<OurBlockingMpmc<U>>();
  add_pair<PeerMutex<U>>();
  add_pair<PeerScq<U>>();
  add_pair<PeerTurns<U>>();
  add_pair<PeerCachedRing<U>>();
  add_pair<PeerTbb<U>>();
#if HEADRACE_BENCH_XENIUM
  add_pair<PeerVyukovStrong<U>>();
#endif
#if HEADRACE_BENCH_BOOST
  add_pair<PeerBoost<U>>();
#endif
#if HEADRACE_BENCH_MOODYCAMEL
  add_pair<PeerMoodycamel<U>>();
#endif
}

}  // namespace bench
