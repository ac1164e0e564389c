#include "slot_layout.hpp"

#include <algorithm>
#include <stdexcept>

namespace headrace::detail {

std::size_t SlotLayout::find(std::string_view field) const noexcept {
  return static_cast<std::size_t>(
      std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.spec.name == field; }) -
      places.begin());
}

SlotLayout make_layout(const SampleSpec& input, const Pipeline& pipeline, std::uint64_t samples) {
  SlotLayout layout;
  layout.spec = pipeline.infer(input);
  std::erase_if(layout.spec.fields, [](const FieldSpec& f) { return f.kind == FieldKind::voxels; });
  if (layout.spec.fields.empty())
    throw std::invalid_argument("the pipeline leaves no field to deliver: it starts from " + input.str());
  layout.collated = true;
  std::size_t offset = 0;
  // What runs once per item, before there are patches, writes to memory of its own.
  const std::size_t first_part_op = pipeline.one_to_many() ? pipeline.item_ops() : 0;
  bool written_on_the_way = false;
  for (const FieldSpec& f : layout.spec.fields) {
    if (f.kind != FieldKind::tensor) continue;
    SlotLayout::Place place{.spec = f};
    for (std::size_t op = 0; op < pipeline.size(); ++op) {
      const Effect effect = pipeline.op(op).effect(f.name);
      if (effect == Effect::view || effect == Effect::rewrite) place.first_op = op;
      // A view itself never asks for output; what it shows must not be in the slot yet.
      if (effect == Effect::view) place.first_op = op + 1;
    }
    for (std::size_t op = first_part_op; op < place.first_op; ++op) {
      const Effect effect = pipeline.op(op).effect(f.name);
      if (effect == Effect::in_place || effect == Effect::rewrite) written_on_the_way = true;
    }
    if (f.known()) {
      place.bytes = f.bytes();
      place.offset = offset;
      std::size_t all = 0;
      if (__builtin_mul_overflow(place.bytes, samples, &all) || __builtin_add_overflow(offset, all + 63, &offset))
        throw std::length_error("a batch of " + std::to_string(samples) + " samples of " + f.str() +
                                " does not fit the address space");
      offset = offset / 64 * 64;
      layout.largest_scratch = std::max(layout.largest_scratch, place.bytes);
    } else {
      layout.collated = false;
    }
    layout.places.push_back(std::move(place));
  }
  // Text and numbers alone need no slab.
  if (layout.places.empty()) layout.collated = true;
  layout.bytes = layout.collated ? offset : 0;
  layout.needs_scratch = layout.collated && written_on_the_way;
  for (std::size_t op = first_part_op; op < pipeline.size(); ++op)
    layout.needs_scratch = layout.needs_scratch || pipeline.op(op).asks_scratch();
  return layout;
}

}  // namespace headrace::detail
