// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/file/Elements.h"

using namespace mlir;
using namespace sinter;
using file::Element;

std::optional<Element> file::elementOf(mlir::Type type) {
  for (Element element : EnumValuesElement())
    if (typeOf(type.getContext(), element) == type)
      return element;
  return std::nullopt;
}

mlir::Type file::typeOf(MLIRContext *context, Element element) {
  Builder b(context);
  switch (element) {
  case Element::F64:
    return b.getF64Type();
  case Element::F32:
    return b.getF32Type();
  case Element::F16:
    return b.getF16Type();
  case Element::BF16:
    return b.getBF16Type();
  case Element::Index:
    return b.getIndexType();
  case Element::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case Element::F8E5M2:
    return Float8E5M2Type::get(context);
  case Element::U4:
  case Element::U8:
  case Element::U16:
  case Element::U32:
  case Element::U64:
    return b.getIntegerType(bitsOf(element), /*isSigned=*/false);
  default:
    return b.getIntegerType(bitsOf(element));
  }
}

unsigned file::bitsOf(Element element) {
  return element == Element::I1 ? 1 : isPacked(element) ? 4 : 8 * bytesOf(element);
}

bool file::isPacked(Element element) { return element == Element::I4 || element == Element::U4; }

unsigned file::bytesOf(Element element) {
  switch (element) {
  case Element::I1:
  case Element::I4:
  case Element::U4:
  case Element::I8:
  case Element::U8:
  case Element::F8E4M3FN:
  case Element::F8E5M2:
    return 1;
  case Element::F16:
  case Element::BF16:
  case Element::I16:
  case Element::U16:
    return 2;
  case Element::F32:
  case Element::I32:
  case Element::U32:
    return 4;
  default:
    return 8;
  }
}

bool file::isFloat(Element element) {
  return element == Element::F64 || element == Element::F32 || element == Element::F16 || element == Element::BF16 ||
         element == Element::F8E4M3FN || element == Element::F8E5M2;
}
