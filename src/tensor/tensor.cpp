// Shapes, views and construction. Copies and arithmetic are in tensor_copy.cpp.
#include <cstring>
#include <headrace/tensor/tensor.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace headrace {
namespace {

__extension__ using Int128 = __int128;

// Largest tensor that is ever asked for: 2^47 bytes, the user address space. Larger requests are mistakes in a size.
constexpr std::int64_t max_bytes = std::int64_t{1} << 47;

std::int64_t checked_numel(DType dtype, const Shape& shape) {
  const std::int64_t n = shape.numel();
  if (n > max_bytes / static_cast<std::int64_t>(size_of(dtype)))
    throw std::length_error("a tensor of shape " + shape.str() + " " + std::string(name_of(dtype)) +
                            " does not fit the address space");
  return n;
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> sizes) {
  for (std::int64_t s : sizes) push_back(s);
}

void Shape::push_back(std::int64_t size) {
  if (rank_ == max_rank) throw std::invalid_argument("a tensor has at most " + std::to_string(max_rank) + " axes");
  sizes_[static_cast<std::size_t>(rank_++)] = size;
}

std::int64_t Shape::numel() const {
  std::int64_t n = 1;
  bool zero = false;
  for (std::int64_t s : *this) {
    if (s < 0) throw std::length_error("shape " + str() + " has a negative size");
    zero = zero || s == 0;
    if (s > 0 && __builtin_mul_overflow(n, s, &n))
      throw std::length_error("shape " + str() + " has more elements than 63 bits count");
  }
  return zero ? 0 : n;
}

std::string Shape::str() const {
  std::string s = "[";
  for (int d = 0; d < rank_; ++d) {
    if (d) s += ", ";
    s += sizes_[static_cast<std::size_t>(d)] == -1 ? "?" : std::to_string(sizes_[static_cast<std::size_t>(d)]);
  }
  return s + "]";
}

// Throws what Shape::numel throws, before a product here could overflow.
Shape Tensor::contiguous_strides(const Shape& shape) {
  (void)shape.numel();
  Shape strides = shape;
  std::int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= shape[d] > 0 ? shape[d] : 1;
  }
  return strides;
}

Tensor::Tensor(Storage storage, DType dtype, const Shape& shape, const Shape& strides, std::int64_t offset)
    : storage_(std::move(storage)), shape_(shape), strides_(strides), dtype_(dtype) {
  if (shape.rank() != strides.rank()) throw std::invalid_argument("as many strides as sizes are needed");
  numel_ = checked_numel(dtype, shape);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  // 128-bit sums: the caller's numbers are checked before they are trusted.
  Int128 low = offset, high = offset;
  for (int d = 0; d < shape.rank() && numel_ > 0; ++d)
    (strides[d] < 0 ? low : high) += static_cast<Int128>(strides[d]) * (shape[d] - 1);
  if (numel_ > 0 && (low < 0 || (high + 1) * size > static_cast<Int128>(storage_.bytes())))
    throw std::out_of_range("a view of shape " + shape.str() + " lies outside its storage of " +
                            std::to_string(storage_.bytes()) + " bytes");
  // An axis of one element may have any stride, but later arithmetic with it (a flip negates it) must not overflow.
  for (std::int64_t s : strides)
    if (s > max_bytes || s < -max_bytes)
      throw std::out_of_range("a stride of " + std::to_string(s) + " elements lies outside any memory");
  offset_bytes_ = numel_ > 0 ? offset * size : 0;
  if (numel_ > 0 && reinterpret_cast<std::uintptr_t>(raw()) % size_of(dtype) != 0)
    throw std::invalid_argument("the memory of a tensor of " + std::string(name_of(dtype)) + " must be aligned to " +
                                std::to_string(size_of(dtype)) + " bytes");
}

Tensor& Tensor::operator=(Tensor&& o) noexcept {
  if (this == &o) return *this;
  storage_ = std::move(o.storage_);
  offset_bytes_ = std::exchange(o.offset_bytes_, 0);
  numel_ = std::exchange(o.numel_, 0);
  shape_ = std::exchange(o.shape_, {});
  strides_ = std::exchange(o.strides_, {});
  dtype_ = std::exchange(o.dtype_, DType::f32);
  return *this;
}

Tensor::Tensor(Storage storage, DType dtype, const Shape& shape)
    : Tensor(std::move(storage), dtype, shape, contiguous_strides(shape)) {}

Tensor Tensor::empty(DType dtype, const Shape& shape) {
  const std::int64_t n = checked_numel(dtype, shape);
  return Tensor(Storage::allocate(static_cast<std::size_t>(n) * size_of(dtype)), dtype, shape);
}

Tensor Tensor::zeros(DType dtype, const Shape& shape) {
  Tensor t = empty(dtype, shape);
  if (t.bytes() > 0) std::memset(t.mutable_raw(), 0, t.bytes());
  return t;
}

Tensor Tensor::from_raw(const void* values, std::size_t count, DType dtype, const Shape& shape) {
  if (count != static_cast<std::size_t>(shape.numel()))
    throw std::invalid_argument(std::to_string(count) + " values given for shape " + shape.str());
  Tensor t = empty(dtype, shape);
  if (count > 0) std::memcpy(t.mutable_raw(), values, t.bytes());
  return t;
}

int Tensor::axis_index(int axis) const {
  const int d = axis < 0 ? axis + rank() : axis;
  if (d < 0 || d >= rank())
    throw std::invalid_argument("axis " + std::to_string(axis) + " does not exist in shape " + shape_.str());
  return d;
}

void Tensor::check_dtype(DType asked) const {
  if (asked != dtype_)
    throw std::invalid_argument("the elements are " + std::string(name_of(dtype_)) + ", asked for as " +
                                std::string(name_of(asked)));
}

std::int64_t Tensor::size(int axis) const { return shape_[axis_index(axis)]; }

bool Tensor::is_contiguous() const noexcept {
  std::int64_t stride = 1;
  for (int d = rank() - 1; d >= 0; --d) {
    if (shape_[d] != 1 && strides_[d] != stride) return numel_ == 0;
    stride *= shape_[d];
  }
  return true;
}

std::byte* Tensor::mutable_raw() {
  if (!writable() && defined()) *this = clone();
  return storage_.data() + offset_bytes_;
}

void Tensor::narrow_in_place(int axis, std::int64_t start, std::int64_t length) {
  const int d = axis_index(axis);
  if (start < 0 || length < 0 || start > shape_[d] || length > shape_[d] - start)
    throw std::out_of_range(std::to_string(length) + " elements from " + std::to_string(start) + " of axis " +
                            std::to_string(d) + " lie outside shape " + shape_.str());
  if (numel_ > 0 && length > 0) offset_bytes_ += start * strides_[d] * static_cast<std::int64_t>(size_of(dtype_));
  shape_[d] = length;
  // An undefined tensor has no elements, whatever its shape says.
  numel_ = defined() ? shape_.numel() : 0;
}

Tensor Tensor::narrow(int axis, std::int64_t start, std::int64_t length) const {
  Tensor t = *this;
  t.narrow_in_place(axis, start, length);
  return t;
}

Tensor Tensor::crop(std::span<const std::int64_t> start, std::span<const std::int64_t> size) const {
  if (start.size() != size.size() || start.size() > static_cast<std::size_t>(rank()))
    throw std::invalid_argument("a crop of " + std::to_string(start.size()) + " starts and " +
                                std::to_string(size.size()) + " sizes does not suit shape " + shape_.str());
  const int first = rank() - static_cast<int>(start.size());
  Tensor t = *this;
  for (std::size_t i = 0; i < start.size(); ++i) t.narrow_in_place(first + static_cast<int>(i), start[i], size[i]);
  return t;
}

Tensor Tensor::flip(std::span<const int> axes) const {
  Tensor t = *this;
  for (int axis : axes) {
    const int d = axis_index(axis);
    if (t.numel_ > 0) t.offset_bytes_ += (t.shape_[d] - 1) * t.strides_[d] * static_cast<std::int64_t>(size_of(dtype_));
    t.strides_[d] = -t.strides_[d];
  }
  return t;
}

Tensor Tensor::permute(std::span<const int> order) const {
  if (static_cast<int>(order.size()) != rank())
    throw std::invalid_argument("a permutation of " + std::to_string(order.size()) + " axes does not suit shape " +
                                shape_.str());
  Tensor t = *this;
  unsigned seen = 0;
  for (int d = 0; d < rank(); ++d) {
    const int from = axis_index(order[static_cast<std::size_t>(d)]);
    if (seen & (1u << from))
      throw std::invalid_argument("axis " + std::to_string(from) + " is named twice in a permutation");
    seen |= 1u << from;
    t.shape_[d] = shape_[from];
    t.strides_[d] = strides_[from];
  }
  return t;
}

Tensor Tensor::select(int axis, std::int64_t index) const { return narrow(axis, index, 1).squeeze(axis); }

Tensor Tensor::unsqueeze(int axis) const {
  const int d = axis < 0 ? axis + rank() + 1 : axis;
  if (d < 0 || d > rank())
    throw std::invalid_argument("axis " + std::to_string(axis) + " cannot be inserted into shape " + shape_.str());
  Tensor t = *this;
  t.shape_ = t.strides_ = {};
  for (int i = 0; i <= rank(); ++i) {
    t.shape_.push_back(i == d ? 1 : shape_[i < d ? i : i - 1]);
    t.strides_.push_back(i == d ? 1 : strides_[i < d ? i : i - 1]);
  }
  return t;
}

Tensor Tensor::squeeze(int axis) const {
  const int d = axis_index(axis);
  if (shape_[d] != 1)
    throw std::invalid_argument("axis " + std::to_string(d) + " of shape " + shape_.str() + " is not of size 1");
  Tensor t = *this;
  t.shape_ = t.strides_ = {};
  for (int i = 0; i < rank(); ++i) {
    if (i == d) continue;
    t.shape_.push_back(shape_[i]);
    t.strides_.push_back(strides_[i]);
  }
  return t;
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (!is_contiguous()) throw std::invalid_argument("only a contiguous tensor can be reshaped");
  if (shape.numel() != numel_) throw std::invalid_argument("shape " + shape_.str() + " cannot become " + shape.str());
  Tensor t = *this;
  t.shape_ = shape;
  t.strides_ = contiguous_strides(shape);
  return t;
}

bool Tensor::overlaps(const Tensor& o) const noexcept {
  if (numel_ == 0 || o.numel_ == 0) return false;
  const auto extent = [](const Tensor& t) {
    const std::byte* low = t.raw();
    const std::byte* high = low + size_of(t.dtype_);
    for (int d = 0; d < t.rank(); ++d) {
      const std::int64_t reach = (t.shape_[d] - 1) * t.strides_[d] * static_cast<std::int64_t>(size_of(t.dtype_));
      (reach < 0 ? low : high) += reach;
    }
    return std::pair(low, high);
  };
  const auto [a, b] = extent(*this);
  const auto [c, d] = extent(o);
  return std::less<>{}(a, d) && std::less<>{}(c, b);
}

}  // namespace headrace
