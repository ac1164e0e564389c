#include <algorithm>
#include <headrace/sample/spec.hpp>
#include <stdexcept>

namespace headrace {

bool FieldSpec::known() const noexcept {
  return kind != FieldKind::tensor || std::none_of(shape.begin(), shape.end(), [](std::int64_t n) { return n < 0; });
}

std::size_t FieldSpec::bytes() const {
  if (kind != FieldKind::tensor || !known()) throw std::logic_error("the size of field " + str() + " is not known");
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(shape.numel()), size_of(dtype), &bytes))
    throw std::length_error("field " + str() + " does not fit the address space");
  return bytes;
}

std::string FieldSpec::str() const {
  switch (kind) {
    case FieldKind::tensor:
      return name + " " + std::string(name_of(dtype)) + " " + shape.str();
    case FieldKind::real:
      return name + " (number)";
    case FieldKind::integer:
      return name + " (integer)";
    case FieldKind::text:
      return name + " (text)";
    case FieldKind::voxels:
      break;
  }
  return name + " (voxel set)";
}

const FieldSpec* SampleSpec::find(std::string_view name) const noexcept {
  const auto it = std::find_if(fields.begin(), fields.end(), [&](const FieldSpec& f) { return f.name == name; });
  return it == fields.end() ? nullptr : &*it;
}
FieldSpec* SampleSpec::find(std::string_view name) noexcept {
  return const_cast<FieldSpec*>(static_cast<const SampleSpec*>(this)->find(name));
}

const FieldSpec& SampleSpec::at(std::string_view name) const {
  if (const FieldSpec* f = find(name)) return *f;
  throw std::invalid_argument("there is no field '" + std::string(name) + "' among: " + str());
}
FieldSpec& SampleSpec::at(std::string_view name) {
  return const_cast<FieldSpec&>(static_cast<const SampleSpec*>(this)->at(name));
}

void SampleSpec::set(FieldSpec field) {
  if (FieldSpec* f = find(field.name))
    *f = std::move(field);
  else
    fields.push_back(std::move(field));
}

void SampleSpec::erase(std::string_view name) {
  std::erase_if(fields, [&](const FieldSpec& f) { return f.name == name; });
}

bool SampleSpec::known() const noexcept {
  return std::all_of(fields.begin(), fields.end(), [](const FieldSpec& f) { return f.known(); });
}

std::string SampleSpec::str() const {
  std::string s;
  for (const FieldSpec& f : fields) s += (s.empty() ? "" : ", ") + f.str();
  return s.empty() ? "(no fields)" : s;
}

}  // namespace headrace
