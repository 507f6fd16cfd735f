// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor in host memory: what the reference evaluator computes with, what test data is read into,
// and what constants are folded to. Copies share the elements until `data()` of one is written.

#ifndef SINTER_IR_REFERENCE_HOSTTENSOR_H
#define SINTER_IR_REFERENCE_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <vector>

namespace sinter {

class HostTensor {
public:
  HostTensor() = default;
  /// All elements zero. `shape` is concrete. Element types are those of the dialect; i1 is one byte.
  HostTensor(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);
  /// Takes row-major bytes; `bytes.size()` must equal numBytes().
  HostTensor(mlir::Type elementType, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<char> bytes);

  /// Elements of a `dense` or `dense_resource` attribute; fails on any other kind.
  static llvm::FailureOr<HostTensor> fromAttr(mlir::ElementsAttr attr);
  /// `dense` up to 1 KiB, otherwise a `dense_resource` whose blob is named after `nameHint`.
  mlir::ElementsAttr toAttr(llvm::StringRef nameHint = "folded") const;

  static HostTensor scalar(mlir::Type elementType, double value);
  static HostTensor ofInts(mlir::Type elementType, llvm::ArrayRef<int64_t> values); // rank 1

  mlir::Type elementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  mlir::RankedTensorType tensorType() const { return type; }
  int64_t rank() const { return type.getRank(); }
  int64_t size(int64_t axis) const { return type.getDimSize(axis); }
  int64_t numElements() const { return count; }
  int64_t numBytes() const { return static_cast<int64_t>(bytes ? bytes->size() : 0); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType()); }

  const char *data() const { return bytes ? bytes->data() : nullptr; }
  /// Writable elements; unshares them first.
  char *data();

  /// Element `i` (row-major) of any type. Integers convert exactly where f64 can hold them; u64 wraps
  /// into i64 bit for bit; booleans are 0 and 1.
  double getFloat(int64_t i) const;
  int64_t getInt(int64_t i) const;
  /// Rounds once to the element type (to nearest even); integers truncate and saturate, NaN gives 0.
  void setFloat(int64_t i, double value);
  /// Wraps to the element type's width; converts for float types.
  void setInt(int64_t i, int64_t value);

  /// All elements at once; the fast way for loops.
  std::vector<double> toFloats() const;
  std::vector<int64_t> toInts() const;
  void assignFloats(llvm::ArrayRef<double> values);
  void assignInts(llvm::ArrayRef<int64_t> values);
  /// The same of elements [first, first + values.size()), so that long tensors need no copy of 8 bytes an element.
  void read(int64_t first, llvm::MutableArrayRef<double> values) const;
  void read(int64_t first, llvm::MutableArrayRef<int64_t> values) const;
  void assign(int64_t first, llvm::ArrayRef<double> values);
  void assign(int64_t first, llvm::ArrayRef<int64_t> values);

  /// Same elements, another shape with the same count.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

  /// Row-major strides in elements.
  llvm::SmallVector<int64_t> strides() const;

private:
  mlir::RankedTensorType type;
  int64_t count = 0;
  std::shared_ptr<std::vector<char>> bytes;
};

/// Calls `visit(index)` for each index of `shape` in row-major order (once, with an empty index, for rank 0).
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// sum index[k] * strides[k]
int64_t linearIndex(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides);

} // namespace sinter

#endif
