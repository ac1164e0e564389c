#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <headrace/io/nifti_writer.hpp>
#include <limits>
#include <stdexcept>
#include <vector>

#include "byte_source.hpp"
#include "nifti_affine.hpp"
#include "output_file.hpp"

namespace headrace {
namespace {

constexpr std::size_t data_offset = 352;

struct Code {
  DType dtype;
  std::int16_t datatype;
};
constexpr Code codes[] = {{DType::u8, 2},     {DType::i16, 4},   {DType::i32, 8},   {DType::f32, 16},
                          {DType::f64, 64},   {DType::i8, 256},  {DType::u16, 512}, {DType::u32, 768},
                          {DType::i64, 1024}, {DType::u64, 1280}};

std::int16_t datatype_of(DType dtype) {
  for (const Code& c : codes)
    if (c.dtype == dtype) return c.datatype;
  throw std::invalid_argument("write_nifti: NIfTI has no data type for " + std::string(name_of(dtype)) +
                              "; convert the tensor to f32 first");
}

void check(const Tensor& tensor, const Affine& affine, const NiftiWriteOptions& options) {
  if (!tensor.defined()) throw std::invalid_argument("write_nifti: the tensor is undefined");
  const Shape& shape = tensor.shape();
  const std::string expected = "; expected [1, x], [1, x, y] or [C, x, y, z]";
  if (shape.rank() < 2 || shape.rank() > 4)
    throw std::invalid_argument("write_nifti: the tensor has shape " + shape.str() + expected);
  if (shape.rank() < 4 && shape[0] != 1)
    throw std::invalid_argument("write_nifti: shape " + shape.str() +
                                " has several channels but fewer than 3 spatial axes, which NIfTI cannot tell apart" +
                                expected);
  for (std::int64_t n : shape)
    if (n < 1 || n > 32767)
      throw std::invalid_argument("write_nifti: shape " + shape.str() + " has a size outside NIfTI-1's 1 to 32767");
  for (double v : affine.m)
    if (!(std::fabs(v) <= static_cast<double>(std::numeric_limits<float>::max())))
      throw std::invalid_argument("write_nifti: the affine " + affine.str() + " does not fit NIfTI-1's floats");
  if (options.level < 0 || options.level > 3)
    throw std::invalid_argument("write_nifti: level is " + std::to_string(options.level) + "; expected 0 to 3");
  if (options.description.size() > 79)
    throw std::invalid_argument("write_nifti: the description has " + std::to_string(options.description.size()) +
                                " bytes; expected at most 79");
}

class HeaderBytes {
 public:
  void i16(std::size_t at, int v) { put(at, static_cast<std::int16_t>(v)); }
  void i32(std::size_t at, std::int32_t v) { put(at, v); }
  void f32(std::size_t at, double v) { put(at, static_cast<float>(v)); }
  void u8(std::size_t at, std::uint8_t v) { put(at, v); }
  void text(std::size_t at, const std::string& s) { std::memcpy(bytes_.data() + at, s.data(), s.size()); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static_assert(std::endian::native == std::endian::little, "headers are written in native order as little-endian");
  template <class T>
  void put(std::size_t at, T v) {
    std::memcpy(bytes_.data() + at, &v, sizeof v);
  }
  std::array<std::byte, data_offset> bytes_{};  // with the four bytes that say "no extension"
};

// What a reader compares pixdim with: the column norms of the top-left rank x rank block (a zero norm counts as 1). For
// one or two dimensions that is not the spacing of a turned image, and another pixdim would make readers drop the
// sform.
std::array<double, 3> pixdim_of(const Affine& affine, int rank) {
  std::array<double, 3> out = affine.spacing();
  for (int c = 0; c < rank; ++c) {
    double sum = 0;
    for (int r = 0; r < rank; ++r) sum += affine(r, c) * affine(r, c);
    out[static_cast<std::size_t>(c)] = sum == 0 ? 1 : std::sqrt(sum);
  }
  return out;
}

// Writes the qform if the columns are orthogonal and pixdim holds their lengths, so that it can say the same as the
// sform.
void put_qform(HeaderBytes& header, const Affine& affine, const std::array<double, 3>& pixdim) {
  std::array<double, 9> rotation;
  for (int c = 0; c < 3; ++c)
    for (int r = 0; r < 3; ++r)
      rotation[static_cast<std::size_t>(3 * r + c)] = affine(r, c) / pixdim[static_cast<std::size_t>(c)];
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = a; b < 3; ++b) {
      const double dot =
          rotation[a] * rotation[b] + rotation[3 + a] * rotation[3 + b] + rotation[6 + a] * rotation[6 + b];
      if (!(std::fabs(dot - (a == b ? 1 : 0)) < 1e-6)) return;
    }
  const bool mirrored = affine.determinant() < 0;
  if (mirrored) {
    for (std::size_t r = 0; r < 3; ++r) rotation[3 * r + 2] = -rotation[3 * r + 2];
    header.f32(76, -1);
  }
  const std::array<double, 3> q = detail::quaternion_of(rotation);
  header.i16(252, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    header.f32(256 + 4 * i, q[i]);
    header.f32(268 + 4 * i, affine(static_cast<int>(i), 3));
  }
}

HeaderBytes make_header(const Tensor& tensor, const Affine& affine, const NiftiWriteOptions& options) {
  HeaderBytes h;
  const Shape& shape = tensor.shape();
  const bool channels = shape[0] > 1;
  const int rank = shape.rank() - 1;
  h.i32(0, 348);
  h.i16(40, channels ? 4 : rank);
  for (int d = 1; d <= 7; ++d) {
    const std::int64_t n = d <= rank ? shape[d] : d == 4 ? shape[0] : 1;
    h.i16(40 + 2 * static_cast<std::size_t>(d), static_cast<int>(n));
  }
  h.i16(70, datatype_of(tensor.dtype()));
  h.i16(72, static_cast<int>(8 * size_of(tensor.dtype())));
  const std::array<double, 3> pixdim = pixdim_of(affine, rank);
  h.f32(76, 1);
  for (std::size_t d = 1; d <= 7; ++d) h.f32(76 + 4 * d, d <= 3 ? pixdim[d - 1] : 1);
  h.f32(108, static_cast<double>(data_offset));
  h.f32(112, 1);
  h.f32(116, 0);
  h.u8(123, 2);  // millimetres
  h.text(148, options.description);
  put_qform(h, affine, pixdim);
  h.i16(254, 1);
  for (std::size_t i = 0; i < 12; ++i) h.f32(280 + 4 * i, affine.m[i]);
  h.text(344, "n+1");
  return h;
}

// One slice of the last axis at a time: gathered in file order, then written.
template <class Word>
void write_voxels(detail::ByteSink& sink, const Tensor& tensor) {
  Shape n{1, 1, 1, 1};
  Shape stride{0, 0, 0, 0};
  for (int d = 0; d < tensor.rank(); ++d) {
    n[d] = tensor.shape()[d];
    stride[d] = tensor.strides()[d];
  }
  const auto* first = reinterpret_cast<const Word*>(tensor.raw());
  std::vector<Word> slice(static_cast<std::size_t>(n[1] * n[2]));
  for (std::int64_t c = 0; c < n[0]; ++c)
    for (std::int64_t k = 0; k < n[3]; ++k) {
      std::size_t at = 0;
      for (std::int64_t j = 0; j < n[2]; ++j) {
        const Word* row = first + c * stride[0] + j * stride[2] + k * stride[3];
        for (std::int64_t i = 0; i < n[1]; ++i) slice[at++] = row[i * stride[1]];
      }
      sink.write(std::as_bytes(std::span(slice)));
    }
}

}  // namespace

void write_nifti(const std::string& path, const Tensor& tensor, const Affine& affine,
                 const NiftiWriteOptions& options) {
  check(tensor, affine, options);
  const bool gz = detail::named_gz(path);
  if (!gz && !path.ends_with(".nii"))
    throw IoError(path, "cannot be written as NIfTI: expected a name ending in .nii or .nii.gz");
  const HeaderBytes header = make_header(tensor, affine, options);

  detail::OutputFile file(path);
  std::unique_ptr<detail::ByteSink> sink;
  if (gz)
    sink = detail::gzip_sink(file, options.level);
  else
    sink = std::make_unique<detail::PlainSink>(file);
  sink->write(header.bytes());
  switch (size_of(tensor.dtype())) {
    case 1:
      write_voxels<std::uint8_t>(*sink, tensor);
      break;
    case 2:
      write_voxels<std::uint16_t>(*sink, tensor);
      break;
    case 4:
      write_voxels<std::uint32_t>(*sink, tensor);
      break;
    default:
      write_voxels<std::uint64_t>(*sink, tensor);
      break;
  }
  sink->finish();
  file.commit();
}

}  // namespace headrace
