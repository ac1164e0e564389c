// What the intensity ops share: where their results go, and the linear mapping.
#pragma once

#include <headrace/transform/scale_intensity_range.hpp>
#include <optional>
#include <string_view>

namespace headrace::detail {

// The smallest difference that can be divided by in the type of the computation: below it the range counts as a point.
bool degenerate(double a_min, double a_max, DType computed_in) noexcept;

// Checks a pair of options (finite, and with clip in order). Throws std::invalid_argument naming op and option.
void check_target(const char* op, const std::optional<double>& b_min, const std::optional<double>& b_max, bool clip);

// Memory for the field's next value: the field itself when its type stays and it may be written in place, otherwise
// Sample::output(). An op that announced Effect::rewrite writes in place only where nobody placed the field.
Tensor intensity_target(Sample& sample, std::string_view field, DType dtype, bool announced_rewrite);

// to = map(from), element by element. Same shape; `to` may be `from` itself when the types are equal.
void rescale(const Tensor& from, const Tensor& to, const Rescale& map);

}  // namespace headrace::detail
