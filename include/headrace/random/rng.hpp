// Rng: the random numbers of one stream address. A small value (48 bytes): making one costs a few nanoseconds, copying
// one forks nothing and shares nothing, and equal addresses give equal numbers on every machine and thread.
//
// When not to use it: from two threads at once (copy it, or move each thread's copy with seek), or for secrets.
//
// A stream is a sequence of 32-bit words, 2^34 of them; word w is word w % 4 of Philox block w / 4. Every draw takes
// the next words of it, and how many is part of the contract, so that any number can be computed alone by its address:
//
//   operator()          1 word
//   uniform<float>()    1 word    (w >> 8) * 2^-24
//   uniform(), uniform(lo, hi), bernoulli(p)     2 words, the first one low    (w64 >> 11) * 2^-53
//   below(n)            2 words, and 2 more for each rejection (chance below n / 2^64 each)
//   normal<float>()     1 word    inverse normal distribution function, see normal()
//   normal()            2 words
//
// fill_* of n numbers is n single draws, bit for bit, for every n, alignment, position and vector width.
// A draw past the last word throws std::out_of_range; it never wraps into another stream.
//
// Floating point: results are bit-equal on every compiler and processor when the caller's mode is the default one
// (round to nearest; subnormal results are only possible where `mean` or `lo` ask for them).
#pragma once

#include <concepts>
#include <cstdint>
#include <headrace/random/address.hpp>
#include <headrace/random/philox.hpp>
#include <limits>
#include <random>
#include <span>

namespace headrace {

namespace detail {
[[noreturn]] void throw_stream_exhausted(std::uint64_t position, std::uint64_t wanted);
[[noreturn]] void throw_below_zero();
__extension__ using uint128 = unsigned __int128;

/// Uniform in [0, n) for n > 0, from a source of uniform 64-bit words (Lemire 2019: multiply, reject what would be
/// biased).
template <class Next64>
constexpr std::uint64_t unbiased_below(std::uint64_t n, Next64&& next64) {
  uint128 product = uint128{next64()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = (std::uint64_t{0} - n) % n;
    while (static_cast<std::uint64_t>(product) < threshold) product = uint128{next64()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}
}  // namespace detail

/// Models std::uniform_random_bit_generator.
class Rng {
 public:
  using result_type = std::uint32_t;

  /// The stream at `address`, at its first word. Throws std::out_of_range naming a field that does not fit.
  constexpr explicit Rng(const StreamAddress& address)
      : key_(stream_key(address.seed)), counter_(stream_counter(address)) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

  /// The next word. 1 word.
  constexpr result_type operator()() {
    if ((position_ & 3) == 0) {
      if (position_ >= stream_words_per_op) detail::throw_stream_exhausted(position_, 1);
      load_block();
    }
    return block_.word[position_++ & 3];
  }

  /// The next two words as one, the first one low. 2 words.
  constexpr std::uint64_t next64() {
    if (position_ > stream_words_per_op - 2) detail::throw_stream_exhausted(position_, 2);
    const std::uint64_t low = (*this)();
    return low | (std::uint64_t{(*this)()} << 32);
  }

  /// Uniform in [0, 1): a multiple of 2^-53 (double, 2 words) or of 2^-24 (float, 1 word); exact, no rounding.
  template <std::floating_point T = double>
  requires std::same_as<T, float> || std::same_as<T, double>
  constexpr T uniform() {
    if constexpr (std::same_as<T, float>) {
      return static_cast<float>((*this)() >> 8) * 0x1p-24f;
    } else {
      return static_cast<double>(next64() >> 11) * 0x1p-53;
    }
  }

  /// Uniform in [lo, hi), lo where lo == hi: lo + (hi - lo) * uniform(), and the largest double below hi where that
  /// rounds to hi. 2 words. Throws std::invalid_argument unless lo <= hi, both finite, with a finite difference.
  double uniform(double lo, double hi);

  /// Uniform in [0, n), without bias. 2 words, and 2 more per rejection.
  /// Throws std::invalid_argument for n = 0.
  constexpr std::uint64_t below(std::uint64_t n) {
    if (n == 0) detail::throw_below_zero();
    return detail::unbiased_below(n, [this] { return next64(); });
  }

  /// True with probability p: uniform() < p, so never for 0 and always for 1. 2 words.
  /// Throws std::invalid_argument unless 0 <= p <= 1.
  bool bernoulli(double p);

  /// Normal with the given mean and standard deviation: mean + sd * z in double, then rounded to T. z is the inverse of
  /// the normal distribution function (Wichura 1988, AS 241, relative error about 1e-15) at the middle of one of 2^32
  /// (float, 1 word, |z| < 6.3) or 2^53 (double, 2 words, |z| < 8.3) equal slices of (0, 1).
  /// Throws std::invalid_argument unless mean and sd are finite and sd >= 0.
  template <std::floating_point T = double>
  requires std::same_as<T, float> || std::same_as<T, double> T normal(double mean = 0, double sd = 1);

  /// Fill `out` with out.size() draws: of operator(), uniform<T>(), normal<T>(mean, sd). Vectorised for the processor
  /// at hand. If fewer words are left than asked for, or an argument is bad, they throw before the first draw.
  void fill_bits(std::span<std::uint32_t> out);
  void fill_uniform(std::span<float> out);
  void fill_uniform(std::span<double> out);
  void fill_normal(std::span<float> out, double mean = 0, double sd = 1);
  void fill_normal(std::span<double> out, double mean = 0, double sd = 1);

  /// The number of words drawn so far: the index of the next one, 0..stream_words_per_op.
  constexpr std::uint64_t position() const { return position_; }

  /// Go to word `position`: voxel v of a field of float noise is word v. Throws std::out_of_range beyond the end.
  constexpr void seek(std::uint64_t position) {
    if (position > stream_words_per_op) detail::throw_stream_exhausted(position, 0);
    position_ = position;
    if ((position_ & 3) != 0) load_block();
  }

  /// Leave out `words` words.
  constexpr void skip(std::uint64_t words) {
    if (words > stream_words_per_op - position_) detail::throw_stream_exhausted(position_, words);
    seek(position_ + words);
  }

  /// The same stream, at the first word of block `block` (four words each); this one stays where it is.
  constexpr Rng at(std::uint32_t block) const {
    Rng there = *this;
    there.position_ = std::uint64_t{block} * 4;
    return there;
  }

  /// The address this stream was made from, and its parts in Philox's terms (the counter's word[0] is 0).
  constexpr StreamAddress address() const { return stream_address(key_, counter_); }
  constexpr PhiloxKey key() const { return key_; }
  constexpr PhiloxBlock counter() const { return counter_; }

  /// Same stream, same position.
  friend constexpr bool operator==(const Rng& a, const Rng& b) {
    return a.key_ == b.key_ && a.counter_ == b.counter_ && a.position_ == b.position_;
  }

 private:
  constexpr void load_block() {
    PhiloxBlock counter = counter_;
    counter.word[0] = static_cast<std::uint32_t>(position_ >> 2);
    block_ = philox_block(counter, key_);
  }

  PhiloxKey key_;
  PhiloxBlock counter_;         // word[0] stays 0
  std::uint64_t position_ = 0;  // of the next word
  PhiloxBlock block_{};         // block position_ / 4, loaded whenever position_ % 4 != 0
};

static_assert(std::uniform_random_bit_generator<Rng>);

extern template float Rng::normal<float>(double, double);
extern template double Rng::normal<double>(double, double);

}  // namespace headrace
