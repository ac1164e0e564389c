// What an explored queue answered, and the verdict.
#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "headrace/lockfree/element.hpp"
#include "support/execution.hpp"
#include "support/queue_history.hpp"
#include "support/race_cell.hpp"

namespace headrace::test {

/// Verdicts already given: few histories differ, and the judge is slower than a run.
using GoodHistories = std::unordered_set<std::string>;

/// Runs operations and writes down their answers and what came before what. Sequentially consistent: by the time of the
/// first and the last access of each. Weak memory: by happens-before, because nothing else orders two calls there.
class QueueRecorder {
 public:
  using Kind = QueueOp::Kind;
  explicit QueueRecorder(Execution& run) : run_(run) {}

  template <class Op>
  Kind record(Op&& op) {
    MemoryModel* const memory = run_.memory();
    const unsigned self = run_.self();
    std::uint64_t after = 0;
    if (memory != nullptr) {
      for (std::size_t i = 0; i < history_.size(); ++i) {
        if (memory->happened_before(ends_[i].thread, ends_[i].moment, self)) after |= std::uint64_t{1} << i;
      }
    }
    run_.begin_interval();
    QueueOp done = op();
    done.after = after;
    // "Not drained" may be old news there: drained() promises that true stays true, no more.
    if (memory != nullptr && done.kind == Kind::not_drained) return done.kind;
    if (memory != nullptr) {
      done.end = std::numeric_limits<std::uint64_t>::max();
      ends_.push_back({self, memory->now(self)});
    } else {
      const auto interval = run_.interval();
      done.call = 2 * interval.first;
      done.end = 2 * interval.last + 1;
    }
    history_.push_back(done);
    return done.kind;
  }

  template <class Queue>
  Kind push(Queue& queue, std::uint64_t value) {
    return record([&] { return pushed(queue.try_push(Watched(value)), value); });
  }
  template <class Queue>
  Kind pop(Queue& queue) {
    return record([&] { return popped(queue.try_pop(), Kind::nothing); });
  }
  template <class Queue>
  Kind close(Queue& queue) {
    return record([&] {
      queue.close();
      return QueueOp{Kind::close};
    });
  }
  template <class Queue>
  Kind drained(Queue& queue) {
    return record([&] { return QueueOp{queue.drained() ? Kind::drained : Kind::not_drained}; });
  }
  static QueueOp pushed(PushResult r, std::uint64_t value) {
    return {r == PushResult::ok ? Kind::pushed : r == PushResult::full ? Kind::full : Kind::refused, value};
  }
  template <class Optional>
  static QueueOp popped(const Optional& value, Kind otherwise) {
    return value ? QueueOp{Kind::popped, value->value()} : QueueOp{otherwise};
  }

  /// The program pops what is left, and the whole history is judged.
  template <class Queue>
  void judge(Queue& queue, std::size_t capacity, GoodHistories& good) {
    for (std::size_t i = 0; i <= capacity && !run_.failed(); ++i) pop(queue);
    if (run_.failed()) return;
    const std::string key(reinterpret_cast<const char*>(history_.data()), history_.size() * sizeof(QueueOp));
    if (good.contains(key)) return;
    if (!linearizable(history_, capacity)) {
      run_.fail("no queue gives these answers:\n" + text());
    } else {
      if (good.size() > 100'000) good.clear();  // a search of hours stays small
      good.insert(key);
    }
  }
  [[nodiscard]] std::string text() const {
    static constexpr const char* names[] = {"push ok",     "push full", "push closed", "pop",
                                            "pop nothing", "close",     "drained",     "not drained"};
    std::string out;
    for (const QueueOp& op : history_) {
      out += "  " + std::to_string(op.call) + "-" + std::to_string(op.end) + " " + names[static_cast<int>(op.kind)] +
             " " + std::to_string(op.value) + " after " + std::to_string(op.after) + "\n";
    }
    return out;
  }

 private:
  struct End {
    unsigned thread;
    std::uint32_t moment;
  };
  Execution& run_;
  QueueHistory history_;
  std::vector<End> ends_;
};

}  // namespace headrace::test
