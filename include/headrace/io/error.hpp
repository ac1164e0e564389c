// What every reader and writer of files throws.
#pragma once

#include <stdexcept>
#include <string>

namespace headrace {

// A file that cannot be read or written as asked. what() is "PATH: what was found; what was expected".
class IoError : public std::runtime_error {
 public:
  IoError(std::string path, const std::string& message)
      : std::runtime_error(path + ": " + message), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace headrace
