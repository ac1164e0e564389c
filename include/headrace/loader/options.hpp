// How a Loader works. None of these change what a sample is, except seed, shuffle, batch_size and drop_last (which
// samples, in which order, in which batch): results do not depend on threads, window, hold, help, order or memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <headrace/dataset/sampler.hpp>
#include <headrace/runtime/engine_types.hpp>
#include <headrace/runtime/processors.hpp>
#include <optional>
#include <variant>

namespace headrace {

// Batches come as step 0, 1, 2, ... of the epoch: the same sequence in every run.
struct Sequence {};

// Batches come as they are done: next() gives the lowest step that is complete among the oldest one that has not come
// and the `span` steps after it, so a slow item does not hold up the others. The same batches with the same bits come,
// each once per epoch (equal set digests); which order they come in may differ from run to run, and Batch::step() says
// which one came. A step is overtaken by at most `span` others, and never by one of the next epoch.
// `span`: 0 (as Sequence) to 256; more is an error. No more than `window` steps are in the making at a time, whatever
// the span, so it takes no more memory; with window = 1, or without workers, the order is that of Sequence.
struct Completion {
  std::uint32_t span = 8;
};

using Order = std::variant<Sequence, Completion>;

// help_ahead: a waiting consumer that finds its step in other hands would sleep; instead it makes a patch, or an item, of a
// later step. That is worth it where the consumer's processor has nothing better to do (batches of one item and few
// threads: up to twice the throughput with threads = 1). The price: a batch that gets ready meanwhile waits until that
// patch or item is done.
struct LoaderOptions {
  std::uint32_t batch_size = 1;  // items per step; a batch has batch_size x (patches per item) samples
  bool shuffle = false;
  std::uint64_t seed = 0;
  unsigned threads = default_threads();   // worker threads; 0 does everything in the consumer: the reference
  unsigned window = 0;                    // steps in flight; 0: at least four items per thread within the memory budget
  unsigned hold = 2;                      // batches the trainer may keep at once
  bool help = true;                       // a waiting consumer works on the oldest step that has not come
  bool help_ahead = false;                // and on later ones, when all of it is in other hands: see below
  Order order = Sequence{};               // the order of an epoch's batches: Sequence{} or Completion{span}
  bool drop_last = false;                 // an epoch's incomplete last step is left out
  std::optional<std::uint32_t> epochs{};  // prefetch ends after this many epochs; without it, it runs on into the next
  std::optional<Sampler> sampler{};       // instead of shuffle
  std::size_t memory_budget = 0;  // bytes for batch slots and pooled scratch; 0: a quarter of the machine's memory
  bool keep_plans = false;        // keep every random decision: batch.plan(i, op)
  std::chrono::milliseconds shutdown_timeout{10000};       // how long destruction waits for user code in flight
  std::function<void(const ShutdownReport&)> on_detach{};  // called by the destructor when that was not enough
};

}  // namespace headrace
