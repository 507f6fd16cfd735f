// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function keeps of the values that it reads much later, as the backward part of a training step does with
// activations, and what it computes again instead:
//
//   none             keeps all
//   full             keeps the least: the arena is as small as this compiler can make it
//   named:REGEX      computes the blocks again that read inputs or states of these names. What the regular expression
//                    (POSIX extended) finds in a name tells blocks apart: blocks\.[0-9]+\. finds one for each number
//   budget:BYTES     computes as little again as an arena of at most BYTES allows (with K, M, G: powers of 1024)
//   budget:SHARE%    the same, in percent of the arena that keeps all
//
// It is an attribute of the function, as text.

#ifndef SINTER_BACKENDS_SCHEDULE_KEEPPOLICY_H
#define SINTER_BACKENDS_SCHEDULE_KEEPPOLICY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace sinter::schedule {

/// The attribute of a function that holds the policy's text.
inline constexpr llvm::StringLiteral kKeepAttr = "sinter.checkpoint";

struct KeepPolicy {
  enum class Kind { None, Full, Named, Bytes, Share };
  Kind kind = Kind::None;
  std::string names; // Named
  int64_t bytes = 0; // Bytes
  double share = 0;  // Share: above 0, up to 1

  /// The policy that `text` says; nothing, with what was required and found in `error`, for other texts.
  static std::optional<KeepPolicy> parse(llvm::StringRef text, std::string &error);
};

/// Fails with a diagnostic where a function has a policy that is none, as one that was written by hand may.
mlir::LogicalResult verifyKeepPolicies(mlir::ModuleOp module);

/// What came of a policy.
struct KeepReport {
  std::string policy;
  int64_t arenaBytes = -1, arenaBytesOfAll = -1; // with the policy, and when all is kept; -1: the sizes are open
  unsigned repeated = 0, launches = 0;           // ops that run twice, and ops that keep their one run
  double addedWork = 0;                          // estimated time of what is repeated, over that of all else
};

} // namespace sinter::schedule

#endif
