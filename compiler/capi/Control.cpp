// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions and the ops that take them. What the ops' verifiers would say in terms of the IR is checked first, in terms
// of the caller's carries and results; a refused op leaves its regions as they were.

#include "compiler/capi/Graph.h"
#include "ir/Axes.h"
#include "ir/Constants.h"
#include "ir/Ops.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/LoopView.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

//===- regions ---------------------------------------------------------------------------------------===//

sinter_status_code sinter_graph::regionBegin(int32_t count, const sinter_value_type *types, sinter_value *arguments) {
  if (sinter_status_code status = requireFrame("region"))
    return status;
  if (count < 0 || (count > 0 && (!types || !arguments)))
    return invalid("region requires types and room for the arguments, got null");
  for (int32_t i = 0; i < count; ++i)
    if (sinter_status_code status = checkType(&types[i], "region: argument " + Twine(i), symbols.size())) {
      errorIndex = i;
      return status;
    }
  // The parent says that nothing is known of the arguments but what is bound here.
  auto region = std::make_unique<mlir::Region>(graveyard->getOperation());
  Block *block = new Block;
  region->push_back(block);
  pushFrame(block, std::move(region), {});
  for (int32_t i = 0; i < count; ++i)
    arguments[i] = number(addArgument(block, types[i], location));
  frames.back().arguments.assign(types, types + count);
  return SINTER_OK;
}

sinter_status_code sinter_graph::regionEnd(int32_t count, const sinter_value *yields, sinter_region *result) {
  if (sinter_status_code status = requireFrame("region end"))
    return status;
  if (frames.back().function)
    return invalid("region end requires the innermost of what is open to be a region, got a function");
  if (!result || count < 0 || (count > 0 && !yields))
    return invalid("region end requires yields and a place for the region, got null");
  SmallVector<Value> yielded;
  if (sinter_status_code status = resolveAll(ArrayRef(yields, count), "region end: yield", yielded))
    return status;
  OpBuilder b = builder();
  OperationState state(location, YieldOp::getOperationName());
  state.addOperands(yielded);
  b.create(state);
  Frame &frame = frames.back();
  pruneCaptures(*this, frame.captures);
  Region made;
  made.region = std::move(frame.region);
  made.captures = std::move(frame.captures);
  made.arguments = std::move(frame.arguments);
  frames.pop_back();
  regions.push_back(std::move(made));
  *result = static_cast<sinter_region>(regions.size());
  return SINTER_OK;
}

static OperandRange yieldsOf(const sinter_graph::Region &region) {
  return region.region->front().getTerminator()->getOperands();
}

sinter_status_code sinter_graph::takeRegion(sinter_region number, const Twine &what, Region *&region) {
  if (number == 0 || number > regions.size())
    return invalid(what + " requires a region of the graph, got " + Twine(number));
  region = &regions[number - 1];
  return region->region ? SINTER_OK : invalid(what + " requires a region that no op has used, got " + Twine(number));
}

sinter_status_code sinter_graph::capturesOf(ArrayRef<Region *> taken, StringRef name, SmallVectorImpl<uint32_t> &order,
                                            SmallVectorImpl<Value> &outer) {
  for (auto [k, region] : llvm::enumerate(taken))
    if (llvm::is_contained(taken.take_front(k), region))
      return invalid(name + " requires a region for each place, got one of them twice");
  for (Region *region : taken)
    for (auto &[number, placeholder] : region->captures)
      if (!llvm::is_contained(order, number))
        order.push_back(number);
  for (uint32_t number : order) {
    Value value;
    if (sinter_status_code status = resolve(number, name + ": captured value", value))
      return status;
    outer.push_back(value);
  }
  return SINTER_OK;
}

sinter_status_code sinter_graph::insertControl(OperationState &state, ArrayRef<Region *> taken,
                                               ArrayRef<uint32_t> order, ValueRange outer, sinter_value *results,
                                               int32_t *count) {
  state.regions.clear();
  for (Region *region : taken) {
    bindCaptures(&region->region->front(), region->captures, order, outer);
    state.addRegion(std::move(region->region));
  }
  Operation *op = insert(state);
  if (!op)
    return failWithDiagnostic(state.name.getStringRef() + " is not possible with these operands and regions");
  numberAll(op->getResults(), results, count);
  return SINTER_OK;
}

//===- branches --------------------------------------------------------------------------------------===//

/// `type` when both agree in element type and rank, with `?` where sizes differ; else null.
static RankedTensorType joinTypes(RankedTensorType a, RankedTensorType b) {
  std::optional<SmallVector<int64_t>> shape = joinShapes(a.getShape(), b.getShape());
  return shape && a.getElementType() == b.getElementType() ? RankedTensorType::get(*shape, a.getElementType())
                                                           : RankedTensorType();
}

sinter_status_code sinter_graph::branches(StringRef name, sinter_value selector, ArrayRef<sinter_region> numbers,
                                          int32_t room, sinter_value *results, int32_t *count) {
  if (sinter_status_code status = requireFrame(name))
    return status;
  bool isCond = name == "cond";
  if (numbers.empty())
    return invalid(name + " requires at least one region, got none");
  Value select;
  if (sinter_status_code status = resolve(selector, name + (isCond ? ": predicate" : ": index"), select))
    return status;
  Type wanted = RankedTensorType::get({}, IntegerType::get(context.get(), isCond ? 1 : 64));
  if (select.getType() != wanted)
    return invalid(name + " requires " + (isCond ? "a predicate" : "an index") + " of type " + describe(wanted) +
                   ", got " + describe(select.getType()));

  SmallVector<Region *> taken;
  SmallVector<RankedTensorType> joined;
  for (auto [k, number] : llvm::enumerate(numbers)) {
    Region *region;
    if (sinter_status_code status = takeRegion(number, name + ": branch " + Twine(k), region))
      return status;
    if (!region->arguments.empty())
      return invalid(name + " requires regions without arguments, got " + Twine(region->arguments.size()) +
                     " for branch " + Twine(k));
    OperandRange yields = yieldsOf(*region);
    if (k != 0 && yields.size() != joined.size())
      return invalid(name + " requires as many results of each branch, got " + Twine(joined.size()) +
                     " of branch 0 and " + Twine(yields.size()) + " of branch " + Twine(k));
    for (auto [j, yield] : llvm::enumerate(yields)) {
      auto type = cast<RankedTensorType>(yield.getType());
      if (k == 0) {
        joined.push_back(type);
      } else if (RankedTensorType join = joinTypes(joined[j], type)) {
        joined[j] = join;
      } else {
        errorIndex = static_cast<int32_t>(j);
        return invalid(name + " requires one dtype and rank of result " + Twine(j) + " in all branches, got " +
                       describe(joined[j]) + " and " + describe(type) + " of branch " + Twine(k));
      }
    }
    taken.push_back(region);
  }
  if (sinter_status_code status = requireRoom(name, joined.size(), room, results, count))
    return status;
  SmallVector<uint32_t> order;
  SmallVector<Value> outer;
  if (sinter_status_code status = capturesOf(taken, name, order, outer))
    return status;
  SmallVector<Type> types(joined.begin(), joined.end());
  OpBuilder b(context.get());
  if (isCond) {
    OperationState state(location, CondOp::getOperationName());
    CondOp::build(b, state, types, select, outer);
    return insertControl(state, taken, order, outer, results, count);
  }
  OperationState state(location, SwitchOp::getOperationName());
  SwitchOp::build(b, state, types, select, outer, static_cast<unsigned>(taken.size()));
  return insertControl(state, taken, order, outer, results, count);
}

//===- loops -----------------------------------------------------------------------------------------===//

std::string sinter_graph::describeType(const sinter_value_type &type) const {
  std::string text = sinter_dtype_name(type.dtype);
  text += '[';
  for (auto [axis, dim] : llvm::enumerate(ArrayRef(type.dims, type.rank))) {
    text += axis ? ", " : "";
    text += dim >= 0                    ? std::to_string(dim)
            : dim == SINTER_DIM_UNKNOWN ? "?"
                                        : symbols[static_cast<size_t>(-1 - dim)].text;
  }
  return text + "]";
}

/// True when a value of type `type` may stand where `wanted` was declared: sizes that the declaration leaves open may
/// be any.
static bool fits(const sinter_value_type &type, const sinter_value_type &wanted) {
  if (type.dtype != wanted.dtype || type.rank != wanted.rank)
    return false;
  for (int32_t axis = 0; axis < type.rank; ++axis)
    if (wanted.dims[axis] != SINTER_DIM_UNKNOWN && wanted.dims[axis] != type.dims[axis])
      return false;
  return true;
}

sinter_status_code sinter_graph::checkCarries(StringRef name, const Region &body, size_t first, ValueRange init) {
  OperandRange yields = yieldsOf(body);
  if (yields.size() < init.size())
    return invalid(name + " requires a body that yields " + Twine(init.size()) + " carries, got " +
                   Twine(yields.size()) + " values");
  for (size_t k = 0; k < init.size(); ++k) {
    const sinter_value_type &declared = body.arguments[first + k];
    sinter_value_type before = typeOf(init[k]), after = typeOf(yields[k]);
    errorIndex = static_cast<int32_t>(k);
    if (!fits(before, declared))
      return invalid(name + " requires carry " + Twine(k) + " to start as " + describeType(declared) + ", got " +
                     describeType(before));
    if (!fits(after, declared))
      return invalid(name + " requires carry " + Twine(k) + " to keep its type, got " + describeType(declared) +
                     " and, after a trip, " + describeType(after));
  }
  errorIndex = -1;
  return SINTER_OK;
}

/// The trips of a counted loop whose bounds are constants.
static int64_t knownTrips(ValueRange bounds) {
  SmallVector<int64_t> known;
  for (Value bound : bounds) {
    std::optional<SmallVector<int64_t>> value = constantInts(bound);
    if (!value)
      return ShapedType::kDynamic;
    known.push_back(value->front());
  }
  int64_t lower = known[0], upper = known[1], step = known[2];
  if (step == 0 || (step > 0 ? lower >= upper : lower <= upper))
    return 0;
  uint64_t distance = step > 0 ? static_cast<uint64_t>(upper) - lower : static_cast<uint64_t>(lower) - upper;
  uint64_t stride = step > 0 ? step : -static_cast<uint64_t>(step);
  uint64_t trips = (distance - 1) / stride + 1;
  return trips <= INT64_MAX ? static_cast<int64_t>(trips) : ShapedType::kDynamic;
}

/// Along which axes sequences are walked and per-trip outputs stacked, and which from the end.
struct sinter_graph::Walks {
  Walks(size_t sequences, size_t stacks)
      : axes(sequences, 0), outAxes(stacks, 0), reverse(sequences, false), outReverse(stacks, false) {}
  SmallVector<int64_t> axes, outAxes;
  SmallVector<bool> reverse, outReverse;
};

/// Fills `walks` from the options of a scan and `trips` with the length of its sequences, if that is known.
sinter_status_code sinter_graph::checkWalks(const Loop &loop, const Region &body, ValueRange sequences, Walks &walks,
                                            int64_t &trips) {
  size_t numCarries = loop.init.size();
  OperandRange stacked = yieldsOf(body).drop_front(numCarries);
  const sinter_loop_options &o = loop.options;
  if (sequences.empty())
    return invalid("scan requires at least one sequence, got none");
  for (size_t k = 0; k < sequences.size(); ++k) {
    walks.axes[k] = o.axes ? o.axes[k] : 0;
    walks.reverse[k] = o.reverse && o.reverse[k];
    sinter_value_type slice = typeOf(sequences[k]);
    errorIndex = static_cast<int32_t>(k);
    if (walks.axes[k] < 0 || walks.axes[k] >= slice.rank)
      return invalid("scan requires an axis in [0, " + Twine(slice.rank) + ") for sequence " + Twine(k) + ", got " +
                     Twine(walks.axes[k]));
    int64_t size = slice.dims[walks.axes[k]];
    if (size >= 0 && trips >= 0 && size != trips)
      return invalid("scan requires sequences of one length, got " + Twine(trips) + " and " + Twine(size) +
                     " for sequence " + Twine(k));
    trips = size >= 0 ? size : trips;
    std::copy(slice.dims + walks.axes[k] + 1, slice.dims + slice.rank, slice.dims + walks.axes[k]);
    --slice.rank;
    if (const sinter_value_type &declared = body.arguments[numCarries + k]; !fits(slice, declared))
      return invalid("scan requires slices of sequence " + Twine(k) + " of type " + describeType(declared) + ", got " +
                     describeType(slice));
  }
  for (size_t k = 0; k < stacked.size(); ++k) {
    walks.outAxes[k] = o.out_axes ? o.out_axes[k] : 0;
    walks.outReverse[k] = o.out_reverse && o.out_reverse[k];
    int64_t rank = cast<RankedTensorType>(stacked[k].getType()).getRank();
    errorIndex = static_cast<int32_t>(k);
    if (walks.outAxes[k] < 0 || walks.outAxes[k] > rank)
      return invalid("scan requires an axis in [0, " + Twine(rank) + "] for stack " + Twine(k) + ", got " +
                     Twine(walks.outAxes[k]));
  }
  errorIndex = -1;
  return SINTER_OK;
}

sinter_status_code sinter_graph::checkCondition(const Region &cond, const Region &body, size_t numCarries) {
  if (cond.arguments.size() != numCarries)
    return invalid("while requires a condition of " + Twine(numCarries) + " arguments, got " +
                   Twine(cond.arguments.size()));
  for (size_t k = 0; k < numCarries; ++k)
    if (const sinter_value_type &argument = cond.arguments[k]; !fits(body.arguments[k], argument)) {
      errorIndex = static_cast<int32_t>(k);
      return invalid("while requires the condition's argument " + Twine(k) + " as the body has it, got " +
                     describeType(argument) + " and " + describeType(body.arguments[k]));
    }
  OperandRange test = yieldsOf(cond);
  if (test.size() != 1 || test.front().getType() != RankedTensorType::get({}, IntegerType::get(context.get(), 1)))
    return invalid("while requires a condition that yields one i1[], got " +
                   (test.size() == 1 ? describe(test.front().getType()) : std::to_string(test.size()) + " values"));
  return SINTER_OK;
}

sinter_status_code sinter_graph::loop(const Loop &loop, int32_t room, sinter_value *results, int32_t *count) {
  StringRef name = loop.kind == LoopKind::While ? "while" : loop.kind == LoopKind::For ? "for" : "scan";
  if (sinter_status_code status = requireFrame(name))
    return status;
  Builder b(context.get());
  auto scalar = [&](Type element) { return RankedTensorType::get({}, element); };
  SmallVector<Value> bounds, init, sequences;
  if (sinter_status_code status = resolveAll(loop.bounds, name + ": bound", bounds))
    return status;
  for (auto [k, bound] : llvm::enumerate(bounds))
    if (bound.getType() != scalar(b.getI64Type()))
      return invalid(name + " requires bounds of type " + describe(scalar(b.getI64Type())) + ", got " +
                     describe(bound.getType()) + " for bound " + Twine(k));
  if (sinter_status_code status = resolveAll(loop.init, name + ": initial value", init))
    return status;
  if (sinter_status_code status = resolveAll(loop.sequences, name + ": sequence", sequences))
    return status;
  Region *body;
  if (sinter_status_code status = takeRegion(loop.body, name + ": body", body))
    return status;

  // Arguments of the body: i, carries, slices.
  size_t first = bounds.empty() ? 0 : 1;
  if (body->arguments.size() != first + init.size() + sequences.size())
    return invalid(name + " requires a body of " + Twine(first + init.size() + sequences.size()) + " arguments, got " +
                   Twine(body->arguments.size()));
  if (first && !fits(typeOf(bounds[0]), body->arguments[0]))
    return invalid(name + " requires a body whose first argument is i64[], got " + describeType(body->arguments[0]));
  if (sinter_status_code status = checkCarries(name, *body, first, init))
    return status;
  OperandRange stacked = yieldsOf(*body).drop_front(init.size());

  Walks walks(sequences.size(), stacked.size());
  int64_t trips = ShapedType::kDynamic;
  if (loop.kind == LoopKind::Scan) {
    if (sinter_status_code status = checkWalks(loop, *body, sequences, walks, trips))
      return status;
  } else if (loop.kind == LoopKind::For) {
    trips = knownTrips(bounds);
  }
  for (auto [k, value] : llvm::enumerate(stacked))
    if (cast<RankedTensorType>(value.getType()).getRank() == SINTER_MAX_RANK) {
      errorIndex = static_cast<int32_t>(k);
      return invalid(name + " requires per-trip outputs of a rank below " + Twine(SINTER_MAX_RANK) +
                     ", got that rank for stack " + Twine(k));
    }

  if (loop.options.memory && !CheckpointPolicy::parse(loop.options.memory))
    return invalid(name +
                   " requires a memory policy (all, recompute, period(K), binomial(SLOTS), online(SLOTS) or "
                   "implicit), got '" +
                   Twine(loop.options.memory) + "'");
  SmallVector<Region *> taken{body};
  if (loop.kind == LoopKind::While) {
    Region *cond;
    if (sinter_status_code status = takeRegion(loop.cond, "while: condition", cond))
      return status;
    if (sinter_status_code status = checkCondition(*cond, *body, init.size()))
      return status;
    if (loop.options.max_trip < 0)
      return invalid("while requires a max_trip of at least 0, got " + Twine(loop.options.max_trip));
    taken.insert(taken.begin(), cond);
  }

  SmallVector<Type> types;
  if (loop.kind == LoopKind::While)
    types.push_back(scalar(b.getI64Type()));
  for (size_t k = 0; k < init.size(); ++k)
    types.push_back(body->region->getArgument(first + k).getType());
  for (auto [k, value] : llvm::enumerate(stacked))
    types.push_back(stackType(value.getType(), walks.outAxes[k], trips));
  if (sinter_status_code status = requireRoom(name, types.size(), room, results, count))
    return status;
  SmallVector<uint32_t> order;
  SmallVector<Value> outer;
  if (sinter_status_code status = capturesOf(taken, name, order, outer))
    return status;

  OpBuilder ops(context.get());
  auto finish = [&](OperationState &state) {
    if (loop.options.memory)
      state.addAttribute("sinter.memory", b.getStringAttr(loop.options.memory));
    return insertControl(state, taken, order, outer, results, count);
  };
  switch (loop.kind) {
  case LoopKind::While: {
    OperationState state(location, WhileOp::getOperationName());
    WhileOp::build(ops, state, types, init, outer,
                   loop.options.max_trip ? b.getI64IntegerAttr(loop.options.max_trip) : IntegerAttr(),
                   loop.options.trap_at_limit ? LimitPolicy::trap : LimitPolicy::stop);
    return finish(state);
  }
  case LoopKind::For: {
    OperationState state(location, ForOp::getOperationName());
    ForOp::build(ops, state, types, bounds[0], bounds[1], bounds[2], init, outer);
    return finish(state);
  }
  case LoopKind::Scan: {
    OperationState state(location, ScanOp::getOperationName());
    ScanOp::build(ops, state, types, init, sequences, outer, walks.axes, walks.reverse, walks.outAxes,
                  walks.outReverse);
    return finish(state);
  }
  }
  llvm_unreachable("all kinds handled");
}
