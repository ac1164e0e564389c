#include "loader_job.hpp"

#include "loader_slot.hpp"

#include <headrace/io/error.hpp>
#include <headrace/loader/batch.hpp>

#include <algorithm>
#include <stdexcept>

namespace headrace::detail {
namespace {

std::uint64_t count_steps(std::uint64_t items, std::uint32_t batch, bool drop_last) {
  return items / batch + (!drop_last && items % batch != 0 ? 1 : 0);
}

class KeepPlans final : public PipelineObserver {
 public:
  explicit KeepPlans(std::vector<PlanBox>& plans) : plans_(plans) {}
  void before(std::size_t op, const Sample&, const PlanBox& plan) override { plans_[op] = plan; }
  void after(std::size_t, const Sample&, const PlanBox&) override {}

 private:
  std::vector<PlanBox>& plans_;
};

}  // namespace

// Sends each op's output to the slab where no later op replaces or re-views the field, to scratch memory otherwise, and
// in the end copies what is not in the slab yet.
class LoaderJob::Place final : public OutputPlace {
 public:
  Place(LoaderJob& job, BatchSlot& slot, std::size_t sample) : job_(job), slot_(slot), patch_(slot.patch_table[sample]) {}

  void before_op(std::size_t op) override { op_ = op; }

  Tensor output(std::string_view field, DType dtype, const Shape& shape) override {
    const SlotLayout& layout = *slot_.layout;
    if (!layout.collated) return counted_scratch(dtype, shape, false);
    const std::size_t f = layout.find(field);
    if (f == layout.places.size() || op_ < layout.places[f].first_op) return counted_scratch(dtype, shape, true);
    const SlotLayout::Place& place = layout.places[f];
    // relaxed: the piece is this thread's alone while the part runs; a count left by a handle that an op kept is a fault
    // that finish() reports
    const bool taken = patch_.blocks[f].count.load(std::memory_order_relaxed) != 0;
    if (taken || place.spec.dtype != dtype || !(place.spec.shape == shape)) return counted_scratch(dtype, shape, true);
    slot_bytes_ += place.bytes;
    return Tensor(Storage::adopt(patch_.blocks[f]), dtype, shape);
  }

  Tensor scratch(DType dtype, const Shape& shape) override { return counted_scratch(dtype, shape, true); }

  // Everything is brought into the slab; throws std::invalid_argument where the sample is not what was inferred.
  void finish(Sample& sample) {
    const SlotLayout& layout = *slot_.layout;
    for (const Field& f : sample.fields())
      if (!layout.spec.find(f.name) && !std::holds_alternative<std::shared_ptr<const VoxelSet>>(f.value))
        throw std::invalid_argument("field '" + f.name.str() + "' is not in the pipeline's specification (" + layout.spec.str() +
                                    "): give the op that makes it an infer()");
    for (const FieldSpec& spec : layout.spec.fields) {
      const Field& field = sample.field(spec.name);
      if (spec.kind != FieldKind::tensor) continue;
      const Tensor& t = field.tensor();
      if (!matches(t, spec))
        throw std::invalid_argument("field '" + spec.name + "' is " + std::string(name_of(t.dtype())) + " " + t.shape().str() +
                                    ", but its place in the batch is " + spec.str());
    }
    if (!layout.collated) {
      for (const SlotLayout::Place& p : layout.places) {
        const Tensor& t = sample.get(p.spec.name);
        slot_bytes_ += t.is_contiguous() ? 0 : t.bytes();
        sample.set(p.spec.name, t.contiguous());
      }
    } else {
      for (std::size_t f = 0; f < layout.places.size(); ++f) put(sample, f);
    }
    job_.counters_.slot_bytes.fetch_add(slot_bytes_, std::memory_order_relaxed);        // relaxed: statistics
    job_.counters_.scratch_bytes.fetch_add(scratch_bytes_, std::memory_order_relaxed);  // relaxed: statistics
    job_.counters_.patches.fetch_add(1, std::memory_order_relaxed);                     // relaxed: statistics
  }

 private:
  static bool matches(const Tensor& t, const FieldSpec& spec) {
    if (!t.defined() || t.dtype() != spec.dtype || t.rank() != spec.shape.rank()) return false;
    for (int d = 0; d < t.rank(); ++d)
      if (spec.shape[d] != unknown && spec.shape[d] != t.shape()[d]) return false;
    return true;
  }

  Tensor counted_scratch(DType dtype, const Shape& shape, bool pooled) {
    Tensor t = pooled ? ScratchPool::make(job_.scratch_, dtype, shape) : Tensor::empty(dtype, shape);
    (pooled ? scratch_bytes_ : slot_bytes_) += t.bytes();
    return t;
  }

  void put(Sample& sample, std::size_t f) {
    const SlotLayout::Place& place = slot_.layout->places[f];
    StorageBlock& block = patch_.blocks[f];
    {
      const Tensor& t = sample.get(place.spec.name);
      const bool there = t.storage().block() == &block && t.is_contiguous() && t.raw() == block.data;
      if (!there) {
        // Written through the slab's own handle: the piece may be where the source lies (an op flipped it in place).
        Tensor to(slot_.slab, place.spec.dtype, place.spec.shape,
                  static_cast<std::int64_t>(static_cast<std::size_t>(block.data - slot_.slab.data()) / size_of(place.spec.dtype)));
        if (to.overlaps(t)) {
          Tensor aside = counted_scratch(t.dtype(), t.shape(), true);
          aside.copy_from(t);
          to.copy_from(aside);
        } else {
          to.copy_from(t);
        }
        slot_bytes_ += place.bytes;
      }
    }
    sample.set(place.spec.name, Tensor());
    // relaxed: as in output()
    if (block.count.load(std::memory_order_relaxed) != 0)
      throw std::logic_error("an op kept a tensor of field '" + place.spec.name + "' after it returned: hidden state");
  }

  LoaderJob& job_;
  BatchSlot& slot_;
  SlotPatch& patch_;
  std::size_t op_ = 0;
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t scratch_bytes_ = 0;
};

LoaderJob::LoaderJob(Dataset dataset, Pipeline pipeline, Sampler sampler, const LoaderOptions& options, std::shared_ptr<const SlotLayout> layout,
                     std::shared_ptr<ScratchPool> scratch)
    : dataset_(std::move(dataset)),
      pipeline_(std::move(pipeline)),
      sampler_(std::move(sampler)),
      seed_(options.seed),
      batch_size_(options.batch_size),
      steps_per_epoch_(count_steps(sampler_.size(), options.batch_size, options.drop_last)),
      epoch_end_(options.epochs ? std::min<std::uint64_t>(*options.epochs, std::uint64_t{max_stream_epoch} + 1) : std::uint64_t{max_stream_epoch} + 1),
      keep_plans_(options.keep_plans),
      layout_(std::move(layout)),
      scratch_(std::move(scratch)) {}

LoaderJob::Slot LoaderJob::make_slot(unsigned) {
  auto slot = std::make_unique<LoaderSlot>();
  prepare_slot(*slot, layout_, batch_size_, pipeline_.parts(), keep_plans_ ? pipeline_.size() : 0);
  return slot;
}

void LoaderJob::seek(std::uint64_t epoch, std::uint64_t step) {
  if (epoch != epoch_) order_.reset();
  epoch_ = epoch;
  step_ = step;
}

unsigned LoaderJob::bind(std::uint64_t, Slot& slot) noexcept {
  if (step_ == steps_per_epoch_) {
    ++epoch_;
    step_ = 0;
    order_.reset();
  }
  if (epoch_ >= epoch_end_ || steps_per_epoch_ == 0) return 0;
  BatchSlot& s = *slot;
  s.epoch = epoch_;
  s.step = step_;
  const std::uint64_t first = step_ * batch_size_;
  s.items = static_cast<std::uint32_t>(std::min<std::uint64_t>(batch_size_, sampler_.size() - first));
  for (std::size_t i = 0; i < s.samples(); ++i) {
    s.patch_table[i].failure.reset();
    s.patch_table[i].sample.release_values();
  }
  for (std::uint32_t i = 0; i < s.items; ++i) {
    SlotItem& item = s.item_table[i];
    item.failure.reset();
    item.sample.release_values();  // what a cancelled step may have left
    item.position = first + i;
    try {
      if (!order_) order_ = sampler_.order(static_cast<std::uint32_t>(epoch_));
      const SampledItem chosen = (*order_)(item.position);
      item.index = chosen.index;
      item.stream_item = chosen.stream_item;
    } catch (const std::exception& e) {
      item.failure = std::make_unique<ItemFailure>(ItemFailure{.epoch = epoch_, .position = item.position, .cause = std::string("sampler: ") + e.what()});
    }
  }
  ++step_;
  return s.items;
}

unsigned LoaderJob::open(std::uint64_t, unsigned i, Slot& slot) noexcept {
  BatchSlot& s = *slot;
  SlotItem& item = s.item_table[i];
  if (item.failure) return 0;
  ItemFailure failure{.epoch = s.epoch, .position = item.position, .index = item.index};
  try {
    dataset_.read(item.index, item.sample);
    item.sample.set_origin({.epoch = s.epoch, .position = item.position, .index = item.index});
    if (pipeline_.one_to_many()) {
      const Pipeline::Address address{.seed = seed_, .epoch = static_cast<std::uint32_t>(s.epoch), .item = item.stream_item};
      if (keep_plans_) {
        KeepPlans keep(s.patch_table[std::size_t{i} * s.parts].plans);
        pipeline_.run_item(item.sample, address, &keep);
        for (std::uint32_t k = 1; k < s.parts; ++k)
          std::copy_n(s.patch_table[std::size_t{i} * s.parts].plans.begin(), pipeline_.item_ops(),
                      s.patch_table[std::size_t{i} * s.parts + k].plans.begin());
      } else {
        pipeline_.run_item(item.sample, address);
      }
    }
    // relaxed: the engine hands the item on to the threads that run its parts
    item.parts_left.store(s.parts, std::memory_order_relaxed);
    return s.parts;
  } catch (const TransformError& e) {
    failure.stage = Stage::transform;
    failure.op = e.op();
    failure.op_name = e.op_name();
    failure.cause = e.cause();
    failure.path = item.sample.first_path();
  } catch (const IoError& e) {
    failure.path = e.path();
    failure.cause = e.what();
  } catch (const std::exception& e) {
    failure.cause = e.what();
  } catch (...) {
    failure.cause = "an exception that is not a std::exception";
  }
  if (failure.path.empty()) failure.path = dataset_.path_of(item.index);
  item.failure = std::make_unique<ItemFailure>(std::move(failure));
  item.sample.release_values();
  return 0;
}

void LoaderJob::part(std::uint64_t, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
  BatchSlot& s = *slot;
  SlotItem& item = s.item_table[i];
  const std::size_t index = std::size_t{i} * s.parts + k;
  SlotPatch& patch = s.patch_table[index];
  ItemFailure failure{.epoch = s.epoch, .position = item.position, .index = item.index, .stage = Stage::write, .patch = k};
  bool failed = true;
  {
    Place place(*this, s, index);
    try {
      patch.sample = item.sample;
      patch.sample.set_origin({.epoch = s.epoch, .position = item.position, .index = item.index, .patch = k});
      patch.sample.set_output_place(&place);
      const Pipeline::Address address{.seed = seed_, .epoch = static_cast<std::uint32_t>(s.epoch), .item = item.stream_item};
      std::optional<KeepPlans> keep;
      if (keep_plans_) keep.emplace(patch.plans);
      PipelineObserver* observer = keep ? &*keep : nullptr;
      if (pipeline_.one_to_many())
        pipeline_.run_part(patch.sample, address, k, observer);
      else
        pipeline_.run_item(patch.sample, address, observer);
      place.before_op(pipeline_.size());
      place.finish(patch.sample);
      failed = false;
    } catch (const TransformError& e) {
      failure.stage = Stage::transform;
      failure.op = e.op();
      failure.op_name = e.op_name();
      failure.cause = e.cause();
    } catch (const std::exception& e) {
      failure.cause = e.what();
    } catch (...) {
      failure.cause = "an exception that is not a std::exception";
    }
    patch.sample.set_output_place(nullptr);
  }
  if (failed) {
    failure.path = item.sample.first_path();
    if (failure.path.empty()) failure.path = dataset_.path_of(item.index);
    patch.failure = std::make_unique<ItemFailure>(std::move(failure));
    patch.sample.release_values();
  }
  // acq_rel, with itself: the last part sees that the others have copied their handles before it drops the item's
  if (item.parts_left.fetch_sub(1, std::memory_order_acq_rel) == 1) item.sample.release_values();
}

}  // namespace headrace::detail
