#include <algorithm>
#include <cmath>
#include <headrace/transform/choice.hpp>
#include <stdexcept>

#include "describe.hpp"

namespace headrace {
namespace detail {
namespace {

// The ops of a choice in one row. Only the last op that touches a field may write it where the sample says; what comes
// before must go elsewhere, or the two would be the same memory.
class InnerPlace final : public OutputPlace {
 public:
  struct Step {
    const Pipeline* ops;
    std::size_t op;
    std::uint32_t number;
  };

  InnerPlace(OutputPlace& outer, const std::vector<Step>& steps) : outer_(outer), steps_(steps) {}

  Tensor output(std::string_view field, DType dtype, const Shape& shape) override {
    for (std::size_t later = now_ + 1; later < steps_.size(); ++later)
      if (steps_[later].ops->op(steps_[later].op).effect(field) != Effect::none) return outer_.scratch(dtype, shape);
    return outer_.output(field, dtype, shape);
  }
  Tensor scratch(DType dtype, const Shape& shape) override { return outer_.scratch(dtype, shape); }

  void at(std::size_t step) noexcept { now_ = step; }

 private:
  OutputPlace& outer_;
  const std::vector<Step>& steps_;
  std::size_t now_ = 0;
};

}  // namespace

Choice::Choice(std::vector<Branch> branches, std::optional<std::uint16_t> op, const char* name)
    : branches_(std::move(branches)), op_(op), name_(name) {
  if (branches_.empty() || branches_.size() > 255)
    refuse("transforms holds " + std::to_string(branches_.size()) + " branches; expected 1 to 255");
  for (std::size_t b = 0; b < branches_.size(); ++b) {
    const Pipeline& ops = branches_[b].ops();
    first_.push_back(numbers_);
    if (ops.one_to_many()) refuse("branch " + std::to_string(b) + " holds a one-to-many op; put it outside");
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops.op(i).op_number())
        refuse("branch " + std::to_string(b) + " pins the number of " + ops.op(i).name() +
               "; pin the whole op instead");
      numbers_ += ops.op(i).op_numbers();
    }
  }
}

void Choice::refuse(const std::string& what) const { throw std::invalid_argument(std::string(name_) + ": " + what); }

std::vector<double> Choice::running_sum(const std::vector<double>& weights) const {
  std::vector<double> sum;
  double total = 0;
  if (!weights.empty() && weights.size() != branches_.size())
    refuse("weights holds " + std::to_string(weights.size()) + " numbers; expected one for each of the " +
           std::to_string(branches_.size()) + " branches");
  for (std::size_t b = 0; b < branches_.size(); ++b) {
    const double w = weights.empty() ? 1 : weights[b];
    if (!(w >= 0) || std::isinf(w))
      refuse("weights = " + option_text(weights) + "; expected finite numbers, 0 or more");
    sum.push_back(total += w);
  }
  if (!(total > 0) || std::isinf(total))
    refuse("weights = " + option_text(weights) + "; expected a finite sum above 0");
  return sum;
}

Effect Choice::effect(std::string_view field) const {
  Effect worst = Effect::none;
  for (const Branch& b : branches_)
    for (std::size_t i = 0; i < b.ops().size(); ++i) worst = std::max(worst, b.ops().op(i).effect(field));
  return worst;
}

void Choice::apply(Sample& sample, const Plan& plan, const Rng& rng) const {
  const StreamAddress base = rng.address();
  std::vector<InnerPlace::Step> steps;
  for (std::size_t p = 0; p < plan.count; ++p) {
    const Pipeline& ops = branches_.at(plan.branch[p]).ops();
    for (std::size_t i = 0; i < ops.size(); ++i)
      steps.push_back({&ops, i, base.op + first_[plan.branch[p]] + (ops.op(i).random() ? ops.op_number(i) : 0)});
  }
  OutputPlace* const outer = sample.output_place();
  std::optional<InnerPlace> inner;
  if (outer) sample.set_output_place(&inner.emplace(*outer, steps));
  // The caller's place comes back, whatever happens inside.
  struct Restore {
    Sample& sample;
    OutputPlace* place;
    ~Restore() { sample.set_output_place(place); }
  } const restore{sample, outer};
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const TransformModel& op = steps[s].ops->op(steps[s].op);
    if (inner) inner->at(s);
    StreamAddress address = base;
    address.op = steps[s].number;
    try {
      PlanBox box;
      Rng own(address);
      if (op.has_plan()) {
        op.plan(sample, own, box);
        own.seek(voxel_words_begin);
      }
      op.apply(sample, box, own);
    } catch (const std::exception& e) {
      throw std::runtime_error("op " + std::to_string(steps[s].op) + " (" + op.name() +
                               ") of the chosen branch: " + e.what());
    }
  }
}

SampleSpec Choice::infer_branch(std::size_t b, SampleSpec spec) const {
  try {
    return branches_[b].ops().infer(std::move(spec));
  } catch (const std::exception& e) {
    refuse("branch " + std::to_string(b) + ": " + e.what());
  }
}

SampleSpec Choice::infer_unchanged(const SampleSpec& spec) const {
  for (std::size_t b = 0; b < size(); ++b)
    if (const SampleSpec out = infer_branch(b, spec); !(out == spec))
      refuse("branch " + std::to_string(b) + " changes " + spec.str() + " to " + out.str() + "; expected no change");
  return spec;
}

std::string Choice::describe_branches() const {
  std::string text = "[";
  for (const Branch& b : branches_) {
    std::string inner = b.ops().describe();
    std::replace(inner.begin(), inner.end(), '\n', ';');
    text += (text.size() > 1 ? ", {" : "{") + inner + "}";
  }
  return text + "]";
}

}  // namespace detail

namespace {

// The first entry whose running sum is above u * total.
std::size_t pick(const std::vector<double>& sum, double u) {
  const double at = u * sum.back();
  const auto it = std::upper_bound(sum.begin(), sum.end(), at);
  if (it != sum.end()) return static_cast<std::size_t>(it - sum.begin());
  // u * total rounded up to the total: the last entry that has a weight.
  return static_cast<std::size_t>(std::lower_bound(sum.begin(), sum.end(), sum.back()) - sum.begin());
}

SampleSpec agreed(const SampleSpec& a, const SampleSpec& b, const char* op, std::size_t branch) {
  const auto refuse = [&] {
    throw std::invalid_argument(std::string(op) + ": branch " + std::to_string(branch) + " makes " + b.str() +
                                ", but branch 0 makes " + a.str() + "; expected the same fields, types and ranks");
  };
  if (a.fields.size() != b.fields.size()) refuse();
  SampleSpec out = a;
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    const FieldSpec &x = a.fields[i], &y = b.fields[i];
    if (x.name != y.name || x.kind != y.kind || x.dtype != y.dtype || x.shape.rank() != y.shape.rank()) refuse();
    for (int d = 0; d < x.shape.rank(); ++d)
      if (x.shape[d] != y.shape[d]) out.fields[i].shape[d] = unknown;
  }
  return out;
}

std::string weights_text(const std::vector<double>& weights) {
  return weights.empty() ? "equal" : detail::option_text(weights);
}

}  // namespace

OneOf::OneOf(OneOfOptions o)
    : Choice(std::move(o.transforms), o.op, name), weights_(std::move(o.weights)), sum_(running_sum(weights_)) {}

OneOf::Plan OneOf::plan(const Sample&, Rng& rng) const {
  Plan p{.count = 1};
  p.branch[0] = static_cast<std::uint8_t>(pick(sum_, rng.uniform()));
  return p;
}

SampleSpec OneOf::infer(const SampleSpec& spec) const {
  SampleSpec out = infer_branch(0, spec);
  for (std::size_t b = 1; b < size(); ++b) out = agreed(out, infer_branch(b, spec), name, b);
  return out;
}

std::string OneOf::describe() const {
  return "transforms=" + describe_branches() + ", weights=" + weights_text(weights_);
}

SomeOf::SomeOf(SomeOfOptions o)
    : Choice(std::move(o.transforms), o.op, name), replace_(o.replace), weights_(std::move(o.weights)) {
  (void)running_sum(weights_);
  most_ = o.most.value_or(static_cast<unsigned>(std::min(size(), most_picks)));
  least_ = o.least.value_or(most_);
  const auto possible = static_cast<std::size_t>(
      weights_.empty() ? static_cast<std::ptrdiff_t>(size())
                       : std::count_if(weights_.begin(), weights_.end(), [](double w) { return w > 0; }));
  if (least_ > most_) refuse("least = " + std::to_string(least_) + " is above most = " + std::to_string(most_));
  if (most_ > most_picks) refuse("most = " + std::to_string(most_) + "; expected at most 16");
  if (!replace_ && most_ > possible)
    refuse("most = " + std::to_string(most_) + ", but only " + std::to_string(possible) +
           " branches can be drawn without replacement");
}

SomeOf::Plan SomeOf::plan(const Sample&, Rng& rng) const {
  Plan p{.count = static_cast<std::uint8_t>(least_ + rng.below(most_ - least_ + 1))};
  // At most 255 branches: the weights that are left, in place.
  std::array<double, 255> left{};
  double total = 0;
  for (std::size_t b = 0; b < size(); ++b) total += left[b] = weights_.empty() ? 1 : weights_[b];
  for (unsigned k = 0; k < most_; ++k) {
    const double at = rng.uniform() * total;
    double sum = 0;
    std::size_t chosen = size();
    for (std::size_t b = 0; b < size() && chosen == size(); ++b) {
      sum += left[b];
      if (left[b] > 0 && sum > at) chosen = b;
    }
    for (std::size_t b = size(); chosen == size() && b-- > 0;)  // rounded up to the total
      if (left[b] > 0) chosen = b;
    p.branch[k] = static_cast<std::uint8_t>(chosen);
    if (!replace_) {
      left[chosen] = 0;
      total = 0;
      for (std::size_t b = 0; b < size(); ++b) total += left[b];
    }
  }
  for (unsigned k = p.count; k < most_; ++k) p.branch[k] = 0;
  return p;
}

SampleSpec SomeOf::infer(const SampleSpec& spec) const { return infer_unchanged(spec); }

std::string SomeOf::describe() const {
  return "transforms=" + describe_branches() + ", least=" + std::to_string(least_) + ", most=" + std::to_string(most_) +
         ", replace=" + (replace_ ? "true" : "false") + ", weights=" + weights_text(weights_);
}

RandomOrder::RandomOrder(RandomOrderOptions o) : Choice(std::move(o.transforms), o.op, name) {
  if (size() > most_picks) refuse("transforms holds " + std::to_string(size()) + " branches; expected at most 16");
}

RandomOrder::Plan RandomOrder::plan(const Sample&, Rng& rng) const {
  Plan p{.count = static_cast<std::uint8_t>(size())};
  for (std::size_t b = 0; b < size(); ++b) p.branch[b] = static_cast<std::uint8_t>(b);
  for (std::size_t left = size(); left > 1; --left) std::swap(p.branch[left - 1], p.branch[rng.below(left)]);
  return p;
}

SampleSpec RandomOrder::infer(const SampleSpec& spec) const { return infer_unchanged(spec); }

std::string RandomOrder::describe() const { return "transforms=" + describe_branches(); }

}  // namespace headrace
