// Gaussian smoothing: kernels and values against MONAI's, a plain reference, borders, types, instruction sets.
#include <hwy/targets.h>

#include <cmath>
#include <headrace/transform/gaussian_smooth.hpp>

#include "transform/ops_support.hpp"

namespace headrace {
namespace {

using namespace test;

Sample with(Tensor image) {
  Sample s;
  s.set("image", std::move(image));
  return s;
}
Tensor smoothed(const GaussianSmoothOptions& o, const Tensor& image) {
  const GaussianSmooth op(o);
  Sample s = with(image);
  const SampleSpec promised = op.infer(s.spec());
  op.apply(s);
  EXPECT_EQ(s.spec(), promised);
  return s.get("image");
}
Tensor ramp() { return counting<float>({1, 4, 4}); }
// What one voxel of 1 becomes on a long line of zeros: the kernel itself.
std::vector<float> kernel(double sigma, GaussianKernel approx) {
  Tensor line = Tensor::zeros(DType::f32, {1, 41});
  line.mutable_data<float>()[20] = 1;
  return values_of<float>(smoothed({.sigma = sigma, .approx = approx, .padding = SmoothPadding::zeros}, line));
}

TEST(GaussianSmooth, Kernels_are_golden_H37) {
  const auto check = [](const std::vector<float>& k, std::initializer_list<double> half) {
    std::size_t i = 0;
    for (const double w : half) {
      EXPECT_NEAR(static_cast<double>(k[20 + i]), w, 6e-8) << i;
      EXPECT_EQ(k[20 - i], k[20 + i]);
      ++i;
    }
    EXPECT_EQ(k[20 + i], 0);
  };
  check(kernel(1, GaussianKernel::erf), {.3829249, .2417303, .06059754, .005977035, .0002292395});
  check(kernel(.5, GaussianKernel::erf), {.6826895, .1573054, .001349598});
  check(kernel(1, GaussianKernel::scalespace), {.4657596, .2079104, .04993877, .008155308, .00100693});
  check(kernel(1, GaussianKernel::sampled), {.39894228, .24197072, .05399097, .00443185, .00013383});
}

TEST(GaussianSmooth, Gives_golden_H38) {
  const auto expect = [](const std::vector<float>& v, std::size_t from, std::initializer_list<double> row) {
    for (const double e : row) EXPECT_NEAR(static_cast<double>(v[from++]), e, 2e-6);
  };
  const auto one = values_of<float>(smoothed({.sigma = 1, .padding = SmoothPadding::zeros}, ramp()));
  expect(one, 0, {1.316297, 2.136722, 2.609933, 2.223174, 3.251175, 4.858217, 5.492824, 4.467356});
  expect(one, 12, {4.943806, 7.001442, 7.474653, 5.850683});
  expect(values_of<float>(smoothed({.sigma = {1, .5}, .padding = SmoothPadding::zeros}, ramp())), 0,
         {1.392326, 2.213531, 2.900096, 2.915813});
}

TEST(GaussianSmooth, By_default_a_constant_image_stays_constant) {
  Tensor image = Tensor::zeros(DType::f32, {2, 5, 6, 7});
  image.fill_(3);
  for (const double sigma : {.2, 1.0, 3.0, 30.0})
    for (const float v : values_of<float>(smoothed({.sigma = sigma}, image))) ASSERT_NEAR(v, 3, 2e-6);
}

// Every rank, sizes below and above the kernel's reach, both paddings, against sums in double.
TEST(GaussianSmooth, Equals_a_plain_convolution) {
  Rng rng = stream(8);
  for (const Shape& shape :
       {Shape{2, 37}, Shape{1, 1}, Shape{2, 9, 33}, Shape{1, 3, 70}, Shape{2, 5, 9, 20}, Shape{1, 1, 2, 65}})
    for (const SmoothPadding padding : {SmoothPadding::border, SmoothPadding::zeros}) {
      const int rank = shape.rank() - 1;
      Tensor image = Tensor::zeros(DType::f32, shape);
      rng.fill_uniform(std::span<float>(image.mutable_data<float>(), static_cast<std::size_t>(image.numel())));
      const double sigma[] = {.7, 1.3, 2.1};
      OneOrMany<double> option(std::vector<double>(sigma, sigma + rank));
      const Tensor got = smoothed({.sigma = option, .padding = padding}, image);
      std::vector<double> now(static_cast<std::size_t>(image.numel()));
      for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<double>(image.data<float>()[i]);
      std::int64_t step = image.numel();
      step /= shape[0];
      for (int d = 0; d < rank; ++d) {
        const std::int64_t n = shape[d + 1];
        step /= n;
        std::vector<double> weights;
        double sum = 0;
        const auto reach = static_cast<std::int64_t>(std::floor(std::max(4 * sigma[d], .5) + .5));
        for (std::int64_t k = -reach; k <= reach; ++k) {
          const double c = std::sqrt(.5) / sigma[d], x = static_cast<double>(k);
          weights.push_back((std::erf(c * (x + .5)) - std::erf(c * (x - .5))) / 2);
          sum += weights.back();
        }
        std::vector<double> next(now.size());
        for (std::int64_t i = 0; i < image.numel(); ++i) {
          const std::int64_t p = i / step % n;
          double v = 0;
          for (std::int64_t k = -reach; k <= reach; ++k) {
            std::int64_t q = p + k;
            if (padding == SmoothPadding::zeros && (q < 0 || q >= n)) continue;
            q = std::min(std::max<std::int64_t>(q, 0), n - 1);
            v += weights[static_cast<std::size_t>(k + reach)] * now[static_cast<std::size_t>(i + (q - p) * step)];
          }
          next[static_cast<std::size_t>(i)] = padding == SmoothPadding::zeros ? v : v / sum;
        }
        now = next;
      }
      const auto v = values_of<float>(got);
      for (std::size_t i = 0; i < v.size(); ++i)
        ASSERT_NEAR(static_cast<double>(v[i]), now[i], 1e-6) << shape.str() << i;
    }
}

TEST(GaussianSmooth, The_same_bits_with_every_instruction_set_from_views_and_on_both_sides_of_the_coin) {
  const Tensor whole = counting<float>({2, 9, 10, 70});
  std::vector<Tensor> results;
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t left = all; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    results.push_back(smoothed({.sigma = 1.3}, whole.flip({1, 3})));
    results.push_back(smoothed({.sigma = 1.3}, whole.flip({1, 3}).contiguous()));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
  for (const Tensor& r : results) EXPECT_TRUE(r.equal(results[0]));
  for (const DType t : {DType::u8, DType::f16, DType::f32, DType::f64})
    for (const bool apply : {false, true}) {
      Sample s = with(ramp().to(t));
      RandGaussianSmooth().apply(s, {.apply = apply, .sigma = {1, 1, 1}});
      EXPECT_EQ(s.get("image").dtype(), DType::f32);
      if (!apply) {
        EXPECT_TRUE(s.get("image").equal(ramp()));
      }
    }
}

TEST(RandGaussianSmooth, Draws_eight_words_whatever_the_coin) {
  for (const double prob : {0.0, 1.0}) {
    Rng rng = stream(3);
    const auto plan = RandGaussianSmooth({.prob = prob, .sigma_y = {2, 2}}).plan(with(ramp()), rng);
    EXPECT_EQ(rng.position(), 8u);
    EXPECT_EQ(plan.sigma[1], 2);
    EXPECT_GE(plan.sigma[0], .25);
  }
  EXPECT_TRUE(says(message_of([] { GaussianSmooth({.sigma = -1.0}); }), {"GaussianSmooth", "sigma"}));
  EXPECT_TRUE(says(message_of([] { RandGaussianSmooth({.sigma_z = {0, 2000}}); }), {"RandGaussianSmooth", "sigma_z"}));
  Sample s = with(ramp());
  EXPECT_TRUE(says(message_of([&] { GaussianSmooth({.sigma = {1.0, 2.0, 3.0}}).apply(s); }), {"sigma", "2 spatial"}));
}

}  // namespace
}  // namespace headrace
