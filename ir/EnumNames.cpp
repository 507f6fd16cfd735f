// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the list of attributes that TableGen makes, so that a new enumeration needs nothing here.

#include "ir/EnumNames.h"
#include "ir/Schedules.h"

using namespace mlir;
using namespace sinter;

template <typename AttrT> static constexpr bool isEnum = requires(AttrT attr) { stringifyEnum(attr.getValue()); };

template <typename AttrT> static bool nameAs(Attribute attribute, std::optional<EnumName> &name) {
  if constexpr (isEnum<AttrT>)
    if (auto attr = dyn_cast<AttrT>(attribute)) {
      name = EnumName{AttrT::getMnemonic(), stringifyEnum(attr.getValue())};
      return true;
    }
  return false;
}

template <typename AttrT> static bool findAs(MLIRContext *context, EnumName name, Attribute &found) {
  if constexpr (isEnum<AttrT>)
    if (name.enumeration == AttrT::getMnemonic()) {
      if (auto value = symbolizeEnum<decltype(std::declval<AttrT>().getValue())>(name.value))
        found = AttrT::get(context, *value);
      return true;
    }
  return false;
}

namespace {
template <typename... AttrT> struct AttributeList {
  static void nameAny(Attribute attribute, std::optional<EnumName> &name) {
    (void)(nameAs<AttrT>(attribute, name) || ...);
  }
  static void findAny(MLIRContext *context, EnumName name, Attribute &found) {
    (void)(findAs<AttrT>(context, name, found) || ...);
  }
};
using Attributes = AttributeList<
#define GET_ATTRDEF_LIST
#include "ir/Attributes.cpp.inc"
    >;
} // namespace

std::optional<EnumName> sinter::nameEnum(Attribute attribute) {
  std::optional<EnumName> name;
  if (attribute)
    Attributes::nameAny(attribute, name);
  return name;
}

Attribute sinter::findEnum(MLIRContext *context, EnumName name) {
  Attribute found;
  Attributes::findAny(context, name, found);
  return found;
}
