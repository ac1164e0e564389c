// A short list of sizes or strides held in place: no allocation, at most six dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace headrace {

inline constexpr int max_rank = 6;

class Shape {
 public:
  constexpr Shape() noexcept = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  // Throws std::invalid_argument for more than six entries.
  explicit Shape(std::span<const std::int64_t> sizes);

  constexpr int rank() const noexcept { return rank_; }
  constexpr std::int64_t operator[](int d) const noexcept { return sizes_[static_cast<std::size_t>(d)]; }
  constexpr std::int64_t& operator[](int d) noexcept { return sizes_[static_cast<std::size_t>(d)]; }
  constexpr const std::int64_t* begin() const noexcept { return sizes_.data(); }
  constexpr const std::int64_t* end() const noexcept { return sizes_.data() + rank_; }
  operator std::span<const std::int64_t>() const noexcept { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }

  void push_back(std::int64_t size);
  // The product of all sizes. Throws std::length_error when it or a size does not fit 63 bits or a size is negative.
  std::int64_t numel() const;
  // "[1, 96, 96, 96]"; an unknown size (-1) prints as "?".
  std::string str() const;

  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    if (a.rank_ != b.rank_) return false;
    for (int d = 0; d < a.rank_; ++d)
      if (a[d] != b[d]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

}  // namespace headrace
