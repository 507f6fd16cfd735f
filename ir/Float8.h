// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose operands are numbers of 8-bit floats, each exact in the type that it has.

#ifndef SINTER_IR_FLOAT8_H
#define SINTER_IR_FLOAT8_H

#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Precision.h"
#include "ir/Shape.h"

namespace sinter {

inline bool multipliesFloat8(mlir::Operation *op) {
  auto dot = mlir::dyn_cast_or_null<DotGeneralOp>(op);
  return dot && dot.getLhs().getDefiningOp<DecodeFloat8Op>() && dot.getRhs().getDefiningOp<DecodeFloat8Op>();
}

/// The number (rank 0) that is in all places of `value`, or the list that runs along one of its axes; null for another
/// value.
inline BroadcastOp spreadOf(mlir::Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast && mlir::cast<mlir::RankedTensorType>(broadcast.getOperand().getType()).getRank() < 2
             ? broadcast
             : BroadcastOp();
}

/// What makes `value` of bytes: a decode_float8, which may be followed by scales (one, or one for each place of an
/// axis) and conversions, and by transposes where these may be (`isTurned`); null where there is none.
inline DecodeFloat8Op decodedNumbers(mlir::Value value, bool isTurned = true) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (auto decode = mlir::dyn_cast<DecodeFloat8Op>(op))
      return decode;
    if (auto product = mlir::dyn_cast<MulOp>(op); product && spreadOf(product.getRhs()))
      value = product.getLhs();
    else if (product && spreadOf(product.getLhs()))
      value = product.getRhs();
    else if ((isTurned && mlir::isa<TransposeOp>(op)) ||
             (mlir::isa<ConvertOp>(op) && mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(op->getOperand(0)))))
      value = op->getOperand(0);
    else
      break;
  }
  return {};
}

/// Whether `op` multiplies numbers of 16 bits, or of f32 that the module's policy has multiply so, by numbers of 8-bit
/// floats: weights, whose bytes a device reads.
inline bool multipliesFloat8Weights(mlir::Operation *op) {
  auto dot = mlir::dyn_cast_or_null<DotGeneralOp>(op);
  if (!dot || bool(decodedNumbers(dot.getLhs())) == bool(decodedNumbers(dot.getRhs())))
    return false;
  auto is16Bits = [](mlir::Type type) { return type && (type.isF16() || type.isBF16()); };
  mlir::Type type = mlir::getElementTypeOrSelf(dot.getLhs());
  return type == mlir::getElementTypeOrSelf(dot.getRhs()) &&
         (is16Bits(type) || (type.isF32() && is16Bits(typeOfPolicy(op))));
}

} // namespace sinter

#endif
