// Single elements and the little arithmetic there is.
#include <headrace/tensor/tensor.hpp>
#include <stdexcept>
#include <string>

#include "convert.hpp"
#include "rows.hpp"

namespace headrace {
namespace {

using detail::convert;

// Applies f to every element of a tensor of arithmetic type, after copy-on-write.
template <class F>
void update(Tensor& t, F&& f) {
  visit_arithmetic(t.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (t.numel() == 0) return;
    auto* p = reinterpret_cast<T*>(t.mutable_raw());
    const Shape shape = t.rank() == 0 ? Shape{1} : t.shape();
    const Shape strides = t.rank() == 0 ? Shape{1} : t.strides();
    const int last = shape.rank() - 1;
    detail::for_each_row(shape, strides, strides, [&](std::int64_t i, std::int64_t) {
      for (std::int64_t k = 0; k < shape[last]; ++k) {
        T& x = p[i + k * strides[last]];
        x = f(x);
      }
    });
  });
}

}  // namespace

template <class T>
T Tensor::at(std::initializer_list<std::int64_t> index) const {
  if (static_cast<int>(index.size()) != rank())
    throw std::invalid_argument(std::to_string(index.size()) + " indices given for shape " + shape_.str());
  if (!defined()) throw std::invalid_argument("a tensor without memory has no elements");
  std::int64_t offset = 0;
  int d = 0;
  for (std::int64_t i : index) {
    if (i < 0 || i >= shape_[d])
      throw std::out_of_range("index " + std::to_string(i) + " is outside axis " + std::to_string(d) + " of shape " +
                              shape_.str());
    offset += i * strides_[d++];
  }
  return visit_dtype(dtype_,
                     [&](auto zero) { return convert<T>(reinterpret_cast<const decltype(zero)*>(raw())[offset]); });
}

template <class T>
T Tensor::item() const {
  if (numel_ != 1) throw std::invalid_argument("item() needs one element, not shape " + shape_.str());
  return visit_dtype(dtype_, [&](auto zero) { return convert<T>(*reinterpret_cast<const decltype(zero)*>(raw())); });
}

template double Tensor::at<double>(std::initializer_list<std::int64_t>) const;
template float Tensor::at<float>(std::initializer_list<std::int64_t>) const;
template std::int64_t Tensor::at<std::int64_t>(std::initializer_list<std::int64_t>) const;
template std::int32_t Tensor::at<std::int32_t>(std::initializer_list<std::int64_t>) const;
template double Tensor::item<double>() const;
template float Tensor::item<float>() const;
template std::int64_t Tensor::item<std::int64_t>() const;
template std::int32_t Tensor::item<std::int32_t>() const;

Tensor& Tensor::add_(double value) {
  update(*this, [value]<class T>(T x) {
    if constexpr (std::is_same_v<T, float>)
      return x + static_cast<float>(value);
    else
      return convert<T>(static_cast<double>(x) + value);
  });
  return *this;
}

Tensor& Tensor::mul_(double value) {
  update(*this, [value]<class T>(T x) {
    if constexpr (std::is_same_v<T, float>)
      return x * static_cast<float>(value);
    else
      return convert<T>(static_cast<double>(x) * value);
  });
  return *this;
}

Tensor& Tensor::fill_(double value) {
  update(*this, [value]<class T>(T) { return convert<T>(value); });
  return *this;
}

}  // namespace headrace
