#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <headrace/random/rng.hpp>
#include <stdexcept>
#include <string>

#include "fill.hpp"
#include "normal_quantile.hpp"

namespace headrace {

namespace detail {

void throw_stream_exhausted(std::uint64_t position, std::uint64_t wanted) {
  throw std::out_of_range("random stream: word " + std::to_string(position) + " plus " + std::to_string(wanted) +
                          " more is beyond the end: expected at most " + std::to_string(stream_words_per_op) +
                          " words per op");
}

void throw_below_zero() { throw std::invalid_argument("Rng::below(n): n is 0: expected at least 1"); }

}  // namespace detail

namespace {

void check_normal(double mean, double sd) {
  if (!std::isfinite(mean) || !std::isfinite(sd) || sd < 0) {
    throw std::invalid_argument("normal: mean " + std::to_string(mean) + ", sd " + std::to_string(sd) +
                                ": expected finite values and sd >= 0");
  }
}

template <class T>
constexpr std::uint64_t words_per = sizeof(T) / 4;

// Calls convert(words, count, done) for the next `n` numbers of `rng`, some at a time; leaves rng behind the last.
template <class T, class Convert>
void for_chunks(Rng& rng, std::size_t n, Convert convert) {
  if (n > (stream_words_per_op - rng.position()) / words_per<T>) {
    detail::throw_stream_exhausted(rng.position(), std::uint64_t{n} * words_per<T>);
  }
  alignas(64) std::uint32_t words[detail::fill_chunk + 2 * detail::fill_padding];
  std::uint64_t position = rng.position();
  std::size_t done = 0;
  while (done < n) {
    const std::size_t before = position & 3;  // words of the first block that are drawn already
    const std::size_t count = std::min<std::size_t>(n - done, (detail::fill_chunk - before) / words_per<T>);
    const std::size_t used = before + count * words_per<T>;
    detail::philox_words(rng.key(), rng.counter(), static_cast<std::uint32_t>(position >> 2), (used + 3) / 4, words);
    std::memset(words + used, 0, detail::fill_padding * sizeof(words[0]));  // whole vectors are read
    convert(words + before, count, done);
    done += count;
    position += count * words_per<T>;
  }
  rng.seek(position);
}

}  // namespace

double Rng::uniform(double lo, double hi) {
  const double width = hi - lo;
  if (!std::isfinite(lo) || !std::isfinite(hi) || !std::isfinite(width) || lo > hi) {
    throw std::invalid_argument("Rng::uniform(" + std::to_string(lo) + ", " + std::to_string(hi) +
                                "): expected finite lo <= hi with a finite difference");
  }
  const double x = lo + width * uniform();
  if (x < hi || lo == hi) return std::min(x, hi);
  // The largest double below hi, by its bits: away from zero is up.
  const auto bits = std::bit_cast<std::uint64_t>(hi);
  if (hi == 0) return -std::bit_cast<double>(std::uint64_t{1});
  return std::bit_cast<double>(hi > 0 ? bits - 1 : bits + 1);
}

bool Rng::bernoulli(double p) {
  if (!(p >= 0 && p <= 1))
    throw std::invalid_argument("Rng::bernoulli(" + std::to_string(p) + "): expected 0 <= p <= 1");
  return uniform() < p;
}

template <std::floating_point T>
requires std::same_as<T, float> || std::same_as<T, double> T Rng::normal(double mean, double sd) {
  check_normal(mean, sd);
  if constexpr (std::same_as<T, float>) {
    return static_cast<float>(mean + sd * detail::normal_deviate((*this)()));
  } else {
    return mean + sd * detail::normal_deviate(next64());
  }
}

template float Rng::normal<float>(double, double);
template double Rng::normal<double>(double, double);

void Rng::fill_bits(std::span<std::uint32_t> out) {
  for_chunks<std::uint32_t>(*this, out.size(), [&](const std::uint32_t* words, std::size_t count, std::size_t done) {
    std::memcpy(out.data() + done, words, count * sizeof(*words));
  });
}

void Rng::fill_uniform(std::span<float> out) {
  for_chunks<float>(*this, out.size(), [&](const std::uint32_t* words, std::size_t count, std::size_t done) {
    detail::uniforms(words, count, out.data() + done);
  });
}

void Rng::fill_uniform(std::span<double> out) {
  for_chunks<double>(*this, out.size(), [&](const std::uint32_t* words, std::size_t count, std::size_t done) {
    detail::uniforms(words, count, out.data() + done);
  });
}

void Rng::fill_normal(std::span<float> out, double mean, double sd) {
  check_normal(mean, sd);
  for_chunks<float>(*this, out.size(), [&](const std::uint32_t* words, std::size_t count, std::size_t done) {
    detail::normals(words, count, mean, sd, out.data() + done);
  });
}

void Rng::fill_normal(std::span<double> out, double mean, double sd) {
  check_normal(mean, sd);
  for_chunks<double>(*this, out.size(), [&](const std::uint32_t* words, std::size_t count, std::size_t done) {
    detail::normals(words, count, mean, sd, out.data() + done);
  });
}

}  // namespace headrace
