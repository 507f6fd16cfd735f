# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The shared libMLIR and libLLVM, TableGen, one precompiled header, and `sinter_room`.
#
# Debian's MLIR package leaves MLIR_LINK_MLIR_DYLIB unset, so upstream's add_mlir_library would pull
# in archives and a second copy of LLVM. Rooms are therefore plain object libraries, and
# libsinter_core links the targets MLIR and LLVM.

find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "sinter needs LLVM and MLIR 22, found ${LLVM_VERSION} in ${LLVM_DIR}")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# LLVM's CMake files leave their own flags behind; ours are in SinterToolchain.

add_library(sinter_mlir INTERFACE)
target_include_directories(sinter_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_include_directories(sinter_mlir INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_compile_definitions(sinter_mlir INTERFACE _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
# Libraries are built without exceptions; a tool sets SINTER_EXCEPTIONS.
target_compile_options(sinter_mlir INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:SINTER_EXCEPTIONS>>>>:-fno-exceptions>)

# Heavy MLIR headers once. Our own dialect headers stay out: they change with every op. Times of headers are left out,
# as ccache and a package that is installed anew, with files of another date, would have clang refuse the rest.
set(SINTER_PCH_OPTIONS -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
add_library(sinter_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
target_link_libraries(sinter_pch PUBLIC sinter_mlir)
target_compile_options(sinter_pch PRIVATE ${SINTER_PCH_OPTIONS})
target_precompile_headers(sinter_pch PRIVATE <cmake/Precompiled.h>)

# sinter_room(NAME SOURCES... [DEPENDS targets...] [LINK libraries...])
# One room (or backend, or front end) as an object library that libsinter_core and libsinter_compiler collect.
function(sinter_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_library(${name} OBJECT ${ROOM_SOURCES})
  target_link_libraries(${name} PUBLIC sinter_mlir ${ROOM_LINK})
  target_compile_options(${name} PRIVATE ${SINTER_PCH_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM sinter_pch)
  if(ROOM_DEPENDS)
    add_dependencies(${name} ${ROOM_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY SINTER_ROOMS ${name})
endfunction()
