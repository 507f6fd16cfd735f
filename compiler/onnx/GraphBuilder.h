// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What importing an operator takes: constants, explicit broadcasting, and the ops of the dialect built without risk.
//
// A model is not trusted, so a builder that aborts when a shape rule fails (as the generated ones do) is of no use
// here. `make` runs the shape rule first. When it fails, the error is emitted at the node's location, `failed()` holds
// from then on, and all later results are null: an import function needs no checks between its steps. Questions about a
// null value have harmless answers.

#ifndef SINTER_COMPILER_ONNX_GRAPHBUILDER_H
#define SINTER_COMPILER_ONNX_GRAPHBUILDER_H

#include "ir/Ops.h"
#include "mlir/IR/Builders.h"

namespace sinter::onnx {

/// A value, or a number that becomes a constant of the other operand's element type.
struct Operand {
  Operand(mlir::Value value) : value(value) {}
  Operand(double number) : number(number) {}
  Operand(int number) : number(number) {}
  mlir::Value value;
  double number = 0;
};

/// The size of an axis: a number, or where that is not known a tensor<1xi64> that holds it.
struct Size {
  int64_t known = mlir::ShapedType::kDynamic;
  mlir::Value tensor;
  bool isKnown() const { return !mlir::ShapedType::isDynamic(known); }
};

class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder &b, mlir::Location loc, ShapeAnalysis &shapes) : b(b), loc(loc), shapes(shapes) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  //===--- questions ---===//

  mlir::RankedTensorType type(mlir::Value value) const;
  llvm::ArrayRef<int64_t> dims(mlir::Value value) const { return type(value).getShape(); }
  int64_t rank(mlir::Value value) const { return type(value).getRank(); }
  mlir::Type elem(mlir::Value value) const { return type(value).getElementType(); }
  /// Size of an axis, ShapedType::kDynamic if it is not known (or the axis does not exist).
  int64_t size(mlir::Value value, int64_t axis) const;
  bool isFloat(mlir::Value value) const { return llvm::isa<mlir::FloatType>(elem(value)); }
  bool isStatic(mlir::Value value) const { return type(value).hasStaticShape(); }
  bool failed() const { return failure; }

  /// The elements if they are known at import.
  std::optional<HostTensor> known(mlir::Value value) const;
  std::optional<llvm::SmallVector<int64_t>> knownInts(mlir::Value value) const;
  std::optional<double> knownScalar(mlir::Value value) const;
  /// Elements of a small integer tensor, ShapedType::kDynamic where one is not known. Nothing if their number is not.
  std::optional<llvm::SmallVector<int64_t>> partlyKnownInts(mlir::Value value);

  //===--- errors ---===//

  /// Emits an error at the node and makes the builder fail.
  mlir::LogicalResult error(const llvm::Twine &message);
  /// The same for what may be right but has no import.
  mlir::LogicalResult unsupported(const llvm::Twine &message);

  //===--- ops ---===//

  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    llvm::SmallVector<mlir::Value> results = makeAll<OpT>(1, std::forward<Args>(args)...);
    return results.front();
  }

  /// Builds an op of `count` results; always returns that many values, null ones on failure.
  template <typename OpT, typename... Args> llvm::SmallVector<mlir::Value> makeAll(unsigned count, Args &&...args) {
    if (failure)
      return llvm::SmallVector<mlir::Value>(count);
    mlir::OperationState state(loc, OpT::getOperationName());
    llvm::SmallVector<mlir::Type> placeholders(count, b.getNoneType());
    OpT::build(b, state, mlir::TypeRange(placeholders), asBuilderArgument(std::forward<Args>(args))...);
    return finish(state, count, &OpT::inferReturnTypes);
  }

  mlir::Value constant(const HostTensor &tensor);
  mlir::Value scalar(mlir::Type type, double value);
  mlir::Value scalarInt(int64_t value);
  mlir::Value ints(llvm::ArrayRef<int64_t> values);
  mlir::Value floats(mlir::Type type, llvm::ArrayRef<double> values);
  /// `number` in the shape and element type of `like`.
  mlir::Value full(mlir::Value like, double number);

  mlir::Value add(Operand a, Operand b) { return binary<AddOp>(a, b); }
  mlir::Value sub(Operand a, Operand b) { return binary<SubOp>(a, b); }
  mlir::Value mul(Operand a, Operand b) { return binary<MulOp>(a, b); }
  mlir::Value div(Operand a, Operand b) { return binary<DivOp>(a, b); }
  mlir::Value max(Operand a, Operand b) { return binary<MaxOp>(a, b); }
  mlir::Value min(Operand a, Operand b) { return binary<MinOp>(a, b); }
  mlir::Value compare(CompareKind kind, Operand a, Operand b);
  mlir::Value select(mlir::Value pred, Operand onTrue, Operand onFalse);
  mlir::Value convert(mlir::Value value, mlir::Type type);

  /// An op of two operands that broadcast as in NumPy.
  template <typename OpT> mlir::Value binary(Operand lhs, Operand rhs) {
    llvm::SmallVector<mlir::Value, 2> values = resolve(lhs, rhs);
    if (!broadcastTogether(values))
      return {};
    return make<OpT>(values[0], values[1]);
  }

  /// Brings all values to their common shape by NumPy's rules. False on failure.
  bool broadcastTogether(llvm::MutableArrayRef<mlir::Value> values);
  /// `value` in `like`'s shape; `axes[k]` is the axis of `like` that axis k of `value` is, the last ones by default.
  mlir::Value broadcastLike(mlir::Value value, mlir::Value like, llvm::ArrayRef<int64_t> axes = {});
  /// `value` in the shape that NumPy's rules give with a tensor of `shape` (rank 1, i64, of a known length).
  mlir::Value expand(mlir::Value value, mlir::Value shape);

  mlir::Value shapeOf(mlir::Value value);
  mlir::Value dim(mlir::Value value, int64_t axis);
  /// Number of elements, as a rank-0 i64.
  mlir::Value count(mlir::Value value);

  Size sizeOf(mlir::Value value, int64_t axis);
  Size fixed(int64_t size) const { return {size, {}}; }
  Size times(Size a, Size b);
  Size over(Size a, int64_t divisor);
  Size plus(Size a, int64_t addend);
  /// The value of `expression`, a size of values of this block and what sums, products and quotients of such are.
  /// Nothing where it is none.
  std::optional<Size> sizeOf(DimExpr expression);
  /// All sizes as one tensor<nxi64>.
  mlir::Value shapeTensor(llvm::ArrayRef<Size> sizes);
  /// Symbolic sizes of a value.
  Dims symbolicSizes(mlir::Value value) { return shapes.dims(value); }
  std::optional<Dims> symbolicContents(mlir::Value value) { return shapes.contents(value); }
  /// True if the expression consists of sizes only, and so is none of -1 and 0-for-copy that contents may be. `known`:
  /// expressions that are sizes whatever they consist of.
  bool isSize(DimExpr expression, const llvm::DenseSet<const void *> &known);
  /// True if both surely have the same product; a null size may be any.
  bool haveSameCount(const Dims &a, const Dims &b);
  mlir::Value reshapeSizes(mlir::Value value, llvm::ArrayRef<Size> sizes);
  /// A value of rank 0 spread over `sizes`.
  mlir::Value spread(mlir::Value scalar, llvm::ArrayRef<Size> sizes);

  /// `sizes` has one -1 at most; 0 is a size.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> sizes);
  /// Sizes as in the tensor `shape` (all of them at least 0), as precisely as is known at import.
  mlir::Value reshapeTo(mlir::Value value, mlir::Value shape);
  mlir::Value unsqueeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  mlir::Value squeeze(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// Axes [0, axis) and [axis, rank) made one each.
  mlir::Value flatten(mlir::Value value, int64_t axis);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// [start, limit) of one axis; a limit of -1 means its size.
  mlir::Value slice(mlir::Value value, int64_t axis, int64_t start, int64_t limit, int64_t step = 1);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t axis);
  mlir::Value gather(mlir::Value value, mlir::Value positions, int64_t axis);
  /// Element `index` of a rank-1 tensor as a rank-0 tensor, or the value itself if it has rank 0.
  mlir::Value element(mlir::Value value, int64_t index);
  mlir::Value pad(mlir::Value value, mlir::Value fill, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high);
  /// 0, 1, ... along `axis`, in the shape of `like`, i64.
  mlir::Value positions(mlir::Value like, int64_t axis);

  mlir::Value reduce(Combiner combiner, mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// What elements of `value` are added up in: f32 for floats of 16 bits.
  mlir::Type sumType(mlir::Value value);
  /// What `build` makes of `value`, in f32 where that is a float of 16 bits: a sum on the way to a mean or a norm would
  /// be infinite beyond 65504, and squares beyond 256.
  mlir::Value inWiderFloats(mlir::Value value, llvm::function_ref<mlir::Value(mlir::Value)> build);
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// NumPy's matmul: rank 1 is promoted, leading axes broadcast.
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, mlir::Type elementType);

  /// All axes of a value: 0, 1, ... rank - 1.
  llvm::SmallVector<int64_t> allAxes(mlir::Value value) const;

protected:
  virtual ~GraphBuilder() = default;
  virtual void noteUnsupported(const llvm::Twine &message) {}

private:
  /// The generated builders take the value of an F64Attr as an APFloat.
  template <typename T> static decltype(auto) asBuilderArgument(T &&argument) {
    if constexpr (std::is_same_v<std::decay_t<T>, double>)
      return llvm::APFloat(argument);
    else
      return std::forward<T>(argument);
  }

  using InferFn = mlir::LogicalResult (*)(mlir::MLIRContext *, std::optional<mlir::Location>, mlir::ValueRange,
                                          mlir::DictionaryAttr, mlir::OpaqueProperties, mlir::RegionRange,
                                          llvm::SmallVectorImpl<mlir::Type> &);
  llvm::SmallVector<mlir::Value> finish(mlir::OperationState &state, unsigned count, InferFn infer);
  llvm::SmallVector<mlir::Value, 2> resolve(Operand a, Operand b);
  /// The same value as a constant where its few integer elements follow from what is known.
  mlir::Value fold(mlir::Operation *op);

  ShapeAnalysis &shapes;
  bool failure = false;
};

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_GRAPHBUILDER_H
