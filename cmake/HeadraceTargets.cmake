# What every target of the project shares: language level, warnings, sanitizers, and the floating-point rule.

set(HEADRACE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
    -Woverloaded-virtual -Wcast-align -Werror)

# headrace_own(TARGET): warnings as errors and sanitizers, on our own targets only.
function(headrace_own target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE ${HEADRACE_WARNINGS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports false positives of these two inside inlined standard containers.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict -Wno-maybe-uninitialized)
  endif()
  if(HEADRACE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HEADRACE_SANITIZE} -fno-omit-frame-pointer -g)
    if(HEADRACE_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=all)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${HEADRACE_SANITIZE})
  endif()
endfunction()

# headrace_library(TARGET): a library whose arithmetic gives the same bits on every compiler and processor:
# a*b+c is never contracted into a fused multiply-add, whatever flags the consumer uses.
function(headrace_library target)
  headrace_own(${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -ffp-contract=off -fno-fast-math -fno-math-errno -fno-trapping-math)
endfunction()

# headrace_test(NAME SOURCES a.cpp ... LABELS unit ... [LIBRARIES ...] [TIMEOUT s]): one GoogleTest binary, one ctest entry.
# A case that cannot run here calls GTEST_SKIP() << "reason"; tools/test counts and lists it.
function(headrace_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  headrace_own(${name})
  add_dependencies(headrace_tests ${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES headrace::headrace)
  endif()
  # Tests that use the engine end oneTBB's threads in main(); the others need no more than GoogleTest's own.
  if("headrace::headrace" IN_LIST arg_LIBRARIES)
    set(main headrace_test_main)
  else()
    set(main GTest::gtest_main)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest ${main})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(CMAKE_CROSSCOMPILING)  # emulated
    math(EXPR arg_TIMEOUT "4 * ${arg_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(arg_LABELS MATCHES "hotpath|audit")
    # Counts page faults, locks or time: runs alone.
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  elseif(arg_LABELS MATCHES "stress|progress")
    # Wants real parallelism: takes two of ctest's places.
    set_tests_properties(${name} PROPERTIES PROCESSORS 2)
  endif()
endfunction()

# headrace_compile_fail(NAME SOURCE f.cpp EXPECT regex [LIBRARIES ...]): passes when the file does NOT compile and an error
# or note of the compiler matches; the same file with -DHEADRACE_CONTROL must compile, so that the test fails for one
# reason only. EXPECT must hold no brackets or semicolons. Both compilers are asked; sanitizer builds and builds for
# another processor would repeat them.
function(headrace_compile_fail name)
  cmake_parse_arguments(arg "" "SOURCE;EXPECT" "LIBRARIES" ${ARGN})
  if(HEADRACE_SANITIZE OR CMAKE_CROSSCOMPILING)
    return()
  endif()
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES headrace::headrace)
  endif()
  foreach(kind fail control)
    add_library(${name}_${kind} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCE})
    target_compile_features(${name}_${kind} PRIVATE cxx_std_20)
    target_include_directories(${name}_${kind} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name}_${kind} PRIVATE ${arg_LIBRARIES})
  endforeach()
  target_compile_definitions(${name}_control PRIVATE HEADRACE_CONTROL)
  add_test(NAME ${name}_control COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${name}_control)
  add_test(NAME ${name}_fail COMMAND ${CMAKE_COMMAND} -DBUILD_DIR=${PROJECT_BINARY_DIR} -DTARGET=${name}_fail
           -DEXPECT=${arg_EXPECT} -P ${PROJECT_SOURCE_DIR}/cmake/compile_fail.cmake)
  headrace_build_test(${name}_control ${name}_fail)
endfunction()

# headrace_build_test(NAME ...): these ctest entries build something in the build tree, one at a time. The label `build`
# lets a run leave them out where they would only repeat another run's result.
function(headrace_build_test)
  set_tests_properties(${ARGN} PROPERTIES LABELS "unit;build" RESOURCE_LOCK build_tree TIMEOUT 600)
endfunction()

# headrace_bench(NAME SOURCES ...): a benchmark, and a ctest entry that only checks that it runs and that its checksums agree.
function(headrace_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;SMOKE" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  headrace_own(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  if(NOT arg_LIBRARIES)
    set(arg_LIBRARIES headrace::headrace)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  if(HEADRACE_BUILD_TESTS)
    add_test(NAME ${name}_smoke COMMAND ${name} ${arg_SMOKE})
    set_tests_properties(${name}_smoke PROPERTIES LABELS "example" TIMEOUT 300)
  endif()
endfunction()

# headrace_explore(NAME SOURCES programs.cpp ... LABELS property ... [LIBRARIES ...] [RUNS n]): a binary that runs explored
# programs (tests/support/explore_main.cpp says how to call it), and a ctest entry with a short search.
function(headrace_explore name)
  cmake_parse_arguments(arg "" "RUNS" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/support/explore_main.cpp)
  headrace_own(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  if(NOT arg_RUNS)
    set(arg_RUNS 1000)
  endif()
  if(HEADRACE_SANITIZE)
    math(EXPR arg_RUNS "${arg_RUNS} / 10")  # a switch of stacks costs a hundred times as much there
  endif()
  add_test(NAME ${name} COMMAND ${name} --runs ${arg_RUNS})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()
