// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The FlatBuffers verifier allows records to be shared, so a small file may name the same million operands a million
// times. The writer shares nothing but what it gives an index; `charge` refuses files that hold more than their size
// allows.

#include "ir/file/Validate.h"
#include "ir/file/Elements.h"
#include "ir/file/Limits.h"
#include "ir/file/Names.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sinter::file; // not llvm's names: both have a Type
using llvm::ArrayRef, llvm::DenseSet, llvm::formatv, llvm::SmallDenseSet, llvm::SmallString, llvm::SmallVector,
    llvm::StringRef, llvm::StringSet;
namespace fb = flatbuffers;

namespace {
class Validator {
public:
  Validator(const Graph &graph, uint64_t graphBytes, uint64_t weightsBytes, std::string &problem)
      : graph(graph), budget(graphBytes), leafBudget(16 * graphBytes), weightsBytes(weightsBytes), problem(problem) {}
  bool run();

private:
  using Attributes = fb::Vector<fb::Offset<NamedAttribute>>;

  template <typename... Args> bool fail(const char *format, Args &&...args) {
    if (problem.empty())
      problem = (place + formatv(format, std::forward<Args>(args)...)).str();
    return false;
  }
  /// Counts `amount` records or bytes that were looked at.
  bool charge(uint64_t amount) {
    if (amount > budget)
      return fail("requires records that do not overlap, found more of them than the graph has bytes");
    budget -= amount;
    return true;
  }
  /// FlatBuffers verifies where a list's length lies, not its elements.
  template <typename T> bool aligned(const fb::Vector<T> *list) {
    constexpr size_t alignment = alignof(std::remove_pointer_t<T>);
    return !list || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % alignment == 0 ||
           fail("requires a list's elements at a multiple of {0} bytes, found another place", alignment);
  }
  template <typename T> bool charge(const fb::Vector<T> *list) { return !list || charge(uint64_t(list->size())); }
  template <typename T> static uint32_t sizeOf(const fb::Vector<T> *list) { return list ? list->size() : 0; }
  bool limit(const char *what, uint64_t found, const char *name, uint64_t most) {
    return found <= most || fail("requires at most {0} {1} ({2}), found {3}", most, what, name, found);
  }
  bool index(const char *what, uint32_t found, uint32_t count) {
    return found < count || fail("requires a {0} below {1}, found {2}", what, count, found);
  }
  bool text(const char *what, const fb::String *string) {
    if (!string)
      return fail("requires a {0}, found none", what);
    return charge(string->size() + 1);
  }
  bool nameText(const char *what, const fb::String *string) {
    return text(what, string) && (string->size() > 0 || fail("requires a {0}, found an empty one", what)) &&
           limit("bytes of a name", string->size(), "kMaxNameBytes", kMaxNameBytes);
  }
  static StringRef str(const fb::String *string) { return {string->c_str(), string->size()}; }
  StringRef nameAt(uint32_t i) { return str(graph.names()->Get(i)); }

  bool type(uint32_t i);
  /// The scalar type `i`, or null with the problem told.
  const Type *scalar(uint32_t i);
  bool attribute(const Attribute *value, uint32_t depth);
  bool tensor(const Attribute &value);
  bool attributes(const Attributes *list, uint32_t depth, bool isFunction = false);

  bool checkNames();
  bool checkTypes();
  bool checkLocations();
  bool checkWeights();
  bool slot(const Slot *slot, bool mayHaveAttributes);
  bool op(const Op &op, uint32_t region, uint32_t depth, uint32_t numValues);
  bool region(uint32_t number, uint32_t depth, bool isFunction);
  bool checkFunctions();

  const Graph &graph;
  uint64_t budget, leafBudget;
  uint64_t weightsBytes;
  std::string &problem;
  /// Begins every message: where we are.
  SmallString<64> place;
  uint32_t numNames = 0, numTypes = 0, numLocations = 0, numRegions = 0, numOps = 0;
  SmallVector<bool, 0> regionUsed;
};
} // namespace

//===--- tables -----------------------------------------------------------------------------------------------===//

bool Validator::checkNames() {
  numNames = sizeOf(graph.names());
  if (!limit("names", numNames, "kMaxRecords", kMaxRecords) || !charge(numNames))
    return false;
  StringSet<> seen;
  for (uint32_t i = 0; i < numNames; ++i) {
    if (!nameText("name", graph.names()->Get(i)))
      return false;
    if (!seen.insert(nameAt(i)).second)
      return fail("requires names once each, found '{0}' again", nameAt(i));
  }
  DenseSet<uint32_t> ops;
  for (uint32_t i = 0; i < sizeOf(graph.ops()); ++i) {
    const OpName &op = *graph.ops()->Get(i);
    if (!charge(1) || !index("name of an op", op.name(), numNames))
      return false;
    StringRef name = nameAt(op.name());
    if (!ops.insert(op.name()).second)
      return fail("requires names of ops once each, found '{0}' again", name);
    if (!isStorable(name))
      return fail("requires ops of the sinter dialect, found '{0}'", name);
    if (op.version() == 0 || op.version() > opVersion(name))
      return fail("requires version 1 to {0} of op '{1}', found {2}", opVersion(name), name, op.version());
  }
  return true;
}

bool Validator::checkTypes() {
  numTypes = sizeOf(graph.types());
  if (!limit("types", numTypes, "kMaxRecords", kMaxRecords) || !charge(numTypes))
    return false;
  for (uint32_t i = 0; i < numTypes; ++i) {
    const Type &type = *graph.types()->Get(i);
    if (type.kind() > TypeKind::MAX || type.element() > Element::MAX)
      return fail("type {0} requires a known kind and element, found {1} and {2}", i, int(type.kind()),
                  int(type.element()));
    uint32_t rank = sizeOf(type.dims());
    if (!aligned(type.dims()))
      return false;
    if (type.kind() == TypeKind::Scalar) {
      if (rank)
        return fail("type {0} requires no dims, it is a scalar", i);
      continue;
    }
    if (type.element() == Element::Index)
      return fail("type {0} requires an element that tensors have, found index", i);
    if (!limit("dims", rank, "kMaxRank", static_cast<uint32_t>(kMaxRank)) || !charge(rank))
      return false;
    uint64_t bytes = bytesOf(type.element());
    for (uint32_t k = 0; k < rank; ++k) {
      int64_t size = type.dims()->Get(k);
      if (size < -1)
        return fail("type {0} requires sizes of at least 0, or -1 where not fixed, found {1}", i, size);
      if (__builtin_mul_overflow(bytes, uint64_t(std::max<int64_t>(size, 1)), &bytes) || bytes > kMaxTensorBytes)
        return fail("type {0} requires at most {1} bytes (kMaxTensorBytes), found more", i, kMaxTensorBytes);
    }
  }
  return true;
}

bool Validator::checkLocations() {
  numLocations = sizeOf(graph.locations());
  if (!limit("locations", numLocations, "kMaxRecords", kMaxRecords) || !charge(numLocations))
    return false;
  SmallVector<uint32_t, 0> depths;
  SmallVector<uint64_t, 0> leaves; // of fused locations, which MLIR flattens into each other
  for (uint32_t i = 0; i < numLocations; ++i) {
    const Location &location = *graph.locations()->Get(i);
    LocationKind kind = location.kind();
    uint32_t numChildren = sizeOf(location.children()), depth = 0;
    if (kind > LocationKind::MAX)
      return fail("location {0} requires a known kind, found {1}", i, int(kind));
    bool hasText = kind == LocationKind::Position || kind == LocationKind::Name;
    if (hasText && !text("text of a location", location.text()))
      return false;
    if (kind == LocationKind::Position && sizeOf(location.position()) != 4)
      return fail("location {0} requires 4 numbers, found {1}", i, sizeOf(location.position()));
    bool right = kind == LocationKind::Fused  ? true
                 : kind == LocationKind::Name ? numChildren == 1
                 : kind == LocationKind::Call ? numChildren == 2
                                              : numChildren == 0;
    if (!right)
      return fail("location {0} requires as many children as its kind has, found {1}", i, numChildren);
    if (!charge(numChildren))
      return false;
    uint64_t total = 0;
    for (uint32_t k = 0; k < numChildren; ++k) {
      uint32_t child = location.children()->Get(k);
      if (child >= i)
        return fail("location {0} requires children before itself, found {1}", i, child);
      depth = std::max(depth, depths[child] + 1);
      total += leaves[child];
    }
    if (!limit("nested locations", depth, "kMaxLocationDepth", kMaxLocationDepth))
      return false;
    depths.push_back(depth);
    leaves.push_back(kind == LocationKind::Fused ? total : 1);
    if (leaves.back() > leafBudget)
      return fail("requires fused locations that do not overlap, found location {0}", i);
    leafBudget -= leaves.back();
    if (location.metadata() && (kind != LocationKind::Fused || !attribute(location.metadata(), 0)))
      return fail("location {0} requires metadata only when fused", i);
  }
  return true;
}

bool Validator::checkWeights() {
  uint64_t end = 0;
  if (!aligned(graph.weights()) || !limit("weights", sizeOf(graph.weights()), "kMaxRecords", kMaxRecords))
    return false;
  for (uint32_t i = 0; i < sizeOf(graph.weights()); ++i) {
    const Weight &weight = *graph.weights()->Get(i);
    if (weight.offset() % 64)
      return fail("weight {0} requires an offset that is a multiple of 64, found {1}", i, weight.offset());
    if (weight.offset() < end)
      return fail("weight {0} requires an offset of at least {1}, where the last weight ends, found {2}", i, end,
                  weight.offset());
    if (weight.offset() > weightsBytes || weight.size() > weightsBytes - weight.offset())
      return fail("weight {0} requires bytes within the section of {1}, found {2} at {3}", i, weightsBytes,
                  weight.size(), weight.offset());
    end = weight.offset() + weight.size();
  }
  StringSet<> seen;
  if (!limit("resources", sizeOf(graph.resources()), "kMaxRecords", kMaxRecords))
    return false;
  for (uint32_t i = 0; i < sizeOf(graph.resources()); ++i) {
    const Resource &resource = *graph.resources()->Get(i);
    if (!charge(1) || !nameText("name of a resource", resource.name()) ||
        !index("weight of a resource", resource.weight(), sizeOf(graph.weights())))
      return false;
    if (!seen.insert(str(resource.name())).second)
      return fail("requires names of resources once each, found '{0}' again", str(resource.name()));
  }
  return true;
}

//===--- attributes -------------------------------------------------------------------------------------------===//

bool Validator::type(uint32_t i) { return index("type", i, numTypes); }

const Type *Validator::scalar(uint32_t i) {
  if (!type(i))
    return nullptr;
  const Type *type = graph.types()->Get(i);
  if (type->kind() == TypeKind::Scalar)
    return type;
  fail("requires the type of a number, found that of a tensor");
  return nullptr;
}

/// True when `value` is a sign-extended number of `bits` bits.
static bool fits(int64_t value, unsigned bits) {
  return bits >= 64 || (value >> (bits - 1) == 0 || value >> (bits - 1) == -1);
}

bool Validator::tensor(const Attribute &value) {
  if (!type(value.type()))
    return false;
  const Type &type = *graph.types()->Get(value.type());
  if (type.kind() != TypeKind::Tensor)
    return fail("a constant requires the type of a tensor, found that of a number");
  uint64_t width = bytesOf(type.element()), bytes = width;
  for (uint32_t k = 0; k < sizeOf(type.dims()); ++k) {
    if (type.dims()->Get(k) < 0)
      return fail("a constant requires fixed sizes, found -1");
    bytes *= uint64_t(type.dims()->Get(k)); // at most kMaxTensorBytes
  }
  if (isPacked(type.element()))
    bytes = bytes / 2 + bytes % 2;
  uint64_t found = sizeOf(value.bytes());
  if (value.storage() > Storage::MAX)
    return fail("a constant requires a known storage, found {0}", int(value.storage()));
  if (value.storage() == Storage::Weight || value.storage() == Storage::Resource) {
    uint32_t weight = value.index();
    if (value.storage() == Storage::Resource) {
      if (!index("resource", weight, sizeOf(graph.resources())))
        return false;
      weight = graph.resources()->Get(weight)->weight();
    }
    if (!index("weight", weight, sizeOf(graph.weights())))
      return false;
    found = graph.weights()->Get(weight)->size();
  } else {
    if (!charge(found) || !limit("bytes in a constant", found, "kMaxInlineBytes", kMaxInlineBytes))
      return false;
    if (type.element() == Element::I1)
      for (uint32_t i = 0; i < found; ++i)
        if (value.bytes()->Get(i) > 1)
          return fail("a constant requires booleans of 0 or 1, found {0}", int(value.bytes()->Get(i)));
    if (value.storage() == Storage::Splat) {
      if (bytes == 0)
        return fail("a constant requires elements to repeat one, found none");
      bytes = width;
    }
  }
  return found == bytes || fail("a constant requires {0} bytes by its type, found {1}", bytes, found);
}

bool Validator::attribute(const Attribute *value, uint32_t depth) {
  if (!value)
    return fail("requires an attribute, found none");
  if (!charge(1) || !limit("nested attributes", depth, "kMaxAttributeDepth", kMaxAttributeDepth))
    return false;
  switch (value->kind()) {
  case AttributeKind::Unit:
    return true;
  case AttributeKind::Integer:
  case AttributeKind::Float: {
    const Type *type = scalar(value->type());
    if (!type)
      return false;
    if (isFloat(type->element()) != (value->kind() == AttributeKind::Float))
      return fail("requires a number's type to be of its kind, found another");
    unsigned bits = bitsOf(type->element());
    return bits >= 64 || value->bits() >> bits == 0 || fail("requires a number of {0} bits, found more", bits);
  }
  case AttributeKind::Text:
    return text("text", value->text());
  case AttributeKind::Symbol:
    return nameText("name of a function", value->text());
  case AttributeKind::Type:
    return type(value->type());
  case AttributeKind::Integers: {
    const Type *type = scalar(value->type());
    if (!type || !aligned(value->integers()) || !charge(value->integers()))
      return false;
    Element element = type->element();
    if (element != Element::I8 && element != Element::I16 && element != Element::I32 && element != Element::I64)
      return fail("requires a list of i8, i16, i32 or i64, found another element");
    for (uint32_t i = 0; i < sizeOf(value->integers()); ++i)
      if (!fits(value->integers()->Get(i), bitsOf(element)))
        return fail("requires numbers of {0} bits, found {1}", bitsOf(element), value->integers()->Get(i));
    return true;
  }
  case AttributeKind::Booleans:
    if (!charge(value->booleans()))
      return false;
    for (uint32_t i = 0; i < sizeOf(value->booleans()); ++i)
      if (value->booleans()->Get(i) > 1)
        return fail("requires booleans of 0 or 1, found {0}", int(value->booleans()->Get(i)));
    return true;
  case AttributeKind::Floats:
    return aligned(value->floats()) && charge(value->floats());
  case AttributeKind::Enumeration:
    return index("name of an enumeration", value->name(), numNames) && text("case of an enumeration", value->text());
  case AttributeKind::Tensor:
    return tensor(*value);
  case AttributeKind::Array:
    for (uint32_t i = 0; i < sizeOf(value->elements()); ++i)
      if (!attribute(value->elements()->Get(i), depth + 1))
        return false;
    return true;
  case AttributeKind::Dictionary:
    return attributes(value->entries(), depth + 1);
  }
  return fail("requires an attribute of a known kind, found {0}", int(value->kind()));
}

bool Validator::attributes(const Attributes *list, uint32_t depth, bool isFunction) {
  SmallDenseSet<uint32_t, 8> seen;
  for (uint32_t i = 0; i < sizeOf(list); ++i) {
    const NamedAttribute &named = *list->Get(i);
    if (!charge(1) || !index("name of an attribute", named.name(), numNames))
      return false;
    StringRef name = nameAt(named.name());
    if (!seen.insert(named.name()).second)
      return fail("requires attributes once each, found '{0}' again", name);
    if (isFunction && isFunctionField(name))
      return fail("requires a function's attribute not to be a field of functions, found '{0}'", name);
    size_t before = place.size();
    place += formatv("attribute '{0}': ", name).str();
    if (!attribute(named.value(), depth))
      return false;
    place.truncate(before);
  }
  return true;
}

//===--- regions ----------------------------------------------------------------------------------------------===//

bool Validator::slot(const Slot *slot, bool mayHaveAttributes) {
  if (!charge(1) || !type(slot->type()) || !index("location", slot->location(), numLocations))
    return false;
  if (graph.types()->Get(slot->type())->kind() != TypeKind::Tensor)
    return fail("requires tensors as values, found a number");
  if (!mayHaveAttributes && sizeOf(slot->attributes()))
    return fail("requires attributes on arguments of functions only, found some on those of a region");
  return attributes(slot->attributes(), 0);
}

bool Validator::op(const Op &op, uint32_t regionNumber, uint32_t depth, uint32_t numValues) {
  if (!charge(op.operands()) || !charge(op.results()) || !charge(op.regions()) ||
      !index("location", op.location(), numLocations))
    return false;
  for (uint32_t i = 0; i < sizeOf(op.operands()); ++i)
    if (op.operands()->Get(i) >= numValues)
      return fail("operand {0} requires one of the {1} values before it, found {2}", i, numValues,
                  op.operands()->Get(i));
  for (uint32_t i = 0; i < sizeOf(op.results()); ++i) {
    if (!type(op.results()->Get(i)))
      return false;
    if (graph.types()->Get(op.results()->Get(i))->kind() != TypeKind::Tensor)
      return fail("result {0} requires the type of a tensor, found that of a number", i);
  }
  if (!attributes(op.attributes(), 0))
    return false;
  for (uint32_t i = 0; i < sizeOf(op.regions()); ++i) {
    uint32_t inner = op.regions()->Get(i);
    if (inner <= regionNumber)
      return fail("requires regions after region {0}, which the op is in, found {1}", regionNumber, inner);
    if (!region(inner, depth + 1, /*isFunction=*/false))
      return false;
  }
  return true;
}

bool Validator::region(uint32_t number, uint32_t depth, bool isFunction) {
  if (!index("region", number, numRegions) || !limit("nested regions", depth, "kMaxRegionDepth", kMaxRegionDepth))
    return false;
  if (regionUsed[number])
    return fail("requires regions used once each, found {0} again", number);
  regionUsed[number] = true;
  const Region &region = *graph.regions()->Get(number);
  uint32_t numValues = sizeOf(region.arguments());
  for (uint32_t i = 0; i < numValues; ++i)
    if (!slot(region.arguments()->Get(i), isFunction))
      return false;
  for (uint32_t i = 0; i < sizeOf(region.ops()); ++i) {
    const Op &inner = *region.ops()->Get(i);
    if (!charge(1) || !limit("ops", ++numOps, "kMaxOps", kMaxOps) ||
        !index("known op", inner.name(), sizeOf(graph.ops())))
      return false;
    size_t before = place.size();
    place += formatv("op {0} ({1}): ", i, nameAt(graph.ops()->Get(inner.name())->name())).str();
    if (!op(inner, number, depth, numValues))
      return false;
    place.truncate(before);
    numValues += sizeOf(inner.results());
  }
  return true;
}

bool Validator::checkFunctions() {
  numRegions = sizeOf(graph.regions());
  if (!limit("regions", numRegions, "kMaxRecords", kMaxRecords) ||
      !limit("functions", sizeOf(graph.functions()), "kMaxRecords", kMaxRecords) || !charge(numRegions))
    return false;
  regionUsed.assign(numRegions, false);
  StringSet<> seen;
  for (uint32_t i = 0; i < sizeOf(graph.functions()); ++i) {
    const Function &function = *graph.functions()->Get(i);
    if (!charge(1) || !nameText("name of a function", function.name()))
      return false;
    StringRef name = str(function.name());
    if (!seen.insert(name).second)
      return fail("requires functions once each, found '{0}' again", name);
    place = formatv("function '{0}': ", name).str();
    if (!index("location", function.location(), numLocations) ||
        !attributes(function.attributes(), 0, /*isFunction=*/true))
      return false;
    for (uint32_t k = 0; k < sizeOf(function.results()); ++k)
      if (!slot(function.results()->Get(k), /*mayHaveAttributes=*/true))
        return false;
    if (!region(function.region(), 0, /*isFunction=*/true))
      return false;
    place.clear();
  }
  for (uint32_t i = 0; i < numRegions; ++i)
    if (!regionUsed[i])
      return fail("requires regions that an op or function has, found region {0} without one", i);
  return true;
}

bool Validator::run() {
  return checkNames() && checkTypes() && checkWeights() && checkLocations() && checkFunctions() &&
         index("location of the module", graph.location(), numLocations) && attributes(graph.attributes(), 0);
}

bool sinter::file::validate(ArrayRef<char> bytes, uint64_t weightsBytes, std::string &problem) {
  if (bytes.size() > kMaxGraphBytes) {
    problem =
        formatv("requires a graph of at most {0} bytes (kMaxGraphBytes), found {1}", kMaxGraphBytes, bytes.size());
    return false;
  }
  // Each table takes 4 bytes at least; a graph with more of them than that has them in several places.
  fb::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), kMaxTableDepth,
                        static_cast<uint32_t>(bytes.size() / 4));
  if (!VerifyGraphBuffer(verifier)) {
    problem = "requires a graph in the FlatBuffers format, found something else or a damaged one";
    return false;
  }
  return Validator(*GetGraph(bytes.data()), bytes.size(), weightsBytes, problem).run();
}
