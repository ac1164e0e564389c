#include "hidden_state.hpp"

#include <cstring>
#include <headrace/loader/digest.hpp>
#include <headrace/runtime/float_mode.hpp>

namespace headrace::detail {
namespace {

// Fresh memory full of a pattern: an op that reads before it writes gives another result with another pattern.
class Poisoned final : public OutputPlace {
 public:
  explicit Poisoned(int byte) : byte_(byte) {}
  Tensor output(std::string_view, DType dtype, const Shape& shape) override { return scratch(dtype, shape); }
  Tensor scratch(DType dtype, const Shape& shape) override {
    Tensor t = Tensor::empty(dtype, shape);
    std::memset(t.mutable_raw(), byte_, t.bytes());
    return t;
  }

 private:
  int byte_;
};

// One sample on its way through the pipeline, with the digests of its fields after each op.
struct Lane {
  std::uint64_t index = 0;
  Pipeline::Address address;
  std::uint32_t part = 0;
  Sample sample{};
  PlanBox plan{};
  std::vector<std::vector<std::pair<std::string, Digest>>> trace{};
  bool failed = false;
};

class Examiner {
 public:
  Examiner(const Dataset& dataset, const Pipeline& pipeline, std::uint64_t seed)
      : dataset_(dataset), pipeline_(pipeline), seed_(seed) {}

  Lane lane(std::uint64_t index, std::uint32_t epoch, std::uint32_t part) const {
    return {.index = index, .address = {.seed = seed_, .epoch = epoch, .item = index}, .part = part};
  }

  // Runs the lanes in step: every lane plans op i, then every lane applies it.
  void run(std::vector<Lane*> lanes, int poison) const {
    const FloatMode mode;
    Poisoned place(poison);
    for (Lane* l : lanes) {
      l->trace.clear();
      l->failed = false;
      guard(*l, [&] {
        dataset_.read(l->index, l->sample);
        l->sample.set_output_place(&place);
        record(*l);
      });
    }
    for (std::size_t op = 0; op < pipeline_.size(); ++op) {
      for (Lane* l : lanes)
        guard(*l, [&] { pipeline_.plan_op(op, l->sample, l->address, pipeline_.patch_of(op, l->part), l->plan); });
      for (Lane* l : lanes)
        guard(*l, [&] {
          pipeline_.apply_op(op, l->sample, l->address, pipeline_.patch_of(op, l->part), l->plan);
          record(*l);
        });
    }
    for (Lane* l : lanes) l->sample.set_output_place(nullptr);
  }

  // Where two traces of the same lane part, or nothing.
  std::optional<VerifyDifference> compare(const Lane& a, const Lane& b, const std::string& how) const {
    VerifyDifference d{.how = how, .epoch = a.address.epoch, .position = a.index, .index = a.index, .patch = a.part};
    for (std::size_t step = 0; step < std::max(a.trace.size(), b.trace.size()); ++step) {
      d.op = step == 0 ? "none: the dataset's own item"
                       : std::to_string(step - 1) + " (" + pipeline_.op(step - 1).name() + ")";
      if (step >= a.trace.size() || step >= b.trace.size() || a.trace[step].size() != b.trace[step].size()) return d;
      for (std::size_t f = 0; f < a.trace[step].size(); ++f)
        if (!(a.trace[step][f] == b.trace[step][f])) {
          d.field = a.trace[step][f].first;
          return d;
        }
    }
    return std::nullopt;
  }

 private:
  static void record(Lane& l) {
    auto& fields = l.trace.emplace_back();
    for (const Field& f : l.sample.fields()) fields.emplace_back(f.name.str(), digest_of(f));
  }
  // A failing op ends the lane; its error's text is its result.
  template <class F>
  static void guard(Lane& l, F&& f) {
    if (l.failed) return;
    try {
      f();
    } catch (const std::exception& e) {
      l.failed = true;
      Sample text;
      text.set("error", std::string(e.what()));
      l.trace.push_back({{"(error)", digest_of(text.field("error"))}});
    }
  }

  const Dataset& dataset_;
  const Pipeline& pipeline_;
  std::uint64_t seed_;
};

}  // namespace

std::optional<VerifyDifference> find_hidden_state(const Dataset& dataset, const Pipeline& pipeline,
                                                  const VerifyOptions& options, std::uint64_t& samples) {
  const std::uint64_t items = std::min(options.hidden_state_items, dataset.size());
  const Examiner examiner(dataset, pipeline, options.loader.seed);
  const std::uint32_t parts = std::min(pipeline.parts(), 4u);
  for (std::uint32_t epoch = 0; epoch < std::min(options.epochs, 2u); ++epoch)
    for (std::uint64_t i = 0; i < items; ++i)
      for (std::uint32_t part = 0; part < parts; ++part) {
        if (options.checkpoint) options.checkpoint();
        const std::uint64_t other = (i + 1) % dataset.size();
        Lane alone = examiner.lane(i, epoch, part), again = alone, interleaved = alone, last = alone;
        Lane neighbour = examiner.lane(other, epoch + 1, (part + 1) % pipeline.parts());
        examiner.run({&alone}, 0x00);
        examiner.run({&again}, 0x00);
        if (!alone.failed) samples += 4;
        if (auto d = examiner.compare(alone, again, "the same item made twice")) return d;
        examiner.run({&interleaved, &neighbour}, 0x00);
        if (auto d = examiner.compare(alone, interleaved, "made in step with another item")) return d;
        // The neighbour before and between, other garbage in new memory.
        examiner.run({&neighbour, &last}, 0xFF);
        if (auto d = examiner.compare(alone, last, "made after another item, with other contents in new memory"))
          return d;
      }
  return std::nullopt;
}

}  // namespace headrace::detail
