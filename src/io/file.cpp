#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <headrace/io/file.hpp>
#include <system_error>

namespace headrace {
namespace {

// The system's text for an error number. generic_category's message is thread-safe, std::strerror is not.
std::string reason(int error) { return std::generic_category().message(error); }

FileStamp stamp_from(const struct stat& s) noexcept {
  return {.device = static_cast<std::uint64_t>(s.st_dev),
          .inode = static_cast<std::uint64_t>(s.st_ino),
          .size = static_cast<std::uint64_t>(s.st_size),
          .modified = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec};
}

// One call moves at most this much: the kernel's own limit is just under 2 GiB.
constexpr std::size_t largest_transfer = std::size_t{1} << 30;

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int FileDescriptor::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  // After EINTR Linux has released the descriptor all the same: closing again could close someone else's.
  return fd >= 0 && ::close(fd) != 0 && errno != EINTR ? errno : 0;
}

void detail::check_path(const std::string& path) {
  if (path.empty()) throw IoError("(empty path)", "expected the name of a file");
  // The system would see only the part before it.
  if (const std::size_t zero = path.find('\0'); zero != std::string::npos)
    throw IoError(path.substr(0, zero), "the path goes on after a zero byte");
}

FileDescriptor open_for_reading(const std::string& path) {
  detail::check_path(path);
  int fd = -1;
  do {
    // O_NONBLOCK: a named pipe without a writer must become an error here, not a thread that waits for ever.
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) throw IoError(path, "cannot be opened for reading: " + reason(errno));
  FileDescriptor file(fd);
  struct stat s {};
  if (::fstat(fd, &s) != 0) throw IoError(path, "cannot be examined: " + reason(errno));
  if (S_ISDIR(s.st_mode)) throw IoError(path, "is a directory; expected a file");
  if (!S_ISREG(s.st_mode)) throw IoError(path, "is not a regular file");
  return file;
}

FileStamp stamp_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) throw IoError(path, "cannot be examined: " + reason(errno));
  return stamp_from(s);
}

FileStamp stamp_of(const FileDescriptor& file, const std::string& path) {
  struct stat s {};
  if (::fstat(file.get(), &s) != 0) throw IoError(path, "cannot be examined: " + reason(errno));
  return stamp_from(s);
}

std::size_t read_some(const FileDescriptor& file, std::span<std::byte> to, const std::string& path) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::read(file.get(), to.data() + done, std::min(to.size() - done, largest_transfer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(path, "cannot be read: " + reason(errno));
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void write_all(const FileDescriptor& file, std::span<const std::byte> from, const std::string& path) {
  while (!from.empty()) {
    const ssize_t n = ::write(file.get(), from.data(), std::min(from.size(), largest_transfer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw IoError(path, "cannot be written: " + reason(errno));
    from = from.subspan(static_cast<std::size_t>(n));
  }
}

std::string read_text(const std::string& path, std::size_t limit) {
  const FileDescriptor file = open_for_reading(path);
  const FileStamp stamp = stamp_of(file, path);
  if (stamp.size > limit)
    throw IoError(path, "has " + std::to_string(stamp.size) + " bytes; expected at most " + std::to_string(limit));
  std::string text(static_cast<std::size_t>(stamp.size), '\0');
  text.resize(read_some(file, std::as_writable_bytes(std::span(text)), path));
  return text;
}

void advise_sequential(const FileDescriptor& file) noexcept {
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

void advise_willneed(const std::string& path) {
  const FileDescriptor file = open_for_reading(path);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_WILLNEED);
}

}  // namespace headrace
