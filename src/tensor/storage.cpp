#include <sys/mman.h>

#include <headrace/tensor/storage.hpp>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

namespace headrace {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t alignment_for(std::size_t bytes) noexcept { return bytes >= huge_page ? huge_page : alignment; }

void release_heap(detail::StorageBlock* block) noexcept {
  ::operator delete(block->data, std::align_val_t(alignment_for(block->bytes)));
  delete block;
}

struct WrappedBlock : detail::StorageBlock {
  std::function<void()> on_release;
};

void release_wrapped(detail::StorageBlock* block) noexcept {
  auto* wrapped = static_cast<WrappedBlock*>(block);
  if (wrapped->on_release) wrapped->on_release();
  delete wrapped;
}

}  // namespace

Storage Storage::allocate(std::size_t bytes) {
  auto block = std::make_unique<detail::StorageBlock>();
  const std::size_t align = alignment_for(bytes);
  block->data = static_cast<std::byte*>(::operator new(bytes == 0 ? 1 : bytes, std::align_val_t(align)));
  block->bytes = bytes;
  block->release = &release_heap;
  // Advice only: where huge pages are switched off the call fails and ordinary pages serve.
  if (bytes >= huge_page) (void)::madvise(block->data, bytes, MADV_HUGEPAGE);
  return adopt(*block.release());
}

Storage Storage::wrap(void* data, std::size_t bytes, bool read_only, std::function<void()> release) {
  if (!data && bytes > 0)
    throw std::invalid_argument("a storage of " + std::to_string(bytes) + " bytes at a null address");
  auto block = std::make_unique<WrappedBlock>();
  block->data = static_cast<std::byte*>(data);
  block->bytes = bytes;
  block->read_only = read_only;
  block->release = &release_wrapped;
  block->on_release = std::move(release);
  return adopt(*block.release());
}

}  // namespace headrace
