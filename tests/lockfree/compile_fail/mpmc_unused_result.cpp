// The answer of a push must be looked at.
#ifndef HEADRACE_CONTROL
#pragma GCC diagnostic error "-Wunused-result"
#endif
#include "headrace/lockfree/mpmc_ring.hpp"

void push(headrace::MpmcRing<int>& ring) {
#ifdef HEADRACE_CONTROL
  static_cast<void>(ring.try_push(1));
#else
  ring.try_push(1);
#endif
}
