// Philox4x32-10: 128 bits of counter and 64 bits of key to 128 random bits, by ten rounds of multiply and exclusive-or.
//
// Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC'11.
// It has no state: every block can be computed alone, in any order, on any thread, on a GPU too. It is not a cipher;
// do not use it where somebody must not be able to predict it.
//
// Most code wants Rng (random/rng.hpp), which gives the counter a meaning (random/address.hpp).
#pragma once

#include <cstdint>

/// Marks a function for host and device where a CUDA compiler reads it; nothing elsewhere.
#if defined(__CUDACC__)
#define HEADRACE_HOST_DEVICE __host__ __device__
#else
#define HEADRACE_HOST_DEVICE
#endif

namespace headrace {

/// 128 bits as four words, word[0] the least significant: the counter, and also the block that comes out.
struct PhiloxBlock {
  std::uint32_t word[4];
  HEADRACE_HOST_DEVICE friend constexpr bool operator==(const PhiloxBlock& a, const PhiloxBlock& b) {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2] && a.word[3] == b.word[3];
  }
};

/// 64 bits as two words, word[0] the least significant.
struct PhiloxKey {
  std::uint32_t word[2];
  HEADRACE_HOST_DEVICE friend constexpr bool operator==(const PhiloxKey& a, const PhiloxKey& b) {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1];
  }
};

namespace detail {
inline constexpr std::uint32_t philox_multiplier_0 = 0xD2511F53u;
inline constexpr std::uint32_t philox_multiplier_1 = 0xCD9E8D57u;
inline constexpr std::uint32_t philox_weyl_0 = 0x9E3779B9u;  // golden ratio
inline constexpr std::uint32_t philox_weyl_1 = 0xBB67AE85u;  // sqrt(3) - 1
inline constexpr int philox_rounds = 10;
}  // namespace detail

/// The block at `counter` under `key`. (Not named philox4x32: Random123 makes that a macro.) Pure; about ten
/// nanoseconds; for a fixed key a bijection of the counter, so two different counters never give the same block.
HEADRACE_HOST_DEVICE constexpr PhiloxBlock philox_block(PhiloxBlock counter, PhiloxKey key) {
  std::uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  std::uint32_t k0 = key.word[0], k1 = key.word[1];
  for (int round = 0; round < detail::philox_rounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{detail::philox_multiplier_0} * c0;
    const std::uint64_t p1 = std::uint64_t{detail::philox_multiplier_1} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
    k0 += detail::philox_weyl_0;
    k1 += detail::philox_weyl_1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace headrace
