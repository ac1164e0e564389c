#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <headrace/loader/digest.hpp>
#include <memory>

namespace headrace {
namespace {

class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }
  void bytes(const void* data, std::size_t size) { XXH3_128bits_update(state_.get(), data, size); }
  // Numbers go in as eight little-endian bytes, so that the digest does not depend on the machine.
  void number(std::uint64_t v) {
    std::array<unsigned char, 8> le;
    for (std::size_t i = 0; i < 8; ++i) le[i] = static_cast<unsigned char>(v >> (8 * i));
    bytes(le.data(), le.size());
  }
  void text(std::string_view s) {
    number(s.size());
    bytes(s.data(), s.size());
  }
  void field(const Field& f) {
    text(f.name);
    number(f.value.index());
    if (const auto* t = std::get_if<Tensor>(&f.value)) {
      text(name_of(t->dtype()));
      number(static_cast<std::uint64_t>(t->rank()));
      for (std::int64_t n : t->shape()) number(static_cast<std::uint64_t>(n));
      for (double v : f.affine.m) number(std::bit_cast<std::uint64_t>(v));
      const Tensor c = t->contiguous();
      if (c.numel() > 0) bytes(c.raw(), c.bytes());
    } else if (const auto* d = std::get_if<double>(&f.value)) {
      number(std::bit_cast<std::uint64_t>(*d));
    } else if (const auto* i = std::get_if<std::int64_t>(&f.value)) {
      number(static_cast<std::uint64_t>(*i));
    } else if (const auto* s = std::get_if<SharedText>(&f.value)) {
      text(*s ? **s : std::string());
    } else if (const auto* v = std::get_if<std::shared_ptr<const VoxelSet>>(&f.value); *v) {
      for (std::uint64_t word : (*v)->words()) number(word);
    }
  }
  Digest digest() const {
    const XXH128_hash_t h = XXH3_128bits_digest(state_.get());
    return {h.high64, h.low64};
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::string Digest::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string s;
  for (std::uint64_t word : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) s += digits[(word >> shift) & 15];
  return s;
}

Digest digest_of(const Sample& sample) {
  Hasher h;
  const Origin& o = sample.origin();
  h.number(o.epoch);
  h.number(o.position);
  h.number(o.index);
  h.number(o.patch);
  for (const Field& f : sample.fields()) h.field(f);
  return h.digest();
}

Digest digest_of(const Field& field) {
  Hasher h;
  h.field(field);
  return h.digest();
}

void DigestChain::add(const Digest& d) {
  Hasher h;
  h.number(ordered_.high);
  h.number(ordered_.low);
  h.number(d.high);
  h.number(d.low);
  ordered_ = h.digest();
  const std::uint64_t low = set_.low + d.low;
  set_.high += d.high + (low < d.low ? 1 : 0);
  set_.low = low;
}

void DigestChain::add(const Batch& batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) add(digest_of(batch.sample(i)));
}

}  // namespace headrace
