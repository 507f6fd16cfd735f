// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/CpuKind.h"
#include "backends/cpu/CodeModule.h"
#include "backends/cpu/Composites.h"
#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/FloatSupport.h"
#include "backends/cpu/FunctionTable.h"
#include "backends/cpu/Lowering.h"
#include "backends/cpu/SchedulePasses.h"
#include "backends/cpu/TakenKernels.h"
#include "ir/Schedules.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;
using schedule::HostMachine;
using schedule::Machine;

namespace {
class CpuMachine final : public HostMachine {
public:
  explicit CpuMachine(const cpu::Target &given) : target(given) {
    name = target.name;
    triple = target.triple;
    cpu = target.cpu;
    requirements = requirementsOf(target);
    code = triple + ' ' + cpu + ' ' + target.features;
    llvm::raw_string_ostream(key) << name << ' ' << code << ' ' << target.requiredFeatures << ' ' << target.vectorBytes
                                  << ' ' << target.vectorRegisters << ' ' << target.hasFma << target.hasRounding
                                  << target.hasMaskedMemory << target.hasScaling << target.hasHalfUnits << ' '
                                  << target.l1Bytes << ' ' << target.l1Ways << ' ' << target.l2Bytes << ' '
                                  << target.l3Bytes << ' ' << target.cacheLineBytes << ' ' << target.panelBytes;
    // Vectors, then the level, then how many extensions are required.
    SmallVector<StringRef> words;
    StringRef(target.requiredFeatures).split(words, ' ', -1, /*KeepEmpty=*/false);
    StringRef level = words.empty() ? StringRef() : words.front();
    int64_t number = level.starts_with("x86-64") ? 1 : 0;
    if (level.consume_front("x86-64-v"))
      level.getAsInteger(10, number);
    demands = {target.vectorBytes, number, static_cast<int64_t>(words.size())};
  }

  const schedule::BackendKind &kind() const override { return schedule::hostBackend(); }
  Attribute attribute(MLIRContext *context) const override { return target.attribute(context); }

  const cpu::Target target;
};

class CpuKind final : public schedule::HostKind {
public:
  StringRef name() const override { return "cpu"; }

  std::shared_ptr<const Machine> parse(StringRef text, std::string &error) const override {
    cpu::Target target;
    if (!cpu::Target::parse(text.empty() ? "native" : text, target, error))
      return nullptr;
    return machineOf(target);
  }
  std::shared_ptr<const Machine> read(Attribute attribute, std::string &error) const override {
    if (auto own = dyn_cast<TargetAttr>(attribute))
      return machineOf(cpu::Target::of(own));
    error = "sinter.target does not fit: it requires a #sinter.target";
    return nullptr;
  }

  void shareConstants(MutableArrayRef<std::shared_ptr<const HostMachine>> machines) const override {
    int64_t widest = 0;
    for (const auto &machine : machines)
      widest = std::max(widest, cpu::targetOf(*machine).panelBytes);
    for (auto &machine : machines) {
      cpu::Target target = cpu::targetOf(*machine);
      target.panelBytes = widest;
      machine = machineOf(target);
    }
  }

  bool keepsComposite(Operation *op) const override { return cpu::keepsComposite(op); }
  bool takesKernel(KernelOp kernel, ShapeAnalysis &sizes) const override { return cpu::takesKernel(kernel, sizes); }
  std::unique_ptr<schedule::Backend> create(const Machine &machine, int optLevel) const override {
    return std::make_unique<CpuBackend>(cpu::targetOf(machine), optLevel);
  }
  void registerDialects(DialectRegistry &registry) const override { registerTranslations(registry); }
  void registerPasses() const override { registerSchedulePasses(); }

  FailureOr<CodeModule> compile(ModuleOp module, const HostMachine &machine, ArrayRef<schedule::Backend *> devices,
                                const schedule::CodeOptions &options) const override {
    return compileCode(module, {options, cpu::targetOf(machine), devices.vec()});
  }
  FailureOr<std::string> tableObject(ArrayRef<Signature> functions, const TableOptions &options,
                                     const HostMachine &machine, std::string &error) const override {
    return makeTableObject(functions, options, optionsFor(machine), error);
  }
  FailureOr<std::string> supportObject(ArrayRef<std::string> objects, const HostMachine &machine,
                                       std::string &error) const override {
    if (llvm::none_of(objects, [](const std::string &object) { return callsFloatSupport(object); }))
      return std::string();
    return floatSupport(optionsFor(machine), error);
  }
  bool writeDataObject(StringRef path, StringRef symbol, ArrayRef<char> bytes, const HostMachine &machine,
                       std::string &error) const override {
    return cpu::writeDataObject(path, symbol, bytes, cpu::targetOf(machine), error);
  }

private:
  static ObjectOptions optionsFor(const HostMachine &machine) {
    ObjectOptions options;
    options.target = &cpu::targetOf(machine);
    return options;
  }
};
} // namespace

static schedule::RegisterBackend<CpuKind> registered;

std::shared_ptr<const HostMachine> cpu::machineOf(const Target &target) { return std::make_shared<CpuMachine>(target); }

const Target &cpu::targetOf(const Machine &machine) { return static_cast<const CpuMachine &>(machine).target; }

std::string cpu::requirementsOf(const Target &target) {
  StringRef required = target.requiredFeatures;
  StringRef kind = llvm::Triple(target.triple).isAArch64() ? "aarch64" : "x86-64";
  if (required.empty())
    return kind.str();
  return required.starts_with(kind) ? required.str() : (kind + " " + required).str();
}
