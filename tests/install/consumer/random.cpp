// Uses headrace::random from an install tree. What it prints must not depend on the compiler flags of this file.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <headrace/random/math.hpp>
#include <headrace/random/permutation.hpp>
#include <headrace/random/rng.hpp>

int main() {
  headrace::Rng rng({.seed = 7, .epoch = 1, .item = 2, .patch = 3, .op = 4});
  std::uint64_t bits = 0;
  for (int i = 0; i < 1000; ++i) {
    bits = std::rotl(bits, 5) ^ std::bit_cast<std::uint64_t>(rng.normal(0, 2)) ^
           std::bit_cast<std::uint64_t>(rng.uniform(-1, 3));
    bits ^= std::bit_cast<std::uint64_t>(headrace::math::sin(rng.uniform(-9, 9))) + rng.below(77);
  }
  std::printf("random %016llx %llu\n", static_cast<unsigned long long>(bits),
              static_cast<unsigned long long>(headrace::Permutation(1000000, 7, 1)(123456)));
}
