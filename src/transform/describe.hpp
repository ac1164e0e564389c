// The canonical text of an op's options, for fingerprints: a JSON object with every option in declared order. Numbers are
// written by std::to_chars: exact, shortest, and the same in every locale.
#pragma once

#include <headrace/transform/crop_geometry.hpp>
#include <headrace/transform/keys.hpp>

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::detail {

template <class T>
  requires(std::integral<T> || std::floating_point<T>)
std::string number_text(T value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class Describe {
 public:
  template <class T>
  Describe& operator()(std::string_view option, const T& value) {
    text_ += text_.empty() ? "{" : ", ";
    text_ += '"';
    text_ += option;
    text_ += "\": " + of(value);
    return *this;
  }
  std::string str() const { return text_.empty() ? "{}" : text_ + "}"; }

 private:
  static std::string of(bool v) { return v ? "true" : "false"; }
  template <class T>
    requires((std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>)
  static std::string of(T v) {
    return number_text(v);
  }
  static std::string of(const std::string& v) {
    std::string quoted = "\"";
    for (const char c : v) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }
  static std::string of(const Keys& v) { return v.str(); }
  static std::string of(const PerAxis& v) { return v.str(); }
  static std::string of(DType v) { return of(std::string(name_of(v))); }
  template <class T>
  static std::string of(const std::optional<T>& v) {
    return v ? of(*v) : "null";
  }
  template <class T>
  static std::string of(const std::vector<T>& v) {
    std::string list = "[";
    for (const T& x : v) list += (list.size() > 1 ? ", " : "") + of(x);
    return list + "]";
  }

  std::string text_;
};

}  // namespace headrace::detail
