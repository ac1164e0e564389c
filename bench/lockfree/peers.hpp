// The peers under the same interface, at their best: per-thread tokens where they have them. A peer whose header is not
// there is left out (CMake says which, and sets HEADRACE_BENCH_*).
#pragma once

#include <oneapi/tbb/concurrent_queue.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "lockfree/cached_ring.hpp"
#include "lockfree/mutex_ring.hpp"
#include "lockfree/scq_queue.hpp"
#include "lockfree/traffic.hpp"
#include "lockfree/turn_queue.hpp"

#if HEADRACE_BENCH_MOODYCAMEL
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <concurrentqueue/concurrentqueue.h>
#endif
#if HEADRACE_BENCH_BOOST
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#endif
#if HEADRACE_BENCH_ATOMIC_QUEUE
#include <atomic_queue/atomic_queue.h>
#endif
#if HEADRACE_BENCH_XENIUM
#include <xenium/vyukov_bounded_queue.hpp>
#endif

namespace bench {

// ---- Written for the bench ------------------------------------------------------------------------------------------

template <class T>
struct PeerMutex : MutexRing<T> {
  using value_type = T;
  static constexpr const char* name = "mutex_condvar_ring";
  using MutexRing<T>::MutexRing;
};
template <class T>
struct PeerTurns : TurnQueue<T> {
  using value_type = T;
  static constexpr const char* name = "turn_queue";
  using TurnQueue<T>::TurnQueue;
};
template <class T>
struct PeerScq : ScqQueue<T> {
  using value_type = T;
  static constexpr const char* name = "scq";
  static bool accepts(const Shape& s) { return s.producers + s.consumers <= s.capacity; }
  using ScqQueue<T>::ScqQueue;
};
template <class T>
struct PeerCachedRing : CachedRing<T> {
  using value_type = T;
  static constexpr const char* name = "cached_ring";
  using CachedRing<T>::CachedRing;
};

// ---- oneTBB ---------------------------------------------------------------------------------------------------------

template <class T>
struct PeerTbb {
  using value_type = T;
  static constexpr const char* name = "tbb_bounded";
  tbb::concurrent_bounded_queue<T> queue;
  explicit PeerTbb(std::size_t capacity) { queue.set_capacity(static_cast<std::ptrdiff_t>(capacity)); }
  void push(T&& item) { queue.push(std::move(item)); }
  void pop(T& item) { queue.pop(item); }
};
template <class T>
struct PeerTbbTry {
  using value_type = T;
  static constexpr const char* name = "tbb_bounded_try";
  tbb::concurrent_bounded_queue<T> queue;
  explicit PeerTbbTry(std::size_t capacity) { queue.set_capacity(static_cast<std::ptrdiff_t>(capacity)); }
  bool try_push(T&& item) { return queue.try_push(std::move(item)); }
  bool try_pop(T& item) { return queue.try_pop(item); }
};

// ---- moodycamel: unbounded, no order between producers --------------------------------------------------------------

#if HEADRACE_BENCH_MOODYCAMEL
template <class T>
struct PeerMoodycamel {
  using value_type = T;
  using Queue = moodycamel::ConcurrentQueue<T>;
  static constexpr const char* name = "moodycamel_unbounded";
  Queue queue;
  explicit PeerMoodycamel(std::size_t capacity) : queue(capacity) {}
  struct Producer {
    Queue& queue;
    moodycamel::ProducerToken token;
    bool try_push(T&& item) { return queue.enqueue(token, std::move(item)); }
  };
  struct Consumer {
    Queue& queue;
    moodycamel::ConsumerToken token;
    bool try_pop(T& item) { return queue.try_dequeue(token, item); }
  };
  Producer producer() { return {queue, moodycamel::ProducerToken(queue)}; }
  Consumer consumer() { return {queue, moodycamel::ConsumerToken(queue)}; }
};
template <class T>
struct PeerMoodycamelBlocking {
  using value_type = T;
  using Queue = moodycamel::BlockingConcurrentQueue<T>;
  static constexpr const char* name = "moodycamel_blocking_unbounded";
  Queue queue;
  explicit PeerMoodycamelBlocking(std::size_t capacity) : queue(capacity) {}
  struct Producer {
    Queue& queue;
    moodycamel::ProducerToken token;
    void push(T&& item) { queue.enqueue(token, std::move(item)); }
  };
  struct Consumer {
    Queue& queue;
    moodycamel::ConsumerToken token;
    void pop(T& item) { queue.wait_dequeue(token, item); }
  };
  Producer producer() { return {queue, moodycamel::ProducerToken(queue)}; }
  Consumer consumer() { return {queue, moodycamel::ConsumerToken(queue)}; }
};
// The same made bounded: a second semaphore counts the room.
template <class T>
struct PeerMoodycamelBounded {
  using value_type = T;
  static constexpr const char* name = "moodycamel_blocking_bounded";
  PeerMoodycamelBlocking<T> queue;
  moodycamel::LightweightSemaphore room;
  explicit PeerMoodycamelBounded(std::size_t capacity)
      : queue(capacity), room(static_cast<moodycamel::LightweightSemaphore::ssize_t>(capacity)) {}
  struct Producer {
    moodycamel::LightweightSemaphore& room;
    typename PeerMoodycamelBlocking<T>::Producer end;
    void push(T&& item) {
      while (!room.wait()) {
      }
      end.push(std::move(item));
    }
  };
  struct Consumer {
    moodycamel::LightweightSemaphore& room;
    typename PeerMoodycamelBlocking<T>::Consumer end;
    void pop(T& item) {
      end.pop(item);
      room.signal();
    }
  };
  Producer producer() { return {room, queue.producer()}; }
  Consumer consumer() { return {room, queue.consumer()}; }
};
#endif

// ---- Boost: trivial elements only, so a handle travels as its pointer -----------------------------------------------

#if HEADRACE_BENCH_BOOST
template <class T>
using Plain = std::conditional_t<std::is_same_v<T, Handle>, const char*, T>;
inline const char* plain(Handle&& item) { return item.release(); }
inline std::uint64_t plain(std::uint64_t item) { return item; }
template <class T>
T whole(Plain<T> item) {
  return T(item);
}
template <class T, class Queue>
struct Boost {
  using value_type = T;
  Queue queue;
  explicit Boost(std::size_t capacity) : queue(capacity) {}
  bool try_push(T&& item) {
    const Plain<T> value = plain(std::move(item));
    if (queue.push(value)) return true;
    item = whole<T>(value);
    return false;
  }
  bool try_pop(T& item) {
    Plain<T> value;
    if (!queue.pop(value)) return false;
    item = whole<T>(value);
    return true;
  }
};
template <class T>
struct PeerBoost : Boost<T, boost::lockfree::queue<Plain<T>, boost::lockfree::fixed_sized<true>>> {
  static constexpr const char* name = "boost_queue";
  using Boost<T, boost::lockfree::queue<Plain<T>, boost::lockfree::fixed_sized<true>>>::Boost;
};
template <class T>
struct PeerBoostSpsc : Boost<T, boost::lockfree::spsc_queue<Plain<T>>> {
  static constexpr const char* name = "boost_spsc";
  using Boost<T, boost::lockfree::spsc_queue<Plain<T>>>::Boost;
};
#endif

// ---- atomic_queue: positions are taken by counting alone, so a consumer that is suspended between its position and its
// cell and one that comes a lap later wait for the same cell, and either may get either element. Seen with eight threads
// on two processors; `overtaken` counts it.

#if HEADRACE_BENCH_ATOMIC_QUEUE
template <class T>
struct PeerAtomicQueue {  // its size belongs to the type
  using value_type = T;
  static constexpr const char* name = "atomic_queue2";
  static constexpr bool in_order = false;
  atomic_queue::AtomicQueue2<T, 2> small;
  atomic_queue::AtomicQueue2<T, 16> middle;
  atomic_queue::AtomicQueue2<T, 1024> large;
  const std::size_t capacity;
  explicit PeerAtomicQueue(std::size_t n) : capacity(n) {}
  bool try_push(T&& item) {
    return capacity == 1024 ? large.try_push(std::move(item))
           : capacity == 16 ? middle.try_push(std::move(item))
                            : small.try_push(std::move(item));
  }
  bool try_pop(T& item) {
    return capacity == 1024 ? large.try_pop(item) : capacity == 16 ? middle.try_pop(item) : small.try_pop(item);
  }
};
template <class T>
struct PeerAtomicQueueB : atomic_queue::AtomicQueueB2<T> {  // holds at least 4096, whatever is asked for
  using value_type = T;
  static constexpr const char* name = "atomic_queue_b2_4096";
  static constexpr bool in_order = false;
  static bool accepts(const Shape& s) { return s.capacity == 1024; }
  explicit PeerAtomicQueueB(std::size_t n) : atomic_queue::AtomicQueueB2<T>(static_cast<unsigned>(n)) {}
};
#endif

// ---- xenium: Vyukov's bounded queue ---------------------------------------------------------------------------------

#if HEADRACE_BENCH_XENIUM
template <class T>
struct PeerVyukovStrong {
  using value_type = T;
  static constexpr const char* name = "xenium_vyukov_strong";
  xenium::vyukov_bounded_queue<T> queue;
  explicit PeerVyukovStrong(std::size_t capacity) : queue(capacity) {}
  bool try_push(T&& item) { return queue.try_push_strong(std::move(item)); }
  bool try_pop(T& item) { return queue.try_pop_strong(item); }
};
template <class T>
struct PeerVyukovWeak {
  using value_type = T;
  static constexpr const char* name = "xenium_vyukov_weak";
  xenium::vyukov_bounded_queue<T> queue;
  explicit PeerVyukovWeak(std::size_t capacity) : queue(capacity) {}
  bool try_push(T&& item) { return queue.try_push_weak(std::move(item)); }
  bool try_pop(T& item) { return queue.try_pop_weak(item); }
};
#endif

}  // namespace bench
