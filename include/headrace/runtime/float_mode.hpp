// FloatMode: the processor's floating-point mode, fixed for as long as the guard lives.
//
// A host may have set flush-to-zero, round-up or trapping exceptions on its threads; worker threads may have inherited
// anything. Code that must give the same bits everywhere runs inside a FloatMode: round to nearest, denormals kept, all
// exceptions masked. The mode found (with its exception flags) is put back afterwards. Costs two register reads when
// the mode is already right.
//
// On x86-64 this is MXCSR (SSE and AVX; x87, used by long double only, is left alone), on AArch64 FPCR. Elsewhere the
// guard does nothing.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace headrace {

class [[nodiscard]] FloatMode {
 public:
  FloatMode() noexcept : before_(read()) {
    if (mode_bits(before_) != fixed) write(fixed);
  }
  ~FloatMode() {
    if (read() != before_) write(before_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

  /// Is this thread in the fixed mode now?
  static bool is_fixed() noexcept { return mode_bits(read()) == fixed; }

 private:
#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word fixed = 0x1F80;  // all exceptions masked, round to nearest, no FTZ, no DAZ
  static constexpr Word flags = 0x3F;    // sticky exception flags: results, not mode
  static Word read() noexcept { return _mm_getcsr(); }
  static void write(Word word) noexcept {
    _mm_setcsr(word);
    asm volatile("" ::: "memory");  // no load or store of the guarded code crosses the change of mode
  }
  static constexpr Word mode_bits(Word word) noexcept { return word & ~flags; }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word fixed = 0;  // round to nearest, no FZ, no trapping
  static Word read() noexcept {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void write(Word word) noexcept { asm volatile("msr fpcr, %0" ::"r"(word) : "memory"); }
  static constexpr Word mode_bits(Word word) noexcept { return word; }
#else
  using Word = std::uint32_t;
  static constexpr Word fixed = 0;
  static Word read() noexcept { return 0; }
  static void write(Word) noexcept {}
  static constexpr Word mode_bits(Word word) noexcept { return word; }
#endif

  const Word before_;
};

}  // namespace headrace
