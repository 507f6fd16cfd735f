// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of floats as digits of bytes, for products with codes of few bits where a target multiplies bytes.
//
// Each block of a row has a power of two, above its greatest magnitude. Where bytes are multiplied four at a time, each
// element has four digits of base 128:
//
//   x = 2^e (d0 + d1 / 2^7 + d2 / 2^14 + d3 / 2^21),   |d| <= 64
//
// off by at most 2^-28 of the block's greatest magnitude. Where they are multiplied in pairs, to sums of 16 bits that
// other instructions add, a digit costs twice as much, and elements have three of base 254:
//
//   x = 2^e (d0 + d1 / 254 + d2 / 254^2),   |d| <= 127
//
// off by at most 2^-22.9 of it. Sums of digits times codes are exact in i32, and so is what zero points take from them;
// these sums become one float. Blocks whose magnitudes are below 2^-114 have fewer bits. A NaN or an infinity has no
// digits: `write` tells of them, and such rows are multiplied as floats.
//
// A product of pairs has two codes times two digits, at most 2 * 15 * 127, so that sums of eight fit in 16 bits.
//
// Elements that are multiples of a 127th of their block's greatest magnitude are one digit each, that multiple, and the
// block's factor is the 127th; NaN for a block with a NaN or an infinity. Magnitudes below 2^-119 count as zeros.
//
//   a block in memory   [digit][elements]  bytes,  the sums of each digit's bytes, negated  i32,  its factor  f32
//
// The factor is 2^(e - 7) with four digits, 2^e with three.

#ifndef SINTER_BACKENDS_CPU_EMIT_DIGITROWS_H
#define SINTER_BACKENDS_CPU_EMIT_DIGITROWS_H

#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/ProductForm.h"

namespace sinter::cpu {

class DigitRows {
public:
  /// Digits of an element of any value.
  static int64_t countFor(const Target &target) { return arePairs(target) ? 3 : 4; }

  /// Rows of `k` elements of `digits` digits, 1 or `countFor`, in blocks of `block`, a multiple of 16, beside each
  /// other in `workspace` (memref of i8) from the 32-bit word `base` on.
  DigitRows(KernelFunction &fn, int64_t k, int64_t block, int64_t digits, mlir::Value workspace, mlir::Value base);

  /// True when the target multiplies bytes, four or two at a time.
  static bool areFor(const Target &target) { return target.byteDots != ByteDots::none || target.hasBytePairs; }
  /// True when that is two at a time, to sums of 16 bits.
  static bool arePairs(const Target &target) { return target.byteDots == ByteDots::none && target.hasBytePairs; }
  /// 32-bit words that a row takes.
  static int64_t wordsOf(int64_t k, int64_t block, int64_t digits);

  /// Writes row `row`, whose f32 elements are in `buffer` from `from` on; elements beyond k are zeros. True (i1) where
  /// an element is a NaN or an infinity, or `before` is true; rows of one digit need not be told of.
  mlir::Value write(mlir::Value row, mlir::Value buffer, mlir::Value from, mlir::Value before);

  /// What the sums of block `block` of row `row` start from, [sumCount]: minus `zeros`, a number or one for each of
  /// `lanes` lanes (i32), times the digits' sum.
  llvm::SmallVector<mlir::Value> startOf(mlir::Value row, mlir::Value block, mlir::Value zeros, int64_t lanes);
  /// Adds four elements' digits, from `element` of the block on, times four codes of each lane (i8, less than 16, lanes
  /// of four) to `sum`.
  mlir::Value addCodes(mlir::Value row, mlir::Value block, mlir::Value element, int64_t digit, mlir::Value codes,
                       mlir::Value sum);
  /// So many products of pairs are summed in 16 bits.
  static constexpr int64_t kPairSums = 8;
  /// Two products for each 32 bits of `codes`, i16: of two elements' digits and two codes each.
  mlir::Value pairsOf(mlir::Value row, mlir::Value block, mlir::Value element, int64_t digit, mlir::Value codes);
  /// Adds sums of such products, [digit], to `sums`, [sumCount].
  llvm::SmallVector<mlir::Value> addPairs(llvm::ArrayRef<mlir::Value> pairs, llvm::ArrayRef<mlir::Value> sums);
  /// Sums of a block: of each digit, but of the last two of three together.
  int64_t sumCount() const { return digits == 3 ? 2 : digits; }
  /// The float that `sums` of a block stand for, divided by `factorOf`.
  mlir::Value join(llvm::ArrayRef<mlir::Value> sums);
  /// In `lanes` lanes.
  mlir::Value factorOf(mlir::Value row, mlir::Value block, int64_t lanes);

private:
  mlir::Value blockBase(mlir::Value row, mlir::Value block);
  /// What elements of a block are multiplied with to become first digits, and its factor, by the bits of its greatest
  /// magnitude.
  std::pair<mlir::Value, mlir::Value> scalesOf(mlir::Value most);
  mlir::Value writeBlock(mlir::Value row, mlir::Value block, mlir::Value buffer, mlir::Value from, int64_t count);
  void writeDigits(llvm::MutableArrayRef<mlir::Value> elements, mlir::Value base);
  mlir::Value digitsAt(mlir::Value row, mlir::Value block, mlir::Value element, int64_t digit, int64_t lanes);

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  int64_t k, block, digits, blockWords;
  mlir::Value bytes, ints, floats, base;
  ProductForm form;
  int32_t firstLimit; // first digits are below 2^firstLimit
  int32_t unit;       // of the digits' base
};

} // namespace sinter::cpu

#endif
