// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checked FlatBuffer as a module. Ops are made through OperationState and verified one by one, so that a shape rule
// sees only operands that were verified before.

#include "ir/Dialect.h"
#include "ir/EnumNames.h"
#include "ir/Storage.h"
#include "ir/file/Elements.h"
#include "ir/file/FileBytes.h"
#include "ir/file/GraphFile.h"
#include "ir/file/Header.h"
#include "ir/file/Limits.h"
#include "ir/file/Validate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
namespace fb = flatbuffers;

namespace {
class GraphReader {
public:
  GraphReader(MLIRContext *context, std::shared_ptr<FileBytes> bytes)
      : context(context), builder(context), bytes(bytes) {}
  /// Null with one line in `problem`.
  OwningOpRef<ModuleOp> read(std::string &problem);

private:
  using Attributes = fb::Vector<fb::Offset<file::NamedAttribute>>;

  bool fail(const llvm::Twine &message) {
    if (problem.empty())
      problem = (place + message).str();
    return false;
  }
  template <typename T> static uint32_t sizeOf(const fb::Vector<T> *list) { return list ? list->size() : 0; }
  static StringRef str(const fb::String *string) { return {string->c_str(), string->size()}; }
  StringAttr name(uint32_t i) const { return names[i]; }
  ArrayRef<char> weight(uint32_t i) const {
    const file::Weight &range = *graph->weights()->Get(i);
    return {weights + range.offset(), static_cast<size_t>(range.size())};
  }

  bool readTables();
  Location locationOf(const file::Location &location, Attribute metadata);
  Attribute attribute(const file::Attribute &value);
  Attribute tensor(const file::Attribute &value);
  bool attributes(const Attributes *list, SmallVectorImpl<NamedAttribute> &out);
  DictionaryAttr slotAttributes(const file::Slot &slot);

  bool region(const file::Region &stored, Region &region);
  Operation *op(const file::Op &stored, ArrayRef<Value> values, Block &block);
  bool function(const file::Function &stored, ModuleOp module);

  MLIRContext *context;
  Builder builder;
  std::shared_ptr<FileBytes> bytes; // released when the last constant that points into them is gone
  const file::Graph *graph = nullptr;
  const char *weights = nullptr;

  std::string problem;
  std::string place;
  SmallVector<StringAttr, 0> names;
  SmallVector<RegisteredOperationName, 0> ops;
  SmallVector<Type, 0> types;
  SmallVector<Location, 0> locations;
  SmallVector<std::optional<DenseResourceElementsHandle>, 0> resources;
};
} // namespace

//===--- tables -----------------------------------------------------------------------------------------------===//

/// Reads the header of a file of `size` bytes that begins with these.
static bool readHeader(ArrayRef<char> begin, uint64_t size, file::Header &header, std::string &problem) {
  auto fail = [&](const Twine &message) {
    problem = message.str();
    return false;
  };
  if (begin.size() < sizeof header)
    return fail(llvm::formatv("requires a graph file, found one of {0} bytes", size));
  std::memcpy(&header, begin.data(), sizeof header);
  if (std::memcmp(header.magic, file::kMagic, sizeof header.magic) != 0)
    return fail("requires a graph file, found another format");
  if (header.version == 0 || header.version > file::kVersion)
    return fail(llvm::formatv("requires version 1 to {0} of graph files, found {1}", file::kVersion, header.version));
  if (header.headerBytes != sizeof header || header.reserved != 0 || header.graphOffset != sizeof header)
    return fail("requires the header of a graph file, found a damaged one");
  if (header.fileBytes != size)
    return fail(llvm::formatv("requires {0} bytes by its header, found {1}", header.fileBytes, size));
  if (header.graphBytes > size - header.graphOffset)
    return fail(llvm::formatv("requires {0} bytes of graph by its header, found {1}", header.graphBytes,
                              size - header.graphOffset));
  if (header.weightsOffset != file::alignUp(header.graphOffset + header.graphBytes))
    return fail(
        llvm::formatv("requires weights at the next multiple of 64 after the graph, found {0}", header.weightsOffset));
  uint64_t room = header.weightsOffset < size ? size - header.weightsOffset : 0;
  if (header.weightsBytes != room)
    return fail(llvm::formatv("requires {0} bytes of weights by its header, found {1}", header.weightsBytes, room));
  return true;
}

Location GraphReader::locationOf(const file::Location &location, Attribute metadata) {
  auto text = [&] { return builder.getStringAttr(str(location.text())); };
  auto child = [&](uint32_t i) { return locations[location.children()->Get(i)]; };
  auto number = [&](uint32_t i) { return location.position()->Get(i); };
  switch (location.kind()) {
  case file::LocationKind::Unknown:
    break;
  case file::LocationKind::Position:
    if (number(0) == number(2) && number(1) == number(3))
      return FileLineColLoc::get(text(), number(0), number(1));
    return FileLineColRange::get(text(), number(0), number(1), number(2), number(3));
  case file::LocationKind::Name:
    return NameLoc::get(text(), child(0));
  case file::LocationKind::Fused: {
    SmallVector<Location> parts;
    for (uint32_t i = 0; i < sizeOf(location.children()); ++i)
      parts.push_back(child(i));
    return FusedLoc::get(parts, metadata, context);
  }
  case file::LocationKind::Call:
    return CallSiteLoc::get(child(0), child(1));
  }
  return UnknownLoc::get(context);
}

bool GraphReader::readTables() {
  for (uint32_t i = 0; i < sizeOf(graph->names()); ++i)
    names.push_back(builder.getStringAttr(str(graph->names()->Get(i))));
  for (uint32_t i = 0; i < sizeOf(graph->ops()); ++i) {
    StringRef op = name(graph->ops()->Get(i)->name());
    std::optional<RegisteredOperationName> registered = RegisteredOperationName::lookup(op, context);
    if (!registered)
      return fail("requires ops that this version of sinter knows, found '" + op + "'");
    ops.push_back(*registered);
  }
  for (uint32_t i = 0; i < sizeOf(graph->types()); ++i) {
    const file::Type &type = *graph->types()->Get(i);
    Type element = file::typeOf(context, type.element());
    if (type.kind() == file::TypeKind::Scalar) {
      types.push_back(element);
      continue;
    }
    SmallVector<int64_t> sizes;
    for (uint32_t k = 0; k < sizeOf(type.dims()); ++k)
      sizes.push_back(type.dims()->Get(k) < 0 ? ShapedType::kDynamic : type.dims()->Get(k));
    types.push_back(RankedTensorType::get(sizes, element));
  }
  resources.resize(sizeOf(graph->resources()));
  for (uint32_t i = 0; i < sizeOf(graph->locations()); ++i) {
    const file::Location &location = *graph->locations()->Get(i);
    Attribute metadata;
    if (location.metadata() && !(metadata = attribute(*location.metadata())))
      return false;
    locations.push_back(locationOf(location, metadata));
  }
  return true;
}

//===--- attributes -------------------------------------------------------------------------------------------===//

Attribute GraphReader::tensor(const file::Attribute &value) {
  auto type = cast<RankedTensorType>(types[value.type()]);
  bool isBoolean = type.getElementType().isInteger(1);
  ArrayRef<char> content;
  if (value.storage() == file::Storage::Weight)
    content = weight(value.index());
  else if (value.storage() == file::Storage::Resource)
    content = weight(graph->resources()->Get(value.index())->weight());
  else if (value.bytes())
    content = {reinterpret_cast<const char *>(value.bytes()->data()), value.bytes()->size()};
  // The only elements that not every byte is one of.
  if (isBoolean)
    for (char byte : content)
      if (byte != 0 && byte != 1) {
        fail(llvm::formatv("a constant requires booleans of 0 or 1, found {0}", int(uint8_t(byte))));
        return nullptr;
      }
  if (value.storage() == file::Storage::Resource) {
    std::optional<DenseResourceElementsHandle> &handle = resources[value.index()];
    if (handle)
      return DenseResourceElementsAttr::get(type, *handle);
    if (isPacked(type.getElementType())) { // a byte each in memory
      auto unpacked = std::make_shared<HostTensor>(fromStored(type.getElementType(), type.getShape(), content));
      const HostTensor &elements = *unpacked;
      AsmResourceBlob blob(
          ArrayRef(elements.data(), elements.numBytes()), 1,
          [unpacked](void *, size_t, size_t) mutable { unpacked.reset(); }, /*dataIsMutable=*/false);
      auto attr =
          DenseResourceElementsAttr::get(type, str(graph->resources()->Get(value.index())->name()), std::move(blob));
      handle = attr.getRawHandle();
      return attr;
    }
    // The alignment that is printed; where the content lies it is 64.
    AsmResourceBlob blob(
        content, byteWidth(type.getElementType()), [owner = bytes](void *, size_t, size_t) mutable { owner.reset(); },
        /*dataIsMutable=*/false);
    auto attr =
        DenseResourceElementsAttr::get(type, str(graph->resources()->Get(value.index())->name()), std::move(blob));
    handle = attr.getRawHandle();
    return attr;
  }
  if (isPacked(type.getElementType()) && value.storage() != file::Storage::Splat) {
    HostTensor unpacked = fromStored(type.getElementType(), type.getShape(), content);
    return DenseElementsAttr::getFromRawBuffer(type, ArrayRef(std::as_const(unpacked).data(), unpacked.numBytes()));
  }
  if (!isBoolean)
    return DenseElementsAttr::getFromRawBuffer(type, content);
  SmallVector<bool> booleans(content.begin(), content.end());
  return DenseElementsAttr::get(type, ArrayRef<bool>(booleans));
}

Attribute GraphReader::attribute(const file::Attribute &value) {
  using Kind = file::AttributeKind;
  switch (value.kind()) {
  case Kind::Unit:
    return builder.getUnitAttr();
  case Kind::Integer: {
    Type type = types[value.type()];
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    return IntegerAttr::get(type, APInt(width, value.bits()));
  }
  case Kind::Float: {
    auto type = cast<FloatType>(types[value.type()]);
    return FloatAttr::get(type, APFloat(type.getFloatSemantics(), APInt(type.getWidth(), value.bits())));
  }
  case Kind::Text:
    return builder.getStringAttr(str(value.text()));
  case Kind::Symbol:
    return FlatSymbolRefAttr::get(context, str(value.text()));
  case Kind::Type:
    return TypeAttr::get(types[value.type()]);
  case Kind::Integers: {
    auto list = [&](auto get, auto zero) -> Attribute {
      SmallVector<decltype(zero)> values;
      for (uint32_t i = 0; i < sizeOf(value.integers()); ++i)
        values.push_back(static_cast<decltype(zero)>(value.integers()->Get(i)));
      return get(values);
    };
    switch (types[value.type()].getIntOrFloatBitWidth()) {
    case 8:
      return list([&](ArrayRef<int8_t> v) { return DenseI8ArrayAttr::get(context, v); }, int8_t(0));
    case 16:
      return list([&](ArrayRef<int16_t> v) { return DenseI16ArrayAttr::get(context, v); }, int16_t(0));
    case 32:
      return list([&](ArrayRef<int32_t> v) { return DenseI32ArrayAttr::get(context, v); }, int32_t(0));
    default:
      return list([&](ArrayRef<int64_t> v) { return DenseI64ArrayAttr::get(context, v); }, int64_t(0));
    }
  }
  case Kind::Booleans: {
    SmallVector<bool> values;
    for (uint32_t i = 0; i < sizeOf(value.booleans()); ++i)
      values.push_back(value.booleans()->Get(i));
    return DenseBoolArrayAttr::get(context, values);
  }
  case Kind::Floats: {
    SmallVector<double> values;
    for (uint32_t i = 0; i < sizeOf(value.floats()); ++i)
      values.push_back(value.floats()->Get(i));
    return DenseF64ArrayAttr::get(context, values);
  }
  case Kind::Enumeration: {
    Attribute found = findEnum(context, {name(value.name()), str(value.text())});
    if (!found)
      fail("requires an enumeration that this version of sinter knows, found " + name(value.name()).getValue() + " '" +
           str(value.text()) + "'");
    return found;
  }
  case Kind::Tensor:
    return tensor(value);
  case Kind::Array: {
    SmallVector<Attribute> elements;
    for (uint32_t i = 0; i < sizeOf(value.elements()); ++i) {
      elements.push_back(attribute(*value.elements()->Get(i)));
      if (!elements.back())
        return nullptr;
    }
    return builder.getArrayAttr(elements);
  }
  case Kind::Dictionary: {
    SmallVector<NamedAttribute> entries;
    return attributes(value.entries(), entries) ? builder.getDictionaryAttr(entries) : nullptr;
  }
  }
  llvm_unreachable("kinds are validated");
}

bool GraphReader::attributes(const Attributes *list, SmallVectorImpl<NamedAttribute> &out) {
  for (uint32_t i = 0; i < sizeOf(list); ++i) {
    Attribute value = attribute(*list->Get(i)->value());
    if (!value)
      return false;
    out.emplace_back(name(list->Get(i)->name()), value);
  }
  return true;
}

/// Names, sizes and states are read by passes that trust them.
static const char *checkSlot(DictionaryAttr attributes, RankedTensorType type) {
  for (const char *name : {"sinter.name", "sinter.state"})
    if (Attribute value = attributes.get(name); value && !isa<StringAttr>(value))
      return "requires names of arguments, results and states to be text";
  if (Attribute value = attributes.get("sinter.dims")) {
    auto dims = dyn_cast<ArrayAttr>(value);
    if (!dims || static_cast<int64_t>(dims.size()) != type.getRank() || !llvm::all_of(dims, [](Attribute dim) {
          auto number = dyn_cast<IntegerAttr>(dim);
          return isa<StringAttr>(dim) || (number && number.getType().isSignlessInteger(64));
        }))
      return "requires 'sinter.dims' to have one name or size per axis";
  }
  return nullptr;
}

DictionaryAttr GraphReader::slotAttributes(const file::Slot &slot) {
  SmallVector<NamedAttribute> list;
  if (!attributes(slot.attributes(), list))
    return nullptr;
  DictionaryAttr result = builder.getDictionaryAttr(list);
  if (const char *what = checkSlot(result, cast<RankedTensorType>(types[slot.type()]))) {
    fail(what);
    return nullptr;
  }
  return result;
}

//===--- ops, regions, functions ------------------------------------------------------------------------------===//

Operation *GraphReader::op(const file::Op &stored, ArrayRef<Value> values, Block &block) {
  OperationState state(locations[stored.location()], ops[stored.name()]);
  for (uint32_t i = 0; i < sizeOf(stored.operands()); ++i)
    state.operands.push_back(values[stored.operands()->Get(i)]);
  for (uint32_t i = 0; i < sizeOf(stored.results()); ++i)
    state.types.push_back(types[stored.results()->Get(i)]);
  SmallVector<NamedAttribute> list;
  if (!attributes(stored.attributes(), list))
    return nullptr;
  state.attributes = NamedAttrList(builder.getDictionaryAttr(list));
  for (uint32_t i = 0; i < sizeOf(stored.regions()); ++i)
    state.addRegion();
  Operation *op = Operation::create(state);
  block.push_back(op);
  for (NamedAttribute named : list)
    if (op->getAttr(named.getName()) != named.getValue()) {
      fail("requires attribute '" + named.getName().getValue() + "' to be of the kind that " +
           op->getName().getStringRef() + " has, found another");
      return nullptr;
    }
  for (uint32_t i = 0; i < sizeOf(stored.regions()); ++i)
    if (!region(*graph->regions()->Get(stored.regions()->Get(i)), op->getRegion(i)))
      return nullptr;
  // The diagnostic becomes `problem` at the end.
  return succeeded(op->getName().verifyInvariants(op)) ? op : nullptr;
}

bool GraphReader::region(const file::Region &stored, Region &region) {
  Block &block = region.emplaceBlock();
  SmallVector<Value, 0> values;
  for (uint32_t i = 0; i < sizeOf(stored.arguments()); ++i) {
    const file::Slot &argument = *stored.arguments()->Get(i);
    values.push_back(block.addArgument(types[argument.type()], locations[argument.location()]));
  }
  size_t outer = place.size();
  for (uint32_t i = 0; i < sizeOf(stored.ops()); ++i) {
    place += llvm::formatv("op {0}: ", i).str();
    Operation *made = op(*stored.ops()->Get(i), values, block);
    if (!made)
      return false;
    place.resize(outer);
    llvm::append_range(values, made->getResults());
  }
  return true;
}

bool GraphReader::function(const file::Function &stored, ModuleOp module) {
  place = llvm::formatv("function '{0}': ", str(stored.name())).str();
  const file::Region &body = *graph->regions()->Get(stored.region());
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  for (auto [slots, slotTypes, lists] : {std::tuple(body.arguments(), &argumentTypes, &argumentAttributes),
                                         std::tuple(stored.results(), &resultTypes, &resultAttributes)})
    for (uint32_t i = 0; i < sizeOf(slots); ++i) {
      slotTypes->push_back(types[slots->Get(i)->type()]);
      lists->push_back(slotAttributes(*slots->Get(i)));
      if (!lists->back())
        return false;
    }
  SmallVector<NamedAttribute> others;
  if (!attributes(stored.attributes(), others))
    return false;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(b, locations[stored.location()], str(stored.name()),
                                       builder.getFunctionType(argumentTypes, resultTypes));
  for (NamedAttribute named : others)
    function->setAttr(named.getName(), named.getValue());
  for (auto [i, list] : llvm::enumerate(argumentAttributes))
    if (!list.empty())
      function.setArgAttrs(i, list);
  for (auto [i, list] : llvm::enumerate(resultAttributes))
    if (!list.empty())
      function.setResultAttrs(i, list);
  if (stored.is_private())
    function.setPrivate();
  for (NamedAttribute named : others)
    if (function->getAttr(named.getName()) != named.getValue())
      return fail("requires attribute '" + named.getName().getValue() +
                  "' to be of the kind that functions have, found another");
  if (!region(body, function.getBody()))
    return false;
  place.clear();
  return true;
}

OwningOpRef<ModuleOp> GraphReader::read(std::string &message) {
  std::string reported;
  OwningOpRef<ModuleOp> module;
  bool ok = false;
  {
    ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
      if (reported.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        reported = diagnostic.str();
      return success();
    });
    file::Header header;
    if (readHeader(bytes->all(), bytes->size(), header, problem)) {
      ArrayRef<char> section(bytes->data() + header.graphOffset, static_cast<size_t>(header.graphBytes));
      weights = bytes->data() + header.weightsOffset;
      if (file::validate(section, header.weightsBytes, problem)) {
        graph = file::GetGraph(section.data());
        ok = readTables();
      }
    }
    if (ok) {
      module = ModuleOp::create(locations[graph->location()]);
      SmallVector<NamedAttribute> list;
      ok = attributes(graph->attributes(), list);
      for (NamedAttribute named : list)
        (*module)->setAttr(named.getName(), named.getValue());
      for (NamedAttribute named : list)
        ok = ok && ((*module)->getAttr(named.getName()) == named.getValue() ||
                    fail("requires attribute '" + named.getName().getValue() +
                         "' to be of the kind that modules have, found another"));
      for (uint32_t i = 0; ok && i < sizeOf(graph->functions()); ++i)
        ok = function(*graph->functions()->Get(i), *module);
      ok = ok && succeeded(verify(*module));
    }
  }
  if (ok)
    return module;
  message = !problem.empty() ? problem : place + (reported.empty() ? "cannot be read" : reported);
  return nullptr;
}

//===--- files ------------------------------------------------------------------------------------------------===//

/// Null with the reason in `problem`.
static std::shared_ptr<FileBytes> readFile(StringRef path, std::string &problem) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  int fd = open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  std::shared_ptr<FileBytes> bytes;
  if (fd < 0 || fstat(fd, &info) != 0)
    problem = std::string("cannot be opened: ") + std::strerror(errno);
  else if (!S_ISREG(info.st_mode))
    problem = S_ISDIR(info.st_mode) ? "requires a regular file, found a directory"
                                    : "requires a regular file, found a device, pipe or socket";
  else if (info.st_size == 0)
    problem = "requires a graph file, found an empty one";
  else if (file::Header header; // before gigabytes of something else
           !(bytes = FileBytes::read(fd, 0, std::min<uint64_t>(info.st_size, sizeof header), problem)) ||
           !readHeader(bytes->all(), static_cast<uint64_t>(info.st_size), header, problem))
    bytes = nullptr;
  else
    bytes = FileBytes::read(fd, 0, static_cast<uint64_t>(info.st_size), problem);
  if (fd >= 0)
    close(fd);
  return bytes;
}

static OwningOpRef<ModuleOp> readBytes(MLIRContext *context, std::shared_ptr<FileBytes> bytes, StringRef name,
                                       std::string problem) {
  context->loadDialect<SinterDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module;
  if (bytes) {
    problem.clear();
    module = GraphReader(context, std::move(bytes)).read(problem);
  }
  if (!module)
    emitError(UnknownLoc::get(context)) << name << ": " << problem;
  return module;
}

OwningOpRef<ModuleOp> sinter::readGraph(MLIRContext *context, StringRef path) {
  std::string problem;
  std::shared_ptr<FileBytes> bytes = readFile(path, problem);
  return readBytes(context, std::move(bytes), path, problem);
}

OwningOpRef<ModuleOp> sinter::readGraphText(const ParserConfig &config, StringRef path) {
  // What is volatile is not mapped.
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/true, /*RequiresNullTerminator=*/true, /*IsVolatile=*/true);
  if (!buffer) {
    emitError(UnknownLoc::get(config.getContext())) << "could not open input file " << path;
    return nullptr;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, config);
}

OwningOpRef<ModuleOp> sinter::readGraph(MLIRContext *context, ArrayRef<char> content, StringRef name) {
  std::shared_ptr<FileBytes> bytes = FileBytes::allocate(content.size());
  if (bytes && !content.empty())
    std::memcpy(bytes->data(), content.data(), content.size());
  return readBytes(context, std::move(bytes), name, "no memory for its " + std::to_string(content.size()) + " bytes");
}
