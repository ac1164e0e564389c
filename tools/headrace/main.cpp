// The `headrace` command: parses the command line, runs a verb, and turns every failure into a message and an exit
// status.
//
// The locale is never set, so numbers are read and written with a point, whatever the environment says.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <headrace/io/error.hpp>
#include <headrace/runtime/worker_arena.hpp>
#include <headrace/version.hpp>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

#include "output.hpp"
#include "verbs.hpp"

namespace headrace::tool {
namespace {

enum Status : int { ok = 0, failure = 1, usage = 2, interrupted_status = 130 };

volatile std::sig_atomic_t stop_asked = 0;

// The first signal asks; a second one, for a verb that does not listen, ends the program as usual.
void ask_to_stop(int signal) {
  stop_asked = 1;
  std::signal(signal, SIG_DFL);
}

// Control characters, which a file's name may hold, as \xNN: a terminal would obey them.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char escaped[8];
    if ((byte >= 0x20 || c == '\n') && byte != 0x7f)
      out += c;
    else
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte), out += escaped;
  }
  return out;
}

// A full disk behind the standard output is a failure like any other.
int flushed(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fprintf(stderr, "headrace: cannot write the output\n");
  return failure;
}

int report(bool json, Status status, const std::string& message, const std::string& path = {}) {
  if (json) {
    nlohmann::ordered_json j{{"error", message}, {"status", static_cast<int>(status)}};
    if (!path.empty()) j["path"] = path;
    print_json(j);
  } else {
    std::fflush(stdout);
    std::fprintf(stderr, "headrace: %s\n", printable(message).c_str());
  }
  return status;
}

int run_verb(const Verb& verb, bool json) {
  try {
    return verb.run(json);
  } catch (const Interrupted&) {
    return report(json, interrupted_status, "interrupted");
  } catch (const IoError& e) {
    return report(json, failure, e.what(), e.path());
  } catch (const std::invalid_argument& e) {
    return report(json, usage, e.what());
  } catch (const std::bad_alloc&) {
    return report(json, failure, "not enough memory");
  } catch (const std::exception& e) {
    return report(json, failure, e.what());
  }
}

// A verb that does not exist is worth a better message than "a subcommand is required".
std::string mistake(const CLI::App& app, const CLI::ParseError& e, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return e.what();
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (verb->get_name() == argv[1]) return e.what();
  return "'" + std::string(argv[1]) + "' is not a verb; expected run, verify, synth or info";
}

int run_command(int argc, char** argv) {
  CLI::App app("Headrace: loads, augments and batches medical volumes; the same bits on any number of threads.",
               "headrace");
  app.footer(
      "Exit status: 0 done; 1 it failed (a file, the data, a difference found); 2 the command line is wrong; 130 "
      "interrupted.\n"
      "With --json exactly one JSON object is printed, also for an error: {\"error\": ..., \"status\": ...}.");
  app.set_version_flag("--version", version_string);
  app.require_subcommand(1);

  bool json = false;
  const std::vector<Verb> verbs{add_run(app), add_verify(app), add_synth(app), add_info(app)};
  for (const Verb& verb : verbs) {
    verb.command->add_flag("--json", json, "Print one JSON object");
    verb.command->footer(app.get_footer());
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help and --version
    return flushed(app.exit(e));
  } catch (const CLI::ParseError& e) {
    // The flag itself may not have been reached before the mistake.
    const bool wants_json =
        json || std::any_of(argv + 1, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
    return report(wants_json, usage, mistake(app, e, argc, argv) + (wants_json ? "" : "\nTry: headrace --help"));
  }

  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  for (const Verb& verb : verbs) {
    if (!verb.command->parsed()) continue;
    return flushed(run_verb(verb, json));
  }
  return usage;
}

}  // namespace

bool interrupted() noexcept { return stop_asked != 0; }

}  // namespace headrace::tool

int main(int argc, char** argv) {
  int status = 1;
  try {
    status = headrace::tool::run_command(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "headrace: %s\n", e.what());
  }
  // Ends the worker threads. Launches that have not started yet hold what they were for: refused until they come to
  // nothing, which takes microseconds; a worker that sits in a slow read is not waited for.
  for (int i = 0; i < 100 && !headrace::shutdown(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return status;
}
