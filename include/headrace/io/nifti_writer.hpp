// Writes a channel-first tensor as a NIfTI-1 file, .nii or .nii.gz (by the name), so that read_nifti() gives back the
// same voxels, shape and affine.
//
// The file is written under another name in the same folder and renamed at the end: a reader sees the old file or the
// whole new one, and an error leaves neither a half file nor a changed old one.
//
// Shape: [1, x], [1, x, y], [1, x, y, z] become files of 1 to 3 dimensions; [C, x, y, z] with C > 1 one of 4. Sizes are
// 1 to 32767. Strided views are written as they look.
// Affine: as the sform, in floats: it comes back exactly if its numbers are floats. Where the columns are orthogonal,
// the qform says the same. pixdim holds the column norms (with one or two dimensions: of the 1 x 1 or 2 x 2 block).
// Voxels: as they are, no scaling (slope 1, intercept 0). f16 and bf16 have no NIfTI type and are refused.
//
// Errors: IoError (cannot be created, disk full, name that is neither .nii nor .nii.gz); std::invalid_argument for a
// tensor or an affine that the format cannot hold.
// Thread-safety: any number of calls at once on different paths; on one path the last rename wins.
#pragma once

#include <headrace/io/error.hpp>
#include <headrace/sample/affine.hpp>
#include <headrace/tensor/tensor.hpp>
#include <string>

namespace headrace {

struct NiftiWriteOptions {
  int level = 1;                 // of compression, 0 (fastest) to 3
  std::string description = {};  // at most 79 bytes
};

void write_nifti(const std::string& path, const Tensor& tensor, const Affine& affine,
                 const NiftiWriteOptions& options = {});

}  // namespace headrace
