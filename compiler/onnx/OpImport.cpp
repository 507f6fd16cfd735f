// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/OpImport.h"

#include "compiler/onnx/Importer.h"
#include "ir/Checks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace sinter::onnx {

const SmallVector<Value> *OpImport::sequence(unsigned i) const {
  auto it = int(i) < node.input_size() ? frame.sequences.find(node.input(int(i))) : frame.sequences.end();
  return it == frame.sequences.end() ? nullptr : &it->second;
}

LogicalResult OpImport::outSequence(ArrayRef<Value> values) {
  isSequence = true;
  if (failed() || !wants(0))
    return success(!failed());
  return success(importer.keepSequence(frame, node.output(0), values));
}

bool OpImport::forInference() const { return importer.forInference(); }

//===--- attributes -------------------------------------------------------------------------------------------===//

const onnxfile::Attribute *OpImport::attribute(StringRef name) const {
  for (const onnxfile::Attribute &attribute : node.attribute()) {
    if (attribute.name() != name)
      continue;
    if (attribute.ref_attr_name().empty())
      return &attribute;
    if (!frame.callAttributes)
      return nullptr;
    auto it = frame.callAttributes->find(attribute.ref_attr_name());
    return it == frame.callAttributes->end() ? nullptr : it->second;
  }
  return nullptr;
}

void OpImport::noteSizes(Value value) {
  for (DimExpr size : symbolicSizes(value))
    importer.sizesOfValues.insert(size.getOpaqueValue());
}

bool OpImport::isSize(DimExpr expression) { return GraphBuilder::isSize(expression, importer.sizesOfValues); }

int64_t OpImport::intAttr(StringRef name, int64_t otherwise) const {
  const onnxfile::Attribute *found = attribute(name);
  return found ? found->i() : otherwise; // of that kind, as the reader has seen
}

double OpImport::floatAttr(StringRef name, double otherwise) const {
  const onnxfile::Attribute *found = attribute(name);
  return found ? double(found->f()) : otherwise;
}

StringRef OpImport::stringAttr(StringRef name, StringRef otherwise) const {
  const onnxfile::Attribute *found = attribute(name);
  return found ? StringRef(found->s()) : otherwise;
}

std::optional<SmallVector<int64_t>> OpImport::intsAttr(StringRef name) const {
  const onnxfile::Attribute *found = attribute(name);
  if (!found)
    return std::nullopt;
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<SmallVector<double>> OpImport::floatsAttr(StringRef name) const {
  const onnxfile::Attribute *found = attribute(name);
  if (!found)
    return std::nullopt;
  return SmallVector<double>(found->floats().begin(), found->floats().end());
}

SmallVector<StringRef> OpImport::stringsAttr(StringRef name) const {
  SmallVector<StringRef> out;
  if (const onnxfile::Attribute *found = attribute(name))
    for (const std::string &value : found->strings())
      out.push_back(value);
  return out;
}

const onnxfile::Graph *OpImport::graphAttr(StringRef name) const {
  const onnxfile::Attribute *found = attribute(name);
  return found && found->has_g() ? &found->g() : nullptr;
}

LogicalResult OpImport::normalizeAxes(MutableArrayRef<int64_t> axes, int64_t rank) {
  for (int64_t &axis : axes) {
    if (axis < -rank || axis >= rank)
      return error("requires axes in [" + Twine(-rank) + ", " + Twine(rank) + "), found " + Twine(axis));
    if (axis < 0)
      axis += rank;
  }
  for (size_t k = 0; k < axes.size(); ++k)
    if (llvm::is_contained(axes.drop_front(k + 1), axes[k]))
      return error("requires axes named once, found " + Twine(axes[k]) + " twice");
  return success();
}

int64_t OpImport::axisAttr(StringRef name, int64_t otherwise, int64_t rank) {
  int64_t axis = intAttr(name, otherwise);
  return mlir::failed(normalizeAxes(axis, rank)) ? -1 : axis;
}

Type OpImport::elementType(int64_t onnxType) {
  Type type = importer.elementType(onnxType);
  if (!type)
    (void)unsupported("element type " + dataTypeName(int32_t(onnxType)));
  return type;
}

Value OpImport::checked(Value positions, Value operand, ArrayRef<int64_t> axes, bool tuples) {
  auto isPosition = [](Type type) { return type.isSignlessInteger(32) || type.isSignlessInteger(64); };
  auto isAxis = [&](int64_t axis) { return axis >= 0 && axis < rank(operand); };
  if (failed() || !importer.checksPositions())
    return positions;
  if (!isPosition(elem(positions)) || !llvm::all_of(axes, isAxis)) // the op that reads them says so
    return positions;
  return checkPositions(b, loc, positions, operand, axes, tuples, describeNode(node, 0));
}

Value OpImport::constantOf(const onnxfile::Tensor &tensor, StringRef name) {
  if (!importer.elementType(tensor.data_type())) {
    (void)unsupported("element type " + dataTypeName(tensor.data_type()));
    return {};
  }
  llvm::Expected<ElementsAttr> attr = importer.constantAttr(tensor);
  if (!attr) {
    (void)error(name + ": " + llvm::toString(attr.takeError()));
    return {};
  }
  return ConstantOp::create(b, loc, TypeRange(attr->getType()), *attr)->getResult(0);
}

void OpImport::noteUnsupported(const Twine &message) { importer.noteUnsupported(node, message); }

//===--- bodies -----------------------------------------------------------------------------------------------===//

/// Names that `graph` uses and does not define, in the order of their first use.
static void freeNames(const onnxfile::Graph &graph, llvm::StringSet<> bound, llvm::SetVector<StringRef> &names) {
  for (const onnxfile::ValueInfo &input : graph.input())
    bound.insert(input.name());
  for (const onnxfile::Tensor &tensor : graph.initializer())
    bound.insert(tensor.name());
  for (const onnxfile::Node &node : graph.node()) {
    for (const std::string &input : node.input())
      if (!input.empty() && !bound.contains(input))
        names.insert(input);
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      if (attribute.has_g())
        freeNames(attribute.g(), bound, names);
      for (const onnxfile::Graph &inner : attribute.graphs())
        freeNames(inner, bound, names);
    }
    for (const std::string &output : node.output())
      bound.insert(output);
  }
  for (const onnxfile::ValueInfo &output : graph.output())
    if (!bound.contains(output.name()))
      names.insert(output.name());
}

void OpImport::capturesOf(const onnxfile::Graph &graph, SmallVectorImpl<Value> &captures) {
  llvm::SetVector<StringRef> names;
  freeNames(graph, {}, names);
  for (StringRef name : names) {
    auto it = frame.values.find(name);
    if (it == frame.values.end() || it->second.getDefiningOp<ConstantOp>() || llvm::is_contained(captures, it->second))
      continue;
    captures.push_back(it->second);
  }
}

LogicalResult OpImport::importBody(const onnxfile::Graph &graph, Block &block, ArrayRef<Value> arguments,
                                   ArrayRef<Value> captures, SmallVectorImpl<Value> &results, bool mayRest) {
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToEnd(&block);
  Frame scope;
  scope.opsets = frame.opsets;
  scope.callAttributes = frame.callAttributes;
  scope.mayRest = frame.mayRest || mayRest;
  llvm::SetVector<StringRef> names;
  freeNames(graph, {}, names);
  auto captured = block.getArguments().take_back(captures.size());
  for (auto [argument, outer] : llvm::zip(captured, captures))
    importer.alias(argument, outer);
  for (StringRef name : names) {
    auto it = frame.values.find(name);
    if (frame.sequences.contains(name))
      return unsupported("a sequence of a surrounding graph");
    if (it == frame.values.end())
      return error("requires names that are defined, found '" + name + "'");
    if (auto constant = it->second.getDefiningOp<ConstantOp>()) {
      scope.values[name] = inner.clone(*constant)->getResult(0);
      continue;
    }
    const auto *place = llvm::find(captures, it->second);
    if (place == captures.end())
      return error("requires '" + name + "' among its captures");
    scope.values[name] = captured[size_t(place - captures.begin())];
  }
  for (auto [input, argument] : llvm::zip(graph.input(), arguments))
    scope.values[input.name()] = argument;
  LogicalResult result = importer.importGraph(graph, scope, inner, loc, results);
  bool givesSequence = llvm::any_of(
      graph.output(), [&](const onnxfile::ValueInfo &output) { return scope.sequences.contains(output.name()); });
  return givesSequence ? unsupported("a sequence as the output of a body") : result;
}

bool OpImport::mayRest() const { return frame.mayRest; }

std::unique_ptr<Region> OpImport::newRegion() { return std::make_unique<Region>(importer.regionOwner()); }

void OpImport::keep(SmallVectorImpl<std::unique_ptr<Region>> &regions) {
  importer.keep(regions);
  regions.clear();
}

LogicalResult OpImport::importInline(const onnxfile::Graph &graph, ArrayRef<Value> arguments,
                                     SmallVectorImpl<Value> &results) {
  Frame scope = frame;
  for (auto [input, argument] : llvm::zip(graph.input(), arguments))
    scope.values[input.name()] = argument;
  return importer.importGraph(graph, scope, b, loc, results);
}

} // namespace sinter::onnx
