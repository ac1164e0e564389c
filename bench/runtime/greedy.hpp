// The greedy schedule under a window: how long items of known costs take when no computing thread is ever idle while
// there is something that it may take, and taking costs nothing. What the engine is measured against: it shows what
// the window and the order of delivery cost by themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace bench {

struct GreedyRules {
  unsigned workers = 2;     // take parts of the oldest open item, else the next ticket below the limit
  bool help = false;        // the consumer computes, too, but only in the step it waits for
  bool ahead = false;       // and in later ones, when nothing of that step is left to take
  unsigned processors = 2;  // more threads than that share them evenly
  unsigned batch = 1, window = 1, parts = 1;
};

// In units of `cost`. Steps of `batch` items, each in `parts` equal parts; at most `window` steps beyond the last one
// that was delivered in order.
inline double greedy_time(const std::vector<std::uint64_t>& cost, const GreedyRules& rules) {
  struct Thread {
    bool busy = false;
    double left = 0;
    std::size_t item = 0;
  };
  struct Open {
    std::size_t item;
    unsigned left;
  };
  const std::size_t items = cost.size();
  const std::size_t steps = (items + rules.batch - 1) / rules.batch;
  std::vector<std::size_t> unfinished(steps);  // parts of each step
  for (std::size_t i = 0; i < items; ++i) unfinished[i / rules.batch] += rules.parts;
  std::vector<Thread> threads(rules.workers + (rules.help ? 1 : 0));  // the consumer is the first, if it computes
  std::deque<Open> open;
  std::size_t ticket = 0, delivered = 0;
  double time = 0;

  const auto take = [&](Thread& thread, std::size_t limit) {  // items below `limit` only
    if (open.empty()) {
      if (ticket >= std::min(limit, items)) return;
      open.push_back({ticket++, rules.parts});
    }
    Open& oldest = open.front();
    if (oldest.item >= limit) return;  // then every ticket below the limit was taken before
    thread = {true, double(cost[oldest.item]) / rules.parts, oldest.item};
    if (--oldest.left == 0) open.pop_front();
  };

  for (;;) {
    const bool consumer_is_free = !rules.help || !threads[0].busy;
    while (consumer_is_free && delivered < steps && unfinished[delivered] == 0) ++delivered;
    if (delivered == steps) return time;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      if (threads[t].busy) continue;
      const bool consumer = rules.help && t == 0;
      take(threads[t], (delivered + (consumer && !rules.ahead ? 1 : rules.window)) * rules.batch);
    }
    unsigned busy = 0;
    double least = 0;
    for (const Thread& t : threads) {
      if (!t.busy) continue;
      least = busy == 0 ? t.left : std::min(least, t.left);
      ++busy;
    }
    time += least * std::max(1.0, double(busy) / rules.processors);
    for (Thread& t : threads) {
      if (!t.busy) continue;
      t.left -= least;
      if (t.left > 0) continue;
      t.busy = false;
      --unfinished[t.item / rules.batch];
    }
  }
}

// Small schedules worked out by hand.
inline bool greedy_time_is_right() {
  const std::vector<std::uint64_t> skewed{3, 1, 1, 1}, even{4, 4};
  return greedy_time(skewed, {.workers = 1}) == 6 &&
         // 0 and 1 start; 1 is done at 1, but the window is closed until 3; then 2 and 3.
         greedy_time(skewed, {.workers = 2, .window = 2}) == 4 &&
         greedy_time(skewed, {.workers = 2, .window = 4}) == 3 &&
         // The consumer makes 0 while the worker makes 1; both go on at 3.
         greedy_time(skewed, {.workers = 1, .help = true, .window = 2}) == 4 &&
         // 0 and 1 start; 1 is done at 1, its thread waits for the window; at 3 both are delivered.
         greedy_time(skewed, {.workers = 1, .help = true, .ahead = true, .window = 2}) == 4 &&
         // One step at a time: whoever comes second finds nothing.
         greedy_time(skewed, {.workers = 1, .help = true}) == 6 && greedy_time(even, {.workers = 2, .parts = 2}) == 4 &&
         greedy_time(even, {.workers = 2}) == 8 &&
         // Two threads on one processor.
         greedy_time(even, {.workers = 2, .processors = 1, .window = 2}) == 8;
}

}  // namespace bench
