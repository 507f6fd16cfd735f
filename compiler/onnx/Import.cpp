// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Import.h"

#include "compiler/onnx/Gradient.h"
#include "compiler/onnx/Importer.h"
#include "compiler/onnx/Limits.h"
#include "compiler/onnx/OpExport.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace sinter::onnx {

Importer::Importer(MLIRContext *context, std::shared_ptr<OnnxFile> file, const OnnxImportOptions &options)
    : context(context), file(std::move(file)), options(options), shapes(dimContext),
      report(options.report ? *options.report : ownReport) {
  for (const onnxfile::Function &function : this->file->model.functions())
    functions[(normalizeDomain(function.domain()) + "." + function.name() + ":" + function.overload()).str()] =
        &function;
}

LogicalResult Importer::fail(const Twine &message) {
  emitError(UnknownLoc::get(context)) << message;
  return failure();
}

Location Importer::locate(StringRef name, int64_t index) const {
  return NameLoc::get(StringAttr::get(context, name), FileLineColLoc::get(context, file->path, unsigned(index + 1), 0));
}

const onnxfile::Function *Importer::findFunction(const onnxfile::Node &node) const {
  auto it = functions.find((normalizeDomain(node.domain()) + "." + node.op_type() + ":" + node.overload()).str());
  return it == functions.end() ? nullptr : it->second;
}

void Importer::noteUnsupported(const onnxfile::Node &node, const Twine &message) {
  report.unsupported.push_back((describeNode(node, 0) + ": " + message + " is not supported").str());
}

//===--- types and constants ----------------------------------------------------------------------------------===//

Type Importer::elementType(int64_t onnxType) {
  Builder b(context);
  switch (onnxType) {
  case onnxfile::FLOAT:
    return b.getF32Type();
  case onnxfile::DOUBLE:
    return b.getF64Type();
  case onnxfile::FLOAT16:
    return b.getF16Type();
  case onnxfile::BFLOAT16:
    return b.getBF16Type();
  case onnxfile::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case onnxfile::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case onnxfile::INT4:
    return b.getIntegerType(4);
  case onnxfile::UINT4:
    return b.getIntegerType(4, false);
  case onnxfile::BOOL:
    return b.getI1Type();
  case onnxfile::INT8:
    return b.getIntegerType(8);
  case onnxfile::INT16:
    return b.getIntegerType(16);
  case onnxfile::INT32:
    return b.getIntegerType(32);
  case onnxfile::INT64:
    return b.getIntegerType(64);
  case onnxfile::UINT8:
    return b.getIntegerType(8, false);
  case onnxfile::UINT16:
    return b.getIntegerType(16, false);
  case onnxfile::UINT32:
    return b.getIntegerType(32, false);
  case onnxfile::UINT64:
    return b.getIntegerType(64, false);
  default:
    return {};
  }
}

llvm::Expected<ElementsAttr> Importer::constantAttr(const onnxfile::Tensor &tensor) {
  llvm::Expected<TensorData> data = decodeTensor(tensor, file->external.get());
  if (!data)
    return data.takeError();
  Type element = elementType(data->type);
  unsigned width = elementBytes(data->type);
  bool aligned = reinterpret_cast<uintptr_t>(data->bytes.data()) % width == 0;
  if (data->bytes.size() <= 1024 || !aligned)
    return HostTensor(element, data->dims, data->bytes).toAttr(tensor.name());

  // not copied: the elements stay where protobuf or the mapped file has them
  AsmResourceBlob blob(
      data->bytes, width, [file = file, owner = data->owner](void *, size_t, size_t) mutable { owner.reset(); },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(RankedTensorType::get(data->dims, element),
                                        tensor.name().empty() ? "constant" : tensor.name(), std::move(blob));
}

FailureOr<RankedTensorType> Importer::inputType(const onnxfile::ValueInfo &input) {
  if (!input.type().has_tensor()) {
    report.unsupported.push_back("input '" + input.name() + "': only tensors are supported");
    return fail("input '" + input.name() + "' is no tensor, only tensors are supported");
  }
  const auto &tensor = input.type().tensor();
  Type element = elementType(tensor.elem_type());
  if (!element) {
    report.unsupported.push_back("input '" + input.name() + "': element type " + dataTypeName(tensor.elem_type()) +
                                 " is not supported");
    return fail("input '" + input.name() + "' has element type " + dataTypeName(tensor.elem_type()) +
                ", which is not supported");
  }
  auto given = options.shapes.find(input.name());
  bool isGiven = given != options.shapes.end();
  if (!tensor.has_shape() && !isGiven)
    return fail("input '" + input.name() + "' requires a rank, the model states none; give its shape");
  if (isGiven && int64_t(given->second.size()) > kMaxRank)
    return fail("input '" + input.name() + "' requires a rank of at most " + Twine(kMaxRank) +
                " (kMaxRank), the given shape has " + Twine(given->second.size()));
  if (tensor.has_shape() && tensor.shape().dim_size() > kMaxRank)
    return fail("input '" + input.name() + "' requires a rank of at most " + Twine(kMaxRank) + " (kMaxRank), found " +
                Twine(tensor.shape().dim_size()));
  SmallVector<int64_t> dims;
  for (const auto &dim : tensor.shape().dim()) {
    if (dim.has_size() && dim.size() < -1)
      return fail("input '" + input.name() + "' requires dims of at least 0, found " + Twine(dim.size()));
    dims.push_back(dim.has_size() && dim.size() >= 0 ? dim.size() : ShapedType::kDynamic);
  }
  if (isGiven) {
    ArrayRef<int64_t> want = given->second;
    if (tensor.has_shape() && want.size() != dims.size())
      return fail("input '" + input.name() + "' requires " + Twine(dims.size()) + " dims, the given shape has " +
                  Twine(want.size()));
    dims.resize(want.size(), ShapedType::kDynamic);
    for (auto [dim, wanted] : llvm::zip(dims, want)) {
      if (wanted < 0)
        continue;
      if (!ShapedType::isDynamic(dim) && dim != wanted)
        return fail("input '" + input.name() + "' requires shape " + printShape(dims) + ", the given shape has " +
                    Twine(wanted) + " for " + Twine(dim));
      dim = wanted;
    }
  }
  if (!isGiven && options.batch >= 0 && !dims.empty() && ShapedType::isDynamic(dims[0]))
    dims[0] = options.batch;
  uint64_t bytes = elementBytes(tensor.elem_type());
  for (int64_t dim : dims)
    if (!ShapedType::isDynamic(dim) && __builtin_mul_overflow(bytes, uint64_t(std::max<int64_t>(dim, 1)), &bytes))
      bytes = kMaxTensorBytes + 1;
  if (bytes > kMaxTensorBytes)
    return fail("input '" + input.name() + "' requires at most " + Twine(kMaxTensorBytes) +
                " bytes (kMaxTensorBytes), found shape " + printShape(dims));
  return RankedTensorType::get(dims, element);
}

ArrayAttr Importer::dimNames(const onnxfile::ValueInfo &input, RankedTensorType type) {
  Builder b(context);
  SmallVector<Attribute> names;
  for (auto [axis, size] : llvm::enumerate(type.getShape())) {
    const auto &shape = input.type().tensor().shape();
    if (!ShapedType::isDynamic(size))
      names.push_back(b.getI64IntegerAttr(size));
    else if (int(axis) < shape.dim_size() && !shape.dim(int(axis)).symbol().empty() &&
             shape.dim(int(axis)).symbol() != "?") // some exporters call every unknown size so
      names.push_back(b.getStringAttr(shape.dim(int(axis)).symbol()));
    else
      names.push_back(b.getStringAttr(input.name() + "." + Twine(axis))); // equal names would be equal sizes
  }
  return b.getArrayAttr(names);
}

//===--- initializers that become states -----------------------------------------------------------------------===//

/// True for inputs that say how an operator works, rather than what it works on.
static bool isSetting(const onnxfile::Node &node, int input) {
  static const struct {
    StringRef op;
    int first, last;
  } table[] = {{"Clip", 1, 2},           {"Resize", 1, 2},
               {"Upsample", 1, 1},       {"Pad", 2, 2},
               {"Dropout", 1, 1},        {"OneHot", 2, 2},
               {"QuantizeLinear", 1, 1}, {"DequantizeLinear", 1, 1},
               {"Range", 0, 2},          {"NonMaxSuppression", 3, 4},
               {"CropAndResize", 1, 2}};
  return llvm::any_of(table, [&](const auto &entry) {
    return entry.op == node.op_type() && input >= entry.first && input <= entry.last;
  });
}

/// Exporters merge initializers that are equal when they write a model for inference: each scale of a new network's
/// batch norms is then an Identity of one of them, or of a variance. In training they part: such an Identity of an
/// initializer becomes an initializer of its own.
static void separateScales(onnxfile::Graph &graph) {
  llvm::StringMap<const onnxfile::Tensor *> initializers;
  for (const onnxfile::Tensor &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  llvm::StringMap<bool> onlyNormalizes;
  for (const onnxfile::Node &node : graph.node())
    for (int i = 0; i < node.input_size(); ++i)
      onlyNormalizes.try_emplace(node.input(i), true).first->second &= node.op_type() == "BatchNormalization" && i > 0;
  for (const onnxfile::ValueInfo &output : graph.output())
    onlyNormalizes[output.name()] = false;
  for (int k = graph.node_size() - 1; k >= 0; --k) {
    const onnxfile::Node &node = graph.node(k);
    if (node.op_type() != "Identity" || !normalizeDomain(node.domain()).empty() || node.input_size() != 1 ||
        node.output_size() != 1 || !initializers.contains(node.input(0)) || !onlyNormalizes.lookup(node.output(0)))
      continue;
    onnxfile::Tensor copy = *initializers[node.input(0)];
    copy.set_name(node.output(0));
    *graph.add_initializer() = std::move(copy);
    graph.mutable_node()->DeleteSubrange(k, 1);
  }
}

namespace {
/// What reads an initializer: a normalization as its statistic, which moves in training, or an operator as a setting.
struct Uses {
  bool statistic = false, moved = false, setting = false;
};
} // namespace

/// Uses by the nodes of `graph` and of the bodies in them, which see the names around them.
static void collectUses(const onnxfile::Graph &graph, bool inBody, llvm::StringMap<Uses> &uses) {
  for (const onnxfile::Node &node : graph.node()) {
    for (int i = 0; i < node.input_size(); ++i) {
      Uses &found = uses[node.input(i)];
      bool statistic = node.op_type() == "BatchNormalization" && i >= 3;
      found.statistic |= statistic;
      found.moved |= statistic && !inBody && i - 2 < node.output_size() && !node.output(i - 2).empty();
      found.setting |= isSetting(node, i);
    }
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      if (attribute.has_g())
        collectUses(attribute.g(), /*inBody=*/true, uses);
      for (const onnxfile::Graph &inner : attribute.graphs())
        collectUses(inner, /*inBody=*/true, uses);
    }
  }
}

SmallVector<const onnxfile::Tensor *> Importer::findStates(const onnxfile::Graph &graph) {
  SmallVector<const onnxfile::Tensor *> states;
  if (!options.isState)
    return states;
  llvm::StringMap<Uses> uses;
  collectUses(graph, /*inBody=*/false, uses);
  for (const onnxfile::Tensor &tensor : graph.initializer()) {
    Type element = elementType(tensor.data_type());
    if (!element || !isa<FloatType>(element) || !uses.contains(tensor.name()))
      continue;
    const Uses &found = uses[tensor.name()];
    if (found.statistic && !found.moved)
      continue; // of a normalization that keeps its statistics in training: no gradient moves them either
    SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    bool isNamed = file->model.producer_name() == "pytorch" && !StringRef(tensor.name()).starts_with("onnx::");
    OnnxInitializer initializer{tensor.name(), RankedTensorType::get(dims, element), found.statistic, found.setting,
                                isNamed};
    if (options.isState(initializer))
      states.push_back(&tensor);
  }
  return states;
}

SmallVector<std::pair<StringRef, Value>> Importer::findNewStatistics(const onnxfile::Graph &graph, Frame &frame,
                                                                     ArrayRef<const onnxfile::Tensor *> states) {
  auto isState = [&](const std::string &name) {
    return llvm::any_of(states, [&](const onnxfile::Tensor *state) { return state->name() == name; });
  };
  llvm::MapVector<StringRef, Value> found;
  for (const onnxfile::Node &node : graph.node())
    if (node.op_type() == "BatchNormalization" && !options.forInference)
      for (int k = 1; k <= 2; ++k)
        if (node.output_size() > k && node.input_size() > k + 2 && isState(node.input(k + 2)))
          if (Value value = frame.values.lookup(node.output(k)))
            found[node.input(k + 2)] = value;
  return found.takeVector();
}

//===--- what is not supported, before anything is imported ----------------------------------------------------===//

static llvm::StringMap<int64_t> operatorSets(const google::protobuf::RepeatedPtrField<onnxfile::OperatorSet> &sets) {
  llvm::StringMap<int64_t> out;
  for (const onnxfile::OperatorSet &set : sets)
    out[normalizeDomain(set.domain())] = set.version();
  out.try_emplace("", 1); // files from before operator sets
  return out;
}

static int64_t versionOf(const llvm::StringMap<int64_t> &opsets, StringRef domain) {
  auto it = opsets.find(normalizeDomain(domain));
  return it == opsets.end() ? 1 : it->second;
}

template <typename Nodes>
void Importer::collectUnsupported(const Nodes &nodes, const llvm::StringMap<int64_t> &opsets,
                                  std::vector<std::string> &lines, llvm::DenseSet<const onnxfile::Function *> &seen) {
  for (auto [index, node] : llvm::enumerate(nodes)) {
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      if (attribute.has_g())
        collectUnsupported(attribute.g().node(), opsets, lines, seen);
      for (const onnxfile::Graph &graph : attribute.graphs())
        collectUnsupported(graph.node(), opsets, lines, seen);
    }
    if (const onnxfile::Function *function = findFunction(node)) {
      if (seen.insert(function).second)
        collectUnsupported(function->node(), operatorSets(function->opset_import()), lines, seen);
      continue;
    }
    std::string reason;
    int64_t version = versionOf(opsets, node.domain());
    if (Registry::get().find(node.domain(), node.op_type(), version, reason))
      continue;
    std::string domain = normalizeDomain(node.domain()).empty() ? "" : normalizeDomain(node.domain()).str() + " ";
    lines.push_back(
        llvm::formatv("{0}: {1}opset {2}: {3}", describeNode(node, int64_t(index)), domain, version, reason));
  }
}

LogicalResult Importer::refuseUnsupported() {
  std::vector<std::string> lines;
  llvm::StringMap<int64_t> opsets = operatorSets(file->model.opset_import());
  llvm::DenseSet<const onnxfile::Function *> seen;
  collectUnsupported(file->model.graph().node(), opsets, lines, seen);
  if (lines.empty())
    return success();
  report.unsupported = lines;
  InFlightDiagnostic diagnostic = emitError(UnknownLoc::get(context));
  if (lines.size() == 1) {
    diagnostic << file->path << ": " << lines.front();
  } else {
    diagnostic << file->path << ": " << lines.size() << " nodes are not supported, the first: " << lines.front();
    for (const std::string &line : lines)
      diagnostic.attachNote() << line;
  }
  return diagnostic;
}

//===--- the walk ---------------------------------------------------------------------------------------------===//

LogicalResult Importer::importCall(const onnxfile::Node &node, const onnxfile::Function &function, Frame &frame,
                                   OpBuilder &b, Location loc) {
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
    return fail("requires at most " + Twine(function.input_size()) + " inputs and " + Twine(function.output_size()) +
                " outputs, found " + Twine(node.input_size()) + " and " + Twine(node.output_size()));
  llvm::StringMap<const onnxfile::Attribute *> attributes;
  for (const onnxfile::Attribute &attribute : function.attribute_proto())
    attributes[attribute.name()] = &attribute;
  for (const onnxfile::Attribute &attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      attributes[attribute.name()] = &attribute;
      continue;
    }
    // the caller is a function itself and passes an attribute on
    auto it = frame.callAttributes ? frame.callAttributes->find(attribute.ref_attr_name())
                                   : llvm::StringMap<const onnxfile::Attribute *>::const_iterator();
    if (frame.callAttributes && it != frame.callAttributes->end())
      attributes[attribute.name()] = it->second;
  }
  Frame callee;
  callee.opsets = operatorSets(function.opset_import());
  callee.callAttributes = &attributes;
  callee.mayRest = frame.mayRest;
  for (int i = 0; i < function.input_size(); ++i)
    callee.values[function.input(i)] =
        i < node.input_size() && !node.input(i).empty() ? frame.values[node.input(i)] : Value();
  for (int i = 0; i < std::min(function.input_size(), node.input_size()); ++i)
    if (auto it = frame.sequences.find(node.input(i)); it != frame.sequences.end())
      if (!keepSequence(callee, function.input(i), it->second))
        return failure();
  if (failed(importNodes(function.node(), callee, b, loc)))
    return failure();
  for (int i = 0; i < node.output_size(); ++i)
    if (auto it = callee.sequences.find(function.output(i)); it != callee.sequences.end()) {
      if (!keepSequence(frame, node.output(i), it->second))
        return failure();
    } else if (!node.output(i).empty()) {
      Value value = callee.values[function.output(i)];
      if (!value)
        return fail("output '" + node.output(i) + "' is given no value");
      frame.values[node.output(i)] = value;
    }
  return success();
}

bool Importer::keepSequence(Frame &frame, StringRef name, ArrayRef<Value> values) {
  sequenceValues += values.size();
  if (sequenceValues > kMaxSequenceValues)
    return succeeded(fail("requires sequences of at most " + Twine(kMaxSequenceValues) +
                          " tensors together (kMaxSequenceValues), found more"));
  frame.sequences[name].assign(values.begin(), values.end());
  return true;
}

LogicalResult Importer::checkInputTypes(OpImport &n) {
  const Schema *schema = findSchema(n.node.domain(), n.node.op_type(), n.version);
  llvm::StringMap<unsigned> first; // input of each shared type
  for (unsigned i = 0; schema && i < n.numInputs(); ++i) {
    if (!n.in(i))
      continue;
    auto [types, isNew] = inputTypesOf.try_emplace({schema, int(i)});
    if (isNew)
      types->second = inputTypes(*schema, int(i));
    int32_t type = onnxType(n.elem(n.in(i)));
    if (!(types->second >> type & 1)) {
      std::string allowed;
      for (int32_t k = 1; k < 64; ++k)
        if ((types->second >> k & 1) && elementType(k))
          allowed += (allowed.empty() ? "" : ", ") + dataTypeName(k);
      return n.error("requires an input " + Twine(i) + " of type " + allowed + ", found " + dataTypeName(type));
    }
    StringRef shared = inputTypeVariable(*schema, int(i));
    if (shared.empty())
      continue;
    auto [other, isFirst] = first.try_emplace(shared, i);
    if (!isFirst && n.elem(n.in(other->second)) != n.elem(n.in(i)))
      return n.error("requires inputs " + Twine(other->second) + " and " + Twine(i) + " of one type, found " +
                     dataTypeName(onnxType(n.elem(n.in(other->second)))) + " and " + dataTypeName(type));
  }
  return success();
}

LogicalResult Importer::importNode(const onnxfile::Node &node, int64_t index, Frame &frame, OpBuilder &b,
                                   Location outer) {
  std::string name = !node.name().empty()                                 ? node.name()
                     : node.output_size() != 0 && !node.output(0).empty() ? node.output(0)
                                                                          : node.op_type();
  Location loc = locate(name, index);
  if (!isa<UnknownLoc>(outer))
    loc = CallSiteLoc::get(loc, outer);

  std::string message;
  LogicalResult result = success();
  {
    ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
      if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message = diagnostic.str();
      return success();
    });
    if (const onnxfile::Function *function = findFunction(node)) {
      result = importCall(node, *function, frame, b, loc);
    } else {
      int64_t version = versionOf(frame.opsets, node.domain());
      std::string reason;
      const OpEntry *entry = Registry::get().find(node.domain(), node.op_type(), version, reason);
      OpImport import(*this, frame, node, entry && entry->standard ? entry->standard : version, b, loc, shapes);
      for (const std::string &input : node.input())
        import.inputs.push_back(input.empty() ? Value() : frame.values.lookup(input));
      while (!import.inputs.empty() && !import.inputs.back())
        import.inputs.pop_back();
      bool missing = false;
      for (unsigned i = 0; entry && i < entry->minInputs; ++i)
        missing |= !import.in(i);
      bool hasSequence = llvm::any_of(node.input(), [&](StringRef input) { return frame.sequences.contains(input); });
      if (!entry)
        result = fail(reason);
      else if (hasSequence && !StringRef(node.op_type()).contains("Sequence"))
        result = import.unsupported("a sequence as an input");
      else if (missing)
        result = fail("requires at least " + Twine(entry->minInputs) + " inputs, found fewer");
      else if (result = checkInputTypes(import); succeeded(result))
        result = entry->import ? entry->import(import) : importGradient(import, frame.values);
      for (unsigned i = 0; succeeded(result) && i < import.numOutputs(); ++i) {
        if (!import.wants(i) || import.isSequence)
          continue;
        if (i >= import.outputs.size() || !import.outputs[i])
          result = import.unsupported("output " + Twine(i) + " ('" + node.output(int(i)) + "')");
        else
          frame.values[node.output(int(i))] = import.outputs[i];
      }
      if (failed(result) && message.empty())
        message = "cannot be imported";
    }
  }
  if (succeeded(result))
    return success();
  return fail(describeNode(node, index) + ": " + message);
}

template <typename Nodes>
LogicalResult Importer::importNodes(const Nodes &nodes, Frame &frame, OpBuilder &b, Location outer) {
  for (auto [index, node] : llvm::enumerate(nodes))
    if (failed(importNode(node, int64_t(index), frame, b, outer)))
      return failure();
  return success();
}

LogicalResult Importer::importGraph(const onnxfile::Graph &graph, Frame &frame, OpBuilder &b, Location outer,
                                    SmallVectorImpl<Value> &results) {
  for (const onnxfile::Tensor &tensor : graph.initializer()) {
    if (&graph == &file->model.graph() && frame.values.contains(tensor.name()))
      continue; // a state
    llvm::Expected<ElementsAttr> attr =
        elementType(tensor.data_type())
            ? constantAttr(tensor)
            : llvm::createStringError("element type " + dataTypeName(tensor.data_type()) + " is not supported");
    if (!attr)
      return fail("initializer '" + tensor.name() + "': " + llvm::toString(attr.takeError()));
    Location loc =
        NameLoc::get(StringAttr::get(context, tensor.name()), FileLineColLoc::get(context, file->path, 0, 0));
    frame.values[tensor.name()] = ConstantOp::create(b, loc, TypeRange(attr->getType()), *attr)->getResult(0);
  }
  if (failed(importNodes(graph.node(), frame, b, outer)))
    return failure();
  for (const onnxfile::ValueInfo &output : graph.output()) {
    Value value = frame.values.lookup(output.name());
    if (!value)
      return fail("output '" + output.name() + "' is given no value");
    results.push_back(value);
  }
  return success();
}

/// More than any model has: beyond, an input's number of channels stays open, and its convolution tells of it.
constexpr int64_t kMaxChannels = int64_t(1) << 20;

/// How many channels inputs have by the filters that they meet, as they are or as other types.
static llvm::StringMap<int64_t> channelsByFilters(const onnxfile::Graph &graph) {
  llvm::StringMap<const onnxfile::Tensor *> constants;
  for (const onnxfile::Tensor &tensor : graph.initializer())
    constants[tensor.name()] = &tensor;
  llvm::StringMap<StringRef> sources; // of what keeps its shape
  llvm::StringMap<int64_t> channels;
  for (const onnxfile::Node &node : graph.node()) {
    StringRef op = node.op_type();
    if (!node.domain().empty() || node.input_size() < 1 || node.output_size() < 1)
      continue;
    StringRef x = node.input(0);
    if (auto source = sources.find(x); source != sources.end())
      x = source->second;
    if (op == "Identity" || op == "Cast" || op == "QuantizeLinear" || op == "DequantizeLinear")
      sources[node.output(0)] = x;
    bool isTransposed = op == "ConvTranspose";
    auto filter = node.input_size() > 1 ? constants.find(node.input(1)) : constants.end();
    if ((op != "Conv" && !isTransposed) || filter == constants.end() || filter->second->dims_size() < 3)
      continue;
    int64_t groups = 1, each = filter->second->dims(isTransposed ? 0 : 1);
    for (const onnxfile::Attribute &attribute : node.attribute())
      if (attribute.name() == "group" && !isTransposed)
        groups = attribute.i();
    if (groups >= 1 && each >= 1 && groups <= kMaxChannels && each <= kMaxChannels / groups)
      channels.try_emplace(x, groups * each);
  }
  return channels;
}

FailureOr<MainArguments> Importer::findArguments(const onnxfile::Graph &graph) {
  MainArguments found;
  llvm::StringMap<int64_t> channels = channelsByFilters(graph);
  llvm::StringSet<> initialized;
  for (const onnxfile::Tensor &tensor : graph.initializer())
    initialized.insert(tensor.name());
  for (const onnxfile::ValueInfo &input : graph.input()) {
    if (initialized.contains(input.name()))
      continue; // an initializer that is listed as an input too, as old files do
    FailureOr<RankedTensorType> type = inputType(input);
    if (failed(type))
      return failure();
    if (auto known = channels.find(input.name());
        known != channels.end() && type->getRank() > 2 && type->isDynamicDim(1)) {
      SmallVector<int64_t> dims(type->getShape());
      dims[1] = known->second;
      type = RankedTensorType::get(dims, type->getElementType());
    }
    found.inputs.push_back(&input);
    found.types.push_back(*type);
  }
  auto nameOf = [](const onnxfile::ValueInfo *input) -> StringRef { return input->name(); };
  for (const auto &given : options.shapes)
    if (!llvm::is_contained(llvm::map_range(found.inputs, nameOf), given.getKey()))
      return fail("shape is given for '" + given.getKey() +
                  "', the model's inputs are: " + llvm::join(llvm::map_range(found.inputs, nameOf), ", "));
  found.states = findStates(graph);
  for (const onnxfile::Tensor *tensor : found.states) {
    llvm::Expected<ElementsAttr> attr = constantAttr(*tensor);
    if (!attr)
      return fail("initializer '" + tensor->name() + "': " + llvm::toString(attr.takeError()));
    found.initial.push_back(*attr);
    found.types.push_back(attr->getType());
  }
  return found;
}

static SmallVector<DictionaryAttr> dictionariesOf(ArrayRef<NamedAttrList> lists, MLIRContext *context) {
  return llvm::map_to_vector(lists, [&](const NamedAttrList &list) { return list.getDictionary(context); });
}

func::FuncOp Importer::makeMain(const MainArguments &arguments, Frame &frame, OpBuilder &b, Location loc) {
  auto function = func::FuncOp::create(b, loc, "main", b.getFunctionType(arguments.types, {}));
  Block *entry = function.addEntryBlock();
  std::vector<NamedAttrList> attributes(arguments.types.size()); // set at once: each setArgAttr keeps a new list of all
  unsigned next = 0;
  auto add = [&](const std::string &name) {
    frame.values[name] = entry->getArgument(next);
    entry->getArgument(next).setLoc(NameLoc::get(b.getStringAttr(name)));
    attributes[next].set("sinter.name", b.getStringAttr(name));
    return next++;
  };
  for (const onnxfile::ValueInfo *input : arguments.inputs) {
    unsigned i = add(input->name());
    if (auto type = cast<RankedTensorType>(arguments.types[i]); !type.hasStaticShape())
      attributes[i].set("sinter.dims", dimNames(*input, type));
  }
  for (auto [tensor, initial] : llvm::zip(arguments.states, arguments.initial)) {
    unsigned i = add(tensor->name());
    attributes[i].set("sinter.state", b.getStringAttr(tensor->name()));
    attributes[i].set("sinter.initial", initial);
  }
  function.setAllArgAttrs(dictionariesOf(attributes, b.getContext()));
  return function;
}

LogicalResult Importer::importMain(OpBuilder &b, Location loc) {
  const onnxfile::Graph &graph = file->model.graph();
  FailureOr<MainArguments> arguments = findArguments(graph);
  if (failed(arguments))
    return failure();
  Frame frame;
  frame.opsets = operatorSets(file->model.opset_import());
  func::FuncOp function = makeMain(*arguments, frame, b, loc);
  b.setInsertionPointToEnd(&function.getBody().front());
  SmallVector<Value> results;
  if (failed(importGraph(graph, frame, b, UnknownLoc::get(context), results)))
    return failure();
  auto statistics = findNewStatistics(graph, frame, arguments->states);
  for (auto &[name, value] : statistics)
    results.push_back(value);
  func::ReturnOp::create(b, loc, results);
  function.setFunctionType(b.getFunctionType(arguments->types, TypeRange(results)));
  std::vector<NamedAttrList> attributes(results.size());
  for (auto [i, output] : llvm::enumerate(graph.output()))
    attributes[i].set("sinter.name", b.getStringAttr(output.name()));
  for (auto [k, statistic] : llvm::enumerate(statistics)) {
    NamedAttrList &list = attributes[size_t(graph.output_size()) + k];
    list.set("sinter.name", b.getStringAttr(statistic.first + ".new"));
    list.set("sinter.state", b.getStringAttr(statistic.first));
  }
  function.setAllResultAttrs(dictionariesOf(attributes, b.getContext()));
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  if (failed(refuseUnsupported()))
    return failure();

  std::string message;
  LogicalResult imported = success();
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
      if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message = diagnostic.str();
      return success();
    });
    if (options.isState)
      separateScales(*file->model.mutable_graph());
    const std::string &name = file->model.graph().name();
    Location loc = locate(name.empty() ? "graph" : name, 0);
    module = ModuleOp::create(loc);
    OpBuilder b(module->getBodyRegion());
    imported = importMain(b, loc);
    if (succeeded(imported))
      imported = verify(*module);
  }
  if (failed(imported))
    return fail(file->path + ": " + (message.empty() ? "cannot be imported" : message));
  return module;
}

FailureOr<OwningOpRef<ModuleOp>> importOnnx(MLIRContext *context, StringRef path, const OnnxImportOptions &options) {
  context->loadDialect<SinterDialect, func::FuncDialect>();
  llvm::Expected<std::unique_ptr<OnnxFile>> file = readOnnxFile(path);
  if (!file) {
    emitError(UnknownLoc::get(context)) << llvm::toString(file.takeError());
    return failure();
  }
  if (options.mapTensors)
    (*file)->external->mapLarge();
  return Importer(context, std::shared_ptr<OnnxFile>(std::move(*file)), options).run();
}

} // namespace sinter::onnx
