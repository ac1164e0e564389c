#include <algorithm>
#include <array>
#include <headrace/io/nifti_reader.hpp>
#include <stdexcept>
#include <vector>

#include "byte_source.hpp"
#include "voxel_copy.hpp"

namespace headrace {
namespace {

// Stored voxels are gathered into a slab before they are transposed: as many whole slices as fill a cache line of the
// result, or more where slices are small; fewer where they would take more memory than this.
constexpr std::size_t small_slab = std::size_t{1} << 20, largest_slab = std::size_t{8} << 20;

std::size_t slices_of_slab(std::size_t slice_bytes, std::size_t element, std::size_t slices) {
  const std::size_t line = detail::line_bytes / element;
  const std::size_t wanted = std::max(line, small_slab / slice_bytes / line * line);
  return std::clamp<std::size_t>(std::min(wanted, largest_slab / slice_bytes), 1, slices);
}

// The stream after the header, which a vox_offset of 0 makes part of the data.
class VoxelStream {
 public:
  VoxelStream(detail::ByteSource& source, std::span<const std::byte> header, const NiftiHeader& h)
      : source_(source), pending_(header), h_(h) {
    if (h.data_offset == 0) return;
    // Extensions between header and data.
    std::array<std::byte, 4096> skipped;
    for (std::uint64_t left = h.data_offset - header.size(); left > 0;) {
      const std::size_t n = source.read(
          std::span(skipped).first(static_cast<std::size_t>(std::min<std::uint64_t>(left, skipped.size()))));
      if (n == 0) throw_short(0);
      left -= n;
    }
    pending_ = {};
  }

  void fill(std::span<std::byte> to) {
    const std::size_t first = std::min(to.size(), pending_.size());
    std::copy_n(pending_.begin(), first, to.begin());
    pending_ = pending_.subspan(first);
    const std::size_t n = first + source_.read(to.subspan(first));
    taken_ += n;
    if (n < to.size()) throw_short(taken_);
  }

  // Reads on to the end, so that the last checksums are verified; returns how many bytes were left.
  std::uint64_t drain() {
    std::vector<std::byte> rest(std::size_t{64} << 10);
    std::uint64_t bytes = pending_.size();
    while (const std::size_t n = source_.read(rest)) bytes += n;
    return bytes;
  }

 private:
  [[noreturn]] void throw_short(std::uint64_t found) const {
    throw IoError(source_.path(), "ends after " + std::to_string(found) + " bytes of voxels; expected " +
                                      std::to_string(h_.data_bytes) + " for " + h_.shape.str() + " " +
                                      std::string(name_of(h_.stored)) + " at offset " + std::to_string(h_.data_offset));
  }

  detail::ByteSource& source_;
  std::span<const std::byte> pending_;
  const NiftiHeader& h_;
  std::uint64_t taken_ = 0;
};

std::string claim(const NiftiHeader& h) {
  return "claims " + h.shape.str() + " " + std::string(name_of(h.stored)) + ", " + std::to_string(h.data_bytes) +
         " bytes of voxels at offset " + std::to_string(h.data_offset);
}

// The header, with its sizes held against what the file can hold. `bytes` receives the raw header.
NiftiHeader read_start(detail::ByteSource& source, std::span<std::byte> bytes) {
  const std::size_t n = source.read(bytes);
  NiftiHeader h = parse_nifti_header(bytes.first(n), source.path());
  // No overflow: data_offset is below 2^53 and data_bytes at most 2^62.
  if (const std::uint64_t needed = h.data_offset + h.data_bytes; needed > source.most_bytes())
    throw IoError(source.path(), claim(h) + ", but the file has " + std::to_string(source.stamp().size) + " bytes" +
                                     (source.compressed()
                                          ? ", which cannot inflate to more than " + std::to_string(source.most_bytes())
                                          : std::string()));
  if (source.compressed() && !detail::named_gz(source.path()))
    h.notes.push_back("the file is gzip, though its name does not end in .gz");
  return h;
}

[[noreturn]] void throw_misfit(const NiftiHeader& h, const NiftiOptions& options, const std::string& path,
                               std::uint64_t index, const std::string& value) {
  std::string voxel;
  for (int d = 1; d < h.shape.rank(); ++d) {
    const auto n = static_cast<std::uint64_t>(h.shape[d]);
    voxel += (d > 1 ? ", " : "") + std::to_string(index % n);
    index /= n;
  }
  throw IoError(path, "the value " + value + " at voxel (" + voxel + ")" +
                          (h.shape[0] > 1 ? " of channel " + std::to_string(index) : "") + " does not fit " +
                          std::string(name_of(options.dtype)) + "; expected whole numbers in its range");
}

void read_voxels(VoxelStream& stream, const NiftiHeader& h, const NiftiOptions& options, const std::string& path,
                 std::byte* to) {
  const detail::VoxelConversion conversion{
      .from = h.stored, .to = options.dtype, .scaled = h.scaled, .slope = h.slope, .inter = h.inter};
  const std::size_t stored = size_of(h.stored);
  std::size_t n[3] = {1, 1, 1};
  for (int d = 1; d < h.shape.rank(); ++d) n[d - 1] = static_cast<std::size_t>(h.shape[d]);
  // A single slice is turned as slices of one row each: the axis to bring inside is the second one.
  if (n[2] == 1) std::swap(n[1], n[2]);

  const std::size_t row = n[0] * stored;
  const std::size_t slice = row * n[1];
  const std::size_t slices_at_once = slices_of_slab(slice, size_of(options.dtype), n[2]);
  // A slice that is larger than a slab is taken in bands of rows.
  const std::size_t rows_at_once = slices_at_once > 1 ? n[1] : std::clamp<std::size_t>(small_slab / row, 1, n[1]);
  std::vector<std::byte> buffer(row * rows_at_once * slices_at_once);

  std::uint64_t done = 0;  // voxels
  const std::size_t channel_bytes = n[0] * n[1] * n[2] * size_of(options.dtype);
  for (std::int64_t c = 0; c < h.shape[0]; ++c, to += channel_bytes)
    for (std::size_t k = 0; k < n[2]; k += slices_at_once)
      for (std::size_t j = 0; j < n[1]; j += rows_at_once) {
        const detail::VoxelSlab slab{.n = {n[0], n[1], n[2]},
                                     .row = j,
                                     .rows = std::min(rows_at_once, n[1] - j),
                                     .slice = k,
                                     .slices = std::min(slices_at_once, n[2] - k)};
        const std::size_t count = n[0] * slab.rows * slab.slices;
        const std::span<std::byte> bytes = std::span(buffer).first(count * stored);
        stream.fill(bytes);
        if (h.big_endian) detail::swap_elements(bytes, stored);
        if (!detail::copy_voxels(conversion, slab, buffer.data(), to)) {
          const auto misfit = detail::find_misfit(conversion, buffer.data(), count);
          throw_misfit(h, options, path, done + misfit->index, misfit->value);
        }
        done += count;
      }
}

}  // namespace

NiftiImage read_nifti(const std::string& path, const NiftiOptions& options) {
  if (options.dtype == DType::f16 || options.dtype == DType::bf16)
    throw std::invalid_argument("read_nifti: dtype " + std::string(name_of(options.dtype)) +
                                " is not a type that voxels are read into; expected f32, f64 or an integer type");
  if (options.channels < 0)
    throw std::invalid_argument("read_nifti: channels is " + std::to_string(options.channels) +
                                "; expected 0 (any) or more");

  const std::unique_ptr<detail::ByteSource> source = detail::open_source(path);
  std::array<std::byte, nifti1_header_bytes> bytes;
  NiftiImage image;
  NiftiHeader& h = image.header = read_start(*source, bytes);
  if (options.channels > 0 && h.shape[0] != options.channels)
    throw IoError(path, "has " + std::to_string(h.shape[0]) + " channels (shape " + h.shape.str() + "); expected " +
                            std::to_string(options.channels));

  VoxelStream stream(*source, bytes, h);
  image.tensor = Tensor::empty(options.dtype, h.shape);
  read_voxels(stream, h, options, path, image.tensor.mutable_raw());
  if (const std::uint64_t rest = stream.drain(); rest > 0)
    h.notes.push_back(std::to_string(rest) + " bytes after the last voxel are ignored");
  source->check_unchanged();
  image.affine = h.affine;
  image.stamp = source->stamp();
  return image;
}

NiftiHeader read_nifti_header(const std::string& path) {
  const std::unique_ptr<detail::ByteSource> source = detail::open_source(path);
  std::array<std::byte, nifti1_header_bytes> bytes;
  return read_start(*source, bytes);
}

}  // namespace headrace
