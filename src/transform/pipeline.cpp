#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <headrace/runtime/float_mode.hpp>
#include <headrace/transform/pipeline.hpp>
#include <map>

namespace headrace {

namespace detail {

std::string type_name(const std::type_info& type) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? text.get() : type.name();
  if (name.find("lambda") != std::string::npos) return "callable";
  // Namespaces off, outside of template arguments.
  const std::size_t arguments = std::min(name.find('<'), name.size());
  const std::size_t colon = name.rfind("::", arguments);
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

}  // namespace detail

TransformError::TransformError(std::size_t op, std::string name, std::uint32_t patch, const std::string& cause)
    : std::runtime_error("op " + std::to_string(op) + " (" + name + ")" +
                         (patch == item_patch ? "" : ", patch " + std::to_string(patch)) + ": " + cause),
      op_(op),
      name_(std::move(name)),
      patch_(patch),
      cause_(cause) {}

Pipeline::Pipeline(std::vector<Transform> ops)
    : ops_(std::move(ops)), numbers_(ops_.size(), 0), item_ops_(ops_.size()) {
  std::map<std::uint32_t, std::size_t> taken;
  std::uint32_t next = 0;
  const auto who = [&](std::size_t i) { return "op " + std::to_string(i) + " (" + ops_[i]->name() + ")"; };
  std::uint64_t parts = 1;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i]->one_to_many()) {
      item_ops_ = std::min(item_ops_, i);
      const unsigned count = ops_[i]->count();
      if (count == 0) throw std::invalid_argument(who(i) + " makes 0 outputs: expected at least 1");
      parts *= count;
      if (parts > max_stream_patch + 1)
        throw std::invalid_argument(who(i) + ": more than " + std::to_string(max_stream_patch + 1) +
                                    " outputs per item");
    }
    if (!ops_[i]->random()) continue;
    // A pinned number does not move the others: they go on counting their declared positions. An op that holds others
    // takes its own number and, behind it, theirs.
    const std::uint32_t declared = next, count = ops_[i]->op_numbers();
    next += count;
    const std::uint32_t number = ops_[i]->op_number().value_or(static_cast<std::uint16_t>(declared));
    if (declared + count > first_reserved_op || number + count > first_reserved_op)
      throw std::invalid_argument(who(i) + ": random op number " + std::to_string(number + count - 1) +
                                  " is not below " + std::to_string(first_reserved_op));
    for (std::uint32_t n = number; n < number + count; ++n) {
      const auto [it, fresh] = taken.emplace(n, i);
      if (!fresh)
        throw std::invalid_argument(who(i) + " and " + who(it->second) + " both have random op number " +
                                    std::to_string(n) + ": pin one of them to another with .op");
    }
    numbers_[i] = static_cast<std::uint16_t>(number);
  }
  parts_ = static_cast<std::uint32_t>(parts);
}

bool Pipeline::random() const noexcept {
  return std::any_of(ops_.begin(), ops_.end(), [](const Transform& t) { return t->random(); });
}

bool Pipeline::fingerprinted() const noexcept {
  return std::all_of(ops_.begin(), ops_.end(), [](const Transform& t) { return t->fingerprinted(); });
}

namespace {
std::size_t prefix_length(const std::vector<Transform>& ops) {
  std::size_t n = 0;
  while (n < ops.size() && !ops[n]->random() && !ops[n]->one_to_many()) ++n;
  return n;
}
}  // namespace

Pipeline Pipeline::deterministic_prefix() const {
  return Pipeline(
      std::vector<Transform>(ops_.begin(), ops_.begin() + static_cast<std::ptrdiff_t>(prefix_length(ops_))));
}

// No random op stands before the cut, so the others keep their numbers.
Pipeline Pipeline::after_prefix() const {
  return Pipeline(std::vector<Transform>(ops_.begin() + static_cast<std::ptrdiff_t>(prefix_length(ops_)), ops_.end()));
}

SampleSpec Pipeline::infer(SampleSpec spec) const {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    try {
      spec = ops_[i]->infer(std::move(spec));
    } catch (const std::exception& e) {
      throw TransformError(i, ops_[i]->name(), item_patch, e.what());
    }
  }
  return spec;
}

std::string Pipeline::describe() const {
  std::string text;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    text += ops_[i]->name();
    if (const std::string options = ops_[i]->describe(); !options.empty()) text += " " + options;
    if (ops_[i]->random()) text += " #" + std::to_string(numbers_[i]);
    text += "\n";
  }
  return text;
}

namespace {
// An exception of an op, with the op in front.
template <class F>
void with_op(std::size_t op, const detail::TransformModel& model, std::uint32_t patch, F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    throw TransformError(op, model.name(), patch, e.what());
  } catch (...) {
    throw TransformError(op, model.name(), patch, "an exception that is not a std::exception");
  }
}
}  // namespace

void Pipeline::plan_op(std::size_t i, const Sample& sample, const Address& address, std::uint32_t patch,
                       PlanBox& plan) const {
  if (!ops_[i]->has_plan()) return plan.clear();
  with_op(i, *ops_[i], patch, [&] {
    Rng rng({.seed = address.seed, .epoch = address.epoch, .item = address.item, .patch = patch, .op = numbers_[i]});
    ops_[i]->plan(sample, rng, plan);
  });
}

void Pipeline::apply_op(std::size_t i, Sample& sample, const Address& address, std::uint32_t patch,
                        const PlanBox& plan) const {
  with_op(i, *ops_[i], patch, [&] {
    Rng rng({.seed = address.seed, .epoch = address.epoch, .item = address.item, .patch = patch, .op = numbers_[i]});
    if (ops_[i]->has_plan()) rng.seek(voxel_words_begin);
    ops_[i]->apply(sample, plan, rng);
  });
}

std::uint32_t Pipeline::patch_of(std::size_t op, std::uint32_t part) const noexcept {
  if (op < item_ops_) return item_patch;
  // Parts below the current level: dividing by it gives the part number so far.
  std::uint32_t below = parts_;
  for (std::size_t i = item_ops_; i <= op && i < ops_.size(); ++i)
    if (ops_[i]->one_to_many()) below /= ops_[i]->count();
  return part / below;
}

void Pipeline::run_op(std::size_t i, Sample& sample, const Address& address, std::uint32_t patch,
                      PipelineObserver* observer) const {
  if (OutputPlace* place = sample.output_place()) place->before_op(i);
  PlanBox plan;
  plan_op(i, sample, address, patch, plan);
  if (observer) observer->before(i, sample, plan);
  apply_op(i, sample, address, patch, plan);
  if (observer) observer->after(i, sample, plan);
}

void Pipeline::run_item(Sample& sample, const Address& address, PipelineObserver* observer) const {
  for (std::size_t i = 0; i < item_ops_; ++i) run_op(i, sample, address, item_patch, observer);
}

void Pipeline::run_part(Sample& sample, const Address& address, std::uint32_t part, PipelineObserver* observer) const {
  for (std::size_t i = item_ops_; i < ops_.size(); ++i) run_op(i, sample, address, patch_of(i, part), observer);
}

std::vector<Sample> Pipeline::run(const Sample& sample, const Address& address) const {
  const FloatMode mode;  // as in a loader
  Sample item = sample;
  run_item(item, address);
  std::vector<Sample> outputs;
  outputs.reserve(parts_);
  for (std::uint32_t part = 0; part < parts_; ++part) {
    outputs.push_back(item);
    Origin origin = item.origin();
    origin.patch = part;
    outputs.back().set_origin(origin);
    if (one_to_many()) run_part(outputs.back(), address, part);
  }
  return outputs;
}

}  // namespace headrace
