// The affine of a NIfTI-1 header: which form is used, and what is repaired when forms and pixdim disagree.
#pragma once

#include <array>
#include <headrace/io/nifti_header.hpp>
#include <string>

namespace headrace::detail {

// Repairs pixdim and the form codes, chooses the form, reconciles it with pixdim; sets affine and form, appends notes.
// Throws IoError for a quaternion that is none and for an affine that is not finite.
void choose_affine(NiftiHeader& header, const std::string& path);

// Quaternion (b, c, d) of a rotation matrix given by rows, with a = sqrt(1 - b^2 - c^2 - d^2) >= 0.
std::array<double, 3> quaternion_of(const std::array<double, 9>& rotation);

}  // namespace headrace::detail
