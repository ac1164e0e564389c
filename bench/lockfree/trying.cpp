// Queues between many threads that only try, all driven by the same retry; and the ideal they are measured against.
#include "lockfree/ours.hpp"
#include "lockfree/peers.hpp"
#include "lockfree/queue_bench.hpp"

namespace bench {
namespace {

template <class T>
void add_all() {
  add_queue<OurMpmc<T>>("try", 4);
  add_queue<PeerScq<T>>("try", 4);
  add_queue<PeerTurns<T>>("try", 4);
  add_queue<PeerTbbTry<T>>("try", 4);
#if HEADRACE_BENCH_XENIUM
  add_queue<PeerVyukovStrong<T>>("try", 4);
  add_queue<PeerVyukovWeak<T>>("try", 4);
#endif
#if HEADRACE_BENCH_BOOST
  add_queue<PeerBoost<T>>("try", 4);
#endif
#if HEADRACE_BENCH_ATOMIC_QUEUE
  add_queue<PeerAtomicQueue<T>>("try", 4);
  add_queue<PeerAtomicQueueB<T>>("try", 4);
#endif
#if HEADRACE_BENCH_MOODYCAMEL
  add_queue<PeerMoodycamel<T>>("try", 4);
#endif
}

}  // namespace

void add_trying_queues() {
  add_all<std::uint64_t>();
  add_all<Handle>();
  for_each_shape(4, [](Shape shape) {
    if (shape.work_us > 0 && shape.capacity == capacities[0])
      add("ideal/no_queue/none/" + shape.name(), [shape](benchmark::State& s) { run_ideal(s, shape); });
  });
}

}  // namespace bench
