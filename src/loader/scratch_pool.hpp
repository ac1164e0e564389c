// Pooled memory for what ops compute on the way: equal slabs, handed out as reference-counted storage that returns to
// the pool by itself. A request that is larger than a slab, or finds the pool empty, is served from the heap and
// counted. A pool of no slabs has no memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <headrace/lockfree/slab_pool.hpp>
#include <headrace/tensor/tensor.hpp>
#include <memory>
#include <optional>

namespace headrace::detail {

class ScratchPool {
 public:
  ScratchPool(std::size_t slab_bytes, std::uint32_t slabs);
  // What a pool of that many slabs takes. Throws std::length_error where that does not fit the address space.
  static std::size_t bytes_for(std::size_t slab_bytes, std::uint32_t slabs);

  // Contents undefined (or filled with a pattern, when verify asks for it). Progress: lock-free, unless the heap is
  // needed.
  static Tensor make(const std::shared_ptr<ScratchPool>& pool, DType dtype, const Shape& shape);

  // Fill whatever is handed out with this byte from now on: an op that reads before it writes shows.
  void poison(int byte) noexcept {
    poison_.store(byte, std::memory_order_relaxed);
  }  // relaxed: set before the run starts
  std::uint64_t heap_requests() const noexcept {
    return heap_requests_.load(std::memory_order_relaxed);
  }  // relaxed: a statistic

 private:
  struct Slab {
    StorageBlock block;
    std::shared_ptr<ScratchPool> pool;  // set while handed out: the memory outlives a loader that went first
  };
  static void release(StorageBlock* block) noexcept;

  std::size_t slab_bytes_;
  Storage memory_;
  std::optional<SlabPool<>> free_;
  std::unique_ptr<Slab[]> slabs_;
  std::atomic<int> poison_{-1};
  std::atomic<std::uint64_t> heap_requests_{0};
};

}  // namespace headrace::detail
