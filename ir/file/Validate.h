// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a FlatBuffer of a graph file must hold before anything is built from it.

#ifndef SINTER_IR_FILE_VALIDATE_H
#define SINTER_IR_FILE_VALIDATE_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace sinter::file {

/// Checks the bytes of `graph` with FlatBuffers' verifier, then that indices lead somewhere, types and sizes are
/// possible, values are defined before they are used, regions form trees of bounded depth, names are given once,
/// attributes hold what their kind says, and weights lie within a section of `weightsBytes`. What ops mean is not
/// looked at. False with one line in `problem`.
bool validate(llvm::ArrayRef<char> graph, uint64_t weightsBytes, std::string &problem);

} // namespace sinter::file

#endif
