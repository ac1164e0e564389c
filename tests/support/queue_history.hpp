// What happened to a queue, and whether it can have been a queue.
//
// A history is a list of operations with their answers and their times of call and return. Two judges:
// `linearizable` searches for an order of the operations that respects those times and in which a sequential queue
// gives the same answers (Wing and Gong); exact, exponential, for up to some twenty operations. `bad_pattern` looks for
// the four patterns that make a history impossible for any queue (Henzinger, Sezgin and Vafeiadis, CONCUR 2013); n log
// n, for histories of any length in which every value is pushed once.
//
// The sequential queue is MpmcRing's: first in, first out; ok only below the capacity and before the close; `closed`
// only after the close; "nothing" only when empty. `full` is allowed where the elements and the other operations under
// way together reach the capacity, because an operation in flight holds a place.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headrace::test {

struct QueueOp {
  enum class Kind { pushed, full, refused, popped, nothing, close, drained, not_drained };
  Kind kind;
  std::uint64_t value = 0;
  std::uint64_t call = 0;  ///< time of the call
  std::uint64_t end = 0;   ///< time of the return
  /// Operations (bits: their places in the history) known to come before, where times do not say it: happens-before.
  std::uint64_t after = 0;
};
using QueueHistory = std::vector<QueueOp>;

class LinearizabilityChecker {
 public:
  LinearizabilityChecker(const QueueHistory& history, std::size_t capacity) : ops_(history), capacity_(capacity) {}
  [[nodiscard]] bool linearizable() { return ops_.size() <= 60 && search(0); }

 private:
  using Kind = QueueOp::Kind;

  bool search(std::uint64_t done) {
    if (done == (std::uint64_t{1} << ops_.size()) - 1) return true;
    // A state met before is not searched again: (set of operations done, contents, closed).
    std::string state(reinterpret_cast<const char*>(&done), sizeof done);
    for (const std::uint64_t v : queue_) state.append(reinterpret_cast<const char*>(&v), sizeof v);
    state.push_back(closed_ ? 'c' : 'o');
    if (!seen_.insert(std::move(state)).second) return false;
    std::uint64_t first_end = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!(done >> i & 1)) first_end = std::min(first_end, ops_[i].end);
    }
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (done >> i & 1 || ops_[i].call > first_end) continue;  // something that ended before it was called is not done
      if ((ops_[i].after & ~done) != 0) continue;
      const auto queue = queue_;
      const bool closed = closed_;
      if (apply(i, done) && search(done | std::uint64_t{1} << i)) return true;
      queue_ = queue;
      closed_ = closed;
    }
    return false;
  }

  bool apply(std::size_t i, std::uint64_t done) {
    const QueueOp& op = ops_[i];
    switch (op.kind) {
      case Kind::pushed:
        if (closed_ || queue_.size() >= capacity_) return false;
        queue_.push_back(op.value);
        return true;
      case Kind::full:
        return !closed_ && queue_.size() + others_holding(i, done) >= capacity_;
      case Kind::refused:
        return closed_;
      case Kind::popped:
        if (queue_.empty() || queue_.front() != op.value) return false;
        queue_.pop_front();
        return true;
      case Kind::nothing:
        return queue_.empty();
      case Kind::close:
        closed_ = true;
        return true;
      case Kind::drained:
        return closed_ && queue_.empty();
      case Kind::not_drained:
        return !closed_ || !queue_.empty();
    }
    return false;
  }
  // Operations that overlap this one and may hold a place beside the elements: a push before its effect, a pop after
  // its effect, a push that will be refused.
  std::size_t others_holding(std::size_t i, std::uint64_t done) const {
    std::size_t count = 0;
    for (std::size_t j = 0; j < ops_.size(); ++j) {
      const bool effect = (done >> j & 1) != 0;
      const bool holds = (ops_[j].kind == Kind::pushed && !effect) || (ops_[j].kind == Kind::popped && effect) ||
                         ops_[j].kind == Kind::refused;
      if (j != i && holds && !before(i, j) && !before(j, i)) ++count;
    }
    return count;
  }

  bool before(std::size_t i, std::size_t j) const {
    return ops_[i].end <= ops_[j].call || (ops_[j].after >> i & 1) != 0;
  }

  const QueueHistory& ops_;
  const std::size_t capacity_;
  std::deque<std::uint64_t> queue_;
  bool closed_ = false;
  std::set<std::string> seen_;
};

inline bool linearizable(const QueueHistory& history, std::size_t capacity) {
  return LinearizabilityChecker(history, capacity).linearizable();
}

/// The first bad pattern found, in words; empty when there is none. An operation counts as before another one only when
/// it ended more than `slack` before the other's call (the clock's doubt).
inline std::string bad_pattern(const QueueHistory& history, std::uint64_t slack = 0) {
  using Kind = QueueOp::Kind;
  constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  struct Life {
    std::uint64_t push_call = never, push_end = never, pop_call = never, pop_end = never;
  };
  std::unordered_map<std::uint64_t, Life> lives;
  for (const QueueOp& op : history) {
    if (op.kind != Kind::pushed) continue;
    if (!lives.emplace(op.value, Life{op.call, op.end}).second) return "pushed twice: " + std::to_string(op.value);
  }
  for (const QueueOp& op : history) {
    if (op.kind != Kind::popped) continue;
    const auto life = lives.find(op.value);
    if (life == lives.end()) return "popped but never pushed: " + std::to_string(op.value);
    if (life->second.pop_call != never) return "popped twice: " + std::to_string(op.value);
    life->second.pop_call = op.call;
    life->second.pop_end = op.end;
    if (op.end + slack < life->second.push_call) return "popped before pushed: " + std::to_string(op.value);
  }
  // Order inverted: a pushed wholly before b, b popped wholly before a.
  std::vector<std::pair<std::uint64_t, Life>> by_call(lives.begin(), lives.end()), by_end = by_call;
  std::sort(by_call.begin(), by_call.end(), [](auto& a, auto& b) { return a.second.push_call < b.second.push_call; });
  std::sort(by_end.begin(), by_end.end(), [](auto& a, auto& b) { return a.second.push_end < b.second.push_end; });
  std::size_t earlier = 0;
  std::uint64_t latest_pop = 0, of = 0;
  for (const auto& [value, life] : by_call) {
    for (; earlier < by_end.size() && by_end[earlier].second.push_end + slack < life.push_call; ++earlier) {
      if (by_end[earlier].second.pop_call <= latest_pop) continue;
      latest_pop = by_end[earlier].second.pop_call;
      of = by_end[earlier].first;
    }
    if (life.pop_end != never && life.pop_end + slack < latest_pop)
      return "order inverted: " + std::to_string(of) + " and " + std::to_string(value);
  }
  // Empty while surely not: some element was surely inside at every moment of the call.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> inside;  // joined intervals in which the queue was not empty
  for (const auto& [value, life] : by_end) {
    const std::uint64_t from = life.push_end + slack, to = life.pop_call == never ? never : life.pop_call - slack;
    if (from >= to) continue;
    if (!inside.empty() && from <= inside.back().second) {
      inside.back().second = std::max(inside.back().second, to);
    } else {
      inside.emplace_back(from, to);
    }
  }
  for (const QueueOp& op : history) {
    if (op.kind != Kind::nothing && op.kind != Kind::drained) continue;
    auto after = std::upper_bound(inside.begin(), inside.end(), std::pair(op.call, never));
    if (after != inside.begin() && (after - 1)->first < op.call && op.end < (after - 1)->second)
      return "empty while surely not, at " + std::to_string(op.call);
  }
  return {};
}

}  // namespace headrace::test
