// main() of every test that uses the engine. Launches that have not started yet hold references to what they were for, in
// memory that a leak checker cannot read; they come to nothing soon, and oneTBB's threads can be ended.
#include <gtest/gtest.h>
#include <headrace/runtime/worker_arena.hpp>

#include <chrono>
#include <thread>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  // Refused where a test left a thread behind on purpose, or where no worker is allowed: then not for ever.
  for (int i = 0; i < 200 && !headrace::shutdown(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return status;
}
