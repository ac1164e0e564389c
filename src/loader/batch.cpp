#include <algorithm>
#include <cstring>
#include <headrace/loader/batch.hpp>
#include <stdexcept>
#include <utility>

#include "batch_slot.hpp"

namespace headrace {
namespace detail {

namespace {

// The pieces of one sample's slab memory after the slot has gone, for handles that an op kept.
struct Orphans {
  Storage slab;
  std::unique_ptr<StorageBlock[]> blocks;
  std::atomic<std::size_t> left;

  static void release(StorageBlock* block) noexcept {
    auto* orphans = static_cast<Orphans*>(block->owner);
    // acq_rel, with itself: whoever frees has seen the others finish
    if (orphans->left.fetch_sub(1, std::memory_order_acq_rel) == 1) delete orphans;
  }
};

// Hands pieces that somebody holds over to whoever holds them.
void let_go(std::unique_ptr<StorageBlock[]> blocks, std::size_t pieces, const Storage& slab) {
  auto* const orphans = new Orphans{slab, std::move(blocks), pieces};
  StorageBlock* const first = orphans->blocks.get();
  for (std::size_t f = 0; f < pieces; ++f) {
    // A reference of our own, so that nobody calls release before it is the new one; dropping it may call it at once.
    const Storage own = Storage::adopt(first[f]);
    first[f].read_only = true;  // the memory may become another step's: who writes gets a copy
    first[f].owner = orphans;
    first[f].release = &Orphans::release;
  }
}

}  // namespace

BatchSlot::~BatchSlot() {
  if (!slab) return;
  const std::size_t pieces = layout->places.size();
  for (std::size_t s = 0; s < patches; ++s) {
    std::unique_ptr<StorageBlock[]>& blocks = patch_table[s].blocks;
    // acquire, from the handle's drop: it is over
    if (std::any_of(blocks.get(), blocks.get() + pieces,
                    [](const StorageBlock& b) { return b.count.load(std::memory_order_acquire) != 0; }))
      let_go(std::move(blocks), pieces, slab);
  }
}

void BatchSlot::renew_pieces(std::size_t sample) {
  std::unique_ptr<StorageBlock[]> fresh = make_pieces(sample);
  let_go(std::exchange(patch_table[sample].blocks, std::move(fresh)), layout->places.size(), slab);
}

std::unique_ptr<StorageBlock[]> BatchSlot::make_pieces(std::size_t sample) const {
  const std::vector<SlotLayout::Place>& places = layout->places;
  auto blocks = std::make_unique<StorageBlock[]>(places.size());
  for (std::size_t f = 0; f < places.size(); ++f) {
    blocks[f].data = slab.data() + places[f].offset + sample * places[f].bytes;
    blocks[f].bytes = places[f].bytes;
    blocks[f].release = [](StorageBlock*) noexcept {};  // the piece belongs to the slot
  }
  return blocks;
}

void BatchSlot::drop_samples() noexcept {
  for (std::size_t i = 0; i < samples(); ++i) patch_table[i].sample.clear();
}

const ItemFailure* BatchSlot::first_failure() const noexcept {
  for (std::uint32_t i = 0; i < items; ++i) {
    if (item_table[i].failed) return &item_table[i].failure;
    for (std::uint32_t k = 0; k < parts; ++k)
      if (const SlotPatch& patch = patch_table[std::size_t{i} * parts + k]; patch.failed) return &patch.failure;
  }
  return nullptr;
}

void prepare_slot(BatchSlot& slot, std::shared_ptr<const SlotLayout> layout, std::uint32_t batch_size,
                  std::uint32_t parts, std::size_t ops_with_plans) {
  slot.parts = parts;
  slot.layout = std::move(layout);
  const SlotLayout& l = *slot.layout;
  slot.item_table = std::make_unique<SlotItem[]>(batch_size);
  const std::size_t samples = std::size_t{batch_size} * parts;
  slot.patch_table = std::make_unique<SlotPatch[]>(samples);
  slot.patches = samples;
  if (l.collated && !l.places.empty()) {
    slot.slab = Storage::allocate(std::max<std::size_t>(l.bytes, 64));
    std::memset(slot.slab.data(), 0, slot.slab.bytes());  // every page is touched now, none in the middle of an epoch
  }
  for (std::size_t s = 0; s < samples; ++s) {
    SlotPatch& patch = slot.patch_table[s];
    patch.plans.resize(ops_with_plans);
    if (slot.slab) patch.blocks = slot.make_pieces(s);
  }
  slot.lease.data = slot.slab.data();
  slot.lease.bytes = slot.slab.bytes();
  slot.lease.owner = &slot;
  slot.lease.release = [](StorageBlock* block) noexcept { static_cast<BatchSlot*>(block->owner)->give_back(); };
}

}  // namespace detail

namespace {

[[noreturn]] void throw_empty() { throw std::logic_error("an empty Batch was used"); }

}  // namespace

std::uint64_t Batch::epoch() const noexcept { return slot_ ? slot_->epoch : 0; }
std::uint64_t Batch::step() const noexcept { return slot_ ? slot_->step : 0; }
std::size_t Batch::size() const noexcept { return slot_ ? slot_->samples() : 0; }
std::size_t Batch::items() const noexcept { return slot_ ? slot_->items : 0; }
bool Batch::collated() const noexcept { return slot_ && slot_->layout->collated; }

Tensor Batch::operator[](std::string_view field) const {
  if (!slot_) throw_empty();
  const detail::SlotLayout& layout = *slot_->layout;
  const FieldSpec& spec = layout.spec.at(field);
  const auto samples = static_cast<std::int64_t>(size());
  if (spec.kind == FieldKind::real || spec.kind == FieldKind::integer) {
    Tensor values = Tensor::empty(spec.kind == FieldKind::real ? DType::f64 : DType::i64, {samples});
    for (std::size_t i = 0; i < size(); ++i) {
      const Sample& s = slot_->patch_table[i].sample;
      if (spec.kind == FieldKind::real)
        values.mutable_data<double>()[i] = s.real(field);
      else
        values.mutable_data<std::int64_t>()[i] = s.integer(field);
    }
    return values;
  }
  if (spec.kind != FieldKind::tensor)
    throw std::invalid_argument("field '" + std::string(field) + "' holds text: take it with texts()");
  if (!layout.collated) {
    if (size() == 1) return slot_->patch_table[0].sample.get(field).unsqueeze(0);
    throw std::invalid_argument("field '" + std::string(field) + "' has no common shape in this batch of " +
                                std::to_string(size()) + " samples (" + spec.str() +
                                "): take it sample by sample, or crop to a fixed size");
  }
  const detail::SlotLayout::Place& place = layout.places[layout.find(field)];
  Shape shape{samples};
  for (std::int64_t n : place.spec.shape) shape.push_back(n);
  return Tensor(lease_, spec.dtype, shape, static_cast<std::int64_t>(place.offset / size_of(spec.dtype)));
}

std::vector<std::string> Batch::texts(std::string_view field) const {
  if (!slot_) throw_empty();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < size(); ++i) texts.push_back(slot_->patch_table[i].sample.text(field));
  return texts;
}

Sample Batch::sample(std::size_t i) const {
  if (i >= size()) throw std::out_of_range("sample " + std::to_string(i) + " of a batch of " + std::to_string(size()));
  Sample sample = slot_->patch_table[i].sample;
  const detail::SlotLayout& layout = *slot_->layout;
  if (layout.collated)
    for (const detail::SlotLayout::Place& p : layout.places)
      sample.set(p.spec.name, Tensor(lease_, p.spec.dtype, p.spec.shape,
                                     static_cast<std::int64_t>((p.offset + i * p.bytes) / size_of(p.spec.dtype))));
  return sample;
}

const Origin& Batch::origin(std::size_t i) const {
  if (i >= size()) throw std::out_of_range("sample " + std::to_string(i) + " of a batch of " + std::to_string(size()));
  return slot_->patch_table[i].sample.origin();
}

const PlanBox& Batch::plan(std::size_t i, std::size_t op) const {
  if (i >= size()) throw std::out_of_range("sample " + std::to_string(i) + " of a batch of " + std::to_string(size()));
  const std::vector<PlanBox>& plans = slot_->patch_table[i].plans;
  if (plans.empty()) throw std::logic_error("plans are not kept: set LoaderOptions::keep_plans");
  return plans.at(op);
}

}  // namespace headrace
