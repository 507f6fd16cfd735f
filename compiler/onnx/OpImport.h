// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between the importer and the operator families: a table of import functions, and what such a function
// sees.

#ifndef SINTER_COMPILER_ONNX_OPIMPORT_H
#define SINTER_COMPILER_ONNX_OPIMPORT_H

#include "compiler/onnx/GraphBuilder.h"
#include "compiler/onnx/Import.h"
#include "compiler/onnx/onnx.pb.h"

namespace sinter::onnx {

class Importer;
struct Frame;

/// One node on its way into the dialect.
class OpImport : public GraphBuilder {
public:
  OpImport(Importer &importer, Frame &frame, const onnxfile::Node &node, int64_t version, mlir::OpBuilder &b,
           mlir::Location loc, ShapeAnalysis &shapes)
      : GraphBuilder(b, loc, shapes), node(node), version(version), importer(importer), frame(frame) {}

  const onnxfile::Node &node;
  /// Operator set version of the node's domain.
  const int64_t version;

  //===--- inputs and outputs ---===//

  unsigned numInputs() const { return unsigned(inputs.size()); }
  /// Input `i`, null if it is absent.
  mlir::Value in(unsigned i) const { return i < inputs.size() ? inputs[i] : mlir::Value(); }
  llvm::ArrayRef<mlir::Value> ins() const { return inputs; }
  unsigned numOutputs() const { return unsigned(node.output_size()); }
  /// True when nodes that differ in training are imported as for inference, whatever they say.
  bool forInference() const;
  /// True if output `i` has a name, that is: may be used.
  bool wants(unsigned i) const { return int(i) < node.output_size() && !node.output(int(i)).empty(); }

  /// What the sequence holds that is input `i`, null if that is none.
  const llvm::SmallVector<mlir::Value> *sequence(unsigned i) const;
  /// Makes the only output a sequence of `values`.
  mlir::LogicalResult outSequence(llvm::ArrayRef<mlir::Value> values);

  /// Sets the next output.
  mlir::LogicalResult out(mlir::Value value) {
    outputs.push_back(value);
    return mlir::success(!failed() && value);
  }

  //===--- attributes: the node's, or where a function body says so its caller's ---===//

  const onnxfile::Attribute *attribute(llvm::StringRef name) const;
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const;
  double floatAttr(llvm::StringRef name, double otherwise) const;
  llvm::StringRef stringAttr(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<llvm::SmallVector<int64_t>> intsAttr(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<double>> floatsAttr(llvm::StringRef name) const;
  llvm::SmallVector<llvm::StringRef> stringsAttr(llvm::StringRef name) const;
  const onnxfile::Graph *graphAttr(llvm::StringRef name) const;

  /// Wraps negative axes; fails unless all are axes of a tensor of that rank, each named once.
  mlir::LogicalResult normalizeAxes(llvm::MutableArrayRef<int64_t> axes, int64_t rank);
  /// The attribute `name` as an axis in [0, rank), or -1 after an error.
  int64_t axisAttr(llvm::StringRef name, int64_t otherwise, int64_t rank);

  /// The dialect's element type, null (after an error) if it has none.
  mlir::Type elementType(int64_t onnxType);
  /// `positions` as they pass a check that each indexes its axis of `operand`, where the import asks for checks: all of
  /// them `axes[0]`, or as `tuples` along their last axis one for each of `axes`.
  mlir::Value checked(mlir::Value positions, mlir::Value operand, llvm::ArrayRef<int64_t> axes, bool tuples = false);

  /// A constant from a tensor of the file.
  mlir::Value constantOf(const onnxfile::Tensor &tensor, llvm::StringRef name);

  /// Remembers that the sizes of `value`, whatever they were computed from, are sizes: isSize says so from now on.
  void noteSizes(mlir::Value value);
  bool isSize(DimExpr expression);

  //===--- bodies of If, Loop and Scan ---===//

  /// Values of the surrounding graphs that `graph` uses and that are no constants (those are repeated inside).
  void capturesOf(const onnxfile::Graph &graph, llvm::SmallVectorImpl<mlir::Value> &captures);
  /// Imports `graph` at the end of `block`; its inputs are `arguments`, `captures` are the last block arguments. The
  /// values of its outputs are appended to `results`. `mayRest`: the body is a branch that may never be taken.
  mlir::LogicalResult importBody(const onnxfile::Graph &graph, mlir::Block &block,
                                 llvm::ArrayRef<mlir::Value> arguments, llvm::ArrayRef<mlir::Value> captures,
                                 llvm::SmallVectorImpl<mlir::Value> &results, bool mayRest = false);
  /// Whether this node is in such a branch.
  bool mayRest() const;
  /// One of `count` branches by a rank-0 index; negative ones count from the end. `build(k, captures)` builds branch k
  /// from the values that stand for `captures` inside.
  mlir::Value switchOver(mlir::Value index, int64_t count, llvm::ArrayRef<mlir::Value> captures,
                         llvm::function_ref<mlir::Value(int64_t, mlir::ValueRange)> build);
  /// Imports `graph` in place, its inputs being `arguments`.
  mlir::LogicalResult importInline(const onnxfile::Graph &graph, llvm::ArrayRef<mlir::Value> arguments,
                                   llvm::SmallVectorImpl<mlir::Value> &results);

  /// A region to build a body in.
  std::unique_ptr<mlir::Region> newRegion();
  /// Takes regions that will not be used: the shape analysis may remember their values, so they live as long as the
  /// import.
  void keep(llvm::SmallVectorImpl<std::unique_ptr<mlir::Region>> &regions);

  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> outputs;
  bool isSequence = false;

private:
  void noteUnsupported(const llvm::Twine &message) override;

  Importer &importer;
  Frame &frame;
};

using ImportFn = mlir::LogicalResult (*)(OpImport &);

/// One operator, from one operator set on.
struct OpEntry {
  int64_t since;
  int64_t until;
  unsigned minInputs;
  ImportFn import;
  /// The operator set whose operator a node of another domain is, 0 for its own domain's.
  int64_t standard = 0;
};

/// Operators by domain and name.
class Registry {
public:
  static const Registry &get();

  /// `import` handles `name` of the default domain from operator set `since` to `until`, given `minInputs` inputs at
  /// least.
  void add(llvm::StringRef name, int64_t since, unsigned minInputs, ImportFn import, int64_t until = kNewestOpset) {
    addIn("", name, since, minInputs, import, until);
  }
  void addIn(llvm::StringRef domain, llvm::StringRef name, int64_t since, unsigned minInputs, ImportFn import,
             int64_t until = kNewestOpset);
  /// An operator of onnxruntime's domain, which has one version of each. `standard`: the one that is ONNX's of that
  /// operator set.
  void addContrib(llvm::StringRef name, unsigned minInputs, ImportFn import, int64_t standard = 0) {
    addIn("com.microsoft", name, 1, minInputs, import);
    entries[("com.microsoft." + name).str()].back().standard = standard;
  }

  /// The entry for a version, or null and why there is none.
  const OpEntry *find(llvm::StringRef domain, llvm::StringRef name, int64_t version, std::string &reason) const;

private:
  Registry();
  llvm::StringMap<llvm::SmallVector<OpEntry, 2>> entries;
};

// One per family, each in the family's file.
void registerElementwise(Registry &registry);
void registerLogic(Registry &registry);
void registerShape(Registry &registry);
void registerMovement(Registry &registry);
void registerIndexing(Registry &registry);
void registerReduction(Registry &registry);
void registerContraction(Registry &registry);
void registerConvolution(Registry &registry);
void registerPooling(Registry &registry);
void registerNormalization(Registry &registry);
void registerRecurrent(Registry &registry);
void registerControl(Registry &registry);
void registerQuantize(Registry &registry);
void registerQuantizeContrib(Registry &registry);
void registerQuantizeProducts(Registry &registry);
void registerResize(Registry &registry);
void registerLoss(Registry &registry);
void registerSequences(Registry &registry);
void registerSignal(Registry &registry);
void registerRandom(Registry &registry);
void registerTraining(Registry &registry);
void registerAttention(Registry &registry);
void registerContrib(Registry &registry);
void registerContribAttention(Registry &registry);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_OPIMPORT_H
