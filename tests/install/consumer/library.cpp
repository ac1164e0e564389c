// Uses headrace::headrace from an install tree. What it prints must not depend on the compiler flags of this file.
#include <cstdio>
#include <headrace/version.hpp>

int main() { std::printf("library %s\n", headrace::version_string); }
