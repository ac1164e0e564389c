#include <array>
#include <charconv>
#include <cmath>
#include <headrace/transform/options.hpp>
#include <stdexcept>

namespace headrace {

std::string_view name_of(Interpolation mode) noexcept {
  switch (mode) {
    case Interpolation::by_dtype:
      return "by_dtype";
    case Interpolation::nearest:
      return "nearest";
    case Interpolation::linear:
      break;
  }
  return "linear";
}

std::string_view name_of(Padding padding) noexcept {
  switch (padding) {
    case Padding::zeros:
      return "zeros";
    case Padding::border:
      return "border";
    case Padding::reflection:
      break;
  }
  return "reflection";
}

Interpolation parse_interpolation(std::string_view name) {
  if (name == "by_dtype") return Interpolation::by_dtype;
  if (name == "nearest") return Interpolation::nearest;
  if (name == "linear" || name == "bilinear" || name == "trilinear") return Interpolation::linear;
  throw std::invalid_argument("mode \"" + std::string(name) +
                              "\" is unknown; expected nearest, linear (or bilinear, trilinear) or by_dtype");
}

Padding parse_padding(std::string_view name) {
  if (name == "zeros") return Padding::zeros;
  if (name == "border") return Padding::border;
  if (name == "reflection") return Padding::reflection;
  throw std::invalid_argument("padding_mode \"" + std::string(name) +
                              "\" is unknown; expected zeros, border or reflection");
}

namespace detail {

void throw_option(std::string_view op, std::string_view option, const std::string& value, std::string_view expected) {
  throw std::invalid_argument(std::string(op) + ": " + std::string(option) + " = " + value + ", but expected " +
                              std::string(expected));
}

void check_prob(double prob, std::string_view op) {
  if (!(prob >= 0 && prob <= 1)) throw_option(op, "prob", option_text(prob), "a probability from 0 to 1");
}

void check_range(const Range& r, std::string_view op, std::string_view option) {
  if (!(r.low <= r.high) || !std::isfinite(r.low) || !std::isfinite(r.high) || !std::isfinite(r.high - r.low))
    throw_option(op, option, option_text(r), "finite numbers with low <= high (f stands for [-f, f])");
}

void throw_per_key(std::size_t values, std::size_t keys, std::string_view op, std::string_view option) {
  throw std::invalid_argument(std::string(op) + ": " + std::string(option) + " has " +
                              option_text(static_cast<std::int64_t>(values)) +
                              " values, but expected one for all keys, or one for each of the " +
                              option_text(static_cast<std::int64_t>(keys)) + " keys named");
}

Shape fall_back(const Sizes& option, const Shape& spatial, std::string_view op, std::string_view option_name) {
  if (option.empty()) return spatial;
  const auto count = static_cast<int>(option.values().size());
  if (!option.is_one() && count != spatial.rank())
    throw_option(op, option_name, option_text(option),
                 "one size, or one for each of the image's " + option_text(spatial.rank()) + " spatial axes");
  Shape sizes = spatial;
  for (int d = 0; d < spatial.rank(); ++d) {
    const std::int64_t wanted = option.at(static_cast<std::size_t>(d));
    if (wanted > 0) sizes[d] = wanted;
  }
  return sizes;
}

Shape spatial_shape(const Shape& channel_first, std::string_view op, std::string_view field) {
  const int rank = channel_first.rank() - 1;
  if (rank < 1 || rank > 3)
    throw std::invalid_argument(std::string(op) + ": field " + option_text(field) + " has shape " +
                                channel_first.str() + ", but expected a channel axis and 1 to 3 spatial axes");
  Shape spatial;
  for (int d = 0; d < rank; ++d) spatial.push_back(channel_first[d + 1]);
  return spatial;
}

std::string option_text(double value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string option_text(std::int64_t value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string option_text(std::string_view value) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20) {
      text.append("\\u00") += hex[byte >> 4];
      text += hex[byte & 15];
    } else {
      text += c;
    }
  }
  return text + "\"";
}

}  // namespace detail
}  // namespace headrace
