#include "byte_source.hpp"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <vector>

namespace headrace::detail {
namespace {

constexpr std::size_t input_bytes = std::size_t{128} << 10;
// Deflate's best case: 258 bytes for one bit of length code and one of distance code.
constexpr std::uint64_t most_expansion = 1032;
// The shortest gzip member: header 10, an empty block 2, trailer 8.
constexpr std::size_t smallest_member = 20;

class PlainSource final : public ByteSource {
 public:
  // `start` holds the bytes already taken from the file.
  PlainSource(FileDescriptor file, std::string path, const FileStamp& stamp, std::span<const std::byte> start)
      : ByteSource(std::move(file), std::move(path), stamp), start_(start.begin(), start.end()) {}

  std::size_t read(std::span<std::byte> to) override {
    const std::size_t first = std::min(to.size(), start_.size() - taken_);
    std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(taken_), first, to.begin());
    taken_ += first;
    return first + read_some(file_, to.subspan(first), path_);
  }
  std::uint64_t most_bytes() const noexcept override { return stamp_.size; }
  bool compressed() const noexcept override { return false; }

 private:
  std::vector<std::byte> start_;
  std::size_t taken_ = 0;
};

const char* meaning(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
      return "an invalid block";
    case ISAL_INVALID_SYMBOL:
      return "an invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "a reference to before the start";
    case ISAL_INVALID_WRAPPER:
      return "a damaged gzip header";
    case ISAL_UNSUPPORTED_METHOD:
      return "a compression method other than deflate";
    case ISAL_INCORRECT_CHECKSUM:
      return "a checksum or length that does not match its contents";
    case ISAL_NEED_DICT:
      return "a preset dictionary";
    default:
      return "an unknown fault";
  }
}

class GzipSource final : public ByteSource {
 public:
  GzipSource(FileDescriptor file, std::string path, const FileStamp& stamp, std::span<const std::byte> start)
      : ByteSource(std::move(file), std::move(path), stamp), input_(input_bytes), state_(new inflate_state) {
    std::copy(start.begin(), start.end(), input_.begin());
    begin_member();
    state_->next_in = data();
    state_->avail_in = static_cast<std::uint32_t>(start.size());
    file_bytes_ = start.size();
  }

  std::size_t read(std::span<std::byte> to) override {
    std::size_t done = 0;
    while (done < to.size() && !ended_) done += inflate(to.subspan(done));
    return done;
  }
  std::uint64_t most_bytes() const noexcept override {
    return stamp_.size > UINT64_MAX / most_expansion ? UINT64_MAX : stamp_.size * most_expansion;
  }
  bool compressed() const noexcept override { return true; }

 private:
  std::uint8_t* data() noexcept { return reinterpret_cast<std::uint8_t*>(input_.data()); }

  void begin_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;  // reads the member's header, checks CRC-32 and length in its trailer
  }

  std::string place() const {
    return "member " + std::to_string(members_ + 1) + ", near byte " + std::to_string(file_bytes_ - state_->avail_in) +
           " of the file";
  }

  // False at the end of the file.
  bool refill() {
    const std::size_t n = read_some(file_, input_, path_);
    state_->next_in = data();
    state_->avail_in = static_cast<std::uint32_t>(n);
    file_bytes_ += n;
    return n > 0;
  }

  // One step: some output, or the next member, or the end.
  std::size_t inflate(std::span<std::byte> to) {
    if (state_->block_state == ISAL_BLOCK_FINISH) {
      next_member();
      return 0;
    }
    state_->next_out = reinterpret_cast<std::uint8_t*>(to.data());
    const auto room = static_cast<std::uint32_t>(std::min(to.size(), std::size_t{1} << 30));
    state_->avail_out = room;
    const std::uint32_t input = state_->avail_in;
    if (const int code = isal_inflate(state_.get()); code != ISAL_DECOMP_OK)
      throw IoError(path_, std::string("is damaged: the gzip stream has ") + meaning(code) + " (" + place() + ")");
    const std::size_t made = room - state_->avail_out;
    if (state_->block_state == ISAL_BLOCK_FINISH || made > 0 || state_->avail_in < input) return made;
    if (state_->avail_in != 0) throw IoError(path_, "is damaged: the gzip stream makes no progress (" + place() + ")");
    if (!refill())
      throw IoError(path_, "is truncated: it ends after " + std::to_string(file_bytes_) +
                               " bytes, inside gzip member " + std::to_string(members_ + 1));
    return 0;
  }

  void next_member() {
    ++members_;
    if (state_->avail_in == 0 && !refill()) {
      ended_ = true;
      return;
    }
    // The two magic bytes may lie on both sides of a refill: gather what is left and top it up.
    const std::size_t left = state_->avail_in;
    if (left < smallest_member) {
      std::copy_n(state_->next_in, left, data());
      const std::size_t n = read_some(file_, std::span(input_).subspan(left), path_);
      file_bytes_ += n;
      state_->next_in = data();
      state_->avail_in = static_cast<std::uint32_t>(left + n);
    }
    if (state_->avail_in < 2 || state_->next_in[0] != 0x1f || state_->next_in[1] != 0x8b)
      throw IoError(path_, "has junk after the gzip stream, from byte " +
                               std::to_string(file_bytes_ - state_->avail_in) +
                               " on; expected the end of the file or another gzip member");
    std::uint8_t* next_in = state_->next_in;
    const std::uint32_t avail_in = state_->avail_in;
    begin_member();
    state_->next_in = next_in;
    state_->avail_in = avail_in;
  }

  std::vector<std::byte> input_;
  std::unique_ptr<inflate_state> state_;
  std::uint64_t file_bytes_ = 0;  // read from the file so far
  std::uint64_t members_ = 0;     // finished
  bool ended_ = false;
};

}  // namespace

bool named_gz(const std::string& path) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const std::size_t n = path.size();
  return n >= 3 && path[n - 3] == '.' && lower(path[n - 2]) == 'g' && lower(path[n - 1]) == 'z';
}

void ByteSource::check_unchanged() const {
  if (stamp_of(file_, path_) != stamp_)
    throw IoError(path_, "was changed while it was being read; expected a file at rest");
}

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  FileDescriptor file = open_for_reading(path);
  const FileStamp stamp = stamp_of(file, path);
  advise_sequential(file);
  std::array<std::byte, 2> magic{};
  const std::size_t n = read_some(file, magic, path);
  if (n == 0) throw IoError(path, "is empty; expected a NIfTI file");
  const auto start = std::span<const std::byte>(magic).first(n);
  if (n == 2 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b})
    return std::make_unique<GzipSource>(std::move(file), path, stamp, start);
  if (named_gz(path))
    throw IoError(path, "is named .gz but is not a gzip file: it does not begin with the bytes 1f 8b");
  return std::make_unique<PlainSource>(std::move(file), path, stamp, start);
}

}  // namespace headrace::detail
