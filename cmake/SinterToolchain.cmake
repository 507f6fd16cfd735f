# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Warnings, asserts, sanitizers and ccache. Nothing here knows MLIR: runtime/ is built with this file alone.

find_program(SINTER_CCACHE ccache)
if(SINTER_CCACHE)
  # Paths are relative, so another checkout finds what this one compiled; launch.sh says how, and what becomes of the
  # precompiled header.
  file(RELATIVE_PATH _relative ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  string(REGEX REPLACE "/$" "" _relative "${_relative}")
  set(_launcher ${CMAKE_COMMAND} -E env LC_ALL=C.UTF-8 CCACHE_SLOPPINESS=pch_defines,time_macros,locale CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      ${CMAKE_CURRENT_LIST_DIR}/launch.sh ${CMAKE_SOURCE_DIR} ${_relative} ${SINTER_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
endif()

# What users run has asserts, too: a broken promise inside the compiler ends with the sentence that states it, and the tests
# run what users run. tools/README.md says what they cost. Sources that turn them off again name their hot loop.
option(SINTER_ASSERTS "keep asserts in optimized builds" ON)
if(SINTER_ASSERTS)
  foreach(language C CXX)
    string(REGEX REPLACE "[-/]D *NDEBUG" "" CMAKE_${language}_FLAGS_RELEASE "${CMAKE_${language}_FLAGS_RELEASE}")
    string(REGEX REPLACE "[-/]D *NDEBUG" "" CMAKE_${language}_FLAGS_RELWITHDEBINFO "${CMAKE_${language}_FLAGS_RELWITHDEBINFO}")
  endforeach()
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Werror -fdiagnostics-color=always)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-format-truncation) # messages that are too long are cut, as intended
endif()
if(SINTER_SANITIZE)
  add_compile_options(-fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SINTER_SANITIZE})
endif()
add_link_options(-fuse-ld=lld)
