// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sinter for C++20: tensors that compute at once, and functions over them that become compiled graphs with real control
// flow. What needs no types of the program is compiled in the library: link libsinter_compiler and libsinter_rt. The
// host may be built without exceptions and run-time types.
//
//   #include <sinter/sinter.hpp>
//   namespace sn = sinter;
//   auto f = sn::jit([](sn::Tensor x) { return sn::sin(x) * 2; });
//   std::vector<float> y = f(sn::Tensor({1.f, 2.f})).to_vector<float>();

#ifndef SINTER_TRACE_SINTER_HPP
#define SINTER_TRACE_SINTER_HPP

#if __cplusplus < 202002L
#error                                                                                                                 \
    "sinter.hpp requires C++20: compile with -std=c++20 (in CMake, link sinter::compiler or set CMAKE_CXX_STANDARD 20)"
#else

#include "debug.hpp"
#include "device.hpp"
#include "dlpack.hpp"
#include "gradient.hpp"
#include "jit.hpp"
#include "ops.hpp"
#include "scan.hpp"
#include "tape.hpp"
#include "text.hpp"
#include <cmath>

#endif

#endif
