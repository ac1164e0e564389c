// Plain memory that the explorer watches: in the weak memory mode an access that is not ordered by happens-before
// against the others of the same place is a data race, and ends the run as a failure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "support/execution.hpp"

namespace headrace::test {

/// Reports a plain access at `place` (any address that stands for the memory) to the run under way.
inline void plain_read(const void* place) {
  Execution* const run = Execution::active();
  if (run == nullptr || run->memory() == nullptr) return;
  unsigned other = 0;
  if (!run->memory()->read(run->plain(place), run->self(), other))
    run->fail("data race: thread " + std::to_string(run->self()) + " reads what thread " + std::to_string(other) +
              " writes");
}
inline void plain_write(const void* place) {
  Execution* const run = Execution::active();
  if (run == nullptr || run->memory() == nullptr) return;
  unsigned other = 0;
  if (!run->memory()->write(run->plain(place), run->self(), other))
    run->fail("data race: thread " + std::to_string(run->self()) + " writes what thread " + std::to_string(other) +
              " uses");
}

/// A variable of no particular type of access: reads and writes are plain.
template <class T>
class RaceCell {
 public:
  explicit RaceCell(T value = {}) : value_(value) { plain_write(this); }
  RaceCell(const RaceCell&) = delete;
  RaceCell& operator=(const RaceCell&) = delete;
  ~RaceCell() = default;
  [[nodiscard]] T read() const {
    plain_read(this);
    return value_;
  }
  void write(T value) {
    plain_write(this);
    value_ = value;
  }

 private:
  T value_;
};

/// An element for queues: its construction, move and destruction are plain accesses of its place, so that a place given
/// to the next element too early is a race as much as one read too early. Counts faults like Tracked.
class Watched {
 public:
  explicit Watched(std::uint64_t value = 0) noexcept : value_(value) { begin(); }
  Watched(const Watched& other) noexcept : value_(other.value()) { begin(); }
  Watched(Watched&& other) noexcept : value_(other.value()) {
    plain_write(&other);
    other.value_ = moved_from;
    begin();
  }
  Watched& operator=(const Watched& other) noexcept {
    const std::uint64_t value = other.value();
    plain_write(this);
    value_ = value;
    return *this;
  }
  Watched& operator=(Watched&& other) noexcept {
    const std::uint64_t value = other.value();
    plain_write(this);
    value_ = value;
    if (&other != this) other.value_ = moved_from;
    return *this;
  }
  ~Watched() {
    check();
    plain_write(this);
    self_ = nullptr;
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    plain_read(this);
    check();
    return value_;
  }
  static constexpr std::uint64_t moved_from = ~std::uint64_t{0};

 private:
  void begin() noexcept {
    plain_write(this);
    self_ = this;
  }
  void check() const noexcept {
    if (self_ == this) return;
    if (Execution* const run = Execution::active()) run->fail("an element is used where none lives");
  }
  const void* self_ = nullptr;
  std::uint64_t value_;
};

}  // namespace headrace::test
