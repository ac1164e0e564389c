// CacheDataset: a dataset behind a deterministic pipeline, each item computed once and kept, immutable, for everyone.
//
// The first request of an item computes it; results are put in place by one CAS, so a second thread that wanted the
// same item at the same time drops its own copy and nobody ever waits. fill() computes all of them ahead on several
// threads. Cached tensors are read-only: a transform that writes gets its own copy (of what it writes, not of the
// volume).
//
// When not to use it: for random transforms (refused), or where the items do not fit: beyond the byte budget items are
// computed anew each time, which stats() shows.
//
// Invariants
//   I1  bytes() <= memory_budget at every moment.
//   I2  an item once in place never changes and never leaves before the cache goes.
// Errors: std::invalid_argument for a random or one-to-many op. An item that fails is not cached: its error comes in
// its place each time. With `check_files`, an item whose files changed after it was cached is an error that says so:
// the epoch would no longer be a function of the data on disk. Thread-safety: const, any number of threads. Progress: a
// hit is wait-free; a miss costs the computation.
#pragma once

#include <functional>
#include <headrace/dataset/dataset.hpp>
#include <headrace/transform/pipeline.hpp>
#include <memory>
#include <string>
#include <vector>

namespace headrace {

struct CacheOptions {
  std::size_t memory_budget = static_cast<std::size_t>(-1);  // bytes of cached voxels; the default is no limit
  bool check_files = true;                                   // one stat() per file and access
};

struct CacheStats {
  std::uint64_t items = 0;  // in place now
  std::size_t bytes = 0;    // of their voxels
  std::uint64_t hits = 0;
  std::uint64_t computed = 0;  // misses, including results that were dropped or did not fit
  std::uint64_t refused = 0;   // results that did not fit the budget
};

// One item that could not be made.
struct FillError {
  std::uint64_t index = 0;
  std::string path{};
  std::string message{};
};

class CacheDataset {
 public:
  CacheDataset(Dataset source, Pipeline pipeline, CacheOptions options = {});

  std::uint64_t size() const;
  Sample operator()(std::uint64_t index) const;
  void read(std::uint64_t index, Sample& into) const;
  SampleSpec spec() const;
  std::string path_of(std::uint64_t index) const;
  std::string describe() const;

  // Computes what is missing on `threads` threads (0: on the calling one). `progress(done, size)` is called on the
  // calling thread. Returns the items that failed, in order of index; they will fail again in their place. Throws what
  // `progress` throws.
  std::vector<FillError> fill(unsigned threads,
                              const std::function<void(std::uint64_t done, std::uint64_t size)>& progress = {}) const;

  CacheStats stats() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace headrace
