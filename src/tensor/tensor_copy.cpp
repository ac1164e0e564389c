// Copies, conversions and the little arithmetic there is. A copy walks the destination in C order, one row at a time.
#include <headrace/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace headrace {
namespace {

// Calls row(source element pointer offset, destination offset) for every row (the last axis), offsets in elements.
template <class F>
void for_each_row(const Shape& shape, const Shape& a, const Shape& b, F&& row) {
  const int outer = shape.rank() - 1;
  std::array<std::int64_t, max_rank> index{};
  std::int64_t ia = 0, ib = 0;
  for (;;) {
    row(ia, ib);
    int d = outer - 1;
    for (; d >= 0; --d) {
      const auto k = static_cast<std::size_t>(d);
      ia += a[d];
      ib += b[d];
      if (++index[k] < shape[d]) break;
      ia -= a[d] * shape[d];
      ib -= b[d] * shape[d];
      index[k] = 0;
    }
    if (d < 0) return;
  }
}

template <class Word>
void copy_words(const std::byte* from, std::byte* to, const Shape& shape, const Shape& sa, const Shape& sb) {
  const auto* a = reinterpret_cast<const Word*>(from);
  auto* b = reinterpret_cast<Word*>(to);
  const int last = shape.rank() - 1;
  const std::int64_t n = shape[last], step_a = sa[last], step_b = sb[last];
  for_each_row(shape, sa, sb, [&](std::int64_t ia, std::int64_t ib) {
    const Word* src = a + ia;
    Word* dst = b + ib;
    if (step_a == 1 && step_b == 1)
      std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(Word));
    else if (step_a == -1 && step_b == 1)
      for (std::int64_t i = 0; i < n; ++i) dst[i] = src[-i];
    else
      for (std::int64_t i = 0; i < n; ++i) dst[i * step_b] = src[i * step_a];
  });
}

float to_float(Half h) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1fu, fraction = h.bits & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // exact
  return sign ? -magnitude : magnitude;
}
float to_float(BFloat16 b) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16); }

// binary64 -> binary16, one rounding to nearest even.
Half to_half(double v) noexcept {
  const auto sign = static_cast<std::uint16_t>(std::signbit(v) ? 0x8000 : 0);
  const double m = std::fabs(v);
  if (std::isnan(v)) return {static_cast<std::uint16_t>(sign | 0x7e00)};
  if (m >= 65520.0) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  if (m < 0x1p-14) return {static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(m * 0x1p24)))};
  const int e = std::ilogb(m);
  const auto fraction = static_cast<std::uint32_t>(std::nearbyint(std::scalbn(m, 10 - e)));  // 1024..2048
  return {static_cast<std::uint16_t>(sign | ((static_cast<std::uint32_t>(e + 14) << 10) + fraction))};
}
BFloat16 to_bfloat16(double v) noexcept {
  const auto f = static_cast<float>(v);  // a bfloat16's double rounding happens only beyond float's 24 bits: accepted, documented
  if (std::isnan(f)) return {0x7fc0};
  const auto bits = std::bit_cast<std::uint32_t>(f);
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

template <class To, class From>
To convert(From v) noexcept {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return convert<To>(to_float(v));
  else if constexpr (std::is_same_v<To, Half>)
    return to_half(static_cast<double>(v));
  else if constexpr (std::is_same_v<To, BFloat16>)
    return to_bfloat16(static_cast<double>(v));
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(v);
  else if constexpr (std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    // 2^digits is exact in both formats, so the comparisons are too.
    const From upper = static_cast<From>(std::uint64_t{1} << (Limits::digits - 1)) * From{2};
    const From lower = Limits::is_signed ? -upper : From{0};
    if (std::isnan(v)) return To{0};
    if (v >= upper) return Limits::max();
    if (v <= lower) return Limits::min();
    return static_cast<To>(v);
  } else {
    if (std::cmp_greater(v, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (std::cmp_less(v, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  }
}

// Applies f to every element of a writable tensor of arithmetic type.
template <class F>
void update(Tensor& t, F&& f) {
  if (t.numel() == 0) return;
  visit_arithmetic(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    auto* p = reinterpret_cast<T*>(t.mutable_raw());
    const Shape shape = t.rank() == 0 ? Shape{1} : t.shape();
    const Shape strides = t.rank() == 0 ? Shape{1} : t.strides();
    const int last = shape.rank() - 1;
    for_each_row(shape, strides, strides, [&](std::int64_t i, std::int64_t) {
      for (std::int64_t k = 0; k < shape[last]; ++k) {
        T& x = p[i + k * strides[last]];
        x = f(x);
      }
    });
  });
}

}  // namespace

void Tensor::copy_from(const Tensor& src) {
  if (!(src.shape_ == shape_)) throw std::invalid_argument("shape " + src.shape_.str() + " cannot be copied into " + shape_.str());
  if (numel_ == 0) return;
  if (overlaps(src)) throw std::invalid_argument("the source and the destination of a copy overlap");
  std::byte* to = storage_.data() + offset_bytes_;
  const std::byte* from = src.raw();
  if (dtype_ == src.dtype_) {
    if (is_contiguous() && src.is_contiguous()) {
      std::memcpy(to, from, bytes());
      return;
    }
    switch (size_of(dtype_)) {
      case 1: return copy_words<std::uint8_t>(from, to, shape_, src.strides_, strides_);
      case 2: return copy_words<std::uint16_t>(from, to, shape_, src.strides_, strides_);
      case 4: return copy_words<std::uint32_t>(from, to, shape_, src.strides_, strides_);
      default: return copy_words<std::uint64_t>(from, to, shape_, src.strides_, strides_);
    }
  }
  const Shape shape = rank() == 0 ? Shape{1} : shape_;
  const Shape sa = rank() == 0 ? Shape{1} : src.strides_, sb = rank() == 0 ? Shape{1} : strides_;
  const int last = shape.rank() - 1;
  visit_dtype(src.dtype_, [&](auto s) {
    using From = decltype(s);
    visit_dtype(dtype_, [&](auto d) {
      using To = decltype(d);
      const auto* a = reinterpret_cast<const From*>(from);
      auto* b = reinterpret_cast<To*>(to);
      for_each_row(shape, sa, sb, [&](std::int64_t ia, std::int64_t ib) {
        for (std::int64_t i = 0; i < shape[last]; ++i) b[ib + i * sb[last]] = convert<To>(a[ia + i * sa[last]]);
      });
    });
  });
}

Tensor Tensor::clone() const {
  Tensor t = empty(dtype_, shape_);
  t.copy_from(*this);
  return t;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor t = empty(dtype, shape_);
  t.copy_from(*this);
  return t;
}

template <class T>
T Tensor::at(std::initializer_list<std::int64_t> index) const {
  if (static_cast<int>(index.size()) != rank())
    throw std::invalid_argument(std::to_string(index.size()) + " indices given for shape " + shape_.str());
  std::int64_t offset = 0;
  int d = 0;
  for (std::int64_t i : index) {
    if (i < 0 || i >= shape_[d]) throw std::out_of_range("index " + std::to_string(i) + " is outside axis " + std::to_string(d) + " of shape " + shape_.str());
    offset += i * strides_[d++];
  }
  return visit_dtype(dtype_, [&](auto zero) { return convert<T>(reinterpret_cast<const decltype(zero)*>(raw())[offset]); });
}

template <class T>
T Tensor::item() const {
  if (numel_ != 1) throw std::invalid_argument("item() needs one element, not shape " + shape_.str());
  return visit_dtype(dtype_, [&](auto zero) { return convert<T>(*reinterpret_cast<const decltype(zero)*>(raw())); });
}

template double Tensor::at<double>(std::initializer_list<std::int64_t>) const;
template float Tensor::at<float>(std::initializer_list<std::int64_t>) const;
template std::int64_t Tensor::at<std::int64_t>(std::initializer_list<std::int64_t>) const;
template std::int32_t Tensor::at<std::int32_t>(std::initializer_list<std::int64_t>) const;
template double Tensor::item<double>() const;
template float Tensor::item<float>() const;
template std::int64_t Tensor::item<std::int64_t>() const;
template std::int32_t Tensor::item<std::int32_t>() const;

Tensor& Tensor::add_(double value) {
  update(*this, [value]<class T>(T x) {
    if constexpr (std::is_same_v<T, float>)
      return x + static_cast<float>(value);
    else
      return convert<T>(static_cast<double>(x) + value);
  });
  return *this;
}

Tensor& Tensor::mul_(double value) {
  update(*this, [value]<class T>(T x) {
    if constexpr (std::is_same_v<T, float>)
      return x * static_cast<float>(value);
    else
      return convert<T>(static_cast<double>(x) * value);
  });
  return *this;
}

Tensor& Tensor::fill_(double value) {
  update(*this, [value]<class T>(T) { return convert<T>(value); });
  return *this;
}

bool Tensor::equal(const Tensor& o) const {
  if (dtype_ != o.dtype_ || !(shape_ == o.shape_)) return false;
  if (numel_ == 0) return true;
  const Tensor a = contiguous(), b = o.contiguous();
  return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace headrace
