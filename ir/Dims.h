// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbolic sizes. A size is an integer expression over symbols: sizes of function arguments, elements of small
// integer tensors ("contents"), and sizes that only running an op can tell. Expressions are uniqued and
// kept in a normal form, so that equal sizes are equal pointers: `ceil_div(n + 0, 1)` is `n`, `2*n - n` is `n`.
//
//   %s = sinter.shape %x        contents [n, 384]
//   %t = sinter.slice %s [0:1]  contents [n]
//   %u = concatenate(%t, [-1])  -> reshape target [n, 384] once the importer has resolved the -1
//
// Types say `?`; these expressions say which `?` are equal. They are an analysis over the graph, not a part of the
// types: rewriting an op then never has to keep an encoding alive.

#ifndef SINTER_IR_DIMS_H
#define SINTER_IR_DIMS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <optional>
#include <string>

namespace sinter {

class DimContext;

/// A uniqued size expression; compares by identity. Owned by its DimContext.
class DimExpr {
public:
  enum class Kind { Constant, Symbol, Add, Mul, FloorDiv, CeilDiv, Mod, Min, Max };
  struct Node;

  DimExpr() = default;
  explicit DimExpr(const Node *node) : node(node) {}
  explicit operator bool() const { return node != nullptr; }
  bool operator==(const DimExpr &other) const { return node == other.node; }
  bool operator!=(const DimExpr &other) const { return node != other.node; }

  Kind kind() const;
  bool isConstant() const;
  /// The value; only for constants.
  int64_t constant() const;
  /// The symbol's number; only for symbols.
  unsigned symbol() const;
  /// Operands of every other kind (Add and Mul have two or more, sorted).
  llvm::ArrayRef<DimExpr> operands() const;
  /// The size when constant, else ShapedType::kDynamic.
  int64_t staticSize() const;
  const void *getOpaqueValue() const { return node; }

private:
  const Node *node = nullptr;
};

using Dims = llvm::SmallVector<DimExpr>;

/// Where a symbol's value comes from at run time.
struct SymbolSource {
  enum class Kind {
    Size,    // size of `axis` of `value` (a function or region argument, or a result that only running tells)
    Content, // element `axis` (row-major) of the integer tensor `value`
  };
  Kind kind;
  mlir::Value value;
  int64_t axis;
};

/// Numbers that an expression is surely not below and not above, where they are known.
struct DimBounds {
  std::optional<int64_t> low, high;
};

class DimContext {
public:
  DimContext();
  ~DimContext();
  DimContext(const DimContext &) = delete;

  DimExpr constant(int64_t value);
  /// The symbol of that source; the same one each time.
  DimExpr symbol(SymbolSource source, llvm::StringRef name = {});
  DimExpr add(DimExpr a, DimExpr b);
  DimExpr sub(DimExpr a, DimExpr b);
  DimExpr mul(DimExpr a, DimExpr b);
  DimExpr floorDiv(DimExpr a, DimExpr b);
  DimExpr ceilDiv(DimExpr a, DimExpr b);
  DimExpr mod(DimExpr a, DimExpr b);
  DimExpr min(DimExpr a, DimExpr b);
  DimExpr max(DimExpr a, DimExpr b);
  DimExpr product(llvm::ArrayRef<DimExpr> factors);
  /// Elements from one index of each axis of a tensor of `sizes` to the next: `given[k]` where that is not negative
  /// (empty: nowhere), else those of what lies within the axis, row-major.
  Dims strides(llvm::ArrayRef<DimExpr> sizes, llvm::ArrayRef<int64_t> given = {});
  /// Sizes are >= 0, contents may be anything.
  DimBounds bounds(DimExpr expr);

  unsigned numSymbols() const;
  const SymbolSource &source(unsigned symbol) const;
  llvm::StringRef name(unsigned symbol) const;
  /// Records that two sizes are equal (from an op that requires it); later queries use `b`'s representative.
  /// Only a symbol is replaced.
  void unify(DimExpr a, DimExpr b);
  /// The representative after unification, with constants folded again.
  DimExpr resolve(DimExpr expr);
  /// Calls `visit` with each symbol in the expression, once.
  static void forEachSymbol(DimExpr expr, llvm::function_ref<void(unsigned)> visit);
  /// The same expression in this context with other symbols: `symbol` gives what stands for one. Null when it does for
  /// one of them.
  DimExpr rebuild(DimExpr expr, llvm::function_ref<DimExpr(DimExpr symbol)> symbol);
  /// `2*batch + 1`. What would be longer than a page is its number of parts.
  std::string print(DimExpr expr) const;

private:
  std::string printed(DimExpr expr) const;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// What a SymbolicShape or SymbolicContents rule may ask.
class ShapeQuery {
public:
  virtual ~ShapeQuery() = default;
  virtual DimContext &context() = 0;
  /// Sizes of a value of ranked tensor type.
  virtual Dims dims(mlir::Value value) = 0;
  /// Elements of an integer tensor of at most 64 elements: expressions where known, else symbols of kind Content.
  /// Nothing when the tensor is larger or its number of elements is not static.
  virtual std::optional<Dims> contents(mlir::Value value) = 0;
};

/// Sizes of all values of a region, computed on demand and memoized. Region arguments get symbols (function arguments
/// are named by their `sinter.dims` attribute: equal names are equal symbols). Stale once the IR changes.
class ShapeAnalysis : public ShapeQuery {
public:
  explicit ShapeAnalysis(DimContext &context);
  DimContext &context() override { return ctx; }
  Dims dims(mlir::Value value) override;
  std::optional<Dims> contents(mlir::Value value) override;
  /// Sets the sizes of a region argument before they are asked for (a kernel's inputs, for example).
  void bind(mlir::Value value, Dims sizes);
  void bindContents(mlir::Value value, Dims elements);
  /// True when the two values surely have the same sizes.
  bool sameShape(mlir::Value a, mlir::Value b);

private:
  Dims compute(mlir::Value value);
  Dims argumentDims(mlir::BlockArgument argument);
  Dims freshDims(mlir::Value value);
  /// `contents`, of floats as well, whose elements are bits of f64 as constants, if all are known.
  std::optional<Dims> elementsOf(mlir::Value value);
  std::optional<Dims> computeContents(mlir::Value value);
  std::optional<Dims> computedContents(mlir::Operation *op);
  std::optional<Dims> pointwiseContents(mlir::Operation *op);
  std::optional<Dims> predicates(mlir::Value value);
  DimContext &ctx;
  llvm::DenseMap<mlir::Value, Dims> known;
  llvm::DenseMap<mlir::Value, std::optional<Dims>> knownContents;
};

} // namespace sinter

#endif
