#include <algorithm>
#include <headrace/transform/item_ops.hpp>
#include <stdexcept>

#include "describe.hpp"

namespace headrace {

CopyItems::CopyItems(CopyItemsOptions options) : options_(std::move(options)) {
  CopyItemsOptions& o = options_;
  if (o.keys.all()) throw std::invalid_argument("CopyItems: keys is empty; expected the names of the fields to copy");
  if (o.times == 0) detail::throw_option(name, "times", "0", "at least 1");
  if (o.names.empty())
    for (unsigned t = 0; t < o.times; ++t)
      for (const std::string& key : o.keys.names()) o.names.push_back(key + "_" + std::to_string(t));
  if (o.names.size() != o.keys.names().size() * o.times)
    detail::throw_option(name, "names", detail::option_text(o.names),
                         std::to_string(o.keys.names().size() * o.times) + " names: keys x times");
  std::vector<std::string> sorted = o.names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    detail::throw_option(name, "names", detail::option_text(o.names), "each name once");
}

void CopyItems::apply(Sample& sample) const {
  const auto& keys = options_.keys.names();
  for (std::size_t i = 0; i < options_.names.size(); ++i) {
    const std::string& copy = options_.names[i];
    if (sample.has(copy))
      throw std::invalid_argument("CopyItems: the sample has a field '" + copy + "' already; expected a new name");
    const Field field = sample.field(keys[i % keys.size()]);
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Tensor>)
            sample.set(copy, value, field.affine);
          else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, SharedText>)
            sample.set(copy, *value);
          else
            sample.set(copy, value);
        },
        field.value);
    if (field.path) sample.set_path(copy, *field.path);
  }
}

SampleSpec CopyItems::infer(SampleSpec spec) const {
  const auto& keys = options_.keys.names();
  for (std::size_t i = 0; i < options_.names.size(); ++i) {
    FieldSpec field = spec.at(keys[i % keys.size()]);
    if (spec.find(options_.names[i]))
      throw std::invalid_argument("CopyItems: the sample has a field '" + options_.names[i] +
                                  "' already; expected a new name");
    field.name = options_.names[i];
    spec.fields.push_back(std::move(field));
  }
  return spec;
}

std::string CopyItems::describe() const {
  return detail::OptionList()
      .add("keys", options_.keys)
      .add("times", std::int64_t{options_.times})
      .add("names", options_.names)
      .str();
}

SelectItems::SelectItems(SelectItemsOptions options) : keys_(std::move(options.keys)) {
  if (keys_.all()) throw std::invalid_argument("SelectItems: keys is empty; expected the names of the fields to keep");
}

void SelectItems::apply(Sample& sample) const {
  for (const std::string& key : keys_.names()) (void)sample.field(key);
  for (std::size_t i = sample.size(); i-- > 0;)
    if (const std::string field = sample.fields()[i].name.str(); !keys_.contains(field)) sample.erase(field);
}

SampleSpec SelectItems::infer(SampleSpec spec) const {
  for (const std::string& key : keys_.names()) (void)spec.at(key);
  std::erase_if(spec.fields, [&](const FieldSpec& f) { return !keys_.contains(f.name); });
  return spec;
}

std::string SelectItems::describe() const { return detail::OptionList().add("keys", keys_).str(); }

}  // namespace headrace
