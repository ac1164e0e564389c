#include <bit>
#include <cmath>
#include <cstring>
#include <headrace/io/nifti_header.hpp>

#include "nifti_affine.hpp"
#include "text.hpp"

namespace headrace {
namespace {

// Byte offsets of the fields, from the standard.
enum Offset : std::size_t {
  at_sizeof_hdr = 0,
  at_dim = 40,
  at_intent_code = 68,
  at_datatype = 70,
  at_bitpix = 72,
  at_pixdim = 76,
  at_vox_offset = 108,
  at_scl_slope = 112,
  at_scl_inter = 116,
  at_xyzt_units = 123,
  at_descrip = 148,
  at_qform_code = 252,
  at_sform_code = 254,
  at_quatern = 256,
  at_qoffset = 268,
  at_srow = 280,
  at_magic = 344,
};

static_assert(std::endian::native == std::endian::little, "the byte order logic below reads little-endian as native");

// Reads fields in either byte order.
class Fields {
 public:
  Fields(std::span<const std::byte> bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  std::int16_t i16(std::size_t at) const { return static_cast<std::int16_t>(word<std::uint16_t>(at)); }
  std::int32_t i32(std::size_t at) const { return static_cast<std::int32_t>(word<std::uint32_t>(at)); }
  double f32(std::size_t at) const { return static_cast<double>(std::bit_cast<float>(word<std::uint32_t>(at))); }
  std::uint8_t u8(std::size_t at) const { return std::to_integer<std::uint8_t>(bytes_[at]); }

 private:
  template <class T>
  T word(std::size_t at) const {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t shift = 8 * (swapped_ ? sizeof(T) - 1 - i : i);
      value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes_[at + i]) << shift));
    }
    return value;
  }

  std::span<const std::byte> bytes_;
  bool swapped_;
};

struct Datatype {
  int code;
  const char* name;
  int bits;
  int dtype;           // a DType, or -1 where there is none
  const char* reason;  // why it is refused
};

constexpr int none = -1;
constexpr int type(DType t) { return static_cast<int>(t); }

constexpr Datatype datatypes[] = {
    {0, "UNKNOWN", 0, none, "the file does not say what its voxels are"},
    {1, "BINARY", 1, none, "1-bit voxels are not supported"},
    {2, "UINT8", 8, type(DType::u8), nullptr},
    {4, "INT16", 16, type(DType::i16), nullptr},
    {8, "INT32", 32, type(DType::i32), nullptr},
    {16, "FLOAT32", 32, type(DType::f32), nullptr},
    {32, "COMPLEX64", 64, none, "complex voxels are not supported: their imaginary part would be lost"},
    {64, "FLOAT64", 64, type(DType::f64), nullptr},
    {128, "RGB24", 24, none, "colour voxels are not supported"},
    {256, "INT8", 8, type(DType::i8), nullptr},
    {512, "UINT16", 16, type(DType::u16), nullptr},
    {768, "UINT32", 32, type(DType::u32), nullptr},
    {1024, "INT64", 64, type(DType::i64), nullptr},
    {1280, "UINT64", 64, type(DType::u64), nullptr},
    {1536, "FLOAT128", 128, none, "128-bit floats are not supported"},
    {1792, "COMPLEX128", 128, none, "complex voxels are not supported: their imaginary part would be lost"},
    {2048, "COMPLEX256", 256, none, "complex voxels are not supported: their imaginary part would be lost"},
    {2304, "RGBA32", 32, none, "colour voxels are not supported"},
};

const Datatype* find_datatype(int code) {
  for (const Datatype& d : datatypes)
    if (d.code == code) return &d;
  return nullptr;
}

constexpr const char* readable_datatypes =
    "expected one of UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64, FLOAT32, FLOAT64";

// The byte order is decided by dim[0], which is 1..7 in the right one; by sizeof_hdr where dim[0] is 0.
bool decide_byte_order(std::span<const std::byte> bytes) {
  const Fields little(bytes, false);
  const std::int16_t rank = little.i16(at_dim);
  if (rank == 0) return little.i32(at_sizeof_hdr) != 348 && Fields(bytes, true).i32(at_sizeof_hdr) == 348;
  return rank < 1 || rank > 7;
}

void read_magic(const Fields& f, std::span<const std::byte> bytes, NiftiHeader& h, const std::string& path) {
  const std::int32_t size = f.i32(at_sizeof_hdr);
  const char* text = reinterpret_cast<const char*>(bytes.data());
  if (std::memcmp(text + 4, "n+2", 3) == 0 || std::memcmp(text + 4, "ni2", 3) == 0)
    throw IoError(path, "is a NIfTI-2 file (540-byte header); expected NIfTI-1");
  if (std::memcmp(text + at_magic, "ni1\0", 4) == 0)
    throw IoError(path, "is one half of a .hdr/.img pair (magic \"ni1\"); expected a single file (magic \"n+1\")");
  if (std::memcmp(text + at_magic, "n+1\0", 4) != 0) {
    std::string found;
    for (std::size_t i = 0; i < 4; ++i) found += (i ? " " : "") + detail::hex_byte(f.u8(at_magic + i));
    throw IoError(path, "is not a NIfTI-1 file: its magic bytes are " + found + "; expected 6e 2b 31 00 (\"n+1\")");
  }
  if (size != 348) h.notes.push_back("sizeof_hdr is " + std::to_string(size) + ": read as 348");
}

void read_dim(const Fields& f, NiftiHeader& h, const std::string& path) {
  for (std::size_t d = 0; d < 8; ++d) h.dim[d] = f.i16(at_dim + 2 * d);
  const int rank = h.dim[0];
  if (rank < 1 || rank > 7)
    throw IoError(path, "dim[0] is " + std::to_string(rank) + "; expected 1 to 7 dimensions, in either byte order");
  for (int d = 1; d <= rank; ++d)
    if (h.dim[static_cast<std::size_t>(d)] < 1)
      throw IoError(path, "dim[" + std::to_string(d) + "] is " + std::to_string(h.dim[static_cast<std::size_t>(d)]) +
                              "; expected a size of at least 1");
  const auto size = [&](int d) -> std::int64_t { return d <= rank ? h.dim[static_cast<std::size_t>(d)] : 1; };
  if (size(6) != 1 || size(7) != 1)
    throw IoError(path, "has " + std::to_string(rank) +
                            " dimensions, the 6th or 7th longer than 1; expected at most "
                            "(x, y, z, t) or (x, y, z, 1, channel)");
  if (size(4) != 1 && size(5) != 1)
    throw IoError(path, "has dim[4] = " + std::to_string(size(4)) + " and dim[5] = " + std::to_string(size(5)) +
                            "; expected one of them to be 1: times and channels cannot both become channels");
  h.shape = Shape{size(4) * size(5)};
  for (int d = 1; d <= std::min(rank, 3); ++d) h.shape.push_back(size(d));
  if (rank >= 4 && h.shape[0] > 1)
    h.notes.push_back("dimension " + std::to_string(size(4) > 1 ? 4 : 5) + " of the file becomes the channel axis");
}

void read_datatype(const Fields& f, NiftiHeader& h, const std::string& path) {
  h.datatype = f.i16(at_datatype);
  const Datatype* d = find_datatype(h.datatype);
  const std::string found = "datatype is " + std::to_string(h.datatype) + " (" + nifti_datatype_name(h.datatype) + ")";
  if (!d) throw IoError(path, found + "; " + readable_datatypes);
  if (d->dtype == none) throw IoError(path, found + ": " + d->reason + "; " + readable_datatypes);
  h.stored = static_cast<DType>(d->dtype);
  if (const int bits = f.i16(at_bitpix); bits != d->bits)
    h.notes.push_back("bitpix is " + std::to_string(bits) + " but " + d->name + " has " + std::to_string(d->bits) +
                      ": the data type decides");
}

void read_data_place(const Fields& f, NiftiHeader& h, const std::string& path) {
  h.vox_offset = f.f32(at_vox_offset);
  const double v = h.vox_offset;
  // 2^53: up to here doubles count bytes exactly; no file is longer.
  if (!std::isfinite(v) || v < 0 || (v > 0 && v < 352) || v > 0x1p53)
    throw IoError(path, "vox_offset is " + detail::number(v) + "; expected 0 or at least 352");
  h.data_offset = static_cast<std::uint64_t>(v);
  if (h.data_offset == 0) h.notes.push_back("vox_offset is 0: the header's own bytes are read as the first voxels");
  if (static_cast<double>(h.data_offset) != v)
    h.notes.push_back("vox_offset is " + detail::number(v) + ": read as " + std::to_string(h.data_offset));
  if (h.data_offset % 16 != 0)
    h.notes.push_back("vox_offset " + std::to_string(h.data_offset) + " is not divisible by 16");

  std::uint64_t bytes = size_of(h.stored);
  for (std::int64_t n : h.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes) || bytes > (std::uint64_t{1} << 62))
      throw IoError(path, "claims " + h.shape.str() + " voxels of " + std::to_string(size_of(h.stored)) +
                              " bytes; expected less than 2^62 bytes");
  h.data_bytes = bytes;
}

void read_scaling(const Fields& f, NiftiHeader& h, const std::string& path) {
  h.scl_slope = f.f32(at_scl_slope);
  h.scl_inter = f.f32(at_scl_inter);
  const std::string slope = detail::number(h.scl_slope);
  if (h.scl_slope == 0 || !std::isfinite(h.scl_slope)) {
    const bool ignored = h.scl_inter != 0 && !std::isnan(h.scl_inter);
    h.notes.push_back("scl_slope is " + slope + ": no scaling" +
                      (ignored ? ", and scl_inter " + detail::number(h.scl_inter) + " is ignored" : ""));
    return;
  }
  if (!std::isfinite(h.scl_inter))
    throw IoError(path, "scl_slope " + slope + " is valid but scl_inter is " + detail::number(h.scl_inter) +
                            "; expected a finite intercept");
  if (h.scl_slope == 1 && h.scl_inter == 0) return;
  h.scaled = true;
  h.slope = h.scl_slope;
  h.inter = h.scl_inter;
}

void read_geometry(const Fields& f, NiftiHeader& h) {
  for (std::size_t i = 0; i < 8; ++i) h.pixdim[i] = f.f32(at_pixdim + 4 * i);
  for (std::size_t i = 0; i < 3; ++i) h.quatern[i] = f.f32(at_quatern + 4 * i);
  for (std::size_t i = 0; i < 3; ++i) h.qoffset[i] = f.f32(at_qoffset + 4 * i);
  for (std::size_t i = 0; i < 12; ++i) h.srow[i] = f.f32(at_srow + 4 * i);
  h.qform_code = f.i16(at_qform_code);
  h.sform_code = f.i16(at_sform_code);
  h.xyzt_units = f.u8(at_xyzt_units);
  // Low three bits: 0 unknown, 1 metre, 2 millimetre, 3 micrometre.
  if (const int unit = h.xyzt_units & 7; unit == 1 || unit == 3)
    h.notes.push_back(std::string("xyzt_units says ") + (unit == 1 ? "metres" : "micrometres") +
                      ": the affine is used as written, without conversion");
}

}  // namespace

std::string nifti_datatype_name(int code) {
  const Datatype* d = find_datatype(code);
  return d ? d->name : "unknown";
}

NiftiHeader parse_nifti_header(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < nifti1_header_bytes)
    throw IoError(path, "has only " + std::to_string(bytes.size()) + " bytes; expected at least the " +
                            std::to_string(nifti1_header_bytes) + " of a NIfTI-1 header");
  NiftiHeader h;
  h.big_endian = decide_byte_order(bytes);
  const Fields f(bytes, h.big_endian);
  read_magic(f, bytes, h, path);
  read_dim(f, h, path);
  read_datatype(f, h, path);
  read_data_place(f, h, path);
  read_scaling(f, h, path);
  read_geometry(f, h);
  h.intent_code = f.i16(at_intent_code);
  for (std::size_t i = 0; i < 80; ++i) {
    const auto c = static_cast<char>(f.u8(at_descrip + i));
    if (c == '\0') break;
    h.description += c;
  }
  if (h.big_endian) h.notes.push_back("big-endian");
  detail::choose_affine(h, path);
  return h;
}

}  // namespace headrace
