// What the loader's engine runs: binds steps to slots, reads items, runs the pipeline, puts samples into the slab.
#pragma once

#include <atomic>
#include <cstdint>
#include <headrace/dataset/dataset.hpp>
#include <headrace/dataset/sampler.hpp>
#include <headrace/loader/options.hpp>
#include <headrace/runtime/job.hpp>
#include <headrace/transform/pipeline.hpp>
#include <memory>
#include <optional>

#include "batch_slot.hpp"
#include "scratch_pool.hpp"

namespace headrace::detail {

struct LoaderCounters {
  std::atomic<std::uint64_t> slot_bytes{0};     // written into slabs
  std::atomic<std::uint64_t> scratch_bytes{0};  // written to intermediate memory
  std::atomic<std::uint64_t> patches{0};
};

class LoaderJob {
 public:
  using Slot = std::unique_ptr<BatchSlot>;

  LoaderJob(Dataset dataset, Pipeline pipeline, Sampler sampler, const LoaderOptions& options,
            std::shared_ptr<const SlotLayout> layout, std::shared_ptr<ScratchPool> scratch);

  Slot make_slot(unsigned index);
  unsigned bind(std::uint64_t step, Slot& slot) noexcept;
  unsigned open(std::uint64_t step, unsigned item, Slot& slot) noexcept;
  void part(std::uint64_t step, unsigned item, unsigned part, Slot& slot, PartInfo info) noexcept;

  // The engine's step with which the epoch after that of `step` begins: epochs do not mix in completion order.
  std::uint64_t group_end(std::uint64_t step) const noexcept;

  // Consumer's side, on its thread and only while nothing is bound after the call's effect (the engine restarts).
  void seek(std::uint64_t epoch, std::uint64_t step);

  std::uint64_t steps_per_epoch() const noexcept { return steps_per_epoch_; }
  std::uint64_t epoch_end() const noexcept { return epoch_end_; }
  const Pipeline& pipeline() const noexcept { return pipeline_; }
  LoaderCounters& counters() noexcept { return counters_; }
  ScratchPool& scratch() noexcept { return *scratch_; }

 private:
  class Place;

  // What an error should name as the file concerned, where the error does not say.
  void name_path(ItemFailure& failure, const Sample& sample) const noexcept;

  const Dataset dataset_;
  const std::uint64_t items_;
  const Pipeline pipeline_;
  const Sampler sampler_;
  const std::uint64_t seed_;
  const std::uint32_t batch_size_;
  const std::uint64_t steps_per_epoch_;
  const std::uint64_t epoch_end_;  // the first epoch that is not made
  const bool keep_plans_;
  const std::shared_ptr<const SlotLayout> layout_;
  const std::shared_ptr<ScratchPool> scratch_;
  LoaderCounters counters_;

  // The next step to bind.
  std::uint64_t epoch_ = 0;
  std::uint64_t step_ = 0;
  // The engine's number for step 0 of the epoch that was sought, modulo 2^64; once a step is bound.
  std::optional<std::uint64_t> first_number_;
  EpochOrder order_;  // of epoch_ when ordered_; before, its memory is used again
  bool ordered_ = false;
};

}  // namespace headrace::detail
