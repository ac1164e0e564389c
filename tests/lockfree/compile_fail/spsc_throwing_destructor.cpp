// A value whose destructor may throw cannot be queued.
#include "headrace/lockfree/spsc_ring.hpp"

struct Value {
  Value() = default;
  Value(Value&&) noexcept {}
#ifdef HEADRACE_CONTROL
  ~Value() {}
#else
  ~Value() noexcept(false) {}
#endif
};

bool push(headrace::SpscRing<Value>& ring) { return ring.try_push(Value{}) == headrace::PushResult::ok; }
