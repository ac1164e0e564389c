// Transform: any op behind one immutable, shared handle.
//
// An op is const: it may run on many threads at once, on the same object. Three forms are taken:
//   1. struct Op { struct Plan {...};  Plan plan(const Sample&, Rng&) const;  void apply(Sample&, const Plan&) const; }
//      (apply may take a third argument, const Rng&, for fields of random voxels, drawn by address)
//   2. a callable (Sample&, Rng&) const, or (Sample&) const
//   3. a struct with void apply(Sample&) const: deterministic
// A callable whose call operator is not const (a `mutable` lambda) does not compile. Optional members of an op:
//   static constexpr const char* name = "RandFlip";     the name in errors and fingerprints (default: the type's)
//   unsigned count() const;                              one-to-many: outputs per input (form 1); plan() is called once
//                                                        for each output
//   SampleSpec infer(SampleSpec) const;                  what it does to the specification (default: nothing); an op
//                                                        that changes shapes, types or fields must say so here
//   Effect effect(std::string_view field) const;         what it may do to a field (default: in_place)
//   static constexpr bool asks_scratch = true;           apply() calls Sample::scratch(): a loader keeps memory for it
//   std::string describe() const;                        its options as text, for fingerprints
//   std::optional<std::uint16_t> op_number() const;      pins its number in the random address
//   std::uint32_t op_numbers() const;                    how many numbers it takes, its own included (default: 1 when
//                                                        random): an op that holds others, as OneOf does
//
// Hidden state (a `mutable` member, a captured reference, a static) compiles; headrace::verify finds it, and leased()
// is the way to use something stateful.
#pragma once

#include <concepts>
#include <headrace/random/rng.hpp>
#include <headrace/sample/sample.hpp>
#include <headrace/sample/spec.hpp>
#include <headrace/transform/plan_box.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace headrace {

// What an op may do to a field: nothing; replace it by a strided view; write elements in place; produce new voxels
// elsewhere.
enum class Effect : std::uint8_t { none, view, in_place, rewrite };

namespace detail {

template <class T>
concept plans = requires(const T& op, const Sample& s, Rng& rng) {
  typename T::Plan;
  { op.plan(s, rng) } -> std::same_as<typename T::Plan>;
};
template <class T>
concept applies_plan = plans<T> && requires(const T& op, Sample& s, const typename T::Plan& p) {
  op.apply(s, p);
};
template <class T>
concept applies_plan_with_voxels = plans<T> &&
    requires(const T& op, Sample& s, const typename T::Plan& p, const Rng& rng) {
  op.apply(s, p, rng);
};
template <class T>
concept applies = requires(const T& op, Sample& s) {
  op.apply(s);
};

// Readable names of a type without its namespaces.
std::string type_name(const std::type_info& type);

// The virtual face of an op. All functions are const and thread-safe.
class TransformModel {
 public:
  virtual ~TransformModel() = default;
  virtual std::string name() const = 0;
  virtual bool random() const = 0;
  virtual bool has_plan() const = 0;
  virtual unsigned count() const = 0;  // 1 for one-to-one
  virtual bool one_to_many() const = 0;
  virtual SampleSpec infer(SampleSpec spec) const = 0;
  virtual Effect effect(std::string_view field) const = 0;
  virtual bool asks_scratch() const = 0;
  virtual std::string describe() const = 0;
  virtual bool fingerprinted() const = 0;  // false: an unnamed callable whose code a fingerprint cannot see
  virtual std::optional<std::uint16_t> op_number() const = 0;
  virtual std::uint32_t op_numbers() const = 0;
  virtual void plan(const Sample& sample, Rng& rng, PlanBox& box) const = 0;
  virtual void apply(Sample& sample, const PlanBox& box, Rng& rng) const = 0;
};

template <class T>
class TransformOf final : public TransformModel {
 public:
  static constexpr bool with_plan = applies_plan<T> || applies_plan_with_voxels<T>;
  static constexpr bool with_rng = !with_plan && !applies<T> && std::is_invocable_v<const T&, Sample&, Rng&>;
  static constexpr bool plain = !with_plan && (applies<T> || std::is_invocable_v<const T&, Sample&>);
  static_assert(
      with_plan || with_rng || plain,
      "a transform must be const: give plan(const Sample&, Rng&) const and apply(Sample&, const Plan&) const, "
      "or a call operator (Sample&) const or (Sample&, Rng&) const; wrap stateful things in leased()");

  explicit TransformOf(T op) : op_(std::move(op)) {}

  std::string name() const override {
    if constexpr (requires {
                    { T::name } -> std::convertible_to<std::string_view>;
                  })
      return std::string(T::name);
    else if constexpr (requires {
                         { op_.name() } -> std::convertible_to<std::string>;
                       })
      return op_.name();
    else
      return type_name(typeid(T));
  }
  bool random() const override {
    if constexpr (requires {
                    { op_.random() } -> std::same_as<bool>;
                  })
      return op_.random();
    else
      return with_plan || with_rng;
  }
  bool has_plan() const override { return with_plan; }
  bool one_to_many() const override {
    return requires(const T& op) {
      { op.count() } -> std::convertible_to<unsigned>;
    };
  }
  unsigned count() const override {
    if constexpr (requires {
                    { op_.count() } -> std::convertible_to<unsigned>;
                  })
      return op_.count();
    return 1;
  }
  SampleSpec infer(SampleSpec spec) const override {
    if constexpr (requires { op_.infer(spec); })
      return op_.infer(std::move(spec));
    else
      return spec;
  }
  Effect effect(std::string_view field) const override {
    if constexpr (requires {
                    { op_.effect(field) } -> std::same_as<Effect>;
                  })
      return op_.effect(field);
    return Effect::in_place;
  }
  bool asks_scratch() const override {
    if constexpr (requires {
                    { T::asks_scratch } -> std::convertible_to<bool>;
                  })
      return T::asks_scratch;
    return false;
  }
  std::string describe() const override {
    if constexpr (requires {
                    { op_.describe() } -> std::convertible_to<std::string>;
                  })
      return op_.describe();
    return {};
  }
  bool fingerprinted() const override {
    return requires(const T& op) { op.describe(); };
  }
  std::optional<std::uint16_t> op_number() const override {
    if constexpr (requires {
                    { op_.op_number() } -> std::same_as<std::optional<std::uint16_t>>;
                  })
      return op_.op_number();
    return std::nullopt;
  }
  std::uint32_t op_numbers() const override {
    if constexpr (requires {
                    { op_.op_numbers() } -> std::convertible_to<std::uint32_t>;
                  })
      return op_.op_numbers();
    return random() ? 1 : 0;
  }
  void plan([[maybe_unused]] const Sample& sample, [[maybe_unused]] Rng& rng,
            [[maybe_unused]] PlanBox& box) const override {
    if constexpr (with_plan) box.emplace(op_.plan(sample, rng));
  }
  void apply(Sample& sample, [[maybe_unused]] const PlanBox& box, [[maybe_unused]] Rng& rng) const override {
    if constexpr (applies_plan_with_voxels<T>)
      op_.apply(sample, box.get<typename T::Plan>(), std::as_const(rng));
    else if constexpr (applies_plan<T>)
      op_.apply(sample, box.get<typename T::Plan>());
    else if constexpr (applies<T>)
      op_.apply(sample);
    else if constexpr (with_rng)
      std::as_const(op_)(sample, rng);
    else
      std::as_const(op_)(sample);
  }

 private:
  const T op_;
};

}  // namespace detail

class Transform {
 public:
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Transform>)
      Transform(T&& op)  // NOLINT(google-explicit-constructor): ops convert to transforms wherever one is expected
      : model_(std::make_shared<const detail::TransformOf<std::remove_cvref_t<T>>>(std::forward<T>(op))) {}

  const detail::TransformModel* operator->() const noexcept { return model_.get(); }
  const detail::TransformModel& operator*() const noexcept { return *model_; }

 private:
  std::shared_ptr<const detail::TransformModel> model_;
};

namespace detail {
template <class F>
struct Named {
  std::string name_;
  int version_;
  F f_;
  std::string name() const { return name_; }
  std::string describe() const { return "version " + std::to_string(version_); }
  void operator()(Sample& s) const requires std::is_invocable_v<const F&, Sample&> { f_(s); }
  void operator()(Sample& s, Rng& rng) const requires std::is_invocable_v<const F&, Sample&, Rng&> { f_(s, rng); }
};
}  // namespace detail

// Gives a callable a name and a version that fingerprints protect: change the version when the code changes.
template <class F>
Transform named(std::string name, int version, F f) {
  return Transform(detail::Named<F>{std::move(name), version, std::move(f)});
}

}  // namespace headrace
