set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache must be told before it keeps what was compiled over a precompiled header, and finds
  # for pip's build folder what the preset's has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      ${TESSERA_CCACHE})
endif()

add_library(tessera_options INTERFACE)
target_compile_options(tessera_options INTERFACE -Wall -Wextra -Wpedantic)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees the inactive members of an inlined std::variant as uninitialized.
  target_compile_options(tessera_options INTERFACE -Wno-maybe-uninitialized)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TESSERA_COMPILE_IN_BATCHES)
  # A batch fills the heap that GCC collects by default several times over.
  target_compile_options(tessera_options INTERFACE --param=ggc-min-heapsize=524288)
endif()
if(TESSERA_WERROR)
  target_compile_options(tessera_options INTERFACE -Werror)
endif()
if(TESSERA_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "TESSERA_FUZZ needs Clang (preset fuzz), found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  set(TESSERA_SANITIZE fuzzer-no-link,address,undefined)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_options INTERFACE
    -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tessera_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()
if(TESSERA_COVERAGE)
  target_compile_options(tessera_options INTERFACE --coverage)
  target_link_options(tessera_options INTERFACE --coverage)
endif()

# The library is what is optimised and looked at; a test built plainly compiles twice as fast.
# After tessera_options in a list of libraries, as these take back what it says.
add_library(tessera_test_options INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR TESSERA_SANITIZE)
  target_compile_options(tessera_test_options INTERFACE -O0)
endif()
if(TESSERA_SANITIZE MATCHES "undefined")
  target_compile_options(tessera_test_options INTERFACE -fno-sanitize=undefined)
endif()
