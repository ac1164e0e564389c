#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <headrace/sample/affine.hpp>
#include <limits>
#include <random>
#include <string>

using headrace::Affine;

namespace {

using Engine = std::mt19937_64;
double uniform(Engine& e, double low, double high) { return std::uniform_real_distribution<double>(low, high)(e); }

Affine rotation(int axis, double angle) {
  Affine a;
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  a(i, i) = a(j, j) = std::cos(angle);
  a(i, j) = -std::sin(angle);
  a(j, i) = std::sin(angle);
  return a;
}
Affine random_affine(Engine& e) {
  return Affine::translation({uniform(e, -200, 200), uniform(e, -200, 200), uniform(e, -200, 200)}) *
         rotation(0, uniform(e, -3, 3)) * rotation(1, uniform(e, -3, 3)) * rotation(2, uniform(e, -3, 3)) *
         Affine::scaling({uniform(e, 0.3, 5), uniform(e, -5, -0.3), uniform(e, 0.3, 5)});
}
double distance(const Affine& a, const Affine& b) {
  double worst = 0;
  for (std::size_t i = 0; i < 16; ++i) worst = std::max(worst, std::fabs(a.m[i] - b.m[i]));
  return worst;
}

TEST(Affine, ComposesAsItApplies) {
  Engine e(50);
  for (int k = 0; k < 500; ++k) {
    const Affine a = random_affine(e), b = random_affine(e);
    const std::array<double, 3> p{uniform(e, -100, 100), uniform(e, -100, 100), uniform(e, -100, 100)};
    const auto direct = (a * b).apply(p), nested = a.apply(b.apply(p));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(direct[i], nested[i], 1e-9 * (1 + std::fabs(direct[i])));
    EXPECT_EQ((a * b)(3, 0), 0);
    EXPECT_EQ((a * b)(3, 3), 1);
    EXPECT_EQ(a * Affine::identity(), a);
    EXPECT_NEAR((a * b).determinant(), a.determinant() * b.determinant(),
                1e-9 * std::fabs(a.determinant() * b.determinant()));
  }
}

TEST(Affine, InverseUndoesBothWays) {
  Engine e(51);
  for (int k = 0; k < 500; ++k) {
    Affine a = random_affine(e);
    if (k % 2) a(0, 1) += uniform(e, -0.5, 0.5);  // shear
    EXPECT_LT(distance(a * a.inverse(), Affine::identity()), 1e-11);
    EXPECT_LT(distance(a.inverse() * a, Affine::identity()), 1e-11);
  }
  // Exact where the numbers are.
  const Affine a = Affine::translation({3, -5, 7}) * Affine::scaling({2, -4, 0.5});
  const Affine i = a.inverse();
  EXPECT_EQ(i(0, 0), 0.5);
  EXPECT_EQ(i(1, 1), -0.25);
  EXPECT_EQ(i(2, 2), 2);
  EXPECT_EQ(i.apply(a.apply({11, 12, 13})), (std::array<double, 3>{11, 12, 13}));
}

TEST(Affine, SingularityIsJudgedRelativeToTheGrid) {
  for (double unit : {1e-6, 1e-3, 1.0, 1e3, 1e6})
    EXPECT_NO_THROW(Affine::scaling({unit, unit, unit}).inverse()) << unit;
  EXPECT_NO_THROW(Affine::scaling({1e-6, 1, 1e6}).inverse());
  Affine parallel;
  parallel(0, 1) = 1;
  parallel(1, 1) = 0;  // two axes along x
  for (const Affine& bad :
       {Affine::scaling({0, 1, 1}), parallel, Affine::scaling({1, std::nan(""), 1}),
        Affine::scaling({1, 1, std::numeric_limits<double>::infinity()}), Affine::translation({std::nan(""), 0, 0})}) {
    try {
      (void)bad.inverse();
      ADD_FAILURE() << bad.str();
    } catch (const std::domain_error& x) {
      EXPECT_NE(std::string(x.what()).find(bad.str()), std::string::npos) << x.what();
    }
  }
}

TEST(Affine, FlipMapsTheLastVoxelToTheFirst) {
  for (int axis = 0; axis < 3; ++axis) {
    const Affine f = Affine::flip(axis, 10);
    std::array<double, 3> p{3, 4, 5}, expected = p;
    expected[static_cast<std::size_t>(axis)] = 9 - p[static_cast<std::size_t>(axis)];
    EXPECT_EQ(f.apply(p), expected);
    EXPECT_EQ(f * f, Affine::identity());
    EXPECT_EQ(f.determinant(), -1);
  }
}

TEST(Affine, SpacingIsTheColumnsLength) {
  EXPECT_EQ(Affine::scaling({2, -3, 0}).spacing(), (std::array<double, 3>{2, 3, 1}));
  Affine a;
  a(0, 0) = 3;
  a(1, 0) = 4;
  EXPECT_EQ(a.spacing()[0], 5);
}

// Every order and sign of axes, turned a little: the letters of the nearest straight grid.
TEST(Affine, AxisCodesOfObliqueGrids) {
  Engine e(52);
  const char positive[] = "RAS", negative[] = "LPI";
  std::array<int, 3> order{0, 1, 2};
  do {
    for (int signs = 0; signs < 8; ++signs) {
      Affine straight;
      std::string codes;
      for (int c = 0; c < 3; ++c) {
        const int r = order[static_cast<std::size_t>(c)];
        const bool minus = (signs >> c) & 1;
        for (int i = 0; i < 3; ++i) straight(i, c) = 0;
        straight(r, c) = (minus ? -1 : 1) * uniform(e, 0.2, 6);
        codes += minus ? negative[r] : positive[r];
      }
      EXPECT_EQ(straight.axis_codes(), codes);
      for (int k = 0; k < 20; ++k) {
        const Affine turned = rotation(0, uniform(e, -0.3, 0.3)) * rotation(1, uniform(e, -0.3, 0.3)) *
                              rotation(2, uniform(e, -0.3, 0.3)) * straight;
        EXPECT_EQ(turned.axis_codes(), codes) << turned.str();
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Affine, AxisCodesNameEachDirectionOnce) {
  Engine e(53);
  for (int k = 0; k < 1000; ++k) {
    const std::string codes = random_affine(e).axis_codes();
    for (const char* pair : {"LR", "PA", "IS"})
      EXPECT_EQ(std::count_if(codes.begin(), codes.end(), [&](char c) { return c == pair[0] || c == pair[1]; }), 1)
          << codes;
  }
  for (const Affine& bad : {Affine::scaling({0, 1, 1}), Affine::scaling({std::nan(""), 1, 1})})
    EXPECT_THROW((void)bad.axis_codes(), std::domain_error);
  Affine parallel;
  parallel(0, 1) = 1;
  parallel(1, 1) = 0;
  EXPECT_THROW((void)parallel.axis_codes(), std::domain_error);
}

TEST(Affine, ClosenessIsAbsoluteAndRelative) {
  const Affine a = Affine::scaling({1000, 1, 1});
  EXPECT_TRUE(a.close_to(Affine::scaling({1000.01, 1, 1})));
  EXPECT_FALSE(a.close_to(Affine::scaling({1000.02, 1, 1})));
  EXPECT_TRUE(a.close_to(Affine::scaling({1000, 1.001, 1})));
  EXPECT_FALSE(a.close_to(Affine::scaling({1000, 1.0011, 1})));
  EXPECT_FALSE(a.close_to(Affine::scaling({1000, std::nan(""), 1})));
  EXPECT_FALSE(a.close_to(Affine::scaling({1000.0001, 1, 1}), 0, 0));
  EXPECT_TRUE(a.close_to(a, 0, 0));
}

TEST(Affine, PrintsShortestNumbers) {
  EXPECT_EQ((Affine::translation({0.1, -2, 1e-7}) * Affine::scaling({1.5, 1, 1})).str(),
            "[1.5 0 0 0.1; 0 1 0 -2; 0 0 1 1e-07]");
}

}  // namespace
