// What an engine's user provides: a job, and what the job is told.
#pragma once
#include <concepts>
#include <cstdint>

namespace headrace {

/// The most parts one item can have. open() returning more is an error, never a wrap.
inline constexpr unsigned max_parts = (1u << 14) - 1;

/// What a part is told about how it came to run.
struct PartInfo {
  bool stolen = false;  ///< another thread than the one that opened the item runs it
  bool helped = false;  ///< the waiting consumer runs it
};

/// A job makes steps. A step has items; an item has a prefix, run once by open(), and parts, run by any threads, each
/// once. Items and parts of different slots, and parts of one item, run at the same time.
///
///   using Slot = ...;                               the memory of one step, reused
///   unsigned bind(step, slot) noexcept;             on the consumer's thread, before the step may start: prepares the
///                                                   slot; the number of items, 1 to `batch`; 0: there are no more
///                                                   steps
///   unsigned open(step, item, slot) noexcept;       the prefix; the number of parts, 0 to max_parts
///   void part(step, item, part, slot, info) noexcept;
/// Optional:
///   Slot make_slot(index);                          makes slot `index`, once; without it slots are value-initialised
///   void refuse(step, item, slot, parts) noexcept;  open() returned more than max_parts; the item has no parts
///   std::uint64_t group_end(step) const noexcept;   on the consumer's thread, for a step that is bound: in completion
///                                                   order no step from this one on is delivered before `step`
///
/// Bodies are noexcept: an error is a value that the job records in the slot. Steps count up for ever; a restart goes
/// on counting, so no step number is ever used twice.
template <class Job>
concept EngineJob = requires(Job& job, std::uint64_t step, unsigned n, typename Job::Slot& slot, PartInfo info) {
  { job.bind(step, slot) }
  noexcept->std::same_as<unsigned>;
  { job.open(step, n, slot) }
  noexcept->std::same_as<unsigned>;
  { job.part(step, n, n, slot, info) }
  noexcept->std::same_as<void>;
};

}  // namespace headrace
