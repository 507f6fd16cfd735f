// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How register tiles multiply and add numbers of given types on a target, as data. What follows from it: the layout of
// packed operands, the instructions of a step of k, and what a step costs.
//
//   a * b -> sum               step          b in memory, for each column      a in memory
//   f32 or f64, all the same   fused         k                                 read where it lies
//   bf16 b -> f32              bfloat_pairs  k, k + 1, shifted into two f32    rows converted to f32
//   f16 or byte b, mixed       converted     k, converted in registers         rows converted to sum's type
//   the same floats in strips  fused         k, converted when it is written   rows converted to sum's type
//   bf16 -> f32                bfloat_dots   k, k + 1                          k, k + 1
//   i8, u8 -> i32              byte_dots     k .. k + 3                        k .. k + 3
//   i8, u8 -> i32              byte_pairs    k .. k + 3, maybe in an order     k .. k + 3
//   i8, u8, i16 -> i32         short_dots    k, k + 1, converted to i16        rows converted to i16
//   bf16 -> f32                tiles         k, k + 1                          32 k side by side (Tiles.h)
//   i8, u8 -> i32              tiles         k .. k + 3                        64 k side by side
//
// Elements of k that a step takes at once lie side by side (`kPack` of them, 32 bits of what the step multiplies), and
// zeros follow the last one. Rows of a are read where they lie if that is so there; else a chunk copies its rows.
//
// byte_dots on x86 (vpdpbusd) multiply unsigned by signed bytes, on AArch64 (sdot, udot) bytes of one sign. Where a and
// b are not of such kinds, rows of a are copied with their sign bits flipped, which adds or takes 128 from each
// element; sums then start from 128 times the sum of b's column with the other sign, which stands in front of packed
// columns.
//
// byte_pairs (pmaddubsw) add two products of unsigned bytes of a and signed ones of b in 16 bits, which hold them where
// two elements of b add up to 128 at most. Of a constant each panel has an order in which all neighbours do (Panels.h),
// and what is read of a is brought into this order. Where a is signed it is flipped as above. Of small weights four
// elements do: two words are added in 16 bits then before their sums are widened (`joined`).
//
// bfloat_dots of x86 (vdpbf16ps) round to the nearest, those of AArch64 (bfdot) to odd: of the two neighbours of a sum
// the one whose last bit is 1. Both take denormals for 0.

#ifndef SINTER_BACKENDS_CPU_EMIT_PRODUCTFORM_H
#define SINTER_BACKENDS_CPU_EMIT_PRODUCTFORM_H

#include "backends/cpu/CostModel.h"
#include "ir/Dims.h"
#include "ir/Schedules.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>
#include <string>

namespace sinter::cpu {

class KernelFunction;

enum class Number { bf16, f16, f32, f64, i8, u8, i16, u16, i32, i64 };

int64_t widthOf(Number number); // bytes
bool isFloat(Number number);
/// Signless, as memory holds it.
mlir::Type typeOf(Number number, mlir::MLIRContext *context);

struct ProductForm {
  enum class Step { fused, bfloat_pairs, converted, bfloat_dots, byte_dots, byte_pairs, short_dots, tiles };

  Step step = Step::fused;
  Number a = Number::f32, b = Number::f32;
  Number sum = Number::f32;
  Number row = Number::f32;    // what a step reads of a; rows are copied if that is not `a`
  Number column = Number::f32; // what a step reads of b; strips hold that
  int64_t kPack = 1;           // elements of k side by side
  int64_t kStep = 1;           // elements of k that one instruction takes: kPack, or more of tiles
  int64_t joined = 1;          // words of byte_pairs that are added in 16 bits
  int64_t group = 0;           // elements of k that orders of panels are of, if they have any
  bool inOrder = false;        // words of k lie in such orders, not only the extra ones
  int64_t extras = 0;          // words behind those of k, with what 16 bits do not hold
  bool flips = false;          // rows are copied with their sign bits flipped
  bool roundsToOdd = false;    // as bfdot does: each addition is off by up to twice as much
  bool hasRounding = false;    // an instruction rounds sums to what rows hold, where that is bf16

  /// Operands and sums of one type.
  static ProductForm fusedOf(Number number) { return {Step::fused, number, number, number, number, number}; }
  /// The form where b goes through strips: they are read many times, so floats that steps would convert are converted
  /// once, when the strip is written.
  ProductForm throughStrips() const;

  /// Rows have to be copied wherever they lie.
  bool copiesRows() const { return row != a || flips; }
  /// b is read where it lies if its columns are contiguous; else it is packed or goes through strips.
  bool readsColumns() const { return kPack == 1 && b == sum; }
  /// Vectors of b that a step holds for each one that it loads.
  int64_t parts() const { return step == Step::bfloat_pairs ? 2 : 1; }
  /// Registers of a step beside sums, vectors of b and what is broadcast: ones, orders, what is broadcast of other
  /// words that are joined, and products before they are added, where other vectors are multiplied with what is
  /// broadcast, too.
  int64_t otherRegisters(int64_t vectors) const {
    return step == Step::byte_pairs ? 1 + inOrder * joined + (joined - 1) + (vectors > 1) * joined : 0;
  }
  /// What a copy flips in each element, and what column sums are multiplied with to make up for it.
  int64_t columnFactor() const { return !flips ? 0 : a == Number::i8 ? -128 : 128; }
  /// Rows of words in front of `words` words of k of packed columns: their sums, and orders.
  int64_t headers(int64_t words, int64_t columns) const {
    return flips + llvm::divideCeil(inOrder * words + 2 * extras, columns);
  }
  /// Long sums of floats go by blocks.
  bool sumsByBlocks() const { return isFloat(sum); }
  /// Steps of k in one of them, where `products` are as many as additions to the nearest allow.
  int64_t stepsOfBlock(int64_t products) const { return products / kPack / (roundsToOdd ? 2 : 1); }
  bool isTiled() const { return step == Step::tiles; }
  /// Words of k (kPack elements each) of whole steps.
  int64_t words(int64_t k) const { return llvm::divideCeil(k, kStep) * (kStep / kPack); }
  DimExpr words(DimContext &dims, DimExpr k) const;
  /// Channels of a pixel as convolutions read them, behind the last one zeros.
  int64_t paddedChannels(int64_t channels) const;

  /// The fewest lanes that have instructions.
  int64_t leastLanes() const { return (isTiled() ? 64 : 16) / widthOf(sum); }

  std::string describe() const;
  /// What tells packed operands of one layout but another form apart.
  std::string packingTag() const;
};

/// How the constant b of a product of bytes has pairs (Panels.h), in words of its form.
struct BytePairs {
  int64_t joined = 1, group = 0;
  bool inOrder = false;
  int64_t extras = 0;
};
/// Of a product or convolution of bytes in a kernel: its BytePairs, number by number.
inline constexpr llvm::StringLiteral kPairsAttr = "sinter.pairs";
std::optional<BytePairs> pairsOf(mlir::Operation *op);

/// The form of products of these element types on `target`; nothing with the reason in `refusal`. `pairs` is what is
/// known of b (kPairsAttr).
std::optional<ProductForm> productFormOf(const Target &target, mlir::Type a, mlir::Type b, mlir::Type result,
                                         std::string &refusal, std::optional<BytePairs> pairs = {});

/// The same products by tiles, or nothing where the target multiplies no tiles of these types. `kStep` is as large as a
/// tile holds.
std::optional<ProductForm> tiledFormOf(const Target &target, const ProductForm &form);

/// Whether a kernel's schedule, if it has one, can be one of tiles: another one asks for registers' tiles by its lanes
/// or vectors. `vectors` is the place of vectors in its tile.
bool mayBeTiled(ScheduleAttr schedule, size_t vectors);

/// What the sums of a column of bytes start from; its elements lie at `offsets` from `column`, but for negative
/// ones, which are zeros.
template <typename Offsets> uint32_t columnStart(const ProductForm &form, const Offsets &offsets, const char *column) {
  uint32_t sum = 0;
  for (int64_t offset : offsets)
    if (offset >= 0)
      sum += static_cast<uint32_t>(form.b == Number::u8 ? int(uint8_t(column[offset])) : int(int8_t(column[offset])));
  return sum * static_cast<uint32_t>(form.columnFactor());
}

/// Multiply-adds of its register tiles a nanosecond.
double macsPerNs(const CostModel &costs, const ProductForm &form);

/// The vectors that a step multiplies with, from `lanes` columns of b as they lie in memory (kPack elements each).
llvm::SmallVector<mlir::Value> partsOf(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form,
                                       mlir::Value loaded);

/// sum + a * b for one step of k: `b` is a part, `a` what `spreadOf` gives; `joined`, if it is given, what
/// `pairsOfBytes` gave of the step's other words.
mlir::Value multiplyAdd(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value a, mlir::Value b,
                        mlir::Value sum, mlir::Value joined = {});

/// What `spreadOf` gives of a word in an order: bytes of the group of a row at `at`.
mlir::Value spreadInOrder(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value buffer,
                          mlir::Value at, mlir::Value order);

/// Sums of two neighbouring products of bytes, as i16 that must hold them (pmaddubsw).
mlir::Value pairsOfBytes(mlir::ImplicitLocOpBuilder &builder, mlir::Value isUnsigned, mlir::Value isSigned);

/// sum + x * y, sums of two neighbouring products of i16 (pmaddwd).
mlir::Value addPairsOfShorts(mlir::ImplicitLocOpBuilder &builder, mlir::Value x, mlir::Value y, mlir::Value sum);

/// The elements of a row at `at` that part `part` is multiplied with, in all lanes.
mlir::Value spreadOf(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value buffer, mlir::Value at,
                     int64_t part, int64_t lanes);

/// Elements of a or b, which are `from`, as sums.
mlir::Value toSum(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value value, Number from);

/// An element of a as rows hold it.
mlir::Value toRow(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value value);

/// Sums as a step reads them of a, where these are bf16. Denormals become 0, as products of pairs take them.
mlir::Value roundToRow(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value sums);

/// Lets the results of a kernel that multiplies so be rounded to bf16 by an instruction, if its units take denormals
/// for 0 anyway.
void markUnitRounding(KernelFunction &fn, const ProductForm &form);

/// Elements of b as strips hold them.
mlir::Value toColumn(mlir::ImplicitLocOpBuilder &builder, const ProductForm &form, mlir::Value value);

} // namespace sinter::cpu

#endif
