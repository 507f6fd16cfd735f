// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/OpTable.h"
#include "compiler/capi/Types.h"
#include "ir/Checks.h"
#include "ir/Ops.h"
#include "ir/Sparse.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

//===- ops -------------------------------------------------------------------------------------------===//

/// TableGen does not say which groups may be empty, and a shape rule reads the others without asking.
static StringRef operandGroups(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("broadcast", "1?*")
      .Case("resize", "1???")
      .Case("layer_norm", "1??")
      .Case("lstm", "1?1?11??")
      .Case("gru", "1?1??1?")
      .Case("rnn", "1?1?1?")
      .Default("");
}

/// Whether TableGen gave `Op` a trait. The same as Op::hasTrait, which compares the trait with each one of the op by a
/// template of its own: for all ops and traits that took most of the time to compile this file.
template <typename Op, template <typename> class Trait> static constexpr bool kHas = std::is_base_of_v<Trait<Op>, Op>;

/// The N, at least `First`, of a trait that counts operands or results; 0 when the op has none.
template <typename Op, template <unsigned> class Trait, unsigned First, unsigned... N>
static constexpr unsigned countOf(std::integer_sequence<unsigned, N...>) {
  return (0 + ... + (kHas<Op, Trait<First + N>::template Impl> ? First + N : 0));
}

template <typename Op> static constexpr unsigned numResults() {
  if (kHas<Op, OpTrait::OneResult>)
    return 1;
  // Of results that may be left out there are none.
  std::make_integer_sequence<unsigned, 4> counts;
  return std::max(countOf<Op, OpTrait::NResults, 2>(counts), countOf<Op, OpTrait::AtLeastNResults, 1>(counts));
}

/// What TableGen's definition requires of the operands, as `verify` says. Shape rules rely on it, and elsewhere it is
/// only checked after them, on an op that exists: so one is made, of result types that mean nothing, and what is said
/// about those is not listened to.
static LogicalResult checkOperands(OperationState &state, unsigned numResults, LogicalResult (*verify)(Operation *)) {
  std::string message;
  LogicalResult result = success();
  {
    ScopedDiagnosticHandler collect(state.getContext(), [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
    Type any = state.operands.empty() ? RankedTensorType::get({}, IntegerType::get(state.getContext(), 32))
                                      : state.operands.front().getType();
    SmallVector<Type> results(numResults, any);
    Operation *op = Operation::create(state.location, state.name, results, state.operands, NamedAttrList(),
                                      state.getRawProperties(), BlockRange(), /*numRegions=*/0);
    result = verify(op);
    op->destroy();
  }
  if (succeeded(result) || StringRef(message).contains("' op result #"))
    return success();
  return emitError(state.location) << message;
}

template <typename Op>
static LogicalResult prepare(OperationState &state, ArrayRef<capi::NamedAttribute> attributes,
                             ArrayRef<int32_t> groupSizes) {
  using Properties = typename Op::Properties;
  DictionaryAttr none = DictionaryAttr::get(state.getContext());
  if constexpr (!std::is_empty_v<Properties>) {
    Properties &properties = state.getOrAddProperties<Properties>();
    for (auto [name, attribute] : attributes)
      Op::setInherentAttr(properties, name, attribute);
    if constexpr (kHas<Op, OpTrait::AttrSizedOperandSegments>)
      llvm::copy(groupSizes, properties.operandSegmentSizes.begin());
    if constexpr (requires { Op::populateDefaultProperties(state.name, properties); })
      Op::populateDefaultProperties(state.name, properties);
    typename Op::Adaptor adaptor(ValueRange(state.operands), none, properties);
    if (failed(adaptor.verify(state.location)))
      return failure();
  }
  auto verify = [](Operation *op) { return cast<Op>(op).verifyInvariantsImpl(); };
  if (failed(checkOperands(state, numResults<Op>(), verify)))
    return failure();
  return Op::inferReturnTypes(state.getContext(), state.location, state.operands, none, state.getRawProperties(), {},
                              state.types);
}

template <typename Op> static void add(std::vector<OpEntry> &entries) {
  if constexpr (kHas<Op, InferTypeOpInterface::Trait> && kHas<Op, OpTrait::ZeroRegions>) {
    OpEntry entry;
    entry.fullName = Op::getOperationName();
    entry.name = entry.fullName.split('.').second;
    entry.attributes = Op::getAttributeNames();
    std::make_integer_sequence<unsigned, 12> counts;
    if (kHas<Op, OpTrait::ZeroOperands>)
      entry.maxOperands = 0;
    else if (kHas<Op, OpTrait::OneOperand>)
      entry.minOperands = entry.maxOperands = 1;
    else if (unsigned exact = countOf<Op, OpTrait::NOperands, 2>(counts))
      entry.minOperands = entry.maxOperands = exact;
    else
      entry.minOperands = countOf<Op, OpTrait::AtLeastNOperands, 1>(counts);
    if constexpr (kHas<Op, OpTrait::AttrSizedOperandSegments>)
      entry.groups = operandGroups(entry.name);
    entry.prepare = prepare<Op>;
    entries.push_back(entry);
  }
}

template <typename... Ops> static void addAll(std::vector<OpEntry> &entries) { (add<Ops>(entries), ...); }

ArrayRef<OpEntry> capi::allOps() {
  static const std::vector<OpEntry> table = [] {
    std::vector<OpEntry> entries;
    addAll<
#define GET_OP_LIST
#include "ir/Elementwise.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Shape.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Indexing.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Sparse.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Reduction.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Contraction.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Normalization.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Recurrent.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Resampling.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Random.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Gradient.cpp.inc"
        >(entries);
    addAll<
#define GET_OP_LIST
#include "ir/Checks.cpp.inc"
        >(entries);
    return entries;
  }();
  return table;
}

const OpEntry *capi::findOp(StringRef name) {
  static const llvm::StringMap<const OpEntry *> byName = [] {
    llvm::StringMap<const OpEntry *> map;
    for (const OpEntry &entry : allOps())
      map[entry.name] = &entry;
    return map;
  }();
  return byName.lookup(name);
}

//===- attributes ------------------------------------------------------------------------------------===//

bool capi::accepts(OperationName op, StringRef attributeName, Attribute attribute) {
  NamedAttrList list;
  list.append(attributeName, attribute);
  MLIRContext *context = op.getContext();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  return succeeded(op.verifyInherentAttrs(list, [&] { return emitError(UnknownLoc::get(context)); }));
}

using StringForm = Attribute (*)(MLIRContext *, StringRef);

/// A case of one enumeration; null for other text, and for attributes that are no enumeration.
template <typename AttrT> static Attribute makeCase(MLIRContext *context, StringRef text) {
  if constexpr (requires(AttrT attr) { stringifyEnum(attr.getValue()); })
    if (auto value = symbolizeEnum<decltype(std::declval<AttrT>().getValue())>(text))
      return AttrT::get(context, *value);
  return {};
}

static Attribute makeString(MLIRContext *context, StringRef text) { return StringAttr::get(context, text); }

/// What a string may be: a case of one of the dialect's enumerations, whose list TableGen makes, or text.
template <typename... AttrT> static constexpr std::array<StringForm, sizeof...(AttrT) + 1> listForms() {
  return {makeCase<AttrT>..., makeString};
}
static constexpr auto stringForms = listForms<
#define GET_ATTRDEF_LIST
#include "ir/Attributes.cpp.inc"
    >();

unsigned capi::numConversions(int32_t kind) {
  switch (kind) {
  case SINTER_ATTR_STRING:
  case SINTER_ATTR_STRINGS:
    return std::size(stringForms);
  case SINTER_ATTR_I64:
  case SINTER_ATTR_F64:
  case SINTER_ATTR_I64S:
  case SINTER_ATTR_F64S:
    return 2;
  default:
    return 1;
  }
}

Attribute capi::convertAttribute(MLIRContext *context, const sinter_attr &attr, unsigned conversion) {
  Builder b(context);
  switch (attr.kind) {
  case SINTER_ATTR_BOOL:
    return b.getBoolAttr(attr.i64 != 0);
  case SINTER_ATTR_I64:
    return conversion == 0 ? Attribute(b.getI64IntegerAttr(attr.i64))
                           : b.getI32IntegerAttr(static_cast<int32_t>(attr.i64));
  case SINTER_ATTR_F64:
    return conversion == 0 ? b.getF64FloatAttr(attr.f64) : b.getF32FloatAttr(static_cast<float>(attr.f64));
  case SINTER_ATTR_STRING:
    return stringForms[conversion](context, attr.string);
  case SINTER_ATTR_I64S: {
    ArrayRef<int64_t> values(attr.i64s, attr.count);
    if (conversion == 0)
      return b.getDenseI64ArrayAttr(values);
    return b.getDenseI32ArrayAttr(SmallVector<int32_t>(values));
  }
  case SINTER_ATTR_F64S: {
    ArrayRef<double> values(attr.f64s, attr.count);
    return conversion == 0 ? Attribute(b.getDenseF64ArrayAttr(values))
                           : b.getDenseF32ArrayAttr(SmallVector<float>(values));
  }
  case SINTER_ATTR_BOOLS: {
    SmallVector<bool> values;
    for (int32_t i = 0; i < attr.count; ++i)
      values.push_back(attr.bools[i] != 0);
    return b.getDenseBoolArrayAttr(values);
  }
  case SINTER_ATTR_STRINGS: {
    SmallVector<Attribute> values;
    for (int32_t i = 0; i < attr.count; ++i) {
      values.push_back(stringForms[conversion](context, attr.strings[i]));
      if (!values.back())
        return {};
    }
    return b.getArrayAttr(values);
  }
  case SINTER_ATTR_DTYPE:
    return TypeAttr::get(elementTypeOf(context, static_cast<int32_t>(attr.i64)));
  case SINTER_ATTR_TYPE:
    return TypeAttr::get(tensorTypeOf(context, *attr.type));
  case SINTER_ATTR_TENSOR:
    return hostTensorOf(context, *attr.tensor).toAttr("constant");
  default:
    return {};
  }
}
