// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/OpImport.h"
#include "compiler/onnx/Reader.h"

using namespace llvm;

namespace sinter::onnx {

Registry::Registry() {
  registerElementwise(*this);
  registerLogic(*this);
  registerShape(*this);
  registerMovement(*this);
  registerIndexing(*this);
  registerReduction(*this);
  registerContraction(*this);
  registerConvolution(*this);
  registerPooling(*this);
  registerNormalization(*this);
  registerRecurrent(*this);
  registerControl(*this);
  registerQuantize(*this);
  registerQuantizeContrib(*this);
  registerQuantizeProducts(*this);
  registerResize(*this);
  registerLoss(*this);
  registerSequences(*this);
  registerSignal(*this);
  registerRandom(*this);
  registerTraining(*this);
  registerAttention(*this);
  registerContrib(*this);
  registerContribAttention(*this);
}

const Registry &Registry::get() {
  static const Registry registry;
  return registry;
}

static std::string keyOf(StringRef domain, StringRef name) { return (domain + "." + name).str(); }

void Registry::addIn(StringRef domain, StringRef name, int64_t since, unsigned minInputs, ImportFn import,
                     int64_t until) {
  entries[keyOf(domain, name)].push_back({since, until, minInputs, import});
}

const OpEntry *Registry::find(StringRef domain, StringRef name, int64_t version, std::string &reason) const {
  auto it = entries.find(keyOf(normalizeDomain(domain), name));
  if (it == entries.end()) {
    reason = "the operator is not supported";
    return nullptr;
  }
  const OpEntry *best = nullptr;
  for (const OpEntry &entry : it->second)
    if (entry.since <= version && version <= entry.until && (!best || entry.since > best->since))
      best = &entry;
  if (!best) {
    reason = "the operator is supported from opset " + std::to_string(it->second.front().since) + " to " +
             std::to_string(it->second.back().until);
  }
  return best;
}

} // namespace sinter::onnx
