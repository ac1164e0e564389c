// Which fields an op works on: `.keys = "image"`, `.keys = {"image", "label"}`, or nothing: every tensor of the sample.
#pragma once

#include <headrace/sample/sample.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class Keys {
 public:
  Keys() = default;  // every tensor
  Keys(const char* name) : names_{name} {}
  Keys(std::string name) : names_{std::move(name)} {}
  Keys(std::initializer_list<std::string> names) : names_(names) {}
  Keys(std::vector<std::string> names) : names_(std::move(names)) {}

  bool all() const noexcept { return names_.empty(); }
  bool contains(std::string_view name) const noexcept;
  const std::vector<std::string>& names() const noexcept { return names_; }

  // The position among the names of a field, for options given per key; 0 when all() is true.
  std::size_t position(std::string_view name) const noexcept;

  // Calls f(field name) for every field concerned, in the sample's order. A named field that is missing or is not a
  // tensor is an error: std::out_of_range / std::invalid_argument naming it. f may replace the field's value but not
  // add or erase fields.
  template <class F>
  void for_each(const Sample& sample, F&& f) const {
    check(sample);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const Field& field = sample.fields()[i];
      if (field.is_tensor() && contains(field.name)) f(std::string_view(field.name));
    }
  }
  // The same over a specification.
  template <class F>
  void for_each(SampleSpec& spec, F&& f) const {
    check(spec);
    for (FieldSpec& field : spec.fields)
      if (field.kind == FieldKind::tensor && contains(field.name)) f(field);
  }
  std::string str() const;  // "all" or a JSON list

 private:
  void check(const Sample& sample) const;
  void check(const SampleSpec& spec) const;
  std::vector<std::string> names_;
};

}  // namespace headrace
