// The name of a field, held in place: copying a sample must not allocate.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

class FieldName {
 public:
  static constexpr std::size_t max_length = 47;

  FieldName() noexcept = default;
  // Throws std::invalid_argument for an empty name or one of more than max_length bytes.
  explicit FieldName(std::string_view name);

  std::string_view view() const noexcept { return {text_.data(), length_}; }
  std::string str() const { return std::string(view()); }
  operator std::string_view() const noexcept { return view(); }
  friend bool operator==(const FieldName& a, std::string_view b) noexcept { return a.view() == b; }
  friend bool operator==(const FieldName& a, const FieldName& b) noexcept { return a.view() == b.view(); }

 private:
  std::array<char, max_length> text_{};
  std::uint8_t length_ = 0;
};

}  // namespace headrace
