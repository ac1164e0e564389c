// The distance at which two objects written by different threads stop disturbing each other.
// Not std::hardware_destructive_interference_size: that value changes with compiler flags, and a layout must not.
#pragma once
#include <cstddef>

namespace headrace {

#if defined(__APPLE__) || defined(__powerpc64__)
inline constexpr std::size_t cache_line = 128;
#else
inline constexpr std::size_t cache_line = 64;
#endif

}  // namespace headrace
