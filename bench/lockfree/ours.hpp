// Headrace's queues under the benches' one interface: try_push(T&&) and try_pop(T&), or push(T&&) and pop(T&) where the
// queue waits by itself.
#pragma once

#include <memory>
#include <utility>

#include "headrace/lockfree/blocking.hpp"
#include "headrace/lockfree/mpmc_ring.hpp"
#include "headrace/lockfree/spsc_ring.hpp"
#include "support/settings.hpp"

namespace bench {

template <class Ring>
struct Trying {
  using value_type = typename Ring::value_type;
  Ring ring;
  explicit Trying(std::size_t capacity) : ring(capacity) {}
  bool try_push(value_type&& item) noexcept { return ring.try_push(std::move(item)) == headrace::PushResult::ok; }
  bool try_pop(value_type& item) noexcept {
    auto taken = ring.try_pop();
    if (taken) item = std::move(*taken);
    return taken.has_value();
  }
};
template <class T>
struct OurMpmc : Trying<headrace::MpmcRing<T>> {
  static constexpr const char* name = "MpmcRing";
  using Trying<headrace::MpmcRing<T>>::Trying;
};
template <class T>
struct OurSpsc : Trying<headrace::SpscRing<T>> {
  static constexpr const char* name = "SpscRing";
  using Trying<headrace::SpscRing<T>>::Trying;
};
template <class T>
struct OurSpscInPlace {
  using value_type = T;
  static constexpr const char* name = "SpscRing_in_place";
  headrace::SpscRing<T> ring;
  explicit OurSpscInPlace(std::size_t capacity) : ring(capacity) {}
  bool try_push(T&& item) noexcept {
    T* const place = ring.try_claim();
    if (place == nullptr) return false;
    std::construct_at(place, std::move(item));
    ring.publish();
    return true;
  }
  bool try_pop(T& item) noexcept {
    T* const place = ring.front();
    if (place == nullptr) return false;
    item = std::move(*place);
    ring.pop();
    return true;
  }
};

template <class Ring>
struct Waiting {
  using value_type = typename Ring::value_type;
  headrace::Blocking<Ring> queue;
  explicit Waiting(std::size_t capacity) : queue(capacity) {}
  ~Waiting() {
    if (queue.rescues() != 0) fail("a wakeup was lost");
  }
  void push(value_type&& item) noexcept {
    if (queue.push(std::move(item)) != headrace::PushResult::ok) fail("a push into an open queue was refused");
  }
  void pop(value_type& item) noexcept {
    auto taken = queue.pop();
    if (!taken) fail("the end of an open queue");
    item = std::move(*taken);
  }
};
template <class T>
struct OurBlockingMpmc : Waiting<headrace::MpmcRing<T>> {
  static constexpr const char* name = "Blocking_MpmcRing";
  using Waiting<headrace::MpmcRing<T>>::Waiting;
};
template <class T>
struct OurBlockingSpsc : Waiting<headrace::SpscRing<T>> {
  static constexpr const char* name = "Blocking_SpscRing";
  using Waiting<headrace::SpscRing<T>>::Waiting;
};

}  // namespace bench
