// Checks in which order steps come: each once, and none overtaken by more than `span` others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace headrace::test {

class DeliveryOrder {
 public:
  explicit DeliveryOrder(std::uint64_t span, std::uint64_t first = 0) : span_(span), oldest_(first) {}

  /// What is wrong with `step` coming now, or nothing.
  std::string deliver(std::uint64_t step) {
    if (step < oldest_ || ahead_.contains(step)) return "step " + std::to_string(step) + " came twice";
    const auto overtaken = static_cast<std::uint64_t>(std::distance(ahead_.upper_bound(step), ahead_.end()));
    most_overtaken_ = std::max(most_overtaken_, overtaken);
    ahead_.insert(step);
    while (ahead_.erase(oldest_) != 0) ++oldest_;
    if (overtaken <= span_) return {};
    return "step " + std::to_string(step) + " was overtaken by " + std::to_string(overtaken) + " others, not by " +
           std::to_string(span_) + " at most";
  }
  /// Has everything before `end` come, and nothing else?
  bool complete(std::uint64_t end) const { return ahead_.empty() && oldest_ == end; }
  std::uint64_t oldest() const { return oldest_; }
  std::uint64_t most_overtaken() const { return most_overtaken_; }

 private:
  std::uint64_t span_;
  std::uint64_t oldest_;
  std::set<std::uint64_t> ahead_;
  std::uint64_t most_overtaken_ = 0;
};

}  // namespace headrace::test
