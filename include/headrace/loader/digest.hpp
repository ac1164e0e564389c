// Digests: proof that two runs delivered the same bits (definition in docs/streams.md).
//
// A sample's digest is XXH3-128 over its origin and, per tensor field in declared order, name, type, shape, affine and
// bytes, read from the batch as the trainer sees it. An epoch digest chains the sample digests in delivery order; a set
// digest is their sum modulo 2^128, for deliveries in another order and for unions of ranks.
#pragma once

#include <cstdint>
#include <headrace/loader/batch.hpp>
#include <string>

namespace headrace {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::string hex() const;  // 32 digits
  friend bool operator==(const Digest&, const Digest&) = default;
};

Digest digest_of(const Sample& sample);
// The digest of one field of a sample, to name the first that differs.
Digest digest_of(const Field& field);

class DigestChain {
 public:
  void add(const Digest& digest);
  void add(const Batch& batch);
  Digest ordered() const noexcept { return ordered_; }
  Digest set() const noexcept { return set_; }

 private:
  Digest ordered_;
  Digest set_;
};

}  // namespace headrace
