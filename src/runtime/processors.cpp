#include "headrace/runtime/processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

namespace headrace {
namespace {

unsigned affinity_count() {
  // The mask may be larger than cpu_set_t on large machines: grow until the kernel is content.
  for (std::size_t cpus = 1024; cpus <= (1u << 20); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(bytes, set);
    const int result = sched_getaffinity(0, bytes, set);
    const int count = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (result == 0 && count > 0) return static_cast<unsigned>(count);
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

unsigned rounded_up(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  const std::int64_t cpus = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<unsigned>(std::min<std::int64_t>(cpus, std::numeric_limits<int>::max()));
}

bool read_number(const std::string& path, std::int64_t& value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> value);
}

// cgroup v2: "max 100000" or "150000 100000".
unsigned quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  std::int64_t period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  std::istringstream digits(quota);
  std::int64_t value = 0;
  return digits >> value ? rounded_up(value, period) : 0;
}

unsigned quota_v1(const std::string& folder) {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (!read_number(folder + "/cpu.cfs_quota_us", quota) || !read_number(folder + "/cpu.cfs_period_us", period))
    return 0;
  return rounded_up(quota, period);
}

bool has_controller(const std::string& list, const std::string& name) {
  std::istringstream names(list);
  for (std::string one; std::getline(names, one, ',');) {
    if (one == name) return true;
  }
  return false;
}

}  // namespace

namespace detail {

unsigned cgroup_quota(const std::string& root) {
  unsigned smallest = 0;
  const auto consider = [&](unsigned cpus) {
    if (cpus != 0 && (smallest == 0 || cpus < smallest)) smallest = cpus;
  };
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // hierarchy:controllers:path
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && !has_controller(controllers, "cpu")) continue;
    // A quota of any ancestor binds too. Inside a container the named folder may not exist; the root of the mount does.
    for (;;) {
      if (path == "/") path.clear();
      if (v2) {
        consider(quota_v2(root + "/sys/fs/cgroup" + path));
        consider(quota_v2(root + "/sys/fs/cgroup/unified" + path));
      } else {
        consider(quota_v1(root + "/sys/fs/cgroup/cpu" + path));
        consider(quota_v1(root + "/sys/fs/cgroup/cpu,cpuacct" + path));
      }
      if (path.empty()) break;
      const auto slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
  }
  return smallest;
}

}  // namespace detail

unsigned default_threads() {
  const unsigned cpus = affinity_count();
  const unsigned quota = detail::cgroup_quota("");
  return std::max(1u, quota == 0 ? cpus : std::min(cpus, quota));
}

}  // namespace headrace
