// Element types that make mistakes visible: they count themselves, throw, insist on their alignment, refuse copies.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace headrace::test {

/// Knows its own address while it lives: a second construction in place, a destruction of nothing, a use after the end
/// and a bytewise copy are all seen. `live()` counts objects that were not moved from and those that were.
class Tracked {
 public:
  explicit Tracked(std::uint64_t value = 0) noexcept : value_(value) { begin(); }
  Tracked(const Tracked& other) noexcept : value_(other.checked().value_) { begin(); }
  Tracked(Tracked&& other) noexcept : value_(other.checked().value_) {
    other.value_ = moved_from;
    begin();
  }
  Tracked& operator=(const Tracked& other) noexcept {
    checked().value_ = other.checked().value_;
    return *this;
  }
  Tracked& operator=(Tracked&& other) noexcept {
    checked().value_ = other.checked().value_;
    if (&other != this) other.value_ = moved_from;
    return *this;
  }
  ~Tracked() {
    if (self_ != this) ++faults();
    self_ = nullptr;
    --live();
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return checked().value_; }

  static constexpr std::uint64_t moved_from = ~std::uint64_t{0};
  static std::atomic<long>& live() noexcept {
    static std::atomic<long> count{0};
    return count;
  }
  static std::atomic<long>& faults() noexcept {
    static std::atomic<long> count{0};
    return count;
  }

 private:
  void begin() noexcept {
    self_ = this;
    ++live();
  }
  const Tracked& checked() const noexcept {
    if (self_ != this) ++faults();
    return *this;
  }
  Tracked& checked() noexcept {
    if (self_ != this) ++faults();
    return *this;
  }

  const void* self_;
  std::uint64_t value_;
};

/// Copies throw when asked to; moves never do. Counts what is alive.
class ThrowingCopy {
 public:
  explicit ThrowingCopy(std::uint64_t value) noexcept : value_(value) { ++live(); }
  ThrowingCopy(const ThrowingCopy& other) : value_(other.value_) {
    if (armed()) throw std::runtime_error("copy");
    ++live();
  }
  ThrowingCopy(ThrowingCopy&& other) noexcept : value_(other.value_) { ++live(); }
  ThrowingCopy& operator=(const ThrowingCopy&) = delete;
  ThrowingCopy& operator=(ThrowingCopy&&) = delete;
  ~ThrowingCopy() { --live(); }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  static bool& armed() noexcept {
    static bool on = false;
    return on;
  }
  static long& live() noexcept {
    static long count = 0;
    return count;
  }

 private:
  std::uint64_t value_;
};

/// An element that must begin at a multiple of `Alignment`, and looks every time one is made, moved or destroyed: also
/// where a queue keeps it. (Through volatile: the compiler believes the type and would not look.)
template <std::size_t Alignment>
class alignas(Alignment) OverAligned {
 public:
  explicit OverAligned(std::uint64_t value = 0) noexcept : value_(value) { look(); }
  OverAligned(OverAligned&& other) noexcept : value_(other.value_) {
    look();
    other.look();
  }
  OverAligned& operator=(OverAligned&&) = delete;
  ~OverAligned() { look(); }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
  static std::atomic<long>& misplaced() noexcept {
    static std::atomic<long> count{0};
    return count;
  }

 private:
  void look() const noexcept {
    const volatile std::uintptr_t place = reinterpret_cast<std::uintptr_t>(this);
    if (place % Alignment != 0) ++misplaced();
  }

  std::uint64_t value_;
};

using MoveOnly = std::unique_ptr<std::uint64_t>;

}  // namespace headrace::test
