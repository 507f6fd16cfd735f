// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a CPU offers, as data. Emitters and the schedule see machines only through this.

#ifndef SINTER_BACKENDS_CPU_TARGET_H
#define SINTER_BACKENDS_CPU_TARGET_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace mlir {
class MLIRContext;
}
namespace sinter {
class TargetAttr;
}

namespace sinter::cpu {

/// Sums of four products of bytes: unsigned by signed (vpdpbusd), or of one sign (sdot, udot).
enum class ByteDots { none, mixed, equal };

struct Target {
  std::string name;     // "x86-64-v4", "znver4", "aarch64", ...
  std::string triple;   // LLVM triple
  std::string cpu;      // LLVM CPU name
  std::string features; // LLVM feature string, "+avx2,+fma"
  /// Features to check at load, space-separated LLVM names.
  std::string requiredFeatures;

  int64_t vectorBytes = 16;     // widest vector worth using
  int64_t vectorRegisters = 16; // architectural
  bool hasFma = false;
  bool hasRounding = false;       // to whole numbers, up, down and to the nearest (SSE4.1)
  bool hasMaskedMemory = false;   // masked loads and stores are cheap (AVX-512)
  bool hasScaling = false;        // one instruction for x * 2^n, rounded once, and one that bounds |x| (AVX-512)
  bool hasHalfConversion = false; // instructions between f16 and f32
  bool hasShortDots = false;      // sums of two products of i16 (pmaddwd)
  bool hasBytePairs = false;      // sums of two products of bytes, unsigned by signed, saturated to i16 (pmaddubsw)
  bool hasBfloatDots = false;     // sums of two products of bf16, at more than the rate of FMAs (vdpbf16ps, bfdot)
  bool hasBfloatRounding = false; // one instruction rounds f32 to bf16 and denormals to 0 (vcvtneps2bf16)
  bool hasHalfUnits = false;      // a vector of half the width takes half of the time in units that multiply (Zen 4)
  ByteDots byteDots = ByteDots::none;
  bool hasBfloatTiles = false; // AMX: products of tiles of 16 rows of 64 bytes, of bf16
  bool hasByteTiles = false;   // and of bytes of any signs
  int64_t l1Bytes = 32 << 10, l1Ways = 8, l2Bytes = 1 << 20, l3Bytes = 16 << 20;
  int64_t cacheLineBytes = 64;
  int64_t panelBytes = 128; // one row of a matrix in panels: 32 columns of f32, or fewer

  /// Lanes of an element of `bytes` bytes.
  int64_t lanes(int64_t bytes) const { return vectorBytes / bytes; }

  /// Requires no matrix units: for code that uses none, so that the kernel is not asked for their state.
  void dropTileRequirements();

  /// The attribute of modules, and back.
  TargetAttr attribute(mlir::MLIRContext *context) const;
  static Target of(TargetAttr attribute);

  /// The machine that runs the compiler.
  static Target host();
  /// `native`, `x86-64-v3`, `x86-64-v4`, `znver4`, `znver5`, `aarch64`, with or without `cpu:` in front. Returns false
  /// and lists the supported names in `error` otherwise.
  static bool parse(llvm::StringRef text, Target &target, std::string &error);
};

} // namespace sinter::cpu

#endif
