// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/States.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace sinter;

Value States::addArgument(StringRef name, RankedTensorType type, ArrayRef<NamedAttribute> attributes) {
  Builder b(function.getContext());
  SmallVector<NamedAttribute> all(attributes);
  all.push_back(b.getNamedAttr("sinter.name", b.getStringAttr(name)));
  unsigned index = function.getNumArguments();
  LogicalResult inserted =
      function.insertArgument(index, type, b.getDictionaryAttr(all), NameLoc::get(b.getStringAttr(name)));
  assert(succeeded(inserted) && "a tensor type is a type of arguments");
  (void)inserted;
  return function.getArgument(index);
}

Value States::find(StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (auto state = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "sinter.state");
        state && state.getValue() == name)
      return argument;
  return {};
}

Value States::add(StringRef name, RankedTensorType type, ElementsAttr initial) {
  Builder b(function.getContext());
  SmallVector<NamedAttribute> attributes = {b.getNamedAttr("sinter.state", b.getStringAttr(name))};
  if (initial)
    attributes.push_back(b.getNamedAttr("sinter.initial", initial));
  return addArgument(name, type, attributes);
}

Value States::addNumber(StringRef name, FloatType type, double value) {
  auto scalar = RankedTensorType::get({}, type);
  APFloat number(value);
  bool isExact;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven, &isExact);
  return add(name, scalar, DenseElementsAttr::get(scalar, number));
}

Value States::addInput(StringRef name, RankedTensorType type, ArrayAttr dims) {
  Builder b(function.getContext());
  SmallVector<NamedAttribute> attributes;
  if (dims)
    attributes.push_back(b.getNamedAttr("sinter.dims", dims));
  return addArgument(name, type, attributes);
}

void States::replace(StringRef name, Value value) {
  Builder b(function.getContext());
  Operation *terminator = function.getBody().front().getTerminator();
  unsigned index = terminator->getNumOperands();
  terminator->insertOperands(index, value);
  LogicalResult inserted =
      function.insertResult(index, value.getType(),
                            b.getDictionaryAttr({b.getNamedAttr("sinter.name", b.getStringAttr(name + ".new")),
                                                 b.getNamedAttr("sinter.state", b.getStringAttr(name))}));
  assert(succeeded(inserted) && "a tensor type is a type of results");
  (void)inserted;
}
