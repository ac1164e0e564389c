// Our address against cuRAND's own device header, compiled for the host: curand_init(seed, subsequence, offset) with
// subsequence = (c3, c2) and offset = 4 * (c1, c0) gives our words.
#include <cuda_runtime.h>
#define QUALIFIERS static inline
#include <curand_philox4x32_x.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <headrace/random/rng.hpp>
#include <random>

namespace headrace {
namespace {

// The header declares curand_init elsewhere; its parts are these two.
curandStatePhilox4_32_10_t curand_state(std::uint64_t seed, std::uint64_t subsequence, std::uint64_t offset) {
  curandStatePhilox4_32_10_t state{};
  state.ctr = make_uint4(0, 0, 0, 0);
  state.key.x = static_cast<unsigned>(seed);
  state.key.y = static_cast<unsigned>(seed >> 32);
  Philox_State_Incr_hi(&state, subsequence);
  Philox_State_Incr(&state, offset / 4);
  return state;
}

TEST(Curand, Subsequence_and_offset_are_our_address) {
  std::mt19937_64 generator(2);
  for (int i = 0; i < 1000000; ++i) {
    const StreamAddress address{.seed = generator(),
                                .epoch = static_cast<std::uint32_t>(generator()) & max_stream_epoch,
                                .item = generator() & max_stream_item,
                                .patch = static_cast<std::uint32_t>(generator()) & item_patch,
                                .op = static_cast<std::uint32_t>(generator()) & max_stream_op};
    const auto block = static_cast<std::uint32_t>(generator());
    const PhiloxBlock counter = stream_counter(address, block);
    const std::uint64_t subsequence = counter.word[2] | (std::uint64_t{counter.word[3]} << 32);
    const std::uint64_t offset = 4 * (counter.word[0] | (std::uint64_t{counter.word[1]} << 32));
    ASSERT_EQ(offset / 4, counter.word[0] | (std::uint64_t{counter.word[1]} << 32)) << "the offset has lost bits";
    const auto state = curand_state(address.seed, subsequence, offset);
    const uint4 expected = curand_Philox4x32_10(state.ctr, state.key);
    Rng rng = Rng(address).at(block);
    ASSERT_EQ(rng(), expected.x);
    ASSERT_EQ(rng(), expected.y);
    ASSERT_EQ(rng(), expected.z);
    ASSERT_EQ(rng(), expected.w);
  }
}

}  // namespace
}  // namespace headrace
