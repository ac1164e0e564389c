// An op whose plan() is not const would remember what it drew.
#include <headrace/transform/transform.hpp>

#ifdef HEADRACE_CONTROL
#define PLAN_CONST const
#else
#define PLAN_CONST
#endif

struct Shift {
  struct Plan {
    double by;
  };
  Plan plan(const headrace::Sample&, headrace::Rng& rng) PLAN_CONST { return {rng.uniform()}; }
  void apply(headrace::Sample& sample, const Plan& plan) const { sample.tensor("image").add_(plan.by); }
};

headrace::Transform make() { return Shift{}; }
