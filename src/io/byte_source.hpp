// A file as a stream of bytes from the first to the last, inflated where it is gzip. Private to io/.
//
// What a file is, its first two bytes say (1f 8b: gzip), not its name; a plain file that is named .gz is refused,
// because somebody lost a compression step on the way. A gzip source inflates every member to its end and checks its
// CRC-32 and length; whatever follows the last member must be another member. So a damaged stream is always an IoError
// by the time read() has returned less than it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <headrace/io/file.hpp>
#include <memory>
#include <span>
#include <string>

namespace headrace::detail {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `to`; returns less than its size only at the end, and then every check has passed.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  // No more bytes than this can come out, known before the first is read.
  virtual std::uint64_t most_bytes() const noexcept = 0;
  virtual bool compressed() const noexcept = 0;

  const FileStamp& stamp() const noexcept { return stamp_; }
  const std::string& path() const noexcept { return path_; }
  // Throws IoError if the file was changed since it was opened: what was read may then be a mixture.
  void check_unchanged() const;

 protected:
  ByteSource(FileDescriptor file, std::string path, const FileStamp& stamp)
      : file_(std::move(file)), path_(std::move(path)), stamp_(stamp) {}

  FileDescriptor file_;
  std::string path_;
  FileStamp stamp_;
};

// True for a name that ends in .gz, in any case.
bool named_gz(const std::string& path);

// Opens the file and finds out which kind it is.
std::unique_ptr<ByteSource> open_source(const std::string& path);

}  // namespace headrace::detail
