// A lambda that changes its own captures cannot run on many threads: it must not become a transform.
#include <headrace/transform/transform.hpp>

headrace::Transform make() {
#ifdef HEADRACE_CONTROL
  return [calls = 0](headrace::Sample& sample) { sample.set("calls", std::int64_t{calls}); };
#else
  return [calls = 0](headrace::Sample& sample) mutable { sample.set("calls", std::int64_t{++calls}); };
#endif
}
