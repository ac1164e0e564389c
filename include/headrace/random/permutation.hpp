// Permutation: a seeded bijection on [0, n) as a function, with its inverse. The shuffled order of an epoch is this,
// not an array: item number i of the epoch is p(i), and the position of item j is p.inverse(j).
//
// Two ways inside, by size:
//   n < 4096   a table made by the Fisher-Yates shuffle (Durstenfeld 1964) from unbiased draws: every order can come,
//              all with the same chance up to the 128 bits of the key. Memory 4 n bytes, allocated once, shared by
//              copies.
//   n >= 4096  a Feistel network on a grid of a x b cells just above n, with cycle walking (Black and Rogaway 2002):
//              the two coordinates take turns in being shifted by a keyed mix of the other one. No memory at all, tens
//              of nanoseconds a call. It reaches only a part of all n! orders, as any key of fixed size must; positions
//              and values pass chi-square tests. It is no cipher.
//
// Invariants: p is a bijection and inverse is exactly its inverse, for every n and key; equal (n, key) give equal
// permutations on every machine. Thread-safe: everything but rekey() is const; copies are cheap.
#pragma once

#include <cstdint>
#include <headrace/random/philox.hpp>
#include <memory>

namespace headrace {

inline constexpr std::uint64_t max_permutation_size = std::uint64_t{1} << 44;

/// Which way a Permutation works. Automatic is the contract of stream version 1; Network is for tests and for callers
/// that want no allocation at small n.
enum class PermutationKind { Automatic, Network };

/// The key of an epoch's order: the first Philox block at (seed, epoch, item 0, item_patch, op_shuffle).
/// Throws std::out_of_range for an epoch that does not fit.
PhiloxBlock shuffle_key(std::uint64_t seed, std::uint32_t epoch);

class Permutation {
 public:
  /// Throws std::out_of_range for n above 2^44, std::bad_alloc if a table cannot be allocated. n = 0 is empty.
  Permutation(std::uint64_t n, PhiloxBlock key, PermutationKind kind = PermutationKind::Automatic);

  /// The order of epoch `epoch` under `seed`.
  Permutation(std::uint64_t n, std::uint64_t seed, std::uint32_t epoch) : Permutation(n, shuffle_key(seed, epoch)) {}

  /// Becomes the order of another epoch, as if made anew; the table's memory is used again where no copy shares it, and
  /// then nothing is allocated. Copies made before keep the old order; they belong to the same thread.
  void rekey(std::uint64_t seed, std::uint32_t epoch) { rekey(shuffle_key(seed, epoch)); }
  void rekey(PhiloxBlock key);

  std::uint64_t size() const { return n_; }

  /// The value at position `i`. Throws std::out_of_range for i >= size().
  std::uint64_t operator()(std::uint64_t i) const;

  /// The position of value `v`: inverse(p(i)) == i. Throws std::out_of_range for v >= size().
  std::uint64_t inverse(std::uint64_t v) const;

  static constexpr std::uint64_t table_limit = 4096;
  static constexpr int rounds = 10;

 private:
  struct Table;
  struct RoundKey {
    std::uint64_t add;
    std::uint64_t multiply;
  };
  std::uint64_t step(std::uint64_t x) const;
  std::uint64_t step_back(std::uint64_t x) const;

  std::uint64_t n_;
  std::uint32_t rows_ = 0;     // a: x = column * a + row
  std::uint32_t columns_ = 0;  // b: a * b >= n, a * b - n < a
  RoundKey keys_[rounds] = {};
  std::shared_ptr<Table> table_;  // set for the table way only
};

}  // namespace headrace
