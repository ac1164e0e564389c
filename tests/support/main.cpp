// main() of every test that uses the engine. Launches that never started hold references to what they were for, in memory
// that a leak checker cannot read; ending oneTBB's threads lets them go.
#include <gtest/gtest.h>
#include <headrace/runtime/worker_arena.hpp>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  headrace::shutdown();
  return status;
}
