// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes that stand for numbers, as graphs write them in primitives:
//
//   (code - zero) * scale                           mul(convert(sub(convert(codes), zeros)), scales)
//   saturated round(x / scale) + zero               convert(min(max(add(round(div(x, scale)), zero), low), high))

#ifndef SINTER_PASSES_QUANTIZED_H
#define SINTER_PASSES_QUANTIZED_H

#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/reference/HostTensor.h"

namespace sinter {

/// Numbers of a constant: one for all elements, or one for each place along `axis`.
struct NumbersAlong {
  int64_t axis = -1;
  std::vector<double> numbers;
};

/// What `value` repeats: a constant that is perhaps converted, reshaped and broadcast. Nothing for anything else.
std::optional<NumbersAlong> numbersAlong(mlir::Value value);

/// The left side of `value` and the number of its right side, where it is an `Op` whose right side repeats one.
template <typename Op> std::optional<std::pair<mlir::Value, double>> splitNumber(mlir::Value value) {
  auto op = value.getDefiningOp<Op>();
  if (!op)
    return std::nullopt;
  std::optional<NumbersAlong> number = numbersAlong(op.getRhs());
  if (!number || number->axis >= 0)
    return std::nullopt;
  return std::pair(op.getLhs(), number->numbers.front());
}

/// Differences of a byte and numbers up to here, or a little above, are exact in i32 and in f32.
inline constexpr double kMostZero = 1 << 20;

/// Whether conversions from integers of type `narrow` to those of type `wide` keep all numbers.
bool holdsAll(mlir::Type wide, mlir::Type narrow);

/// Bytes less their zeros, of which there is one, or one for each place along `axis`, as i8. Nothing where a difference
/// is no such number.
std::optional<HostTensor> withoutZeros(const HostTensor &codes, llvm::ArrayRef<int64_t> zeros, int64_t axis);

/// Unsigned bytes less 128, as i8; signed ones plus 128, as ui8.
HostTensor withOtherSign(const HostTensor &codes);

/// An f32 tensor of (code - zero) * scale.
struct Quantized {
  mlir::Value codes; // i8 or ui8, of the tensor's shape
  int64_t axis = -1; // that zeros or scales run along; -1: they have one number each
  std::vector<double> zeros, scales;

  /// Looks through what only moves elements, or takes the greatest where there is one scale, and does so with codes
  /// instead: builds ops at `b`.
  static std::optional<Quantized> of(mlir::Value value, mlir::OpBuilder &b);

  bool isUniform() const { return axis < 0; }
  bool hasZeros() const;
  /// The most that |code - zero| can be.
  double most() const;
};

/// An i8 or ui8 tensor of saturated round(x / scale) + zero, with one scale and one zero, a number of the type.
struct Quantization {
  DivOp division;
  mlir::Value rounded; // round(x / scale)
  mlir::Value shifted; // plus zero; the conversion would saturate it by itself
  double scale, zero;

  static std::optional<Quantization> of(ConvertOp op);
  /// `number` as elements of the type `byte` with this scale and zero, in the form that `of` reads.
  mlir::Value round(Composer &b, mlir::Value number, mlir::Type byte) const;
  mlir::Value source() { return division.getLhs(); }
};

} // namespace sinter

#endif
