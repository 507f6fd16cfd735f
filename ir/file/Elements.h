// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types as graph files number them.

#ifndef SINTER_IR_FILE_ELEMENTS_H
#define SINTER_IR_FILE_ELEMENTS_H

#include "ir/file/graph_generated.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace sinter::file {

/// Nothing for types that no tensor of the dialect has (`index` is one that attributes have).
std::optional<Element> elementOf(mlir::Type type);
/// `element` is one of the enumeration's values.
mlir::Type typeOf(mlir::MLIRContext *context, Element element);
/// Bytes of one element by itself; a boolean is one byte, an index eight, and one of 4 bits a byte.
unsigned bytesOf(Element element);
/// Of 4 bits: two lie in a byte.
bool isPacked(Element element);
/// Bits of a value: 1 for booleans.
unsigned bitsOf(Element element);
bool isFloat(Element element);

} // namespace sinter::file

#endif
