// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops multiply in a 16-bit float type, as data of the module, and the pass that places the conversions.
//
//   module attributes {sinter.precision = {dot_general = bf16}}
//     %z = dot_general %x, %y : f32, f32 -> f32
//   becomes
//     %a = convert %x : bf16
//     %b = convert %y : bf16
//     %z = dot_general %a, %b : bf16, bf16 -> f32
//
// Sums and results stay f32, so that every other op, weights of training steps and their optimizers do, too.
//
// Attention that a back end keeps whole, and its backward part, take and give tensors of the type: their products
// multiply it, scores, softmax and sums are f32 as all of theirs are, and so are a bias and the sums of rows.
//
// tf32 changes nothing here: it lets a target that multiplies f32 faster with 10 bits behind the point do so
// (backends/cuda); others multiply f32.

#ifndef SINTER_PASSES_LOWERPRECISION_H
#define SINTER_PASSES_LOWERPRECISION_H

#include "ir/Precision.h"
#include "mlir/Pass/Pass.h"

namespace sinter {

/// The ops that a policy may name, and what a step keeps for its backward part (NarrowActivations), sorted.
inline constexpr llvm::StringLiteral kPrecisionOps[] = {kActivations, "attention", "convolution", "dot_general"};

/// Gives `module` the policy that `text` says: the type of all ops (f32, tf32, bf16, f16), then OP=TYPE of single ones,
/// separated by commas, as in `bf16,convolution=f32`. Later ones win. A type of all that is f16 keeps activations in
/// bf16, which has the range of f32, and tf32 keeps them as they are. False with the reason in `error`, the module
/// unchanged, where the text is malformed or the module holds kernels, which have their types already.
bool setPrecision(mlir::ModuleOp module, llvm::StringRef text, std::string &error);

/// Fails with a diagnostic where the policy of `module` names other ops or types, as one that was written by hand may.
mlir::LogicalResult verifyPrecision(mlir::ModuleOp module);

/// True where the policy of `module` lets an op multiply in f16, whose least and greatest numbers are near.
bool multipliesInHalf(mlir::ModuleOp module);

/// `sinter-lower-precision`: products and convolutions of f32 multiply in the type that the module's policy gives them.
/// An operand is converted once, where it is defined. These stay f32: what reads an element that it has to convert
/// while running fewer than 16 times, convolutions of fewer than 16 channels a group, and of filters that are no
/// constants those of f16, of odd channels, of unknown sizes and on devices; attention where there are devices. Fails
/// with a diagnostic on a malformed policy.
std::unique_ptr<mlir::Pass> createLowerPrecision();

} // namespace sinter

#endif
