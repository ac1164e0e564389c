// The option `dtype` that intensity ops share: the element type of the result, or nothing for the image's own. What it
// does to a specification and to a field is the same for all of them, so that no op's type depends on more than that.
#pragma once

#include <headrace/sample/spec.hpp>
#include <headrace/transform/transform.hpp>
#include <string_view>
#include <utility>

namespace headrace::detail {

// `options` has `keys` and `dtype`.
template <class Options>
SampleSpec infer_dtype(const Options& options, SampleSpec spec) {
  options.keys.for_each(spec, [&](FieldSpec& field) { field.dtype = options.dtype.value_or(field.dtype); });
  return spec;
}

template <class Options>
Effect dtype_effect(const Options& options, std::string_view field) {
  if (!options.keys.contains(field)) return Effect::none;
  return options.dtype ? Effect::rewrite : Effect::in_place;
}

}  // namespace headrace::detail
