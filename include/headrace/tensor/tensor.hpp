// An n-dimensional array: element type, up to six sizes, strides (in elements, negative ones too), shared storage.
//
// Copying a Tensor copies a handle. Crop (narrow), flip, permute and select are views: they share storage and cost
// nothing. Writing goes through mutable_data(): when the storage is shared or read-only, the view's own extent (never
// the whole storage) is first copied to fresh memory, so that nobody else sees the write.
//
// When not to use it: as a numeric library. There is just enough arithmetic for augmentations.
//
// Layout: channel first, C order when contiguous (the last axis has stride 1).
// Errors: std::invalid_argument (wrong rank, axis, type), std::out_of_range (a view outside the tensor),
// std::length_error (a size that does not fit memory), std::bad_alloc. Thread-safety: as a value. Two threads may read,
// view and copy handles of one storage at once; a write needs one owner.
#pragma once

#include <concepts>
#include <cstdint>
#include <headrace/tensor/dtype.hpp>
#include <headrace/tensor/shape.hpp>
#include <headrace/tensor/storage.hpp>
#include <initializer_list>
#include <span>
#include <utility>

namespace headrace {

class Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor&) noexcept = default;
  Tensor& operator=(const Tensor&) noexcept = default;
  // What was moved from is an undefined tensor again.
  Tensor(Tensor&& o) noexcept { *this = std::move(o); }
  Tensor& operator=(Tensor&& o) noexcept;
  ~Tensor() = default;

  // Contiguous memory, contents undefined / zero.
  static Tensor empty(DType dtype, const Shape& shape);
  static Tensor zeros(DType dtype, const Shape& shape);
  // A copy of the values, in C order. values.size() must be the number of elements.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape) {
    return from_raw(values.data(), values.size(), dtype_of<T>, shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from_raw(values.begin(), values.size(), dtype_of<T>, shape);
  }
  // A view of existing storage; offset and strides in elements. Every element must lie inside the storage, aligned for
  // its type (std::invalid_argument otherwise). A stride of 0 repeats one element along its axis: for reading only.
  Tensor(Storage storage, DType dtype, const Shape& shape, const Shape& strides, std::int64_t offset = 0);
  // The same, contiguous from the storage's start, or from an offset (a template, so that {2} is strides and not an
  // offset).
  Tensor(Storage storage, DType dtype, const Shape& shape);
  template <std::integral Offset>
  Tensor(Storage storage, DType dtype, const Shape& shape, Offset offset)
      : Tensor(std::move(storage), dtype, shape, contiguous_strides(shape), static_cast<std::int64_t>(offset)) {}

  bool defined() const noexcept { return static_cast<bool>(storage_); }
  DType dtype() const noexcept { return dtype_; }
  int rank() const noexcept { return shape_.rank(); }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size(int axis) const;
  const Shape& strides() const noexcept { return strides_; }
  std::int64_t numel() const noexcept { return numel_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(numel_) * size_of(dtype_); }
  bool is_contiguous() const noexcept;
  const Storage& storage() const noexcept { return storage_; }

  // The first element, for reading. Throws std::invalid_argument if T is not the element type.
  template <class T>
  const T* data() const {
    check_dtype(dtype_of<T>);
    return reinterpret_cast<const T*>(raw());
  }
  const std::byte* raw() const noexcept { return storage_.data() + offset_bytes_; }

  // The first element, for writing: copies the view first unless writable(). A copy has fresh, contiguous strides.
  template <class T>
  T* mutable_data() {
    check_dtype(dtype_of<T>);
    return reinterpret_cast<T*>(mutable_raw());
  }
  std::byte* mutable_raw();
  // True if mutable_data() would write in place: this handle is the storage's only one, the storage is not read-only,
  // and no element is repeated by a stride of 0.
  bool writable() const noexcept { return storage_.unique() && !storage_.read_only() && !repeats(); }

  // One element, read and converted to T.
  template <class T = double>
  T at(std::initializer_list<std::int64_t> index) const;
  // The value of a tensor with one element.
  template <class T = double>
  T item() const;

  // Views. Negative axes count from the end.
  Tensor narrow(int axis, std::int64_t start, std::int64_t length) const;
  // A box over the last `start.size()` axes.
  Tensor crop(std::span<const std::int64_t> start, std::span<const std::int64_t> size) const;
  Tensor flip(std::span<const int> axes) const;
  Tensor flip(std::initializer_list<int> axes) const { return flip(std::span(axes.begin(), axes.size())); }
  Tensor permute(std::span<const int> order) const;
  Tensor permute(std::initializer_list<int> order) const { return permute(std::span(order.begin(), order.size())); }
  Tensor select(int axis, std::int64_t index) const;
  Tensor unsqueeze(int axis) const;
  Tensor squeeze(int axis) const;
  // Contiguous tensors only.
  Tensor reshape(const Shape& shape) const;

  // Copies.
  Tensor contiguous() const;  // itself when it already is
  Tensor clone() const;       // always fresh, contiguous
  Tensor to(
      DType dtype) const;  // floats to integers: truncated toward zero, clamped to the type's range, NaN becomes 0
  // Writes src's elements, converted as to() does, into this view, which must have src's shape. Writes in place,
  // whoever else holds the storage: for destinations that the caller owns. std::invalid_argument if the two overlap, or
  // if this view is read-only or repeats elements.
  void copy_from(const Tensor& src);

  // In-place arithmetic through copy-on-write; returns *this. f32 computes in f32, the others in double: integers are
  // rounded toward zero and clamped, and 64-bit ones beyond 2^53 lose low bits. f16 and bf16: std::invalid_argument.
  Tensor& add_(double value);
  Tensor& mul_(double value);
  Tensor& fill_(double value);

  // Same type, shape and bytes (so NaN equals the same NaN).
  bool equal(const Tensor& o) const;
  // True if some byte may belong to both.
  bool overlaps(const Tensor& o) const noexcept;

 private:
  bool repeats() const noexcept {
    for (int d = 0; d < rank(); ++d)
      if (strides_[d] == 0 && shape_[d] > 1) return true;
    return false;
  }
  void narrow_in_place(int axis, std::int64_t start, std::int64_t length);
  static Shape contiguous_strides(const Shape& shape);
  static Tensor from_raw(const void* values, std::size_t count, DType dtype, const Shape& shape);
  void check_dtype(DType asked) const;
  int axis_index(int axis) const;

  Storage storage_;
  std::int64_t offset_bytes_ = 0;
  std::int64_t numel_ = 0;
  Shape shape_;
  Shape strides_;
  DType dtype_ = DType::f32;
};

}  // namespace headrace
