// Pipeline: ops in order, with the numbers that address their random streams.
//
// An item runs through the ops before the first one-to-many op once (the item's part of the pipeline); from there on,
// each of its parts (patches) runs alone: a patch needs none of its siblings. With nested one-to-many ops, part numbers
// are the mixed radix of the declared counts, and the outer ops are applied anew for each part (they are views, or
// cheap).
//
// Random addresses (docs/streams.md): an op's number is its position among the random ops, declared order, depth first,
// whether or not it runs; an op that pins its number keeps it. Ops before the first one-to-many op draw from the item's
// stream (patch 0x3FFF), later ones from their patch's.
//
// A plan draws its parameters from the stream's first words; fields of random voxels, drawn in apply(), begin at word
// `voxel_words_begin` of the same stream, so that neither can reach the other.
//
// Invariant: immutable; running it is const and thread-safe; the result is a function of the sample and the address
// alone. Errors: an exception from an op arrives as TransformError with the op's position, name and patch.
#pragma once

#include <cstdint>
#include <headrace/random/address.hpp>
#include <headrace/transform/transform.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace headrace {

inline constexpr std::uint64_t voxel_words_begin = std::uint64_t{1} << 20;

// What went wrong in which op. what() is the cause's message with the op in front.
class TransformError : public std::runtime_error {
 public:
  TransformError(std::size_t op, std::string name, std::uint32_t patch, const std::string& cause);
  std::size_t op() const noexcept { return op_; }  // position in the pipeline
  const std::string& op_name() const noexcept { return name_; }
  std::uint32_t patch() const noexcept { return patch_; }  // item_patch before the first one-to-many op
  const std::string& cause() const noexcept { return cause_; }

 private:
  std::size_t op_;
  std::string name_;
  std::uint32_t patch_;
  std::string cause_;
};

// What one op of a pipeline did in a run: for plans kept on request, and for verify.
class PipelineObserver {
 public:
  virtual ~PipelineObserver() = default;
  // Before op `op` is applied (with its plan, empty for ops without one), and after.
  virtual void before(std::size_t op, const Sample& sample, const PlanBox& plan) = 0;
  virtual void after(std::size_t op, const Sample& sample, const PlanBox& plan) = 0;
};

class Pipeline {
 public:
  Pipeline() = default;
  // Throws std::invalid_argument: two random ops with one number, more ops than there are numbers, a reserved number,
  // more parts than an item may have, an op that makes 0 outputs.
  explicit Pipeline(std::vector<Transform> ops);

  std::size_t size() const noexcept { return ops_.size(); }
  const detail::TransformModel& op(std::size_t i) const noexcept { return *ops_[i]; }
  const std::vector<Transform>& ops() const noexcept { return ops_; }
  // The op's number in random addresses; only for ops that are random.
  std::uint16_t op_number(std::size_t i) const noexcept { return numbers_[i]; }

  bool random() const noexcept;
  // Outputs per item: the product of the one-to-many counts. 1 without such an op.
  std::uint32_t parts() const noexcept { return parts_; }
  bool one_to_many() const noexcept { return item_ops_ < ops_.size(); }
  // Ops before the first one-to-many op (all of them when there is none).
  std::size_t item_ops() const noexcept { return item_ops_; }

  // The part that a cache may compute once, and the rest (which keeps its op numbers).
  Pipeline deterministic_prefix() const;
  Pipeline after_prefix() const;

  // The specification of one output. Throws TransformError.
  SampleSpec infer(SampleSpec spec) const;
  // One line per op: name, options, random number.
  std::string describe() const;
  // False when some op is an unnamed callable: its code is outside the fingerprint.
  bool fingerprinted() const noexcept;

  // The address without patch and op, which the pipeline fills in.
  struct Address {
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;
    std::uint64_t item = 0;
  };
  // One op alone, in its two halves: what it decides, and the doing. run_item and run_part are made of these; verify()
  // takes them apart. `patch` as patch_of() says. An op without a plan has an empty one.
  void plan_op(std::size_t op, const Sample& sample, const Address& address, std::uint32_t patch, PlanBox& plan) const;
  void apply_op(std::size_t op, Sample& sample, const Address& address, std::uint32_t patch, const PlanBox& plan) const;
  // The patch number of op `op` when part `part` is made: item_patch before the first one-to-many op, then the mixed
  // radix of the counts passed so far.
  std::uint32_t patch_of(std::size_t op, std::uint32_t part) const noexcept;

  // Applies the ops [0, item_ops()).
  void run_item(Sample& sample, const Address& address, PipelineObserver* observer = nullptr) const;
  // Applies the ops [item_ops(), size()) for one part; `sample` is a copy (of handles) of the item's sample.
  void run_part(Sample& sample, const Address& address, std::uint32_t part, PipelineObserver* observer = nullptr) const;
  // The whole pipeline on one item, one output after another: the definition of what a loader delivers.
  std::vector<Sample> run(const Sample& sample, const Address& address) const;

 private:
  void run_op(std::size_t op, Sample& sample, const Address& address, std::uint32_t patch,
              PipelineObserver* observer) const;

  std::vector<Transform> ops_;
  std::vector<std::uint16_t> numbers_;
  std::size_t item_ops_ = 0;
  std::uint32_t parts_ = 1;
};

namespace detail {
inline void append(std::vector<Transform>& ops, const Pipeline& p) {
  ops.insert(ops.end(), p.ops().begin(), p.ops().end());
}
template <class T>
void append(std::vector<Transform>& ops, T&& op) {
  if constexpr (std::is_same_v<std::remove_cvref_t<T>, Pipeline>)
    append(ops, static_cast<const Pipeline&>(op));
  else
    ops.emplace_back(std::forward<T>(op));
}
}  // namespace detail

// Ops (or pipelines, which are flattened) in order.
template <class... Ops>
Pipeline compose(Ops&&... ops) {
  std::vector<Transform> list;
  list.reserve(sizeof...(ops));
  (detail::append(list, std::forward<Ops>(ops)), ...);
  return Pipeline(std::move(list));
}

}  // namespace headrace
