// Uses headrace::lockfree from an install tree. What it prints must not depend on the compiler flags of this file.
#include <cstdio>
#include <headrace/version.hpp>

int main() { std::printf("lockfree %s\n", headrace::version_string); }
