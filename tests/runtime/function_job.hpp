// A job made of functions, for tests that say in a line what a step is.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "headrace/runtime/engine.hpp"

namespace headrace::test {

struct FunctionJob {
  struct Slot {
    std::uint64_t step = 0;
    std::vector<std::atomic<std::uint32_t>> made = std::vector<std::atomic<std::uint32_t>>(8);
  };
  std::function<unsigned(std::uint64_t)> items = [](std::uint64_t) { return 1u; };
  std::function<unsigned(std::uint64_t, unsigned)> parts = [](std::uint64_t, unsigned) { return 1u; };
  std::function<void(std::uint64_t, unsigned, unsigned, PartInfo)> body = [](std::uint64_t, unsigned, unsigned,
                                                                             PartInfo) {};

  unsigned bind(std::uint64_t step, Slot& slot) noexcept {
    slot.step = step;
    for (auto& m : slot.made) m = 0;
    return items(step);
  }
  unsigned open(std::uint64_t step, unsigned i, Slot&) noexcept { return parts(step, i); }
  void part(std::uint64_t step, unsigned i, unsigned k, Slot& slot, PartInfo info) noexcept {
    body(step, i, k, info);
    slot.made[i % 8].fetch_add(1);
  }
};
/// n steps of so many items.
inline std::function<unsigned(std::uint64_t)> steps(std::uint64_t n, unsigned items = 1) {
  return [=](std::uint64_t s) { return s < n ? items : 0; };
}

}  // namespace headrace::test
