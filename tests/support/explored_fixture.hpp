// A GoogleTest fixture for explored programs: leaves them out where the explorer cannot run, and says why.
#pragma once
#include <gtest/gtest.h>

#include "support/explorer.hpp"

namespace headrace::test {

class ExploredFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (explorer_left_out != nullptr) GTEST_SKIP() << explorer_left_out;
  }
};

}  // namespace headrace::test
