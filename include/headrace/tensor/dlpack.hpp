// Tensors to and from other libraries without a copy, by DLPack.
//
//   at::Tensor t = at::fromDLPack(headrace::to_dlpack_unversioned(batch["image"]).release());
//
// When not to use it: for memory that is not the CPU's. Device memory is refused.
//
// Out: what leaves holds a handle of the storage, so it outlives the tensor, the batch and the loader, and our own
// writes through another handle go to a copy. A consumer that writes in place is seen by every handle of that storage
// (for a batch that is the trainer's own business; `.copy = true` avoids it). Read-only tensors, cached ones above all,
// leave under the versioned read-only flag; the unversioned structure knows no such flag, and they leave as a copy.
//
// In: the tensor keeps the producer's memory until its last handle goes, on whatever thread that is; the deleter is
// called there, once. The producer may still hold the memory, so by copy-on-write a first write goes to a copy, unless
// the producer says that it made a copy for us (flag_copied) or `.write_through` asks for writes in place.
//
// Thread-safety: functions of their arguments. Errors: std::invalid_argument naming what was found and what is taken;
// std::length_error for absurd sizes; std::bad_alloc.
#pragma once

#include <headrace/tensor/dlpack_abi.hpp>
#include <headrace/tensor/tensor.hpp>
#include <memory>

namespace headrace {

struct ToDLPackOptions {
  // false, for a consumer that takes no negative strides (PyTorch): such a view leaves as a contiguous copy.
  bool negative_strides = true;
  // false, for a consumer without u16, u32, u64 (PyTorch before 2.3): they leave as i32, i64, i64 copies, clamped.
  bool wide_unsigned = true;
  // true: always a contiguous copy, which the consumer alone owns.
  bool copy = false;
};

struct FromDLPackOptions {
  // true: writes go to the producer's memory. Refused for a tensor under the read-only flag.
  bool write_through = false;
};

namespace detail {
struct DLPackDelete {
  void operator()(DLManagedTensor* tensor) const noexcept;
  void operator()(DLManagedTensorVersioned* tensor) const noexcept;
};
}  // namespace detail

// What is on its way to a consumer: release() hands it over, and from then on the consumer calls its deleter. One that
// is never handed over is deleted here. dlpack::ManagedTensor and dlpack::ManagedTensorVersioned describe what it
// points to.
using DLPackPtr = std::unique_ptr<DLManagedTensor, detail::DLPackDelete>;
using DLPackVersionedPtr = std::unique_ptr<DLManagedTensorVersioned, detail::DLPackDelete>;

// `data` is the address of the first element and byte_offset 0 (many consumers ignore the offset), aligned as the
// element type asks, not to 256 bytes; null for a tensor of zero elements. Strides are always given.
[[nodiscard]] DLPackVersionedPtr to_dlpack(const Tensor& tensor, const ToDLPackOptions& options = {});
[[nodiscard]] DLPackPtr to_dlpack_unversioned(const Tensor& tensor, const ToDLPackOptions& options = {});

// Takes ownership, also when it throws: the deleter (which may be null) is called in every case. Takes CPU memory, up
// to six axes, one lane, int and uint of 8 to 64 bits, float of 16 to 64, bfloat of 16, and bool of 8 bits, which
// becomes u8. Elements must be aligned for their type. The unversioned structure cannot say that it is read-only: with
// `.write_through` the caller vouches for it.
Tensor from_dlpack(DLManagedTensorVersioned* tensor, const FromDLPackOptions& options = {});
Tensor from_dlpack(DLManagedTensor* tensor, const FromDLPackOptions& options = {});

}  // namespace headrace
