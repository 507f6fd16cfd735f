// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Target.h"
#include "ir/Schedules.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

TargetAttr Target::attribute(MLIRContext *context) const {
  SmallVector<StringAttr> capabilities; // sorted
  auto add = [&](bool has, StringRef name) {
    if (has)
      capabilities.push_back(StringAttr::get(context, name));
  };
  add(hasBfloatDots, "bfloat_dots");
  add(hasBfloatRounding, "bfloat_rounding");
  add(hasBfloatTiles, "bfloat_tiles");
  add(hasBytePairs, "byte_pairs");
  add(hasByteTiles, "byte_tiles");
  add(byteDots == ByteDots::equal, "equal_byte_dots");
  add(hasFma, "fma");
  add(hasHalfConversion, "half_conversion");
  add(hasHalfUnits, "half_units");
  add(hasMaskedMemory, "masked_memory");
  add(byteDots == ByteDots::mixed, "mixed_byte_dots");
  add(hasRounding, "rounding");
  add(hasScaling, "scaling");
  add(hasShortDots, "short_dots");
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
  target.hasRounding = attribute.has("rounding");
  target.hasMaskedMemory = attribute.has("masked_memory");
  target.hasScaling = attribute.has("scaling");
  target.hasHalfConversion = attribute.has("half_conversion");
  target.hasHalfUnits = attribute.has("half_units");
  target.hasShortDots = attribute.has("short_dots");
  target.hasBytePairs = attribute.has("byte_pairs");
  target.hasBfloatDots = attribute.has("bfloat_dots");
  target.hasBfloatRounding = attribute.has("bfloat_rounding");
  target.hasBfloatTiles = attribute.has("bfloat_tiles");
  target.hasByteTiles = attribute.has("byte_tiles");
  target.byteDots = attribute.has("mixed_byte_dots")   ? ByteDots::mixed
                    : attribute.has("equal_byte_dots") ? ByteDots::equal
                                                       : ByteDots::none;
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
