// The kernel's half of a sleep: wait while 32 bits still hold a value, wake those who wait there.
//
// The kernel compares under its own lock, so a value that changed before the call never sleeps. A test that replaces
// std::atomic by an instrumented atomic specialises Futex for it.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace headrace::detail {

/// Sleeping on the upper 32 bits of a 64-bit atomic word. Thread-safe. `wait` blocks (parks); `wake` does not block.
template <template <class> class Atom>
struct Futex {
  static_assert(sizeof(Atom<std::uint64_t>) == sizeof(std::uint64_t), "the word must be the whole atomic object");

  /// Sleeps while the upper half of `word` equals `expected`, at most `at_most`. False: the time is over. True: woken,
  /// interrupted, or the value differed; the caller looks again.
  static bool wait(const Atom<std::uint64_t>& word, std::uint32_t expected, std::chrono::nanoseconds at_most) noexcept {
    if (at_most.count() <= 0) return false;
    timespec time{};
    time.tv_sec = static_cast<std::time_t>(at_most.count() / 1'000'000'000);
    time.tv_nsec = static_cast<long>(at_most.count() % 1'000'000'000);
    return syscall(SYS_futex, upper(word), FUTEX_WAIT_PRIVATE, expected, &time, nullptr, 0) == 0 || errno != ETIMEDOUT;
  }

  /// Wakes up to `count` sleepers. Only the address is used, so the word may be gone by the time the kernel looks.
  static void wake(const Atom<std::uint64_t>& word, int count) noexcept {
    syscall(SYS_futex, upper(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
  }

 private:
  static const std::uint32_t* upper(const Atom<std::uint64_t>& word) noexcept {
    return reinterpret_cast<const std::uint32_t*>(&word) + (std::endian::native == std::endian::little ? 1 : 0);
  }
};

}  // namespace headrace::detail
