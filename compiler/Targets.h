// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of targets: one module may hold code for several.

#ifndef SINTER_COMPILER_TARGETS_H
#define SINTER_COMPILER_TARGETS_H

#include "backends/schedule/Backends.h"

namespace sinter {

/// The targets of a list such as "x86-64-v2,cpu:skylake,+avx512f,-sse4a": a word after a comma that begins with + or -
/// goes on with the target before it, any other begins the next one (schedule::parseTarget). Those that demand more
/// come later: more devices, better ones, a better host. Fails with the reason in `error`: no target, one that is not
/// known, or the same twice.
bool parseTargets(llvm::StringRef text, std::vector<schedule::Target> &targets, std::string &error);

/// The targets that `text` names, which must be the one that `module` is for if it says so (schedule::readTarget).
/// Without text it is that one, else the machine that runs the compiler.
bool findTargets(mlir::ModuleOp module, llvm::StringRef text, std::vector<schedule::Target> &targets,
                 std::string &error);

/// The same words, one a target, as they were written.
llvm::SmallVector<std::string> splitTargets(llvm::StringRef text);

/// Whether code for two targets is called alike: the same functions with the same tensors, symbols and states, so that
/// either may take the other's place. If not, `error` names what differs.
bool haveSameSignatures(llvm::ArrayRef<schedule::Signature> one, llvm::ArrayRef<schedule::Signature> other,
                        std::string &error);

} // namespace sinter

#endif
