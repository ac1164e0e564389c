// Element types of a Tensor, their sizes and names, and a visitor that turns a run-time type into a compile-time one.
//
// Half and bfloat16 are storage formats: arithmetic on them is the caller's business. Conversion to them rounds once,
// to nearest even, from the full value (a double or a 64-bit integer), whatever the host's rounding mode: overflow
// becomes infinity, NaN the quiet NaN of the same sign. Conversion from them is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headrace {

enum class DType : std::uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64 };

// Bits of an IEEE 754 binary16 number.
struct Half {
  std::uint16_t bits;
};
// The upper half of a binary32 number.
struct BFloat16 {
  std::uint16_t bits;
};

// Bytes of one element.
constexpr std::size_t size_of(DType t) noexcept {
  switch (t) {
    case DType::u8:
    case DType::i8:
      return 1;
    case DType::u16:
    case DType::i16:
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u32:
    case DType::i32:
    case DType::f32:
      return 4;
    case DType::u64:
    case DType::i64:
    case DType::f64:
      return 8;
  }
  return 0;
}

constexpr bool is_floating(DType t) noexcept {
  return t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64;
}

// "u8", "i16", "f32", ...
std::string_view name_of(DType t) noexcept;

// The inverse of name_of, which also takes numpy's names ("uint8", "int16", "float32"). Throws std::invalid_argument
// that lists the names.
DType parse_dtype(std::string_view name);

template <class T>
struct dtype_traits;
template <>
struct dtype_traits<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_traits<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct dtype_traits<std::uint16_t> {
  static constexpr DType value = DType::u16;
};
template <>
struct dtype_traits<std::int16_t> {
  static constexpr DType value = DType::i16;
};
template <>
struct dtype_traits<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct dtype_traits<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_traits<std::uint64_t> {
  static constexpr DType value = DType::u64;
};
template <>
struct dtype_traits<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct dtype_traits<Half> {
  static constexpr DType value = DType::f16;
};
template <>
struct dtype_traits<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_traits<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_traits<double> {
  static constexpr DType value = DType::f64;
};

template <class T>
inline constexpr DType dtype_of = dtype_traits<T>::value;

// The unsigned word of a given size: what index-only operations (crop, flip, transpose) move.
template <std::size_t Bytes>
struct word_of_size;
template <>
struct word_of_size<1> {
  using type = std::uint8_t;
};
template <>
struct word_of_size<2> {
  using type = std::uint16_t;
};
template <>
struct word_of_size<4> {
  using type = std::uint32_t;
};
template <>
struct word_of_size<8> {
  using type = std::uint64_t;
};

// Calls f with a value-initialised element of the arithmetic type that t names: f(float{}), f(std::int16_t{}), ...
// f16 and bf16 arrive as Half and BFloat16; an f that cannot take them is called through visit_arithmetic instead.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u64:
      return f(std::uint64_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::f32:
      return f(float{});
    case DType::f64:
      break;
  }
  return f(double{});
}

namespace detail {
[[noreturn]] void throw_no_arithmetic(DType t);
}

// The same without the two storage formats, for which it throws std::invalid_argument.
template <class F>
decltype(auto) visit_arithmetic(DType t, F&& f) {
  switch (t) {
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u16:
      return f(std::uint16_t{});
    case DType::i16:
      return f(std::int16_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u64:
      return f(std::uint64_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::f16:
    case DType::bf16:
      break;
  }
  detail::throw_no_arithmetic(t);
}

}  // namespace headrace
