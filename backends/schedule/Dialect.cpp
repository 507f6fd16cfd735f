// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Dialect.h"
#include "ir/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

#include "backends/schedule/ScheduleDialect.cpp.inc"
#include "backends/schedule/ScheduleEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "backends/schedule/ScheduleAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "backends/schedule/ScheduleTypes.cpp.inc"

static constexpr std::pair<SizeKind, DimExpr::Kind> kSizeKinds[] = {{SizeKind::add, DimExpr::Kind::Add},
                                                                    {SizeKind::mul, DimExpr::Kind::Mul},
                                                                    {SizeKind::floor_div, DimExpr::Kind::FloorDiv},
                                                                    {SizeKind::ceil_div, DimExpr::Kind::CeilDiv},
                                                                    {SizeKind::mod, DimExpr::Kind::Mod},
                                                                    {SizeKind::min, DimExpr::Kind::Min},
                                                                    {SizeKind::max, DimExpr::Kind::Max}};

SizeKind schedule::sizeKind(DimExpr::Kind kind) {
  const auto *entry = llvm::find_if(kSizeKinds, [&](auto pair) { return pair.second == kind; });
  assert(entry != std::end(kSizeKinds) && "constants and symbols have no operands to combine");
  return entry->first;
}

DimExpr::Kind schedule::dimKind(SizeKind kind) {
  return llvm::find_if(kSizeKinds, [&](auto pair) { return pair.first == kind; })->second;
}

/// The memory of a buffer: nothing for the host's, else ` in "cuda"`.
static ParseResult parseMemory(OpAsmParser &parser, Type &type) {
  StringAttr memory;
  if (succeeded(parser.parseOptionalKeyword("in")) && parser.parseAttribute(memory))
    return failure();
  type = BufferType::get(parser.getContext(), memory);
  return success();
}

static void printMemory(OpAsmPrinter &printer, Operation *, Type type) {
  if (StringAttr memory = cast<BufferType>(type).getMemory())
    printer << "in " << memory;
}

#define GET_OP_CLASSES
#include "backends/schedule/ScheduleOps.cpp.inc"

void ScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "backends/schedule/ScheduleAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "backends/schedule/ScheduleTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "backends/schedule/ScheduleOps.cpp.inc"
      >();
}

LogicalResult FunctionOp::verifyRegions() {
  llvm::SmallVector<bool> asked(getOutputs(), false);
  auto checked = walk([&](Operation *op) {
    if (auto input = dyn_cast<InputOp>(op); input && input.getIndex() >= getInputs()) // C2
      return input.emitOpError("requires an input below ") << getInputs() << ", got " << input.getIndex(),
             WalkResult::interrupt();
    if (auto size = dyn_cast<InputSizeOp>(op); size && size.getInput() >= getInputs()) // C2
      return size.emitOpError("requires an input below ") << getInputs() << ", got " << size.getInput(),
             WalkResult::interrupt();
    if (auto output = dyn_cast<OutputOp>(op)) {
      if (output.getIndex() >= getOutputs()) // C2
        return output.emitOpError("requires an output below ") << getOutputs() << ", got " << output.getIndex(),
               WalkResult::interrupt();
      asked[output.getIndex()] = true;
    }
    return WalkResult::advance();
  });
  if (checked.wasInterrupted())
    return failure();
  if (auto *missing = llvm::find(asked, false); missing != asked.end()) // C1
    return emitOpError("requires memory for each output, found none for output ") << missing - asked.begin();
  return success();
}

LogicalResult ArenaOp::verify() {
  size_t count = getBuffers().size();
  if (getSizes().size() != count || getLives().size() != 2 * count) // C1
    return emitOpError("requires a size and a life (two positions) for each of ")
           << count << " buffers, got " << getSizes().size() << " sizes and " << getLives().size() << " positions";
  for (size_t i = 0; i < count; ++i)
    if (getLives()[2 * i] > getLives()[2 * i + 1]) // C2
      return emitOpError("requires lives that begin before they end, got ")
             << getLives()[2 * i] << " to " << getLives()[2 * i + 1] << " for buffer " << i;
  return success();
}

/// The words of a text; `allowed` says which there may be.
static bool holdsWords(StringRef text, int64_t count, function_ref<bool(StringRef)> allowed) {
  SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  return static_cast<int64_t>(words.size()) == count && llvm::all_of(words, allowed);
}

static bool isNumber(StringRef word, bool isSize) {
  int64_t number;
  return !word.getAsInteger(10, number) && (!isSize || number >= 0);
}

static bool isSymbol(StringRef word) {
  unsigned number;
  return word.consume_front("s") && !word.getAsInteger(10, number);
}

LogicalResult CodeOp::verifyRegions() {
  Block &block = getBody().front();
  auto kernel = llvm::hasSingleElement(block) ? dyn_cast<KernelOp>(block.front()) : KernelOp();
  if (!kernel || !llvm::equal(kernel.getInputs(), block.getArguments())) // C1
    return emitOpError("requires a region of one sinter.kernel whose inputs are the region's arguments");
  size_t inputs = block.getNumArguments();
  if (getSizes().size() != inputs || (getElements() && getElements()->size() != inputs)) // C2
    return emitOpError("requires sizes, and elements where there are any, for each of ")
           << inputs << " inputs, got " << getSizes().size() << " and " << (getElements() ? getElements()->size() : 0);
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) { // C2
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    StringRef sizes = cast<StringAttr>(getSizes()[i]).getValue();
    if (!type ||
        !holdsWords(sizes, type.getRank(), [](StringRef word) { return isNumber(word, true) || isSymbol(word); }))
      return emitOpError("requires a number or a symbol (s0) for each axis of ")
             << argument.getType() << ", got '" << sizes << "'";
    StringRef elements = getElements() ? cast<StringAttr>((*getElements())[i]).getValue() : StringRef();
    auto known = [](StringRef word) { return word == "?" || isNumber(word, false) || isSymbol(word); };
    if (!elements.empty() && (!type.hasStaticShape() || !holdsWords(elements, type.getNumElements(), known)))
      return emitOpError("requires a number, a symbol (s0) or ? for each element of ")
             << type << ", got '" << elements << "'";
  }
  for (int64_t input : getConstants().value_or(ArrayRef<int64_t>())) // C3
    if (input < 0 || input >= static_cast<int64_t>(inputs))
      return emitOpError("requires inputs in 'constants', got ") << input << " of " << inputs;
  return success();
}

LogicalResult LaunchOp::verify() {
  int64_t before = -1;
  for (int64_t number : getWrites()) { // C1
    bool isBuffer = number >= 0 && number < static_cast<int64_t>(getArguments().size()) &&
                    isa<BufferType>(getArguments()[number].getType());
    if (!isBuffer || number <= before)
      return emitOpError("requires ascending numbers of buffers in 'writes', got ") << number;
    before = number;
  }
  for (Value argument : getArguments()) // C2
    if (auto buffer = dyn_cast<BufferType>(argument.getType()); buffer && buffer.getMemory() != getBackendAttr())
      return emitOpError("requires buffers in the memory of its back end (")
             << (getBackend() ? *getBackend() : "the host") << "), got " << buffer;
  if (getBackend() && (getRunsInline() || getForks() || getSteps())) // C3
    return emitOpError("requires the host for '") << (getSteps()   ? "steps"
                                                      : getForks() ? "forks"
                                                                   : "inline")
                                                  << "', got '" << *getBackend() << "'";
  return success();
}

int64_t ChainOp::bytesOfPart() {
  int64_t bytes = 0;
  for (int64_t window : getWindows())
    bytes += static_cast<int64_t>(llvm::alignTo(window, 64));
  return bytes;
}

int64_t ChainOp::beginOfKernel(int64_t k) {
  int64_t begin = 0;
  for (int64_t count : getCounts().take_front(k))
    begin += count;
  return begin;
}

int64_t ChainOp::chunksOf(int64_t k) {
  return getSteps().take_back(2 * static_cast<int64_t>(getKernels().size()))[2 * k + 1]; // the last step ends all
}

LogicalResult ChainOp::verify() {
  auto kernels = static_cast<int64_t>(getKernels().size());
  int64_t arguments = 0;
  for (int64_t count : getCounts())
    arguments += count;
  if (kernels < 2 || static_cast<int64_t>(getCounts().size()) != kernels ||
      static_cast<int64_t>(getWindows().size()) != kernels - 1 ||
      static_cast<int64_t>(getPlaces().size()) != 2 * (kernels - 1) ||
      arguments != static_cast<int64_t>(getArguments().size())) // C1
    return emitOpError(
               "requires two kernels or more, a count of arguments for each, and a size and two places for each "
               "window, got ")
           << kernels << " kernels, " << getCounts().size() << " counts of " << arguments << " arguments, "
           << getWindows().size() << " windows and " << getPlaces().size() << " places";
  ArrayRef<int64_t> parts = getParts();
  if (parts.size() < 2 || parts.front() != 0 || parts.back() == 0 || !llvm::is_sorted(parts) ||
      parts.back() * numbersOfStep() != static_cast<int64_t>(getSteps().size())) // C2
    return emitOpError("requires parts that end with the last of the steps, of ")
           << numbersOfStep() << " numbers each, got " << getSteps().size() << " numbers";
  if (static_cast<int64_t>((parts.size() - 1) * numbersOfStep()) != static_cast<int64_t>(getBegins().size()))
    return emitOpError("requires a step of ") << numbersOfStep() << " numbers to begin each of " << parts.size() - 1
                                              << " parts, got " << getBegins().size() << " numbers";
  auto isOf = [&](int64_t place, int64_t k) { return beginOfKernel(k) <= place && place < beginOfKernel(k + 1); };
  for (int64_t i = 0; i < kernels - 1; ++i) {
    int64_t written = getPlaces()[2 * i], read = getPlaces()[2 * i + 1];
    if (!isOf(written, i) || !isOf(read, i + 1) || getArguments()[written] != getArguments()[read]) // C3
      return emitOpError("requires places of one value among the arguments of kernels ")
             << i << " and " << i + 1 << ", got " << written << " and " << read;
  }
  return success();
}

/// (C1) of copies.
static LogicalResult verifyMemories(Operation *op, Type from, Type to) {
  auto source = cast<BufferType>(from), target = cast<BufferType>(to);
  if (source == target || source.isHost() || target.isHost())
    return success();
  return op->emitOpError("requires one buffer of the host, or both in the same memory, got ") << from << " and " << to;
}

LogicalResult CopyOp::verify() { return verifyMemories(*this, getFrom().getType(), getTo().getType()); }

LogicalResult CopyPiecesOp::verify() { return verifyMemories(*this, getFrom().getType(), getTo().getType()); }

/// (C2) of loops and branches that a back end runs.
static LogicalResult verifyOwn(Operation *op, StringAttr memory) {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front()) {
      auto isThere = [&](Value value) {
        auto buffer = dyn_cast<BufferType>(value.getType());
        return !buffer || buffer.getMemory() == memory;
      };
      bool isOwn =
          isa<LaunchOp, CopyOp, CopyPiecesOp, ClearOp, AcquireOp, ReleaseOp, RepeatOp, ChooseOp, TestOp, EndOp>(
              inner) ||
          isPure(&inner);
      if (!isOwn || !llvm::all_of(inner.getOperands(), isThere) || !llvm::all_of(inner.getResults(), isThere))
        return inner.emitOpError("requires the host, ") << op->getName() << " runs on " << memory << " alone";
    }
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  auto memory = cast<BufferType>(getTrips().getType()).getMemory();
  if (!memory) // C1
    return emitOpError("requires 'trips' in the memory of a back end, got a buffer of the host");
  if (!isa<TestOp>(getTest().front().getTerminator()) || !isa<EndOp>(getBody().front().getTerminator()))
    return emitOpError("requires a first region that ends with schedule.test, and one that ends with schedule.end");
  return verifyOwn(*this, memory);
}

LogicalResult ChooseOp::verifyRegions() {
  auto memory = cast<BufferType>(getFlag().getType()).getMemory();
  if (!memory) // C1
    return emitOpError("requires 'flag' in the memory of a back end, got a buffer of the host");
  return verifyOwn(*this, memory);
}

LogicalResult WaitOp::verify() {
  if (cast<BufferType>(getBuffer().getType()).isHost()) // C1
    return emitOpError("requires a buffer in the memory of a back end, got one of the host");
  return success();
}

LogicalResult ExternalOp::verify() {
  ArrayRef<int32_t> layout = getLayout();
  auto isSound = [&] { // C1
    if (layout.size() < 2 || layout[0] < 0 || layout[1] < 0 ||
        layout.size() != 2 + 2 * (static_cast<size_t>(layout[0]) + static_cast<size_t>(layout[1])))
      return false;
    SmallVector<Type> types(getArguments().getTypes());
    size_t next = 0;
    for (size_t k = 3; k < layout.size(); k += 2) {
      auto rank = static_cast<size_t>(layout[k]);
      if (layout[k] < 0 || next + rank >= types.size() || !isa<BufferType>(types[next]) ||
          llvm::any_of(ArrayRef(types).slice(next + 1, rank), llvm::IsaPred<BufferType>))
        return false;
      next += 1 + rank;
    }
    return next == types.size();
  };
  if (!isSound())
    return emitOpError("requires a buffer and sizes for each tensor of 'layout'");
  for (Type type : getArguments().getTypes()) // C2
    if (auto buffer = dyn_cast<BufferType>(type); buffer && !buffer.isHost())
      return emitOpError("requires buffers of the host, got ") << buffer;
  return success();
}

LogicalResult PollOp::verify() {
  if (!llvm::isPowerOf2_64(getEvery()))
    return emitOpError("requires a power of two of trips, got ") << getEvery();
  return success();
}
