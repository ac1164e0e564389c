// A PNG that shows what a trainer would see: per patch three orthogonal slices in grey, with the label in colour on
// top.
#pragma once

#include <headrace/tensor/tensor.hpp>
#include <string>
#include <vector>

namespace headrace::tool {

struct SheetEntry {
  Tensor image;  // [C, x, y, z], any arithmetic type; channel 0 is shown
  Tensor label;  // [C, x, y, z] of the same size, or undefined for none; 0 is background
  std::string caption;
};

struct SheetOptions {
  int columns = 0;       // 0: about as wide as high
  int slice_size = 160;  // pixels of a slice's longer side, at least
};

// The slices are those with the most labelled voxels, the middle ones where there is no label: axial, coronal,
// sagittal, with front and head up, for patches in RAS. Grey runs from the 0.5th to the 99.5th percentile of the patch.
// Each label value has its own colour, its outline stronger. Throws std::invalid_argument for an empty list or tensors
// that are not volumes of one size, IoError.
void write_contact_sheet(const std::string& path, const std::vector<SheetEntry>& entries,
                         const SheetOptions& options = {});

}  // namespace headrace::tool
