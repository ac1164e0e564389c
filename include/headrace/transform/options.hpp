// Small option types that ops share, and the text of options for fingerprints.
//
//   .spatial_size = 96            one value for every axis
//   .spatial_size = {96, 96, 32}  one per axis
//   .mode = {Interpolation::linear, Interpolation::nearest}   one per key, in the order of .keys
//
// All are values; immutable ones may be read by any number of threads.
#pragma once

#include <concepts>
#include <cstdint>
#include <headrace/tensor/shape.hpp>
#include <headrace/transform/keys.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

// How a value between voxels is made. by_dtype: linear for floating point, nearest for integers (label maps).
enum class Interpolation : std::uint8_t { by_dtype, nearest, linear };

// What lies outside an image: 0; the value of the nearest voxel; the image mirrored at its outer edges.
enum class Padding : std::uint8_t { zeros, border, reflection };

std::string_view name_of(Interpolation mode) noexcept;  // "by_dtype", "nearest", "linear"
std::string_view name_of(Padding padding) noexcept;     // "zeros", "border", "reflection"
// The inverses, which also take MONAI's "bilinear" and "trilinear". Throw std::invalid_argument that lists the names.
Interpolation parse_interpolation(std::string_view name);
Padding parse_padding(std::string_view name);

// Nothing, one value for all, or a list with one value per axis (or per key).
template <class T>
class OneOrMany {
 public:
  OneOrMany() = default;
  OneOrMany(T one) : values_{one}, one_(true) {}  // NOLINT(google-explicit-constructor): an option's value
  OneOrMany(std::initializer_list<T> many) : values_(many) {}
  OneOrMany(std::vector<T> many) : values_(std::move(many)) {}  // NOLINT(google-explicit-constructor)

  bool empty() const noexcept { return values_.empty(); }
  bool is_one() const noexcept { return one_; }
  const std::vector<T>& values() const noexcept { return values_; }
  // The i-th value; the only one when there is one for all. `i` must be below values().size() otherwise.
  T at(std::size_t i) const { return one_ ? values_.front() : values_.at(i); }

  friend bool operator==(const OneOrMany&, const OneOrMany&) = default;

 private:
  std::vector<T> values_;
  bool one_ = false;
};

// Where a random parameter comes from: uniform in [low, high), or always low where they are equal.
struct Range {
  double low = 0;
  double high = 0;

  Range() = default;
  Range(double f) : low(-f), high(f) {}  // NOLINT(google-explicit-constructor): an option's value
  Range(double lo, double hi) : low(lo), high(hi) {}
  Range(std::nullopt_t) {}  // NOLINT(google-explicit-constructor): MONAI's None
  friend bool operator==(const Range&, const Range&) = default;
};

using Sizes = OneOrMany<std::int64_t>;
// One value, or one per key. With keys not given (every tensor) only one value makes sense.
template <class T>
using PerKey = OneOrMany<T>;

namespace detail {

[[noreturn]] void throw_per_key(std::size_t values, std::size_t keys, std::string_view op, std::string_view option);

// Checks a per-key option: one value, or as many as there are keys. Throws std::invalid_argument naming op and option.
template <class T>
void check_per_key(const PerKey<T>& option, const Keys& keys, std::string_view op, std::string_view option_name) {
  if (option.is_one() || (!option.empty() && option.values().size() == keys.names().size())) return;
  throw_per_key(option.values().size(), keys.names().size(), op, option_name);
}

// The value of a per-key option for a field.
template <class T>
T for_key(const PerKey<T>& option, const Keys& keys, std::string_view field) {
  return option.at(keys.position(field));
}

// MONAI's fall-back rule: one size for all axes or exactly one per axis; an entry that is 0 or negative, or an option
// not given at all, means the image's own size. Throws std::invalid_argument naming op and option.
Shape fall_back(const Sizes& option, const Shape& spatial, std::string_view op, std::string_view option_name);

// The spatial sizes of a channel-first shape. Throws std::invalid_argument unless there are 1 to 3 of them.
Shape spatial_shape(const Shape& channel_first, std::string_view op, std::string_view field);

// Throws std::invalid_argument "Op: option = value, but expected ...".
[[noreturn]] void throw_option(std::string_view op, std::string_view option, const std::string& value,
                               std::string_view expected);
// A range: finite, low <= high, a finite width.
void check_range(const Range& range, std::string_view op, std::string_view option);
// A probability: 0 to 1, not NaN.
void check_prob(double prob, std::string_view op);

// Exact and the same in every locale: the shortest decimal that reads back as the same double.
std::string option_text(double value);
std::string option_text(std::int64_t value);
inline std::string option_text(int value) { return option_text(static_cast<std::int64_t>(value)); }
inline std::string option_text(std::same_as<bool> auto value) { return value ? "true" : "false"; }
inline std::string option_text(Interpolation value) { return std::string(name_of(value)); }
inline std::string option_text(Padding value) { return std::string(name_of(value)); }
inline std::string option_text(const Keys& keys) { return keys.str(); }
inline std::string option_text(const Range& r) { return "[" + option_text(r.low) + ", " + option_text(r.high) + "]"; }
std::string option_text(std::string_view value);  // quoted, with escapes
inline std::string option_text(const std::string& value) { return option_text(std::string_view(value)); }
inline std::string option_text(const char* value) { return option_text(std::string_view(value)); }
template <class T>
std::string option_text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& v : values) {
    if (text.size() > 1) text += ", ";
    text += option_text(v);
  }
  return text + "]";
}
template <class T>
std::string option_text(const OneOrMany<T>& values) {
  return values.is_one() ? option_text(values.at(0)) : option_text(values.values());
}

// Builds "keys=[\"image\"], prob=0.1": what an op's describe() returns.
class OptionList {
 public:
  template <class T>
  OptionList& add(std::string_view name, const T& value) {
    return add_text(name, option_text(value));
  }
  OptionList& add_text(std::string_view name, std::string_view text) {
    if (!text_.empty()) text_ += ", ";
    text_.append(name).append("=").append(text);
    return *this;
  }
  std::string str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace detail
}  // namespace headrace
