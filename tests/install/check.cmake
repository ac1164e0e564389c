# cmake -DBUILD_DIR=... -DCONSUMER=... -DWORK_DIR=... -DCOMPILER=... [-DTOOLCHAIN=... -DEMULATOR=...] -P check.cmake
# TOOLCHAIN and EMULATOR: for a build for another processor.
set(prefix ${WORK_DIR}/prefix)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message("${command}\n${output}")
    message(FATAL_ERROR "exit status: ${status}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# consumer(NAME FLAGS [COMPONENTS]): configures, builds and runs the consumer; `output` is what it printed.
function(consumer name flags)
  set(build ${WORK_DIR}/${name})
  run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${build} -G Ninja -DCMAKE_BUILD_TYPE= -DCMAKE_CXX_COMPILER=${COMPILER}
      -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_FLAGS=${flags} -DCOMPONENTS=${ARGN} ${for_processor})
  run(${CMAKE_COMMAND} --build ${build} --parallel 2)
  set(all "")
  foreach(program lockfree random library)
    if(EXISTS ${build}/use_${program})
      run(${EMULATOR} ${build}/use_${program})
      string(APPEND all "${output}")
    endif()
  endforeach()
  message("${name}:\n${all}")
  set(output "${all}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})

set(native -march=native)
set(for_processor)
if(TOOLCHAIN)
  # Packages are looked for outside the toolchain's root as well: the prefix is there.
  set(for_processor -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN} -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH)
  set(native -march=armv8.2-a)
endif()

consumer(small "-O1" lockfree,random)
consumer(plain "-O1")
set(expected "${output}")
consumer(careless "-O3 ${native} -ffast-math")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the consumer's compiler flags change what the library computes")
endif()

# The same on every compiler and optimisation level: pinned when the stream version was fixed.
file(STRINGS ${CONSUMER}/../expected.txt lines)
foreach(line IN LISTS lines)
  string(FIND "${expected}" "${line}\n" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "expected the line: ${line}")
  endif()
endforeach()
