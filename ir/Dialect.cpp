// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Dialect.h"
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
}
