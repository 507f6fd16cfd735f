// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect's enumerations by name, for what writes them down or takes them from outside: graph files and hosts.

#ifndef SINTER_IR_ENUMNAMES_H
#define SINTER_IR_ENUMNAMES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/MLIRContext.h"
#include <optional>

namespace sinter {

/// An enumeration (`combiner`) and one of its cases (`add`).
struct EnumName {
  llvm::StringRef enumeration, value;
};

/// The names of `attribute`, or nothing when it is no enumeration of the dialect.
std::optional<EnumName> nameEnum(mlir::Attribute attribute);

/// The attribute that `name` says; null when there is no such enumeration or case.
mlir::Attribute findEnum(mlir::MLIRContext *context, EnumName name);

} // namespace sinter

#endif
