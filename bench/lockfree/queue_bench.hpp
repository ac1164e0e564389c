// The parts of bench_queues; each is a translation unit of its own.
#pragma once

namespace bench {

void add_trying_queues();
void add_blocking_queues();
void add_spsc_queues();
void add_latencies();
void add_uncontended();

}  // namespace bench
