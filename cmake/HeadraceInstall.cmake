# Two export sets: the small targets can be found and linked where the big one's dependencies are absent.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headrace)

foreach(target headrace headrace_random)
  # Before 1.0 a minor version may change the binary interface. The shared libraries find each other in their own folder.
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} INSTALL_RPATH "$ORIGIN"
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endforeach()

install(TARGETS headrace_random headrace_lockfree EXPORT headraceSmallTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS headrace EXPORT headraceTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT headraceSmallTargets NAMESPACE headrace:: DESTINATION ${package_dir})
install(EXPORT headraceTargets NAMESPACE headrace:: DESTINATION ${package_dir})

set(HEADRACE_IS_SHARED OFF)
if(BUILD_SHARED_LIBS)
  set(HEADRACE_IS_SHARED ON)
endif()
configure_package_config_file(cmake/headraceConfig.cmake.in headraceConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(headraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headraceConfig.cmake ${PROJECT_BINARY_DIR}/headraceConfigVersion.cmake
        DESTINATION ${package_dir})
