#include "headrace/runtime/processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace headrace {
namespace {

// A copy of the files that the kernel shows.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = testing::TempDir() + "headrace_cgroup_XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  const std::string& path() const { return root_; }

 private:
  std::string root_;
};

TEST(Processors, Control_groups_version_2) {
  const FakeRoot root;
  EXPECT_EQ(detail::cgroup_quota(root.path()), 0u) << "no control groups";
  root.write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 0u);
  root.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 0u);
  root.write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 3u) << "a parent's quota, rounded up";
  root.write("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 1u);
}

TEST(Processors, Control_groups_version_1) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/docker/x\n0::/\n");
  root.write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 0u);
  // Inside a container the mount's root is the group itself.
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 2u);
}

TEST(Processors, Nonsense_is_no_quota) {
  const FakeRoot root;
  root.write("/proc/self/cgroup", "rubbish\n0::\n1:cpu\n");
  root.write("/sys/fs/cgroup/cpu.max", "many 0\n");
  EXPECT_EQ(detail::cgroup_quota(root.path()), 0u);
}

TEST(Processors, The_default_follows_the_affinity_mask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(default_threads(), static_cast<unsigned>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(default_threads(), 1u);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace headrace
