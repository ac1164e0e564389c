// EnsureType: gives tensors an element type. Floats become integers truncated toward zero and saturated, NaN becomes 0.
// A tensor that has the type already is left alone. Thread-safety: const.
#pragma once

#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>

namespace headrace {

struct EnsureTypeOptions {
  Keys keys{};
  DType dtype = DType::f32;
};

class EnsureType {
 public:
  static constexpr const char* name = "EnsureType";
  using Options = EnsureTypeOptions;

  explicit EnsureType(Options options) : options_(std::move(options)) {}

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view field) const { return options_.keys.contains(field) ? Effect::rewrite : Effect::none; }
  std::string describe() const;

 private:
  Options options_;
};

}  // namespace headrace
