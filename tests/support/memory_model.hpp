// What C++ lets a thread see: a store history with views, for the explorer.
//
// What it is. An operational form of the C++20 memory model. Every location keeps all its stores in modification order.
// A thread has a view: per location the oldest store that it may still read, and per thread how many of its events
// happened before (a vector clock). A load may return any store from the thread's view on; reading moves the view
// there. A release store carries the writer's view, an acquire that reads it joins that view; a read-modify-write reads
// the last store and hands the release on (release sequences). Sequentially consistent accesses also read no older than
// the last sequentially consistent access of the same location.
//
// What it does not see (behaviours that C++ allows and this model does not produce): a store that takes an earlier
// place in the modification order than one already executed; a load that returns a value that is stored later (load
// buffering); fences; mixed sizes. So what it finds is allowed by C++; what it does not find may still be.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace headrace::test {

/// Explored threads of one run, the program's own (the last) included.
inline constexpr unsigned most_threads = 12;

class MemoryModel {
 public:
  static constexpr unsigned most_locations = 192;

  struct View {
    std::array<std::uint32_t, most_threads> clock{};
    std::array<std::uint16_t, most_locations> oldest{};
  };
  struct Store {
    std::uint64_t bits = 0;
    unsigned thread = 0;
    std::uint32_t clock = 0;
    bool releases = false;
    View released;  // valid if `releases`
  };
  /// One atomic object.
  struct Location {
    unsigned number = 0;
    std::vector<Store> stores;
  };
  /// The accesses of one plain object.
  struct Plain {
    unsigned writer = 0;
    std::uint32_t written = 0;  // the writer's clock; 0: never
    std::array<std::uint32_t, most_threads> read{};
  };

  /// An atomic object comes to life in thread `t`.
  void begin(Location& location, unsigned t, std::uint64_t bits) {
    if (locations_ == most_locations) {
      std::fprintf(stderr, "memory model: more than %u atomic objects in one run\n", most_locations);
      std::abort();
    }
    location.number = locations_++;
    location.stores.reserve(8);
    Store& store = location.stores.emplace_back();
    store.bits = bits;
    store.thread = t;
    store.clock = tick(t);
  }

  /// How many stores thread `t` may read, counted from the last one (1: only the last).
  [[nodiscard]] unsigned choices(const Location& location, unsigned t, std::memory_order order) const {
    std::size_t oldest = views_[t].oldest[location.number];
    if (order == std::memory_order_seq_cst) {
      oldest = std::max<std::size_t>(oldest, sequential_.oldest[location.number]);
    }
    return static_cast<unsigned>(location.stores.size() - oldest);
  }

  /// Reads the store that lies `back` before the last. False: the object's beginning did not happen before this.
  bool load(const Location& location, unsigned t, std::memory_order order, unsigned back, std::uint64_t& bits) {
    const std::size_t index = location.stores.size() - 1 - back;
    const Store& store = location.stores[index];
    const Store& birth = location.stores.front();
    const bool born = happened_before(birth.thread, birth.clock, t);
    see(location, t, index, order);
    if (acquires(order) && store.releases) join(views_[t], store.released);
    bits = store.bits;
    tick(t);
    return born;
  }

  void store(Location& location, unsigned t, std::memory_order order, std::uint64_t bits) {
    Store& store = append(location, t, order, bits);
    store.releases = releases(order);
    if (store.releases) copy(store.released, views_[t]);
  }

  /// Reads the last store and puts the next one directly behind it.
  void read_modify_write(Location& location, unsigned t, std::memory_order order, std::uint64_t bits) {
    const std::size_t last = location.stores.size() - 1;
    see(location, t, last, order);
    if (acquires(order) && location.stores[last].releases) join(views_[t], location.stores[last].released);
    Store& store = append(location, t, order, bits);
    const Store& before = location.stores[last];
    store.releases = before.releases || releases(order);
    if (before.releases) copy(store.released, before.released);
    if (releases(order)) {
      if (before.releases) {
        join(store.released, views_[t]);
      } else {
        copy(store.released, views_[t]);
      }
    }
  }

  /// Everything thread `from` has done happened before what thread `to` does from here on.
  void synchronise(unsigned from, unsigned to) {
    tick(from);
    join(views_[to], views_[from]);
    tick(to);
  }

  /// A plain read or write; false where it races with an access of `other`.
  bool read(Plain& plain, unsigned t, unsigned& other) {
    plain.read[t] = tick(t);
    other = plain.writer;
    return happened_before(plain.writer, plain.written, t);
  }
  bool write(Plain& plain, unsigned t, unsigned& other) {
    const std::uint32_t now = tick(t);
    bool ordered = happened_before(plain.writer, plain.written, t);
    other = plain.writer;
    for (unsigned reader = 0; ordered && reader < most_threads; ++reader) {
      if (happened_before(reader, plain.read[reader], t)) continue;
      other = reader;
      ordered = false;
    }
    plain.writer = t;
    plain.written = now;
    return ordered;
  }

  /// A moment of thread `t`, and whether it happened before what thread `later` does now.
  [[nodiscard]] std::uint32_t now(unsigned t) { return tick(t); }
  [[nodiscard]] bool happened_before(unsigned t, std::uint32_t moment, unsigned later) const {
    return t == later || views_[later].clock[t] >= moment;
  }

  static bool acquires(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
  }
  static bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
  }

 private:
  std::uint32_t tick(unsigned t) { return ++views_[t].clock[t]; }

  Store& append(Location& location, unsigned t, std::memory_order order, std::uint64_t bits) {
    const std::size_t index = location.stores.size();
    location.stores.emplace_back();
    see(location, t, index, order);
    Store& store = location.stores.back();
    store.bits = bits;
    store.thread = t;
    store.clock = tick(t);
    return store;
  }
  void see(const Location& location, unsigned t, std::size_t index, std::memory_order order) {
    views_[t].oldest[location.number] = static_cast<std::uint16_t>(index);
    if (order == std::memory_order_seq_cst) sequential_.oldest[location.number] = static_cast<std::uint16_t>(index);
  }
  void join(View& into, const View& from) const {
    for (unsigned t = 0; t < most_threads; ++t) into.clock[t] = std::max(into.clock[t], from.clock[t]);
    for (unsigned l = 0; l < locations_; ++l) into.oldest[l] = std::max(into.oldest[l], from.oldest[l]);
  }
  void copy(View& into, const View& from) const {
    into.clock = from.clock;
    std::copy_n(from.oldest.begin(), locations_, into.oldest.begin());
    std::fill(into.oldest.begin() + locations_, into.oldest.end(), std::uint16_t{0});
  }

  std::array<View, most_threads> views_{};
  View sequential_{};
  unsigned locations_ = 0;
};

}  // namespace headrace::test
