// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow, out to ONNX. Bodies see the names around them there, so captures need no inputs.

#include "compiler/onnx/Exporter.h"

using namespace mlir;

namespace sinter::onnx {

static SmallVector<std::string> namesOf(OpExport &n, ValueRange values) {
  SmallVector<std::string> names;
  for (Value value : values)
    names.push_back(n.of(value));
  return names;
}

static onnxfile::Graph newBody(OpExport &n, StringRef name) {
  onnxfile::Graph body;
  body.set_name(n.exporter.unique(name));
  return body;
}

/// A region that takes only captures, as a graph.
static onnxfile::Graph branch(OpExport &n, Region &region, ArrayRef<std::string> captures) {
  onnxfile::Graph body = newBody(n, "branch");
  SmallVector<std::string> results = n.exporter.inlineBlock(region.front(), captures, body);
  for (auto [name, result] : llvm::zip(results, n.op->getResults()))
    n.exporter.yield(body, name, n.type(result));
  return body;
}

static LogicalResult writeCond(CondOp op, OpExport &n) {
  SmallVector<std::string> captures = namesOf(n, op.getCaptures());
  return n.out("If", {n.of(op.getPred())},
               {{"then_branch", branch(n, op.getThenRegion(), captures)},
                {"else_branch", branch(n, op.getElseRegion(), captures)}});
}

/// Branches from `i` on as If within If; the names of the results.
static SmallVector<std::string> writeBranches(SwitchOp op, OpExport &n, unsigned i, ArrayRef<std::string> captures) {
  if (i + 1 == op.getBranches().size())
    return n.exporter.inlineBlock(op.getBranches()[i].front(), captures, n.graph);
  onnxfile::Graph others = newBody(n, "branch");
  OpExport inner(n.exporter, others, n.op);
  SmallVector<std::string> rest = writeBranches(op, inner, i + 1, captures), outputs;
  for (auto [name, result] : llvm::zip(rest, op.getResults())) {
    n.exporter.yield(others, name, n.type(result));
    outputs.push_back(n.exporter.unique("switch"));
  }
  std::string isThis = n.emit("Equal", {n.of(op.getIndex()), n.scalar64(i)});
  n.node("If", {isThis}, outputs, {{"then_branch", branch(n, op.getBranches()[i], captures)}, {"else_branch", others}});
  return outputs;
}

static LogicalResult writeSwitch(SwitchOp op, OpExport &n) {
  SmallVector<std::string> results = writeBranches(op, n, 0, namesOf(n, op.getCaptures()));
  for (auto [i, name] : llvm::enumerate(results))
    (void)n.outAs(i, "Identity", {name});
  return success();
}

namespace {
/// The body of a Loop: its inputs, and what its region gets.
struct LoopBody {
  onnxfile::Graph graph;
  std::string trip, proceed;
  SmallVector<std::string> carries;
};
} // namespace

static LoopBody loopBody(OpExport &n, ArrayRef<BlockArgument> carries) {
  LoopBody body;
  body.graph = newBody(n, "body");
  Builder b(n.op->getContext());
  body.trip = n.exporter.unique("trip");
  body.proceed = n.exporter.unique("proceed");
  Exporter::declare(*body.graph.add_input(), body.trip, RankedTensorType::get({}, b.getI64Type()));
  Exporter::declare(*body.graph.add_input(), body.proceed, RankedTensorType::get({}, b.getI1Type()));
  for (BlockArgument carry : carries) {
    body.carries.push_back(n.exporter.unique("carry"));
    Exporter::declare(*body.graph.add_input(), body.carries.back(), n.type(carry));
  }
  return body;
}

static LogicalResult writeWhile(WhileOp op, OpExport &n) {
  if (op.getMaxTrip() && op.getOnLimit() == LimitPolicy::trap)
    return n.reject("Loop stops at its limit and reports no error");
  size_t numCarries = op.getInit().size();
  SmallVector<std::string> captures = namesOf(n, op.getCaptures()), init = namesOf(n, op.getInit());
  Block &condBlock = op.getCondRegion().front(), &bodyBlock = op.getBodyRegion().front();
  auto withCaptures = [&](ArrayRef<std::string> carries) {
    SmallVector<std::string> all(carries);
    llvm::append_range(all, captures);
    return all;
  };
  std::string first = n.exporter.inlineBlock(condBlock, withCaptures(init), n.graph)[0];
  LoopBody body = loopBody(n, bodyBlock.getArguments().take_front(numCarries));
  // Trips are one more carry.
  RankedTensorType count = n.type(op.getTrips());
  Exporter::declare(*body.graph.add_input(), n.exporter.unique("trips"), count);
  OpExport inner(n.exporter, body.graph, op);
  SmallVector<std::string> results = n.exporter.inlineBlock(bodyBlock, withCaptures(body.carries), body.graph);
  ArrayRef<std::string> next = ArrayRef(results).take_front(numCarries),
                        stacks = ArrayRef(results).drop_front(numCarries);
  std::string proceed = n.exporter.inlineBlock(condBlock, withCaptures(next), body.graph)[0];
  Operation *yield = bodyBlock.getTerminator();
  n.exporter.yield(body.graph, proceed, n.type(condBlock.getTerminator()->getOperand(0)));
  for (auto [i, name] : llvm::enumerate(next))
    n.exporter.yield(body.graph, name, n.type(bodyBlock.getArgument(i)));
  n.exporter.yield(body.graph, inner.emit("Add", {body.trip, inner.scalar64(1)}), count);
  for (auto [i, name] : llvm::enumerate(stacks))
    n.exporter.yield(body.graph, name, n.type(yield->getOperand(numCarries + i)));

  SmallVector<std::string> inputs = {op.getMaxTrip() ? n.scalar64(*op.getMaxTrip()) : "", first}, outputs;
  llvm::append_range(inputs, init);
  inputs.push_back(n.scalar64(0));
  llvm::append_range(outputs, namesOf(n, op.getCarries()));
  outputs.push_back(n.of(op.getTrips()));
  llvm::append_range(outputs, namesOf(n, op.getStacks()));
  n.node("Loop", inputs, outputs, {{"body", body.graph}});
  return success();
}

/// max(0, ceil((upper - lower) / step)), 0 for a step of 0.
static std::string tripCount(ForOp op, OpExport &n) {
  std::string zero = n.scalar64(0), step = n.of(op.getStep());
  std::string still = n.emit("Equal", {step, zero});
  std::string divisor = n.emit("Where", {still, n.scalar64(1), step});
  std::string distance = n.emit("Sub", {n.of(op.getUpper()), n.of(op.getLower())});
  std::string rounded = n.emit("Add", {distance, n.emit("Sub", {divisor, n.emit("Sign", {divisor})})});
  std::string trips = n.emit("Max", {n.emit("Div", {rounded, divisor}), zero});
  return n.emit("Where", {still, zero, trips});
}

static LogicalResult writeFor(ForOp op, OpExport &n) {
  size_t numCarries = op.getInit().size();
  Block &block = op.getBodyRegion().front();
  LoopBody body = loopBody(n, block.getArguments().slice(1, numCarries));
  OpExport inner(n.exporter, body.graph, op);
  SmallVector<std::string> arguments = {
      inner.emit("Add", {n.of(op.getLower()), inner.emit("Mul", {body.trip, n.of(op.getStep())})})};
  llvm::append_range(arguments, body.carries);
  llvm::append_range(arguments, namesOf(n, op.getCaptures()));
  SmallVector<std::string> results = n.exporter.inlineBlock(block, arguments, body.graph);
  n.exporter.yield(body.graph, body.proceed, RankedTensorType::get({}, IntegerType::get(op.getContext(), 1)));
  for (auto [i, name] : llvm::enumerate(results))
    n.exporter.yield(body.graph, name,
                     n.type(i < numCarries ? Value(block.getArgument(i + 1)) : block.getTerminator()->getOperand(i)));
  SmallVector<std::string> inputs = {tripCount(op, n), ""};
  llvm::append_range(inputs, namesOf(n, op.getInit()));
  return n.out("Loop", inputs, {{"body", body.graph}});
}

static LogicalResult writeScan(ScanOp op, OpExport &n) {
  size_t numCarries = op.getInit().size(), numSequences = op.getSequences().size();
  Block &block = op.getBodyRegion().front();
  onnxfile::Graph body = newBody(n, "body");
  SmallVector<std::string> arguments;
  for (BlockArgument argument : block.getArguments().take_front(numCarries + numSequences)) {
    arguments.push_back(n.exporter.unique(argument.getArgNumber() < numCarries ? "carry" : "slice"));
    Exporter::declare(*body.add_input(), arguments.back(), n.type(argument));
  }
  llvm::append_range(arguments, namesOf(n, op.getCaptures()));
  SmallVector<std::string> results = n.exporter.inlineBlock(block, arguments, body);
  for (auto [i, name] : llvm::enumerate(results))
    n.exporter.yield(body, name,
                     n.type(i < numCarries ? Value(block.getArgument(i)) : block.getTerminator()->getOperand(i)));
  SmallVector<std::string> inputs = namesOf(n, op.getInit());
  llvm::append_range(inputs, namesOf(n, op.getSequences()));
  SmallVector<int64_t> directions(op.getReverse().begin(), op.getReverse().end());
  SmallVector<int64_t> outDirections(op.getOutReverse().begin(), op.getOutReverse().end());
  return n.out("Scan", inputs,
               {{"body", body},
                {"num_scan_inputs", int64_t(numSequences)},
                {"scan_input_axes", op.getAxes()},
                {"scan_input_directions", ArrayRef<int64_t>(directions)},
                {"scan_output_axes", op.getOutAxes()},
                {"scan_output_directions", ArrayRef<int64_t>(outDirections)}});
}

/// What a gradient would do about the region is nothing that ONNX knows.
static LogicalResult writeRegion(OpExport &n, Region &region) {
  SmallVector<std::string> results = n.exporter.inlineBlock(region.front(), namesOf(n, n.op->getOperands()), n.graph);
  for (unsigned i = 0; i < n.op->getNumResults(); ++i)
    (void)n.outAs(i, "Identity", {results[i]});
  return success();
}

static LogicalResult writeCheckpoint(CheckpointOp op, OpExport &n) { return writeRegion(n, op.getBody()); }
static LogicalResult writeCustomVjp(CustomVjpOp op, OpExport &n) { return writeRegion(n, op.getForward()); }

void exportControl(ExportTable &t) {
  t.add<CondOp>(writeCond);
  t.add<SwitchOp>(writeSwitch);
  t.add<WhileOp>(writeWhile);
  t.add<ForOp>(writeFor);
  t.add<ScanOp>(writeScan);
  t.add<CheckpointOp>(writeCheckpoint);
  t.add<CustomVjpOp>(writeCustomVjp);
}

} // namespace sinter::onnx
