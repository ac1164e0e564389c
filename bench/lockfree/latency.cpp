// How long an item takes from hand to hand: the producer stamps each item with the time, pushes it and pauses; the
// consumer looks at the clock when it has it. `busy`: an item every few microseconds, the consumer polls (queues that
// try) or waits its own way (queues that block). `asleep`: pauses so long that a blocking consumer sleeps. One producer
// and one consumer, on different processors where there are two.
#include <algorithm>
#include <vector>

#include "lockfree/ours.hpp"
#include "lockfree/peers.hpp"
#include "lockfree/queue_bench.hpp"

namespace bench {
namespace {

struct Rhythm {
  const char* name;
  std::int64_t pause_ns;
  std::size_t items;
};
constexpr Rhythm busy{"busy", 3'000, 20'000}, asleep{"asleep", 200'000, 1'500};

template <class Queue>
void run_latency(benchmark::State& state, Rhythm rhythm) {
  const std::size_t n = settings.quick ? 100 : rhythm.items;
  state.counters["line_ns"] = line_round_trip();
  Queue queue(16);
  std::vector<double> times;
  std::vector<double> burst(n);
  Team team({0, 1}, [&](unsigned i) {
    if (i == 0) {
      auto&& end = producer_of(queue);
      for (std::size_t k = 0; k < n; ++k) {
        const std::int64_t from = nanoseconds() + rhythm.pause_ns;
        while (nanoseconds() < from) headrace::detail::pause_processor();
        put(end, static_cast<std::uint64_t>(nanoseconds()));
      }
    } else {
      auto&& end = consumer_of(queue);
      std::uint64_t before = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const std::uint64_t stamp = get<std::uint64_t>(end);
        burst[k] = static_cast<double>(nanoseconds() - static_cast<std::int64_t>(stamp));
        if (stamp <= before || burst[k] < 0) fail(std::string(Queue::name) + ": items overtook each other");
        before = stamp;
      }
    }
  });
  for (auto _ : state) {
    state.SetIterationTime(team.run());
    times.insert(times.end(), burst.begin(), burst.end());
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double q) { return times[static_cast<std::size_t>(q * double(times.size() - 1))]; };
  state.counters["p50_ns"] = quantile(0.5);
  state.counters["p99_ns"] = quantile(0.99);
  state.counters["p999_ns"] = quantile(0.999);
  state.SetItemsProcessed(static_cast<std::int64_t>(times.size()));
}

template <class Queue>
void add_one(Rhythm rhythm) {
  add(std::string("latency/") + Queue::name + "/u64/" + rhythm.name,
      [rhythm](benchmark::State& s) { run_latency<Queue>(s, rhythm); });
}
template <class Queue>
void add_both() {
  add_one<Queue>(busy);
  add_one<Queue>(asleep);
}

}  // namespace

void add_latencies() {
  using U = std::uint64_t;
  add_one<OurMpmc<U>>(busy);
  add_one<OurSpsc<U>>(busy);
  add_one<PeerCachedRing<U>>(busy);
  add_one<PeerScq<U>>(busy);
  add_one<PeerTurns<U>>(busy);
  add_both<OurBlockingMpmc<U>>();
  add_both<OurBlockingSpsc<U>>();
  add_both<PeerMutex<U>>();
  add_both<PeerTbb<U>>();
#if HEADRACE_BENCH_XENIUM
  add_one<PeerVyukovStrong<U>>(busy);
  add_one<PeerVyukovWeak<U>>(busy);
#endif
#if HEADRACE_BENCH_BOOST
  add_one<PeerBoost<U>>(busy);
  add_one<PeerBoostSpsc<U>>(busy);
#endif
#if HEADRACE_BENCH_ATOMIC_QUEUE
  add_one<PeerAtomicQueue<U>>(busy);
#endif
#if HEADRACE_BENCH_MOODYCAMEL
  add_one<PeerMoodycamel<U>>(busy);
  add_both<PeerMoodycamelBlocking<U>>();
#endif
}

}  // namespace bench
