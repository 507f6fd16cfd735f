// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between the export's walk and the operator families: a table of export functions, and what such a
// function sees. Values of the ONNX graph are names.

#ifndef SINTER_COMPILER_ONNX_OPEXPORT_H
#define SINTER_COMPILER_ONNX_OPEXPORT_H

#include "compiler/onnx/onnx.pb.h"
#include "ir/Ops.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <variant>
#include <vector>

namespace sinter::onnx {

class Exporter;

/// An attribute of a node.
struct NodeAttr {
  NodeAttr(const char *name, const char *text) : name(name), value(std::string(text)) {}
  NodeAttr(const char *name, double number) : name(name), value(static_cast<float>(number)) {}
  NodeAttr(const char *name, int64_t number) : name(name), value(number) {}
  NodeAttr(const char *name, int number) : name(name), value(int64_t(number)) {}
  NodeAttr(const char *name, bool flag) : name(name), value(int64_t(flag)) {}
  NodeAttr(const char *name, llvm::ArrayRef<int64_t> list) : name(name), value(list.vec()) {}
  NodeAttr(const char *name, std::vector<std::string> list) : name(name), value(std::move(list)) {}
  NodeAttr(const char *name, onnxfile::Graph graph) : name(name), value(std::move(graph)) {}

  const char *name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<std::string>, onnxfile::Graph> value;
};

/// One op on its way into an ONNX graph.
class OpExport {
public:
  using Names = llvm::ArrayRef<std::string>;
  using Attrs = llvm::ArrayRef<NodeAttr>;

  OpExport(Exporter &exporter, onnxfile::Graph &graph, mlir::Operation *op)
      : exporter(exporter), graph(graph), op(op) {}

  /// The name of a value; "", which ONNX reads as absent, for a null one.
  std::string of(mlir::Value value) const;
  std::string in(unsigned i) const { return of(op->getOperand(i)); }
  static mlir::RankedTensorType type(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  static int64_t rank(mlir::Value value) { return type(value).getRank(); }
  static mlir::Type elem(mlir::Value value) { return type(value).getElementType(); }

  /// Adds a node and returns its one output.
  std::string emit(llvm::StringRef type, Names inputs, Attrs attrs = {});
  /// Adds a node with the given outputs.
  void node(llvm::StringRef type, Names inputs, Names outputs, Attrs attrs = {});
  /// Adds the node whose outputs are the op's results.
  mlir::LogicalResult out(llvm::StringRef type, Names inputs, Attrs attrs = {});
  /// Adds the node whose output is result `i`.
  mlir::LogicalResult outAs(unsigned i, llvm::StringRef type, Names inputs, Attrs attrs = {});
  /// The name of result `i`, for nodes with several outputs.
  std::string result(unsigned i) const { return of(op->getResult(i)); }

  /// A constant list of integers.
  std::string ints(llvm::ArrayRef<int64_t> values);
  /// A constant of rank 0; integers wrap.
  std::string scalar(mlir::Type element, double value);
  std::string cast(std::string value, mlir::Type element);
  /// The sizes of `value`, a list.
  std::string shapeOf(std::string value) { return emit("Shape", {value}); }
  /// Element `i` of a list of integers, rank 0.
  std::string at(std::string list, int64_t i) { return emit("Gather", {list, scalar64(i)}, {{"axis", 0}}); }
  std::string scalar64(int64_t value);
  std::string unsqueeze(std::string value, llvm::ArrayRef<int64_t> axes) {
    return emit("Unsqueeze", {value, ints(axes)});
  }
  std::string squeeze(std::string value, llvm::ArrayRef<int64_t> axes) { return emit("Squeeze", {value, ints(axes)}); }

  /// Says that ONNX cannot express the op, and why.
  mlir::LogicalResult reject(const llvm::Twine &reason);

  Exporter &exporter;
  onnxfile::Graph &graph;
  mlir::Operation *op;
};

/// ONNX's number for an element type of the dialect.
int32_t onnxType(mlir::Type element);

/// Writes `op`, whose class is known.
template <typename OpT> using ExportFn = mlir::LogicalResult (*)(OpT op, OpExport &n);

class ExportTable {
public:
  using Entry = std::function<mlir::LogicalResult(OpExport &)>;
  static const ExportTable &get();

  template <typename OpT> void add(ExportFn<OpT> write) {
    entries[OpT::getOperationName()] = [write](OpExport &n) { return write(llvm::cast<OpT>(n.op), n); };
  }
  /// For ops that are one node with the operands as inputs.
  template <typename OpT> void addNode(const char *type) {
    entries[OpT::getOperationName()] = [type](OpExport &n) {
      llvm::SmallVector<std::string> inputs;
      for (mlir::Value operand : n.op->getOperands())
        inputs.push_back(n.of(operand));
      return n.out(type, inputs);
    };
  }
  const Entry *find(llvm::StringRef op) const {
    auto it = entries.find(op);
    return it == entries.end() ? nullptr : &it->second;
  }

private:
  ExportTable();
  llvm::StringMap<Entry> entries;
};

// One per family.
void exportElementwise(ExportTable &table);
void exportShape(ExportTable &table);
void exportIndexing(ExportTable &table);
void exportReduction(ExportTable &table);
void exportContraction(ExportTable &table);
void exportNormalization(ExportTable &table);
void exportRecurrent(ExportTable &table);
void exportControl(ExportTable &table);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_OPEXPORT_H
