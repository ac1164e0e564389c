// Builds NIfTI-1 files byte by byte, independently of the library's writer.
#pragma once

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headrace_test {

using Bytes = std::vector<std::uint8_t>;

// A folder of its own for each test, removed at the end; in memory where there is such a place, because the damage
// tests write tens of thousands of small files.
class Folder {
 public:
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = ::access(memory.c_str(), W_OK) == 0;
    std::string pattern =
        ((in_memory ? memory : std::filesystem::temp_directory_path()) / "headrace-io-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  std::string write(std::string_view name, const Bytes& bytes) const {
    const std::string path = *this / name;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out) throw std::runtime_error("cannot write " + path);
    return path;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

template <class T>
void put(Bytes& bytes, std::size_t at, T value, bool big_endian) {
  if (bytes.size() < at + sizeof(T)) bytes.resize(at + sizeof(T));
  std::array<std::uint8_t, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof(T));
  if (big_endian) std::reverse(raw.begin(), raw.end());
  std::copy(raw.begin(), raw.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

// A header with sensible contents; every field can be changed by its offset in the standard.
struct HeaderBuilder {
  bool big_endian = false;
  Bytes bytes = Bytes(352, 0);

  HeaderBuilder(std::vector<int> sizes, int datatype, int bits, bool big = false) : big_endian(big) {
    i32(0, 348);
    i16(40, static_cast<int>(sizes.size()));
    for (std::size_t d = 1; d < 8; ++d) i16(40 + 2 * d, d <= sizes.size() ? sizes[d - 1] : 1);
    i16(70, datatype);
    i16(72, bits);
    for (std::size_t d = 0; d < 8; ++d) f32(76 + 4 * d, 1);
    f32(108, 352);
    f32(112, 1);
    const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    i16(254, 1);
    for (std::size_t i = 0; i < 12; ++i) f32(280 + 4 * i, identity[i]);
    std::memcpy(bytes.data() + 344, "n+1", 4);
  }

  HeaderBuilder& i16(std::size_t at, int v) { return put(bytes, at, static_cast<std::int16_t>(v), big_endian), *this; }
  HeaderBuilder& i32(std::size_t at, std::int32_t v) { return put(bytes, at, v, big_endian), *this; }
  HeaderBuilder& f32(std::size_t at, double v) { return put(bytes, at, static_cast<float>(v), big_endian), *this; }
  HeaderBuilder& pixdim(double qfac, double x, double y, double z) {
    return f32(76, qfac).f32(80, x).f32(84, y).f32(88, z);
  }
  HeaderBuilder& forms(int qform, int sform) { return i16(252, qform).i16(254, sform); }
  HeaderBuilder& quaternion(double b, double c, double d, double x, double y, double z) {
    return f32(256, b).f32(260, c).f32(264, d).f32(268, x).f32(272, y).f32(276, z);
  }
  HeaderBuilder& srow(const std::array<double, 12>& m) {
    for (std::size_t i = 0; i < 12; ++i) f32(280 + 4 * i, m[i]);
    return *this;
  }
  HeaderBuilder& scaling(double slope, double inter) { return f32(112, slope).f32(116, inter); }
  // Appends voxels in file order.
  template <class T>
  Bytes with(const std::vector<T>& voxels) const {
    Bytes out = bytes;
    for (T v : voxels) put(out, out.size(), v, big_endian);
    return out;
  }
  std::span<const std::byte> header() const { return std::as_bytes(std::span(bytes)); }
};

// One gzip member.
inline Bytes gzip(std::span<const std::uint8_t> raw, std::uint32_t level = 1) {
  auto stream = std::make_unique<isal_zstream>();
  isal_deflate_init(stream.get());
  std::vector<std::uint8_t> work(ISAL_DEF_LVL3_DEFAULT);
  stream->level = level;
  stream->level_buf = work.data();
  stream->level_buf_size = static_cast<std::uint32_t>(work.size());
  stream->gzip_flag = IGZIP_GZIP;
  stream->end_of_stream = 1;
  Bytes out(raw.size() + raw.size() / 8 + 1024);
  stream->next_in = const_cast<std::uint8_t*>(raw.data());
  stream->avail_in = static_cast<std::uint32_t>(raw.size());
  stream->next_out = out.data();
  stream->avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_deflate(stream.get()) != COMP_OK || stream->internal_state.state != ZSTATE_END)
    throw std::runtime_error("gzip failed");
  out.resize(stream->total_out);
  return out;
}

// Calls f, which must throw E, and returns its message.
template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("(another exception: ") + e.what() + ")";
  }
  return "(no exception)";
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

#define EXPECT_CONTAINS(text, part) EXPECT_PRED2(headrace_test::contains, std::string(text), std::string(part))

// A small deterministic generator for property tests.
struct Mix {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>((*this)() % static_cast<std::uint64_t>(n)); }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
};

}  // namespace headrace_test
