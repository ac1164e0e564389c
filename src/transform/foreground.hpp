// Foreground and background of a label as bitmaps: what FgBgToIndices stores and RandCropByPosNegLabel falls back to.
#pragma once

#include <headrace/sample/sample.hpp>
#include <string>

namespace headrace::detail {

struct ForegroundBackground {
  VoxelSet foreground, background;
};

// image_key may be empty. Throws std::invalid_argument when the image's spatial shape is not the label's.
ForegroundBackground find_foreground(const Sample& sample, const std::string& label_key, const std::string& image_key,
                                     double image_threshold);

}  // namespace headrace::detail
