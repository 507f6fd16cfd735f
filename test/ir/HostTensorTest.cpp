// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats of 16 bits in constants, against LLVM's arithmetic of any format.

#include "ir/reference/HostTensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir;
using namespace sinter;

namespace {

uint64_t bitsIn(const llvm::fltSemantics &semantics, double value) {
  llvm::APFloat converted(value);
  bool lost;
  converted.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return converted.bitcastToAPInt().getZExtValue();
}

double numberOf(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

/// All numbers of the type, what lies halfway to the next one and beside that, and numbers of any bits.
std::vector<double> probes(const llvm::fltSemantics &semantics) {
  std::vector<double> values;
  for (int bits = 0; bits < 0x10000; ++bits) {
    double value = numberOf(semantics, static_cast<uint16_t>(bits));
    values.push_back(value);
    if (!std::isfinite(value))
      continue;
    double next = numberOf(semantics, static_cast<uint16_t>(bits + 1));
    double half = std::isfinite(next) ? (value + next) / 2 : value + (value - numberOf(semantics, bits - 1)) / 2;
    for (double at : {half, std::nextafter(half, 0.0), std::nextafter(half, 2 * half + std::copysign(1, half))})
      values.push_back(at);
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i)
    values.push_back(llvm::bit_cast<double>(random()));
  std::uniform_real_distribution<double> exponents(-170, 140);
  for (int i = 0; i < 200000; ++i)
    values.push_back(std::exp2(exponents(random)) * (i % 2 ? 1 : -1));
  using Limits = std::numeric_limits<double>;
  for (double limit : {0.0, Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::denorm_min()})
    values.insert(values.end(), {limit, -limit});
  return values;
}

class SixteenBits : public ::testing::TestWithParam<bool> {};

TEST_P(SixteenBits, AreRoundedToNearestEvenAndReadAsTheyAre) {
  MLIRContext context;
  FloatType type = GetParam() ? FloatType(BFloat16Type::get(&context)) : FloatType(Float16Type::get(&context));
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  std::vector<double> values = probes(semantics);
  HostTensor tensor(type, {static_cast<int64_t>(values.size())});
  tensor.assignFloats(values);
  std::vector<double> read = tensor.toFloats();
  int reported = 0;
  for (size_t i = 0; i < values.size() && reported < 5; ++i) {
    uint16_t bits;
    std::memcpy(&bits, tensor.data() + 2 * i, sizeof bits);
    if (bits != bitsIn(semantics, values[i])) {
      ++reported;
      ADD_FAILURE() << values[i] << " is held as " << bits << ", expected " << bitsIn(semantics, values[i]);
    }
    double number = numberOf(semantics, bits);
    if (std::isnan(number) ? !std::isnan(read[i])
                           : llvm::bit_cast<uint64_t>(number) != llvm::bit_cast<uint64_t>(read[i])) {
      ++reported;
      ADD_FAILURE() << bits << " is read as " << read[i] << ", expected " << number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SixteenBits, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "bf16" : "f16"; });

} // namespace
