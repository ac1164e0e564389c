// Who decides in a run of the explorer: exhaustive, with few preemptions, at random, or from a list.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/memory_model.hpp"

namespace headrace::test {

/// The numbers of one run: for every decision the thread (where more than one could go on) or the answer.
using Choices = std::vector<unsigned>;

inline std::string text(const Choices& choices) {
  std::string out;
  for (const unsigned c : choices) out += (out.empty() ? "" : " ") + std::to_string(c);
  return out;
}
inline Choices choices_from(const std::string& words) {
  std::istringstream in(words);
  Choices choices;
  for (unsigned c; in >> c;) choices.push_back(c);
  return choices;
}

/// SplitMix64: cheap to seed, which happens once per run.
class SmallRandom {
 public:
  explicit SmallRandom(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t operator()() noexcept {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned n) noexcept { return static_cast<unsigned>(((*this)() >> 32) * n >> 32); }

 private:
  std::uint64_t state_;
};

/// What the explorer asks at every decision.
class Chooser {
 public:
  static constexpr unsigned none = ~0u;
  virtual ~Chooser() = default;
  /// Another run? (The first time: yes.)
  virtual bool begin() = 0;
  /// Which of `runnable` (at least one, ascending) goes on. `current` is the running thread if it can go on, else none:
  /// then a switch costs nothing.
  virtual unsigned thread(std::span<const unsigned> runnable, unsigned current) = 0;
  /// One of n answers; 0 is the ordinary one (the newest value, no spurious failure).
  virtual unsigned pick(unsigned n) = 0;
  /// Nothing is left that begin() could try.
  [[nodiscard]] virtual bool complete() const { return false; }
  /// What replays this run beside its choices; 0 if nothing.
  [[nodiscard]] virtual std::uint64_t seed() const { return 0; }
};

/// Depth first over all runs with at most `preemptions` switches away from a thread that could have gone on.
class DepthFirst final : public Chooser {
 public:
  static constexpr unsigned unbounded = ~0u;
  explicit DepthFirst(unsigned preemptions = unbounded) : bound_(preemptions) {}

  bool begin() override {
    used_ = 0;
    depth_ = 0;
    if (first_) {
      first_ = false;
      return true;
    }
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) {
      complete_ = true;
      return false;
    }
    ++path_.back().chosen;
    return true;
  }
  unsigned thread(std::span<const unsigned> runnable, unsigned current) override {
    if (current == none) return runnable[next(static_cast<unsigned>(runnable.size()))];
    if (used_ == bound_) return current;
    const unsigned n = next(static_cast<unsigned>(runnable.size()));
    if (n == 0) return current;
    ++used_;
    // 0 is the current thread; the others follow in their order.
    unsigned seen = 0;
    for (const unsigned t : runnable) {
      if (t != current && ++seen == n) return t;
    }
    return current;
  }
  unsigned pick(unsigned n) override { return next(n); }
  [[nodiscard]] bool complete() const override { return complete_; }

 private:
  struct Decision {
    unsigned chosen, count;
  };
  unsigned next(unsigned count) {
    if (count == 1) return 0;
    if (depth_ == path_.size()) path_.push_back({0, count});
    if (path_[depth_].count != count) {
      std::fprintf(stderr, "explorer: the program did something else when the same decisions were made\n");
      std::abort();
    }
    return path_[depth_++].chosen;
  }

  const unsigned bound_;
  unsigned used_ = 0;
  std::size_t depth_ = 0;
  std::vector<Decision> path_;
  bool first_ = true;
  bool complete_ = false;
};

/// Randomised priorities (Burckhardt et al., ASPLOS 2010): the highest priority runs; at a few random steps the running
/// thread falls below all others. Every fourth run is a plain random walk instead. `length`: about how many decisions a
/// run has. A run is given by its seed and the length.
class Randomised final : public Chooser {
 public:
  Randomised(std::uint64_t first_seed, unsigned length) : next_seed_(first_seed), length_(std::max(length, 1u)) {}

  bool begin() override {
    seed_ = next_seed_++;
    random_ = SmallRandom(seed_ * 0x2545F4914F6CDD1Du + 1);
    step_ = 0;
    lowest_ = 1'000;
    last_ = none;
    for (auto& p : priority_) p = 0;
    walk_ = seed_ % 4 == 3;
    switch_one_in_ = 1u << (seed_ / 4 % 4);
    unusual_one_in_ = 2u << (seed_ / 4 % 3);
    for (auto& at : change_at_) at = random_.below(length_);
    changes_ = static_cast<unsigned>(seed_ % 4) + 1;
    return true;
  }
  unsigned thread(std::span<const unsigned> runnable, unsigned current) override {
    ++step_;
    if (walk_) {
      if (current != none && random_.below(switch_one_in_) != 0) return current;
      return runnable[random_.below(static_cast<unsigned>(runnable.size()))];
    }
    if (current != none) {
      for (unsigned i = 0; i < changes_; ++i) {
        if (change_at_[i] == step_) priority_[current] = --lowest_;
      }
    } else if (last_ < most_threads) {
      priority_[last_] = --lowest_;  // it passed, slept or ended
    }
    unsigned best = runnable.front();
    for (const unsigned t : runnable) {
      if (priority_[t] == 0) priority_[t] = 1'000 + random_.below(1'000'000);
      if (priority_[t] > priority_[best]) best = t;
    }
    return last_ = best;
  }
  unsigned pick(unsigned n) override { return random_.below(unusual_one_in_) != 0 ? 0 : random_.below(n); }
  [[nodiscard]] std::uint64_t seed() const override { return seed_; }

 private:
  std::uint64_t next_seed_;
  std::uint64_t seed_ = 0;
  const unsigned length_;
  SmallRandom random_{0};
  unsigned step_ = 0;
  unsigned lowest_ = 1'000;
  unsigned last_ = none;
  bool walk_ = false;
  unsigned switch_one_in_ = 1;
  unsigned unusual_one_in_ = 2;
  unsigned changes_ = 1;
  std::array<unsigned, 4> change_at_{};
  std::array<unsigned, most_threads> priority_{};
};

/// One run from its list; where the list ends (or a thread of it cannot run) the current thread goes on.
class Replay final : public Chooser {
 public:
  explicit Replay(Choices choices) : choices_(std::move(choices)) {}
  bool begin() override { return std::exchange(first_, false); }
  unsigned thread(std::span<const unsigned> runnable, unsigned current) override {
    if (runnable.size() > 1 && at_ < choices_.size()) {
      const unsigned wanted = choices_[at_++];
      if (std::find(runnable.begin(), runnable.end(), wanted) != runnable.end()) return wanted;
    }
    return current != none ? current : runnable.front();
  }
  unsigned pick(unsigned n) override { return n > 1 && at_ < choices_.size() ? std::min(choices_[at_++], n - 1) : 0; }
  [[nodiscard]] bool complete() const override { return !first_; }

 private:
  Choices choices_;
  std::size_t at_ = 0;
  bool first_ = true;
};

}  // namespace headrace::test
