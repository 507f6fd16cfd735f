// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Packing.h"
#include "ir/Denormals.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

bool sinter::cpu::canBePacked(KernelSpec &spec, BlockArgument input) {
  return input && input.hasOneUse() && spec.isConstant(input.getArgNumber());
}

Packing sinter::cpu::dropDenormals(Packing packing) {
  auto pack = [form = std::move(packing.form)](RankedTensorType source) -> PackedForm {
    PackedForm packed = form(source);
    Type type = source.getElementType();
    if (!type.isF32() && !type.isF64())
      return packed;
    return {packed.bytes, [=](const char *from, char *to) {
              packed.write(from, to);
              zeroDenormals(type, {to, static_cast<size_t>(packed.bytes)});
            }};
  };
  return {packing.input, std::move(packing.tag), std::move(pack)};
}
