# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For runtime/ alone: cmake -S runtime -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64-linux-gnu.cmake
# Debian's libc6-dev-arm64-cross and gcc-aarch64-linux-gnu have what it links with.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER clang-22)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
