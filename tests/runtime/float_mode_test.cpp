#include "headrace/runtime/float_mode.hpp"

#include <fenv.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "headrace/runtime/engine.hpp"

namespace headrace {
namespace {

#if defined(__x86_64__)
constexpr unsigned flush_to_zero = 0x8040;  // FTZ and DAZ
unsigned mode() { return _mm_getcsr(); }
void set_flush_to_zero() { _mm_setcsr(_mm_getcsr() | flush_to_zero); }
#else
unsigned mode() { return static_cast<unsigned>(fegetround()); }
void set_flush_to_zero() {}
#endif

// The mode of a host that changed everything; the test's own mode comes back at the end.
struct OddHost {
  OddHost() {
    fegetenv(&before);
    set_flush_to_zero();
    fesetround(FE_UPWARD);
  }
  ~OddHost() { fesetenv(&before); }
  fenv_t before;
};

// Sums that tell the mode: 1/3 rounded, and half of the smallest normal number.
struct Probe {
  struct Slot {
    double third[2] = {};
    double denormal[2] = {};
  };
  std::shared_ptr<std::atomic<int>> wrong = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> helped = std::make_shared<std::atomic<int>>(0);
  unsigned bind(std::uint64_t s, Slot&) noexcept { return s < 200 ? 2 : 0; }
  unsigned open(std::uint64_t, unsigned, Slot&) noexcept {
    if (!FloatMode::is_fixed()) ++*wrong;
    return 2;
  }
  void part(std::uint64_t, unsigned i, unsigned k, Slot& slot, PartInfo info) noexcept {
    if (!FloatMode::is_fixed()) ++*wrong;
    if (info.helped) ++*helped;
    volatile double one = 1, three = 3, tiny = 2.2250738585072014e-308, two = 2;
    if (k == 0)
      slot.third[i] = one / three;
    else
      slot.denormal[i] = tiny / two;
    fesetround(FE_DOWNWARD);  // a badly behaved body
  }
};

TEST(FloatMode, Is_fixed_inside_and_put_back_outside) {
  const OddHost host;
  const unsigned before = mode();
  EXPECT_FALSE(FloatMode::is_fixed());
  {
    const FloatMode fixed;
    EXPECT_TRUE(FloatMode::is_fixed());
    volatile double one = 1, three = 3;
    EXPECT_EQ(one / three, 0x1.5555555555555p-2) << "rounded to nearest";
    {
      const FloatMode nested;
      fesetround(FE_DOWNWARD);
    }
    EXPECT_TRUE(FloatMode::is_fixed());
  }
  EXPECT_EQ(mode(), before);
}

TEST(FloatMode, Exception_flags_raised_inside_stay_inside) {
  feclearexcept(FE_ALL_EXCEPT);
  {
    const FloatMode fixed;
    volatile double one = 1, zero = 0;
    volatile double infinite = one / zero;
    static_cast<void>(infinite);
  }
#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & 0x3Fu, 0u);
#endif
}

TEST(FloatMode, The_job_always_runs_in_it_and_the_host_keeps_its_own) {
  const OddHost host;
  const unsigned before = mode();
  for (unsigned threads : {0u, 1u, 3u}) {
    Probe probe;
    Engine<Probe> engine(probe, {.threads = threads, .batch = 2});
    while (const auto lease = engine.next()) {
      for (unsigned i = 0; i < 2; ++i) {
        ASSERT_EQ(lease->third[i], 0x1.5555555555555p-2);
        // As bits: the host's own comparison takes a denormal for zero.
        ASSERT_EQ(std::bit_cast<std::uint64_t>(lease->denormal[i]), 1ull << 51);
      }
      ASSERT_EQ(mode() & 0xFFC0u, before & 0xFFC0u);
    }
    EXPECT_EQ(*probe.wrong, 0);
  }
}

}  // namespace
}  // namespace headrace
