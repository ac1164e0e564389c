// What the tensor tests compare with: elements as long doubles, and a view as a plain list of storage positions.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <headrace/tensor/tensor.hpp>
#include <random>
#include <vector>

namespace headrace_test {

using headrace::DType;
using headrace::Shape;
using headrace::Tensor;
using Index = std::vector<std::int64_t>;

inline constexpr DType all_dtypes[] = {DType::u8,  DType::i8,  DType::u16, DType::i16,  DType::u32, DType::i32,
                                       DType::u64, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64};

// The value of a 16-bit format by its definition: sign, exponent, fraction.
inline long double decode16(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int e = (bits >> fraction_bits) & ((1 << exponent_bits) - 1), f = bits & ((1 << fraction_bits) - 1);
  const long double sign = bits & 0x8000 ? -1 : 1;
  if (e == (1 << exponent_bits) - 1) return f ? std::nanl("") : sign * HUGE_VALL;
  return e == 0 ? sign * std::ldexp(static_cast<long double>(f), 1 - bias - fraction_bits)
                : sign * std::ldexp(static_cast<long double>(f + (1 << fraction_bits)), e - bias - fraction_bits);
}

// One element, exactly (a long double holds every 64-bit integer here).
inline long double decode(DType t, const std::byte* p) {
  return headrace::visit_dtype(t, [&](auto zero) -> long double {
    auto v = zero;
    std::memcpy(&v, p, sizeof v);
    if constexpr (std::is_same_v<decltype(zero), headrace::Half>)
      return decode16(v.bits, 5, 10);
    else if constexpr (std::is_same_v<decltype(zero), headrace::BFloat16>)
      return decode16(v.bits, 8, 7);
    else
      return static_cast<long double>(v);
  });
}

// Calls f(index) for every index of a shape, in C order.
inline void for_each_index(const Shape& shape, const std::function<void(const Index&)>& f) {
  Index i(static_cast<std::size_t>(shape.rank()), 0);
  const std::int64_t n = shape.numel();
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = k;
    for (int d = shape.rank() - 1; d >= 0; --d) {
      i[static_cast<std::size_t>(d)] = rest % shape[d];
      rest /= shape[d];
    }
    f(i);
  }
}

inline std::size_t linear(const Shape& shape, const Index& i) {
  std::int64_t k = 0;
  for (int d = 0; d < shape.rank(); ++d) k = k * shape[d] + i[static_cast<std::size_t>(d)];
  return static_cast<std::size_t>(k);
}

// Where the tensor says its element lies.
inline const std::byte* address(const Tensor& t, const Index& i) {
  std::int64_t offset = 0;
  for (int d = 0; d < t.rank(); ++d) offset += i[static_cast<std::size_t>(d)] * t.strides()[d];
  return t.raw() + offset * static_cast<std::int64_t>(headrace::size_of(t.dtype()));
}

// A view as the list of storage positions of its elements in C order.
struct Model {
  Shape shape;
  std::vector<std::int64_t> cells;

  // The view whose element i is this one's element source(i).
  Model view(const Shape& out, const std::function<Index(const Index&)>& source) const {
    Model m{out, {}};
    for_each_index(out, [&](const Index& i) { m.cells.push_back(cells[linear(shape, source(i))]); });
    return m;
  }
};

// The same elements at the same places.
inline bool matches(const Tensor& t, const Model& m) {
  if (!(t.shape() == m.shape) || t.numel() != static_cast<std::int64_t>(m.cells.size())) return false;
  bool same = true;
  for_each_index(m.shape, [&](const Index& i) {
    same = same && address(t, i) == t.storage().data() + m.cells[linear(m.shape, i)] *
                                                             static_cast<std::int64_t>(headrace::size_of(t.dtype()));
  });
  return same;
}

using Engine = std::mt19937_64;
inline std::int64_t draw(Engine& e, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(e);
}

// A tensor of random bytes, contiguous.
inline Tensor random_tensor(Engine& e, DType dtype, const Shape& shape) {
  Tensor t = Tensor::empty(dtype, shape);
  auto* p = t.mutable_raw();
  for (std::size_t i = 0; i < t.bytes(); ++i) p[i] = static_cast<std::byte>(e());
  return t;
}

// The shape seen through a random layout inside a larger storage: gaps, any order of axes, flips. Random bytes.
inline Tensor random_layout(Engine& e, DType dtype, const Shape& shape) {
  std::vector<int> order(static_cast<std::size_t>(shape.rank()));
  for (int d = 0; d < shape.rank(); ++d) order[static_cast<std::size_t>(d)] = d;
  std::shuffle(order.begin(), order.end(), e);
  // order[d] is the axis of the result that lies at place d in memory.
  Shape outer;
  Index start(order.size()), size(order.size());
  std::vector<int> inverse(order.size());
  const bool gaps = draw(e, 0, 1) == 1;
  for (std::size_t d = 0; d < order.size(); ++d) {
    const std::int64_t before = gaps ? draw(e, 0, 2) : 0, after = gaps ? draw(e, 0, 2) : 0;
    start[d] = before;
    size[d] = shape[order[d]];
    outer.push_back(before + size[d] + after);
    inverse[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
  }
  Tensor t = random_tensor(e, dtype, outer).crop(start, size).permute(std::span<const int>(inverse));
  for (int d = 0; d < shape.rank(); ++d)
    if (draw(e, 0, 2) == 0) t = t.flip({d});
  return t;
}

inline Shape random_shape(Engine& e, int rank, std::int64_t largest, bool zeros) {
  Shape s;
  for (int d = 0; d < rank; ++d) s.push_back(draw(e, zeros && draw(e, 0, 9) == 0 ? 0 : 1, largest));
  return s;
}

}  // namespace headrace_test
