// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an elemental op says what one element of its result is, once, for every emitter.
//
// An emitter walks the innermost axis in groups of `lanes` elements. An index along that axis is then not a number but
// one number per lane; a LaneIndex keeps it in the form base + lane * stride for as long as the ops in between allow
// (transpose, slice, broadcast, reverse, pad do), so that a load can see whether its lanes are one broadcast scalar
// (stride 0), a vector in memory (1) or a gather. After arithmetic that has no such form the index is a vector of its
// own (`varying`). With lanes = 1 everything is scalar.
//
// Division is where the affine form is lost first. It survives when the lanes cannot cross a multiple of the divisor:
// 16 lanes from 16*k stay within one row of 64. LaneIndex::multiple says what is known to divide the base; an emitter
// that walks an axis from 0 in steps of its lanes says so.

#ifndef SINTER_IR_ELEMENTS_H
#define SINTER_IR_ELEMENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter {

struct LaneIndex {
  mlir::Value base;     // index; null when varying
  int64_t stride = 0;   // per lane
  mlir::Value varying;  // vector<lanes x index>, or null
  int64_t multiple = 1; // divides base; 0 when base is 0
  bool isUniform() const { return !varying && stride == 0; }
};

class ElementBuilder {
public:
  ElementBuilder(mlir::OpBuilder &builder, mlir::Location loc, int64_t lanes) : b(builder), loc(loc), lanes(lanes) {}
  virtual ~ElementBuilder() = default;

  /// The element of `tensor` (an operand of the op being built) at `index`, as a scalar of its signless element
  /// type or a vector of lanes. Every lane's index must be in range: clamp before you load.
  virtual mlir::Value load(mlir::Value tensor, llvm::ArrayRef<LaneIndex> index) = 0;
  /// Size of an axis of `tensor`, of type index.
  virtual mlir::Value size(mlir::Value tensor, int64_t axis) = 0;

  // Index arithmetic; a result keeps the affine form where it can.
  LaneIndex constant(int64_t value);
  LaneIndex uniform(mlir::Value index);
  /// An index of each axis.
  llvm::SmallVector<LaneIndex> uniform(llvm::ArrayRef<mlir::Value> position);
  LaneIndex add(const LaneIndex &a, const LaneIndex &b);
  LaneIndex sub(const LaneIndex &a, const LaneIndex &b);
  LaneIndex mul(const LaneIndex &a, int64_t factor);
  LaneIndex mul(const LaneIndex &a, mlir::Value factor);
  LaneIndex floorDiv(const LaneIndex &a, const LaneIndex &divisor); // signed, toward minus infinity; divisor > 0
  LaneIndex mod(const LaneIndex &a, const LaneIndex &divisor);      // in [0, divisor)
  /// The same two for a >= 0, which is cheaper.
  LaneIndex div(const LaneIndex &a, const LaneIndex &divisor);
  LaneIndex rem(const LaneIndex &a, const LaneIndex &divisor);
  LaneIndex min(const LaneIndex &a, const LaneIndex &b);
  LaneIndex max(const LaneIndex &a, const LaneIndex &b);
  /// max(0, min(a, size - 1))
  LaneIndex clamp(const LaneIndex &a, mlir::Value size);
  LaneIndex select(mlir::Value condition, const LaneIndex &ifTrue, const LaneIndex &ifFalse);
  /// i1, or a vector of i1 when a side is not uniform.
  mlir::Value less(const LaneIndex &a, const LaneIndex &b);
  mlir::Value equal(const LaneIndex &a, const LaneIndex &b);
  /// 0 <= a < size, in the form of `less`.
  mlir::Value inRange(const LaneIndex &a, mlir::Value size);
  /// The last lane of an affine index.
  LaneIndex lastLane(const LaneIndex &a);

  /// index, or vector<lanes x index>.
  mlir::Value toValue(const LaneIndex &index);
  /// The reverse, from an integer or index scalar (uniform) or vector of any integer type (sign-extended).
  LaneIndex fromValue(mlir::Value value);
  /// Value of a signless integer or float element type, as a scalar or spread over lanes like the others.
  mlir::Value splat(mlir::Value scalar);
  mlir::Value floatConstant(mlir::Type type, double value);
  mlir::Value intConstant(mlir::Type type, int64_t value);
  /// Chooses by a scalar i1 lazily (scf.if) or by lanes after computing both.
  mlir::Value choose(mlir::Value condition, llvm::function_ref<mlir::Value()> ifTrue,
                     llvm::function_ref<mlir::Value()> ifFalse);
  /// Brings scalars and lane vectors to one form, for mixed operands.
  void unify(llvm::MutableArrayRef<mlir::Value> values);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const int64_t lanes;

private:
  bool staysInRow(const LaneIndex &a, const LaneIndex &divisor) const;
};

} // namespace sinter

#endif
