// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Backend.h"
#include "mlir/IR/OperationSupport.h"
#include <chrono>

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

Backend::~Backend() = default;

static bool sameCode(KernelOp a, KernelOp b) {
  return a->getAttrDictionary() == b->getAttrDictionary() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

StringRef KernelTable::memory() const {
  auto found = llvm::find_if(devices, [](Backend *device) { return device->hasOwnMemory(); });
  return found == devices.end() ? StringRef() : (*found)->name();
}

bool KernelTable::runsControl() const {
  return llvm::any_of(devices, [](Backend *device) { return device->hasOwnMemory() && device->runsControl(); });
}

std::pair<Backend *, std::unique_ptr<KernelSpec>> KernelTable::place(KernelOp kernel, ShapeAnalysis &sizes) {
  for (Backend *device : devices) {
    std::unique_ptr<KernelSpec> spec = device->specify(kernel, &sizes);
    if (device->refusal(*spec).empty())
      return {device, std::move(spec)};
  }
  return {&hostBackend, hostBackend.specify(kernel, &sizes)};
}

FailureOr<KernelLaunch> KernelTable::add(KernelOp kernel, ShapeAnalysis &sizes) {
  Backend *backend;
  std::unique_ptr<KernelSpec> spec;
  std::tie(backend, spec) = place(kernel, sizes);
  if (failed(backend->settle(*spec)))
    return failure();
  SmallVector<Packing> packed = backend->packing(*spec);
  Dims arguments = argumentsOf(*spec, sizes);

  auto &candidates = bySignature[spec->signature()];
  const unsigned *known = llvm::find_if(
      candidates, [&](unsigned i) { return all[i].backend == backend && sameCode(all[i].spec->kernel, kernel); });
  unsigned index = known == candidates.end() ? all.size() : *known;
  if (known == candidates.end()) {
    Entry entry;
    entry.backend = backend;
    entry.symbol =
        prefix + "_k" + std::to_string(index) + "_" + stringifyKernelTemplate(kernel.getKernelTemplate()).str();
    auto start = std::chrono::steady_clock::now();
    entry.traits = backend->describe(*spec, entry.symbol);
    entry.describeMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    entry.spec = std::move(spec);
    candidates.push_back(index);
    all.push_back(std::move(entry));
  }

  Entry &entry = all[index];
  ++entry.uses;
  FailureOr<KernelLaunch> launch =
      describeLaunch(kernel, *entry.spec, entry.traits, std::move(arguments), sizes.context());
  if (succeeded(launch)) {
    launch->kernel = entry.symbol;
    launch->backend = backend == &hostBackend ? "" : backend->name().str();
    launch->packed = std::move(packed);
  }
  return launch;
}

void KernelTable::write(ModuleOp module) {
  for (Entry &entry : all)
    entry.spec->write(module, entry.symbol, entry.backend->name());
}
