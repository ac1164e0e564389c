// Percentiles by counting: values become unsigned keys in the same order, and a key is found digit by digit, the
// highest digit first, each digit by one counting pass over the voxels whose higher digits are those found so far.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <headrace/transform/scale_intensity_range_percentiles.hpp>
#include <stdexcept>
#include <vector>

#include "describe.hpp"
#include "rows.hpp"

namespace headrace {
namespace {

// An unsigned number in the order of the values; both zeros are one value.
template <class T>
auto key_of(T v) noexcept {
  using Key = typename word_of_size<sizeof(T)>::type;
  constexpr Key top = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = std::bit_cast<Key>(v == T{0} ? T{0} : v);
    return static_cast<Key>(bits & top ? ~bits : bits | top);
  } else {
    return static_cast<Key>(static_cast<Key>(v) ^ (std::is_signed_v<T> ? top : Key{0}));
  }
}
template <class T>
T value_of(typename word_of_size<sizeof(T)>::type key) noexcept {
  using Key = typename word_of_size<sizeof(T)>::type;
  constexpr Key top = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(static_cast<Key>(key & top ? key & ~top : ~key));
  else
    return static_cast<T>(static_cast<Key>(key ^ (std::is_signed_v<T> ? top : Key{0})));
}

template <class T>
class Selector {
 public:
  using Key = typename word_of_size<sizeof(T)>::type;
  static constexpr int key_bits = 8 * static_cast<int>(sizeof(T));
  static constexpr int digit_bits = std::min(key_bits, 16);
  static constexpr std::size_t bins = std::size_t{1} << digit_bits;

  explicit Selector(const Tensor& values) : values_(values) {
    first_.assign(bins, 0);
    for_each_key([&](Key key) { ++first_[static_cast<std::size_t>(key >> (key_bits - digit_bits))]; });
    for (const std::uint64_t n : first_) valid_ += n;
  }

  std::uint64_t valid() const noexcept { return valid_; }  // values that are not NaN

  // The order statistics with these ranks (each below valid()).
  std::array<double, 4> select(const std::array<std::uint64_t, 4>& ranks) const {
    std::array<Search, 4> searches;
    for (std::size_t i = 0; i < 4; ++i) {
      searches[i].rank = ranks[i];
      searches[i].descend(first_);
    }
    std::vector<std::vector<std::uint64_t>> counts(4);
    for (int shift = key_bits - 2 * digit_bits; shift >= 0; shift -= digit_bits) {
      // One table per different prefix; most often the four searches have two.
      std::size_t tables = 0;
      std::array<Key, 4> prefixes{};
      std::array<std::size_t, 4> table_of{};
      for (std::size_t i = 0; i < 4; ++i) {
        std::size_t t = 0;
        while (t < tables && prefixes[t] != searches[i].prefix) ++t;
        if (t == tables) {
          prefixes[tables] = searches[i].prefix;
          counts[tables++].assign(bins, 0);
        }
        table_of[i] = t;
      }
      for_each_key([&](Key key) {
        const auto prefix = static_cast<Key>(static_cast<std::uint64_t>(key) >> (shift + digit_bits));
        for (std::size_t t = 0; t < tables; ++t)
          if (prefix == prefixes[t]) ++counts[t][static_cast<std::size_t>(key >> shift) & (bins - 1)];
      });
      for (std::size_t i = 0; i < 4; ++i) searches[i].descend(counts[table_of[i]]);
    }
    std::array<double, 4> found{};
    for (std::size_t i = 0; i < 4; ++i) found[i] = static_cast<double>(value_of<T>(searches[i].prefix));
    return found;
  }

 private:
  struct Search {
    std::uint64_t rank = 0;  // among the keys that begin with the prefix
    Key prefix = 0;
    void descend(const std::vector<std::uint64_t>& count) noexcept {
      std::size_t digit = 0;
      while (rank >= count[digit]) rank -= count[digit++];
      prefix = static_cast<Key>((static_cast<std::uint64_t>(prefix) << digit_bits) | digit);
    }
  };

  template <class F>
  void for_each_key(F&& f) const {
    const T* data = values_.data<T>();
    const int last = values_.rank() - 1;
    const std::int64_t n = values_.shape()[last], step = values_.strides()[last];
    detail::for_each_row(values_.shape(), values_.strides(), [&](const auto&, std::int64_t at) {
      for (std::int64_t i = 0; i < n; ++i) {
        const T v = data[at + i * step];
        if constexpr (std::is_floating_point_v<T>)
          if (v != v) continue;
        f(key_of(v));
      }
    });
  }

  const Tensor& values_;
  std::uint64_t valid_ = 0;
  std::vector<std::uint64_t> first_;  // counts of the highest digit
};

// numpy's interpolation: from the nearer end, so that it is monotonic in t. Between equal values, and on one of them,
// nothing is computed: an infinite neighbour must not turn it into NaN.
double interpolate(double a, double b, double t) noexcept {
  if (t == 0 || a == b) return a;
  return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

}  // namespace

std::pair<double, double> percentiles(const Tensor& values, double lower, double upper, bool skip_nan) {
  for (const double p : {lower, upper})
    if (!(p >= 0 && p <= 100))
      throw std::invalid_argument("percentile " + detail::option_text(p) + " is not between 0 and 100");
  if (values.numel() == 0)
    throw std::invalid_argument("a tensor of shape " + values.shape().str() + " has no percentiles");
  if (values.rank() == 0) return percentiles(values.unsqueeze(0), lower, upper, skip_nan);
  const Tensor numbers = detail::arithmetic_form(values);
  return visit_arithmetic(numbers.dtype(), [&](auto zero) {
    const Selector<decltype(zero)> selector(numbers);
    const auto all = static_cast<std::uint64_t>(numbers.numel());
    if (selector.valid() < all && !skip_nan)
      throw std::invalid_argument(std::to_string(all - selector.valid()) + " of " + std::to_string(all) +
                                  " voxels are NaN; set skip_nan to leave them out");
    if (selector.valid() == 0) throw std::invalid_argument("all voxels are NaN");
    const double last = static_cast<double>(selector.valid() - 1);
    const double h_low = lower / 100 * last, h_high = upper / 100 * last;
    const auto below = [](double h) { return static_cast<std::uint64_t>(h); };
    const auto above = [&](double h) { return std::min(below(h) + 1, selector.valid() - 1); };
    const std::array<double, 4> v = selector.select({below(h_low), above(h_low), below(h_high), above(h_high)});
    return std::pair(interpolate(v[0], v[1], h_low - static_cast<double>(below(h_low))),
                     interpolate(v[2], v[3], h_high - static_cast<double>(below(h_high))));
  });
}

}  // namespace headrace
