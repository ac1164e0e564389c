// The vectorised part of Rng's fill functions, dispatched at run time to the widest instruction set there is. Every
// element is computed by itself with the steps of the single draw, so width and position cannot change a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <headrace/random/philox.hpp>

namespace headrace::detail {

/// Words made at a time; buffers stay in the first-level cache. A buffer has room for `fill_padding` more, because
/// whole vectors are read and written.
inline constexpr std::size_t fill_chunk = 1024;
inline constexpr std::size_t fill_padding = 64;

/// Writes the words of `blocks` blocks from counter.word[0] = first on; `out` has room for fill_padding words more.
void philox_words(PhiloxKey key, PhiloxBlock counter, std::uint32_t first, std::size_t blocks, std::uint32_t* out);

/// n numbers from n (float) or 2 n (double) words; n <= fill_chunk; `words` readable (and set) fill_padding words
/// beyond.
void uniforms(const std::uint32_t* words, std::size_t n, float* out);
void uniforms(const std::uint32_t* words, std::size_t n, double* out);
void normals(const std::uint32_t* words, std::size_t n, double mean, double sd, float* out);
void normals(const std::uint32_t* words, std::size_t n, double mean, double sd, double* out);

}  // namespace headrace::detail
