// How many threads this process may usefully run.
#pragma once
#include <string>

namespace headrace {

/// The default number of worker threads: the processors this process may run on (its affinity mask), or the control
/// group's CPU quota rounded up, whichever is smaller; at least 1. Reads /proc and /sys; not for hot paths.
[[nodiscard]] unsigned default_threads();

namespace detail {

/// The CPU quota, in processors rounded up, found under `root` ("" for the real file system; a test passes a copy) for
/// the control groups named in `root`/proc/self/cgroup; 0 where there is none.
[[nodiscard]] unsigned cgroup_quota(const std::string& root);

}  // namespace detail
}  // namespace headrace
