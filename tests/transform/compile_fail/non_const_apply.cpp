// An op whose apply() is not const would count, average or cache.
#include <headrace/transform/transform.hpp>

#ifdef HEADRACE_CONTROL
#define APPLY_CONST const
#else
#define APPLY_CONST
#endif

struct Shift {
  struct Plan {
    double by;
  };
  Plan plan(const headrace::Sample&, headrace::Rng& rng) const { return {rng.uniform()}; }
  void apply(headrace::Sample& sample, const Plan& plan) APPLY_CONST { sample.tensor("image").add_(plan.by); }
};

headrace::Transform make() { return Shift{}; }
