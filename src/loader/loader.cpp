#include <unistd.h>

#include <algorithm>
#include <headrace/loader/loader.hpp>
#include <stdexcept>

#include "loader_slot.hpp"

namespace headrace {
namespace {

constexpr std::uint32_t max_span = 256;

std::uint32_t span_of(const Order& order) noexcept {
  const Completion* completion = std::get_if<Completion>(&order);
  return completion ? completion->span : 0;
}

std::size_t physical_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size)
                               : std::size_t{1} << 32;
}

void check(const LoaderOptions& o, std::uint64_t dataset_items, std::uint64_t items) {
  if (dataset_items == 0) throw std::invalid_argument("the dataset has no items");
  if (items == 0) throw std::invalid_argument("the sampler has no items");
  if (dataset_items - 1 > max_stream_item || items - 1 > max_stream_item)
    throw std::invalid_argument("a dataset of " + std::to_string(std::max(dataset_items, items)) +
                                " items is larger than random addresses reach: expected at most 2^44");
  if (o.batch_size == 0) throw std::invalid_argument("batch_size is 0: expected at least 1");
  if (o.drop_last && o.batch_size > items)
    throw std::invalid_argument("with drop_last a batch_size of " + std::to_string(o.batch_size) +
                                " leaves nothing of " + std::to_string(items) + " items");
  if (o.hold == 0) throw std::invalid_argument("hold is 0: expected at least 1, the batch that next() returns");
  if (o.epochs && *o.epochs == 0) throw std::invalid_argument("epochs is 0: expected at least 1");
  if (const std::uint32_t span = span_of(o.order); span > max_span)
    throw std::invalid_argument("order = Completion{" + std::to_string(span) + "}: expected a span of at most " +
                                std::to_string(max_span));
}

// The steps in flight: as asked, or enough for four items per thread, within the memory budget.
unsigned choose_window(const LoaderOptions& o, std::size_t slot_bytes, std::size_t scratch_bytes,
                       std::uint64_t steps_per_epoch) {
  const std::uint64_t threads = std::max(1u, o.threads);
  std::uint64_t window =
      o.window ? o.window : std::clamp<std::uint64_t>((4 * threads + o.batch_size - 1) / o.batch_size, 2, 1024);
  if (!o.window) window = std::min(window, std::max<std::uint64_t>(2, 2 * steps_per_epoch));
  const std::size_t budget = o.memory_budget ? o.memory_budget : physical_memory() / 4;
  if (scratch_bytes > budget)
    throw std::invalid_argument("memory_budget of " + std::to_string(budget) + " bytes is below the " +
                                std::to_string(scratch_bytes) + " bytes for intermediate tensors of " +
                                std::to_string(o.threads) + " threads");
  if (slot_bytes == 0) return static_cast<unsigned>(window);
  const std::uint64_t slots = (budget - scratch_bytes) / slot_bytes;
  if (slots < std::uint64_t{o.hold} + 1)
    throw std::invalid_argument(
        "memory_budget allows " + std::to_string(slots) + " steps of " + std::to_string(slot_bytes) +
        " bytes, but hold = " + std::to_string(o.hold) + " batches and one step in the making are needed: " +
        std::to_string(slot_bytes * (std::uint64_t{o.hold} + 1)) + " bytes at least" +
        (scratch_bytes == 0 ? "" : ", and " + std::to_string(scratch_bytes) + " for intermediate tensors") + " (of " +
        std::to_string(budget) + ")");
  return static_cast<unsigned>(std::min<std::uint64_t>(window, slots - o.hold));
}

}  // namespace

struct Loader::State {
  State(Dataset dataset, Pipeline pipeline, const LoaderOptions& options, Sampler sampler)
      : layout(std::make_shared<const detail::SlotLayout>(
            detail::make_layout(dataset.spec(), pipeline, std::uint64_t{options.batch_size} * pipeline.parts()))),
        scratch_slabs(count_scratch_slabs(options, *layout)),
        window(choose_window(options, layout->bytes, detail::ScratchPool::bytes_for(scratch_bytes(), scratch_slabs),
                             (sampler.size() + options.batch_size - 1) / options.batch_size)),
        in_sequence(span_of(options.order) == 0),
        job(std::make_shared<detail::LoaderJob>(std::move(dataset), std::move(pipeline), std::move(sampler), options,
                                                layout,
                                                std::make_shared<detail::ScratchPool>(scratch_bytes(), scratch_slabs))),
        engine(job, EngineOptions{.threads = options.threads,
                                  .window = window,
                                  .hold = options.hold,
                                  .batch = options.batch_size,
                                  .span = span_of(options.order),
                                  .help = options.help,
                                  .help_ahead = options.help_ahead,
                                  .shutdown_timeout = options.shutdown_timeout,
                                  .on_detach = options.on_detach}) {}

  // Where ops ask for any: an intermediate result per tensor, and one more, for each thread that can be inside an op.
  static std::uint32_t count_scratch_slabs(const LoaderOptions& options, const detail::SlotLayout& layout) {
    if (!layout.needs_scratch) return 0;
    return static_cast<std::uint32_t>((std::min(options.threads, 255u) + 1) * (layout.places.size() + 1));
  }
  // Of one of them.
  std::size_t scratch_bytes() const noexcept { return std::max<std::size_t>(layout->largest_scratch, 64); }

  bool at_end() const noexcept { return abandoned || delivered == job->steps_per_epoch(); }

  // Hands a delivered slot to the trainer, or throws its first error.
  Batch deliver(detail::LoaderEngine::Lease lease) {
    auto& slot = static_cast<detail::LoaderSlot&>(**lease);
    if (slot.epoch != epoch || (in_sequence && slot.step != delivered))
      throw std::logic_error("a step came out of order: this is a bug in the loader");
    ++delivered;
    if (const ItemFailure* failure = slot.first_failure()) {
      ItemError error(*failure);
      slot.drop_samples();
      throw error;
    }
    slot.held = std::move(lease);
    return Batch(&slot, Storage::adopt(slot.lease));
  }

  std::shared_ptr<const detail::SlotLayout> layout;
  std::uint32_t scratch_slabs;
  unsigned window;
  bool in_sequence;
  std::shared_ptr<detail::LoaderJob> job;
  detail::LoaderEngine engine;

  std::uint64_t epoch = 0;
  std::uint64_t delivered = 0;  // steps of the epoch, errors too
  bool iterating = false;
  bool abandoned = false;  // a loop left the current epoch early: nothing is in flight until another is asked for
};

Loader::Loader(Dataset dataset, Pipeline pipeline, LoaderOptions options) {
  Sampler sampler = options.sampler   ? *options.sampler
                    : options.shuffle ? Sampler::shuffled(dataset.size(), options.seed)
                                      : Sampler::sequential(dataset.size());
  check(options, dataset.size(), sampler.size());
  // A step is never larger than the epoch: no memory is asked for what cannot come.
  options.batch_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(options.batch_size, sampler.size()));
  state_ = std::make_unique<State>(std::move(dataset), std::move(pipeline), options, std::move(sampler));
}

Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  if (state_->at_end()) return std::nullopt;
  detail::LoaderEngine::Lease lease = state_->engine.next();
  if (!lease) return std::nullopt;
  return state_->deliver(std::move(lease));
}

Polled Loader::next_for(std::chrono::nanoseconds timeout) {
  if (state_->at_end()) return {};
  auto [status, lease] = state_->engine.next_for(timeout);
  if (status != NextStatus::ready) return {.status = status, .batch = {}};
  return {.status = status, .batch = state_->deliver(std::move(lease))};
}

Polled Loader::try_next() {
  if (state_->at_end()) return {};
  auto [status, lease] = state_->engine.try_next();
  if (status != NextStatus::ready) return {.status = status, .batch = {}};
  return {.status = status, .batch = state_->deliver(std::move(lease))};
}

Loader::Epoch Loader::epoch(std::uint32_t e) {
  State& s = *state_;
  if (s.iterating)
    throw std::logic_error("a loader iterates one epoch at a time: the range of epoch " + std::to_string(s.epoch) +
                           " is still alive");
  if (e >= s.job->epoch_end())
    throw std::out_of_range("epoch " + std::to_string(e) + " was asked for, but the loader ends before epoch " +
                            std::to_string(s.job->epoch_end()));
  const bool here = e == s.epoch && s.delivered == 0 && !s.abandoned;
  const bool follows = e == s.epoch + 1 && s.at_end() && !s.abandoned;
  if (here || follows)
    s.engine.start();
  else
    s.engine.restart([e](detail::LoaderJob& job) { job.seek(e, 0); });
  s.epoch = e;
  s.delivered = 0;
  s.abandoned = false;
  s.iterating = true;
  return Epoch(*this);
}

std::uint64_t Loader::steps_per_epoch() const noexcept { return state_->job->steps_per_epoch(); }
std::uint32_t Loader::parts() const noexcept { return state_->job->pipeline().parts(); }
const SampleSpec& Loader::spec() const noexcept { return state_->layout->spec; }

LoaderStats Loader::stats() const {
  const State& s = *state_;
  detail::LoaderCounters& c = s.job->counters();
  LoaderStats stats;
  stats.engine = s.engine.stats();
  stats.threads = stats.engine.threads;
  stats.window = s.window;
  stats.slots = s.engine.slots();
  stats.slot_bytes = s.layout->bytes;
  stats.scratch_bytes = detail::ScratchPool::bytes_for(s.scratch_bytes(), s.scratch_slabs);
  stats.patches = c.patches.load(std::memory_order_relaxed);                 // relaxed: statistics
  stats.bytes_to_slots = c.slot_bytes.load(std::memory_order_relaxed);       // relaxed: statistics
  stats.bytes_to_scratch = c.scratch_bytes.load(std::memory_order_relaxed);  // relaxed: statistics
  stats.scratch_from_heap = s.job->scratch().heap_requests();
  return stats;
}

Loader::Epoch::Epoch(Epoch&& o) noexcept
    : loader_(std::exchange(o.loader_, nullptr)), current_(std::move(o.current_)), begun_(o.begun_) {}

Loader::Epoch::~Epoch() {
  if (!loader_) return;
  State& s = *loader_->state_;
  s.iterating = false;
  if (!begun_ || s.at_end()) return;
  s.engine.cancel();
  s.abandoned = true;
}

void Loader::Epoch::advance() {
  begun_ = true;
  current_.reset();
  current_ = loader_->next();
}

Loader::Epoch::Iterator Loader::Epoch::begin() {
  if (!current_) advance();
  return Iterator(this);
}

}  // namespace headrace
