#include <gtest/gtest.h>

#include <headrace/transform/options.hpp>
#include <limits>

#include "spatial_support.hpp"

namespace headrace {
namespace {

TEST(Options, OneOrManyTellsOneValueFromAListOfOne) {
  const Sizes none;
  EXPECT_TRUE(none.empty());
  const Sizes one = 96;
  EXPECT_TRUE(one.is_one());
  EXPECT_EQ(one.at(2), 96);
  const Sizes list = {96};
  EXPECT_FALSE(list.is_one());
  EXPECT_THROW(list.at(1), std::out_of_range);
  const OneOrMany<double> three = {1.5, 1.5, 2};
  EXPECT_EQ(three.at(2), 2.0);
}

TEST(Options, NamesRoundTrip) {
  for (const auto m : {Interpolation::by_dtype, Interpolation::nearest, Interpolation::linear})
    EXPECT_EQ(parse_interpolation(name_of(m)), m);
  EXPECT_EQ(parse_interpolation("bilinear"), Interpolation::linear);
  for (const auto p : {Padding::zeros, Padding::border, Padding::reflection}) EXPECT_EQ(parse_padding(name_of(p)), p);
  test::expect_error([] { parse_interpolation("cubic"); }, {"cubic", "nearest"});
  test::expect_error([] { parse_padding("wrap"); }, {"wrap", "reflection"});
}

TEST(Options, FallBackSizes) {
  const Shape image{10, 11, 12};
  EXPECT_EQ(detail::fall_back({}, image, "Op", "size"), image);
  EXPECT_EQ(detail::fall_back(5, image, "Op", "size"), (Shape{5, 5, 5}));
  EXPECT_EQ(detail::fall_back(-1, image, "Op", "size"), image);
  EXPECT_EQ(detail::fall_back({4, -1, 0}, image, "Op", "size"), (Shape{4, 11, 12}));
  test::expect_error(
      [&] {
        detail::fall_back({4, 4}, image, "Op", "size");
      },
      {"Op", "size", "[4, 4]", "3 spatial axes"});
  test::expect_error([&] { detail::fall_back({4}, image, "Op", "size"); }, {"[4]"});
}

TEST(Options, TextIsExactAndUnambiguous) {
  EXPECT_EQ(detail::option_text(0.1), "0.1");
  EXPECT_EQ(detail::option_text(0.1f), "0.10000000149011612");
  EXPECT_EQ(detail::option_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(detail::option_text(true), "true");
  EXPECT_EQ(detail::option_text("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\"");
  EXPECT_EQ(detail::OptionList().add("a", Sizes{1}).add("b", Sizes(1)).add("c", Padding::zeros).str(),
            "a=[1], b=1, c=zeros");
}

}  // namespace
}  // namespace headrace
