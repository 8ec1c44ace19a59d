# A room is one folder under tessera/, one namespace and one static library.
#
#   tessera_room(NAME name SOURCES a.cc ... [DEPS targets ...] [PRIVATE_DEPS targets ...]
#                [TESTS a_test.cc ...] [TEST_DEPS targets ...] [OF_PROGRAM] [WITHOUT_THREADS]
#                [SLOW_UNDER_TSAN pattern ...])
#
# makes tessera_<name> from SOURCES and, when tests are on, one binary <name>_test from TESTS.
# A room OF_PROGRAM is no part of what users link.  The tests of one WITHOUT_THREADS tell
# ThreadSanitizer nothing, so that its preset builds none of them; and it
# leaves out what matches a pattern of SLOW_UNDER_TSAN: long tests whose threads others show too.
set_property(GLOBAL PROPERTY TESSERA_ROOMS "")

# Sources that are compiled at once share what they include and instantiate, which is most of it.
function(tessera_compile_in_batches target size)
  if(TESSERA_COMPILE_IN_BATCHES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    # A source that another includes looks like a header to GCC.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

function(tessera_room)
  cmake_parse_arguments(ROOM "OF_PROGRAM;WITHOUT_THREADS" "NAME"
                        "SOURCES;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS;SLOW_UNDER_TSAN" ${ARGN})
  set(target tessera_${ROOM_NAME})
  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ROOM_DEPS}
                        PRIVATE ${ROOM_PRIVATE_DEPS} $<BUILD_INTERFACE:tessera_options>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ROOM_NAME})
  tessera_compile_in_batches(${target} 12)
  if(NOT ROOM_OF_PROGRAM)
    set_property(GLOBAL APPEND PROPERTY TESSERA_ROOMS ${target})
  endif()
  if(ROOM_WITHOUT_THREADS AND TESSERA_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(TESSERA_BUILD_TESTS AND ROOM_TESTS)
    set(filter "")
    if(TESSERA_SANITIZE STREQUAL "thread" AND ROOM_SLOW_UNDER_TSAN)
      list(JOIN ROOM_SLOW_UNDER_TSAN ":" patterns)
      set(filter --gtest_filter=-${patterns})
    endif()
    tessera_test(NAME ${ROOM_NAME}_test SOURCES ${ROOM_TESTS} DEPS ${target} ${ROOM_TEST_DEPS}
                 ARGUMENTS ${filter})
    tessera_compile_in_batches(${ROOM_NAME}_test 6)
  endif()
endfunction()

# What tests under mpirun run with.  Open MPI takes its options from the environment; other
# implementations do not look at them.  The tests want more ranks than there may be cores, also as
# root.  MPI's libraries are not instrumented: they keep memory until the end, so that leaks are not
# looked for; and ThreadSanitizer would report races inside them, so that the tsan preset builds no
# MPI and looks at the comm room's threads only.
set(TESSERA_MPI_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none ASAN_OPTIONS=detect_leaks=0)

# Every store call is a place to stop a save at; a sanitizer's run takes each fifth, and where all
# is ten times as slow, each twentieth.
set(TESSERA_CALL_STEP 1)
if(TESSERA_SANITIZE STREQUAL "thread")
  set(TESSERA_CALL_STEP 20)
elseif(TESSERA_SANITIZE)
  set(TESSERA_CALL_STEP 5)
endif()

# What nearly every test includes is compiled once, with the first of them.
function(tessera_precompile_for test)
  get_property(first GLOBAL PROPERTY TESSERA_FIRST_TEST)
  if(NOT TESSERA_COMPILE_IN_BATCHES)
    return()
  elseif(first)
    target_precompile_headers(${test} REUSE_FROM ${first})
  else()
    target_precompile_headers(${test} PRIVATE
      <gmock/gmock.h> <gtest/gtest.h>
      ${PROJECT_SOURCE_DIR}/tessera/core/testing/status_matchers.h)
    set_property(GLOBAL PROPERTY TESSERA_FIRST_TEST ${test})
  endif()
  target_compile_options(${test} PRIVATE -fpch-preprocess)  # ccache needs it
endfunction()

# One GoogleTest binary that ctest runs whole; its JSON report is what tools/test counts.
#
#   tessera_test(NAME name SOURCES a.cc ... [DEPS targets ...] [RANKS count] [ARGUMENTS words ...])
#
# With RANKS it is started by mpirun as that many processes; link tessera_comm_mpi_testing, whose
# main() leaves one report.
function(tessera_test)
  cmake_parse_arguments(TEST "" "NAME;RANKS" "SOURCES;DEPS;ARGUMENTS" ${ARGN})
  set(launcher "")
  if(TEST_RANKS)
    set(launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${TEST_RANKS})
  endif()
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  target_link_libraries(${TEST_NAME} PRIVATE ${TEST_DEPS} tessera_options tessera_test_options
                        GTest::gmock GTest::gtest_main rapidcheck)
  tessera_precompile_for(${TEST_NAME})
  target_compile_definitions(${TEST_NAME} PRIVATE
    TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TESSERA_TESTDATA="${PROJECT_SOURCE_DIR}/testdata")
  add_test(NAME ${TEST_NAME}
           COMMAND ${launcher} $<TARGET_FILE:${TEST_NAME}> ${TEST_ARGUMENTS} --gtest_brief=1
                   --gtest_output=json:${PROJECT_BINARY_DIR}/reports/${TEST_NAME}.json)
  if(TEST_RANKS)
    set_tests_properties(${TEST_NAME} PROPERTIES
      ENVIRONMENT "${TESSERA_MPI_ENVIRONMENT}" PROCESSORS ${TEST_RANKS} TIMEOUT 600)
  endif()
endfunction()
