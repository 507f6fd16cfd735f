// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Target.h"
#include "ir/Schedules.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

TargetAttr Target::attribute(MLIRContext *context) const {
  SmallVector<StringAttr> capabilities;
  if (hasFma)
    capabilities.push_back(StringAttr::get(context, "fma"));
  if (hasMaskedMemory)
    capabilities.push_back(StringAttr::get(context, "masked_memory"));
  if (hasScaling)
    capabilities.push_back(StringAttr::get(context, "scaling"));
  return TargetAttr::get(context, name, triple, cpu, features, requiredFeatures, capabilities, vectorBytes * 8,
                         vectorRegisters, l1Bytes, l1Ways, l2Bytes, l3Bytes, cacheLineBytes, panelBytes);
}

Target Target::of(TargetAttr attribute) {
  Target target;
  target.name = attribute.getName().str();
  target.triple = attribute.getTriple().str();
  target.cpu = attribute.getCpu().str();
  target.features = attribute.getFeatures().str();
  target.requiredFeatures = attribute.getRequired().str();
  target.hasFma = attribute.has("fma");
  target.hasMaskedMemory = attribute.has("masked_memory");
  target.hasScaling = attribute.has("scaling");
  target.vectorBytes = attribute.getVectorBits() / 8;
  target.vectorRegisters = attribute.getRegisters();
  target.l1Bytes = attribute.getL1Bytes();
  target.l1Ways = attribute.getL1Ways();
  target.l2Bytes = attribute.getL2Bytes();
  target.l3Bytes = attribute.getL3Bytes();
  target.cacheLineBytes = attribute.getLineBytes();
  target.panelBytes = attribute.getPanelBytes();
  return target;
}
