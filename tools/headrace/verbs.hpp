// The verbs of the `headrace` command. Each adds its subcommand and says how to run it; main() does the rest.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

namespace headrace::tool {

struct Verb {
  CLI::App* command = nullptr;
  std::function<int(bool json)> run;  // the exit status; an exception is a failure with its message
};

Verb add_run(CLI::App& app);
Verb add_verify(CLI::App& app);
Verb add_info(CLI::App& app);
Verb add_synth(CLI::App& app);

// Set by Ctrl-C (SIGINT) and SIGTERM: long verbs look at it and leave through Interrupted, so that files and threads
// are put in order.
bool interrupted() noexcept;
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

}  // namespace headrace::tool
