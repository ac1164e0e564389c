# Builds TARGET in BUILD_DIR and passes only when the compiler rejects it with a message that matches EXPECT.
# Only the compiler's own error and note lines are matched: the echoed command and quoted source lines could hold the
# expected words whatever the error is.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD_DIR} --target ${TARGET} RESULT_VARIABLE status
                OUTPUT_VARIABLE output ERROR_VARIABLE output ENCODING NONE)
message("${output}")
if(status EQUAL 0)
  message(FATAL_ERROR "${TARGET} compiles, but must not")
endif()
# Brackets and semicolons would confuse CMake's lists.
string(REGEX REPLACE "[][;]" " " lines "${output}")
string(REPLACE "\n" ";" lines "${lines}")
foreach(line IN LISTS lines)
  if(line MATCHES ":[0-9]+: (error|note): (.*)")
    if(CMAKE_MATCH_2 MATCHES "${EXPECT}")
      return()
    endif()
  endif()
endforeach()
message(FATAL_ERROR "${TARGET} does not compile, but for another reason than expected: ${EXPECT}")
