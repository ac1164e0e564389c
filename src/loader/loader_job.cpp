#include "loader_job.hpp"

#include <algorithm>
#include <headrace/io/error.hpp>
#include <headrace/loader/batch.hpp>
#include <headrace/runtime/float_mode.hpp>
#include <stdexcept>

#include "loader_slot.hpp"

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

// Where memory has run out, a text that needs none.
void assign(std::string& to, std::string_view text) noexcept {
  try {
    to.assign(text);
  } catch (...) {
    to.assign("out of memory");
  }
}

// Runs f; false when it threw, and then `failure` is `about` and what happened. The call that reports must not fail
// itself.
template <class F>
bool guarded(ItemFailure& failure, ItemFailure about, F&& f) noexcept {
  try {
    f();
    return true;
  } catch (const TransformError& e) {
    about.stage = Stage::transform;
    about.op = e.op();
    assign(about.op_name, e.op_name());
    assign(about.cause, e.cause());
  } catch (const IoError& e) {
    assign(about.path, e.path());
    assign(about.cause, e.what());
  } catch (const std::exception& e) {
    assign(about.cause, e.what());
  } catch (...) {
    assign(about.cause, "an exception that is not a std::exception");
  }
  failure = std::move(about);
  return false;
}

}  // namespace

// Sends each op's output to the slab where no later op replaces or re-views the field, to scratch memory otherwise, and
// in the end copies what is not in the slab yet.
class LoaderJob::Place final : public OutputPlace {
 public:
  Place(LoaderJob& job, BatchSlot& slot, std::size_t sample)
      : job_(job), slot_(slot), sample_(sample), patch_(slot.patch_table[sample]) {}

  // Pieces that an op kept in an earlier step, where that was reported: this sample is not to suffer for it.
  void begin() {
    for (std::size_t f = 0; patch_.blocks && f < slot_.layout->places.size(); ++f)
      // relaxed: as in output()
      if (patch_.blocks[f].count.load(std::memory_order_relaxed) != 0) return slot_.renew_pieces(sample_);
  }

  void before_op(std::size_t op) override { op_ = op; }

  Tensor output(std::string_view field, DType dtype, const Shape& shape) override {
    const SlotLayout& layout = *slot_.layout;
    if (!layout.collated) return counted_scratch(dtype, shape, false);
    const std::size_t f = layout.find(field);
    if (f == layout.places.size() || op_ < layout.places[f].first_op) return counted_scratch(dtype, shape, true);
    const SlotLayout::Place& place = layout.places[f];
    // relaxed: the piece is this thread's alone while the part runs; a count left by a handle that an op kept is a
    // fault that finish() reports
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
        throw std::invalid_argument("field '" + f.name.str() + "' is not in the pipeline's specification (" +
                                    layout.spec.str() + "): give the op that makes it an infer()");
    for (const FieldSpec& spec : layout.spec.fields) check(sample.field(spec.name), spec);
    if (!layout.collated) {
      for (const SlotLayout::Place& p : layout.places) {
        const Tensor& t = sample.get(p.spec.name);
        slot_bytes_ += t.is_contiguous() ? 0 : t.bytes();
        sample.set(p.spec.name, t.contiguous());
      }
    } else {
      bring_in(sample);
    }
    job_.counters_.slot_bytes.fetch_add(slot_bytes_, std::memory_order_relaxed);        // relaxed: statistics
    job_.counters_.scratch_bytes.fetch_add(scratch_bytes_, std::memory_order_relaxed);  // relaxed: statistics
    job_.counters_.patches.fetch_add(1, std::memory_order_relaxed);                     // relaxed: statistics
  }

 private:
  static void check(const Field& field, const FieldSpec& spec) {
    constexpr std::string_view kinds[] = {"a tensor", "a number", "an integer", "text", "a voxel set"};
    const bool integer_for_real = spec.kind == FieldKind::real && std::holds_alternative<std::int64_t>(field.value);
    if (field.value.index() != static_cast<std::size_t>(spec.kind) && !integer_for_real)
      throw std::invalid_argument("field '" + spec.name + "' is " + std::string(kinds[field.value.index()]) +
                                  ", but its place in the batch is for " +
                                  std::string(kinds[static_cast<std::size_t>(spec.kind)]));
    if (spec.kind != FieldKind::tensor) return;
    const Tensor& t = field.tensor();
    bool matches = t.defined() && t.dtype() == spec.dtype && t.rank() == spec.shape.rank();
    for (int d = 0; matches && d < t.rank(); ++d) matches = spec.shape[d] == unknown || spec.shape[d] == t.shape()[d];
    if (!matches)
      throw std::invalid_argument(
          "field '" + spec.name + "' is " +
          (t.defined() ? std::string(name_of(t.dtype())) + " " + t.shape().str() : "undefined") +
          ", but its place in the batch is " + spec.str());
  }

  Tensor counted_scratch(DType dtype, const Shape& shape, bool pooled) {
    Tensor t = pooled ? ScratchPool::make(job_.scratch_, dtype, shape) : Tensor::empty(dtype, shape);
    (pooled ? scratch_bytes_ : slot_bytes_) += t.bytes();
    return t;
  }

  // The piece of the slab that a tensor lies in, or places.size().
  std::size_t piece_of(const Tensor& t) const noexcept {
    const std::size_t pieces = slot_.layout->places.size();
    for (std::size_t f = 0; f < pieces; ++f)
      if (t.storage().block() == &patch_.blocks[f]) return f;
    return pieces;
  }
  // Is the field just where and as it is delivered?
  bool there(const Sample& sample, std::size_t f) const {
    const Tensor& t = sample.get(slot_.layout->places[f].spec.name);
    return t.storage().block() == &patch_.blocks[f] && t.is_contiguous() && t.raw() == patch_.blocks[f].data;
  }

  void bring_in(Sample& sample) {
    const std::vector<SlotLayout::Place>& places = slot_.layout->places;
    // First aside with what lies in a piece that is about to be overwritten: a view of its own, or another field's.
    for (std::size_t f = 0; f < places.size(); ++f) {
      const std::string& name = places[f].spec.name;
      const std::size_t piece = piece_of(sample.get(name));
      if (piece == places.size() || there(sample, piece)) continue;
      Tensor aside = counted_scratch(places[f].spec.dtype, places[f].spec.shape, true);
      aside.copy_from(sample.get(name));
      sample.set(name, std::move(aside));
    }
    for (std::size_t f = 0; f < places.size(); ++f) {
      if (there(sample, f)) continue;
      // Written through the slab's own handle, whoever else holds the piece.
      Tensor to(slot_.slab, places[f].spec.dtype, places[f].spec.shape,
                static_cast<std::int64_t>(static_cast<std::size_t>(patch_.blocks[f].data - slot_.slab.data()) /
                                          size_of(places[f].spec.dtype)));
      to.copy_from(sample.get(places[f].spec.name));
      slot_bytes_ += places[f].bytes;
    }
    for (const SlotLayout::Place& place : places) sample.set(place.spec.name, Tensor());
    for (std::size_t f = 0; f < places.size(); ++f)
      // relaxed: as in output()
      if (patch_.blocks[f].count.load(std::memory_order_relaxed) != 0) {
        throw std::logic_error("an op kept a tensor of field '" + places[f].spec.name +
                               "' after it returned: hidden state");
      }
  }

  LoaderJob& job_;
  BatchSlot& slot_;
  const std::size_t sample_;
  SlotPatch& patch_;
  std::size_t op_ = 0;
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t scratch_bytes_ = 0;
};

LoaderJob::LoaderJob(Dataset dataset, Pipeline pipeline, Sampler sampler, const LoaderOptions& options,
                     std::shared_ptr<const SlotLayout> layout, std::shared_ptr<ScratchPool> scratch)
    : dataset_(std::move(dataset)),
      items_(dataset_.size()),
      pipeline_(std::move(pipeline)),
      sampler_(std::move(sampler)),
      seed_(options.seed),
      batch_size_(options.batch_size),
      steps_per_epoch_(count_steps(sampler_.size(), options.batch_size, options.drop_last)),
      epoch_end_(options.epochs ? std::min<std::uint64_t>(*options.epochs, std::uint64_t{max_stream_epoch} + 1)
                                : std::uint64_t{max_stream_epoch} + 1),
      keep_plans_(options.keep_plans),
      layout_(std::move(layout)),
      scratch_(std::move(scratch)) {}

LoaderJob::Slot LoaderJob::make_slot(unsigned) {
  auto slot = std::make_unique<LoaderSlot>();
  prepare_slot(*slot, layout_, batch_size_, pipeline_.parts(), keep_plans_ ? pipeline_.size() : 0);
  return slot;
}

void LoaderJob::name_path(ItemFailure& failure, const Sample& sample) const noexcept {
  try {
    if (failure.path.empty()) failure.path = sample.first_path();
    if (failure.path.empty()) failure.path = dataset_.path_of(failure.index);
  } catch (...) {
    // A data set whose path_of() fails as well: the error goes without a path.
  }
}

void LoaderJob::seek(std::uint64_t epoch, std::uint64_t step) {
  if (epoch != epoch_) ordered_ = false;
  epoch_ = epoch;
  step_ = step;
  first_number_.reset();
}

// From the step that was sought on, epochs follow one another without a gap.
std::uint64_t LoaderJob::group_end(std::uint64_t step) const noexcept {
  return step + steps_per_epoch_ - (step - *first_number_) % steps_per_epoch_;
}

unsigned LoaderJob::bind(std::uint64_t number, Slot& slot) noexcept {
  const FloatMode mode;  // a sampler's arithmetic too
  if (step_ == steps_per_epoch_) {
    ++epoch_;
    step_ = 0;
    ordered_ = false;
  }
  if (epoch_ >= epoch_end_ || steps_per_epoch_ == 0) return 0;
  if (!first_number_) first_number_ = number - step_;
  BatchSlot& s = *slot;
  s.epoch = epoch_;
  s.step = step_;
  const std::uint64_t first = step_ * batch_size_;
  s.items = static_cast<std::uint32_t>(std::min<std::uint64_t>(batch_size_, sampler_.size() - first));
  for (std::size_t i = 0; i < s.samples(); ++i) {
    s.patch_table[i].failed = false;
    s.patch_table[i].sample.clear();
  }
  for (std::uint32_t i = 0; i < s.items; ++i) {
    SlotItem& item = s.item_table[i];
    item.sample.clear();  // what a cancelled step may have left
    item.position = first + i;
    item.failed = !guarded(item.failure, {.epoch = epoch_, .position = item.position}, [&] {
      if (!ordered_) sampler_.reorder(static_cast<std::uint32_t>(epoch_), order_);
      ordered_ = true;
      const SampledItem chosen = order_(item.position);
      if (chosen.index >= items_)
        throw std::out_of_range("the sampler chose item " + std::to_string(chosen.index) + " of a dataset of " +
                                std::to_string(items_));
      item.index = chosen.index;
      item.stream_item = chosen.stream_item;
    });
  }
  ++step_;
  return s.items;
}

unsigned LoaderJob::open(std::uint64_t, unsigned i, Slot& slot) noexcept {
  BatchSlot& s = *slot;
  SlotItem& item = s.item_table[i];
  if (item.failed) return 0;
  item.failed = !guarded(item.failure, {.epoch = s.epoch, .position = item.position, .index = item.index}, [&] {
    dataset_.read(item.index, item.sample);
    item.sample.set_origin({.epoch = s.epoch, .position = item.position, .index = item.index});
    if (!pipeline_.one_to_many()) return;
    const Pipeline::Address address{
        .seed = seed_, .epoch = static_cast<std::uint32_t>(s.epoch), .item = item.stream_item};
    if (!keep_plans_) return pipeline_.run_item(item.sample, address);
    std::vector<PlanBox>& plans = s.patch_table[std::size_t{i} * s.parts].plans;
    KeepPlans keep(plans);
    pipeline_.run_item(item.sample, address, &keep);
    for (std::uint32_t k = 1; k < s.parts; ++k)
      std::copy_n(plans.begin(), pipeline_.item_ops(), s.patch_table[std::size_t{i} * s.parts + k].plans.begin());
  });
  if (item.failed) {
    name_path(item.failure, item.sample);
    item.sample.clear();
    return 0;
  }
  // relaxed: the engine hands the item on to the threads that run its parts
  item.parts_left.store(s.parts, std::memory_order_relaxed);
  return s.parts;
}

void LoaderJob::part(std::uint64_t, unsigned i, unsigned k, Slot& slot, PartInfo) noexcept {
  BatchSlot& s = *slot;
  SlotItem& item = s.item_table[i];
  const std::size_t index = std::size_t{i} * s.parts + k;
  SlotPatch& patch = s.patch_table[index];
  const std::uint32_t number = pipeline_.one_to_many() ? k : item_patch;
  {
    Place place(*this, s, index);
    patch.failed = !guarded(
        patch.failure,
        {.epoch = s.epoch, .position = item.position, .index = item.index, .stage = Stage::write, .patch = number},
        [&] {
          place.begin();
          patch.sample = item.sample;
          patch.sample.set_origin({.epoch = s.epoch, .position = item.position, .index = item.index, .patch = k});
          patch.sample.set_output_place(&place);
          const Pipeline::Address address{
              .seed = seed_, .epoch = static_cast<std::uint32_t>(s.epoch), .item = item.stream_item};
          std::optional<KeepPlans> keep;
          if (keep_plans_) keep.emplace(patch.plans);
          PipelineObserver* observer = keep ? &*keep : nullptr;
          if (pipeline_.one_to_many())
            pipeline_.run_part(patch.sample, address, k, observer);
          else
            pipeline_.run_item(patch.sample, address, observer);
          place.before_op(pipeline_.size());
          place.finish(patch.sample);
        });
    patch.sample.set_output_place(nullptr);
  }
  if (patch.failed) {
    name_path(patch.failure, item.sample);
    patch.sample.clear();
  }
  // acq_rel, with itself: the last part sees that the others have copied their handles before it drops the item's
  if (item.parts_left.fetch_sub(1, std::memory_order_acq_rel) == 1) item.sample.clear();
}

}  // namespace headrace::detail
