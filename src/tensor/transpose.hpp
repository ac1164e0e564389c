// Squares of words turned in registers: the building block of every copy whose rows run across the source's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace headrace::detail {

template <class Word>
struct VectorOf {
  static constexpr std::size_t lanes = 16 / sizeof(Word);
  using type [[gnu::vector_size(16)]] = Word;
};

// Lanes a0 b0 a1 b1 ... of the lower (or upper) halves.
template <class Word, bool upper, std::size_t... lane>
auto zip(typename VectorOf<Word>::type a, typename VectorOf<Word>::type b, std::index_sequence<lane...>) {
  constexpr std::size_t lanes = sizeof...(lane);
  return __builtin_shufflevector(a, b,
                                 static_cast<int>(lane / 2 + (upper ? lanes / 2 : 0) + (lane % 2 ? lanes : 0))...);
}

// A square of words, one vector a side: row s of `from` (rows `stride` apart) becomes column s of `to`. Zipping the
// first half of the rows with the second is a rotation of the index bits (row, column) by one; log2(lanes) of them
// exchange both.
template <class Word>
void transpose_square(const Word* from, std::ptrdiff_t stride, Word* to, std::ptrdiff_t to_stride) {
  using Vector = typename VectorOf<Word>::type;
  constexpr std::size_t lanes = VectorOf<Word>::lanes;
  constexpr std::make_index_sequence<lanes> all{};
  Vector rows[lanes], zipped[lanes];
  for (std::size_t s = 0; s < lanes; ++s, from += stride) std::memcpy(&rows[s], from, sizeof(Vector));
  for (std::size_t width = 1; width < lanes; width *= 2) {
    for (std::size_t s = 0; s < lanes / 2; ++s) {
      zipped[2 * s] = zip<Word, false>(rows[s], rows[s + lanes / 2], all);
      zipped[2 * s + 1] = zip<Word, true>(rows[s], rows[s + lanes / 2], all);
    }
    std::copy(zipped, zipped + lanes, rows);
  }
  for (std::size_t s = 0; s < lanes; ++s, to += to_stride) std::memcpy(to, &rows[s], sizeof(Vector));
}

}  // namespace headrace::detail
