// A job of random shapes that checks everything it can see: who is in which slot, what is made, and how often.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "headrace/runtime/float_mode.hpp"
#include "headrace/runtime/job.hpp"

namespace headrace::test {

inline std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 31;
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}

struct Shape {
  std::uint64_t seed = 1;
  std::uint64_t steps = 100;  // of one run; a restart begins a new run
  unsigned batch = 4;
  unsigned most_parts = 5;    // parts are 0 .. most_parts
  unsigned slow_one_in = 64;  // 0: no delays
  bool full_steps = false;    // every step has `batch` items

  [[nodiscard]] unsigned items(std::uint64_t step) const noexcept {
    return full_steps ? batch : 1 + static_cast<unsigned>(mix(step ^ seed) % batch);
  }
  [[nodiscard]] unsigned parts(std::uint64_t step, unsigned item) const noexcept {
    return static_cast<unsigned>(mix((step << 16 | item) ^ seed * 3) % (most_parts + 1));
  }
  void delay(std::uint64_t what) const noexcept {
    if (slow_one_in == 0) return;
    const std::uint64_t m = mix(what ^ seed * 7);
    if (m % slow_one_in != 0) return;
    if (m & 0x10000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20 + (m >> 20) % 60));
  }
};

class CheckedJob {
 public:
  struct Slot {
    explicit Slot(unsigned batch)
        : opened(std::make_unique<std::atomic<std::uint32_t>[]>(batch)),
          made(std::make_unique<std::atomic<std::uint32_t>[]>(batch)),
          sum(std::make_unique<std::atomic<std::uint64_t>[]>(batch)) {}
    std::uint64_t step = ~std::uint64_t{0};
    std::atomic<int> inside{0};                            // threads in open() or part()
    std::unique_ptr<std::atomic<std::uint32_t>[]> opened;  // per item
    std::unique_ptr<std::atomic<std::uint32_t>[]> made;    // per item: parts
    std::unique_ptr<std::atomic<std::uint64_t>[]> sum;     // per item: of part numbers + 1
  };
  struct Faults {
    std::atomic<std::uint64_t> wrong_slot{0}, wrong_mode{0}, overlap{0};
    std::atomic<std::uint64_t> bound{0}, parts_run{0}, stolen{0}, helped{0};
    std::atomic<bool> over{false};  // after shutdown nobody may come
    std::atomic<std::uint64_t> late{0};
  };

  CheckedJob(Shape shape, std::shared_ptr<Faults> faults) : shape_(shape), faults_(std::move(faults)) {}

  [[nodiscard]] Slot make_slot(unsigned) const { return Slot(shape_.batch); }

  unsigned bind(std::uint64_t step, Slot& slot) noexcept {
    if (fresh_) {
      first_ = step;
      fresh_ = false;
    }
    if (slot.inside.load() != 0) ++faults_->overlap;
    if (step - first_ >= shape_.steps) return 0;
    slot.step = step;
    for (unsigned i = 0; i < shape_.batch; ++i) slot.opened[i] = 0, slot.made[i] = 0, slot.sum[i] = 0;
    ++faults_->bound;
    return shape_.items(step);
  }

  unsigned open(std::uint64_t step, unsigned item, Slot& slot) noexcept {
    const Inside inside(*this, slot, step);
    slot.opened[item].fetch_add(1);
    shape_.delay(step << 20 | item);
    return shape_.parts(step, item);
  }

  void part(std::uint64_t step, unsigned item, unsigned k, Slot& slot, PartInfo info) noexcept {
    const Inside inside(*this, slot, step);
    faults_->parts_run.fetch_add(1);
    if (info.stolen) faults_->stolen.fetch_add(1);
    if (info.helped) faults_->helped.fetch_add(1);
    shape_.delay(step << 40 | std::uint64_t{item} << 16 | k);
    slot.sum[item].fetch_add(k + 1);
    slot.made[item].fetch_add(1);
  }

  /// The next step to be bound begins a new run.
  void begin_run() noexcept { fresh_ = true; }
  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }

  /// What is wrong with a delivered step; empty when nothing is.
  [[nodiscard]] std::string wrong(std::uint64_t step, unsigned items, const Slot& slot) const {
    if (slot.step != step)
      return "slot holds step " + std::to_string(slot.step) + ", lease says " + std::to_string(step);
    if (items != shape_.items(step)) return "wrong number of items";
    if (slot.inside.load() != 0) return "somebody is still inside";
    for (unsigned i = 0; i < items; ++i) {
      const std::uint64_t n = shape_.parts(step, i);
      if (slot.opened[i] != 1 || slot.made[i] != n || slot.sum[i] != n * (n + 1) / 2) {
        return "step " + std::to_string(step) + " item " + std::to_string(i) + ": opened " +
               std::to_string(slot.opened[i]) + ", made " + std::to_string(slot.made[i]) + " of " + std::to_string(n);
      }
    }
    return {};
  }

 private:
  struct Inside {
    Inside(const CheckedJob& job, Slot& s, std::uint64_t step) noexcept : slot(s) {
      slot.inside.fetch_add(1);
      if (slot.step != step) ++job.faults_->wrong_slot;
      if (!FloatMode::is_fixed()) ++job.faults_->wrong_mode;
      if (job.faults_->over.load()) ++job.faults_->late;
    }
    ~Inside() { slot.inside.fetch_sub(1); }
    Slot& slot;
  };

  Shape shape_;
  std::shared_ptr<Faults> faults_;
  bool fresh_ = true;
  std::uint64_t first_ = 0;
};

}  // namespace headrace::test
