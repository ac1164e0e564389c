// The one-thread half of verify(): does an op keep anything between two calls?
#pragma once

#include <headrace/loader/verify.hpp>

namespace headrace::detail {

// Adds the samples compared to `samples`.
std::optional<VerifyDifference> find_hidden_state(const Dataset& dataset, const Pipeline& pipeline,
                                                  const VerifyOptions& options, std::uint64_t& samples);

}  // namespace headrace::detail
