# What a user of tessera gets: tessera::tessera from find_package(tessera CONFIG), and tessera.pc.
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY TESSERA_ROOMS)
add_library(tessera INTERFACE)
add_library(tessera::tessera ALIAS tessera)
target_link_libraries(tessera INTERFACE ${rooms})

foreach(room IN LISTS rooms)
  get_target_property(folder ${room} SOURCE_DIR)
  cmake_path(GET folder FILENAME name)  # a folder may hold several targets
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${name}
          FILES_MATCHING PATTERN "*.h" PATTERN testing EXCLUDE)
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(TARGETS tessera ${rooms} EXPORT tessera ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tessera NAMESPACE tessera:: FILE tesseraTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/tesseraConfig.cmake.in tesseraConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tesseraConfig.cmake
              ${PROJECT_BINARY_DIR}/tesseraConfigVersion.cmake
        DESTINATION ${package_dir})

# The MPI engine is a component of its own, so that who does not ask for it needs no MPI:
# tessera::comm_mpi from find_package(tessera CONFIG COMPONENTS mpi), and tessera-mpi.pc.
if(TESSERA_WITH_MPI)
  install(TARGETS tessera_comm_mpi EXPORT tessera_mpi ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT tessera_mpi NAMESPACE tessera:: FILE tesseraMpiTargets.cmake
          DESTINATION ${package_dir})
endif()

# Libraries without a pkg-config module; tessera.pc.in names them as the linker does.
set(without_module Threads::Threads BZip2::BZip2)

# The pkg-config module of a library that a room links, or "" where none is needed.
function(tessera_pkg_config_module target result)
  set(modules
    fmt::fmt=fmt spdlog::spdlog=spdlog nlohmann_json::nlohmann_json=nlohmann_json TBB::tbb=tbb
    PkgConfig::PCRE2=libpcre2-8 PkgConfig::ZSTD=libzstd PkgConfig::BLOSC=blosc
    PkgConfig::ISAL=libisal PkgConfig::XXHASH=libxxhash PkgConfig::YAML=yaml-0.1 ZLIB::ZLIB=zlib
    OpenSSL::Crypto=libcrypto)
  list(FILTER modules INCLUDE REGEX "^${target}=")
  if(target MATCHES "^absl::(.+)$")
    set(modules absl_${CMAKE_MATCH_1})
  elseif(NOT modules AND NOT target IN_LIST without_module AND NOT target IN_LIST rooms
         AND NOT target MATCHES "tessera_options")
    message(FATAL_ERROR "cmake/install.cmake knows no pkg-config module for ${target}")
  endif()
  string(REGEX REPLACE "^.*=" "" module "${modules}")
  set(${result} "${module}" PARENT_SCOPE)
endfunction()

# Everything goes to Requires, nothing to Requires.private: our libraries are archives, so a plain
# `pkg-config --libs tessera` must name all that they need.
set(pc_libs "")
set(pc_requires "")
foreach(room IN LISTS rooms)
  list(PREPEND pc_libs -l${room})  # a linker reads users before the rooms they use
  get_target_property(linked ${room} LINK_LIBRARIES)
  foreach(target IN LISTS linked)
    tessera_pkg_config_module("${target}" module)
    list(APPEND pc_requires ${module})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES pc_requires)
list(JOIN pc_libs " " pc_libs)
list(JOIN pc_requires ", " pc_requires)
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
cmake_path(RELATIVE_PATH pc_prefix BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${pc_dir})
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tessera.pc DESTINATION ${pc_dir})
if(TESSERA_WITH_MPI)
  list(JOIN MPI_CXX_LIBRARIES " " pc_mpi_libs)
  configure_file(cmake/tessera-mpi.pc.in tessera-mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/tessera-mpi.pc DESTINATION ${pc_dir})
endif()
