// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Kernels.h"
#include "backends/cpu/emit/Emitters.h"
#include "ir/Shape.h"
#include "mlir/IR/OperationSupport.h"
#include <chrono>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// The size outside of the kernel that argument `k` stands for; null when only running tells.
static DimExpr outerSize(KernelSpec &spec, unsigned k, ShapeAnalysis &outer) {
  const SymbolSource &source = spec.source(k);
  auto argument = dyn_cast<BlockArgument>(source.value);
  if (!argument || argument.getOwner() != &spec.body()) {
    OperandRange yielded = spec.body().getTerminator()->getOperands();
    auto found = llvm::find(yielded, source.value);
    if (found == yielded.end() || source.kind != SymbolSource::Kind::Size)
      return DimExpr();
    return outer.dims(spec.kernel.getResult(found.getIndex()))[source.axis];
  }
  Value operand = spec.kernel.getInputs()[argument.getArgNumber()];
  if (source.kind == SymbolSource::Kind::Size)
    return outer.dims(operand)[source.axis];
  std::optional<Dims> contents = outer.contents(operand);
  return contents ? (*contents)[source.axis] : DimExpr();
}

static bool sameCode(KernelOp a, KernelOp b) {
  return a->getAttrDictionary() == b->getAttrDictionary() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

static bool isSmallKernel(KernelSpec &spec, const EmittedKernel &emitted) {
  if (emitted.writesSizes || emitted.workspaceBytes || emitted.estimatedNs > spec.costs().smallNs ||
      !spec.dims.resolve(emitted.chunks).isConstant() || spec.dims.resolve(emitted.chunks).constant() > 1)
    return false;
  if (emitted.updates >= 0)
    return emitted.estimatedNs > 0;
  int64_t elements = 0, most = spec.costs().smallElements;
  auto add = [&](Value value) {
    DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(value)));
    // A large operand of which a small kernel reads a part is no matter, but costs are counted from what is there.
    elements = count.isConstant() ? elements + std::min<int64_t>(count.constant(), 2 * most) : 2 * most;
    return elements <= most;
  };
  bool isMap = spec.kernel.getKernelTemplate() == KernelTemplate::map;
  for (Operation &op : spec.body().without_terminator())
    for (Value result : op.getResults())
      if (!add(result))
        return false;
  return isMap || llvm::all_of(spec.body().getArguments(), [&](Value argument) { return add(argument); });
}

FailureOr<KernelLaunch> KernelTable::add(KernelOp kernel, ShapeAnalysis &sizes) {
  auto spec = std::make_unique<KernelSpec>(kernel, options, &sizes);
  if (failed(settleSchedule(*spec)))
    return failure();
  KernelLaunch launch;
  launch.packed = packingOf(*spec);

  auto &candidates = bySignature[spec->signature()];
  const unsigned *known = llvm::find_if(candidates, [&](unsigned i) { return sameCode(all[i].spec->kernel, kernel); });
  for (unsigned k = 0; k < spec->numSymbols(); ++k)
    launch.symbols.push_back(outerSize(*spec, k, sizes));
  if (known != candidates.end()) {
    launch.code = *known;
  } else {
    KernelCode code;
    code.name =
        prefix + "_k" + std::to_string(all.size()) + "_" + stringifyKernelTemplate(kernel.getKernelTemplate()).str();
    code.module = ModuleOp::create(kernel.getLoc());
    auto start = std::chrono::steady_clock::now();
    code.emitted = emitKernel(*spec, *code.module, code.name);
    code.emitMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    size_t numSmall = llvm::count_if(all, [](const KernelCode &other) { return other.isSmall; });
    bool hasRoom = static_cast<int64_t>(numSmall) < spec->costs().smallKernels;
    code.isSmall = options.optLevel > 0 && hasRoom && isSmallKernel(*spec, code.emitted);
    code.spec = std::move(spec);
    launch.code = all.size();
    candidates.push_back(launch.code);
    all.push_back(std::move(code));
  }

  KernelCode &code = all[launch.code];
  ++code.uses;
  auto toOuter = [&](DimExpr expr) {
    if (!expr)
      return expr;
    return sizes.context().rebuild(code.spec->dims.resolve(expr), [&](DimExpr symbol) {
      for (unsigned k = 0; k < code.spec->numSymbols(); ++k)
        if (code.spec->argument(k) == symbol)
          return launch.symbols[k];
      return DimExpr();
    });
  };
  launch.chunks = toOuter(code.emitted.chunks);
  launch.workspaceBytes = toOuter(code.emitted.workspaceBytes);
  bool missing = !launch.chunks || (code.emitted.workspaceBytes && !launch.workspaceBytes);
  if (code.emitted.writesSizes)
    for (auto [i, capacity] : llvm::enumerate(code.emitted.capacity)) {
      launch.capacity.push_back(toOuter(capacity));
      missing |= !launch.capacity.back();
      for (auto [axis, size] : llvm::enumerate(code.spec->sizes->dims(code.spec->yielded(i))))
        if (!size.isConstant())
          launch.writtenSizes.emplace_back(i, axis);
    }
  if (missing) {
    kernel.emitOpError("not supported: an amount of work that only the values of its operands tell");
    return failure();
  }
  return launch;
}
