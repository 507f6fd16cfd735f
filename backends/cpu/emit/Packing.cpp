// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/Packing.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

bool sinter::cpu::canBePacked(KernelSpec &spec, BlockArgument input) {
  return input && input.hasOneUse() && spec.isConstant(input.getArgNumber());
}

/// The exponent of the least number that makes denormals beside it nothing: products with these are 2^62 times smaller.
constexpr int kLeastExponent = -64;

/// What llvm::APFloat would say of each element, on bits: weights are many.
template <typename Float, typename Bits> static void dropFrom(char *bytes, int64_t size) {
  constexpr Bits magnitude = ~Bits(0) >> 1;
  auto bitsOf = [](Float number) { return llvm::bit_cast<Bits>(number); };
  const Bits least = bitsOf(std::numeric_limits<Float>::min()), large = bitsOf(std::ldexp(Float(1), kLeastExponent));
  llvm::MutableArrayRef<Bits> all(reinterpret_cast<Bits *>(bytes), size / sizeof(Bits));
  auto isLarge = [&](Bits bits) { return (bits & magnitude) >= large; };
  if (!llvm::any_of(all, isLarge))
    return;
  for (Bits &bits : all)
    if ((bits & magnitude) < least)
      bits = 0;
}

Packing sinter::cpu::dropDenormals(Packing packing) {
  auto pack = [form = std::move(packing.form)](RankedTensorType source) -> PackedForm {
    PackedForm packed = form(source);
    Type type = source.getElementType();
    if (!type.isF32() && !type.isF64())
      return packed;
    return {packed.bytes, [=](const char *from, char *to) {
              packed.write(from, to);
              type.isF32() ? dropFrom<float, uint32_t>(to, packed.bytes) : dropFrom<double, uint64_t>(to, packed.bytes);
            }};
  };
  return {packing.input, std::move(packing.tag), std::move(pack)};
}
