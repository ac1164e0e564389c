// Runs the command as a user does: a shell line, its exit status and what it printed.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "io/nifti_file.hpp"

namespace headrace_test {

struct Result {
  int status = -1;
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

class CommandTest : public testing::Test {
 protected:
  // `environment` goes before the command: variables, or a wrapper such as "timeout 20".
  Result run(const std::string& arguments, const std::string& environment = "") const {
    const std::string out = folder / "stdout", err = folder / "stderr";
    const std::string line = environment + " '" HEADRACE_COMMAND "' " + arguments + " >'" + out + "' 2>'" + err + "'";
    const int status = std::system(line.c_str());
    const Bytes o = read_bytes(out), e = read_bytes(err);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, std::string(o.begin(), o.end()),
            std::string(e.begin(), e.end())};
  }
  // A run that fails: in words on standard error, or as JSON on standard output and nothing else.
  void expect_failure(const std::string& arguments, int status, const std::string& part) const {
    const Result plain = run(arguments);
    EXPECT_EQ(plain.status, status) << arguments << "\n" << plain.err;
    EXPECT_CONTAINS(plain.err, part);
    EXPECT_EQ(plain.out, "");
    const Result as_json = run(arguments + " --json");
    EXPECT_EQ(as_json.status, status) << arguments;
    EXPECT_EQ(as_json.err, "");
    const nlohmann::json j = as_json.json();
    ASSERT_TRUE(j.is_object()) << as_json.out;
    EXPECT_CONTAINS(j["error"].get<std::string>(), part);
    EXPECT_EQ(j["status"], status);
  }

  Folder folder;
};

}  // namespace headrace_test
