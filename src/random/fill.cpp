#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "random/fill.cpp"  // read again for every instruction set
#include <hwy/foreach_target.h>
// Highway's own order: foreach_target first.
#include <hwy/highway.h>

#include <bit>
#include <cstring>

#include "random/fill.hpp"
#include "random/normal_quantile.hpp"

HWY_BEFORE_NAMESPACE();
namespace headrace::detail {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// One number at a time, where there is no instruction set to speak of.
void philox_words_kernel(PhiloxKey key, PhiloxBlock counter, std::uint32_t first, std::size_t blocks,
                         std::uint32_t* out) {
  for (std::size_t block = 0; block < blocks; ++block) {
    counter.word[0] = static_cast<std::uint32_t>(first + block);
    const PhiloxBlock words = philox_block(counter, key);
    std::memcpy(out + 4 * block, words.word, sizeof words.word);
  }
}
std::uint64_t pair_at(const std::uint32_t* words, std::size_t i) {
  return words[2 * i] | (std::uint64_t{words[2 * i + 1]} << 32);
}
void uniform_floats(const std::uint32_t* words, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(words[i] >> 8) * 0x1p-24f;
}
void uniform_doubles(const std::uint32_t* words, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<double>(pair_at(words, i) >> 11) * 0x1p-53;
}
void normal_floats(const std::uint32_t* words, std::size_t n, double mean, double sd, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(mean + sd * normal_deviate(words[i]));
}
void normal_doubles(const std::uint32_t* words, std::size_t n, double mean, double sd, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = mean + sd * normal_deviate(pair_at(words, i));
}

#else

namespace hn = hwy::HWY_NAMESPACE;

struct VectorArithmetic {
  using D = hn::ScalableTag<double>;
  using V = hn::Vec<D>;
  V set(double x) const { return hn::Set(D(), x); }
  V add(V a, V b) const { return hn::Add(a, b); }
  V sub(V a, V b) const { return hn::Sub(a, b); }
  V mul(V a, V b) const { return hn::Mul(a, b); }
  V div(V a, V b) const { return hn::Div(a, b); }
  V sqrt(V a) const { return hn::Sqrt(a); }
  bool any_above(V a, double limit) const { return !hn::AllFalse(D(), hn::Gt(a, set(limit))); }
  V if_above(V a, double limit, V yes, V no) const { return hn::IfThenElse(hn::Gt(a, set(limit)), yes, no); }
  V split(V x, V& m) const {
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(di, x);
    const auto offset = hn::Sub(bits, hn::Set(di, ScalarArithmetic::log_origin));
    m = hn::BitCast(D(), hn::Sub(bits, hn::And(offset, hn::Set(di, ScalarArithmetic::exponent_mask))));
    return hn::ConvertTo(D(), hn::ShiftRight<52>(offset));
  }
};

#include "random/normal_formulas.inc"

// Four words of as many blocks as a vector has 64-bit lanes; only the low half of a lane counts, so the product's low
// half needs no masking. The lanes' blocks are dealt so that the two stores at the end write them in order.
void philox_words_kernel(PhiloxKey key, PhiloxBlock counter, std::uint32_t first, std::size_t blocks,
                         std::uint32_t* out) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Repartition<std::uint32_t, decltype(d)> d32;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::uint64_t deal[hn::MaxLanes(d)];
  for (std::size_t i = 0; i < lanes; ++i) deal[i] = i / 2 + (i % 2) * (lanes / 2);
  const V offsets = hn::Load(d, deal);
  const V multiplier_0 = hn::Set(d, philox_multiplier_0), multiplier_1 = hn::Set(d, philox_multiplier_1);
  const auto times = [&](V a, V b) HWY_ATTR { return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b)); };
  const auto store = [&](V low_words, V high_words, V low_words_2, V high_words_2, std::uint32_t* to) HWY_ATTR {
    const V low_half = hn::Set(d, 0xFFFFFFFFu);
    const V a = hn::Or(hn::And(low_words, low_half), hn::ShiftLeft<32>(high_words));
    const V b = hn::Or(hn::And(low_words_2, low_half), hn::ShiftLeft<32>(high_words_2));
    hn::StoreU(hn::BitCast(d32, hn::InterleaveLower(d, a, b)), d32, to);
    hn::StoreU(hn::BitCast(d32, hn::InterleaveUpper(d, a, b)), d32, to + 2 * lanes);
  };
  for (std::size_t block = 0; block < blocks; block += 2 * lanes) {  // two vectors at once hide the product's latency
    V a0 = hn::Add(hn::Set(d, std::uint64_t{first} + block), offsets);
    V b0 = hn::Add(a0, hn::Set(d, lanes));
    V a1 = hn::Set(d, counter.word[1]), a2 = hn::Set(d, counter.word[2]), a3 = hn::Set(d, counter.word[3]);
    V b1 = a1, b2 = a2, b3 = a3;
    std::uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < philox_rounds; ++round) {
      const V key_0 = hn::Set(d, k0), key_1 = hn::Set(d, k1);
      const V pa0 = times(a0, multiplier_0), pa1 = times(a2, multiplier_1);
      const V pb0 = times(b0, multiplier_0), pb1 = times(b2, multiplier_1);
      a0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(pa1), a1), key_0);
      b0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(pb1), b1), key_0);
      a2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(pa0), a3), key_1);
      b2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(pb0), b3), key_1);
      a1 = pa1;
      b1 = pb1;
      a3 = pa0;
      b3 = pb0;
      k0 += philox_weyl_0;
      k1 += philox_weyl_1;
    }
    store(a0, a1, a2, a3, out + 4 * block);
    store(b0, b1, b2, b3, out + 4 * (block + lanes));
  }
}

// Writes whole vectors, and the last part of one through a buffer: nothing beyond out + n is touched.
template <class D, class F>
void store_each(D d, std::size_t n, hn::TFromD<D>* out, F&& value_at) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(value_at(i), d, out + i);
  if (i < n) {
    HWY_ALIGN hn::TFromD<D> last[hn::MaxLanes(d)];
    hn::Store(value_at(i), d, last);
    std::memcpy(out + i, last, (n - i) * sizeof(*out));
  }
}

// Two words of a double, the first one low.
template <class D>
hn::Vec<D> load_pairs(D d, const std::uint32_t* words) {
  const hn::Repartition<std::uint32_t, D> d32;
  const auto raw = hn::LoadU(d32, words);
  if constexpr (std::endian::native == std::endian::little) {
    return hn::BitCast(d, raw);
  } else {
    return hn::BitCast(d, hn::Shuffle2301(raw));
  }
}

void uniform_floats(const std::uint32_t* words, std::size_t n, float* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::RebindToSigned<decltype(d)> di;
  store_each(d, n, out, [&](std::size_t i) HWY_ATTR {
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(hn::LoadU(du, words + i)));
    return hn::Mul(hn::ConvertTo(d, bits), hn::Set(d, 0x1p-24f));
  });
}

// 52 bits as the fraction of a number in [1, 2), less 1; the 53rd bit is added as its value. All exact.
void uniform_doubles(const std::uint32_t* words, std::size_t n, double* out) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  store_each(d, n, out, [&](std::size_t i) HWY_ATTR {
    const auto bits = hn::ShiftRight<11>(load_pairs(du, words + 2 * i));
    const auto one = hn::Set(d, 1.0);
    const auto upper = hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<1>(bits), hn::BitCast(du, one))), one);
    const auto last =
        hn::And(hn::BitCast(d, hn::Sub(hn::Zero(du), hn::And(bits, hn::Set(du, 1)))), hn::Set(d, 0x1p-53));
    return hn::Add(upper, last);
  });
}

// q of normal_quantile.hpp.
template <class D>
hn::Vec<D> load_q(D d, const std::uint32_t* words, std::size_t i, float) {
  const hn::Rebind<std::uint32_t, D> du;
  const hn::Rebind<std::int32_t, D> di;
  const auto m = hn::PromoteTo(d, hn::BitCast(di, hn::ShiftRight<1>(hn::LoadU(du, words + i))));
  return hn::Mul(hn::Add(hn::Add(m, m), hn::Set(d, 1.0)), hn::Set(d, 0x1p-33));
}
template <class D>
hn::Vec<D> load_q(D d, const std::uint32_t* words, std::size_t i, double) {
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::Set(d, 1.0);
  const auto bits = hn::ShiftRight<12>(load_pairs(du, words + 2 * i));
  const auto m = hn::Sub(hn::BitCast(d, hn::Or(bits, hn::BitCast(du, one))), one);
  return hn::Mul(hn::Add(m, hn::Set(d, 0x1p-53)), hn::Set(d, 0.5));
}

// The lowest bit of the word or words, as the sign bit of a double.
template <class D>
hn::Vec<D> load_sign(D d, const std::uint32_t* words, std::size_t i, float) {
  const hn::Rebind<std::uint32_t, D> du;
  return hn::BitCast(d, hn::ShiftLeft<63>(hn::PromoteTo(hn::RebindToUnsigned<D>(), hn::LoadU(du, words + i))));
}
template <class D>
hn::Vec<D> load_sign(D d, const std::uint32_t* words, std::size_t i, double) {
  return hn::BitCast(d, hn::ShiftLeft<63>(load_pairs(hn::RebindToUnsigned<D>(), words + 2 * i)));
}

template <class D>
hn::Vec<hn::Rebind<float, D> > rounded_to(D, hn::Vec<D> x, float) {
  return hn::DemoteTo(hn::Rebind<float, D>(), x);
}
template <class D>
hn::Vec<D> rounded_to(D, hn::Vec<D> x, double) {
  return x;
}

// Three passes over a chunk: the central formula for all; the tail formula for the 15 % that need it, gathered into
// whole vectors; mean, deviation and rounding.
template <class T>
void normal_numbers(const std::uint32_t* words, std::size_t n, double mean, double sd, T* out) {
  const VectorArithmetic a;
  const VectorArithmetic::D d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double q[fill_chunk + fill_padding];
  HWY_ALIGN double z[fill_chunk + fill_padding];
  HWY_ALIGN double tail[fill_chunk + fill_padding];
  std::uint16_t where[fill_chunk + 1];

  for (std::size_t i = 0; i < n; i += lanes) {
    const auto v = load_q(d, words, i, T{});
    hn::Store(v, d, q + i);
    hn::Store(normal_central(a, hn::Sub(hn::Set(d, 0.5), v)), d, z + i);
  }
  std::size_t tails = 0;
  for (std::size_t i = 0; i < n; ++i) {
    where[tails] = static_cast<std::uint16_t>(i);
    tail[tails] = q[i];
    tails += q[i] < normal_tail_below ? 1 : 0;
  }
  for (std::size_t i = tails; i < tails + lanes; ++i) tail[i] = normal_tail_below / 2;
  for (std::size_t i = 0; i < tails; i += lanes) hn::Store(normal_tail(a, hn::Load(d, tail + i)), d, tail + i);
  for (std::size_t i = 0; i < tails; ++i) z[where[i]] = tail[i];

  const auto m = hn::Set(d, mean), s = hn::Set(d, sd);
  store_each(hn::Rebind<T, decltype(d)>(), n, out, [&](std::size_t i) HWY_ATTR {
    const auto deviate = hn::Xor(hn::Load(d, z + i), load_sign(d, words, i, T{}));
    return rounded_to(d, hn::Add(m, hn::Mul(s, deviate)), T{});
  });
}

void normal_floats(const std::uint32_t* words, std::size_t n, double mean, double sd, float* out) {
  normal_numbers(words, n, mean, sd, out);
}
void normal_doubles(const std::uint32_t* words, std::size_t n, double mean, double sd, double* out) {
  normal_numbers(words, n, mean, sd, out);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace headrace::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::detail {

HWY_EXPORT(philox_words_kernel);
HWY_EXPORT(uniform_floats);
HWY_EXPORT(uniform_doubles);
HWY_EXPORT(normal_floats);
HWY_EXPORT(normal_doubles);

void philox_words(PhiloxKey key, PhiloxBlock counter, std::uint32_t first, std::size_t blocks, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(philox_words_kernel)(key, counter, first, blocks, out);
}
void uniforms(const std::uint32_t* words, std::size_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(uniform_floats)(words, n, out);
}
void uniforms(const std::uint32_t* words, std::size_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(uniform_doubles)(words, n, out);
}
void normals(const std::uint32_t* words, std::size_t n, double mean, double sd, float* out) {
  HWY_DYNAMIC_DISPATCH(normal_floats)(words, n, mean, sd, out);
}
void normals(const std::uint32_t* words, std::size_t n, double mean, double sd, double* out) {
  HWY_DYNAMIC_DISPATCH(normal_doubles)(words, n, mean, sd, out);
}

}  // namespace headrace::detail
#endif
