#include <algorithm>
#include <headrace/transform/keys.hpp>
#include <stdexcept>

namespace headrace {

bool Keys::contains(std::string_view name) const noexcept {
  return all() || std::find(names_.begin(), names_.end(), name) != names_.end();
}

std::size_t Keys::position(std::string_view name) const noexcept {
  const auto it = std::find(names_.begin(), names_.end(), name);
  return it == names_.end() ? 0 : static_cast<std::size_t>(it - names_.begin());
}

std::string Keys::str() const {
  if (all()) return "\"all\"";
  std::string s = "[";
  for (const std::string& n : names_) s += (s.size() > 1 ? ", \"" : "\"") + n + "\"";
  return s + "]";
}

void Keys::check(const Sample& sample) const {
  for (const std::string& n : names_)
    if (!sample.field(n).is_tensor()) throw std::invalid_argument("field '" + n + "' is not a tensor");
}

void Keys::check(const SampleSpec& spec) const {
  for (const std::string& n : names_)
    if (spec.at(n).kind != FieldKind::tensor) throw std::invalid_argument("field '" + n + "' is not a tensor");
}

}  // namespace headrace
