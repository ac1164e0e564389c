// Batch: the trainer's lease on one step's memory.
//
// batch["image"] is a tensor [samples, C, n0, n1, n2] over the slot itself: no copy. The lease is shared by the batch
// and by every tensor taken from it; the slot goes back to the loader when the last of them goes, on any thread. A
// batch outlives its loader. Samples are in the order of their items, an item's patches together.
//
// Where volumes keep their own shapes (no crop), there is no common slot: the batch is a list, sample(i) has the
// tensors, and batch["image"] works for a batch of one sample.
//
// Thread-safety: as a value. Progress: taking tensors and letting go are wait-free.
#pragma once

#include <cstdint>
#include <headrace/sample/sample.hpp>
#include <headrace/transform/plan_box.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

namespace detail {
struct BatchSlot;
}

class Batch {
 public:
  Batch() noexcept = default;

  std::uint64_t epoch() const noexcept;
  std::uint64_t step() const noexcept;  // within the epoch
  // Samples in the batch: items x patches per item.
  std::size_t size() const noexcept;
  std::size_t items() const noexcept;
  // False for a list of samples of differing shapes.
  bool collated() const noexcept;

  // One field of all samples. Tensors keep their type; numbers become f64 and integers i64 tensors [samples].
  // Throws std::invalid_argument for a field that is not there or cannot be collated, naming those that can.
  Tensor operator[](std::string_view field) const;
  // A text field of all samples.
  std::vector<std::string> texts(std::string_view field) const;

  // One sample: its tensors (views of the batch), affines, paths, and origin (epoch, position, index, patch).
  Sample sample(std::size_t i) const;
  const Origin& origin(std::size_t i) const;
  // What op `op` (its position in the pipeline) decided for sample i; needs LoaderOptions::keep_plans. Empty for an op
  // without a plan.
  const PlanBox& plan(std::size_t i, std::size_t op) const;

  explicit operator bool() const noexcept { return slot_ != nullptr; }

 private:
  friend class Loader;
  Batch(detail::BatchSlot* slot, Storage lease) noexcept : slot_(slot), lease_(std::move(lease)) {}

  detail::BatchSlot* slot_ = nullptr;
  Storage lease_;  // holds the slot, and through it whatever the slot needs
};

}  // namespace headrace
