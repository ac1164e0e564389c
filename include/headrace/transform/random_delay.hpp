// RandomDelay: changes nothing and takes a random time, another one in each run. For tests and for verify(): results
// must not depend on it. Put before and after a pipeline, it shakes up which thread does what.
#pragma once

#include <chrono>
#include <headrace/transform/transform.hpp>
#include <string>

namespace headrace {

struct RandomDelay {
  static constexpr const char* name = "RandomDelay";
  std::chrono::microseconds most{0};  // uniform in [0, most]

  Effect effect(std::string_view) const { return Effect::none; }
  std::string describe() const { return {}; }
  void apply(Sample& sample) const;
};

}  // namespace headrace
