#include "support/hot_path.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <string_view>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

// relaxed throughout: counts, read when the threads that count are done or by difference.
struct Counter {
  std::atomic<std::uint64_t> value{0};
  void add(std::uint64_t n = 1) noexcept { value.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value.load(std::memory_order_relaxed); }
};
constinit Counter locks, heap_calls, heap_bytes, scalable_calls, scalable_bytes, mapping_calls, futex_waits,
    futex_wakes;

void count_heap(std::size_t bytes) noexcept {
  heap_calls.add();
  heap_bytes.add(bytes);
}

// The function of that name behind ours, found once. (Conditions have an old version, which must not be taken.)
template <class F>
F* behind(std::atomic<F*>& cache, const char* name, const char* version = nullptr) noexcept {
  F* f = cache.load(std::memory_order_acquire);
  if (f != nullptr) return f;
  void* found = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  f = reinterpret_cast<F*>(found);
  cache.store(f, std::memory_order_release);
  return f;
}

constexpr std::string_view tbbmalloc = "libtbbmalloc.so.2";

void* real_dlopen(const char* file, int flags) noexcept {
  static constinit std::atomic<void* (*)(const char*, int)> cache{nullptr};
  return behind(cache, "dlopen")(file, flags);
}

// The allocator itself, or null where it is not installed.
template <class F>
F* of_tbbmalloc(const char* name) noexcept {
  void* const library = real_dlopen(tbbmalloc.data(), RTLD_NOW);
  return library != nullptr ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
}

}  // namespace

extern "C" {

// ---- The heap ----------------------------------------------------------------------------------------------------

void* malloc(std::size_t size) {
  count_heap(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  count_heap(n * size);
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  count_heap(size);
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t align, std::size_t size) {
  count_heap(size);
  return __libc_memalign(align, size);
}
void* memalign(std::size_t align, std::size_t size) {
  count_heap(size);
  return __libc_memalign(align, size);
}
int posix_memalign(void** p, std::size_t align, std::size_t size) {
  count_heap(size);
  *p = __libc_memalign(align, size);
  return *p != nullptr ? 0 : ENOMEM;
}

// ---- oneTBB's allocator ------------------------------------------------------------------------------------------

// oneTBB opens it by name and asks it for four functions; it gets this library, which has four of the same names.
void* dlopen(const char* file, int flags) {
  Dl_info self;
  if (file != nullptr && std::string_view(file).ends_with(tbbmalloc) &&
      dladdr(reinterpret_cast<void*>(&dlopen), &self) != 0) {
    return real_dlopen(self.dli_fname, flags);
  }
  return real_dlopen(file, flags);
}

void* scalable_malloc(std::size_t size) {
  static auto* const real = of_tbbmalloc<void*(std::size_t)>("scalable_malloc");
  scalable_calls.add();
  scalable_bytes.add(size);
  return real != nullptr ? real(size) : __libc_malloc(size);
}
void scalable_free(void* p) {
  static auto* const real = of_tbbmalloc<void(void*)>("scalable_free");
  if (real != nullptr)
    real(p);
  else
    std::free(p);
}
void* scalable_aligned_malloc(std::size_t size, std::size_t align) {
  static auto* const real = of_tbbmalloc<void*(std::size_t, std::size_t)>("scalable_aligned_malloc");
  scalable_calls.add();
  scalable_bytes.add(size);
  return real != nullptr ? real(size, align) : __libc_memalign(align, size);
}
void scalable_aligned_free(void* p) {
  static auto* const real = of_tbbmalloc<void(void*)>("scalable_aligned_free");
  if (real != nullptr)
    real(p);
  else
    std::free(p);
}

// ---- Mappings ----------------------------------------------------------------------------------------------------

#define HEADRACE_MAPPING(result, name, parameters, ...)                \
  result name parameters {                                             \
    static constinit std::atomic<result(*) parameters> cache{nullptr}; \
    mapping_calls.add();                                               \
    return behind(cache, #name)(__VA_ARGS__);                          \
  }
HEADRACE_MAPPING(void*, mmap, (void* p, std::size_t n, int protection, int flags, int file, off_t at), p, n, protection,
                 flags, file, at)
HEADRACE_MAPPING(void*, mmap64, (void* p, std::size_t n, int protection, int flags, int file, off64_t at), p, n,
                 protection, flags, file, at)
HEADRACE_MAPPING(int, munmap, (void* p, std::size_t n), p, n)
HEADRACE_MAPPING(int, madvise, (void* p, std::size_t n, int advice), p, n, advice)
HEADRACE_MAPPING(int, mprotect, (void* p, std::size_t n, int protection), p, n, protection)
HEADRACE_MAPPING(int, brk, (void* p), p)
HEADRACE_MAPPING(void*, sbrk, (std::intptr_t n), n)

// ---- Locks -------------------------------------------------------------------------------------------------------

#define HEADRACE_LOCK(name, version, parameters, ...)               \
  int name parameters {                                             \
    static constinit std::atomic<int(*) parameters> cache{nullptr}; \
    locks.add();                                                    \
    return behind(cache, #name, version)(__VA_ARGS__);              \
  }
HEADRACE_LOCK(pthread_mutex_lock, nullptr, (pthread_mutex_t * m), m)
HEADRACE_LOCK(pthread_mutex_trylock, nullptr, (pthread_mutex_t * m), m)
HEADRACE_LOCK(pthread_mutex_timedlock, nullptr, (pthread_mutex_t * m, const timespec* t), m, t)
HEADRACE_LOCK(pthread_rwlock_rdlock, nullptr, (pthread_rwlock_t * l), l)
HEADRACE_LOCK(pthread_rwlock_wrlock, nullptr, (pthread_rwlock_t * l), l)
HEADRACE_LOCK(pthread_spin_lock, nullptr, (pthread_spinlock_t * l), l)
HEADRACE_LOCK(pthread_cond_wait, "GLIBC_2.3.2", (pthread_cond_t * c, pthread_mutex_t* m), c, m)
HEADRACE_LOCK(pthread_cond_timedwait, "GLIBC_2.3.2", (pthread_cond_t * c, pthread_mutex_t* m, const timespec* t), c, m,
              t)
HEADRACE_LOCK(pthread_cond_clockwait, nullptr, (pthread_cond_t * c, pthread_mutex_t* m, clockid_t k, const timespec* t),
              c, m, k, t)
HEADRACE_LOCK(pthread_cond_signal, "GLIBC_2.3.2", (pthread_cond_t * c), c)
HEADRACE_LOCK(pthread_cond_broadcast, "GLIBC_2.3.2", (pthread_cond_t * c), c)
HEADRACE_LOCK(sem_wait, nullptr, (sem_t * s), s)
HEADRACE_LOCK(sem_post, nullptr, (sem_t * s), s)

// ---- Futex -------------------------------------------------------------------------------------------------------

long syscall(long number, ...) {
  static constinit std::atomic<long (*)(long, ...)> cache{nullptr};
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);  // those that were not given are not looked at
  va_end(list);
  if (number == SYS_futex) {
    const long operation = a[1] & FUTEX_CMD_MASK;
    (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ? futex_waits : futex_wakes).add();
  }
  return behind(cache, "syscall")(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}

namespace headrace::test {

HotPathCounts& HotPathCounts::operator+=(const HotPathCounts& o) noexcept {
  locks += o.locks;
  heap_calls += o.heap_calls;
  heap_bytes += o.heap_bytes;
  scalable_calls += o.scalable_calls;
  scalable_bytes += o.scalable_bytes;
  mapping_calls += o.mapping_calls;
  futex_waits += o.futex_waits;
  futex_wakes += o.futex_wakes;
  page_faults += o.page_faults;
  voluntary_switches += o.voluntary_switches;
  return *this;
}

HotPathCounts operator-(HotPathCounts a, const HotPathCounts& b) noexcept {
  a.locks -= b.locks;
  a.heap_calls -= b.heap_calls;
  a.heap_bytes -= b.heap_bytes;
  a.scalable_calls -= b.scalable_calls;
  a.scalable_bytes -= b.scalable_bytes;
  a.mapping_calls -= b.mapping_calls;
  a.futex_waits -= b.futex_waits;
  a.futex_wakes -= b.futex_wakes;
  a.page_faults -= b.page_faults;
  a.voluntary_switches -= b.voluntary_switches;
  return a;
}

HotPathCounts hot_path_counts() noexcept {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.locks = locks.get(),
          .heap_calls = heap_calls.get(),
          .heap_bytes = heap_bytes.get(),
          .scalable_calls = scalable_calls.get(),
          .scalable_bytes = scalable_bytes.get(),
          .mapping_calls = mapping_calls.get(),
          .futex_waits = futex_waits.get(),
          .futex_wakes = futex_wakes.get(),
          .page_faults = static_cast<std::uint64_t>(usage.ru_minflt),
          .voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw)};
}

}  // namespace headrace::test
