// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's product or convolution as matrices:
//
//   result[batch, row, column] = sum over k of a[batch, row, k] * b[batch, k, column]
//
//                            batches        rows             columns         k
//   dot_general              batch axes     free axes of lhs free axes of rhs the summed axes
//   convolution              groups         images, positions channels out   taps, channels in
//
// Channels come last (passes/AssignLayout). A convolution's columns of pixels are never in memory: tiles of them are
// made while they are loaded.

#ifndef SINTER_BACKENDS_CUDA_MATRIXPRODUCT_H
#define SINTER_BACKENDS_CUDA_MATRIXPRODUCT_H

#include "backends/cpu/emit/KernelElements.h"
#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

/// One of the two operands. "Free" positions are rows of a or columns of b.
class ProductSide {
public:
  virtual ~ProductSide();

  /// The element in the operand's type, at indices that are in range; clears `inside` where there is none.
  virtual mlir::Value element(cpu::KernelFunction &fn, cpu::KernelElements &elements, llvm::ArrayRef<mlir::Value> batch,
                              mlir::Value free, mlir::Value k, mlir::Value &inside) = 0;
  /// Where the element lies in input `*copied`; clears `inside` where there is none.
  virtual mlir::Value offset(cpu::KernelFunction &fn, llvm::ArrayRef<mlir::Value> batch, mlir::Value free,
                             mlir::Value k, mlir::Value &inside) {
    return nullptr;
  }

  mlir::Type type;     // of elements, with the sign
  bool kInner = false; // elements of k lie side by side; else free positions do
  /// The input in whose memory runs of elements lie as they do here: runs that begin at multiples of 16 bytes, where
  /// all of `steps` (elements) are such multiples.
  std::optional<unsigned> copied;
  Dims steps;

  /// All of the operand as a tensor in that input's memory: rows (k or free positions, as `kInner` says) `outerStride`
  /// elements apart, and batches. Nothing for a convolution's pixels, but those of one tap that are taken as they lie.
  struct Panel {
    struct Batches {
      DimExpr size, stride;
      std::optional<unsigned> axis; // of the product's batches; all of them, counted flat, without
    };
    DimExpr inner, outer, outerStride;
    llvm::SmallVector<Batches> batches; // without axes of one element, and those along which nothing changes
  };
  std::optional<Panel> panel;
  /// Of 8-bit floats whose numbers, of 16 bits, are made on the way to shared memory: their format; that memory holds
  /// bytes, which `copied`, `steps` and `panel` are of. Null for others.
  mlir::Type encoding;
  /// A list with one scale for each k that such numbers are multiplied with; null for none.
  mlir::Value scales;
  /// Bytes of an element in memory.
  int64_t memoryBytes() const { return encoding ? 1 : static_cast<int64_t>(type.getIntOrFloatBitWidth() / 8); }
  /// Whether chunks of memory are the operand, but no panel is.
  bool isGathered() const { return copied && !panel; }
};

struct MatrixProduct {
  mlir::Operation *root = nullptr;
  Dims batches, rows, columns, sums; // sizes of the axes that each goes over
  DimExpr rowCount, columnCount, k, batchCount;
  mlir::Type resultType; // of elements
  std::unique_ptr<ProductSide> a, b;
  mlir::Type formatA, formatB; // of 8-bit floats, whose bytes (ui8) are the elements of both sides; else null
  /// Whether sums of 8-bit floats may be rounded as instructions for these do: to 13 bits or so.
  bool mayRoundSums = false;
  /// Whether the generation that the kernel is for has mma.sync for them.
  bool hasFloat8 = false;

  /// Nothing with the reason in `refusal`.
  static std::optional<MatrixProduct> of(KernelSpec &spec, std::string &refusal);

  /// Where an element is in the root's result; with `lanes` > 1 as many columns from `column` on.
  llvm::SmallVector<LaneIndex> resultIndex(cpu::KernelFunction &fn, cpu::KernelElements &elements,
                                           llvm::ArrayRef<mlir::Value> batch, mlir::Value row, mlir::Value column,
                                           int64_t lanes) const;
  /// True when `lanes` columns from a multiple of it on lie side by side in the result, however many there are.
  bool hasRunsOf(KernelSpec &spec, int64_t lanes) const;
};

} // namespace sinter::cuda

#endif
