# Toolchain file of the preset `aarch64`: g++ for AArch64, libraries from the private sysroot that tools/aarch64 makes
# (build/aarch64_sysroot), programs run under QEMU's user-mode emulation.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(headrace_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64_sysroot ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${headrace_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
if(NOT DEFINED CMAKE_FIND_ROOT_PATH_MODE_PACKAGE)  # BOTH: somebody looks for a package that is not in the sysroot
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
endif()
set(ENV{PKG_CONFIG_LIBDIR} ${headrace_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${headrace_sysroot}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${headrace_sysroot})

# The compiler would look into the host's /usr/include for what a package brings.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${headrace_sysroot}/usr/include/aarch64-linux-gnu -isystem ${headrace_sysroot}/usr/include")
# What a library of the sysroot needs in turn.
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wl,-rpath-link,${headrace_sysroot}/usr/lib/aarch64-linux-gnu:${headrace_sysroot}/lib/aarch64-linux-gnu")

# The loader and all libraries at run time come from the sysroot, too.
find_program(HEADRACE_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(HEADRACE_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${HEADRACE_QEMU} -L ${headrace_sysroot})
endif()
