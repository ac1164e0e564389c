#include "canvas.hpp"

#include <stb/stb_easy_font.h>

#include <headrace/io/file.hpp>
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <fcntl.h>
#include <stb/stb_image_write.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <system_error>

namespace headrace::tool {

Canvas::Canvas(int width, int height, Colour background) : width_(width), height_(height) {
  if (width < 1 || height < 1 || width > 32768 || height > 32768)
    throw std::invalid_argument("a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                                " pixels; expected 1 to 32768 a side");
  pixels_.resize(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  rectangle(0, 0, width, height, background);
}

Colour Canvas::pixel(int x, int y) const {
  const std::size_t at =
      3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x));
  return {pixels_.at(at), pixels_.at(at + 1), pixels_.at(at + 2)};
}

void Canvas::rectangle(int left, int top, int width, int height, Colour c) noexcept {
  const int right = std::min(left + width, width_), bottom = std::min(top + height, height_);
  for (int y = std::max(top, 0); y < bottom; ++y)
    for (int x = std::max(left, 0); x < right; ++x) {
      std::uint8_t* p =
          &pixels_[3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x))];
      p[0] = c.r;
      p[1] = c.g;
      p[2] = c.b;
    }
}

void Canvas::text(int left, int top, const std::string& text, Colour colour) {
  std::string ascii = text.substr(0, 200);
  for (char& c : ascii)
    if (c < 32 || c > 126) c = '?';
  // The font comes as rectangles: four corners of x, y, z, colour each.
  struct Corner {
    float x, y, z;
    unsigned char colour[4];
  };
  std::vector<Corner> corners(ascii.size() * 80 + 4);
  const int quads = stb_easy_font_print(0, 0, ascii.data(), nullptr, corners.data(),
                                        static_cast<int>(corners.size() * sizeof(Corner)));
  for (int q = 0; q < quads; ++q) {
    const Corner& a = corners[static_cast<std::size_t>(4 * q)];
    const Corner& b = corners[static_cast<std::size_t>(4 * q + 2)];
    rectangle(left + static_cast<int>(a.x), top + static_cast<int>(a.y), static_cast<int>(b.x - a.x),
              static_cast<int>(b.y - a.y), colour);
  }
}

void Canvas::write_png(const std::string& path) const {
  detail::check_path(path);
  std::vector<std::byte> png;
  const auto collect = [](void* context, void* data, int size) {
    auto& out = *static_cast<std::vector<std::byte>*>(context);
    const auto* bytes = static_cast<const std::byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  if (stbi_write_png_to_func(collect, &png, width_, height_, 3, pixels_.data(), width_ * 3) == 0)
    throw IoError(path, "the picture cannot be encoded");
  // A device, a pipe or a folder is not put out of its place by a picture.
  std::error_code none;
  if (const auto status = std::filesystem::status(path, none);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw IoError(path, "is there and is not a regular file; expected a name for a new picture");
  const std::string part = path + ".part";
  const auto reason = [](int error) { return std::generic_category().message(error); };
  FileDescriptor file(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw IoError(path, "cannot be created: " + reason(errno));
  try {
    write_all(file, png, path);
    if (const int error = file.close(); error != 0) throw IoError(path, "cannot be written: " + reason(error));
    if (std::rename(part.c_str(), path.c_str()) != 0) throw IoError(path, "cannot be put in place: " + reason(errno));
  } catch (const IoError&) {
    std::remove(part.c_str());
    throw;
  }
}

}  // namespace headrace::tool
