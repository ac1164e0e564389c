// The judges of queue histories must be able to condemn, and to acquit.
#include "support/queue_history.hpp"

#include <gtest/gtest.h>

namespace headrace::test {
namespace {

using K = QueueOp::Kind;

TEST(Linearizable, Accepts_what_a_queue_can_do) {
  EXPECT_TRUE(linearizable({}, 1));
  EXPECT_TRUE(
      linearizable({{K::pushed, 1, 1, 2}, {K::pushed, 2, 3, 4}, {K::popped, 1, 5, 6}, {K::popped, 2, 7, 8}}, 2));
  EXPECT_TRUE(linearizable({{K::pushed, 1, 1, 10}, {K::popped, 1, 2, 3}}, 1)) << "the push took effect early";
  EXPECT_TRUE(linearizable({{K::pushed, 1, 1, 10}, {K::pushed, 2, 2, 9}, {K::popped, 2, 3, 4}}, 2));
  EXPECT_TRUE(linearizable({{K::pushed, 1, 1, 2},
                            {K::close, 0, 3, 6},
                            {K::pushed, 2, 4, 5},
                            {K::popped, 1, 7, 8},
                            {K::popped, 2, 9, 10},
                            {K::drained, 0, 11, 12}},
                           2));
  EXPECT_TRUE(linearizable({{K::pushed, 1, 1, 10}, {K::full, 0, 2, 3}, {K::nothing, 0, 4, 5}}, 1))
      << "full on an empty queue while a push is under way";
}

TEST(Linearizable, Refuses_what_none_can_do) {
  EXPECT_FALSE(linearizable({{K::pushed, 1, 1, 2}, {K::pushed, 2, 3, 4}, {K::popped, 2, 5, 6}}, 2)) << "order";
  EXPECT_FALSE(linearizable({{K::pushed, 1, 1, 2}, {K::popped, 1, 3, 4}, {K::popped, 1, 5, 6}}, 2)) << "twice";
  EXPECT_FALSE(linearizable({{K::popped, 1, 1, 2}, {K::pushed, 1, 3, 4}}, 2)) << "before";
  EXPECT_FALSE(linearizable({{K::pushed, 1, 1, 2}, {K::nothing, 0, 3, 4}}, 2)) << "empty";
  EXPECT_FALSE(linearizable({{K::full, 0, 1, 2}}, 1)) << "full with nobody inside";
  EXPECT_FALSE(linearizable({{K::pushed, 1, 1, 9}, {K::full, 0, 2, 3}}, 2)) << "full with one inside of two";
  EXPECT_FALSE(linearizable({{K::pushed, 1, 1, 2}, {K::pushed, 2, 3, 4}}, 1)) << "more than the capacity";
  EXPECT_FALSE(linearizable({{K::close, 0, 1, 2}, {K::pushed, 1, 3, 4}}, 1)) << "ok after the close";
  EXPECT_FALSE(linearizable({{K::refused, 0, 1, 2}, {K::close, 0, 3, 4}}, 1)) << "closed before the close";
  EXPECT_FALSE(linearizable({{K::pushed, 1, 1, 2}, {K::close, 0, 3, 4}, {K::drained, 0, 5, 6}}, 1)) << "end too early";
}

TEST(BadPattern, Finds_each_of_the_four_and_nothing_else) {
  EXPECT_EQ(bad_pattern({{K::pushed, 1, 1, 2},
                         {K::pushed, 2, 1, 3},
                         {K::popped, 2, 4, 5},
                         {K::popped, 1, 4, 6},
                         {K::nothing, 0, 7, 8}}),
            "");
  EXPECT_EQ(bad_pattern({{K::pushed, 1, 1, 2}, {K::nothing, 0, 3, 8}, {K::popped, 1, 4, 6}}), "");
  EXPECT_NE(bad_pattern({{K::pushed, 1, 1, 2}, {K::popped, 1, 3, 4}, {K::popped, 1, 5, 6}}).find("twice"),
            std::string::npos);
  EXPECT_NE(bad_pattern({{K::popped, 1, 1, 2}, {K::pushed, 1, 3, 4}}).find("before"), std::string::npos);
  EXPECT_NE(bad_pattern({{K::popped, 7, 1, 2}}).find("never"), std::string::npos);
  EXPECT_NE(bad_pattern({{K::pushed, 1, 1, 2}, {K::pushed, 2, 3, 4}, {K::popped, 2, 5, 6}, {K::popped, 1, 7, 8}})
                .find("inverted"),
            std::string::npos);
  EXPECT_NE(bad_pattern({{K::pushed, 1, 1, 2}, {K::pushed, 2, 3, 4}, {K::popped, 2, 5, 6}}).find("inverted"),
            std::string::npos)
      << "the first is never popped";
  EXPECT_NE(bad_pattern({{K::pushed, 1, 1, 2}, {K::nothing, 0, 3, 4}, {K::popped, 1, 5, 6}}).find("empty"),
            std::string::npos);
  // No single element is inside all the time, but at every moment one is.
  EXPECT_NE(bad_pattern({{K::pushed, 1, 1, 2},
                         {K::pushed, 2, 3, 6},
                         {K::nothing, 0, 4, 9},
                         {K::popped, 1, 7, 8},
                         {K::popped, 2, 10, 11}})
                .find("empty"),
            std::string::npos);
  EXPECT_EQ(bad_pattern({{K::pushed, 1, 10, 20}, {K::nothing, 0, 30, 40}, {K::popped, 1, 50, 60}}, 15), "")
      << "within the clock's doubt";
}

}  // namespace
}  // namespace headrace::test
