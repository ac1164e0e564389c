// Queues that wait by themselves.
#include "lockfree/ours.hpp"
#include "lockfree/peers.hpp"
#include "lockfree/queue_bench.hpp"

namespace bench {
namespace {

template <class T>
void add_all() {
  add_queue<OurBlockingMpmc<T>>("blocking", 4);
  add_queue<OurBlockingSpsc<T>>("blocking", 1);
  add_queue<PeerMutex<T>>("blocking", 4);
  add_queue<PeerTbb<T>>("blocking", 4);
#if HEADRACE_BENCH_MOODYCAMEL
  add_queue<PeerMoodycamelBlocking<T>>("blocking", 4);
  add_queue<PeerMoodycamelBounded<T>>("blocking", 4);
#endif
}

}  // namespace

void add_blocking_queues() {
  add_all<std::uint64_t>();
  add_all<Handle>();
}

}  // namespace bench
