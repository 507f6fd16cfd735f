// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is behind a sinter_graph. Functions and regions that are being recorded form a stack of frames; ops go to the
// end of the innermost one. A value of an outer frame that an inner one uses becomes a placeholder there, which becomes
// a block argument when the op that takes the region (or the function) exists and its list of captures is known.
//
// Nothing is freed before the graph is: size expressions name values by address, and an address that is used again
// would make two sizes equal that are not. What is dropped goes to a graveyard.

#ifndef SINTER_COMPILER_CAPI_GRAPH_H
#define SINTER_COMPILER_CAPI_GRAPH_H

#include "compiler/capi/OpTable.h"
#include "compiler/capi/Types.h"
#include "ir/Dims.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

/// A context with the dialects that graphs and the pipeline need; one thread at a time.
std::unique_ptr<mlir::MLIRContext> makeSinterContext();

struct sinter_graph {
  /// Numbers of outer values and what stands for them, in the order of first use.
  using Captures = llvm::MapVector<uint32_t, mlir::Value>;

  struct Frame {
    uint64_t serial;
    mlir::Block *block;
    std::unique_ptr<mlir::Region> region; // null for a function
    mlir::func::FuncOp function;          // null for a region
    int64_t ops = 0;
    Captures captures;
    llvm::DenseMap<uint32_t, mlir::Value> constants; // outer ones that are repeated here
    llvm::SmallVector<sinter_value_type> arguments;  // of a region, as declared
  };
  struct Region {
    std::unique_ptr<mlir::Region> region; // null once used
    Captures captures;
    llvm::SmallVector<sinter_value_type> arguments;
  };
  struct Function {
    mlir::func::FuncOp op;
    std::string name;
    llvm::SmallVector<std::string> inputNames, outputNames;
    llvm::SmallVector<sinter_value_type> inputs, outputs;
    llvm::SmallVector<uint32_t> captures;
    uint64_t parent; // serial of the frame that it was recorded in, 0 for none
  };
  struct ValueEntry {
    mlir::Value value; // null once dropped
    uint64_t frame;
  };

  sinter_graph();
  /// Takes a module that was read from a file.
  sinter_graph(std::unique_ptr<mlir::MLIRContext> context, mlir::OwningOpRef<mlir::ModuleOp> module);
  ~sinter_graph();

  //===- Graph.cpp
  sinter_status_code begin(const char *name, int32_t count, const sinter_value_type *types, const char *const *names,
                           sinter_value *arguments);
  sinter_status_code end(int32_t count, const sinter_value *results, const char *const *names, int32_t *function);
  sinter_status_code call(int32_t function, llvm::ArrayRef<sinter_value> operands, int32_t room, sinter_value *results,
                          int32_t *count);
  sinter_status_code truncate(sinter_mark mark);
  sinter_mark mark() const;

  //===- GraphOps.cpp
  sinter_status_code constant(const sinter_tensor *tensor, sinter_value *value);
  sinter_status_code record(llvm::StringRef name, llvm::ArrayRef<sinter_value> operands,
                            llvm::ArrayRef<sinter_attr> attrs, int32_t room, sinter_value *results, int32_t *count);

  //===- Control.cpp
  sinter_status_code regionBegin(int32_t count, const sinter_value_type *types, sinter_value *arguments);
  sinter_status_code regionEnd(int32_t count, const sinter_value *yields, sinter_region *region);
  sinter_status_code branches(llvm::StringRef op, sinter_value selector, llvm::ArrayRef<sinter_region> regions,
                              int32_t room, sinter_value *results, int32_t *count);
  //===- Join.cpp
  sinter_status_code join(sinter_value predicate, sinter_region thenNumber, sinter_region elseNumber, int32_t room,
                          sinter_value *results, int32_t *count, int32_t *numShared);

  //===- Control.cpp
  enum class LoopKind { While, For, Scan };
  struct Loop {
    LoopKind kind;
    llvm::ArrayRef<sinter_value> bounds = {}; // for: lower, upper, step
    llvm::ArrayRef<sinter_value> init = {}, sequences = {};
    sinter_region cond = 0, body = 0;
    sinter_loop_options options = {};
  };
  sinter_status_code loop(const Loop &loop, int32_t room, sinter_value *results, int32_t *count);
  sinter_status_code takeRegion(sinter_region number, const llvm::Twine &what, Region *&region);
  /// The captures of all regions of an op, as numbers and as values of the innermost frame.
  sinter_status_code capturesOf(llvm::ArrayRef<Region *> taken, llvm::StringRef name,
                                llvm::SmallVectorImpl<uint32_t> &order, llvm::SmallVectorImpl<mlir::Value> &outer);
  sinter_status_code checkCarries(llvm::StringRef name, const Region &body, size_t first, mlir::ValueRange init);
  struct Walks;
  sinter_status_code checkWalks(const Loop &loop, const Region &body, mlir::ValueRange sequences, Walks &walks,
                                int64_t &trips);
  /// The condition of a while against its body, which has `numCarries` arguments.
  sinter_status_code checkCondition(const Region &cond, const Region &body, size_t numCarries);
  sinter_status_code insertControl(mlir::OperationState &state, llvm::ArrayRef<Region *> taken,
                                   llvm::ArrayRef<uint32_t> order, mlir::ValueRange outer, sinter_value *results,
                                   int32_t *count);
  std::string describeType(const sinter_value_type &type) const;

  //===- Files.cpp
  /// Copies the inputs of a call of function `index`, checked against what it takes.
  sinter_status_code takeInputs(llvm::StringRef what, int32_t index, int32_t count, const sinter_tensor *inputs,
                                llvm::SmallVectorImpl<sinter::HostTensor> &arguments);

  //===- what both use
  /// The message that the last failing rule gave to the context.
  sinter_status_code failWithDiagnostic(const llvm::Twine &otherwise);
  sinter_status_code requireFrame(const llvm::Twine &call);
  sinter_status_code requireRoom(const llvm::Twine &call, size_t needed, int32_t room, sinter_value *results,
                                 int32_t *count);
  /// The value of `number` in the innermost frame, as a capture where it comes from an outer one. 0 gives a null value
  /// when allowed.
  sinter_status_code resolve(sinter_value number, const llvm::Twine &what, mlir::Value &value, bool optional = false);
  sinter_status_code resolveAll(llvm::ArrayRef<sinter_value> numbers, const llvm::Twine &what,
                                llvm::SmallVectorImpl<mlir::Value> &values, bool optional = false);
  sinter_value number(mlir::Value value);
  void numberAll(mlir::ValueRange values, sinter_value *results, int32_t *count);
  mlir::OpBuilder builder() {
    mlir::OpBuilder b(context.get());
    b.setInsertionPointToEnd(frames.back().block);
    return b;
  }
  /// Adds an op, verified; null with a diagnostic when it is refused.
  mlir::Operation *insert(mlir::OperationState &state);
  /// Moves an op to where nothing uses it and its memory stays.
  void bury(mlir::Operation *op);
  void bury(std::unique_ptr<mlir::Region> region);
  void listFunctions();
  void pushFrame(mlir::Block *block, std::unique_ptr<mlir::Region> region, mlir::func::FuncOp function);
  /// Adds an argument with the sizes that `type` states.
  mlir::Value addArgument(mlir::Block *block, const sinter_value_type &type, mlir::Location loc);
  /// Replaces the placeholders of `captures` by new arguments of `block`, one for each of `order`, of the types of
  /// `outer`.
  void bindCaptures(mlir::Block *block, const Captures &captures, llvm::ArrayRef<uint32_t> order,
                    mlir::ValueRange outer);
  /// Those that are still used.
  static void pruneCaptures(sinter_graph &graph, Captures &captures);
  sinter_value_type typeOf(mlir::Value value);
  sinter_dim dimOf(sinter::DimExpr size);
  sinter::DimExpr exprOf(sinter_dim dim);
  mlir::OperationName operationName(const sinter::capi::OpEntry &entry);
  sinter_status_code convert(const sinter::capi::OpEntry &entry, const sinter_attr &attr, mlir::Attribute &result);

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OwningOpRef<mlir::ModuleOp> graveyard;
  std::vector<std::unique_ptr<mlir::Region>> buriedRegions;
  mlir::Location location;
  std::string source;      // the ONNX file that it was read from
  std::string message;     // of the first error since it was cleared
  std::string text;        // of the last print
  bool namePlaces = false; // messages begin with where the op was recorded
  int32_t errorIndex = -1;
  int64_t numOps = 0;
  uint64_t lastSerial = 0;
  std::vector<Frame> frames;
  std::vector<ValueEntry> values; // by number; entry 0 is none
  std::vector<Region> regions;    // by number - 1
  std::deque<Function> functions; // names stay where they are

  sinter::DimContext dims;
  sinter::ShapeAnalysis shapes;
  struct Symbol {
    sinter::DimExpr size;
    std::string text;
  };
  std::deque<Symbol> symbols;
  llvm::StringMap<unsigned> symbolByName;
  llvm::DenseMap<const void *, unsigned> symbolByExpr;

  llvm::DenseMap<const sinter::capi::OpEntry *, mlir::OperationName> names;
  llvm::DenseMap<std::pair<const void *, int32_t>, unsigned> conversions; // (attribute name, kind) -> form
  std::deque<sinter::HostTensor> views;                                   // of constants that were looked at
};

#endif
