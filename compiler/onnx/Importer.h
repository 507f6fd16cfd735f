// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a model's graphs. Operators see it through OpImport only.

#ifndef SINTER_COMPILER_ONNX_IMPORTER_H
#define SINTER_COMPILER_ONNX_IMPORTER_H

#include "compiler/onnx/OpImport.h"
#include "compiler/onnx/Reader.h"
#include "compiler/onnx/Schemas.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::onnx {

/// The names of one graph or function body, and what they are read with.
struct Frame {
  llvm::StringMap<mlir::Value> values;
  /// What sequences hold; their names are not among the values.
  llvm::StringMap<llvm::SmallVector<mlir::Value>> sequences;
  /// Operator set versions by domain.
  llvm::StringMap<int64_t> opsets;
  /// In a function body: the attributes of the call, else null.
  const llvm::StringMap<const onnxfile::Attribute *> *callAttributes = nullptr;
  /// In a branch that may never be taken, at any depth.
  bool mayRest = false;
};

/// What the function of the file's graph takes: inputs, then states with their first values.
struct MainArguments {
  llvm::SmallVector<const onnxfile::ValueInfo *> inputs;
  llvm::SmallVector<const onnxfile::Tensor *> states;
  llvm::SmallVector<mlir::ElementsAttr> initial;
  llvm::SmallVector<mlir::Type> types;
};

class Importer {
public:
  Importer(mlir::MLIRContext *context, std::shared_ptr<OnnxFile> file, const OnnxImportOptions &options);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

  /// Imports the nodes of a graph or function at the builder's place.
  template <typename Nodes>
  mlir::LogicalResult importNodes(const Nodes &nodes, Frame &frame, mlir::OpBuilder &b, mlir::Location outer);
  /// Initializers, nodes and outputs of `graph`; its inputs are in `frame`.
  mlir::LogicalResult importGraph(const onnxfile::Graph &graph, Frame &frame, mlir::OpBuilder &b, mlir::Location outer,
                                  llvm::SmallVectorImpl<mlir::Value> &results);

  /// A constant of a tensor of the file, which keeps the file alive if it is large. The error names nothing.
  llvm::Expected<mlir::ElementsAttr> constantAttr(const onnxfile::Tensor &tensor);
  /// Null if the dialect has no such type.
  mlir::Type elementType(int64_t onnxType);
  /// Expressions that are sizes of tensors of which the file asks for the shape.
  llvm::DenseSet<const void *> sizesOfValues;
  /// Gives `name` what a sequence holds. False, after an error, where all sequences hold too many values.
  bool keepSequence(Frame &frame, llvm::StringRef name, llvm::ArrayRef<mlir::Value> values);
  bool forInference() const { return options.forInference; }
  bool checksPositions() const { return options.checkPositions; }
  /// Appends one line to the report.
  void noteUnsupported(const onnxfile::Node &node, const llvm::Twine &message);

  /// What owns a region until its op exists. The analysis asks for owners, and none would do for a function or loop.
  mlir::Operation *regionOwner() {
    if (!owner)
      owner = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
    return (*owner).getOperation();
  }
  /// Lets a body know the sizes and contents of what it captures.
  void alias(mlir::Value inside, mlir::Value outside) {
    shapes.bind(inside, shapes.dims(outside));
    if (std::optional<Dims> elements = shapes.contents(outside))
      shapes.bindContents(inside, *elements);
  }
  void keep(llvm::SmallVectorImpl<std::unique_ptr<mlir::Region>> &regions) {
    for (std::unique_ptr<mlir::Region> &region : regions)
      unused.push_back(std::move(region));
  }

private:
  /// Values that were put into sequences.
  uint64_t sequenceValues = 0;
  mlir::LogicalResult refuseUnsupported();
  template <typename Nodes>
  void collectUnsupported(const Nodes &nodes, const llvm::StringMap<int64_t> &opsets, std::vector<std::string> &lines,
                          llvm::DenseSet<const onnxfile::Function *> &seen);
  mlir::LogicalResult importNode(const onnxfile::Node &node, int64_t index, Frame &frame, mlir::OpBuilder &b,
                                 mlir::Location outer);
  /// The element types of the inputs are those that the operator takes.
  mlir::LogicalResult checkInputTypes(OpImport &n);
  mlir::LogicalResult importCall(const onnxfile::Node &node, const onnxfile::Function &function, Frame &frame,
                                 mlir::OpBuilder &b, mlir::Location loc);
  const onnxfile::Function *findFunction(const onnxfile::Node &node) const;
  mlir::FailureOr<mlir::RankedTensorType> inputType(const onnxfile::ValueInfo &input);
  /// The initializers that become arguments.
  llvm::SmallVector<const onnxfile::Tensor *> findStates(const onnxfile::Graph &graph);
  mlir::FailureOr<MainArguments> findArguments(const onnxfile::Graph &graph);
  /// `main`, whose arguments are what their names stand for in `frame`; it has no terminator yet.
  mlir::func::FuncOp makeMain(const MainArguments &arguments, Frame &frame, mlir::OpBuilder &b, mlir::Location loc);
  /// Adds the function that the file's graph is.
  mlir::LogicalResult importMain(mlir::OpBuilder &b, mlir::Location loc);
  /// Results that replace states: what normalizations in training make of their statistics, by the state's name.
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>>
  findNewStatistics(const onnxfile::Graph &graph, Frame &frame, llvm::ArrayRef<const onnxfile::Tensor *> states);
  mlir::ArrayAttr dimNames(const onnxfile::ValueInfo &input, mlir::RankedTensorType type);
  /// Emits `message` as the one error of the import.
  mlir::LogicalResult fail(const llvm::Twine &message);
  mlir::Location locate(llvm::StringRef name, int64_t index) const;

  mlir::MLIRContext *context;
  std::shared_ptr<OnnxFile> file;
  const OnnxImportOptions &options;
  llvm::StringMap<const onnxfile::Function *> functions;
  mlir::OwningOpRef<mlir::ModuleOp> owner;
  std::vector<std::unique_ptr<mlir::Region>> unused;
  llvm::DenseMap<std::pair<const Schema *, int>, uint64_t> inputTypesOf;
  DimContext dimContext;
  ShapeAnalysis shapes;
  OnnxImportReport ownReport;
  OnnxImportReport &report;
};

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_IMPORTER_H
