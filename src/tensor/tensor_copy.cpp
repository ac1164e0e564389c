// Copies between any two layouts and types.
//
// A copy is first made simple (axes of one element dropped, axes that follow one another in both layouts merged, the
// destination walked upwards), then done row by row: memcpy where both rows are dense, a word-wise reversal where the
// source runs backwards, square by square where the source is dense along another axis, a plain loop otherwise.
#include <cstring>
#include <headrace/tensor/tensor.hpp>
#include <stdexcept>

#include "convert.hpp"
#include "rows.hpp"
#include "tiles.hpp"

namespace headrace {
namespace {

using detail::convert;

// A copy between two layouts: offsets and strides in elements.
struct Walk {
  Shape shape, from, to;
  std::int64_t from_start = 0, to_start = 0;
};

Walk simplify(const Shape& shape, const Shape& from, const Shape& to) {
  Walk w;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t n = shape[d];
    if (n == 1) continue;
    std::int64_t a = from[d], b = to[d];
    if (b < 0) {  // no element is written twice, so the order is free
      w.from_start += (n - 1) * a;
      w.to_start += (n - 1) * b;
      a = -a;
      b = -b;
    }
    const int last = w.shape.rank() - 1;
    if (last >= 0 && w.from[last] == a * n && w.to[last] == b * n) {
      w.shape[last] *= n;
      w.from[last] = a;
      w.to[last] = b;
    } else {
      w.shape.push_back(n);
      w.from.push_back(a);
      w.to.push_back(b);
    }
  }
  if (w.shape.rank() == 0) w.shape = w.from = w.to = Shape{1};
  return w;
}

// The elements of a 64-bit word in reverse order.
template <class Word>
std::uint64_t reversed_lanes(std::uint64_t x) noexcept {
  if constexpr (sizeof(Word) == 1) return __builtin_bswap64(x);
  if constexpr (sizeof(Word) == 2) x = ((x & 0x0000ffff0000ffffu) << 16) | ((x >> 16) & 0x0000ffff0000ffffu);
  if constexpr (sizeof(Word) < 8) x = (x << 32) | (x >> 32);
  return x;
}

// to[i] = from[-i]. Eight bytes at a time: without it a reversed row of bytes moves one byte per step on baseline
// x86-64.
template <class Word>
void copy_reversed(const Word* from, Word* to, std::int64_t n) noexcept {
  constexpr auto lanes = static_cast<std::int64_t>(8 / sizeof(Word));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    std::uint64_t x;
    std::memcpy(&x, from - i - (lanes - 1), 8);
    x = reversed_lanes<Word>(x);
    std::memcpy(to + i, &x, 8);
  }
  for (; i < n; ++i) to[i] = from[-i];
}

template <class Word>
void copy_words(const std::byte* from, std::byte* to, const Walk& w) {
  const auto* a = reinterpret_cast<const Word*>(from) + w.from_start;
  auto* b = reinterpret_cast<Word*>(to) + w.to_start;
  const int last = w.shape.rank() - 1;
  const std::int64_t n = w.shape[last], step_a = w.from[last], step_b = w.to[last];
  const int dense = detail::dense_axis<Word>(w.shape, w.from);
  // Decided once, not per row.
  if (dense >= 0 && n > 1)
    detail::copy_tiles(a, b, w.shape, w.from, w.to, dense);
  else if (step_a == 1 && step_b == 1)
    detail::for_each_row(w.shape, w.from, w.to, [&](std::int64_t ia, std::int64_t ib) {
      std::memcpy(b + ib, a + ia, static_cast<std::size_t>(n) * sizeof(Word));
    });
  else if (step_a == -1 && step_b == 1)
    detail::for_each_row(w.shape, w.from, w.to,
                         [&](std::int64_t ia, std::int64_t ib) { copy_reversed(a + ia, b + ib, n); });
  else
    detail::for_each_row(w.shape, w.from, w.to, [&](std::int64_t ia, std::int64_t ib) {
      for (std::int64_t i = 0; i < n; ++i) b[ib + i * step_b] = a[ia + i * step_a];
    });
}

template <class From, class To>
void convert_elements(const std::byte* from, std::byte* to, const Walk& w) {
  const auto* a = reinterpret_cast<const From*>(from) + w.from_start;
  auto* b = reinterpret_cast<To*>(to) + w.to_start;
  const int last = w.shape.rank() - 1;
  const std::int64_t n = w.shape[last], step_a = w.from[last], step_b = w.to[last];
  detail::for_each_row(w.shape, w.from, w.to, [&](std::int64_t ia, std::int64_t ib) {
    const From* src = a + ia;
    To* dst = b + ib;
    if (step_a == 1 && step_b == 1)
      for (std::int64_t i = 0; i < n; ++i) dst[i] = convert<To>(src[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) dst[i * step_b] = convert<To>(src[i * step_a]);
  });
}

}  // namespace

void Tensor::copy_from(const Tensor& src) {
  if (!(src.shape_ == shape_))
    throw std::invalid_argument("shape " + src.shape_.str() + " cannot be copied into " + shape_.str());
  if (numel_ != src.numel_) throw std::invalid_argument("a tensor without memory takes part in a copy");
  if (numel_ == 0) return;
  if (storage_.read_only())
    throw std::invalid_argument("the destination of a copy, " + shape_.str() + ", is read-only");
  if (repeats())
    throw std::invalid_argument("the destination of a copy repeats elements: its strides are " + strides_.str());
  if (overlaps(src)) throw std::invalid_argument("the source and the destination of a copy overlap");
  std::byte* to = storage_.data() + offset_bytes_;
  const std::byte* from = src.raw();
  const Walk walk = simplify(shape_, src.strides_, strides_);
  if (dtype_ == src.dtype_) {
    switch (size_of(dtype_)) {
      case 1:
        return copy_words<std::uint8_t>(from, to, walk);
      case 2:
        return copy_words<std::uint16_t>(from, to, walk);
      case 4:
        return copy_words<std::uint32_t>(from, to, walk);
      default:
        return copy_words<std::uint64_t>(from, to, walk);
    }
  }
  visit_dtype(src.dtype_, [&](auto s) {
    visit_dtype(dtype_, [&](auto d) { convert_elements<decltype(s), decltype(d)>(from, to, walk); });
  });
}

Tensor Tensor::clone() const {
  if (!defined()) return *this;
  Tensor t = empty(dtype_, shape_);
  t.copy_from(*this);
  return t;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (!defined()) throw std::invalid_argument("a tensor without memory has no elements to convert");
  Tensor t = empty(dtype, shape_);
  t.copy_from(*this);
  return t;
}

bool Tensor::equal(const Tensor& o) const {
  if (dtype_ != o.dtype_ || numel_ != o.numel_ || !(shape_ == o.shape_)) return false;
  if (numel_ == 0) return true;
  const Tensor a = contiguous(), b = o.contiguous();
  return std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace headrace
