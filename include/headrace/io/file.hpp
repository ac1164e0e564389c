// Thin, complete wrappers around the system's file calls: an owned descriptor, whole reads and writes that survive
// signals and short counts, a file's identity, and read-ahead advice.
//
// Errors: IoError with the path and the system's reason.
// Thread-safety: free functions on distinct descriptors may run at once; a FileDescriptor has one owner.
// Progress: reading and writing block in the kernel, nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <headrace/io/error.hpp>
#include <span>
#include <string>
#include <utility>

namespace headrace {

// Which contents a path led to. Two stamps differ when the file was written to, replaced or resized in between, as far
// as the file system's clock can tell (a write within its resolution that keeps the size is not seen).
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;     // bytes
  std::int64_t modified = 0;  // nanoseconds since 1970

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  // Takes ownership of an open descriptor; -1 is none.
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~FileDescriptor();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  // Closes now. Some file systems report a failed write only here. Returns the error number, 0 for none.
  int close() noexcept;

 private:
  int fd_ = -1;
};

// Opens a regular file for reading; a directory, a pipe or a device is an error.
FileDescriptor open_for_reading(const std::string& path);

FileStamp stamp_of(const std::string& path);
FileStamp stamp_of(const FileDescriptor& file, const std::string& path);

// Reads until `to` is full or the file ends; returns the bytes read.
std::size_t read_some(const FileDescriptor& file, std::span<std::byte> to, const std::string& path);
// Writes all of `from`.
void write_all(const FileDescriptor& file, std::span<const std::byte> from, const std::string& path);

// The whole file, for small ones: more than `limit` bytes is an error, found before memory is asked for.
std::string read_text(const std::string& path, std::size_t limit = std::size_t{64} << 20);

// Hints; failures are ignored, because a file system without read-ahead is no error.
void advise_sequential(const FileDescriptor& file) noexcept;
// Asks the kernel to bring the file into the page cache; returns at once. Throws only if the file cannot be opened.
void advise_willneed(const std::string& path);

namespace detail {
// Throws IoError for a path that is empty or holds a zero byte.
void check_path(const std::string& path);
}  // namespace detail

}  // namespace headrace
