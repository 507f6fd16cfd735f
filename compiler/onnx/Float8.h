// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Cast and QuantizeLinear do with numbers that an 8-bit float type does not hold.

#ifndef SINTER_COMPILER_ONNX_FLOAT8_H
#define SINTER_COMPILER_ONNX_FLOAT8_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// `value` in `type`. Where that is an 8-bit float and the node's attribute `saturate` is 0, what is greater than any
/// number becomes infinite (e5m2) or NaN (e4m3fn), not the greatest number.
mlir::Value convertAsStated(OpImport &n, mlir::Value value, mlir::Type type);

} // namespace sinter::onnx

#endif
