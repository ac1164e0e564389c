// ForkGuard: does this object still live in the process that made it?
//
// After fork() the child has one thread; workers, and whatever lock they held, are gone. An object that needs them
// refuses to work in the child. The check is one load: a page that the kernel wipes in a child (MADV_WIPEONFORK), and
// getpid() where the kernel cannot.
#pragma once
#include <cstdint>
#include <stdexcept>

namespace headrace {

/// Thrown by operations of an object that was made before fork(), when called in the child.
class ForkError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {

/// A number that differs between this process and every process it was forked from. Thread-safe; the first call in a
/// process may allocate a page.
[[nodiscard]] std::uint64_t process_token() noexcept;

class ForkGuard {
 public:
  ForkGuard() noexcept : token_(process_token()) {}
  /// Are we in a child of the process that made this object? Progress: wait-free.
  [[nodiscard]] bool in_child() const noexcept { return process_token() != token_; }

 private:
  std::uint64_t token_;
};

}  // namespace detail
}  // namespace headrace
