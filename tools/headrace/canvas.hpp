// An RGB picture in memory: rectangles, small text, PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::tool {

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
};

class Canvas {
 public:
  // Throws std::invalid_argument for more than 32768 pixels a side.
  Canvas(int width, int height, Colour background);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  Colour pixel(int x, int y) const;
  // What lies outside the picture is cut off.
  void rectangle(int left, int top, int width, int height, Colour colour) noexcept;
  // About 7 pixels high; bytes outside printable ASCII become '?'.
  void text(int left, int top, const std::string& text, Colour colour);
  // Written under a temporary name and renamed. Throws IoError.
  void write_png(const std::string& path) const;

 private:
  int width_, height_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace headrace::tool
