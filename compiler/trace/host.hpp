// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of programs that this library serves: those with exceptions, where a failed call throws, and those without,
// where it yields an error tensor. The library holds both, in namespaces that a program does not spell.

#ifndef SINTER_TRACE_HOST_HPP
#define SINTER_TRACE_HOST_HPP

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define SINTER_HAS_EXCEPTIONS 1
#define SINTER_HOST throwing
#else
#define SINTER_HAS_EXCEPTIONS 0
#define SINTER_HOST checked
#endif

#endif
