// A batch slot that holds the engine's lease on itself while the trainer has it.
#pragma once

#include <headrace/runtime/engine.hpp>

#include "loader_job.hpp"

namespace headrace::detail {

using LoaderEngine = Engine<LoaderJob>;

struct LoaderSlot final : BatchSlot {
  LoaderEngine::Lease held;

  void give_back() noexcept override {
    drop_samples();
    // Moved out first: once the lease is released, the consumer may bind this very slot to another step.
    const LoaderEngine::Lease last = std::move(held);
  }
};

}  // namespace headrace::detail
