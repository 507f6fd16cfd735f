// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Denormals.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;

/// The exponent of the least number that makes denormals beside it nothing.
constexpr int kLeastExponent = -64;

/// What llvm::APFloat would say of each element, on bits: weights are many.
template <typename Float, typename Bits> static bool dropFrom(llvm::MutableArrayRef<char> bytes) {
  constexpr Bits magnitude = ~Bits(0) >> 1;
  auto bitsOf = [](Float number) { return llvm::bit_cast<Bits>(number); };
  const Bits least = bitsOf(std::numeric_limits<Float>::min()), large = bitsOf(std::ldexp(Float(1), kLeastExponent));
  llvm::MutableArrayRef<Bits> all(reinterpret_cast<Bits *>(bytes.data()), bytes.size() / sizeof(Bits));
  auto isLarge = [&](Bits bits) { return (bits & magnitude) >= large; };
  if (!llvm::any_of(all, isLarge))
    return false;
  bool dropped = false;
  for (Bits &bits : all)
    if ((bits & magnitude) != 0 && (bits & magnitude) < least) {
      bits = 0;
      dropped = true;
    }
  return dropped;
}

bool sinter::zeroDenormals(Type element, llvm::MutableArrayRef<char> bytes) {
  if (element.isF32())
    return dropFrom<float, uint32_t>(bytes);
  return element.isF64() && dropFrom<double, uint64_t>(bytes);
}
