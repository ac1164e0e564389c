// DeleteItems: drops fields of any kind; a field that is not there is ignored. Names are whole names: samples are flat.
// Errors (construction): std::invalid_argument for an empty list, which would mean every tensor. Thread-safety: const.
#pragma once

#include <headrace/transform/keys.hpp>
#include <headrace/transform/transform.hpp>
#include <string>
#include <string_view>

namespace headrace {

struct DeleteItemsOptions {
  Keys keys{};  // needed
};

class DeleteItems {
 public:
  static constexpr const char* name = "DeleteItems";
  using Options = DeleteItemsOptions;

  explicit DeleteItems(Options options);

  void apply(Sample& sample) const;
  SampleSpec infer(SampleSpec spec) const;
  Effect effect(std::string_view) const { return Effect::none; }
  std::string describe() const;

 private:
  Keys keys_;
};

}  // namespace headrace
