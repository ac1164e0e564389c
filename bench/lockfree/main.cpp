// bench_queues: the lock-free structures and their peers. `bench/run` runs it cell by cell; by hand:
//   bench_queues [--quick] [--benchmark_filter=REGEX] [Google Benchmark's flags]
// Names: try, blocking, spsc / queue / payload / producers and consumers / capacity / work per item / placement;
// ideal / ... (the producers' work without a queue); latency / ...; uncontended / ...
#include "lockfree/queue_bench.hpp"
#include "support/settings.hpp"

int main(int argc, char** argv) {
  return bench::start(argc, argv, [] {
    bench::add_trying_queues();
    bench::add_blocking_queues();
    bench::add_spsc_queues();
    bench::add_latencies();
    bench::add_uncontended();
  });
}
