// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the dialect as data: what a caller who only knows an op's name and attributes by text needs so that the
// op's own shape rule can run without being handed something that it does not expect.

#ifndef SINTER_COMPILER_CAPI_OPTABLE_H
#define SINTER_COMPILER_CAPI_OPTABLE_H

#include "mlir/IR/OperationSupport.h"
#include "runtime/sinter.h"

namespace sinter::capi {

using NamedAttribute = std::pair<llvm::StringRef, mlir::Attribute>;

struct OpEntry {
  llvm::StringRef fullName; // "sinter.add"
  llvm::StringRef name;     // "add"
  unsigned minOperands = 0, maxOperands = ~0u;
  /// Operand groups of an op that has several optional or variadic ones, else 0. Of each: '1', '?' or '*'.
  llvm::StringRef groups;
  llvm::ArrayRef<llvm::StringRef> attributes;
  /// Sets the attributes and the group sizes in `state`, checks them and infers the result types. Fails with a
  /// diagnostic.
  llvm::LogicalResult (*prepare)(mlir::OperationState &state, llvm::ArrayRef<NamedAttribute> attributes,
                                 llvm::ArrayRef<int32_t> groupSizes);
};

/// The entry of `name`, or null: unknown, or an op with regions.
const OpEntry *findOp(llvm::StringRef name);
/// All entries, in no particular order.
llvm::ArrayRef<OpEntry> allOps();

/// True when `op`, which is registered, takes `attribute` under that name.
bool accepts(mlir::OperationName op, llvm::StringRef attributeName, mlir::Attribute attribute);

/// The number of candidates that convertAttribute has for a kind of sinter_attr_kind.
unsigned numConversions(int32_t kind);

/// `attr` as an attribute of the dialect, in the form `conversion`; null when it has none in that form (a string that
/// is not a case of that enumeration). The kind, its arrays and its types are valid.
mlir::Attribute convertAttribute(mlir::MLIRContext *context, const sinter_attr &attr, unsigned conversion);

} // namespace sinter::capi

#endif
