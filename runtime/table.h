// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of functions, as a module gets them: checked, and with the variant of each function that this machine runs.

#ifndef SINTER_RUNTIME_TABLE_H
#define SINTER_RUNTIME_TABLE_H

#include "module.h"

/// Sets the functions of `module` to those of `table`, which ends with null. Where the module's code was loaded from a
/// section, everything that the table points to must lie in it.
sinter_status_code srtTakeTable(sinter_module *module, const sinter_function *const *table);

#endif
