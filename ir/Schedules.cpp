// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Schedules.h"

using namespace mlir;
using namespace sinter;

TargetAttr sinter::targetOf(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<TargetAttr>(TargetAttr::moduleAttr) : TargetAttr();
}

/// A list of fields `name = value`, in any order, each once.
static ParseResult parseFields(AsmParser &parser, function_ref<ParseResult(StringRef name, SMLoc)> parseValue) {
  llvm::SmallDenseSet<StringRef> seen;
  do {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (!seen.insert(name).second)
      return parser.emitError(loc) << "requires each field once, got '" << name << "' again";
    if (parseValue(name, loc))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

static ParseResult parseNumbers(AsmParser &parser, SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(numbers.emplace_back()); });
}

static void printNumbers(AsmPrinter &printer, StringRef name, ArrayRef<int64_t> numbers) {
  if (numbers.empty())
    return;
  printer << ", " << name << " = [";
  llvm::interleaveComma(numbers, printer.getStream());
  printer << ']';
}

//===- target --------------------------------------------------------------------------------===//

static constexpr StringLiteral capabilityNames[] = {
    "bfloat_dots", "bfloat_rounding", "bfloat_tiles", "byte_pairs",    "byte_tiles",      "equal_byte_dots",
    "fma",         "half_conversion", "half_units",   "masked_memory", "mixed_byte_dots", "rounding",
    "scaling",     "short_dots"};

bool TargetAttr::isCapability(StringRef name) { return llvm::is_contained(capabilityNames, name); }

bool TargetAttr::has(StringRef capability) const {
  return llvm::any_of(getCapabilities(), [&](StringAttr known) { return known.getValue() == capability; });
}

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef, StringRef, StringRef,
                                 StringRef, StringRef, ArrayRef<StringAttr> capabilities, int64_t vectorBits,
                                 int64_t registers, int64_t l1Bytes, int64_t l1Ways, int64_t l2Bytes, int64_t l3Bytes,
                                 int64_t lineBytes, int64_t panelBytes) {
  for (StringAttr capability : capabilities)
    if (!isCapability(capability))
      return emitError() << "a target requires capabilities of " << llvm::join(ArrayRef(capabilityNames), ", ")
                         << ", got '" << capability.getValue() << "'";
  if (!llvm::is_sorted(capabilities, [](StringAttr a, StringAttr b) { return a.getValue() <= b.getValue(); }))
    return emitError() << "a target requires its capabilities sorted, each once";
  // What the back ends' arithmetic relies on, and no machine exceeds.
  constexpr int64_t most = int64_t(1) << 40;
  struct Number {
    StringRef name;
    int64_t value, least, most;
    bool isPower;
  };
  Number numbers[] = {{"vector_bits", vectorBits, 128, 4096, true},
                      {"registers", registers, 8, 256, false},
                      {"l1", l1Bytes, 1, most, false},
                      {"ways of l1", l1Ways, 1, 1024, false},
                      {"l2", l2Bytes, 1, most, false},
                      {"l3", l3Bytes, 1, most, false},
                      {"line", lineBytes, 16, 4096, true},
                      {"panel", panelBytes, vectorBits / 8, 4096, true}};
  for (const Number &number : numbers)
    if (number.value < number.least || number.value > number.most ||
        (number.isPower && !llvm::isPowerOf2_64(number.value)))
      return emitError() << "a target requires a " << (number.isPower ? "power of two" : "number") << " from "
                         << number.least << " to " << number.most << " for " << number.name << ", got " << number.value;
  return success();
}

Attribute TargetAttr::parse(AsmParser &parser, Type) {
  std::string name, triple, cpu, features, required;
  SmallVector<StringAttr> capabilities;
  int64_t vectorBits = 0, registers = 0, l1Bytes = 0, l1Ways = 0, l2Bytes = 0, l3Bytes = 0, lineBytes = 0,
          panelBytes = 0;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseString(&name) || parser.parseComma())
    return {};
  auto parseValue = [&](StringRef field, SMLoc loc) -> ParseResult {
    std::pair<StringRef, std::string *> texts[] = {
        {"triple", &triple}, {"cpu", &cpu}, {"features", &features}, {"requires", &required}};
    for (auto [known, text] : texts)
      if (field == known)
        return parser.parseString(text);
    std::pair<StringRef, int64_t *> numbers[] = {
        {"vector_bits", &vectorBits}, {"registers", &registers}, {"l2", &l2Bytes}, {"l3", &l3Bytes},
        {"line", &lineBytes},         {"panel", &panelBytes}};
    for (auto [known, number] : numbers)
      if (field == known)
        return parser.parseInteger(*number);
    if (field == "l1")
      return failure(parser.parseInteger(l1Bytes) || parser.parseKeyword("x") || parser.parseInteger(l1Ways));
    if (field != "capabilities")
      return parser.emitError(loc) << "a target has no field '" << field << "'";
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      StringRef word;
      if (parser.parseKeyword(&word))
        return failure();
      capabilities.push_back(StringAttr::get(parser.getContext(), word));
      return success();
    });
  };
  if (parseFields(parser, parseValue) || parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(start); };
  return getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(), StringRef(name),
                    StringRef(triple), StringRef(cpu), StringRef(features), StringRef(required),
                    ArrayRef<StringAttr>(capabilities), vectorBits, registers, l1Bytes, l1Ways, l2Bytes, l3Bytes,
                    lineBytes, panelBytes);
}

void TargetAttr::print(AsmPrinter &printer) const {
  auto text = [&](StringRef name, StringRef value) {
    if (value.empty())
      return;
    printer << ", " << name << " = ";
    printer.printString(value);
  };
  printer << '<';
  printer.printString(getName());
  text("triple", getTriple());
  text("cpu", getCpu());
  text("features", getFeatures());
  text("requires", getRequired());
  if (!getCapabilities().empty()) {
    printer << ", capabilities = [";
    llvm::interleaveComma(getCapabilities(), printer.getStream(),
                          [&](StringAttr capability) { printer << capability.getValue(); });
    printer << ']';
  }
  printer << ", vector_bits = " << getVectorBits() << ", registers = " << getRegisters() << ", l1 = " << getL1Bytes()
          << " x " << getL1Ways() << ", l2 = " << getL2Bytes() << ", l3 = " << getL3Bytes()
          << ", line = " << getLineBytes() << ", panel = " << getPanelBytes() << '>';
}

//===- schedule ------------------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef emitter, int64_t lanes,
                                   ArrayRef<int64_t> tile, int64_t chunk, ArrayRef<int64_t> packing,
                                   ArrayRef<int64_t> zeros) {
  if (emitter.empty())
    return emitError() << "a schedule requires the name of an emitter";
  auto isPositive = [](int64_t number) { return number > 0; };
  if (lanes < 0)
    return emitError() << "a schedule requires a positive number for lanes, got " << lanes;
  if (chunk < 0)
    return emitError() << "a schedule requires a positive number for chunk, got " << chunk;
  if (!llvm::all_of(tile, isPositive))
    return emitError() << "a schedule requires positive numbers for tile, got " << tile;
  for (auto [name, inputs] : {std::pair(StringRef("packing"), packing), std::pair(StringRef("zeros"), zeros)})
    if (!llvm::is_sorted(inputs, std::less_equal<int64_t>()) || (!inputs.empty() && inputs.front() < 0))
      return emitError() << "a schedule requires numbers of inputs for " << name << ", ascending, got " << inputs;
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  StringRef emitter;
  int64_t lanes = 0, chunk = 0;
  SmallVector<int64_t> tile, packing, zeros;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&emitter))
    return {};
  auto parseValue = [&](StringRef field, SMLoc loc) -> ParseResult {
    std::pair<StringRef, SmallVectorImpl<int64_t> *> lists[] = {
        {"tile", &tile}, {"packing", &packing}, {"zeros", &zeros}};
    for (auto [known, list] : lists)
      if (field == known)
        return parseNumbers(parser, *list);
    if (field != "lanes" && field != "chunk")
      return parser.emitError(loc) << "a schedule has lanes, tile, chunk, packing and zeros, got '" << field << "'";
    int64_t &number = field == "lanes" ? lanes : chunk;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseInteger(number))
      return failure();
    if (number < 1)
      return parser.emitError(at) << "a schedule requires a positive number for " << field << ", got " << number;
    return success();
  };
  if (succeeded(parser.parseOptionalComma()) && parseFields(parser, parseValue))
    return {};
  if (parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(start); };
  return getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(), emitter, lanes,
                    ArrayRef<int64_t>(tile), chunk, ArrayRef<int64_t>(packing), ArrayRef<int64_t>(zeros));
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<' << getEmitter();
  if (getLanes())
    printer << ", lanes = " << getLanes();
  printNumbers(printer, "tile", getTile());
  if (getChunk())
    printer << ", chunk = " << getChunk();
  printNumbers(printer, "packing", getPacking());
  printNumbers(printer, "zeros", getZeros());
  printer << '>';
}
