// What the tests of the ops share: small samples, a source of numbers, and messages of exceptions.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <string>
#include <vector>

namespace headrace::test {

inline Rng stream(std::uint64_t seed, std::uint32_t patch = 0) {
  return Rng(StreamAddress{.seed = seed, .epoch = 0, .item = 0, .patch = patch, .op = 0});
}

// 0, 1, 2, ... in C order.
template <class T>
Tensor counting(const Shape& shape) {
  std::vector<T> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  return Tensor::from(std::span<const T>(values), shape);
}

template <class T>
std::vector<T> values_of(const Tensor& t) {
  const Tensor c = t.contiguous();
  return std::vector<T>(c.data<T>(), c.data<T>() + c.numel());
}

// The message of the std::exception that f throws; a failure when it throws none.
inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

// True if the text holds each of the parts.
inline ::testing::AssertionResult says(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (text.find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
  return ::testing::AssertionSuccess();
}

// An OutputPlace that counts what it was asked for and marks its memory with a pattern.
class CountingPlace final : public OutputPlace {
 public:
  Tensor output(std::string_view field, DType dtype, const Shape& shape) override {
    ++outputs;
    last_field = field;
    last = Tensor::empty(dtype, shape);
    if (last.bytes() > 0) std::memset(last.mutable_raw(), 0xA5, last.bytes());
    return last;  // a second handle stays here, as a batch slot keeps one
  }
  Tensor scratch(DType dtype, const Shape& shape) override { return Tensor::empty(dtype, shape); }

  int outputs = 0;
  std::string last_field;
  Tensor last;
};

}  // namespace headrace::test
