// Where each field of each sample of a step lies in the step's slab, and which op may write it there.
#pragma once

#include <cstddef>
#include <headrace/transform/pipeline.hpp>
#include <string_view>
#include <vector>

namespace headrace::detail {

struct SlotLayout {
  struct Place {
    FieldSpec spec;
    std::size_t offset = 0;  // of sample 0, bytes, a multiple of 64
    std::size_t bytes = 0;   // per sample
    // first_op: from this op of the pipeline on, nothing replaces or re-views the field any more.
    std::size_t first_op = 0;
  };

  SampleSpec spec;                  // of one output
  bool collated = false;            // every tensor's shape is known: the slab is used
  std::vector<Place> places;        // the tensors, in declared order (also when not collated, without offsets)
  std::size_t bytes = 0;            // of the slab
  std::size_t largest_scratch = 0;  // the largest intermediate tensor whose size is known ahead
  // Some op of the parts may ask for intermediate memory: it writes a field that a later one replaces or re-views, or
  // says so itself.
  bool needs_scratch = false;

  // The index into places, or places.size().
  std::size_t find(std::string_view field) const noexcept;
};

// Throws std::invalid_argument where a pipeline leaves nothing to deliver, std::length_error for an absurd size.
SlotLayout make_layout(const SampleSpec& input, const Pipeline& pipeline, std::uint64_t samples);

}  // namespace headrace::detail
