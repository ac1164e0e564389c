// std::atomic for the explorer: every access is a decision, and in the weak memory mode a load may return an old value.
// Outside a run it behaves like a plain variable of one thread.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "headrace/lockfree/futex.hpp"
#include "support/execution.hpp"

namespace headrace::test {

template <class T>
class ExploredAtomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  using Order = std::memory_order;

 public:
  ExploredAtomic() noexcept : ExploredAtomic(T{}) {}
  ExploredAtomic(T value) noexcept : value_(value) {  // NOLINT: as std::atomic
    if (Execution* const run = Execution::active(); run != nullptr && run->memory() != nullptr) {
      location_ = std::make_unique<MemoryModel::Location>();
      run->memory()->begin(*location_, run->self(), to_bits(value));
    }
  }
  ExploredAtomic(const ExploredAtomic&) = delete;
  ExploredAtomic& operator=(const ExploredAtomic&) = delete;

  T load(Order order = Order::seq_cst) const noexcept {
    Execution* const run = Execution::active();
    if (run == nullptr) return value_;
    run->point();
    const T value = location_ == nullptr ? value_ : read(*run, order, nullptr);
    if (run->tracing()) run->note(this, "load " + text(value) + name(order));
    return value;
  }
  void store(T value, Order order = Order::seq_cst) noexcept {
    Execution* const run = Execution::active();
    if (run != nullptr) {
      run->point();
      if (location_ != nullptr) run->memory()->store(*location_, run->self(), order, to_bits(value));
      if (run->tracing()) run->note(this, "store " + text(value) + name(order));
      run->wrote();
    }
    value_ = value;
  }
  T exchange(T value, Order order = Order::seq_cst) noexcept {
    return modify(order, "exchange", [&](T) { return value; });
  }
  T fetch_add(T n, Order order = Order::seq_cst) noexcept {
    return modify(order, "fetch_add", [&](T old) { return static_cast<T>(old + n); });
  }
  T fetch_sub(T n, Order order = Order::seq_cst) noexcept {
    return modify(order, "fetch_sub", [&](T old) { return static_cast<T>(old - n); });
  }
  T fetch_or(T bits, Order order = Order::seq_cst) noexcept {
    return modify(order, "fetch_or", [&](T old) { return static_cast<T>(old | bits); });
  }
  T fetch_and(T bits, Order order = Order::seq_cst) noexcept {
    return modify(order, "fetch_and", [&](T old) { return static_cast<T>(old & bits); });
  }
  bool compare_exchange_strong(T& expected, T wanted, Order success, Order failure) noexcept {
    return compare_exchange(expected, wanted, success, failure, false);
  }
  bool compare_exchange_weak(T& expected, T wanted, Order success, Order failure) noexcept {
    return compare_exchange(expected, wanted, success, failure, true);
  }
  bool compare_exchange_strong(T& expected, T wanted, Order order = Order::seq_cst) noexcept {
    return compare_exchange(expected, wanted, order, on_failure(order), false);
  }
  bool compare_exchange_weak(T& expected, T wanted, Order order = Order::seq_cst) noexcept {
    return compare_exchange(expected, wanted, order, on_failure(order), true);
  }
  operator T() const noexcept { return load(); }  // NOLINT: as std::atomic

  /// The newest value, without a decision: for the explorer and for programs.
  T peek() const noexcept { return value_; }

 private:
  static std::uint64_t to_bits(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T from_bits(std::uint64_t bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static Order on_failure(Order success) noexcept {
    return success == Order::acq_rel ? Order::acquire : success == Order::release ? Order::relaxed : success;
  }
  static std::string text(T value) { return std::to_string(to_bits(value)); }
  static std::string name(Order order) {
    static constexpr const char* names[] = {" relaxed", " consume", " acquire", " release", " acq_rel", " seq_cst"};
    return names[static_cast<int>(order)];
  }

  // A value from the history; not `unless`, where given (and some other one can be read).
  T read(Execution& run, Order order, const T* unless) const noexcept {
    MemoryModel& memory = *run.memory();
    const unsigned n = memory.choices(*location_, run.self(), order);
    unsigned back = 0;
    if (unless == nullptr) {
      back = run.stale(n);
    } else {
      back = back_to_another(n, run, *unless);
    }
    std::uint64_t bits = 0;
    if (!memory.load(*location_, run.self(), order, back, bits))
      run.fail("an atomic object is used by a thread that its construction did not happen before");
    return from_bits(bits);
  }
  // The values a failed exchange may have read: those that differ from what was expected.
  unsigned back_to_another(unsigned n, Execution& run, T expected) const noexcept {
    unsigned backs[8];
    unsigned found = 0;
    for (unsigned back = 0; back < n && found < 8; ++back) {
      const auto& store = location_->stores[location_->stores.size() - 1 - back];
      if (from_bits(store.bits) != expected) backs[found++] = back;
    }
    return backs[run.stale(found)];  // the newest differs, so there is one
  }

  template <class Change>
  T modify(Order order, const char* what, Change&& change) noexcept {
    Execution* const run = Execution::active();
    if (run != nullptr) run->point();
    const T old = value_;
    value_ = change(old);
    if (run != nullptr) {
      if (location_ != nullptr) run->memory()->read_modify_write(*location_, run->self(), order, to_bits(value_));
      if (run->tracing()) run->note(this, std::string(what) + " " + text(old) + " -> " + text(value_) + name(order));
      run->wrote();
    }
    return old;
  }
  bool compare_exchange(T& expected, T wanted, Order success, Order failure, bool weak) noexcept {
    Execution* const run = Execution::active();
    if (run != nullptr) run->point();
    // A weak exchange may fail although the value is as expected.
    const bool spurious = weak && run != nullptr && value_ == expected && run->stale(2) != 0;
    if (value_ == expected && !spurious) {
      modify_now(run, wanted, success);
      return true;
    }
    const T before = expected;
    if (run != nullptr && location_ != nullptr && !spurious) {
      expected = read(*run, failure, &before);
    } else {
      expected = value_;
    }
    if (run != nullptr && run->tracing())
      run->note(this, "exchange fails: " + text(expected) + ", not " + text(before) + name(failure));
    return false;
  }
  void modify_now(Execution* run, T wanted, Order order) noexcept {
    if (run != nullptr) {
      if (location_ != nullptr) run->memory()->read_modify_write(*location_, run->self(), order, to_bits(wanted));
      if (run->tracing()) run->note(this, "exchanges " + text(value_) + " -> " + text(wanted) + name(order));
      run->wrote();
    }
    value_ = wanted;
  }

  T value_;
  std::unique_ptr<MemoryModel::Location> location_;
};

}  // namespace headrace::test

namespace headrace::detail {

/// The kernel compares with the newest value, and wakes in any order it likes (here: the lowest number first). A sleep
/// and a wake order nothing else. Time does not pass: a sleep expires only when nobody can run (execution.hpp).
template <>
struct Futex<test::ExploredAtomic> {
  static bool wait(const test::ExploredAtomic<std::uint64_t>& word, std::uint32_t expected,
                   std::chrono::nanoseconds /*at_most: no clock here*/) noexcept {
    test::Execution* const run = test::Execution::active();
    if (run == nullptr) return false;
    run->point();
    if (static_cast<std::uint32_t>(word.peek() >> 32) != expected) return true;
    if (run->tracing()) run->note(&word, "sleeps");
    return run->sleep(&word);
  }
  static void wake(const test::ExploredAtomic<std::uint64_t>& word, int count) noexcept {
    test::Execution* const run = test::Execution::active();
    if (run == nullptr) return;
    run->point();
    if (run->tracing()) run->note(&word, "wakes up to " + std::to_string(count));
    run->wake(&word, count);
  }
};

}  // namespace headrace::detail
