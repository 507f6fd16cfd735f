// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a failing program small.

#ifndef SINTER_TEST_FUZZ_PROGRAMS_SHRINK_H
#define SINTER_TEST_FUZZ_PROGRAMS_SHRINK_H

#include "test/fuzz/programs/Generator.h"

namespace sinter::test {

/// Removes results, and replaces values by constants (what the reference computes for them), as long as `fails` holds.
void shrink(Program &program, llvm::function_ref<bool(const Program &)> fails);

/// Makes the inputs constants of the program, which then takes none.
void bakeInputs(Program &program);

} // namespace sinter::test

#endif
