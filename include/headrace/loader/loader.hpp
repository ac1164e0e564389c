// Loader: epochs of batches from a dataset and a pipeline, made on many threads, the same bits whatever the threads.
//
//     Loader loader(cached, augment, {.batch_size = 4, .shuffle = true, .seed = 0, .threads = 8});
//     for (std::uint32_t epoch = 0; epoch < 30; ++epoch)
//       for (Batch& batch : loader.epoch(epoch)) step(batch["image"], batch["label"]);
//
// When not to use it: for a few items in a loop; pipeline.run() does that without threads.
//
// Invariants
//   I1  A sample is a function of (seed, epoch, item, patch): not of threads, window, hold, help, time or errors
//       elsewhere.
//   I2  Memory: window + hold slots, made at construction; no more steps than that exist.
//   I3  An epoch ends only when every step has been delivered or its error thrown.
//
// Order: an epoch's batches come in sequence, or as they are done with `order = Completion{span}` (options.hpp).
//
// Errors: a failing item throws ItemError from the next() that would have delivered its batch; the batches before it
// arrive, and the call after it goes on with the step behind it (in completion order: with whatever is done next). The
// other items of the failing step are not delivered; where several of them fail, the first in the step's order is named.
// HoldError when the trainer keeps more than `hold` batches: nothing has changed, let one go and call again. ForkError
// in a forked child.
// Thread-safety: one thread at a time calls a loader's functions; batches and tensors may be used and dropped anywhere.
// Leaving early: leaving a loop over an epoch, asking for another epoch and destruction cancel what is in flight: no
// further item is begun. Only destruction waits for the items being worked on, and gives up on user code after
// `shutdown_timeout`.
#pragma once

#include <chrono>
#include <cstdint>
#include <headrace/dataset/dataset.hpp>
#include <headrace/loader/batch.hpp>
#include <headrace/loader/error.hpp>
#include <headrace/loader/options.hpp>
#include <headrace/runtime/engine_types.hpp>
#include <headrace/runtime/fork_guard.hpp>
#include <headrace/transform/pipeline.hpp>
#include <iterator>
#include <memory>
#include <optional>

namespace headrace {

struct LoaderStats {
  unsigned threads = 0;                 // that really work, of those asked for
  unsigned window = 0;                  // steps in flight at most
  std::uint64_t slots = 0;              // window + hold
  std::size_t slot_bytes = 0;           // each
  std::size_t scratch_bytes = 0;        // pooled for intermediate tensors; 0 where no op asks for any
  std::uint64_t patches = 0;            // made (also those prefetched)
  std::uint64_t bytes_to_slots = 0;     // written into batch memory
  std::uint64_t bytes_to_scratch = 0;   // written to intermediate memory
  std::uint64_t scratch_from_heap = 0;  // intermediate tensors for which pooled memory was too small or taken
  EngineStats engine{};
};

// What next_for() and try_next() found: a batch when status is `ready`.
struct Polled {
  NextStatus status = NextStatus::end;
  Batch batch{};
};

class Loader {
 public:
  class Epoch;

  // Throws std::invalid_argument (no items or more than 2^44, a batch of 0, a larger window or hold than there can be, a
  // span above 256, a step larger than the memory budget), TransformError (the pipeline does not suit the dataset's
  // specification), std::bad_alloc. More threads than the process may have are cut to what it may: see stats().threads.
  Loader(Dataset dataset, Pipeline pipeline, LoaderOptions options = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Epoch e from its first step. Prefetch has usually begun already when e follows the epoch before. Throws
  // std::logic_error while another range of this loader is being iterated, std::out_of_range beyond `epochs`.
  Epoch epoch(std::uint32_t e);

  // The next batch of the current epoch (0 at first); empty at its end, and again when asked again.
  std::optional<Batch> next();
  Polled next_for(std::chrono::nanoseconds timeout);
  Polled try_next();

  std::uint64_t steps_per_epoch() const noexcept;
  // Samples per item.
  std::uint32_t parts() const noexcept;
  // What one sample of a batch looks like.
  const SampleSpec& spec() const noexcept;
  LoaderStats stats() const;

 private:
  friend class Epoch;
  struct State;
  std::unique_ptr<State> state_;
};

// One epoch's batches, each once. Move-only, and not to outlive the loader. Dropping it in the middle of its
// iteration abandons the rest of the epoch: next() then says end until another epoch is asked for. A range that was
// never iterated only chooses the epoch, for next() and its like.
class Loader::Epoch {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;

    Iterator() = default;
    explicit Iterator(Epoch* range) : range_(range) {}
    Batch& operator*() const { return *range_->current_; }
    Batch* operator->() const { return &*range_->current_; }
    // Lets go of the current batch (tensors taken from it stay) and fetches the next one.
    Iterator& operator++() {
      range_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& i, std::default_sentinel_t) { return i.at_end(); }

   private:
    bool at_end() const noexcept { return !range_ || range_->done(); }
    Epoch* range_ = nullptr;
  };

  Epoch(Epoch&& o) noexcept;
  Epoch& operator=(Epoch&&) = delete;
  ~Epoch();

  Iterator begin();
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  friend class Loader;
  explicit Epoch(Loader& loader) : loader_(&loader) {}
  void advance();
  bool done() const noexcept { return !current_; }

  Loader* loader_;
  std::optional<Batch> current_;
  bool begun_ = false;
};

}  // namespace headrace
