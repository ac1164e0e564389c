// Counts what a hot path must not do, on every thread of the process: locks, memory requests, mappings, futex calls,
// fresh pages. Linking the library headrace_test_hot_path puts its functions in front of libc's and oneTBB's.
//
// What is seen: every call through the dynamic linker of
//   pthread_mutex_*lock, pthread_rwlock_*lock, pthread_spin_lock, pthread_cond_*, sem_wait/post     (locks)
//   malloc, calloc, realloc, aligned_alloc, memalign, posix_memalign (operator new ends there)      (heap)
//   scalable_malloc, scalable_aligned_malloc: where oneTBB gets the memory of its tasks             (scalable)
//   mmap, mmap64, munmap, madvise, mprotect, brk, sbrk                                      (mappings)
//   syscall(SYS_futex): the library's own sleeps and all of oneTBB's                                (futex)
// and from the kernel, for all threads: page faults without I/O (a fresh page is one), voluntary context switches (each
// sleep is one, whoever calls the kernel).
// What is not: calls that libc makes inside itself: the heap's own growth (after a counted malloc) and the futex calls
// of a contended pthread_mutex or condition (after a counted lock). Locks that oneTBB builds from atomics spin, which
// nobody counts, and sleep by syscall(SYS_futex), which is.
#pragma once

#include <cstdint>

namespace headrace::test {

struct HotPathCounts {
  std::uint64_t locks = 0;
  std::uint64_t heap_calls = 0, heap_bytes = 0;
  std::uint64_t scalable_calls = 0, scalable_bytes = 0;
  std::uint64_t mapping_calls = 0;
  std::uint64_t futex_waits = 0, futex_wakes = 0;
  std::uint64_t page_faults = 0, voluntary_switches = 0;

  std::uint64_t futex() const noexcept { return futex_waits + futex_wakes; }
  HotPathCounts& operator+=(const HotPathCounts& o) noexcept;
  friend HotPathCounts operator-(HotPathCounts a, const HotPathCounts& b) noexcept;
};

/// Since the process began. Takes one system call.
HotPathCounts hot_path_counts() noexcept;

}  // namespace headrace::test
