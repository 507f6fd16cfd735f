// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Schedules.h"
#include "backends/schedule/SchedulePlan.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace sinter;

static constexpr StringLiteral kFirstLine = "sinter-schedules 1";
static constexpr int64_t kSpelledElements = 16;

static std::string digestOf(StringRef text) {
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

static bool isConstantInput(Value input) { return matchPattern(input, m_Constant()); }

std::string sinter::keyOf(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (Value input : kernel.getInputs())
    os << input.getType() << (isConstantInput(input) ? " constant, " : ", ");
  auto copy = cast<KernelOp>(kernel->clone());
  copy.removeScheduleAttr();
  OpPrintingFlags flags;
  flags.useLocalScope().elideLargeElementsAttrs(kSpelledElements).elideLargeResourceString(kSpelledElements);
  copy->print(os, flags);
  copy->destroy();
  return digestOf(text);
}

std::string sinter::describeKernel(KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto print = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    for (int64_t size : tensor.getShape())
      ShapedType::isDynamic(size) ? os << "?x" : os << size << "x";
    os << tensor.getElementType();
  };
  os << stringifyKernelTemplate(kernel.getKernelTemplate()) << " ";
  llvm::interleaveComma(kernel.getInputs().getTypes(), os, print);
  os << " -> ";
  llvm::interleaveComma(kernel.getResultTypes(), os, print);
  return text;
}

std::string sinter::describeForSchedules(const schedule::Target &target) {
  std::string keys = target.host->key;
  for (const auto &device : target.devices)
    keys += "\n" + device->key;
  return target.name() + " " + digestOf(keys);
}

//===- the file ------------------------------------------------------------------------------===//

static bool isKey(StringRef text) { return text.size() == 16 && llvm::all_of(text, llvm::isHexDigit); }

bool ScheduleFile::read(const std::string &path, MLIRContext *context, ScheduleFile &file, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    error = path + ": cannot be read: " + buffer.getError().message();
    return false;
  }
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  std::map<std::string, Choice> *choices = nullptr;
  ScopedDiagnosticHandler silent(context, [](Diagnostic &) { return success(); });
  for (auto [i, line] : llvm::enumerate(lines)) {
    auto stop = [&](const Twine &message) {
      error = (path + ":" + Twine(i + 1) + ": " + message).str();
      return false;
    };
    line = line.rtrim('\r');
    if (i == 0) {
      if (line != kFirstLine)
        return stop("is damaged or no file of schedules: requires '" + kFirstLine + "' as its first line, got '" +
                    line.take_front(40) + "'");
      continue;
    }
    if (line.empty() || line.starts_with("#"))
      continue;
    auto [word, rest] = line.split(' ');
    auto [name, digest] = rest.rsplit(' ');
    if (word == "target") {
      if (name.empty() || !isKey(digest))
        return stop("is damaged: requires a target's name and 16 hexadecimal digits, got '" + rest.take_front(80) +
                    "'");
      choices = &file.byTarget[rest.str()];
      continue;
    }
    if (word != "kernel")
      return stop("is damaged: requires 'target' or 'kernel', got '" + word.take_front(40) + "'");
    if (!choices)
      return stop("is damaged: requires a target before the first kernel");
    auto [key, schedule] = rest.split(' ');
    if (!isKey(key))
      return stop("is damaged: requires 16 hexadecimal digits of a kernel, got '" + key.take_front(40) + "'");
    if (!isa_and_nonnull<ScheduleAttr>(parseAttribute(schedule, context)))
      return stop("is damaged: requires a schedule, got '" + schedule.take_front(80) + "'");
    if (!choices->try_emplace(key.str(), Choice{schedule.str(), ""}).second)
      return stop("is damaged: names kernel " + key + " twice");
  }
  return true;
}

std::string ScheduleFile::text() const {
  std::string text = kFirstLine.str() + "\n# What `sinter compile --tune` chose; `--schedules FILE` takes it.\n";
  for (const auto &[target, choices] : byTarget) {
    text += "target " + target + "\n";
    for (const auto &[key, choice] : choices) {
      if (!choice.note.empty())
        text += "# " + choice.note + "\n";
      text += (choice.isKept ? "# kernel " : "kernel ") + key + " " + choice.schedule + "\n";
    }
  }
  return text;
}

void ScheduleFile::choose(const schedule::Target &target, KernelOp kernel, Choice choice) {
  byTarget[describeForSchedules(target)][keyOf(kernel)] = std::move(choice);
}

std::string ScheduleFile::targets() const {
  std::string text;
  for (const auto &[target, choices] : byTarget)
    text += (text.empty() ? "" : ", ") + target;
  return text.empty() ? "no target" : text;
}

size_t ScheduleFile::size(const schedule::Target &target) const {
  auto found = byTarget.find(describeForSchedules(target));
  if (found == byTarget.end())
    return 0;
  return static_cast<size_t>(llvm::count_if(found->second, [](const auto &entry) { return !entry.second.isKept; }));
}

LogicalResult ScheduleFile::apply(ModuleOp module, const schedule::Target &target, int optLevel,
                                  std::vector<std::string> &used) const {
  auto choices = byTarget.find(describeForSchedules(target));
  if (choices == byTarget.end())
    return success();
  auto visit = [&](KernelOp kernel, schedule::Backend &backend, schedule::KernelSpec &spec) -> LogicalResult {
    auto found = choices->second.find(keyOf(kernel));
    if (found == choices->second.end() || found->second.isKept)
      return success();
    kernel.setScheduleAttr(cast<ScheduleAttr>(parseAttribute(found->second.schedule, kernel.getContext())));
    if (!llvm::is_contained(used, found->first))
      used.push_back(found->first);
    return backend.settle(spec);
  };
  return walkKernels(module, target, optLevel, visit);
}

//===- kernels -------------------------------------------------------------------------------===//

LogicalResult
sinter::walkKernels(ModuleOp module, const schedule::Target &target, int optLevel,
                    function_ref<LogicalResult(KernelOp, schedule::Backend &, schedule::KernelSpec &)> visit) {
  std::unique_ptr<schedule::Backend> host = target.host->kind().create(*target.host, optLevel);
  schedule::Devices devices(target, optLevel);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isDeclaration() || function.isPrivate())
      continue;
    schedule::KernelTable places(*host, "", devices.list());
    DimContext context;
    ShapeAnalysis sizes(context);
    schedule::settleSizes(function, sizes, places.runsControl());
    WalkResult walked = function.walk([&](KernelOp kernel) {
      if (!kernel.getSchedule())
        return WalkResult::skip(); // of one element: a part of the function around it
      auto [backend, spec] = places.place(kernel, sizes);
      return failed(visit(kernel, *backend, *spec)) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

OwningOpRef<ModuleOp> sinter::moduleOf(KernelOp kernel) {
  auto isStatic = [](Type type) { return cast<ShapedType>(type).hasStaticShape(); };
  if (!llvm::all_of(kernel->getOperandTypes(), isStatic) || !llvm::all_of(kernel->getResultTypes(), isStatic) ||
      kernel.getStrides()) // by itself it has no larger buffers
    return nullptr;
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  if (auto around = kernel->getParentOfType<ModuleOp>())
    (*module)->setDiscardableAttrs(around->getDiscardableAttrDictionary());
  SmallVector<Value> inputs;
  for (Value input : kernel.getInputs())
    if (!isConstantInput(input) && !llvm::is_contained(inputs, input))
      inputs.push_back(input);
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  auto type = builder.getFunctionType(TypeRange(ValueRange(inputs)), kernel.getResultTypes());
  auto function = func::FuncOp::create(builder, kernel.getLoc(), "main", type);
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(ValueRange(inputs), block->getArguments());
  for (Value input : kernel.getInputs())
    if (isConstantInput(input) && !mapping.contains(input))
      builder.clone(*input.getDefiningOp(), mapping);
  Operation *copy = builder.clone(*kernel, mapping);
  func::ReturnOp::create(builder, kernel.getLoc(), copy->getResults());
  return module;
}
