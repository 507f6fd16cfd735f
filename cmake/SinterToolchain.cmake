# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Warnings, sanitizers and ccache. Nothing here knows MLIR: runtime/ is built with this file alone.

find_program(SINTER_CCACHE ccache)
if(SINTER_CCACHE)
  # The precompiled header is made without time stamps, so ccache may trust its content.
  set(_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SINTER_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${_launcher})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Werror -fdiagnostics-color=always)
if(SINTER_SANITIZE)
  add_compile_options(-fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SINTER_SANITIZE})
endif()
add_link_options(-fuse-ld=lld)
