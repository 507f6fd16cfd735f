# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What others see: <sinter/*.h>, <sinter/*.hpp>, the libraries, and sinterConfig.cmake with sinter::compiler, sinter::runtime,
# sinter::runtime_static, sinter::data and sinter::trainer. (compiler/trace/ lays the same headers out in the build folder.)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_headers ${PROJECT_SOURCE_DIR}/runtime/abi.h ${PROJECT_SOURCE_DIR}/runtime/device.h ${PROJECT_SOURCE_DIR}/runtime/driver.h ${PROJECT_SOURCE_DIR}/runtime/dtypes.h ${PROJECT_SOURCE_DIR}/runtime/host.h ${PROJECT_SOURCE_DIR}/runtime/sinter.h ${PROJECT_SOURCE_DIR}/runtime/smod.h)
file(GLOB _tracer CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/compiler/trace/*.hpp)
list(APPEND _headers ${_tracer})
install(FILES ${_headers} ${PROJECT_BINARY_DIR}/ir/functions.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinter)
set(_data Arrays Columns Csv Dataset Error JsonLines Media Open Random Record RowCache RowMap RowStore RowVocabulary State Text TfRecord Tokenizer Value data)
list(TRANSFORM _data REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/runtime/data/\\1.h")
install(FILES ${_data} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinter/data)

set(_train Batches Checkpoints Config Curve Events Inputs Metrics RowTable Trainer train)
list(TRANSFORM _train REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/runtime/train/\\1.h")
install(FILES ${_train} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinter/train)

set_target_properties(sinter_rt_shared PROPERTIES EXPORT_NAME runtime)
set_target_properties(sinter_rt PROPERTIES EXPORT_NAME runtime_static)
set_target_properties(sinter_rt_main PROPERTIES EXPORT_NAME runtime_main)
set_target_properties(sinter_data PROPERTIES EXPORT_NAME data)
set_target_properties(sinter_trainer PROPERTIES EXPORT_NAME trainer)
set_target_properties(sinter PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${LLVM_LIBRARY_DIR}")
foreach(target compiler:sinter_compiler runtime:sinter_rt_shared runtime_static:sinter_rt data:sinter_data trainer:sinter_trainer)
  string(REPLACE ":" ";" target ${target})
  list(GET target 0 alias)
  list(GET target 1 name)
  add_library(sinter::${alias} ALIAS ${name})
endforeach()

# The archives are what the compiler links into the programs that it writes; it looks for them beside itself.
install(TARGETS sinter_compiler sinter_rt_shared sinter_rt sinter_rt_main EXPORT sinterTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS sinter_cuda_runtime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Of its own, as it needs zlib where the program is built.
install(TARGETS sinter_data sinter_trainer EXPORT sinterDataTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS sinter sinter_core
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/sinter)
install(EXPORT sinterTargets NAMESPACE sinter:: DESTINATION ${_package})
install(EXPORT sinterDataTargets NAMESPACE sinter:: DESTINATION ${_package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sinterConfig.cmake.in ${PROJECT_BINARY_DIR}/sinterConfig.cmake
  INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sinterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sinterConfig.cmake ${PROJECT_BINARY_DIR}/sinterConfigVersion.cmake DESTINATION ${_package})
