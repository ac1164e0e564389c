// A fiber: a stack of its own that one operating-system thread enters and leaves, in some ten nanoseconds on x86-64.
//
// What it is. The explorer's threads. A switch keeps what a thread would keep: registers, the floating-point mode and
// the list of exceptions under way. A fiber may be left for good in the middle: start() begins it anew, and what was on
// its stack is forgotten (destructors do not run).
//
// When not to use it. For code that holds locks or talks to thread_local objects across a switch.
//
// Elsewhere than on x86-64 it falls back on ucontext (a microsecond). AddressSanitizer and ThreadSanitizer are told of
// every switch.
#pragma once
#include <cxxabi.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HEADRACE_TEST_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HEADRACE_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADRACE_TEST_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HEADRACE_TEST_TSAN 1
#endif
#endif
#if defined(HEADRACE_TEST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(HEADRACE_TEST_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace headrace::test {

class Fiber {
 public:
  using Entry = void (*)(void*);
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  /// The calling thread itself: no stack of its own; a place to come back to.
  struct OfTheThread {};
  explicit Fiber(OfTheThread) noexcept {
#if defined(HEADRACE_TEST_TSAN)
    tsan_ = __tsan_get_current_fiber();
#endif
  }
  /// A stack (touched as far as it is used), nothing to run yet. Throws std::bad_alloc.
  Fiber() {
    void* const memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stack_ = static_cast<std::byte*>(memory);
    mprotect(memory, page, PROT_NONE);  // an overflow is a fault, not a riddle
    bottom_ = stack_ + page;
    size_ = stack_bytes - page;
#if defined(HEADRACE_TEST_TSAN)
    tsan_ = __tsan_create_fiber(0);
#endif
  }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber() {
    if (stack_ == nullptr) return;
#if defined(HEADRACE_TEST_TSAN)
    __tsan_destroy_fiber(tsan_);
#endif
    munmap(stack_, stack_bytes);
  }

  /// The next switch to this fiber calls `entry(argument)`, which must end with leave_for_good().
  void start(Entry entry, void* argument) noexcept {
    entry_ = entry;
    argument_ = argument;
    std::memset(exceptions_, 0, sizeof exceptions_);
#if defined(HEADRACE_TEST_ASAN)
    __asan_unpoison_memory_region(bottom_, size_);  // frames that were left behind
    fake_stack_ = nullptr;
#endif
#if defined(__x86_64__)
    // From the top: an empty return address (the end for unwinders; a call leaves the stack 8 off 16), begin(), room
    // for six registers, the floating-point mode.
    auto* top = reinterpret_cast<std::uint64_t*>(bottom_ + size_) - 2;
    *--top = 0;
    *--top = reinterpret_cast<std::uint64_t>(&begin);
    for (int i = 0; i < 6; ++i) *--top = 0;
    --top;
    asm volatile("stmxcsr (%0)\n\tfnstcw 4(%0)" ::"r"(top) : "memory");
    top_ = top;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = bottom_;
    context_.uc_stack.ss_size = size_;
    context_.uc_link = nullptr;
    makecontext(&context_, reinterpret_cast<void (*)()>(&begin), 0);
#endif
  }

  /// Stops `from`, which must be running, and goes on in `to`. Returns when somebody switches back.
  static void switch_to(Fiber& from, Fiber& to) noexcept {
#if defined(HEADRACE_TEST_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.size_);
#endif
    go(from, to);
    from.arrived();
  }
  /// The end of `from`.
  [[noreturn]] static void leave_for_good(Fiber& from, Fiber& to) noexcept {
#if defined(HEADRACE_TEST_ASAN)
    __sanitizer_start_switch_fiber(nullptr, to.bottom_, to.size_);
#endif
    go(from, to);
    std::abort();
  }

 private:
  static constexpr std::size_t page = 4096;

  static void go(Fiber& from, Fiber& to) noexcept {
    // libstdc++'s and libc++abi's record of exceptions under way: a pointer and a count.
    void* const exceptions = abi::__cxa_get_globals();
    std::memcpy(from.exceptions_, exceptions, sizeof exceptions_);
    std::memcpy(exceptions, to.exceptions_, sizeof exceptions_);
    came_from() = &from;
    arriving() = &to;
#if defined(HEADRACE_TEST_TSAN)
    __tsan_switch_to_fiber(to.tsan_, 0);
#endif
#if defined(__x86_64__)
    exchange_stacks(&from.top_, to.top_);
#else
    swapcontext(&from.context_, &to.context_);
#endif
  }
  void arrived() noexcept {
#if defined(HEADRACE_TEST_ASAN)
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
    Fiber& last = *came_from();
    if (last.stack_ == nullptr) {  // a thread's own stack is known only after it was left
      last.bottom_ = static_cast<std::byte*>(const_cast<void*>(bottom));
      last.size_ = size;
    }
#endif
  }
  static void begin() {
    Fiber& self = *arriving();
    self.arrived();
    self.entry_(self.argument_);
    std::abort();
  }
  static Fiber*& came_from() noexcept {
    static Fiber* fiber = nullptr;
    return fiber;
  }
  static Fiber*& arriving() noexcept {
    static Fiber* fiber = nullptr;
    return fiber;
  }

#if defined(__x86_64__)
  // The System V convention: rbx, rbp, r12 to r15, mxcsr and the x87 control word belong to the caller.
  __attribute__((naked, noinline)) static void exchange_stacks(void** /*from: rdi*/, void* /*to: rsi*/) noexcept {
    asm volatile(
        "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
        "subq $8, %rsp\n\tstmxcsr (%rsp)\n\tfnstcw 4(%rsp)\n\t"
        "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
        "ldmxcsr (%rsp)\n\tfldcw 4(%rsp)\n\taddq $8, %rsp\n\t"
        "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
  }
  void* top_ = nullptr;
#else
  ucontext_t context_{};
#endif
  std::byte* stack_ = nullptr;
  std::byte* bottom_ = nullptr;
  std::size_t size_ = 0;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  unsigned char exceptions_[2 * sizeof(void*)] = {};
#if defined(HEADRACE_TEST_ASAN)
  void* fake_stack_ = nullptr;
#elif defined(HEADRACE_TEST_TSAN)
  void* tsan_ = nullptr;
#endif
};

}  // namespace headrace::test
