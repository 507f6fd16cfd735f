// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Export.h"

#include "compiler/Link.h"
#include "compiler/MainFunction.h"
#include "compiler/onnx/Exporter.h"
#include "compiler/onnx/Limits.h"
#include "ir/Attention.h"
#include "ir/Blocks.h"
#include "ir/Checks.h"
#include "ir/Storage.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace sinter::onnx {

ExportTable::ExportTable() {
  exportElementwise(*this);
  exportShape(*this);
  exportIndexing(*this);
  exportReduction(*this);
  exportContraction(*this);
  exportNormalization(*this);
  exportRecurrent(*this);
  exportControl(*this);
}

const ExportTable &ExportTable::get() {
  static const ExportTable table;
  return table;
}

int32_t onnxType(Type element) {
  if (element.isF64())
    return onnxfile::DOUBLE;
  if (element.isF32())
    return onnxfile::FLOAT;
  if (element.isF16())
    return onnxfile::FLOAT16;
  if (element.isBF16())
    return onnxfile::BFLOAT16;
  if (isa<Float8E4M3FNType>(element))
    return onnxfile::FLOAT8E4M3FN;
  if (isa<Float8E5M2Type>(element))
    return onnxfile::FLOAT8E5M2;
  switch (element.getIntOrFloatBitWidth()) {
  case 4:
    return isUnsigned(element) ? onnxfile::UINT4 : onnxfile::INT4;
  case 1:
    return onnxfile::BOOL;
  case 8:
    return isUnsigned(element) ? onnxfile::UINT8 : onnxfile::INT8;
  case 16:
    return isUnsigned(element) ? onnxfile::UINT16 : onnxfile::INT16;
  case 32:
    return isUnsigned(element) ? onnxfile::UINT32 : onnxfile::INT32;
  default:
    return isUnsigned(element) ? onnxfile::UINT64 : onnxfile::INT64;
  }
}

//===--- what operator families see ---------------------------------------------------------------------------===//

/// The name that the source gave to what `loc` is about, or "".
static StringRef nameOf(Location loc) {
  StringRef found;
  loc->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner); named && found.empty())
      found = named.getName();
    return found.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

std::string OpExport::of(Value value) const { return value ? exporter.name(value) : ""; }

static void setAttribute(onnxfile::Attribute &attribute, const NodeAttr &from) {
  using Attribute = onnxfile::Attribute;
  attribute.set_name(from.name);
  if (auto *number = std::get_if<int64_t>(&from.value)) {
    attribute.set_type(Attribute::INT_KIND);
    attribute.set_i(*number);
  } else if (auto *real = std::get_if<float>(&from.value)) {
    attribute.set_type(Attribute::FLOAT_KIND);
    attribute.set_f(*real);
  } else if (auto *text = std::get_if<std::string>(&from.value)) {
    attribute.set_type(Attribute::STRING_KIND);
    attribute.set_s(*text);
  } else if (auto *list = std::get_if<std::vector<int64_t>>(&from.value)) {
    attribute.set_type(Attribute::INTS_KIND);
    for (int64_t number : *list)
      attribute.add_ints(number);
  } else if (auto *texts = std::get_if<std::vector<std::string>>(&from.value)) {
    attribute.set_type(Attribute::STRINGS_KIND);
    for (const std::string &text : *texts)
      attribute.add_strings(text);
  } else {
    attribute.set_type(Attribute::GRAPH_KIND);
    *attribute.mutable_g() = std::get<onnxfile::Graph>(from.value);
  }
}

void OpExport::node(StringRef type, Names inputs, Names outputs, Attrs attrs) {
  onnxfile::Node &node = *graph.add_node();
  node.set_op_type(type.str());
  node.set_name(exporter.unique(nameOf(op->getLoc()).empty() ? type : nameOf(op->getLoc())));
  while (!inputs.empty() && inputs.back().empty())
    inputs = inputs.drop_back();
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  for (const NodeAttr &attr : attrs)
    setAttribute(*node.add_attribute(), attr);
}

std::string OpExport::emit(StringRef type, Names inputs, Attrs attrs) {
  std::string output = exporter.unique(type);
  node(type, inputs, {output}, attrs);
  return output;
}

LogicalResult OpExport::out(StringRef type, Names inputs, Attrs attrs) {
  SmallVector<std::string> outputs;
  for (Value value : op->getResults())
    outputs.push_back(of(value));
  node(type, inputs, outputs, attrs);
  return success();
}

LogicalResult OpExport::outAs(unsigned i, StringRef type, Names inputs, Attrs attrs) {
  node(type, inputs, {result(i)}, attrs);
  return success();
}

/// Adds a constant to `graph`.
static void addTensor(onnxfile::Graph &graph, StringRef name, RankedTensorType type, ArrayRef<char> content) {
  onnxfile::Tensor &tensor = *graph.add_initializer();
  tensor.set_name(name.str());
  tensor.set_data_type(onnxType(type.getElementType()));
  for (int64_t size : type.getShape())
    tensor.add_dims(size);
  tensor.set_raw_data(content.data(), content.size());
}

std::string OpExport::ints(ArrayRef<int64_t> values) {
  std::string name = exporter.unique("sizes");
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, IntegerType::get(op->getContext(), 64));
  addTensor(graph, name, type, {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t)});
  return name;
}

std::string OpExport::scalar(Type element, double value) {
  std::string name = exporter.unique("scalar");
  HostTensor tensor = HostTensor::scalar(element, value);
  addTensor(graph, name, tensor.tensorType(), toStored(tensor));
  return name;
}

std::string OpExport::scalar64(int64_t value) {
  std::string name = exporter.unique("scalar");
  addTensor(graph, name, RankedTensorType::get({}, IntegerType::get(op->getContext(), 64)),
            {reinterpret_cast<const char *>(&value), sizeof value});
  return name;
}

std::string OpExport::cast(std::string value, Type element) {
  return emit("Cast", {value}, {{"to", int64_t(onnxType(element))}});
}

LogicalResult OpExport::reject(const Twine &reason) {
  exporter.refuse(nameOf(op->getLoc()), ("(" + op->getName().getStringRef() + "): " + reason).str());
  return failure();
}

void Exporter::refuse(StringRef node, const std::string &why) {
  auto known = llvm::find_if(refusals, [&](const Refusal &refusal) { return refusal.why == why; });
  if (known == refusals.end())
    known = refusals.insert(known, {why, {}, 0});
  ++known->count;
  if (!node.empty() && !llvm::is_contained(known->nodes, node))
    known->nodes.push_back(node.str());
}

/// A line for each reason, with the first few of the nodes.
std::vector<std::string> Exporter::unsupported() const {
  constexpr size_t most = 4;
  std::vector<std::string> lines;
  for (const Refusal &refusal : refusals) {
    std::string line;
    for (size_t k = 0; k < std::min(most, refusal.nodes.size()); ++k)
      line += (k ? ", '" : "'") + refusal.nodes[k] + "'";
    if (refusal.nodes.size() > most)
      line += " and " + std::to_string(refusal.nodes.size() - most) + " more";
    if (!refusal.nodes.empty())
      line = (refusal.nodes.size() > 1 ? "nodes " : "node ") + line + " ";
    line += refusal.why;
    if (refusal.count > std::max<size_t>(refusal.nodes.size(), 1))
      line += " (" + std::to_string(refusal.count) + " times)";
    lines.push_back(line);
  }
  return lines;
}

//===--- the walk ---------------------------------------------------------------------------------------------===//

std::string Exporter::unique(StringRef base) {
  std::string text = base.str();
  while (true) {
    auto [it, isNew] = taken.try_emplace(text, 0);
    if (isNew)
      return text;
    text = (base + "_" + Twine(++taken[base])).str();
  }
}

void Exporter::declare(onnxfile::ValueInfo &info, StringRef name, RankedTensorType type, ArrayAttr dims) {
  info.set_name(name.str());
  auto &tensor = *info.mutable_type()->mutable_tensor();
  tensor.set_elem_type(onnxType(type.getElementType()));
  tensor.mutable_shape();
  for (auto [axis, size] : llvm::enumerate(type.getShape())) {
    auto &dim = *tensor.mutable_shape()->add_dim();
    auto symbol = dims && axis < dims.size() ? dyn_cast<StringAttr>(dims[axis]) : StringAttr();
    if (!ShapedType::isDynamic(size))
      dim.set_size(size);
    else if (symbol)
      dim.set_symbol(symbol.str());
  }
}

void Exporter::yield(onnxfile::Graph &graph, StringRef value, RankedTensorType type) {
  onnxfile::Node &copy = *graph.add_node();
  std::string output = unique("out");
  copy.set_op_type("Identity");
  copy.set_name(unique("Identity"));
  copy.add_input(value.str());
  copy.add_output(output);
  declare(*graph.add_output(), output, type);
}

void Exporter::constant(ConstantOp op, onnxfile::Graph &graph) {
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(op.getValue());
  if (failed(tensor)) {
    (void)OpExport(*this, graph, op).reject("the constant has no content");
    return;
  }
  const HostTensor &host = *tensor; // stored as ONNX stores it, so most need no copy
  if (isPacked(host.elementType()))
    return addTensor(graph, names[op.getResult()], host.tensorType(), toStored(host));
  addTensor(graph, names[op.getResult()], host.tensorType(), {host.data(), static_cast<size_t>(host.numBytes())});
}

void Exporter::write(Operation &op, onnxfile::Graph &graph) {
  StringRef base = nameOf(op.getLoc());
  for (Value result : op.getResults())
    if (!names.contains(result))
      names[result] = unique(base.empty() ? "value" : base);
  OpExport n(*this, graph, &op);
  if (++numOps > kMaxNodes) {
    if (numOps == kMaxNodes + 1)
      (void)n.reject("with calls expanded, at most " + Twine(kMaxNodes) + " ops (kMaxNodes) can be written");
    return;
  }
  if (auto stored = dyn_cast<ConstantOp>(op))
    return constant(stored, graph);
  // ONNX's own operators refuse positions outside of an axis.
  if (isa<CheckPositionsOp, RequireOp>(op)) {
    std::string checked = names[isa<RequireOp>(op) ? op.getOperand(1) : op.getOperand(0)];
    if (llvm::any_of(op.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); }))
      (void)n.outAs(0, "Identity", {checked});
    else
      names[op.getResult(0)] = checked;
    return;
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal() || llvm::is_contained(active, callee)) {
      (void)n.reject("a call must lead to a function of the module, and not to itself");
      return;
    }
    SmallVector<std::string> arguments;
    for (Value operand : call.getOperands())
      arguments.push_back(names[operand]);
    active.push_back(callee);
    SmallVector<std::string> results = inlineBlock(callee.getBody().front(), arguments, graph);
    active.pop_back();
    for (auto [i, name] : llvm::enumerate(results))
      (void)n.outAs(i, "Identity", {name});
    return;
  }
  if (const ExportTable::Entry *entry = ExportTable::get().find(op.getName().getStringRef()))
    (void)(*entry)(n);
  else
    (void)n.reject("ONNX has no such operator");
}

SmallVector<std::string> Exporter::inlineBlock(Block &block, ArrayRef<std::string> arguments, onnxfile::Graph &graph,
                                               bool isFirst) {
  for (auto [argument, name] : llvm::zip(block.getArguments(), arguments))
    names[argument] = name;
  for (Operation &op : block.without_terminator()) {
    if (!isFirst) // a block that was written before has other names here
      for (Value result : op.getResults())
        names.erase(result);
    write(op, graph);
  }
  SmallVector<std::string> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(names[value]);
  return results;
}

LogicalResult Exporter::run(func::FuncOp main, onnxfile::Model &model) {
  WalkResult walked = main->walk([](Operation *op) {
    auto isHalf = [](Type type) { return isPacked(getElementTypeOrSelf(type)); };
    return llvm::any_of(op->getOperandTypes(), isHalf) || llvm::any_of(op->getResultTypes(), isHalf)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  const bool has4Bits = walked.wasInterrupted();
  model.set_ir_version(has4Bits ? kPackedVersion : kExportVersion);
  model.set_producer_name("sinter");
  onnxfile::OperatorSet &opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(has4Bits ? kPackedOpset : kExportOpset);
  onnxfile::Graph &graph = *model.mutable_graph();
  graph.set_name(main.getName().str());

  auto nameAttr = [](Attribute value, const Twine &otherwise) {
    auto text = dyn_cast_or_null<StringAttr>(value);
    return text && !text.empty() ? text.str() : otherwise.str();
  };
  Block &body = main.getBody().front();
  SmallVector<std::string> inputs, outputs;
  for (BlockArgument argument : body.getArguments()) {
    unsigned i = argument.getArgNumber();
    inputs.push_back(unique(nameAttr(main.getArgAttr(i, "sinter.name"), "arg" + Twine(i))));
    declare(*graph.add_input(), inputs.back(), cast<RankedTensorType>(argument.getType()),
            main.getArgAttrOfType<ArrayAttr>(i, "sinter.dims"));
  }
  // What is returned has the name of the output, unless it has one already.
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    outputs.push_back(unique(nameAttr(main.getResultAttr(i, "sinter.name"), "result" + Twine(i))));
    if (value.getDefiningOp() && !isa<ConstantOp>(value.getDefiningOp()) && !names.contains(value))
      names[value] = outputs.back();
  }
  active.push_back(main);
  SmallVector<std::string> results = inlineBlock(body, inputs, graph, /*isFirst=*/true);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    declare(*graph.add_output(), outputs[i], cast<RankedTensorType>(value.getType()));
    if (results[i] != outputs[i])
      OpExport(*this, graph, body.getTerminator()).node("Identity", {results[i]}, {outputs[i]});
  }
  return success(refusals.empty());
}

/// What no node of the writer's op set says: products with codes in blocks, and attention that counts some keys alone,
/// shares heads, gives its sums, or has a bias of another type.
static bool needsSteps(Operation *op) {
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention)
    return isa<AttentionGradientOp, BlockDotOp>(op);
  return attention.getBefore() || attention.getAfter() ||
         headGroups(attention.getQuery().getType(), attention.getKey().getType()) != 1 ||
         (attention.getSums() && !attention.getSums().use_empty()) ||
         (attention.getBias() &&
          getElementTypeOrSelf(attention.getBias()) != getElementTypeOrSelf(attention.getQuery()));
}

/// A copy of `module` where such ops are in steps; null if there is none.
static OwningOpRef<ModuleOp> withSteps(ModuleOp module) {
  auto isPlain = [](Operation *op) { return needsSteps(op) ? WalkResult::interrupt() : WalkResult::advance(); };
  if (!module.walk(isPlain).wasInterrupted())
    return {};
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallVector<Operation *> ops;
  copy->walk([&](Operation *op) {
    if (needsSteps(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> steps = cast<Decomposable>(op).decompose(builder);
    if (failed(steps)) // the writer says so
      continue;
    op->replaceAllUsesWith(*steps);
    op->erase();
  }
  return copy;
}

LogicalResult exportOnnx(ModuleOp module, StringRef path, std::vector<std::string> &unsupported) {
  func::FuncOp main = mainFunction(module);
  if (!main || main.isExternal())
    return emitError(UnknownLoc::get(module.getContext())) << path << ": requires a function with a body to write";
  for (TypeRange types : {main.getArgumentTypes(), main.getResultTypes()})
    for (Type type : types)
      if (!isa<RankedTensorType>(type))
        return emitError(main.getLoc()) << "requires tensors as inputs and outputs of the function, found " << type;
  OwningOpRef<ModuleOp> stepped = withSteps(module);
  if (stepped) {
    module = *stepped;
    main = mainFunction(module);
  }
  onnxfile::Model model;
  Exporter exporter(module);
  LogicalResult done = exporter.run(main, model);
  unsupported = exporter.unsupported();
  if (failed(done))
    return failure();
  uint64_t bytes = model.ByteSizeLong();
  if (bytes > kMaxModelBytes)
    return emitError(UnknownLoc::get(module.getContext()))
           << path << ": requires a model of at most " << kMaxModelBytes << " bytes, found " << bytes;
  std::string text, error;
  if (!model.SerializeToString(&text))
    return emitError(UnknownLoc::get(module.getContext())) << path << ": cannot be serialized";
  if (!writeFile(path, ArrayRef<char>(text.data(), text.size()), error))
    return emitError(UnknownLoc::get(module.getContext())) << error;
  return success();
}

} // namespace sinter::onnx
