// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Emitters.h"
#include "backends/cpu/emit/BytePairs.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

//===- plans ---------------------------------------------------------------------------------===//

ScheduleAttr Plan::schedule(MLIRContext *context, StringRef emitter) const {
  SmallVector<int64_t> numbers;
  for (const Choice &choice : tile)
    numbers.push_back(choice.chosen);
  return ScheduleAttr::get(context, emitter, lanes.chosen, numbers, chunk.chosen, packing, zeros);
}

/// "a multiple of 4 from 4 to 16", "1, 2, 4 or 8", "none".
static std::string describe(const Choice &choice) {
  if (!choice.chosen)
    return "none";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (choice.divides)
    os << "a divisor of " << choice.divides << " ";
  else
    os << "a number ";
  if (choice.multiple > 1)
    os << "that is a multiple of " << choice.multiple << ", ";
  os << "from " << choice.least << " to " << choice.most;
  return text;
}

static std::string describe(ArrayRef<int64_t> inputs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(inputs, os);
  os << ']';
  return text;
}

std::string Plan::check(ScheduleAttr given) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto checkNumber = [&](const Twine &field, const Choice &choice, int64_t value) {
    if (value == 0 && choice.chosen == 0)
      return true;
    if (choice.chosen && choice.allows(value))
      return true;
    os << "requires " << describe(choice) << " for " << field << ", got ";
    if (value)
      os << value;
    else
      os << "none";
    return false;
  };
  if (!checkNumber("lanes", lanes, given.getLanes()))
    return text;
  if (given.getLanes() && !llvm::isPowerOf2_64(given.getLanes())) {
    os << "requires a power of two for lanes, got " << given.getLanes();
    return text;
  }
  if (given.getTile().size() != tile.size()) {
    os << "requires " << tile.size() << " numbers for tile, got " << describe(given.getTile());
    return text;
  }
  for (auto [i, choice] : llvm::enumerate(tile))
    if (!checkNumber("number " + Twine(i) + " of tile", choice, given.getTile()[i]))
      return text;
  if (!checkNumber("chunk", chunk, given.getChunk()))
    return text;
  bool packsAll = given.getPacking() == ArrayRef(packing);
  if (!packsAll && (needsPacking || !given.getPacking().empty())) {
    os << "requires " << describe(packing) << " for packing, got " << describe(given.getPacking());
    return text;
  }
  for (int64_t input : given.getZeros())
    if (!llvm::is_contained(zeros, input)) {
      os << "requires inputs of " << describe(zeros) << " for zeros, got " << describe(given.getZeros());
      return text;
    }
  return text;
}

//===- emitters ------------------------------------------------------------------------------===//

static const KernelEmitter emitters[] = {
#define SINTER_EMITTER(name, Code, kernels, strided, ...)                                                              \
  {#name, plan##Code, emit##Code, kernels, strided, ##__VA_ARGS__},
#include "backends/cpu/emit/Emitters.def"
};

const KernelEmitter *sinter::cpu::findEmitter(StringRef name) {
  const auto *found = llvm::find_if(emitters, [&](const KernelEmitter &emitter) { return emitter.name == name; });
  return found == std::end(emitters) ? nullptr : found;
}

SmallVector<const KernelEmitter *> sinter::cpu::emittersFor(KernelSpec &spec) {
  SmallVector<const KernelEmitter *> result;
  KernelTemplate form = spec.kernel.getKernelTemplate();
  for (const KernelEmitter &emitter : emitters)
    if ((!emitter.kernels || (spec.options.optLevel > 0 && *emitter.kernels == form)) &&
        (emitter.takesStrides || !spec.kernel.getStrides()))
      result.push_back(&emitter);
  return result;
}

//===- schedules -----------------------------------------------------------------------------===//

static LogicalResult checkSchedule(KernelSpec &spec, ScheduleAttr given) {
  const KernelEmitter *emitter = findEmitter(given.getEmitter());
  if (!emitter) {
    InFlightDiagnostic error =
        spec.kernel.emitOpError("has a schedule that does not fit: the CPU back end has the emitters ");
    llvm::interleaveComma(emitters, error, [&](const KernelEmitter &known) { error << known.name; });
    return error << ", got '" << given.getEmitter() << "'";
  }
  Plan plan =
      !emitter->takesStrides && spec.kernel.getStrides() ? Plan::refuse("it has strides") : emitter->plan(spec, given);
  if (!plan.takes())
    return spec.kernel.emitOpError("has a schedule that does not fit on ")
           << spec.target().name << ": emitter '" << emitter->name << "' does not take the kernel, as " << plan.refusal;
  std::string wrong = plan.check(given);
  if (!wrong.empty())
    return spec.kernel.emitOpError("has a schedule that does not fit on ")
           << spec.target().name << ": emitter '" << emitter->name << "' " << wrong;
  return success();
}

/// Tells of a kernel that no emitter of its template takes. Those of one op alone never have such a template.
static void remarkPlainLoops(KernelOp kernel, StringRef refusals) {
  if (kernel.getKernelTemplate() != KernelTemplate::single)
    remark::missed(kernel.getLoc(), remark::RemarkOpts::name("plain loops").category("schedule"))
        << ("the kernel (" + stringifyKernelTemplate(kernel.getKernelTemplate()) + ") has plain loops" + refusals)
               .str();
}

LogicalResult sinter::cpu::settleSchedule(KernelSpec &spec, function_ref<void(StringRef, StringRef)> refused) {
  if (spec.options.optLevel > 0)
    choosePairs(spec);
  if (ScheduleAttr given = spec.schedule())
    return checkSchedule(spec, given);
  std::string refusals;
  for (const KernelEmitter *emitter : emittersFor(spec)) {
    Plan plan = emitter->plan(spec, {});
    if (plan.takes()) {
      spec.kernel.setScheduleAttr(plan.schedule(spec.kernel.getContext(), emitter->name));
      if (StringRef(emitter->name) == "general")
        remarkPlainLoops(spec.kernel, refusals);
      return success();
    }
    refusals += ("; " + StringRef(emitter->name) + ": " + plan.refusal).str();
    if (refused)
      refused(emitter->name, plan.refusal);
  }
  return spec.kernel.emitOpError("has no CPU emitter");
}

EmittedKernel sinter::cpu::emitKernel(KernelSpec &spec, ModuleOp module, StringRef name) {
  return findEmitter(spec.schedule().getEmitter())->emit(spec, module, name);
}

SmallVector<Packing> sinter::cpu::packingOf(KernelSpec &spec) {
  SmallVector<Packing> result;
  for (int64_t input : spec.schedule().getPacking())
    result.push_back(findEmitter(spec.schedule().getEmitter())->pack(spec, static_cast<unsigned>(input)));
  return result;
}
