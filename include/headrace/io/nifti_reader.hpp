// Reads a NIfTI-1 volume (.nii or .nii.gz) into a channel-first tensor.
//
// A reader is a pure function of the file and the options: no member, no global. The file is read, inflated,
// byte-swapped, scaled, converted and transposed (a file has its first axis fastest, a tensor its last) in pieces of
// one to eight megabytes; each voxel is written to the tensor once.
//
// Values. Unscaled voxels are converted from the stored type to the asked one directly. Scaled ones are computed in
// double: slope * stored (left out for slope 1) + inter (left out for 0), then converted once. NaN and infinity in the
// file are kept. Into f32, integers above 2^24 are rounded to nearest even, and doubles above its range become
// infinity. Into an integer type every value must fit exactly (no fraction, no NaN, in range): otherwise an error names
// value and voxel.
//
// Shape. (x, y, z) becomes [1, x, y, z]; (x, y, z, t) becomes [t, x, y, z]; (x, y, z, 1, c) becomes [c, x, y, z]; files
// of one or two dimensions give [1, x] and [1, x, y].
//
// Checks. The sizes in the header are held against the file's length (gzip cannot inflate more than 1032-fold) before
// memory is asked for. Gzip: CRC-32 and length of every member are verified, also past the last voxel; what follows the
// last member must be another one. A file that is changed while it is read is an error.
//
// When not to use it: to look at headers only: read_nifti_header() reads the first kilobytes and verifies no checksum.
//
// Errors: IoError naming path, what was found and what was expected; std::invalid_argument for options that make no
// sense; std::bad_alloc. Thread-safety: any number of calls at once, on the same file too.
#pragma once

#include <cstdint>
#include <headrace/io/file.hpp>
#include <headrace/io/nifti_header.hpp>
#include <headrace/tensor/tensor.hpp>
#include <string>

namespace headrace {

struct NiftiOptions {
  DType dtype = DType::f32;   // of the result; any but f16 and bf16
  std::int64_t channels = 0;  // how many are expected; another number is an error; 0: any
};

struct NiftiImage {
  Tensor tensor;       // [C, n0, n1, n2], contiguous
  Affine affine;       // header.affine
  NiftiHeader header;  // with notes about header and stream
  FileStamp stamp;     // of the contents that were read
};

NiftiImage read_nifti(const std::string& path, const NiftiOptions& options = {});

NiftiHeader read_nifti_header(const std::string& path);

}  // namespace headrace
