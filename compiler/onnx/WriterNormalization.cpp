// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites over rows, out to ONNX.

#include "compiler/onnx/OpExport.h"

using namespace mlir;

namespace sinter::onnx {

static LogicalResult writeSoftmax(SoftmaxOp op, OpExport &n) {
  return n.out(op.getLogarithm() ? "LogSoftmax" : "Softmax", {n.in(0)}, {{"axis", int64_t(op.getAxis())}});
}

namespace {
struct Normalized {
  std::string value, mean, inverse; // mean is empty when none was subtracted
};
} // namespace

/// (x - mean) / sqrt(variance + epsilon) over `axes`, in primitives.
static Normalized normalize(OpExport &n, std::string x, Type element, ArrayRef<int64_t> axes, double epsilon,
                            bool center) {
  Normalized result;
  std::string list = n.ints(axes);
  if (center) {
    result.mean = n.emit("ReduceMean", {x, list});
    x = n.emit("Sub", {x, result.mean});
  }
  std::string variance = n.emit("ReduceMean", {n.emit("Mul", {x, x}), list});
  result.inverse = n.emit("Reciprocal", {n.emit("Sqrt", {n.emit("Add", {variance, n.scalar(element, epsilon)})})});
  result.value = n.emit("Mul", {x, result.inverse});
  return result;
}

static LogicalResult writeLayerNorm(LayerNormOp op, OpExport &n) {
  Type element = n.elem(op.getOperand());
  int64_t axis = op.getAxis();
  double epsilon = op.getEpsilon().convertToDouble();
  if (element.isF32() && op.getScale() && op.getCenter())
    return n.out("LayerNormalization", {n.of(op.getOperand()), n.of(op.getScale()), n.of(op.getBias())},
                 {{"axis", axis}, {"epsilon", epsilon}});
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(axis, n.rank(op.getOperand())));
  Normalized parts = normalize(n, n.of(op.getOperand()), element, axes, epsilon, op.getCenter());
  std::string mean = parts.mean.empty() ? n.emit("Sub", {parts.inverse, parts.inverse}) : parts.mean;
  if (op.getScale())
    parts.value = n.emit("Mul", {parts.value, n.of(op.getScale())});
  if (op.getBias())
    parts.value = n.emit("Add", {parts.value, n.of(op.getBias())});
  (void)n.outAs(0, "Identity", {parts.value});
  (void)n.outAs(1, "Identity", {mean});
  return n.outAs(2, "Identity", {parts.inverse});
}

static LogicalResult writeBatchNorm(BatchNormOp op, OpExport &n) {
  if (op.getAxis() != 1)
    return n.reject("BatchNormalization has its channels in axis 1");
  return n.out("BatchNormalization", {n.in(0), n.in(1), n.in(2), n.in(3), n.in(4)},
               {{"epsilon", op.getEpsilon().convertToDouble()}});
}

static LogicalResult writeGroupNorm(GroupNormOp op, OpExport &n) {
  std::string x = n.of(op.getOperand()), scale = n.of(op.getScale()), bias = n.of(op.getBias());
  Type element = n.elem(op.getOperand());
  std::string rows = n.emit("Reshape", {x, n.ints({0, int64_t(op.getGroups()), -1})});
  rows = normalize(n, rows, element, {2}, op.getEpsilon().convertToDouble(), true).value;
  rows = n.emit("Reshape", {rows, n.shapeOf(x)});
  SmallVector<int64_t> spatial = llvm::to_vector(llvm::seq<int64_t>(1, n.rank(op.getOperand()) - 1));
  if (!spatial.empty()) {
    scale = n.unsqueeze(scale, spatial);
    bias = n.unsqueeze(bias, spatial);
  }
  return n.out("Add", {n.emit("Mul", {rows, scale}), bias});
}

static LogicalResult writeAttention(AttentionOp op, OpExport &n) {
  int64_t rank = n.rank(op.getKey());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[rank - 1], order[rank - 2]);
  std::string scaled =
      n.emit("Mul", {n.of(op.getQuery()), n.scalar(n.elem(op.getQuery()), op.getScale().convertToDouble())});
  std::string scores =
      n.emit("MatMul", {scaled, n.emit("Transpose", {n.of(op.getKey())}, {{"perm", ArrayRef<int64_t>(order)}})});
  if (op.getBias())
    scores = n.emit("Add", {scores, n.of(op.getBias())});
  return n.out("MatMul", {n.emit("Softmax", {scores}, {{"axis", -1}}), n.of(op.getValue())});
}

void exportNormalization(ExportTable &t) {
  t.add<SoftmaxOp>(writeSoftmax);
  t.add<LayerNormOp>(writeLayerNorm);
  t.add<BatchNormOp>(writeBatchNorm);
  t.add<GroupNormOp>(writeGroupNorm);
  t.add<AttentionOp>(writeAttention);
}

} // namespace sinter::onnx
