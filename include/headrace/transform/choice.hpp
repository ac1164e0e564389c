// OneOf, SomeOf, RandomOrder: which of several ops run, and in which order, is decided anew for every sample.
//
//   OneOf({.transforms = {RandGaussianNoise({.prob = 1}), compose(Zoom({.zoom = 1.1}), Flip())}, .weights = {1, 2}})
//   SomeOf({.transforms = {...}, .least = 1, .most = 3})      so many of them, in drawn order
//   RandomOrder({.transforms = {...}})                        all of them, in drawn order
//
// A branch is an op or a pipeline of ops (compose(...)); none may be one-to-many. Weights are relative, equal without any.
// SomeOf draws without replacement (with `replace`, with).
//
// Random addresses: the choice has the op's own number; the random ops of the branches have the numbers behind it, in
// declared order, whether or not they run: so what one branch draws does not depend on the others. A pin (.op) inside a
// branch is an error, a pin of the whole moves all of them.
//
// Draws of the choice: OneOf 2 words; SomeOf below(most - least + 1) and 2 words for each of `most` picks; RandomOrder
// below(n), below(n - 1), ... below(2): 2 words each but for a rejection.
//
// infer(): the branches of OneOf must agree on fields, types and ranks; sizes on which they differ become unknown (the
// batch is then a list). For SomeOf and RandomOrder every branch must leave the specification as it was.
//
// Errors: std::invalid_argument from the constructor (no branch, weights that are negative, not finite, all zero or not
// as many as branches, least > most, most above the number of branches or of weights above 0 without replacement,
// one-to-many or pinned ops inside); an error inside names branch, op and cause. Thread-safety: immutable; a choice's plan
// and the plans inside allocate nothing for up to 16 picks. Source: MONAI 1.6.1 OneOf, SomeOf, RandomOrder.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <headrace/transform/pipeline.hpp>
#include <headrace/transform/transform.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace headrace {

// An op, or several in a row.
class Branch {
 public:
  template <class Op>
  requires(!std::same_as<std::remove_cvref_t<Op>, Branch>)
      Branch(Op&& op)  // NOLINT(google-explicit-constructor): an op stands for itself
      : ops_(compose(std::forward<Op>(op))) {}

  const Pipeline& ops() const noexcept { return ops_; }

 private:
  Pipeline ops_;
};

namespace detail {

// What the three share: branches, their numbers, and running them.
class Choice {
 public:
  static constexpr bool asks_scratch = true;  // what a later op of a branch replaces
  static constexpr std::size_t most_picks = 16;
  struct Plan {
    std::array<std::uint8_t, most_picks> branch{};  // in the order in which they run
    std::uint8_t count = 0;
    friend bool operator==(const Plan&, const Plan&) = default;
  };

  Choice(std::vector<Branch> branches, std::optional<std::uint16_t> op, const char* name);

  std::uint32_t op_numbers() const noexcept { return numbers_; }
  std::optional<std::uint16_t> op_number() const noexcept { return op_; }
  bool random() const noexcept { return true; }
  Effect effect(std::string_view field) const;
  void apply(Sample& sample, const Plan& plan, const Rng& rng) const;

 protected:
  std::size_t size() const noexcept { return branches_.size(); }
  std::string describe_branches() const;
  // The specification behind branch b.
  SampleSpec infer_branch(std::size_t b, SampleSpec spec) const;
  // `spec`, after every branch was found to leave it as it is.
  SampleSpec infer_unchanged(const SampleSpec& spec) const;
  [[noreturn]] void refuse(const std::string& what) const;
  // Relative weights as a running sum; equal where none are given.
  std::vector<double> running_sum(const std::vector<double>& weights) const;

 private:
  std::vector<Branch> branches_;
  std::vector<std::uint32_t> first_;  // per branch: its first op's number, behind our own
  std::uint32_t numbers_ = 1;
  std::optional<std::uint16_t> op_;
  const char* name_;
};

}  // namespace detail

struct OneOfOptions {
  std::vector<Branch> transforms{};  // 1 to 255
  std::vector<double> weights{};
  std::optional<std::uint16_t> op{};  // pins the op's number in random addresses
};

class OneOf : public detail::Choice {
 public:
  static constexpr const char* name = "OneOf";
  explicit OneOf(OneOfOptions options);
  Plan plan(const Sample& sample, Rng& rng) const;
  SampleSpec infer(const SampleSpec& spec) const;
  std::string describe() const;

 private:
  std::vector<double> weights_, sum_;
};

struct SomeOfOptions {
  std::vector<Branch> transforms{};  // 1 to 255
  std::optional<unsigned> least{};   // without: most
  std::optional<unsigned> most{};    // at most 16; without: all of them
  bool replace = false;
  std::vector<double> weights{};
  std::optional<std::uint16_t> op{};
};

class SomeOf : public detail::Choice {
 public:
  static constexpr const char* name = "SomeOf";
  explicit SomeOf(SomeOfOptions options);
  Plan plan(const Sample& sample, Rng& rng) const;
  SampleSpec infer(const SampleSpec& spec) const;
  std::string describe() const;

 private:
  unsigned least_, most_;
  bool replace_;
  std::vector<double> weights_;
};

struct RandomOrderOptions {
  std::vector<Branch> transforms{};  // 1 to 16
  std::optional<std::uint16_t> op{};
};

class RandomOrder : public detail::Choice {
 public:
  static constexpr const char* name = "RandomOrder";
  explicit RandomOrder(RandomOrderOptions options);
  Plan plan(const Sample& sample, Rng& rng) const;
  SampleSpec infer(const SampleSpec& spec) const;
  std::string describe() const;
};

}  // namespace headrace
