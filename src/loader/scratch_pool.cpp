#include "scratch_pool.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace headrace::detail {
namespace {
constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
}  // namespace

std::size_t ScratchPool::bytes_for(std::size_t slab_bytes, std::uint32_t slabs) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(round_up(slab_bytes), std::size_t{slabs}, &bytes))
    throw std::length_error(std::to_string(slabs) + " intermediate tensors of " + std::to_string(slab_bytes) +
                            " bytes do not fit the address space");
  return bytes;
}

ScratchPool::ScratchPool(std::size_t slab_bytes, std::uint32_t slabs) : slab_bytes_(round_up(slab_bytes)) {
  if (slabs == 0) return;
  memory_ = Storage::allocate(bytes_for(slab_bytes, slabs));
  free_.emplace(slabs);
  slabs_ = std::make_unique<Slab[]>(slabs);
  std::memset(memory_.data(), 0, memory_.bytes());  // touched now, not in the middle of an epoch
  for (std::uint32_t i = 0; i < slabs; ++i) {
    slabs_[i].block.data = memory_.data() + i * slab_bytes_;
    slabs_[i].block.bytes = slab_bytes_;
    slabs_[i].block.release = &ScratchPool::release;
    slabs_[i].block.owner = &slabs_[i];
  }
}

Tensor ScratchPool::make(const std::shared_ptr<ScratchPool>& pool, DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  Storage storage;
  if (pool->free_ && bytes <= pool->slab_bytes_) {
    if (const auto slab = pool->free_->acquire()) {
      pool->slabs_[*slab].pool = pool;
      storage = Storage::adopt(pool->slabs_[*slab].block);
    }
  }
  if (!storage) {
    pool->heap_requests_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
    storage = Storage::allocate(bytes);
  }
  // relaxed: set before the run starts
  if (const int byte = pool->poison_.load(std::memory_order_relaxed); byte >= 0)
    std::memset(storage.data(), byte, bytes);
  return Tensor(std::move(storage), dtype, shape);
}

void ScratchPool::release(StorageBlock* block) noexcept {
  auto* slab = static_cast<Slab*>(block->owner);
  const std::shared_ptr<ScratchPool> pool = std::move(slab->pool);
  pool->free_->release(static_cast<std::uint32_t>(slab - pool->slabs_.get()));
}

}  // namespace headrace::detail
