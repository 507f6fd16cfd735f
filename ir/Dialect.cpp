// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Dialect.h"
#include "ir/Schedules.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

#include "ir/Dialect.cpp.inc"
#include "ir/Enums.cpp.inc"
#include "ir/Interfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.cpp.inc"

void SinterDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/Attributes.cpp.inc"
      >();
  registerElementwise();
  registerShape();
  registerIndexing();
  registerReduction();
  registerContraction();
  registerNormalization();
  registerRecurrent();
  registerResampling();
  registerRandom();
  registerControl();
  registerGradient();
  registerKernel();
}

Operation *SinterDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  OperationState state(loc, "sinter.constant");
  state.addAttribute("value", elements);
  state.addTypes(type);
  return builder.create(state);
}
