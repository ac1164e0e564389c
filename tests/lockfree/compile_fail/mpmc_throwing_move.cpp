// A value whose move may throw cannot be queued: its place would already be claimed.
#include "headrace/lockfree/mpmc_ring.hpp"

struct Value {
  Value() = default;
#ifdef HEADRACE_CONTROL
  Value(Value&&) noexcept {}
#else
  Value(Value&&) {}
#endif
};

bool push(headrace::MpmcRing<Value>& ring) { return ring.try_push(Value{}) == headrace::PushResult::ok; }
