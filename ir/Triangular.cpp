// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cholesky and triangular_solve, of the family Contraction.

#include "ir/Contraction.h"
#include "ir/reference/Loops.h"

using namespace mlir;
using namespace sinter;

static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }

//===- shape ---------------------------------------------------------------------------------===//

static LogicalResult checkSquare(std::optional<Location> loc, StringRef op, ArrayRef<int64_t> shape) {
  if (shape.size() >= 2 && meetSize(shape[shape.size() - 1], shape[shape.size() - 2]))
    return success();
  return emitOptionalError(loc, op, " requires square matrices in the last two axes, got ", printShape(shape));
}

LogicalResult CholeskyOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, CholeskyOp::Adaptor adaptor,
                                           SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkSquare(loc, "cholesky", operand.getShape()))) // C1
    return failure();
  inferred.push_back(operand);
  return success();
}

/// All sizes of `rhs`, more precise where `matrix` knows them; nothing where they do not fit.
static std::optional<SmallVector<int64_t>> solutionShape(ArrayRef<int64_t> matrix, ArrayRef<int64_t> rhs) {
  if (matrix.size() != rhs.size())
    return std::nullopt;
  SmallVector<int64_t> shape(rhs);
  for (size_t k = 0; k + 1 < rhs.size(); ++k) {
    std::optional<int64_t> size = meetSize(matrix[k], rhs[k]);
    if (!size)
      return std::nullopt;
    shape[k] = *size;
  }
  return shape;
}

LogicalResult TriangularSolveOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                  TriangularSolveOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  RankedTensorType matrix = ranked(adaptor.getMatrix().getType()), rhs = ranked(adaptor.getRhs().getType());
  if (failed(checkSquare(loc, "triangular_solve", matrix.getShape()))) // C1
    return failure();
  if (matrix.getElementType() != rhs.getElementType()) // C2
    return emitOptionalError(loc, "triangular_solve requires one element type, got ", matrix.getElementType(), " and ",
                             rhs.getElementType());
  std::optional<SmallVector<int64_t>> shape = solutionShape(matrix.getShape(), rhs.getShape());
  if (!shape) // C3
    return emitOptionalError(loc, "triangular_solve requires a right-hand side [..., n, k] for matrices ",
                             printShape(matrix.getShape()), ", got ", printShape(rhs.getShape()));
  inferred.push_back(RankedTensorType::get(*shape, rhs.getElementType()));
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> CholeskyOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

SmallVector<Dims> TriangularSolveOp::resultDims(ShapeQuery &shapes) {
  Dims matrix = shapes.dims(getMatrix()), result = shapes.dims(getRhs());
  for (size_t k = 0; k + 1 < result.size(); ++k)
    if (matrix[k].isConstant())
      result[k] = matrix[k];
  return {result};
}

//===- evaluate ------------------------------------------------------------------------------===//

/// Row by row: `l` has the lower half of the matrix and then of its factor.
static void factorize(double *l, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double sum = l[i * n + j];
      for (int64_t k = 0; k < j; ++k)
        sum -= l[i * n + k] * l[j * n + k];
      if (j < i)
        l[i * n + j] = sum / l[j * n + j];
      else
        l[i * n + i] = sum > 0 ? std::sqrt(sum) : std::numeric_limits<double>::quiet_NaN();
    }
}

FailureOr<SmallVector<HostTensor>> CholeskyOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0];
  int64_t rank = operand.rank(), n = operand.size(rank - 1);
  if (operand.size(rank - 2) != n) // C1
    return emitOpError() << "requires square matrices in the last two axes, got " << printShape(operand.shape());
  std::vector<double> values = operand.toFloats(), results(values.size()), l(n * n);
  for (size_t base = 0; base < values.size(); base += l.size()) {
    if (!evaluator.spend(n * n * n / 24))
      return outOfSteps(*this);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        l[i * n + j] = values[base + (getLower() ? i * n + j : j * n + i)];
    factorize(l.data(), n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j)
        results[base + (getLower() ? i * n + j : j * n + i)] = l[i * n + j];
  }
  return SmallVector<HostTensor>{tensorOf(operand.elementType(), operand.shape(), results)};
}

FailureOr<SmallVector<HostTensor>> TriangularSolveOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &matrix = operands[0], &rhs = operands[1];
  int64_t rank = matrix.rank(), n = matrix.size(rank - 1), columns = rhs.size(rank - 1);
  if (matrix.size(rank - 2) != n || !solutionShape(matrix.shape(), rhs.shape())) // C1, C3
    return emitOpError() << "requires a right-hand side [..., n, k] for matrices " << printShape(matrix.shape())
                         << ", got " << printShape(rhs.shape());
  std::vector<double> a = matrix.toFloats(), x = rhs.toFloats();
  bool forward = getLower() != getTranspose();
  int64_t batch = *countElements(rhs.shape().drop_back(2));
  for (int64_t g = 0; g < batch; ++g) {
    const double *from = a.data() + g * n * n;
    double *to = x.data() + g * n * columns;
    for (int64_t step = 0; step < n; ++step) {
      if (!evaluator.spend(step * columns / 4))
        return outOfSteps(*this);
      int64_t i = forward ? step : n - 1 - step;
      for (int64_t done = 0; done < step; ++done) {
        int64_t k = forward ? done : n - 1 - done;
        double factor = from[getTranspose() ? k * n + i : i * n + k];
        for (int64_t c = 0; c < columns; ++c)
          to[i * columns + c] -= factor * to[k * columns + c];
      }
      if (!getUnitDiagonal())
        for (int64_t c = 0; c < columns; ++c)
          to[i * columns + c] /= from[i * n + i];
    }
  }
  return SmallVector<HostTensor>{tensorOf(rhs.elementType(), rhs.shape(), x)};
}
