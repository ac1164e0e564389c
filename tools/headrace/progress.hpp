// A progress bar on a terminal's standard error; nothing anywhere else.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace headrace::tool {

class Progress {
 public:
  explicit Progress(bool wanted) : on_(wanted && ::isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }

  void show(std::string_view what, std::uint64_t done, std::uint64_t of) {
    if (!on_ || of == 0) return;
    constexpr std::uint64_t width = 40;
    std::string bar(width, '.');
    for (std::uint64_t i = 0; i < width * done / of; ++i) bar[i] = '#';
    std::fprintf(stderr, "\r\033[K%.*s [%s] %llu/%llu", static_cast<int>(what.size()), what.data(), bar.c_str(),
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(of));
    std::fflush(stderr);
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  bool on_;
  bool shown_ = false;
};

}  // namespace headrace::tool
