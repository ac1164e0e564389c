// Reference-counted memory behind a Tensor.
//
// A Storage is a handle; copying one adds a reference. Where the memory came from (heap, a pool, a mapped file, a batch
// slot) is the block's business: the last handle to go calls the block's release function, on whatever thread it is.
//
// Invariants
//   I1  data() is aligned to 64 bytes for memory allocated here.
//   I2  unique() answers true only while no other handle exists, and then everything other handles wrote is visible.
//   I3  the bytes of a read-only storage are never written through a Tensor: writing makes a copy first, or is refused.
//
// Thread-safety: handles are values; one handle must not be assigned and read at the same time. The count is atomic.
// Progress: copying, dropping and unique() are wait-free; what a release function does is the block's own promise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace headrace {

namespace detail {

// One block of memory and its count. A pool embeds blocks in its own records and gives them a release function.
struct StorageBlock {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::atomic<std::uint32_t> count{0};
  std::atomic<bool> read_only{false};
  void (*release)(StorageBlock*) noexcept = nullptr;  // called once, when the count falls to 0
  void* owner = nullptr;                              // for the release function's use
};

}  // namespace detail

class Storage {
 public:
  Storage() noexcept = default;

  // Fresh memory, contents undefined, 64-byte aligned, advised for huge pages from 2 MiB on. Throws std::bad_alloc.
  static Storage allocate(std::size_t bytes);

  // Memory owned by someone else; `release` is called once when the last handle goes, on that handle's thread, and must
  // not throw. If wrap() itself throws (std::bad_alloc; std::invalid_argument for bytes at a null address), it is not
  // called.
  static Storage wrap(void* data, std::size_t bytes, bool read_only, std::function<void()> release);

  // Adds a reference to a block that a pool owns.
  static Storage adopt(detail::StorageBlock& block) noexcept {
    // relaxed: a new reference is made from an existing one (or by the pool that owns the block); nothing is published
    // here
    block.count.fetch_add(1, std::memory_order_relaxed);
    return Storage(&block);
  }

  Storage(const Storage& o) noexcept : block_(o.block_) {
    // relaxed: as in adopt()
    if (block_) block_->count.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  Storage& operator=(Storage o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~Storage() { reset(); }

  void reset() noexcept {
    detail::StorageBlock* block = std::exchange(block_, nullptr);
    // (S1) acq_rel: our writes are visible to whoever frees or sees itself unique (S2), and theirs to us if we free
    if (block && block->count.fetch_sub(1, std::memory_order_acq_rel) == 1) block->release(block);
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  std::byte* data() const noexcept { return block_ ? block_->data : nullptr; }
  std::size_t bytes() const noexcept { return block_ ? block_->bytes : 0; }
  // relaxed: the flag orders nothing; who made the storage read-only hands it over by other means (set_read_only)
  bool read_only() const noexcept { return block_ && block_->read_only.load(std::memory_order_relaxed); }

  // (S2) acquire: pairs with (S1): what a dropped handle wrote or read is finished before the sole owner writes
  bool unique() const noexcept { return block_ && block_->count.load(std::memory_order_acquire) == 1; }

  // From now on writing through any handle makes a copy. To be called before the storage is shared with other threads:
  // a thread that is just writing finishes its write.
  void set_read_only() noexcept {
    // relaxed: pairs with read_only(); atomic so that two caches may freeze the same shared tensor at once
    if (block_) block_->read_only.store(true, std::memory_order_relaxed);
  }

  bool same_block(const Storage& o) const noexcept { return block_ == o.block_; }
  const detail::StorageBlock* block() const noexcept { return block_; }

 private:
  explicit Storage(detail::StorageBlock* block) noexcept : block_(block) {}
  detail::StorageBlock* block_ = nullptr;
};

}  // namespace headrace
