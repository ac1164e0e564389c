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

/// 1, 2, 4, ... `most` pauses. Bounded, so that a lock-free loop stays one.
class Backoff {
 public:
  void pause() noexcept {
    for (unsigned i = 0; i < pauses_; ++i) pause_processor();
    if (pauses_ < most) pauses_ *= 2;
  }

 private:
  static constexpr unsigned most = 16;
  unsigned pauses_ = 1;
};

}  // namespace headrace::detail
