#include "headrace/runtime/fork_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace headrace::detail {
namespace {

using Page = std::atomic<std::uint64_t>;
static_assert(Page::is_always_lock_free);

// A page that reads as zero in a child, or null where the kernel cannot wipe it.
Page* wiped_page() noexcept {
  static Page* const page = []() -> Page* {
    void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
#ifdef MADV_WIPEONFORK
    if (madvise(memory, sizeof(Page), MADV_WIPEONFORK) == 0) return new (memory) Page(0);
#endif
    munmap(memory, sizeof(Page));
    return nullptr;
  }();
  return page;
}

// Process id and time: a process id alone may come round again among descendants.
std::uint64_t new_token() noexcept {
  const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return (static_cast<std::uint64_t>(getpid()) << 40 ^ now) | 1;
}

}  // namespace

std::uint64_t process_token() noexcept {
  Page* const page = wiped_page();
  if (page == nullptr) return static_cast<std::uint64_t>(getpid());
  std::uint64_t token = page->load(std::memory_order_relaxed);
  if (token != 0) return token;
  const std::uint64_t mine = new_token();
  return page->compare_exchange_strong(token, mine, std::memory_order_relaxed) ? mine : token;
}

}  // namespace headrace::detail
