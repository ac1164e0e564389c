#include <headrace/transform/ensure_type.hpp>

#include "describe.hpp"

namespace headrace {

void EnsureType::apply(Sample& sample) const {
  options_.keys.for_each(sample, [&](std::string_view key) {
    const Tensor& from = sample.get(key);
    if (from.dtype() == options_.dtype) return;
    Tensor to = sample.output(key, options_.dtype, from.shape());
    to.copy_from(from);
    sample.set(key, std::move(to));
  });
}

SampleSpec EnsureType::infer(SampleSpec spec) const {
  options_.keys.for_each(spec, [&](FieldSpec& field) { field.dtype = options_.dtype; });
  return spec;
}

std::string EnsureType::describe() const {
  return detail::OptionList().add("keys", options_.keys).add_text("dtype", detail::option_text(options_.dtype)).str();
}

}  // namespace headrace
