#include <headrace/loader/loader.hpp>

#include <headrace/runtime/engine.hpp>

#include "loader_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace headrace {
namespace {

using Engine = headrace::Engine<detail::LoaderJob>;

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) : std::size_t{1} << 32;
}

void check(const LoaderOptions& o, std::uint64_t items) {
  if (items == 0) throw std::invalid_argument("the dataset has no items");
  if (o.batch_size == 0) throw std::invalid_argument("batch_size is 0: expected at least 1");
  if (o.drop_last && o.batch_size > items)
    throw std::invalid_argument("with drop_last a batch_size of " + std::to_string(o.batch_size) + " leaves nothing of " + std::to_string(items) + " items");
  if (o.hold == 0) throw std::invalid_argument("hold is 0: expected at least 1, the batch that next() returns");
  if (o.epochs && *o.epochs == 0) throw std::invalid_argument("epochs is 0: expected at least 1");
}

// The steps in flight: as asked, or enough for four items per thread, within the memory budget.
unsigned choose_window(const LoaderOptions& o, std::size_t slot_bytes, std::uint64_t steps_per_epoch) {
  const std::uint64_t threads = std::max(1u, o.threads);
  std::uint64_t window = o.window ? o.window : std::clamp<std::uint64_t>((4 * threads + o.batch_size - 1) / o.batch_size, 2, 1024);
  if (!o.window) window = std::min(window, std::max<std::uint64_t>(2, 2 * steps_per_epoch));
  if (slot_bytes == 0) return static_cast<unsigned>(window);
  const std::size_t budget = o.memory_budget ? o.memory_budget : physical_memory() / 4;
  const std::uint64_t slots = budget / slot_bytes;
  if (slots < std::uint64_t{o.hold} + 1)
    throw std::invalid_argument("memory_budget allows " + std::to_string(slots) + " steps of " + std::to_string(slot_bytes) + " bytes, but hold = " +
                                std::to_string(o.hold) + " batches and one step in the making are needed: " + std::to_string(slot_bytes * (o.hold + 1)) +
                                " bytes at least (of " + std::to_string(budget) + ")");
  return static_cast<unsigned>(std::min<std::uint64_t>(window, slots - o.hold));
}

}  // namespace

struct Loader::State {
  State(Dataset dataset, Pipeline pipeline, const LoaderOptions& options, Sampler sampler)
      : layout(std::make_shared<const detail::SlotLayout>(
            detail::make_layout(dataset.spec(), pipeline, std::uint64_t{options.batch_size} * pipeline.parts()))),
        window(choose_window(options, layout->bytes, (sampler.size() + options.batch_size - 1) / options.batch_size)),
        hold(options.hold),
        epochs(options.epochs),
        job(std::make_shared<detail::LoaderJob>(std::move(dataset), std::move(pipeline), std::move(sampler), options, layout,
                                                std::make_shared<detail::ScratchPool>(std::max<std::size_t>(layout->largest_scratch, 64), scratch_slabs(options)))),
        engine(job, EngineOptions{.threads = options.threads,
                                  .window = window,
                                  .hold = options.hold,
                                  .batch = options.batch_size,
                                  .help = options.help,
                                  .shutdown_timeout = options.shutdown_timeout}) {}

  // Two intermediate results per tensor for each thread that can be inside an op.
  std::uint32_t scratch_slabs(const LoaderOptions& options) const {
    return static_cast<std::uint32_t>((std::min(options.threads, 255u) + 1) * (layout->places.size() + 1));
  }

  bool at_end() const noexcept { return step == job->steps_per_epoch(); }

  // Hands a delivered slot to the trainer, or throws its first error.
  Batch deliver(Engine::Lease lease) {
    detail::BatchSlot& slot = *lease.slot();
    if (slot.epoch != epoch || slot.step != step) throw std::logic_error("a step came out of order: this is a bug in the loader");
    ++step;
    if (const ItemFailure* failure = slot.first_failure()) throw ItemError(*failure);
    // The lease lives in the slot until the last tensor is gone.
    slot.give_back = [held = std::make_shared<Engine::Lease>(std::move(lease))]() mutable { held.reset(); };
    return Batch(&slot, Storage::adopt(slot.lease));
  }

  std::shared_ptr<const detail::SlotLayout> layout;
  unsigned window;
  unsigned hold;
  std::optional<std::uint32_t> epochs;
  std::shared_ptr<detail::LoaderJob> job;
  Engine engine;

  // The next step to deliver.
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;
  bool iterating = false;
};
