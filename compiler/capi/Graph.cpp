// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/Graph.h"
#include "backends/schedule/Signature.h"
#include "compiler/Register.h"
#include "compiler/capi/Public.h"
#include "ir/Ops.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

std::unique_ptr<MLIRContext> makeSinterContext() {
  capi::setHostCalls();
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

//===- life ------------------------------------------------------------------------------------------===//

sinter_graph::sinter_graph() : sinter_graph(makeSinterContext(), nullptr) {}

sinter_graph::sinter_graph(std::unique_ptr<MLIRContext> made, OwningOpRef<ModuleOp> read)
    : context(std::move(made)), module(std::move(read)), graveyard(ModuleOp::create(UnknownLoc::get(context.get()))),
      location(UnknownLoc::get(context.get())), values(1), shapes(dims) {
  if (module)
    listFunctions();
  else
    module = ModuleOp::create(UnknownLoc::get(context.get()));
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    bool isWarning = diagnostic.getSeverity() == DiagnosticSeverity::Warning;
    if (!isWarning && (diagnostic.getSeverity() != DiagnosticSeverity::Error || !message.empty()))
      return success();
    // A caller that records an op knows where that is.
    std::string text;
    if (auto place = namePlaces ? diagnostic.getLocation()->findInstanceOf<FileLineColLoc>() : FileLineColLoc())
      text =
          (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn()) + ": ").str();
    if (isWarning)
      llvm::errs() << text << "warning: " << diagnostic.str() << "\n";
    else
      message = text + diagnostic.str();
    return success();
  });
}

sinter_graph::~sinter_graph() {
  for (Frame &frame : frames)
    if (frame.region)
      bury(std::move(frame.region));
  for (Region &region : regions)
    if (region.region)
      bury(std::move(region.region));
}

/// Ops that were recorded, in and below `op`.
static int64_t countOps(Operation *op) {
  int64_t count = 0;
  op->walk([&](Operation *inner) {
    count += !isa<YieldOp, func::ReturnOp, func::FuncOp, UnrealizedConversionCastOp>(inner);
  });
  return count;
}

void sinter_graph::bury(Operation *op) {
  numOps -= countOps(op);
  op->dropAllReferences();
  op->remove();
  graveyard->getBody()->push_back(op);
}

void sinter_graph::bury(std::unique_ptr<mlir::Region> region) {
  for (Operation &op : region->getOps())
    numOps -= countOps(&op);
  region->dropAllReferences();
  buriedRegions.push_back(std::move(region));
}

//===- errors ----------------------------------------------------------------------------------------===//

sinter_status_code sinter_graph::failWithDiagnostic(const Twine &otherwise) {
  std::string text = message.empty() ? otherwise.str() : message;
  message.clear();
  return invalid(text);
}

sinter_status_code sinter_graph::requireFrame(const Twine &call) {
  errorIndex = -1;
  message.clear();
  return frames.empty() ? invalid(call + " requires a function that was begun, got none") : SINTER_OK;
}

sinter_status_code sinter_graph::requireRoom(const Twine &call, size_t needed, int32_t room, sinter_value *results,
                                             int32_t *count) {
  if (!count)
    return invalid(call + " requires a place for the number of results, got null");
  *count = static_cast<int32_t>(needed);
  if (room >= static_cast<int32_t>(needed) && (results || needed == 0))
    return SINTER_OK;
  return invalid(call + " requires room for " + Twine(needed) + " results, got " + Twine(results ? room : 0));
}

//===- sizes -----------------------------------------------------------------------------------------===//

DimExpr sinter_graph::exprOf(sinter_dim dim) {
  if (dim >= 0)
    return dims.constant(dim);
  return dim == SINTER_DIM_UNKNOWN ? DimExpr() : symbols[static_cast<size_t>(-1 - dim)].size;
}

sinter_dim sinter_graph::dimOf(DimExpr size) {
  size = dims.resolve(size);
  if (size.isConstant())
    return size.constant();
  auto [it, isNew] = symbolByExpr.try_emplace(size.getOpaqueValue(), symbols.size());
  if (isNew)
    symbols.push_back({size, dims.print(size)});
  return -1 - static_cast<sinter_dim>(it->second);
}

sinter_value_type sinter_graph::typeOf(Value value) {
  auto tensor = cast<RankedTensorType>(value.getType());
  sinter_value_type type = {};
  type.dtype = schedule::dtypeOf(tensor.getElementType());
  type.rank = static_cast<int32_t>(tensor.getRank());
  if (tensor.hasStaticShape()) {
    llvm::copy(tensor.getShape(), type.dims);
    return type;
  }
  for (auto [axis, size] : llvm::enumerate(shapes.dims(value)))
    type.dims[axis] = size ? dimOf(size) : SINTER_DIM_UNKNOWN;
  return type;
}

//===- values ----------------------------------------------------------------------------------------===//

sinter_value sinter_graph::number(Value value) {
  values.push_back({value, frames.back().serial});
  return static_cast<sinter_value>(values.size() - 1);
}

void sinter_graph::numberAll(ValueRange made, sinter_value *results, int32_t *count) {
  for (auto [k, value] : llvm::enumerate(made))
    results[k] = number(value);
  *count = static_cast<int32_t>(made.size());
}

sinter_status_code sinter_graph::resolve(sinter_value number, const Twine &what, Value &value, bool optional) {
  value = {};
  if (number == 0 && optional)
    return SINTER_OK;
  if (number == 0 || number >= values.size())
    return invalid(what + " requires a value of the graph, got " + Twine(number));
  const ValueEntry &entry = values[number];
  if (!entry.value)
    return invalid(what + " requires a value of the graph, got " + Twine(number) + ", which was dropped");
  Frame &inner = frames.back();
  if (entry.frame == inner.serial) {
    value = entry.value;
    return SINTER_OK;
  }
  if (llvm::none_of(frames, [&](const Frame &frame) { return frame.serial == entry.frame; }))
    return invalid(what + " requires a value of an open function or region, got " + Twine(number) +
                   ", whose function or region has ended");
  OpBuilder b(inner.block, inner.block->begin());
  if (auto constant = entry.value.getDefiningOp<ConstantOp>()) { // repeated: shape rules look at it
    Value &copy = inner.constants[number];
    if (!copy) {
      copy = b.clone(*constant)->getResult(0);
      ++numOps;
    }
    value = copy;
    return SINTER_OK;
  }
  Value &placeholder = inner.captures[number];
  if (!placeholder) {
    placeholder =
        UnrealizedConversionCastOp::create(b, entry.value.getLoc(), TypeRange(entry.value.getType()), ValueRange())
            .getResult(0);
    shapes.bind(placeholder, shapes.dims(entry.value));
    if (std::optional<Dims> elements = shapes.contents(entry.value))
      shapes.bindContents(placeholder, *elements);
  }
  value = placeholder;
  return SINTER_OK;
}

sinter_status_code sinter_graph::resolveAll(ArrayRef<sinter_value> numbers, const Twine &what,
                                            SmallVectorImpl<Value> &resolved, bool optional) {
  for (auto [k, number] : llvm::enumerate(numbers)) {
    Value value;
    if (sinter_status_code status = resolve(number, what + " " + Twine(k), value, optional)) {
      errorIndex = static_cast<int32_t>(k);
      return status;
    }
    resolved.push_back(value);
  }
  return SINTER_OK;
}

//===- functions -------------------------------------------------------------------------------------===//

void sinter_graph::pushFrame(Block *block, std::unique_ptr<mlir::Region> region, func::FuncOp function) {
  Frame frame;
  frame.serial = ++lastSerial;
  frame.block = block;
  frame.region = std::move(region);
  frame.function = function;
  frames.push_back(std::move(frame));
}

Value sinter_graph::addArgument(Block *block, const sinter_value_type &type, Location loc) {
  Value argument = block->addArgument(tensorTypeOf(context.get(), type), loc);
  Dims sizes;
  for (auto [axis, dim] : llvm::enumerate(ArrayRef(type.dims, type.rank))) {
    DimExpr size = exprOf(dim);
    sizes.push_back(size ? size : dims.symbol({SymbolSource::Kind::Size, argument, static_cast<int64_t>(axis)}));
  }
  shapes.bind(argument, sizes);
  return argument;
}

static std::string nameOr(const char *const *names, int32_t index, const Twine &otherwise) {
  return names && names[index] && *names[index] ? std::string(names[index]) : otherwise.str();
}

sinter_status_code sinter_graph::begin(const char *name, int32_t count, const sinter_value_type *types,
                                       const char *const *names, sinter_value *arguments) {
  errorIndex = -1;
  if (!name || !*name)
    return invalid("begin requires a name, got none");
  if (count < 0 || (count > 0 && (!types || !arguments)))
    return invalid("begin of '" + Twine(name) + "' requires types and room for the arguments, got null");
  bool nested = !frames.empty();
  if (!nested && module->lookupSymbol(name))
    return invalid("begin requires a name that no other function has, got '" + Twine(name) + "'");
  for (int32_t i = 0; i < count; ++i)
    if (sinter_status_code status =
            checkType(&types[i], "begin of '" + Twine(name) + "': input " + Twine(i), symbols.size())) {
      errorIndex = i;
      return status;
    }

  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  std::string unique = name;
  for (unsigned k = 0; nested && module->lookupSymbol(unique); ++k)
    unique = (Twine(name) + "." + Twine(k)).str();
  auto function = func::FuncOp::create(b, location, unique, b.getFunctionType({}, {}));
  if (nested)
    function.setPrivate();
  Block *block = new Block;
  function.getBody().push_back(block);
  pushFrame(block, nullptr, function);
  SmallVector<Type> inputs;
  for (int32_t i = 0; i < count; ++i) {
    std::string input = nameOr(names, i, "arg" + Twine(i));
    Value argument = addArgument(block, types[i], NameLoc::get(b.getStringAttr(input), location));
    inputs.push_back(argument.getType());
    arguments[i] = number(argument);
  }
  function.setFunctionType(b.getFunctionType(inputs, {}));
  for (int32_t i = 0; i < count; ++i) {
    std::string input = nameOr(names, i, "arg" + Twine(i));
    function.setArgAttr(i, "sinter.name", b.getStringAttr(input));
    if (cast<RankedTensorType>(inputs[i]).hasStaticShape())
      continue;
    SmallVector<Attribute> sizes;
    for (auto [axis, dim] : llvm::enumerate(ArrayRef(types[i].dims, types[i].rank))) {
      if (dim >= 0)
        sizes.push_back(b.getI64IntegerAttr(dim));
      else if (dim == SINTER_DIM_UNKNOWN)
        sizes.push_back(b.getStringAttr(input + "." + Twine(axis)));
      else
        sizes.push_back(b.getStringAttr(symbols[static_cast<size_t>(-1 - dim)].text));
    }
    function.setArgAttr(i, "sinter.dims", b.getArrayAttr(sizes));
  }
  return SINTER_OK;
}

void sinter_graph::pruneCaptures(sinter_graph &graph, Captures &captures) {
  captures.remove_if([&](auto &capture) {
    if (!capture.second.use_empty())
      return false;
    graph.bury(capture.second.getDefiningOp());
    return true;
  });
}

void sinter_graph::bindCaptures(Block *block, const Captures &captures, ArrayRef<uint32_t> order, ValueRange outer) {
  for (auto [capture, value] : llvm::zip(order, outer)) {
    Value argument = block->addArgument(value.getType(), value.getLoc());
    shapes.bind(argument, shapes.dims(value));
    auto it = captures.find(capture);
    if (it == captures.end())
      continue;
    Value placeholder = it->second;
    placeholder.replaceAllUsesWith(argument);
    bury(placeholder.getDefiningOp());
  }
}

sinter_status_code sinter_graph::end(int32_t count, const sinter_value *results, const char *const *names,
                                     int32_t *result) {
  if (sinter_status_code status = requireFrame("end"))
    return status;
  Frame &frame = frames.back();
  if (!frame.function)
    return invalid("end requires the innermost of what is open to be a function, got a region");
  if (count < 0 || (count > 0 && !results))
    return invalid("end requires results, got null");
  func::FuncOp op = frame.function;
  SmallVector<Value> returned;
  if (sinter_status_code status =
          resolveAll(ArrayRef(results, count), "end of '" + op.getName() + "': result", returned))
    return status;

  Function made;
  made.op = op;
  made.name = op.getName().str();
  made.parent = frames.size() > 1 ? frames[frames.size() - 2].serial : 0;
  OpBuilder b = builder();
  for (auto [i, argument] : llvm::enumerate(frame.block->getArguments())) {
    made.inputs.push_back(typeOf(argument));
    made.inputNames.push_back(op.getArgAttrOfType<StringAttr>(i, "sinter.name").str());
  }
  for (auto [i, value] : llvm::enumerate(returned)) {
    made.outputs.push_back(typeOf(value));
    made.outputNames.push_back(nameOr(names, static_cast<int32_t>(i), "result" + Twine(i)));
  }
  func::ReturnOp::create(b, location, returned);
  pruneCaptures(*this, frame.captures);
  SmallVector<Value> outer;
  for (auto &[number, placeholder] : frame.captures) {
    made.captures.push_back(number);
    outer.push_back(placeholder);
  }
  bindCaptures(frame.block, frame.captures, made.captures, outer);
  SmallVector<DictionaryAttr> argAttrs;
  op.getAllArgAttrs(argAttrs);
  op.setFunctionType(b.getFunctionType(frame.block->getArgumentTypes(), ValueRange(returned).getTypes()));
  argAttrs.resize(frame.block->getNumArguments(), b.getDictionaryAttr({})); // captures have attributes too, if none
  op.setAllArgAttrs(argAttrs);
  for (auto [i, name] : llvm::enumerate(made.outputNames))
    op.setResultAttr(i, "sinter.name", b.getStringAttr(name));
  frames.pop_back();
  functions.push_back(std::move(made));
  if (result)
    *result = static_cast<int32_t>(functions.size() - 1);
  return SINTER_OK;
}

/// Describes the functions of a module that was read.
void sinter_graph::listFunctions() {
  for (func::FuncOp op : module->getOps<func::FuncOp>()) {
    Function made;
    made.op = op;
    made.name = op.getName().str();
    auto nameOf = [](StringAttr name, const Twine &otherwise) { return name ? name.str() : otherwise.str(); };
    for (auto [i, argument] : llvm::enumerate(op.getArguments())) {
      for (auto [axis, size] : llvm::enumerate(shapes.dims(argument))) // names first, so that they are found by them
        if (size.kind() == DimExpr::Kind::Symbol && !dims.name(size.symbol()).empty())
          symbolByName.try_emplace(dims.name(size.symbol()), static_cast<unsigned>(-1 - dimOf(size)));
      made.inputs.push_back(typeOf(argument));
      made.inputNames.push_back(nameOf(op.getArgAttrOfType<StringAttr>(i, "sinter.name"), "arg" + Twine(i)));
    }
    for (auto [i, value] : llvm::enumerate(op.getBody().front().getTerminator()->getOperands())) {
      made.outputs.push_back(typeOf(value));
      made.outputNames.push_back(nameOf(op.getResultAttrOfType<StringAttr>(i, "sinter.name"), "result" + Twine(i)));
    }
    functions.push_back(std::move(made));
  }
}

sinter_status_code sinter_graph::call(int32_t index, ArrayRef<sinter_value> operands, int32_t room,
                                      sinter_value *results, int32_t *count) {
  if (sinter_status_code status = requireFrame("call"))
    return status;
  if (index < 0 || index >= static_cast<int32_t>(functions.size()) || !functions[index].op)
    return invalid("call requires a finished function, got " + Twine(index));
  Function &function = functions[index];
  std::string what = "call of '" + function.name + "'";
  if (operands.size() != function.inputs.size())
    return invalid(what + " requires " + Twine(function.inputs.size()) + " operands, got " + Twine(operands.size()));
  if (sinter_status_code status = requireRoom(what, function.outputs.size(), room, results, count))
    return status;
  SmallVector<Value> resolved;
  if (sinter_status_code status = resolveAll(operands, what + ": operand", resolved))
    return status;
  Block &body = function.op.getBody().front();
  for (auto [k, pair] : llvm::enumerate(llvm::zip(resolved, body.getArguments())))
    if (auto [operand, argument] = pair; !agree(operand.getType(), argument.getType())) {
      errorIndex = static_cast<int32_t>(k);
      return invalid(what + " requires operand " + Twine(k) + " of type " + describe(argument.getType()) + ", got " +
                     describe(operand.getType()));
    }
  if (sinter_status_code status = resolveAll(function.captures, what + ": capture", resolved))
    return status;
  IRMapping map;
  map.map(body.getArguments(), resolved);
  OpBuilder b = builder();
  for (Operation &op : body.without_terminator()) {
    numOps += countOps(b.clone(op, map));
    ++frames.back().ops;
  }
  SmallVector<Value> returned;
  for (Value value : body.getTerminator()->getOperands())
    returned.push_back(map.lookup(value));
  numberAll(returned, results, count);
  return SINTER_OK;
}

//===- marks -----------------------------------------------------------------------------------------===//

sinter_mark sinter_graph::mark() const {
  sinter_mark mark = {};
  mark.serial = frames.empty() ? 0 : frames.back().serial;
  mark.ops = frames.empty() ? 0 : frames.back().ops;
  mark.values = static_cast<uint32_t>(values.size());
  mark.regions = static_cast<uint32_t>(regions.size());
  mark.functions = static_cast<int32_t>(functions.size());
  return mark;
}

sinter_status_code sinter_graph::truncate(sinter_mark mark) {
  errorIndex = -1;
  size_t keep = 0;
  while (keep < frames.size() && (keep == 0 ? mark.serial != 0 : frames[keep - 1].serial != mark.serial))
    ++keep;
  if (mark.serial && (keep == 0 || frames[keep - 1].serial != mark.serial))
    return invalid("truncate requires the function or region of the mark to be open");
  if (mark.values > values.size() || mark.regions > regions.size() ||
      mark.functions > static_cast<int32_t>(functions.size()) || mark.ops < 0 ||
      (keep && mark.ops > frames[keep - 1].ops))
    return invalid("truncate requires a mark of what is recorded");
  while (frames.size() > keep) {
    Frame &frame = frames.back();
    if (frame.function)
      bury(frame.function);
    else
      bury(std::move(frame.region));
    frames.pop_back();
  }
  for (size_t k = mark.regions; k < regions.size(); ++k)
    if (regions[k].region)
      bury(std::move(regions[k].region));
  for (size_t k = static_cast<size_t>(mark.functions); k < functions.size(); ++k)
    if (functions[k].op) {
      bury(functions[k].op);
      functions[k].op = {};
    }
  if (keep)
    for (Frame &frame = frames.back(); frame.ops > mark.ops; --frame.ops)
      bury(&frame.block->back());
  for (size_t k = mark.values; k < values.size(); ++k)
    values[k].value = {};
  return SINTER_OK;
}
