# A room is one folder under tessera/, one namespace and one static library.
#
#   tessera_room(NAME name SOURCES a.cc ... [DEPS targets ...] [PRIVATE_DEPS targets ...]
#                [TESTS a_test.cc ...] [TEST_DEPS targets ...])
#
# makes tessera_<name> from SOURCES and, when tests are on, one binary <name>_test from TESTS.
set_property(GLOBAL PROPERTY TESSERA_ROOMS "")

function(tessera_room)
  cmake_parse_arguments(ROOM "" "NAME" "SOURCES;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS" ${ARGN})
  set(target tessera_${ROOM_NAME})
  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ROOM_DEPS}
                        PRIVATE ${ROOM_PRIVATE_DEPS} $<BUILD_INTERFACE:tessera_options>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ROOM_NAME})
  set_property(GLOBAL APPEND PROPERTY TESSERA_ROOMS ${target})
  if(TESSERA_BUILD_TESTS AND ROOM_TESTS)
    tessera_test(NAME ${ROOM_NAME}_test SOURCES ${ROOM_TESTS} DEPS ${target} ${ROOM_TEST_DEPS})
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

# One GoogleTest binary that ctest runs whole; its JSON report is what tools/test counts.
#
#   tessera_test(NAME name SOURCES a.cc ... [DEPS targets ...] [RANKS count])
#
# With RANKS it is started by mpirun as that many processes; link tessera_comm_mpi_testing, whose
# main() leaves one report.
function(tessera_test)
  cmake_parse_arguments(TEST "" "NAME;RANKS" "SOURCES;DEPS" ${ARGN})
  set(launcher "")
  if(TEST_RANKS)
    set(launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${TEST_RANKS})
  endif()
  add_executable(${TEST_NAME} ${TEST_SOURCES})
  # The library is what is optimised; a test built plainly compiles twice as fast.
  target_compile_options(${TEST_NAME} PRIVATE $<$<CONFIG:Release>:-O0>)
  target_link_libraries(${TEST_NAME} PRIVATE ${TEST_DEPS} tessera_options
                        GTest::gmock GTest::gtest_main rapidcheck)
  target_compile_definitions(${TEST_NAME} PRIVATE
    TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TESSERA_TESTDATA="${PROJECT_SOURCE_DIR}/testdata")
  add_test(NAME ${TEST_NAME}
           COMMAND ${launcher} $<TARGET_FILE:${TEST_NAME}> --gtest_brief=1
                   --gtest_output=json:${PROJECT_BINARY_DIR}/reports/${TEST_NAME}.json)
  if(TEST_RANKS)
    set_tests_properties(${TEST_NAME} PROPERTIES
      ENVIRONMENT "${TESSERA_MPI_ENVIRONMENT}" PROCESSORS ${TEST_RANKS} TIMEOUT 600)
  endif()
endfunction()
