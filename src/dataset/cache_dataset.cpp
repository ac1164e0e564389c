#include <algorithm>
#include <atomic>
#include <headrace/dataset/cache_dataset.hpp>
#include <headrace/io/file.hpp>
#include <headrace/runtime/engine.hpp>
#include <headrace/runtime/float_mode.hpp>
#include <optional>
#include <stdexcept>

namespace headrace {
namespace {

// A cached item with the identity of the files it was made from.
struct Entry {
  Sample sample;
  std::vector<std::pair<std::string, FileStamp>> files;
};

// One ticket per item; the consumer counts them as they come.
struct FillJob {
  struct Slot {
    std::uint64_t index = 0;
    std::optional<FillError> error;
  };
  const CacheDataset cache;  // a handle of its own: a thread that outstays its welcome keeps what it uses
  std::uint64_t next = 0;

  unsigned bind(std::uint64_t, Slot& slot) noexcept {
    if (next == cache.size()) return 0;
    slot.index = next++;
    slot.error.reset();
    return 1;
  }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return 1; }
  void part(std::uint64_t, unsigned, unsigned, Slot& slot, PartInfo) noexcept {
    try {
      (void)cache(slot.index);
    } catch (const std::exception& e) {
      slot.error = error(slot.index, e.what());
    } catch (...) {
      slot.error = error(slot.index, "an exception that is not a std::exception");
    }
  }

  FillError error(std::uint64_t index, const char* message) const noexcept {
    FillError e{.index = index};
    try {
      e.message = message;
      e.path = cache.path_of(index);
    } catch (...) {
      if (e.message.empty()) e.message = "out of memory";
    }
    return e;
  }
};

}  // namespace

struct CacheDataset::State {
  State(Dataset s, Pipeline p, CacheOptions o)
      : source(std::move(s)),
        pipeline(std::move(p)),
        options(o),
        size(source.size()),
        entries(new std::atomic<const Entry*>[size]) {
    for (std::uint64_t i = 0; i < size; ++i)
      entries[i].store(nullptr, std::memory_order_relaxed);  // relaxed: not shared yet
  }
  ~State() {
    for (std::uint64_t i = 0; i < size; ++i)
      delete entries[i].load(std::memory_order_relaxed);  // relaxed: the last owner
  }

  // The item in place, or null after `into` was filled with one that is not kept.
  const Entry* get(std::uint64_t index, Sample& into);
  static void remember(Entry& entry, const std::string& path);
  void check_files(const Entry& entry) const;

  const Dataset source;
  const Pipeline pipeline;
  const CacheOptions options;
  const std::uint64_t size;
  const std::unique_ptr<std::atomic<const Entry*>[]> entries;
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::uint64_t> items{0}, hits{0}, computed{0}, refused{0};
};

void CacheDataset::State::remember(Entry& entry, const std::string& path) {
  FileStamp stamp;
  try {
    stamp = stamp_of(path);
  } catch (const IoError&) {
    return;  // a name that leads to no file here (an address, an archive's member): nothing that could be watched
  }
  entry.files.emplace_back(path, stamp);
}

void CacheDataset::State::check_files(const Entry& entry) const {
  for (const auto& [path, stamp] : entry.files)
    if (!(stamp_of(path) == stamp))
      throw IoError(path,
                    "the file changed after it was cached; expected the contents that were read first (start again to "
                    "read the new ones)");
}

const Entry* CacheDataset::State::get(std::uint64_t index, Sample& into) {
  if (index >= size)
    throw std::out_of_range("item " + std::to_string(index) + " of a dataset of " + std::to_string(size));
  // (C1) acquire, from (C2): the entry's contents
  if (const Entry* entry = entries[index].load(std::memory_order_acquire)) {
    hits.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    if (options.check_files) check_files(*entry);
    return entry;
  }
  computed.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  auto entry = std::make_unique<Entry>();
  {
    const FloatMode mode;  // whoever asks first, the kept bits are the same
    source.read(index, entry->sample);
    // Stamped before the pipeline, which takes time and may drop a field.
    if (options.check_files)
      for (const Field& f : entry->sample.fields())
        if (f.path) remember(*entry, *f.path);
    pipeline.run_item(entry->sample, {});
    entry->sample.freeze();
  }

  // Room is taken before the entry is put in place, so that the budget holds at every moment.
  const std::size_t need = entry->sample.bytes();
  std::size_t taken = bytes.load(std::memory_order_relaxed);  // relaxed: a count; the exchange decides
  for (;;) {
    if (need > options.memory_budget || taken > options.memory_budget - need) {
      refused.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
      into = std::move(entry->sample);
      return nullptr;
    }
    if (bytes.compare_exchange_weak(taken, taken + need, std::memory_order_relaxed))
      break;  // relaxed: only the count matters
  }
  const Entry* expected = nullptr;
  // (C2) release, to (C1); acquire on failure, from another thread's (C2)
  if (entries[index].compare_exchange_strong(expected, entry.get(), std::memory_order_release,
                                             std::memory_order_acquire)) {
    items.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    return entry.release();
  }
  bytes.fetch_sub(need, std::memory_order_relaxed);  // relaxed: only the count matters
  return expected;
}

CacheDataset::CacheDataset(Dataset source, Pipeline pipeline, CacheOptions options) {
  for (std::size_t i = 0; i < pipeline.size(); ++i)
    if (pipeline.op(i).random() || pipeline.op(i).one_to_many())
      throw std::invalid_argument(
          "op " + std::to_string(i) + " (" + pipeline.op(i).name() +
          ") is random or one-to-many and cannot be cached: cache pipeline.deterministic_prefix() and give the "
          "loader pipeline.after_prefix()");
  state_ = std::make_shared<State>(std::move(source), std::move(pipeline), options);
}

std::uint64_t CacheDataset::size() const { return state_->size; }

void CacheDataset::read(std::uint64_t index, Sample& into) const {
  if (const Entry* entry = state_->get(index, into)) into = entry->sample;
}

Sample CacheDataset::operator()(std::uint64_t index) const {
  Sample sample;
  read(index, sample);
  return sample;
}

SampleSpec CacheDataset::spec() const { return state_->pipeline.infer(state_->source.spec()); }
std::string CacheDataset::path_of(std::uint64_t index) const { return state_->source.path_of(index); }
std::string CacheDataset::describe() const { return state_->source.describe() + "\n" + state_->pipeline.describe(); }

std::vector<FillError> CacheDataset::fill(unsigned threads,
                                          const std::function<void(std::uint64_t, std::uint64_t)>& progress) const {
  // The consumer computes too: `threads` threads in all.
  const unsigned workers = threads > 1 ? threads - 1 : 0;
  Engine<FillJob> engine(FillJob{*this}, {.threads = workers, .window = 2 * workers + 2, .hold = 1, .batch = 1});
  std::vector<FillError> errors;
  std::uint64_t done = 0;
  while (auto lease = engine.next()) {
    if (lease->error) errors.push_back(*lease->error);
    if (progress) progress(++done, size());
  }
  return errors;
}

CacheStats CacheDataset::stats() const noexcept {
  const State& s = *state_;
  // relaxed: statistics
  return {.items = s.items.load(std::memory_order_relaxed),
          .bytes = s.bytes.load(std::memory_order_relaxed),
          .hits = s.hits.load(std::memory_order_relaxed),
          .computed = s.computed.load(std::memory_order_relaxed),
          .refused = s.refused.load(std::memory_order_relaxed)};
}

}  // namespace headrace
