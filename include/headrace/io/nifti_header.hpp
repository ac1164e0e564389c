// The NIfTI-1 header: 348 bytes, its rules, and what they decided.
//
// parse_nifti_header() turns bytes into a plain struct. Field rules and repairs are those of nibabel and of MONAI's
// correction of inconsistent spacings, so that a volume lands where those users expect it; every repair and every
// choice is said in `notes`. Deliberate differences: an empty or negative dimension is an error; for a 4-D file only
// the three spatial columns are compared when sform and qform disagree, and the repetition time is kept; a form that is
// not finite is an error; data types that cannot become real numbers one to one (complex, RGB, 1-bit, 128-bit) are
// errors rather than being cut down silently.
//
// World frame: RAS+, millimetres as written. All arithmetic in double (nibabel uses long double for one square root;
// the difference is below 1e-16).
//
// Errors: IoError naming the file, the field, what was found and what was expected.
// Thread-safety: pure functions of their arguments.
// Source: the header nifti1.h of the NIfTI-1.1 standard (2007), https://nifti.nimh.nih.gov/nifti-1
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <headrace/io/error.hpp>
#include <headrace/sample/affine.hpp>
#include <headrace/tensor/dtype.hpp>
#include <headrace/tensor/shape.hpp>
#include <span>
#include <string>
#include <vector>

namespace headrace {

inline constexpr std::size_t nifti1_header_bytes = 348;

// Where the affine came from.
enum class NiftiForm : std::uint8_t { none, qform, sform };

struct NiftiHeader {
  // As read, in the reader's byte order, after the repairs that `notes` lists.
  std::array<std::int16_t, 8> dim{};
  std::array<double, 8> pixdim{};  // [0] is qfac (1 or -1), [1..3] spacing, [4] repetition time
  std::int16_t datatype = 0;
  double vox_offset = 0;
  double scl_slope = 0;  // raw, NaN and infinity included
  double scl_inter = 0;
  std::int16_t qform_code = 0;
  std::int16_t sform_code = 0;
  std::array<double, 3> quatern{};
  std::array<double, 3> qoffset{};
  std::array<double, 12> srow{};
  std::uint8_t xyzt_units = 0;
  std::int16_t intent_code = 0;
  std::string description;

  // What the rules decided.
  bool big_endian = false;
  DType stored = DType::u8;  // element type in the file
  Shape shape;               // channel first: [C, n0], [C, n0, n1] or [C, n0, n1, n2]
  bool scaled = false;       // voxel = slope * stored + inter, in double
  double slope = 1;          // in force; 1 and 0 when not scaled
  double inter = 0;
  Affine affine;  // voxel index -> world, RAS+
  NiftiForm form = NiftiForm::none;
  std::uint64_t data_offset = 0;  // bytes from the start of the (inflated) file to the first voxel
  std::uint64_t data_bytes = 0;   // of all voxels as stored

  std::vector<std::string> notes;  // in the order in which they were decided
};

// The name NIfTI gives a data type code ("INT16"), or "unknown".
std::string nifti_datatype_name(int code);

// `bytes` must hold at least 348; more are ignored. `path` is only for messages.
NiftiHeader parse_nifti_header(std::span<const std::byte> bytes, const std::string& path);

}  // namespace headrace
