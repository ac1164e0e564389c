#include "voxel_copy.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "../tensor/transpose.hpp"
#include "text.hpp"

namespace headrace::detail {
namespace {

// A tile of this many voxels along axis 0, and one cache line of the destination along axis 2, is converted in the
// first level cache and then written line by line.
constexpr std::size_t tile_rows = 32;

template <class To>
bool fits(double v) {
  // 2^digits is exact in double, the type's largest value may not be.
  constexpr double top = static_cast<double>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  constexpr double bottom = std::is_signed_v<To> ? -top : 0;
  // The comparisons come first: they exclude NaN and everything whose conversion below would be undefined.
  if (!(v >= bottom && v < top)) return false;
  return static_cast<double>(static_cast<To>(v)) == v;
}

// Converts one value; clears `ok` where it does not fit (and then returns 0).
template <class To, class From>
To convert(From v, bool& ok) {
  if constexpr (std::floating_point<To>) {
    return static_cast<To>(v);
  } else if constexpr (std::floating_point<From>) {
    const bool good = fits<To>(static_cast<double>(v));
    ok &= good;
    return good ? static_cast<To>(v) : To{0};
  } else {
    const bool good = std::in_range<To>(v);
    ok &= good;
    return static_cast<To>(v);
  }
}

template <class From>
double scale(From v, double slope, double inter) {
  double d = static_cast<double>(v);
  // Skipped rather than multiplied by 1 or increased by 0: the latter would turn -0 into 0.
  if (slope != 1) d *= slope;
  if (inter != 0) d += inter;
  return d;
}

// `count` values in a row.
template <class From, class To, bool scaled>
bool convert_row(const VoxelConversion& c, const std::byte* from, std::byte* to, std::size_t count) {
  const auto* source = reinterpret_cast<const From*>(from);
  auto* destination = reinterpret_cast<To*>(to);
  bool ok = true;
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (scaled)
      destination[i] = convert<To>(scale(source[i], c.slope, c.inter), ok);
    else
      destination[i] = convert<To>(source[i], ok);
  }
  return ok;
}

using RowFunction = bool (*)(const VoxelConversion&, const std::byte*, std::byte*, std::size_t);

RowFunction row_function(const VoxelConversion& c) {
  return visit_arithmetic(c.from, [&](auto from) {
    return visit_arithmetic(c.to, [&](auto to) -> RowFunction {
      using From = decltype(from);
      using To = decltype(to);
      return c.scaled ? &convert_row<From, To, true> : &convert_row<From, To, false>;
    });
  });
}

template <std::size_t element>
bool copy_slab(const VoxelConversion& c, const VoxelSlab& slab, const std::byte* from, std::byte* to) {
  using Word = typename word_of_size<element>::type;
  constexpr std::size_t line = line_bytes / element, lanes = VectorOf<Word>::lanes;
  alignas(line_bytes) Word tile[line][tile_rows];

  const RowFunction convert = row_function(c);
  const std::size_t n0 = slab.n[0], n1 = slab.n[1], n2 = slab.n[2];
  const std::size_t stored = size_of(c.from);
  auto* volume = reinterpret_cast<Word*>(to);
  bool ok = true;
  for (std::size_t k = 0; k < slab.slices; k += line) {
    const std::size_t slices = std::min(line, slab.slices - k);
    for (std::size_t j = 0; j < slab.rows; ++j)
      for (std::size_t i = 0; i < n0; i += tile_rows) {
        const std::size_t count = std::min(tile_rows, n0 - i);
        for (std::size_t s = 0; s < slices; ++s) {
          const std::byte* row = from + ((((k + s) * slab.rows) + j) * n0 + i) * stored;
          ok &= convert(c, row, reinterpret_cast<std::byte*>(tile[s]), count);
        }
        Word* place = volume + (i * n1 + slab.row + j) * n2 + slab.slice + k;
        std::size_t v = 0;
        if (slices == line)
          for (; v + lanes <= count; v += lanes, place += lanes * n1 * n2)
            for (std::size_t s = 0; s < line; s += lanes)
              transpose_square(&tile[s][v], tile_rows, place + s, static_cast<std::ptrdiff_t>(n1 * n2));
        for (; v < count; ++v, place += n1 * n2)
          for (std::size_t s = 0; s < slices; ++s) place[s] = tile[s][v];
      }
  }
  return ok;
}

template <class Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word w;
    std::memcpy(&w, bytes.data() + at, sizeof w);
    if constexpr (sizeof(Word) == 2) w = __builtin_bswap16(w);
    if constexpr (sizeof(Word) == 4) w = __builtin_bswap32(w);
    if constexpr (sizeof(Word) == 8) w = __builtin_bswap64(w);
    std::memcpy(bytes.data() + at, &w, sizeof w);
  }
}

}  // namespace

bool copy_voxels(const VoxelConversion& conversion, const VoxelSlab& slab, const std::byte* from, std::byte* to) {
  switch (size_of(conversion.to)) {
    case 1:
      return copy_slab<1>(conversion, slab, from, to);
    case 2:
      return copy_slab<2>(conversion, slab, from, to);
    case 4:
      return copy_slab<4>(conversion, slab, from, to);
    default:
      return copy_slab<8>(conversion, slab, from, to);
  }
}

std::optional<Misfit> find_misfit(const VoxelConversion& c, const std::byte* from, std::size_t count) {
  const RowFunction convert = row_function(c);
  alignas(8) std::byte unused[8];
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* at = from + i * size_of(c.from);
    if (convert(c, at, unused, 1)) continue;
    return visit_arithmetic(c.from, [&](auto v) -> Misfit {
      std::memcpy(&v, at, sizeof v);
      if (c.scaled) return {i, number(scale(v, c.slope, c.inter))};
      if constexpr (std::floating_point<decltype(v)>)
        return {i, number(static_cast<double>(v))};
      else
        return {i, std::to_string(v)};
    });
  }
  return std::nullopt;
}

void swap_elements(std::span<std::byte> bytes, std::size_t element) {
  if (element == 2) swap_words<std::uint16_t>(bytes);
  if (element == 4) swap_words<std::uint32_t>(bytes);
  if (element == 8) swap_words<std::uint64_t>(bytes);
}

}  // namespace headrace::detail
