#include <cmath>
#include <headrace/transform/fg_bg_to_indices.hpp>
#include <memory>
#include <stdexcept>

#include "describe.hpp"
#include "foreground.hpp"

namespace headrace {

FgBgToIndices::FgBgToIndices(Options options) : options_(std::move(options)) {
  const Options& o = options_;
  if (o.label_key.empty())
    throw std::invalid_argument("FgBgToIndices: label_key is empty; expected the name of a field");
  if (o.fg_postfix.empty() || o.bg_postfix.empty() || o.fg_postfix == o.bg_postfix)
    throw std::invalid_argument("FgBgToIndices: fg_postfix = '" + o.fg_postfix + "' and bg_postfix = '" + o.bg_postfix +
                                "'; expected two different, not empty endings");
  if (std::isnan(o.image_threshold))
    throw std::invalid_argument("FgBgToIndices: image_threshold is NaN; expected a number");
}

void FgBgToIndices::apply(Sample& sample) const {
  const Options& o = options_;
  detail::ForegroundBackground found = detail::find_foreground(sample, o.label_key, o.image_key, o.image_threshold);
  sample.set(o.label_key + o.fg_postfix, std::make_shared<const VoxelSet>(std::move(found.foreground)));
  sample.set(o.label_key + o.bg_postfix, std::make_shared<const VoxelSet>(std::move(found.background)));
}

SampleSpec FgBgToIndices::infer(SampleSpec spec) const {
  const Options& o = options_;
  (void)spec.at(o.label_key);
  if (!o.image_key.empty()) (void)spec.at(o.image_key);
  spec.set({.name = o.label_key + o.fg_postfix, .kind = FieldKind::voxels});
  spec.set({.name = o.label_key + o.bg_postfix, .kind = FieldKind::voxels});
  return spec;
}

std::string FgBgToIndices::describe() const {
  const Options& o = options_;
  return detail::OptionList()
      .add("label_key", o.label_key)
      .add("image_key", o.image_key)
      .add("image_threshold", o.image_threshold)
      .add("fg_postfix", o.fg_postfix)
      .add("bg_postfix", o.bg_postfix)
      .str();
}

}  // namespace headrace
