// A fixed array that begins on a cache line and fills its last one, so that no neighbour on the heap shares a line.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "headrace/lockfree/cache_line.hpp"

namespace headrace::detail {

/// `count` default-constructed T. Throws std::bad_array_new_length where the bytes do not fit std::size_t, before any
/// memory is asked for; std::bad_alloc where there is none.
template <class T>
class AlignedArray {
  static_assert(std::is_nothrow_default_constructible_v<T> && std::is_nothrow_destructible_v<T>);

 public:
  explicit AlignedArray(std::size_t count) : data_(allocate(count)), count_(count) {
    std::uninitialized_default_construct_n(data_, count_);
  }
  ~AlignedArray() {
    std::destroy_n(data_, count_);
    ::operator delete (data_, std::align_val_t{alignment});
  }
  AlignedArray(const AlignedArray&) = delete;
  AlignedArray& operator=(const AlignedArray&) = delete;

  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  static constexpr std::size_t alignment = std::max(cache_line, alignof(T));

  static T* allocate(std::size_t count) {
    constexpr std::size_t most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - alignment;
    if (count > most / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = (count * sizeof(T) + alignment - 1) / alignment * alignment;
    return static_cast<T*>(::operator new (bytes, std::align_val_t{alignment}));
  }

  T* const data_;
  const std::size_t count_;
};

}  // namespace headrace::detail
