#include "output_file.hpp"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

namespace headrace::detail {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::string temporary_name(const std::string& path, int attempt) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + "." + std::to_string(::getpid()) + "-" +
         std::to_string(attempt) + ".part";
}

class GzipSink final : public ByteSink {
 public:
  GzipSink(OutputFile& file, int level) : file_(file), output_(std::size_t{128} << 10), stream_(new isal_zstream) {
    isal_deflate_init(stream_.get());
    static constexpr std::array<std::size_t, 4> sizes{0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                                      ISAL_DEF_LVL3_DEFAULT};
    level_buffer_.resize(sizes[static_cast<std::size_t>(level)]);
    stream_->level = static_cast<std::uint32_t>(level);
    stream_->level_buf = level_buffer_.empty() ? nullptr : level_buffer_.data();
    stream_->level_buf_size = static_cast<std::uint32_t>(level_buffer_.size());
    stream_->gzip_flag = IGZIP_GZIP;
    stream_->flush = NO_FLUSH;
  }

  void write(std::span<const std::byte> bytes) override {
    constexpr std::size_t largest = std::size_t{1} << 30;  // avail_in has 32 bits
    for (; bytes.size() > largest; bytes = bytes.subspan(largest)) compress(bytes.first(largest), false);
    compress(bytes, false);
  }
  void finish() override { compress({}, true); }

 private:
  void compress(std::span<const std::byte> bytes, bool last) {
    // ISA-L's interface is not const, but it only reads its input.
    stream_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(bytes.data()));
    stream_->avail_in = static_cast<std::uint32_t>(bytes.size());
    stream_->end_of_stream = last;
    do {
      stream_->next_out = reinterpret_cast<std::uint8_t*>(output_.data());
      stream_->avail_out = static_cast<std::uint32_t>(output_.size());
      if (const int code = isal_deflate(stream_.get()); code != COMP_OK)
        throw std::logic_error("gzip compression failed with code " + std::to_string(code));
      file_.write(std::span(output_).first(output_.size() - stream_->avail_out));
    } while (stream_->avail_out == 0 || stream_->avail_in > 0);
  }

  OutputFile& file_;
  std::vector<std::byte> output_;
  std::vector<std::uint8_t> level_buffer_;
  std::unique_ptr<isal_zstream> stream_;
};

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  check_path(path_);
  // Renaming would replace a device, a pipe or a folder by a file.
  struct stat s {};
  if (::stat(path_.c_str(), &s) == 0 && !S_ISREG(s.st_mode))
    throw IoError(path_, "exists and is not a regular file; expected a file or a free name");
  // O_EXCL: a name that another writer uses is never shared.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    temporary_ = temporary_name(path_, attempt);
    const int fd = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
      file_ = FileDescriptor(fd);
      return;
    }
    if (errno != EEXIST && errno != EINTR) break;
  }
  const int error = errno;
  temporary_.clear();
  throw IoError(path_, "cannot be created: " + reason(error));
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::commit() {
  if (const int error = file_.close(); error != 0) throw IoError(path_, "cannot be written: " + reason(error));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw IoError(path_, "cannot be put in place: " + reason(errno));
  temporary_.clear();
}

std::unique_ptr<ByteSink> gzip_sink(OutputFile& file, int level) { return std::make_unique<GzipSink>(file, level); }

}  // namespace headrace::detail
