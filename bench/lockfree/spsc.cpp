// Rings for one producer and one consumer.
#include "lockfree/ours.hpp"
#include "lockfree/peers.hpp"
#include "lockfree/queue_bench.hpp"

namespace bench {
namespace {

template <class T>
void add_all() {
  add_queue<OurSpsc<T>>("spsc", 1);
  add_queue<OurSpscInPlace<T>>("spsc", 1);
  add_queue<PeerCachedRing<T>>("spsc", 1);
#if HEADRACE_BENCH_BOOST
  add_queue<PeerBoostSpsc<T>>("spsc", 1);
#endif
}

}  // namespace

void add_spsc_queues() {
  add_all<std::uint64_t>();
  add_all<Handle>();
}

}  // namespace bench
