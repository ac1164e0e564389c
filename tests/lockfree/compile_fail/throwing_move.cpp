// A value whose move may throw cannot be published: it would be lost after its place was claimed.
#include "headrace/lockfree/reorder_ring.hpp"

struct Value {
  Value() = default;
#ifdef HEADRACE_CONTROL
  Value(Value&&) noexcept {}
#else
  Value(Value&&) {}
#endif
};

bool publish(headrace::ReorderRing<Value>& ring) { return ring.publish(0, Value{}); }
