#include "smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <headrace/random/math.hpp>

#include "rows.hpp"
#include "weighted_rows.hpp"

namespace headrace::detail {
namespace {

// e^-t I_k(t), by the power series of the modified Bessel function: t = sigma^2 up to 10^6 would lose it, so large t go
// by the density, to which it tends.
double scaled_bessel(int k, double t) {
  const double half = t / 2;
  // (t/2)^k / k! e^-t, then terms (t/2)^2 / (m (m + k)).
  double log_term = -t;
  for (int i = 1; i <= k; ++i) log_term += math::log(half / i);
  double term = math::exp(log_term), sum = term;
  for (int m = 1; m < 10000; ++m) {
    term *= half / m * (half / (m + k));
    sum += term;
    if (term < sum * 1e-18) break;
  }
  return sum;
}

template <class T>
struct Filter {
  std::vector<T> weights;
  std::int64_t reach = 0;
};

// Rows of n elements that lie `step` apart, `size` of them: out row p = sum of weights * rows p - reach ... p + reach.
template <class T>
void filter_across(const T* in, T* out, std::int64_t size, std::int64_t step, std::int64_t n, const Filter<T>& f,
                   bool zeros) {
  std::vector<const T*> rows(f.weights.size());
  std::vector<T> weights(f.weights.size());
  for (std::int64_t p = 0; p < size; ++p) {
    std::int64_t count = 0;
    for (std::int64_t k = -f.reach; k <= f.reach; ++k) {
      const std::int64_t q = p + k;
      if (zeros && (q < 0 || q >= size)) continue;
      rows[static_cast<std::size_t>(count)] = in + std::clamp<std::int64_t>(q, 0, size - 1) * step;
      weights[static_cast<std::size_t>(count++)] = f.weights[static_cast<std::size_t>(k + f.reach)];
    }
    weighted_rows(rows.data(), weights.data(), count, n, out + p * step);
  }
}

// Along a row, from a copy of it with its surroundings.
template <class T>
void filter_along(const T* in, T* out, std::int64_t n, const Filter<T>& f, bool zeros, std::vector<T>& padded) {
  padded.resize(static_cast<std::size_t>(n + 2 * f.reach));
  std::fill_n(padded.begin(), f.reach, zeros ? T{0} : in[0]);
  std::copy_n(in, n, padded.begin() + f.reach);
  std::fill_n(padded.begin() + f.reach + n, f.reach, zeros ? T{0} : in[n - 1]);
  std::vector<const T*> rows(f.weights.size());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = padded.data() + k;
  weighted_rows(rows.data(), f.weights.data(), static_cast<std::int64_t>(rows.size()), n, out);
}

template <class T>
void filter(const Tensor& image, const Tensor& scratch, std::span<const std::vector<double>> kernels, bool zeros) {
  const int rank = image.rank() - 1;
  T* now = own_data<T>(image);
  T* other = own_data<T>(scratch);
  T* const home = now;
  const std::int64_t n = image.size(rank);
  for (int d = 0; d < rank; ++d) {
    const std::vector<double>& kernel = kernels[static_cast<std::size_t>(d)];
    if (kernel.empty()) continue;
    Filter<T> f{.weights = std::vector<T>(kernel.begin(), kernel.end()),
                .reach = static_cast<std::int64_t>(kernel.size() / 2)};
    if (d == rank - 1) {
      std::vector<T> padded;
      for (std::int64_t row = 0; row < image.numel() / n; ++row)
        filter_along(now + row * n, now + row * n, n, f, zeros, padded);
      continue;
    }
    // Everything behind axis d is one row; what is before it, repeated.
    std::int64_t before = 1, behind = 1;
    for (int e = 0; e <= d; ++e) before *= image.size(e);
    for (int e = d + 2; e <= rank; ++e) behind *= image.size(e);
    const std::int64_t size = image.size(d + 1);
    for (std::int64_t b = 0; b < before; ++b)
      filter_across(now + b * size * behind, other + b * size * behind, size, behind, behind, f, zeros);
    std::swap(now, other);
  }
  if (now != home) std::copy_n(now, image.numel(), home);
}

}  // namespace

std::vector<double> gaussian_kernel(double sigma, GaussianKernel approx, bool normalised) {
  const auto reach = static_cast<int>(std::floor(std::max(4 * sigma, 0.5) + 0.5));
  std::vector<double> w(static_cast<std::size_t>(2 * reach + 1));
  const double c = 0.70710678118654752 / sigma;
  double sum = 0;
  for (int i = 0; i <= reach; ++i) {
    double v = 0;
    if (approx == GaussianKernel::erf)
      v = std::max(0.0, (math::erf(c * (i + 0.5)) - math::erf(c * (i - 0.5))) / 2);
    else if (approx == GaussianKernel::sampled || sigma > 20)
      v = math::exp(-(i * i) / (2 * sigma * sigma)) / (2.50662827463100050 * sigma);
    else
      v = scaled_bessel(i, sigma * sigma);
    w[static_cast<std::size_t>(reach + i)] = w[static_cast<std::size_t>(reach - i)] = v;
    sum += i == 0 ? v : 2 * v;
  }
  if (normalised)
    for (double& v : w) v /= sum;
  return w;
}

void filter_axes(const Tensor& image, const Tensor& scratch, std::span<const std::vector<double>> kernels,
                 SmoothPadding padding) {
  if (image.numel() == 0) return;
  const bool zeros = padding == SmoothPadding::zeros;
  if (image.dtype() == DType::f64)
    filter<double>(image, scratch, kernels, zeros);
  else
    filter<float>(image, scratch, kernels, zeros);
}

}  // namespace headrace::detail
