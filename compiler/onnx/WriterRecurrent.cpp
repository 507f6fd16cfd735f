// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrent cells, out to ONNX, where tensors have one more axis for the direction.

#include "compiler/onnx/OpExport.h"

using namespace mlir;

namespace sinter::onnx {

static std::string activationName(Activation activation) {
  return activation == Activation::sigmoid ? "Sigmoid" : activation == Activation::tanh ? "Tanh" : "Relu";
}

/// Both halves of ONNX's bias, [1, 2 * gates]; "" when there is neither.
static std::string biasOf(OpExport &n, Value input, Value hidden) {
  if (!input && !hidden)
    return "";
  Value known = input ? input : hidden;
  std::string zeros = input && hidden ? "" : n.emit("Expand", {n.scalar(n.elem(known), 0), n.shapeOf(n.of(known))});
  std::string both = n.emit("Concat", {input ? n.of(input) : zeros, hidden ? n.of(hidden) : zeros}, {{"axis", 0}});
  return n.unsqueeze(both, {0});
}

/// Adds the node; results are all states [T, 1, B, H], then the last ones [1, B, H].
static LogicalResult writeCell(OpExport &n, StringRef type, ArrayRef<std::string> inputs, SmallVector<NodeAttr> attrs,
                               Direction direction, const llvm::APFloat &clip, std::vector<std::string> activations) {
  attrs.push_back({"direction", direction == Direction::forward ? "forward" : "reverse"});
  attrs.push_back({"activations", std::move(activations)});
  if (clip.convertToDouble() > 0)
    attrs.push_back({"clip", clip.convertToDouble()});
  SmallVector<std::string> outputs;
  for (unsigned i = 0; i < n.op->getNumResults(); ++i)
    outputs.push_back(n.result(i) + "_directions");
  n.node(type, inputs, outputs, attrs);
  for (unsigned i = 0; i < n.op->getNumResults(); ++i)
    (void)n.outAs(i, "Squeeze", {outputs[i], n.ints({i == 0 ? 1 : 0})});
  return success();
}

static std::string directed(OpExport &n, Value value) { return value ? n.unsqueeze(n.of(value), {0}) : ""; }

static constexpr const char *kNoWeights = "recurrent operators have input weights";

static LogicalResult writeLstm(LstmOp op, OpExport &n) {
  if (!op.getW())
    return n.reject(kNoWeights);
  SmallVector<std::string> inputs = {
      n.of(op.getX()),       directed(n, op.getW()),  directed(n, op.getR()),  biasOf(n, op.getBias(), {}),
      n.of(op.getLengths()), directed(n, op.getH0()), directed(n, op.getC0()), directed(n, op.getPeephole())};
  return writeCell(n, "LSTM", inputs,
                   {{"hidden_size", n.type(op.getR()).getDimSize(1)}, {"input_forget", op.getCoupleForget()}},
                   op.getDirection(), op.getClip(),
                   {activationName(op.getGate()), activationName(op.getCell()), activationName(op.getHidden())});
}

static LogicalResult writeGru(GruOp op, OpExport &n) {
  if (!op.getW())
    return n.reject(kNoWeights);
  SmallVector<std::string> inputs = {n.of(op.getX()),        directed(n, op.getW()),
                                     directed(n, op.getR()), biasOf(n, op.getInputBias(), op.getHiddenBias()),
                                     n.of(op.getLengths()),  directed(n, op.getH0())};
  return writeCell(
      n, "GRU", inputs,
      {{"hidden_size", n.type(op.getR()).getDimSize(1)}, {"linear_before_reset", op.getLinearBeforeReset()}},
      op.getDirection(), op.getClip(), {activationName(op.getGate()), activationName(op.getHidden())});
}

static LogicalResult writeRnn(RnnOp op, OpExport &n) {
  if (!op.getW())
    return n.reject(kNoWeights);
  SmallVector<std::string> inputs = {n.of(op.getX()),        directed(n, op.getW()),
                                     directed(n, op.getR()), biasOf(n, op.getBias(), {}),
                                     n.of(op.getLengths()),  directed(n, op.getH0())};
  return writeCell(n, "RNN", inputs, {{"hidden_size", n.type(op.getR()).getDimSize(1)}}, op.getDirection(),
                   op.getClip(), {activationName(op.getActivation())});
}

void exportRecurrent(ExportTable &t) {
  t.add<LstmOp>(writeLstm);
  t.add<GruOp>(writeGru);
  t.add<RnnOp>(writeRnn);
}

} // namespace sinter::onnx
