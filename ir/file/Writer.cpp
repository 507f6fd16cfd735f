// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module as a FlatBuffer, in one walk. Records are numbered in the order in which the walk meets them, so that the
// same module gives the same bytes.

#include "ir/Dialect.h"
#include "ir/EnumNames.h"
#include "ir/Storage.h"
#include "ir/file/Elements.h"
#include "ir/file/GraphFile.h"
#include "ir/file/Header.h"
#include "ir/file/Limits.h"
#include "ir/file/Names.h"
#include "ir/file/Validate.h"
#include "ir/file/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sinter;
namespace fb = flatbuffers;

namespace {
using AttributeOffset = fb::Offset<file::Attribute>;
using NamedOffset = fb::Offset<file::NamedAttribute>;

class GraphWriter {
public:
  explicit GraphWriter(ModuleOp module) : module(module) {}
  LogicalResult build();

  ArrayRef<char> graph() const {
    return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
  }
  const file::WeightTable &weightTable() const { return weights; }

private:
  template <typename T> using Vector = std::vector<T>;

  /// Emits an error at the op that is being stored.
  InFlightDiagnostic fail() { return current->emitError("graph files cannot hold "); }

  uint32_t name(StringRef text);
  uint32_t opName(OperationName op);
  uint32_t location(Location loc);
  FailureOr<uint32_t> type(Type type);
  FailureOr<uint32_t> valueType(Type type);
  uint32_t resource(DenseResourceElementsHandle handle, ArrayRef<char> content,
                    std::shared_ptr<std::vector<char>> owner = nullptr);

  FailureOr<AttributeOffset> attribute(StringRef name, Attribute value);
  FailureOr<AttributeOffset> tensor(StringRef name, ElementsAttr value);
  LogicalResult namedAttributes(ArrayRef<NamedAttribute> attributes, Vector<NamedOffset> &out);
  fb::Offset<fb::Vector<NamedOffset>> vectorOf(const Vector<NamedOffset> &attributes) {
    return attributes.empty() ? 0 : builder.CreateVector(attributes);
  }
  template <typename T> fb::Offset<fb::Vector<T>> scalars(ArrayRef<T> values) {
    return values.empty() ? 0 : builder.CreateVector(values.data(), values.size());
  }

  FailureOr<fb::Offset<file::Slot>> slot(Type type, Location loc, DictionaryAttr attributes);
  FailureOr<fb::Offset<file::Op>> op(Operation &op);
  FailureOr<uint32_t> region(Region &region, function_ref<DictionaryAttr(unsigned)> argumentAttributes);
  FailureOr<fb::Offset<file::Function>> function(func::FuncOp function);

  ModuleOp module;
  Operation *current = nullptr;
  fb::FlatBufferBuilder builder;
  file::WeightTable weights;

  llvm::MapVector<StringAttr, uint32_t> names;
  llvm::MapVector<OperationName, uint32_t> ops;
  DenseMap<Type, uint32_t> typeNumbers;
  DenseMap<Location, uint32_t> locationNumbers;
  llvm::StringMap<uint32_t> resourceNumbers;
  DenseMap<Value, uint32_t> values;
  Vector<fb::Offset<file::Type>> types;
  Vector<fb::Offset<file::Location>> locations;
  Vector<fb::Offset<file::Resource>> resources;
  Vector<fb::Offset<file::Region>> regions;
};
} // namespace

uint32_t GraphWriter::name(StringRef text) {
  return names.try_emplace(StringAttr::get(module.getContext(), text), names.size()).first->second;
}

uint32_t GraphWriter::opName(OperationName op) { return ops.try_emplace(op, ops.size()).first->second; }

uint32_t GraphWriter::resource(DenseResourceElementsHandle handle, ArrayRef<char> content,
                               std::shared_ptr<std::vector<char>> owner) {
  auto [it, isNew] = resourceNumbers.try_emplace(handle.getKey(), resources.size());
  if (isNew) {
    auto text = builder.CreateString(handle.getKey().str());
    resources.push_back(file::CreateResource(builder, text, weights.add(content, std::move(owner))));
  }
  return it->second;
}

FailureOr<uint32_t> GraphWriter::type(Type type) {
  if (auto it = typeNumbers.find(type); it != typeNumbers.end())
    return it->second;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getEncoding())
    return fail() << "a type with an encoding, found " << type;
  std::optional<file::Element> element = file::elementOf(tensor ? tensor.getElementType() : type);
  if (!element || (tensor && *element == file::Element::Index))
    return fail() << "other types than ranked tensors of the dialect's elements, found " << type;
  fb::Offset<fb::Vector<int64_t>> dims = 0;
  if (tensor) {
    SmallVector<int64_t> sizes;
    for (int64_t size : tensor.getShape())
      sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
    dims = scalars<int64_t>(sizes);
  }
  types.push_back(file::CreateType(builder, tensor ? file::TypeKind::Tensor : file::TypeKind::Scalar, *element, dims));
  return typeNumbers.try_emplace(type, types.size() - 1).first->second;
}

FailureOr<uint32_t> GraphWriter::valueType(Type valueType) {
  if (!isa<RankedTensorType>(valueType))
    return fail() << "other values than ranked tensors, found one of type " << valueType;
  return type(valueType);
}

uint32_t GraphWriter::location(Location loc) {
  if (auto it = locationNumbers.find(loc); it != locationNumbers.end())
    return it->second;
  file::LocationKind kind = file::LocationKind::Unknown;
  std::string text;
  SmallVector<uint32_t> position, children;
  AttributeOffset metadata = 0;
  if (auto range = dyn_cast<FileLineColRange>(loc)) {
    kind = file::LocationKind::Position;
    text = range.getFilename().str();
    position = {range.getStartLine(), range.getStartColumn(), range.getEndLine(), range.getEndColumn()};
  } else if (auto named = dyn_cast<NameLoc>(loc)) {
    kind = file::LocationKind::Name;
    text = named.getName().str();
    children = {location(named.getChildLoc())};
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    kind = file::LocationKind::Fused;
    for (Location part : fused.getLocations())
      children.push_back(location(part));
    // Metadata is a hint of passes; one that files have no form for is left out.
    if (Attribute hint = fused.getMetadata()) {
      ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
      if (FailureOr<AttributeOffset> stored = attribute("metadata", hint); succeeded(stored))
        metadata = *stored;
    }
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    kind = file::LocationKind::Call;
    children = {location(call.getCallee()), location(call.getCaller())};
  } else if (auto opaque = dyn_cast<OpaqueLoc>(loc)) {
    return location(opaque.getFallbackLocation()); // a pointer into this process
  }
  bool hasText = kind == file::LocationKind::Position || kind == file::LocationKind::Name;
  auto textOffset = hasText ? builder.CreateString(text) : 0;
  auto positionOffset = scalars<uint32_t>(position);
  auto childrenOffset = scalars<uint32_t>(children);
  locations.push_back(file::CreateLocation(builder, kind, textOffset, positionOffset, childrenOffset, metadata));
  return locationNumbers.try_emplace(loc, locations.size() - 1).first->second;
}

//===--- attributes -------------------------------------------------------------------------------------------===//

FailureOr<AttributeOffset> GraphWriter::tensor(StringRef name, ElementsAttr value) {
  FailureOr<uint32_t> typeNumber = type(value.getType());
  if (failed(typeNumber))
    return failure();
  auto finish = [&](file::Storage storage, ArrayRef<char> bytes, uint32_t index) {
    auto content = scalars(ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
    file::AttributeBuilder attribute(builder);
    attribute.add_kind(file::AttributeKind::Tensor);
    attribute.add_type(*typeNumber);
    attribute.add_storage(storage);
    attribute.add_bytes(content);
    attribute.add_index(index);
    return attribute.Finish();
  };
  if (auto shared = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = shared.getRawHandle().getBlob();
    if (!blob)
      return fail() << "a constant without content, found " << name << " with resource '"
                    << shared.getRawHandle().getKey() << "'";
    if (!isPacked(value.getElementType()))
      return finish(file::Storage::Resource, {}, resource(shared.getRawHandle(), blob->getData()));
    FailureOr<HostTensor> elements = HostTensor::fromAttr(value);
    if (failed(elements))
      return fail() << "as many bytes as elements in resource '" << shared.getRawHandle().getKey() << "', found "
                    << blob->getData().size();
    auto owner = std::make_shared<std::vector<char>>(toStored(*elements));
    ArrayRef<char> stored = *owner;
    return finish(file::Storage::Resource, {}, resource(shared.getRawHandle(), stored, std::move(owner)));
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return fail() << "constants other than dense ones, found " << name;
  auto owner = std::make_shared<std::vector<char>>();
  ArrayRef<char> bytes = dense.getRawData();
  bool isSplat = dense.isSplat() && dense.getNumElements() > 0;
  if (dense.getElementType().isInteger(1)) { // one byte each, however MLIR keeps them
    if (isSplat)
      owner->push_back(dense.getSplatValue<bool>());
    else
      for (bool element : dense.getValues<bool>())
        owner->push_back(element);
    bytes = *owner;
  }
  if (isPacked(dense.getElementType()) && !isSplat) {
    *owner = toStored(*HostTensor::fromAttr(dense));
    bytes = *owner;
  }
  if (isSplat)
    return finish(file::Storage::Splat, bytes, 0);
  if (bytes.size() <= file::kMaxInlineBytes)
    return finish(file::Storage::Inline, bytes, 0);
  return finish(file::Storage::Weight, {}, weights.add(bytes, std::move(owner)));
}

FailureOr<AttributeOffset> GraphWriter::attribute(StringRef attributeName, Attribute value) {
  using Kind = file::AttributeKind;
  auto finish = [&](Kind kind, auto fill) {
    file::AttributeBuilder attribute(builder);
    attribute.add_kind(kind);
    fill(attribute);
    return attribute.Finish();
  };
  auto text = [&](Kind kind, StringRef content) {
    auto offset = builder.CreateString(content.str());
    return finish(kind, [&](auto &a) { a.add_text(offset); });
  };
  if (isa<UnitAttr>(value))
    return finish(Kind::Unit, [](auto &) {});
  if (auto attr = dyn_cast<StringAttr>(value); attr && isa<NoneType>(attr.getType()))
    return text(Kind::Text, attr.getValue());
  if (auto attr = dyn_cast<FlatSymbolRefAttr>(value))
    return text(Kind::Symbol, attr.getValue());
  if (auto attr = dyn_cast<ElementsAttr>(value))
    if (!isa<DenseArrayAttr>(value))
      return tensor(attributeName, attr);
  if (std::optional<EnumName> named = nameEnum(value)) {
    auto offset = builder.CreateString(named->value.str());
    uint32_t enumeration = name(named->enumeration);
    return finish(Kind::Enumeration, [&](auto &a) {
      a.add_name(enumeration);
      a.add_text(offset);
    });
  }
  if (isa<IntegerAttr, FloatAttr>(value)) {
    Type typed = cast<TypedAttr>(value).getType();
    if (!file::elementOf(typed))
      return fail() << "numbers of type " << typed << ", found attribute '" << attributeName << "'";
    FailureOr<uint32_t> number = type(typed);
    if (failed(number))
      return failure();
    auto integer = dyn_cast<IntegerAttr>(value);
    llvm::APInt bits = integer ? integer.getValue() : cast<FloatAttr>(value).getValue().bitcastToAPInt();
    return finish(integer ? Kind::Integer : Kind::Float, [&](auto &a) {
      a.add_type(*number);
      a.add_bits(bits.getZExtValue());
    });
  }
  if (auto attr = dyn_cast<TypeAttr>(value)) {
    FailureOr<uint32_t> number = type(attr.getValue());
    if (failed(number))
      return failure();
    return finish(Kind::Type, [&](auto &a) { a.add_type(*number); });
  }
  if (auto attr = dyn_cast<DenseBoolArrayAttr>(value)) {
    SmallVector<uint8_t> values(attr.asArrayRef().begin(), attr.asArrayRef().end());
    auto offset = builder.CreateVector(values.data(), values.size());
    return finish(Kind::Booleans, [&](auto &a) { a.add_booleans(offset); });
  }
  if (auto attr = dyn_cast<DenseF64ArrayAttr>(value)) {
    auto offset = builder.CreateVector(attr.asArrayRef().data(), attr.size());
    return finish(Kind::Floats, [&](auto &a) { a.add_floats(offset); });
  }
  auto integers = [&](auto attr) -> FailureOr<AttributeOffset> {
    FailureOr<uint32_t> number = type(attr.getElementType());
    SmallVector<int64_t> values(attr.asArrayRef().begin(), attr.asArrayRef().end());
    auto offset = builder.CreateVector(values.data(), values.size());
    return finish(Kind::Integers, [&](auto &a) {
      a.add_type(*number);
      a.add_integers(offset);
    });
  };
  if (auto attr = dyn_cast<DenseI64ArrayAttr>(value))
    return integers(attr);
  if (auto attr = dyn_cast<DenseI32ArrayAttr>(value))
    return integers(attr);
  if (auto attr = dyn_cast<DenseI16ArrayAttr>(value))
    return integers(attr);
  if (auto attr = dyn_cast<DenseI8ArrayAttr>(value))
    return integers(attr);
  if (auto attr = dyn_cast<ArrayAttr>(value)) {
    Vector<AttributeOffset> elements;
    for (Attribute element : attr) {
      FailureOr<AttributeOffset> stored = attribute(attributeName, element);
      if (failed(stored))
        return failure();
      elements.push_back(*stored);
    }
    auto offset = builder.CreateVector(elements);
    return finish(Kind::Array, [&](auto &a) { a.add_elements(offset); });
  }
  if (auto attr = dyn_cast<DictionaryAttr>(value)) {
    Vector<NamedOffset> entries;
    if (failed(namedAttributes(attr.getValue(), entries)))
      return failure();
    auto offset = builder.CreateVector(entries);
    return finish(Kind::Dictionary, [&](auto &a) { a.add_entries(offset); });
  }
  return fail() << "attribute '" << attributeName << "' of this kind: " << value;
}

LogicalResult GraphWriter::namedAttributes(ArrayRef<NamedAttribute> attributes, Vector<NamedOffset> &out) {
  for (NamedAttribute named : attributes) {
    FailureOr<AttributeOffset> value = attribute(named.getName(), named.getValue());
    if (failed(value))
      return failure();
    out.push_back(file::CreateNamedAttribute(builder, name(named.getName()), *value));
  }
  return success();
}

//===--- ops, regions, functions ------------------------------------------------------------------------------===//

FailureOr<fb::Offset<file::Slot>> GraphWriter::slot(Type slotType, Location loc, DictionaryAttr attributes) {
  FailureOr<uint32_t> number = valueType(slotType);
  Vector<NamedOffset> named;
  if (failed(number) || (attributes && failed(namedAttributes(attributes.getValue(), named))))
    return failure();
  auto offset = vectorOf(named);
  return file::CreateSlot(builder, *number, location(loc), offset);
}

FailureOr<fb::Offset<file::Op>> GraphWriter::op(Operation &op) {
  current = &op;
  if (!file::isStorable(op.getName().getStringRef()))
    return fail() << "ops of other dialects, found '" << op.getName() << "'";
  if (op.getNumSuccessors())
    return fail() << "branches between blocks, found '" << op.getName() << "'";
  SmallVector<uint32_t> operands, results, nested;
  for (Value operand : op.getOperands()) {
    if (operand.getParentRegion() != op.getParentRegion())
      return fail() << "uses of values of an outer region, found one in '" << op.getName() << "'";
    operands.push_back(values.lookup(operand));
  }
  for (Type result : op.getResultTypes()) {
    FailureOr<uint32_t> number = valueType(result);
    if (failed(number))
      return failure();
    results.push_back(*number);
  }
  Vector<NamedOffset> attributes;
  if (failed(namedAttributes(op.getAttrDictionary().getValue(), attributes)))
    return failure();
  for (Region &inner : op.getRegions()) {
    FailureOr<uint32_t> number = region(inner, [](unsigned) { return DictionaryAttr(); });
    if (failed(number))
      return failure();
    nested.push_back(*number);
  }
  auto operandsOffset = scalars<uint32_t>(operands), resultsOffset = scalars<uint32_t>(results);
  auto attributesOffset = vectorOf(attributes);
  auto regionsOffset = scalars<uint32_t>(nested);
  return file::CreateOp(builder, opName(op.getName()), location(op.getLoc()), operandsOffset, resultsOffset,
                        attributesOffset, regionsOffset);
}

FailureOr<uint32_t> GraphWriter::region(Region &region, function_ref<DictionaryAttr(unsigned)> argumentAttributes) {
  if (!region.hasOneBlock())
    return fail() << "a region of " << region.getBlocks().size() << " blocks, it must have one";
  uint32_t number = static_cast<uint32_t>(regions.size()), next = 0;
  regions.push_back(0); // an outer region is numbered before those in it
  Vector<fb::Offset<file::Slot>> arguments;
  for (BlockArgument argument : region.getArguments()) {
    auto stored = slot(argument.getType(), argument.getLoc(), argumentAttributes(argument.getArgNumber()));
    if (failed(stored))
      return failure();
    arguments.push_back(*stored);
    values[argument] = next++;
  }
  Vector<fb::Offset<file::Op>> stored;
  for (Operation &inner : region.front()) {
    FailureOr<fb::Offset<file::Op>> offset = op(inner);
    if (failed(offset))
      return failure();
    stored.push_back(*offset);
    for (Value result : inner.getResults())
      values[result] = next++;
  }
  auto argumentsOffset = builder.CreateVector(arguments);
  auto opsOffset = builder.CreateVector(stored);
  regions[number] = file::CreateRegion(builder, argumentsOffset, opsOffset);
  return number;
}

FailureOr<fb::Offset<file::Function>> GraphWriter::function(func::FuncOp function) {
  current = function;
  if (function.isExternal())
    return fail() << "functions without a body, found '" << function.getName() << "'";
  Vector<fb::Offset<file::Slot>> results;
  for (auto [i, result] : llvm::enumerate(function.getResultTypes())) {
    auto stored = slot(result, UnknownLoc::get(module.getContext()), function.getResultAttrDict(i));
    if (failed(stored))
      return failure();
    results.push_back(*stored);
  }
  SmallVector<NamedAttribute> others;
  for (NamedAttribute named : function->getAttrs())
    if (!file::isFunctionField(named.getName()))
      others.push_back(named);
  Vector<NamedOffset> attributes;
  if (failed(namedAttributes(others, attributes)))
    return failure();
  if (function.isNested())
    return fail() << "functions of nested visibility, found '" << function.getName() << "'";
  FailureOr<uint32_t> body = region(function.getBody(), [&](unsigned i) { return function.getArgAttrDict(i); });
  if (failed(body))
    return failure();
  auto text = builder.CreateString(function.getName().str());
  auto resultsOffset = builder.CreateVector(results);
  auto attributesOffset = vectorOf(attributes);
  return file::CreateFunction(builder, text, function.isPrivate(), location(function.getLoc()), *body, resultsOffset,
                              attributesOffset);
}

LogicalResult GraphWriter::build() {
  Vector<fb::Offset<file::Function>> functions;
  for (Operation &inner : *module.getBody()) {
    current = &inner;
    auto function = dyn_cast<func::FuncOp>(inner);
    if (!function)
      return fail() << "anything but functions in a module, found '" << inner.getName() << "'";
    FailureOr<fb::Offset<file::Function>> stored = this->function(function);
    if (failed(stored))
      return failure();
    functions.push_back(*stored);
  }
  current = module;
  Vector<NamedOffset> attributes;
  if (failed(namedAttributes(module->getAttrs(), attributes)))
    return failure();
  uint32_t moduleLocation = location(module.getLoc());

  Vector<file::OpName> opNames;
  for (const auto &[op, number] : ops)
    opNames.emplace_back(name(op.getStringRef()), file::opVersion(op.getStringRef()));
  Vector<fb::Offset<fb::String>> nameOffsets;
  for (const auto &[text, number] : names)
    nameOffsets.push_back(builder.CreateString(text.str()));
  Vector<file::Weight> weightRanges;
  for (const file::WeightTable::Range &range : weights.ranges())
    weightRanges.emplace_back(range.offset, range.content.size());

  auto namesOffset = builder.CreateVector(nameOffsets);
  auto opsOffset = builder.CreateVectorOfStructs(opNames);
  auto typesOffset = builder.CreateVector(types);
  auto locationsOffset = builder.CreateVector(locations);
  auto weightsOffset = builder.CreateVectorOfStructs(weightRanges);
  auto resourcesOffset = builder.CreateVector(resources);
  auto regionsOffset = builder.CreateVector(regions);
  auto functionsOffset = builder.CreateVector(functions);
  auto attributesOffset = vectorOf(attributes);
  builder.Finish(file::CreateGraph(builder, namesOffset, opsOffset, typesOffset, locationsOffset, weightsOffset,
                                   resourcesOffset, regionsOffset, functionsOffset, moduleLocation, attributesOffset));
  // What we write must be what we read: this is where the limits are kept.
  std::string problem;
  if (!file::validate(graph(), weights.numBytes(), problem))
    return fail() << "this module: " << problem;
  return success();
}

//===--- the file ---------------------------------------------------------------------------------------------===//

static file::Header headerOf(const GraphWriter &writer) {
  file::Header header = {};
  std::memcpy(header.magic, file::kMagic, sizeof header.magic);
  header.version = file::kVersion;
  header.headerBytes = sizeof header;
  header.graphOffset = sizeof header;
  header.graphBytes = writer.graph().size();
  header.weightsOffset = file::alignUp(header.graphOffset + header.graphBytes);
  header.weightsBytes = writer.weightTable().numBytes();
  // A file without weights ends with the graph.
  header.fileBytes =
      header.weightsBytes ? header.weightsOffset + header.weightsBytes : header.graphOffset + header.graphBytes;
  return header;
}

static void collectPieces(const file::Header &header, const GraphWriter &writer,
                          SmallVectorImpl<file::FilePiece> &pieces) {
  pieces.push_back({0, {reinterpret_cast<const char *>(&header), sizeof header}});
  pieces.push_back({header.graphOffset, writer.graph()});
  for (const file::WeightTable::Range &range : writer.weightTable().ranges())
    pieces.push_back({header.weightsOffset + range.offset, range.content});
}

LogicalResult sinter::writeGraph(ModuleOp module, StringRef path) {
  GraphWriter writer(module);
  if (failed(writer.build()))
    return failure();
  file::Header header = headerOf(writer);
  SmallVector<file::FilePiece, 0> pieces;
  collectPieces(header, writer, pieces);
  std::string error;
  if (!file::writePieces(path, pieces, error))
    return emitError(UnknownLoc::get(module.getContext())) << error;
  return success();
}

LogicalResult sinter::serializeGraph(ModuleOp module, std::string &bytes) {
  GraphWriter writer(module);
  if (failed(writer.build()))
    return failure();
  file::Header header = headerOf(writer);
  SmallVector<file::FilePiece, 0> pieces;
  collectPieces(header, writer, pieces);
  bytes.clear();
  bytes.reserve(header.fileBytes);
  for (const file::FilePiece &piece : pieces) {
    if (piece.content.empty())
      continue;
    bytes.resize(piece.offset, '\0');
    bytes.append(piece.content.data(), piece.content.size());
  }
  return success();
}
