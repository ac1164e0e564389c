// PlanBox: one op's plan of any type, held in place when it is small (no allocation), on the heap otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace headrace {

class PlanBox {
 public:
  static constexpr std::size_t inline_bytes = 256;

  PlanBox() noexcept = default;
  PlanBox(const PlanBox& o) : actions_(o.actions_) {
    if (actions_) actions_->copy(o, *this);
  }
  PlanBox& operator=(const PlanBox& o) {
    if (this == &o) return *this;
    clear();
    if (o.actions_) {
      o.actions_->copy(o, *this);
      actions_ = o.actions_;
    }
    return *this;
  }
  ~PlanBox() { clear(); }

  bool empty() const noexcept { return actions_ == nullptr; }
  const std::type_info& type() const noexcept { return actions_ ? *actions_->type : typeid(void); }

  template <class P>
  void emplace(P&& plan) {
    using T = std::remove_cvref_t<P>;
    clear();
    if constexpr (fits<T>)
      ::new (static_cast<void*>(buffer_.data())) T(std::forward<P>(plan));
    else
      heap_ = new T(std::forward<P>(plan));
    actions_ = &actions_for<T>;
  }

  // Throws std::logic_error when the box holds another type.
  template <class T>
  const T& get() const {
    if (!actions_ || *actions_->type != typeid(T)) throw std::logic_error("a plan of another op was given to this op");
    return *static_cast<const T*>(address<T>());
  }

  void clear() noexcept {
    if (actions_) actions_->destroy(*this);
    actions_ = nullptr;
  }

 private:
  struct Actions {
    const std::type_info* type;
    void (*copy)(const PlanBox& from, PlanBox& to);
    void (*destroy)(PlanBox& box) noexcept;
  };
  template <class T>
  static constexpr bool fits = sizeof(T) <= inline_bytes && alignof(T) <= alignof(std::max_align_t);
  template <class T>
  const void* address() const noexcept {
    return fits<T> ? static_cast<const void*>(buffer_.data()) : heap_;
  }
  template <class T>
  static void copy_plan(const PlanBox& from, PlanBox& to) {
    const T& plan = *static_cast<const T*>(from.address<T>());
    if constexpr (fits<T>)
      ::new (static_cast<void*>(to.buffer_.data())) T(plan);
    else
      to.heap_ = new T(plan);
  }
  template <class T>
  static void destroy_plan(PlanBox& box) noexcept {
    if constexpr (fits<T>)
      std::launder(reinterpret_cast<T*>(box.buffer_.data()))->~T();
    else
      delete static_cast<T*>(box.heap_);
  }
  template <class T>
  static constexpr Actions actions_for{&typeid(T), &copy_plan<T>, &destroy_plan<T>};

  alignas(std::max_align_t) std::array<std::byte, inline_bytes> buffer_;
  void* heap_ = nullptr;
  const Actions* actions_ = nullptr;
};

}  // namespace headrace
