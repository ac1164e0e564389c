// The record and the memory of one step: what workers write and the trainer reads.
#pragma once

#include <atomic>
#include <headrace/loader/error.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/transform/plan_box.hpp>
#include <memory>
#include <vector>

#include "slot_layout.hpp"

namespace headrace::detail {

// One item of a step. Written by the thread that opened it, then read by those that run its parts.
struct SlotItem {
  std::uint64_t position = 0;
  std::uint64_t index = 0;
  std::uint64_t stream_item = 0;
  Sample sample;
  bool failed = false;
  ItemFailure failure{};                     // held in place: reporting that memory ran out must need none
  std::atomic<std::uint32_t> parts_left{0};  // the last part lets go of the item's volumes
};

// One output. Written by the thread that runs the part.
struct SlotPatch {
  Sample sample;  // numbers, texts, affines, paths; tensors are in the slab (or here, for lists)
  std::unique_ptr<StorageBlock[]> blocks;  // per place: the sample's piece of the slab, while ops write to it
  bool failed = false;
  ItemFailure failure{};
  std::vector<PlanBox> plans;  // per op, when kept
};

struct BatchSlot {
  BatchSlot() = default;
  BatchSlot(const BatchSlot&) = delete;
  BatchSlot& operator=(const BatchSlot&) = delete;
  // Pieces of the slab that an op kept (a fault, reported in the item's place) stay valid until it lets go of them.
  virtual ~BatchSlot();
  // Gives the slot back to the engine; called once when the trainer's last handle has gone.
  virtual void give_back() noexcept = 0;

  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  std::uint32_t items = 0;
  std::uint32_t parts = 1;
  std::shared_ptr<const SlotLayout> layout;
  Storage slab;
  std::unique_ptr<SlotItem[]> item_table;
  std::unique_ptr<SlotPatch[]> patch_table;
  std::size_t patches = 0;  // in patch_table

  // The trainer's lease: counted by the batch and the tensors taken from it.
  StorageBlock lease;

  std::size_t samples() const noexcept { return std::size_t{items} * parts; }
  // Fresh handles for a sample's pieces of the slab; those somebody kept become his, read-only.
  void renew_pieces(std::size_t sample);
  std::unique_ptr<StorageBlock[]> make_pieces(std::size_t sample) const;
  // Lets go of what the samples hold (a list batch's volumes above all), so that a slot that waits to be bound again
  // keeps nothing but its slab.
  void drop_samples() noexcept;
  // The lowest failure in (item, patch) order, or null.
  const ItemFailure* first_failure() const noexcept;
};

// Asks for the slot's memory and touches all of it.
void prepare_slot(BatchSlot& slot, std::shared_ptr<const SlotLayout> layout, std::uint32_t batch_size,
                  std::uint32_t parts, std::size_t ops_with_plans);

}  // namespace headrace::detail
