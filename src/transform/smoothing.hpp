// Separable filters over channel-first images, and Gaussian kernels.
#pragma once

#include <array>
#include <cstdint>
#include <headrace/transform/gaussian_smooth.hpp>
#include <span>
#include <vector>

namespace headrace::detail {

// 2 reach + 1 weights for the offsets -reach ... reach. Normalised: divided by their sum.
std::vector<double> gaussian_kernel(double sigma, GaussianKernel approx, bool normalised);

// image = image filtered along each spatial axis with its kernel (empty: not at all), in place. `image` is contiguous,
// [C, 1 to 3 axes], f32 or f64, owned by the caller; `scratch` has its type and shape.
void filter_axes(const Tensor& image, const Tensor& scratch, std::span<const std::vector<double>> kernels,
                 SmoothPadding padding);

}  // namespace headrace::detail
