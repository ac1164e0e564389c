// A job whose bodies may throw is refused: an error is a value in the slot.
#include "headrace/runtime/engine.hpp"

struct Job {
  struct Slot {};
  unsigned bind(std::uint64_t, Slot&) noexcept { return 0; }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept { return 1; }
#ifdef HEADRACE_CONTROL
  void part(std::uint64_t, unsigned, unsigned, Slot&, headrace::PartInfo) noexcept {}
#else
  void part(std::uint64_t, unsigned, unsigned, Slot&, headrace::PartInfo) {}
#endif
};

bool run() { return static_cast<bool>(headrace::Engine<Job>(Job{}, {}).next()); }
