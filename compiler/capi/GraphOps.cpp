// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops by name: attributes, groups of operands, shape rule, and the op in the graph.

#include "compiler/capi/Graph.h"
#include "ir/Ops.h"
#include "mlir/IR/Verifier.h"
#include "runtime/dtypes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

OperationName sinter_graph::operationName(const OpEntry &entry) {
  auto it = names.find(&entry);
  if (it == names.end())
    it = names.try_emplace(&entry, OperationName(entry.fullName, context.get())).first;
  return it->second;
}

Operation *sinter_graph::insert(OperationState &state) {
  OpBuilder b = builder();
  Operation *op = b.create(state);
  ++numOps;
  if (failed(verify(op, /*verifyRecursively=*/true))) {
    bury(op);
    return nullptr;
  }
  ++frames.back().ops;
  return op;
}

sinter_status_code sinter_graph::constant(const sinter_tensor *tensor, sinter_value *value) {
  if (sinter_status_code status = requireFrame("constant"))
    return status;
  if (!value)
    return invalid("constant requires a place for the value, got null");
  if (sinter_status_code status = checkTensor(tensor, "constant"))
    return status;
  HostTensor host = hostTensorOf(context.get(), *tensor);
  OpBuilder b = builder();
  Operation *op = ConstantOp::create(b, location, TypeRange(host.tensorType()), host.toAttr("constant"));
  ++frames.back().ops;
  ++numOps;
  *value = number(op->getResult(0));
  return SINTER_OK;
}

/// Checks that the attribute's pointers and numbers are what its kind says.
static sinter_status_code checkAttr(const sinter_attr &attr, const Twine &what, size_t numSymbols) {
  bool array = attr.kind == SINTER_ATTR_I64S || attr.kind == SINTER_ATTR_F64S || attr.kind == SINTER_ATTR_BOOLS ||
               attr.kind == SINTER_ATTR_STRINGS;
  if (array && (attr.count < 0 || (attr.count > 0 && !attr.i64s)))
    return invalid(what + " requires an array, got null or a negative count");
  switch (attr.kind) {
  case SINTER_ATTR_BOOL:
  case SINTER_ATTR_I64:
  case SINTER_ATTR_F64:
  case SINTER_ATTR_I64S:
  case SINTER_ATTR_F64S:
  case SINTER_ATTR_BOOLS:
    return SINTER_OK;
  case SINTER_ATTR_STRING:
    return attr.string ? SINTER_OK : invalid(what + " requires a string, got null");
  case SINTER_ATTR_STRINGS:
    for (int32_t i = 0; i < attr.count; ++i)
      if (!attr.strings[i])
        return invalid(what + " requires strings, got null for string " + Twine(i));
    return SINTER_OK;
  case SINTER_ATTR_DTYPE:
    if (attr.i64 < 0 || attr.i64 > SINTER_U4 || sinter_dtype_bits(static_cast<int32_t>(attr.i64)) == 0)
      return invalid(what + " requires a dtype, got " + Twine(attr.i64));
    return SINTER_OK;
  case SINTER_ATTR_TYPE:
    return checkType(attr.type, what, numSymbols);
  case SINTER_ATTR_TENSOR:
    return checkTensor(attr.tensor, what);
  default:
    return invalid(what + " requires a kind of sinter_attr_kind, got " + Twine(attr.kind));
  }
}

sinter_status_code sinter_graph::convert(const OpEntry &entry, const sinter_attr &attr, Attribute &result) {
  if (!attr.name)
    return invalid(entry.name + " requires attributes with names, got null");
  StringRef given = attr.name;
  const StringRef *name = llvm::find(entry.attributes, given);
  if (name == entry.attributes.end())
    return invalid(entry.name + " has no attribute '" + given + "', it has: " + llvm::join(entry.attributes, ", "));
  std::string what = (entry.name + ": attribute '" + given + "'").str();
  if (sinter_status_code status = checkAttr(attr, what, symbols.size()))
    return status;
  // Which form the op takes is found once, by trying.
  std::pair<const void *, int32_t> key(name, attr.kind);
  if (auto it = conversions.find(key); it != conversions.end()) {
    result = convertAttribute(context.get(), attr, it->second);
    if (result)
      return SINTER_OK;
  }
  for (unsigned form = 0; form < numConversions(attr.kind); ++form) {
    result = convertAttribute(context.get(), attr, form);
    if (result && accepts(operationName(entry), given, result)) {
      conversions[key] = form;
      return SINTER_OK;
    }
  }
  if (attr.kind == SINTER_ATTR_STRING)
    return invalid(what + " has no case '" + attr.string + "'");
  return invalid(what + " requires another kind of attribute, got kind " + Twine(attr.kind));
}

/// How many operands each group has; `present` are the operands that are not left out.
static sinter_status_code groupOperands(const OpEntry &entry, ArrayRef<sinter_value> operands, const sinter_attr *sizes,
                                        SmallVectorImpl<int32_t> &groupSizes) {
  size_t numGroups = entry.groups.size();
  if (!sizes) {
    if (operands.size() > numGroups)
      return invalid(entry.name + " requires at most " + Twine(numGroups) + " operands, or operandSegmentSizes, got " +
                     Twine(operands.size()));
    for (sinter_value operand : operands)
      groupSizes.push_back(operand != 0);
    groupSizes.resize(numGroups, 0);
  } else {
    if (sizes->kind != SINTER_ATTR_I64S || sizes->count != static_cast<int32_t>(numGroups) || !sizes->i64s)
      return invalid(entry.name + " requires " + Twine(numGroups) + " integers as operandSegmentSizes, got " +
                     Twine(sizes->count));
    int64_t total = 0;
    for (int64_t size : ArrayRef(sizes->i64s, numGroups)) {
      if (size < 0 || size > static_cast<int64_t>(operands.size()))
        return invalid(entry.name + " requires sizes of at least 0 as operandSegmentSizes, got " + Twine(size));
      groupSizes.push_back(static_cast<int32_t>(size));
      total += size;
    }
    int64_t present = llvm::count_if(operands, [](sinter_value operand) { return operand != 0; });
    if (total != present)
      return invalid(entry.name + " requires as many operands as operandSegmentSizes say, got " + Twine(present) +
                     " and " + Twine(total));
  }
  for (auto [k, kind] : llvm::enumerate(entry.groups))
    if (int32_t size = groupSizes[k]; (kind == '1' && size != 1) || (kind == '?' && size > 1))
      return invalid(entry.name + " requires " + (kind == '1' ? "one value" : "at most one value") + " as operand " +
                     Twine(k) + ", got " + Twine(size));
  return SINTER_OK;
}

sinter_status_code sinter_graph::record(StringRef name, ArrayRef<sinter_value> operands, ArrayRef<sinter_attr> attrs,
                                        int32_t room, sinter_value *results, int32_t *count) {
  if (sinter_status_code status = requireFrame(name))
    return status;
  const OpEntry *entry = findOp(name);
  if (!entry)
    return invalid("an op requires a name of the dialect that has no regions, got '" + name + "'");

  SmallVector<capi::NamedAttribute, 8> attributes;
  const sinter_attr *sizes = nullptr;
  for (const sinter_attr &attr : attrs) {
    if (attr.name && !entry->groups.empty() && StringRef(attr.name) == "operandSegmentSizes") {
      sizes = &attr;
      continue;
    }
    Attribute converted;
    if (sinter_status_code status = convert(*entry, attr, converted))
      return status;
    attributes.emplace_back(attr.name, converted);
  }
  SmallVector<int32_t, 8> groupSizes;
  if (!entry->groups.empty())
    if (sinter_status_code status = groupOperands(*entry, operands, sizes, groupSizes))
      return status;
  SmallVector<Value, 8> resolved;
  if (sinter_status_code status = resolveAll(operands, name + ": operand", resolved, /*optional=*/true))
    return status;
  llvm::erase(resolved, Value());
  if (resolved.size() < entry->minOperands || resolved.size() > entry->maxOperands)
    return invalid(name + " requires " + (entry->minOperands == entry->maxOperands ? "" : "at least ") +
                   Twine(entry->minOperands) + " operands, got " + Twine(resolved.size()));

  OperationState state(location, operationName(*entry));
  state.addOperands(resolved);
  if (failed(entry->prepare(state, attributes, groupSizes)))
    return failWithDiagnostic(name + " is not possible with these operands and attributes");
  for (Type type : state.types)
    if (int64_t rank = cast<RankedTensorType>(type).getRank(); rank > SINTER_MAX_RANK)
      return invalid(name + " requires results of at most " + Twine(SINTER_MAX_RANK) + " axes, got " + Twine(rank));
  if (sinter_status_code status = requireRoom(name, state.types.size(), room, results, count))
    return status;
  Operation *op = insert(state);
  if (!op)
    return failWithDiagnostic(name + " is not possible with these operands and attributes");
  numberAll(op->getResults(), results, count);
  return SINTER_OK;
}
