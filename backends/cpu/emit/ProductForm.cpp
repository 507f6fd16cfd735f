// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ProductForm.h"
#include "backends/cpu/BFloatRounding.h"
#include "backends/cpu/emit/Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

//===- numbers -------------------------------------------------------------------------------===//

int64_t sinter::cpu::widthOf(Number number) {
  switch (number) {
  case Number::i8:
  case Number::u8:
    return 1;
  case Number::bf16:
  case Number::f16:
  case Number::i16:
  case Number::u16:
    return 2;
  case Number::f32:
  case Number::i32:
    return 4;
  case Number::f64:
  case Number::i64:
    return 8;
  }
  llvm_unreachable("all numbers handled");
}

bool sinter::cpu::isFloat(Number number) {
  return number == Number::bf16 || number == Number::f16 || number == Number::f32 || number == Number::f64;
}

Type sinter::cpu::typeOf(Number number, MLIRContext *context) {
  switch (number) {
  case Number::bf16:
    return BFloat16Type::get(context);
  case Number::f16:
    return Float16Type::get(context);
  case Number::f32:
    return Float32Type::get(context);
  case Number::f64:
    return Float64Type::get(context);
  default:
    return IntegerType::get(context, static_cast<unsigned>(8 * widthOf(number)));
  }
}

/// Integers of 32 bits and more wrap around, so their sign does not matter.
static std::optional<Number> numberOf(Type type) {
  if (type.isBF16())
    return Number::bf16;
  if (type.isF16())
    return Number::f16;
  if (type.isF32())
    return Number::f32;
  if (type.isF64())
    return Number::f64;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  switch (integer.getWidth()) {
  case 8:
    return integer.isUnsigned() ? Number::u8 : Number::i8;
  case 16:
    return integer.isUnsigned() ? Number::u16 : Number::i16;
  case 32:
    return Number::i32;
  case 64:
    return Number::i64;
  default:
    return std::nullopt;
  }
}

std::optional<BytePairs> sinter::cpu::pairsOf(Operation *op) {
  auto attribute = op->getAttrOfType<DenseI64ArrayAttr>(kPairsAttr);
  if (!attribute || attribute.size() != 4)
    return std::nullopt;
  BytePairs pairs{attribute[0], attribute[1], attribute[2] != 0, attribute[3]};
  constexpr int64_t joined[] = {1, 2}, groups[] = {0, 4, 8, 16}; // a text may say anything
  bool isValid = llvm::is_contained(joined, pairs.joined) && llvm::is_contained(groups, pairs.group) &&
                 pairs.extras >= 0 && (pairs.inOrder || pairs.extras) == (pairs.group != 0) &&
                 (pairs.group != 4 || pairs.joined == 1);
  return isValid ? std::optional(pairs) : std::nullopt;
}

static bool isByte(Number number) { return number == Number::i8 || number == Number::u8; }

//===- the choice ----------------------------------------------------------------------------===//

std::optional<ProductForm> sinter::cpu::productFormOf(const Target &target, Type a, Type b, Type result,
                                                      std::string &refusal, std::optional<BytePairs> pairs) {
  std::optional<Number> left = numberOf(a), right = numberOf(b), wanted = numberOf(result);
  if (!left || !right || !wanted) {
    refusal = "no register tile holds elements of its types";
    return std::nullopt;
  }
  ProductForm form;
  form.a = *left;
  form.b = form.column = *right;
  using Step = ProductForm::Step;
  auto has = [&](Number number) { return form.a == number || form.b == number; };
  assert((isFloat(form.a) == isFloat(form.b) || isByte(form.b)) && isFloat(form.a) == isFloat(*wanted) &&
         "operands and result of a product are of one kind, but for bytes that a kernel makes floats of");
  if (isFloat(form.a)) {
    form.sum = has(Number::f64) || *wanted == Number::f64 ? Number::f64 : Number::f32;
    form.row = form.sum;
    form.hasRounding = target.hasBfloatRounding;
    if ((has(Number::f16) || *wanted == Number::f16) && !target.hasHalfConversion) {
      refusal = "the target has no instruction that converts f16";
      return std::nullopt;
    }
    if (form.a == Number::bf16 && form.b == Number::bf16 && form.sum == Number::f32 && target.hasBfloatDots) {
      form.step = Step::bfloat_dots;
      form.row = Number::bf16;
      form.kPack = form.kStep = 2;
      form.roundsToOdd = llvm::Triple(target.triple).isAArch64();
    } else if (form.b == Number::bf16 && form.sum == Number::f32) {
      form.step = Step::bfloat_pairs;
      form.kPack = form.kStep = 2;
    } else if (form.b != form.sum) {
      form.step = Step::converted;
    }
    return form;
  }
  if (widthOf(*wanted) == 8 || has(Number::i64)) {
    form.sum = Number::i64;
  } else {
    form.sum = Number::i32;
  }
  form.row = form.sum;
  form.step = Step::converted;
  if (form.sum == Number::i64)
    return form;
  if (isByte(form.a) && isByte(form.b) && target.byteDots != ByteDots::none) {
    form.step = Step::byte_dots;
    form.row = form.a;
    form.kPack = form.kStep = 4;
    form.flips = (form.a == form.b) == (target.byteDots == ByteDots::mixed);
  } else if (isByte(form.a) && isByte(form.b) && pairs && target.hasBytePairs && target.hasShortDots) {
    form.step = Step::byte_pairs;
    form.row = form.a;
    form.kPack = 4;
    form.joined = pairs->joined;
    form.group = pairs->group;
    form.inOrder = pairs->inOrder;
    form.extras = pairs->extras;
    form.kStep = std::max(form.kPack * form.joined, form.group);
    form.flips = form.a == Number::i8;
  } else if (target.hasShortDots &&
             llvm::all_of(ArrayRef<Number>{form.a, form.b}, [](Number n) { return isByte(n) || n == Number::i16; })) {
    form.step = Step::short_dots;
    form.row = Number::i16;
    form.kPack = form.kStep = 2;
  }
  return form;
}

std::optional<ProductForm> sinter::cpu::tiledFormOf(const Target &target, const ProductForm &form) {
  bool areBfloats = form.a == Number::bf16 && form.b == Number::bf16 && form.sum == Number::f32;
  bool areBytes = isByte(form.a) && isByte(form.b) && form.sum == Number::i32;
  if (!(areBfloats && target.hasBfloatTiles) && !(areBytes && target.hasByteTiles))
    return std::nullopt;
  ProductForm tiled = form;
  tiled.step = ProductForm::Step::tiles;
  tiled.row = form.a;
  tiled.column = form.b;
  tiled.flips = false;
  tiled.kPack = 4 / widthOf(form.a);
  tiled.kStep = 64 / widthOf(form.a);
  return tiled;
}

bool sinter::cpu::mayBeTiled(ScheduleAttr schedule, size_t vectors) {
  return !schedule ||
         (schedule.getLanes() == 16 && schedule.getTile().size() > vectors && schedule.getTile()[vectors] <= 2);
}

DimExpr ProductForm::words(DimContext &dims, DimExpr k) const {
  if (kStep == 1)
    return k;
  return dims.mul(dims.ceilDiv(k, dims.constant(kStep)), dims.constant(kStep / kPack));
}

int64_t ProductForm::paddedChannels(int64_t channels) const {
  if (!isTiled())
    return static_cast<int64_t>(llvm::alignTo(channels, kStep));
  // Rows of tiles that lie across two lines of the cache are read five times slower.
  int64_t least = std::max<int64_t>(kPack, llvm::PowerOf2Ceil(channels)), most = 64 / widthOf(row);
  return least < most ? least : static_cast<int64_t>(llvm::alignTo(channels, most));
}

ProductForm ProductForm::throughStrips() const {
  ProductForm form = *this;
  if (isFloat(sum) && (step == Step::bfloat_pairs || step == Step::converted)) {
    form.step = Step::fused;
    form.column = sum;
    form.kPack = form.kStep = 1;
  }
  return form;
}

double sinter::cpu::macsPerNs(const CostModel &costs, const ProductForm &form) {
  switch (form.step) {
  case ProductForm::Step::fused:
    return costs.tiledMacsPerNs;
  case ProductForm::Step::bfloat_pairs:
  case ProductForm::Step::converted:
    return costs.widenedMacsPerNs;
  case ProductForm::Step::bfloat_dots:
    return costs.bfloatMacsPerNs;
  case ProductForm::Step::byte_dots:
    return costs.byteMacsPerNs;
  case ProductForm::Step::byte_pairs:
    return costs.pairMacsPerNs;
  case ProductForm::Step::short_dots:
    return costs.shortMacsPerNs;
  case ProductForm::Step::tiles:
    return widthOf(form.row) == 1 ? costs.byteTileMacsPerNs : costs.bfloatTileMacsPerNs;
  }
  llvm_unreachable("all steps handled");
}

//===- one step ------------------------------------------------------------------------------===//

static Value convert(ImplicitLocOpBuilder &b, Value value, Number from, Number to) {
  if (from == to)
    return value;
  Type element = typeOf(to, b.getContext());
  Type type = element;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = VectorType::get(vector.getShape(), element);
  if (isFloat(from))
    return arith::ExtFOp::create(b, type, value);
  if (isFloat(to))
    return from == Number::u8 ? arith::UIToFPOp::create(b, type, value).getResult()
                              : arith::SIToFPOp::create(b, type, value).getResult();
  if (widthOf(from) == widthOf(to))
    return value;
  if (from == Number::u8 || from == Number::u16)
    return arith::ExtUIOp::create(b, type, value);
  return arith::ExtSIOp::create(b, type, value);
}

/// `value` as a vector of the same bits with elements of `element`.
static Value castVector(ImplicitLocOpBuilder &b, Value value, Type element) {
  auto type = cast<VectorType>(value.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  auto target = VectorType::get({bits / static_cast<int64_t>(element.getIntOrFloatBitWidth())}, element);
  return target == type ? value : vector::BitCastOp::create(b, target, value).getResult();
}

static Value constantLike(ImplicitLocOpBuilder &b, Value like, int64_t value) {
  auto type = cast<VectorType>(like.getType());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value)));
}

SmallVector<Value> sinter::cpu::partsOf(ImplicitLocOpBuilder &b, const ProductForm &form, Value loaded) {
  switch (form.step) {
  case ProductForm::Step::fused:
  case ProductForm::Step::bfloat_dots:
  case ProductForm::Step::byte_dots:
  case ProductForm::Step::byte_pairs:
    return {loaded};
  case ProductForm::Step::converted:
    return {convert(b, loaded, form.b, form.sum)};
  case ProductForm::Step::short_dots:
    return {convert(b, loaded, form.b, Number::i16)};
  case ProductForm::Step::tiles:
    break; // read by instructions of their own
  case ProductForm::Step::bfloat_pairs: {
    Value words = castVector(b, loaded, b.getI32Type());
    Value low = arith::ShLIOp::create(b, words, constantLike(b, words, 16));
    Value high = arith::AndIOp::create(b, words, constantLike(b, words, -65536));
    return {castVector(b, low, b.getF32Type()), castVector(b, high, b.getF32Type())};
  }
  }
  llvm_unreachable("all steps of registers handled");
}

Value sinter::cpu::spreadOf(ImplicitLocOpBuilder &b, const ProductForm &form, Value buffer, Value at, int64_t part,
                            int64_t lanes) {
  Type element = typeOf(form.row, b.getContext());
  if (form.kPack == 1 || form.parts() > 1) {
    if (part)
      at = arith::AddIOp::create(b, at, arith::ConstantIndexOp::create(b, part));
    Value scalar = memref::LoadOp::create(b, buffer, ValueRange{at});
    return vector::BroadcastOp::create(b, VectorType::get({lanes}, element), scalar);
  }
  Value few = vector::LoadOp::create(b, VectorType::get({form.kPack}, element), buffer, ValueRange{at});
  Value word = vector::ExtractOp::create(b, castVector(b, few, b.getI32Type()), 0);
  return castVector(b, vector::BroadcastOp::create(b, VectorType::get({lanes}, b.getI32Type()), word), element);
}

static Value call(ImplicitLocOpBuilder &b, StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

static Value byteDots(ImplicitLocOpBuilder &b, const ProductForm &form, Value x, Value y, Value sum) {
  auto bits = cast<VectorType>(sum.getType()).getNumElements() * 32;
  bool sameSigns = (form.a == form.b) != form.flips; // of what is multiplied
  if (sameSigns)
    return call(b, form.b == Number::u8 ? "llvm.aarch64.neon.udot.v4i32.v16i8" : "llvm.aarch64.neon.sdot.v4i32.v16i8",
                sum.getType(), {sum, x, y});
  Value isUnsigned = form.b == Number::u8 ? y : x, isSigned = form.b == Number::u8 ? x : y;
  return call(b, ("llvm.x86.avx512.vpdpbusd." + Twine(bits)).str(), sum.getType(), {sum, isUnsigned, isSigned});
}

Value sinter::cpu::spreadInOrder(ImplicitLocOpBuilder &b, const ProductForm &form, Value buffer, Value at,
                                 Value order) {
  auto type = cast<VectorType>(order.getType());
  int64_t count = type.getNumElements(), lane = 16; // bytes that one order reaches
  Value group = vector::LoadOp::create(b, VectorType::get({form.group}, b.getI8Type()), buffer, ValueRange{at});
  SmallVector<int64_t> repeated;
  for (int64_t i = 0; i < count; ++i)
    repeated.push_back(i % lane % form.group);
  Value spread = vector::ShuffleOp::create(b, group, group, repeated);
  StringRef name = count == 64   ? "llvm.x86.avx512.pshuf.b.512"
                   : count == 32 ? "llvm.x86.avx2.pshuf.b"
                                 : "llvm.x86.ssse3.pshuf.b.128";
  return call(b, name, type, {spread, order});
}

Value sinter::cpu::pairsOfBytes(ImplicitLocOpBuilder &b, Value isUnsigned, Value isSigned) {
  int64_t count = cast<VectorType>(isSigned.getType()).getNumElements();
  StringRef name = count == 64   ? "llvm.x86.avx512.pmaddubs.w.512"
                   : count == 32 ? "llvm.x86.avx2.pmadd.ub.sw"
                                 : "llvm.x86.ssse3.pmadd.ub.sw.128";
  return call(b, name, VectorType::get({count / 2}, b.getI16Type()), {isUnsigned, isSigned});
}

Value sinter::cpu::addPairsOfShorts(ImplicitLocOpBuilder &b, Value x, Value y, Value sum) {
  int64_t lanes = cast<VectorType>(sum.getType()).getNumElements();
  StringRef name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                   : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                : "llvm.x86.sse2.pmadd.wd";
  return arith::AddIOp::create(b, sum, call(b, name, sum.getType(), {x, y}));
}

Value sinter::cpu::multiplyAdd(ImplicitLocOpBuilder &b, const ProductForm &form, Value x, Value y, Value sum,
                               Value joined) {
  auto bits = cast<VectorType>(sum.getType()).getNumElements() * widthOf(form.sum) * 8;
  switch (form.step) {
  case ProductForm::Step::bfloat_dots:
    if (form.roundsToOdd)
      return call(b, "llvm.aarch64.neon.bfdot.v4f32.v8bf16", sum.getType(), {sum, x, y});
    return call(b, ("llvm.x86.avx512bf16.dpbf16ps." + Twine(bits)).str(), sum.getType(), {sum, x, y});
  case ProductForm::Step::byte_dots:
    return byteDots(b, form, x, y, sum);
  case ProductForm::Step::byte_pairs: {
    Value pairs = pairsOfBytes(b, x, y);
    if (joined)
      pairs = arith::AddIOp::create(b, joined, pairs);
    return addPairsOfShorts(b, pairs, constantLike(b, pairs, 1), sum);
  }
  case ProductForm::Step::short_dots:
    return addPairsOfShorts(b, x, y, sum);
  case ProductForm::Step::fused:
  case ProductForm::Step::bfloat_pairs:
  case ProductForm::Step::converted:
    if (isFloat(form.sum))
      return vector::FMAOp::create(b, x, y, sum);
    return arith::AddIOp::create(b, sum, arith::MulIOp::create(b, x, y));
  case ProductForm::Step::tiles:
    break;
  }
  llvm_unreachable("all steps of registers handled");
}

Value sinter::cpu::toSum(ImplicitLocOpBuilder &b, const ProductForm &form, Value value, Number from) {
  return convert(b, value, from, form.sum);
}

Value sinter::cpu::toRow(ImplicitLocOpBuilder &b, const ProductForm &form, Value value) {
  if (!form.flips)
    return convert(b, value, form.a, form.row);
  if (isa<VectorType>(value.getType()))
    return arith::XOrIOp::create(b, value, constantLike(b, value, -128));
  return arith::XOrIOp::create(b, value, arith::ConstantOp::create(b, b.getIntegerAttr(value.getType(), -128)));
}

Value sinter::cpu::roundToRow(ImplicitLocOpBuilder &b, const ProductForm &form, Value sums) {
  auto type = VectorType::get(cast<VectorType>(sums.getType()).getShape(), typeOf(form.row, b.getContext()));
  int64_t bits = type.getNumElements() * 32;
  if (form.hasRounding && bits >= 256)
    return call(b, ("llvm.x86.avx512bf16.cvtneps2bf16." + Twine(bits)).str(), type, {sums});
  return arith::TruncFOp::create(b, type, sums);
}

void sinter::cpu::markUnitRounding(KernelFunction &fn, const ProductForm &form) {
  bool isOfUnits =
      form.step == ProductForm::Step::bfloat_dots || (form.step == ProductForm::Step::tiles && form.a == Number::bf16);
  if (form.hasRounding && isOfUnits)
    fn.function->setAttr(kUnitRounding, fn.b.getUnitAttr());
}

Value sinter::cpu::toColumn(ImplicitLocOpBuilder &b, const ProductForm &form, Value value) {
  return convert(b, value, form.b, form.column);
}

//===- words ---------------------------------------------------------------------------------===//

static StringRef nameOf(Number number) {
  static constexpr StringRef names[] = {"bf16", "f16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "i64"};
  return names[static_cast<int>(number)];
}

std::string ProductForm::describe() const {
  static constexpr StringRef steps[] = {"fused",     "bfloat_pairs", "converted",  "bfloat_dots",
                                        "byte_dots", "byte_pairs",   "short_dots", "tiles"};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << steps[static_cast<int>(step)] << ' ' << nameOf(a) << " x " << nameOf(b) << " -> " << nameOf(sum);
  if (kPack > 1)
    os << ", k by " << kPack;
  if (joined > 1)
    os << ", " << joined << " words at once";
  if (inOrder)
    os << " in orders of " << group;
  if (copiesRows())
    os << ", rows as " << nameOf(row);
  if (column != b)
    os << ", columns as " << nameOf(column);
  if (flips)
    os << " with flipped signs";
  return text;
}

std::string ProductForm::packingTag() const {
  std::string tag;
  for (int64_t part :
       {kPack, kStep, columnFactor(), joined, group, int64_t(inOrder), extras, int64_t(step == Step::byte_pairs)})
    tag += std::to_string(part) + ';';
  return tag;
}
