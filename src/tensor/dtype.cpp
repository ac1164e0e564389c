#include <array>
#include <headrace/tensor/dtype.hpp>
#include <stdexcept>
#include <string>

namespace headrace {
namespace {

struct Names {
  DType dtype;
  std::string_view ours;
  std::string_view numpy;
};
constexpr std::array<Names, 12> all_names{{{DType::u8, "u8", "uint8"},
                                           {DType::i8, "i8", "int8"},
                                           {DType::u16, "u16", "uint16"},
                                           {DType::i16, "i16", "int16"},
                                           {DType::u32, "u32", "uint32"},
                                           {DType::i32, "i32", "int32"},
                                           {DType::u64, "u64", "uint64"},
                                           {DType::i64, "i64", "int64"},
                                           {DType::f16, "f16", "float16"},
                                           {DType::bf16, "bf16", "bfloat16"},
                                           {DType::f32, "f32", "float32"},
                                           {DType::f64, "f64", "float64"}}};

}  // namespace

std::string_view name_of(DType t) noexcept {
  for (const Names& n : all_names)
    if (n.dtype == t) return n.ours;
  return "?";
}

DType parse_dtype(std::string_view name) {
  std::string known;
  for (const Names& n : all_names) {
    if (name == n.ours || name == n.numpy) return n.dtype;
    known += known.empty() ? "" : ", ";
    known += n.ours;
  }
  throw std::invalid_argument("unknown element type '" + std::string(name) + "': expected one of " + known);
}

namespace detail {
void throw_no_arithmetic(DType t) {
  throw std::invalid_argument("element type " + std::string(name_of(t)) + " is for storage only: convert to f32 first");
}
}  // namespace detail

}  // namespace headrace
