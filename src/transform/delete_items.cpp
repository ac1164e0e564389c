#include <headrace/transform/delete_items.hpp>
#include <stdexcept>

#include "describe.hpp"

namespace headrace {

DeleteItems::DeleteItems(Options options) : keys_(std::move(options.keys)) {
  if (keys_.all()) throw std::invalid_argument("DeleteItems: keys is empty; expected the names of the fields to drop");
}

void DeleteItems::apply(Sample& sample) const {
  for (const std::string& key : keys_.names()) sample.erase(key);
}

SampleSpec DeleteItems::infer(SampleSpec spec) const {
  for (const std::string& key : keys_.names()) spec.erase(key);
  return spec;
}

std::string DeleteItems::describe() const { return detail::OptionList().add("keys", keys_).str(); }

}  // namespace headrace
