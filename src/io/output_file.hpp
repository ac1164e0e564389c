// A file that appears whole or not at all: written under a temporary name beside the target, renamed by commit().
// Private to io/.
#pragma once

#include <cstddef>
#include <headrace/io/file.hpp>
#include <memory>
#include <span>
#include <string>

namespace headrace::detail {

class OutputFile {
 public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes the temporary file if commit() was not reached.
  ~OutputFile();

  void write(std::span<const std::byte> bytes) { write_all(file_, bytes, path_); }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  FileDescriptor file_;
};

// A stream of bytes into an OutputFile, compressed as one gzip member or as it is.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void finish() = 0;
};

class PlainSink final : public ByteSink {
 public:
  explicit PlainSink(OutputFile& file) : file_(file) {}
  void write(std::span<const std::byte> bytes) override { file_.write(bytes); }
  void finish() override {}

 private:
  OutputFile& file_;
};

// `level` 0 to 3, as ISA-L counts.
std::unique_ptr<ByteSink> gzip_sink(OutputFile& file, int level);

}  // namespace headrace::detail
