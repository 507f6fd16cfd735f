// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What onnxruntime's quantizers write in their own domain: float operators over bytes, imported as these operators
// between numbers of bytes and bytes of numbers, and products with weights of few bits in blocks.

#include "compiler/onnx/Families.h"
#include "compiler/onnx/Quantized.h"
#include "compiler/onnx/Windows.h"
#include "ir/Blocks.h"

using namespace mlir;

namespace sinter::onnx {

/// Input `i` with its scale and zero point behind it, as numbers. Scales of more than one place run along `axis`.
static Value numbersOf(OpImport &n, unsigned i, int64_t axis = 0) {
  return dequantize(n, n.in(i), n.in(i + 1), n.in(i + 2), axis);
}

/// `numbers` as bytes of the scale and zero point that inputs `i` and `i + 1` are.
static LogicalResult outBytes(OpImport &n, Value numbers, unsigned i) {
  if (n.failed() || !numbers)
    return failure();
  Type type = n.in(i + 1) ? n.elem(n.in(i + 1)) : Type(IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned));
  return n.out(quantize(n, numbers, n.in(i), n.in(i + 1), type));
}

static LogicalResult importQLinearAdd(OpImport &n) { return outBytes(n, n.add(numbersOf(n, 0), numbersOf(n, 3)), 6); }
static LogicalResult importQLinearMul(OpImport &n) { return outBytes(n, n.mul(numbersOf(n, 0), numbersOf(n, 3)), 6); }
static LogicalResult importQLinearSigmoid(OpImport &n) { return outBytes(n, n.make<LogisticOp>(numbersOf(n, 0)), 3); }

static LogicalResult importQLinearLeakyRelu(OpImport &n) {
  Value x = numbersOf(n, 0);
  if (n.failed())
    return failure();
  return outBytes(n, n.select(n.compare(CompareKind::lt, x, 0), n.mul(x, n.floatAttr("alpha", 0.01)), x), 3);
}

static LogicalResult importQLinearGlobalAveragePool(OpImport &n) {
  Value x = numbersOf(n, 0);
  if (n.failed())
    return failure();
  bool isLast = n.intAttr("channels_last", 0) != 0;
  SmallVector<int64_t> spatial;
  for (int64_t axis = isLast ? 1 : 2; axis < n.rank(x) - isLast; ++axis)
    spatial.push_back(axis);
  return outBytes(n, n.mean(x, spatial, true), 3);
}

static LogicalResult importPoolOfBytes(OpImport &n) {
  Value x = numbersOf(n, 0);
  return n.failed() ? failure() : outBytes(n, averagePool(n, x), 3);
}

static LogicalResult importQLinearAveragePool(OpImport &n) {
  bool isLast = n.intAttr("channels_last", 0) && n.rank(n.in(0)) > 2;
  return isLast ? importChannelsLast(n, importPoolOfBytes) : importPoolOfBytes(n);
}

/// The mean of numbers along axes, all of them where none are named.
static LogicalResult importQLinearReduceMean(OpImport &n) {
  Value x = numbersOf(n, 0);
  if (n.failed())
    return failure();
  SmallVector<int64_t> axes = n.intsAttr("axes").value_or(n.allAxes(x));
  if (failed(n.normalizeAxes(axes, n.rank(x))))
    return failure();
  return outBytes(n, n.mean(x, axes, n.intAttr("keepdims", 1) != 0), 3);
}

static LogicalResult importQLinearSoftmax(OpImport &n) {
  Value x = numbersOf(n, 0);
  return n.failed() ? failure() : outBytes(n, softmax(n, x, n.intAttr("opset", 13), false), 3);
}

static LogicalResult importQLinearWhere(OpImport &n) {
  Value x = numbersOf(n, 1), y = numbersOf(n, 4);
  return n.failed() ? failure() : outBytes(n, n.select(n.in(0), x, y), 7);
}

static LogicalResult importQLinearConcat(OpImport &n) {
  SmallVector<Value> parts;
  for (unsigned i = 2; i + 2 < n.numInputs(); i += 3)
    parts.push_back(numbersOf(n, i));
  if (n.failed() || parts.empty())
    return n.failed() ? failure() : n.error("requires tensors to join, each with a scale and a zero point");
  int64_t axis = n.axisAttr("axis", 0, n.rank(parts.front()));
  return axis < 0 ? failure() : outBytes(n, n.concat(parts, axis), 0);
}

/// An LSTM whose weights are bytes [directions, from, 4 * hidden] with one scale, one for each direction or one for
/// each column. onnxruntime also rounds its inputs and states to bytes, by their range in each call; here these stay
/// numbers.
static LogicalResult importDynamicQuantizeLstm(OpImport &n) {
  if (!n.in(8) || !n.in(10))
    return n.error("requires a scale of each matrix of weights, found none");
  auto weights = [&](unsigned i, unsigned scales) -> Value {
    Value codes = n.in(i), scale = n.in(scales), zero = n.in(scales + 1);
    if (n.rank(codes) != 3 || n.rank(scale) > 2 || (zero && n.rank(zero) != n.rank(scale))) {
      (void)n.error("requires weights of rank 3 and scales of rank 2 at most, found " + printShape(n.dims(codes)) +
                    " and " + printShape(n.dims(scale)));
      return {};
    }
    // One scale of several places belongs to a direction.
    SmallVector<int64_t> axes = n.rank(scale) == 2 ? SmallVector<int64_t>{0, 2} : SmallVector<int64_t>{0};
    auto spread = [&](Value of) {
      bool isSingle = n.rank(of) == 0 || (n.rank(of) == 1 && n.size(of, 0) == 1);
      return isSingle ? n.broadcastLike(n.reshape(of, {}), codes) : n.broadcastLike(of, codes, axes);
    };
    Value numbers = n.convert(codes, n.elem(scale));
    if (zero)
      numbers = n.sub(numbers, spread(n.convert(zero, n.elem(scale))));
    return n.transpose(n.mul(numbers, spread(scale)), {0, 2, 1});
  };
  Value fromInput = weights(1, 8), fromHidden = weights(2, 10);
  if (n.failed())
    return failure();
  n.inputs[1] = fromInput;
  n.inputs[2] = fromHidden;
  return importLstm(n);
}

/// alpha a b + bias, the bias in i32 of the scale of products.
static LogicalResult importQGemm(OpImport &n) {
  int64_t contractA = n.intAttr("transA", 0) ? 0 : 1, contractB = n.intAttr("transB", 0) ? 1 : 0;
  Value a = numbersOf(n, 0), b = numbersOf(n, 3, 1 - contractB), bias = n.in(6);
  if (n.failed())
    return failure();
  if (n.rank(a) != 2 || n.rank(b) != 2)
    return n.error("requires matrices, found ranks " + Twine(n.rank(a)) + " and " + Twine(n.rank(b)));
  Value result = n.make<DotGeneralOp>(a, b, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{contractA},
                                      ArrayRef<int64_t>{contractB}, n.elem(a));
  double alpha = n.floatAttr("alpha", 1);
  if (bias)
    result = n.add(result, n.mul(n.convert(bias, n.elem(a)), n.mul(n.reshape(n.in(1), {}), n.in(4))));
  if (alpha != 1)
    result = n.mul(result, alpha);
  return n.in(7) ? outBytes(n, result, 7) : n.out(result);
}

/// The codes of `bits` that bytes of the last axis hold, the first one in the lowest bits: as many more of them.
static Value unpack(OpImport &n, Value bytes, int64_t bits) {
  if (bits == 8 || n.failed())
    return bytes;
  SmallVector<int64_t> apart(n.dims(bytes)), joined(n.dims(bytes));
  apart.push_back(1);
  joined.back() *= 8 / bits;
  SmallVector<Value> codes;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value shifted = shift == 0 ? bytes : n.div(bytes, double(1 << shift));
    bool isLast = shift + bits == 8;
    codes.push_back(n.reshape(isLast ? shifted : n.binary<AndOp>(shifted, double((1 << bits) - 1)), apart));
  }
  return n.reshape(n.concat(codes, int64_t(apart.size()) - 1), joined);
}

/// Slices of a table whose blocks along an axis have a scale and a zero each: (code - zero) * scale.
static LogicalResult importGatherBlockQuantized(OpImport &n) {
  Value codes = n.in(0), positions = n.in(1), scales = n.in(2), zeros = n.in(3);
  int64_t rank = n.rank(codes), bits = n.intAttr("bits", 4), block = n.intAttr("block_size", 128);
  int64_t from = n.axisAttr("gather_axis", 0, rank), along = n.axisAttr("quantize_axis", 1, rank);
  if (from < 0 || along < 0)
    return failure();
  if (bits != 4 && bits != 8)
    return n.unsupported("codes of " + Twine(bits) + " bits");
  bool isHalfByte = n.elem(codes).isInteger(4);
  if (!n.elem(codes).isInteger(8) && (!isHalfByte || bits != 4))
    return n.unsupported("codes of " + Twine(bits) + " bits that are no integers of so many or bytes");
  if (from == along || block < 16 || !llvm::isPowerOf2_64(uint64_t(block)))
    return n.error("requires two axes and a block_size that is a power of two from 16 on, found " + Twine(from) + ", " +
                   Twine(along) + " and " + Twine(block));
  if (n.rank(scales) != rank || !n.isStatic(codes) || !n.isStatic(scales) || (zeros && !n.isStatic(zeros)))
    return n.error("requires codes and scales of known sizes and one rank, found " + printShape(n.dims(codes)) +
                   " and " + printShape(n.dims(scales)));
  // Bytes hold two codes along the last axis; integers of 4 bits are one each.
  auto blocksOf = [&](int64_t size) { return int64_t(llvm::divideCeil(size, block)); };
  int64_t blocks = n.size(scales, along);
  bool isPacked = bits == 4 && !isHalfByte;
  if (isHalfByte) {
    Type byte = n.elem(codes).isUnsignedInteger() ? n.b.getIntegerType(8, false) : n.b.getIntegerType(8);
    codes = n.convert(codes, byte);
    zeros = zeros ? n.convert(zeros, byte) : zeros;
  }
  if (isPacked && from == rank - 1)
    return n.error("requires another gather_axis than the last one of bytes with two codes");
  positions = n.checked(positions, codes, from);
  auto taken = [&](Value table, bool isPackedTable) {
    Value part = n.gather(table, positions, from);
    return isPackedTable && !n.failed() ? unpack(n, part, 4) : part;
  };
  bool isByte = isPacked || (bits == 8 && n.elem(codes).isUnsignedInteger());
  Type number = n.elem(scales);
  Value numbers = n.convert(taken(codes, isPacked), number), scale = taken(scales, false), zero;
  if (zeros)
    zero = n.convert(taken(zeros, isPacked), number);
  if (n.failed())
    return failure();
  along += along > from ? n.rank(positions) - 1 : 0;
  if (blocksOf(n.size(numbers, along)) != blocks)
    return n.error("requires a scale for each block of " + Twine(block) + " codes, found " + Twine(blocks) + " for " +
                   Twine(n.size(numbers, along)));
  auto spread = [&](Value of) { return alongBlocks(n, of, numbers, along, block); };
  if (zero) // bytes of two codes may hold one more
    numbers = n.sub(numbers, spread(n.slice(zero, along, 0, std::min(blocks, n.size(zero, along)))));
  else if (isByte)
    numbers = n.sub(numbers, double(1 << (bits - 1)));
  return n.out(n.mul(numbers, spread(scale)));
}

/// `x` [..., k] with each block of a row rounded to multiples of a 127th of its greatest magnitude, whose gradient is
/// x's.
static Value roundedToBytes(OpImport &n, Value x, int64_t block) {
  int64_t last = n.rank(x) - 1, k = n.size(x, last), padded = int64_t(llvm::divideCeil(k, block)) * block;
  SmallVector<int64_t> low(size_t(last) + 1, 0), high(low);
  high.back() = padded - k;
  SmallVector<Size> sizes;
  for (int64_t axis = 0; axis < last; ++axis)
    sizes.push_back(n.sizeOf(x, axis));
  SmallVector<Size> whole(sizes);
  whole.push_back(n.fixed(padded));
  sizes.append({n.fixed(padded / block), n.fixed(block)});
  if (padded != k)
    x = n.pad(x, n.scalar(n.elem(x), 0), low, high);
  Value blocks = n.reshapeSizes(x, sizes);
  Value most = n.reduce(Combiner::max, n.make<AbsOp>(blocks), {last + 1}, true);
  // Smaller numbers have no quotient; they are zeros then.
  Value isSome = n.compare(CompareKind::gt, most, 0x1p-119);
  Value scale = n.select(isSome, n.div(127, most), 0), unit = n.select(isSome, n.div(most, 127), 0);
  Value rounded = n.mul(n.make<RoundOp>(n.mul(blocks, scale)), unit);
  rounded = n.reshapeSizes(n.add(blocks, n.make<StopGradientOp>(n.sub(rounded, blocks))), whole);
  return padded == k ? rounded : n.slice(rounded, last, 0, k);
}

/// Constant codes of two bits as codes of four bits in twice as many bytes; null for others than constants.
static Value widenCodes(OpImport &n, Value codes) {
  std::optional<HostTensor> known = n.known(codes);
  if (!known)
    return {};
  SmallVector<int64_t> sizes(known->shape());
  sizes.back() *= 2;
  HostTensor wide(known->elementType(), sizes);
  char *to = wide.data();
  for (int64_t i = 0; i < known->numElements(); ++i) {
    auto four = uint8_t(known->data()[i]);
    to[2 * i] = char((four & 3) | ((four & 12) << 2));
    to[2 * i + 1] = char(((four >> 4) & 3) | ((four >> 2) & 48));
  }
  return n.constant(wide);
}

namespace {
/// A node that multiplies rows by a matrix whose columns are blocks of codes: (code - zero) * scale, a scale and a zero
/// for each block.
class BlockProduct {
public:
  explicit BlockProduct(OpImport &n) : n(n) {}
  LogicalResult run();

private:
  LogicalResult read();
  /// The product of blocks of four bits where this is one, else null.
  Value ofHalfBytes();
  /// The matrix as numbers [columns, k].
  Value numbers();

  OpImport &n;
  Value a, codes, scales, zeros, groups;
  int64_t k = 0, columns = 0, bits = 0, block = 0, blocks = 0;
};
} // namespace

LogicalResult BlockProduct::read() {
  a = n.in(0), codes = n.in(1), scales = n.in(2), zeros = n.in(3), groups = n.in(4);
  k = n.intAttr("K", 0), columns = n.intAttr("N", 0), bits = n.intAttr("bits", 4), block = n.intAttr("block_size", 0);
  if (bits != 2 && bits != 4 && bits != 8)
    return n.unsupported("weights of " + Twine(bits) + " bits");
  if (n.intAttr("weight_prepacked", 0))
    return n.unsupported("weights that are packed for one kind of device");
  if (k < 1 || columns < 1 || block < 16 || !llvm::isPowerOf2_64(uint64_t(block)))
    return n.error("requires K and N above 0 and a block_size that is a power of two from 16 on, found " + Twine(k) +
                   ", " + Twine(columns) + " and " + Twine(block));
  blocks = int64_t(llvm::divideCeil(k, block));
  int64_t perByte = 8 / bits;
  if (!llvm::equal(n.dims(codes), ArrayRef<int64_t>{columns, blocks, block / perByte}))
    return n.error("requires weights of " + Twine(columns) + "x" + Twine(blocks) + "x" + Twine(block / perByte) +
                   ", found " + printShape(n.dims(codes)));
  if (zeros && !isa<FloatType>(n.elem(zeros))) {
    zeros = unpack(n, n.reshape(zeros, {columns, int64_t(llvm::divideCeil(blocks, perByte))}), bits);
    zeros = n.slice(zeros, 1, 0, blocks);
  }
  scales = n.reshape(scales, {columns, blocks});
  if (n.failed())
    return failure();
  if (n.rank(a) < 1 || (n.size(a, n.rank(a) - 1) != k && !ShapedType::isDynamic(n.size(a, n.rank(a) - 1))))
    return n.error("requires rows of " + Twine(k) + " numbers, found " + printShape(n.dims(a)));
  if (!groups)
    return success();
  if (n.rank(groups) != 1 || n.size(groups, 0) < k)
    return n.error("requires the block of each of " + Twine(k) + " rows, found " + printShape(n.dims(groups)));
  groups = n.slice(groups, 0, 0, k);
  std::optional<SmallVector<int64_t>> known = n.knownInts(groups);
  bool areInOrder = known && llvm::all_of(llvm::enumerate(*known),
                                          [&](auto entry) { return entry.value() == int64_t(entry.index()) / block; });
  if (areInOrder)
    groups = {};
  return success(!n.failed());
}

Value BlockProduct::ofHalfBytes() {
  bool areIntegers = !zeros || !isa<FloatType>(n.elem(zeros));
  if (bits == 8 || groups || !areIntegers || ShapedType::isDynamic(n.size(a, n.rank(a) - 1)))
    return {};
  Type number = n.elem(a), single = n.b.getF32Type();
  Value halves = bits == 4 ? codes : widenCodes(n, codes), offsets = zeros;
  if (!halves)
    return {};
  if (bits == 2 && !offsets)
    offsets = n.spread(n.scalar(n.elem(codes), 2), {n.fixed(columns), n.fixed(blocks)});
  bool isOfBytes = n.intAttr("accuracy_level", 0) == 4; // bytes are enough for a
  Value rows = n.convert(a, single);
  if (isOfBytes)
    rows = roundedToBytes(n, rows, block);
  return n.convert(n.make<BlockDotOp>(rows, halves, n.convert(scales, single), offsets, isOfBytes), number);
}

Value BlockProduct::numbers() {
  Type number = n.elem(a);
  Value weights = n.convert(unpack(n, codes, bits), number);
  auto flat = [&](Value value) { return n.slice(n.reshape(value, {columns, blocks * block}), 1, 0, k); };
  Value rows = groups ? n.checked(groups, scales, 1) : Value();
  if (rows)
    weights = flat(weights);
  // What each block has, for each of the weights.
  auto spread = [&](Value of) {
    of = n.reshape(n.convert(of, number), {columns, blocks});
    return rows ? n.gather(of, rows, 1) : n.failed() ? Value() : n.broadcastLike(of, weights, {0, 1});
  };
  Value centre = zeros ? spread(zeros) : n.failed() ? Value() : n.full(weights, double(1 << (bits - 1)));
  weights = n.mul(n.sub(weights, centre), spread(scales));
  return rows ? weights : flat(weights);
}

LogicalResult BlockProduct::run() {
  if (failed(read()))
    return failure();
  Value result = ofHalfBytes();
  if (!result && !n.failed())
    result = n.make<DotGeneralOp>(a, numbers(), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                  ArrayRef<int64_t>{n.rank(a) - 1}, ArrayRef<int64_t>{1}, n.elem(a));
  return n.out(n.in(5) ? n.add(result, n.in(5)) : result);
}

static LogicalResult importMatMulNBits(OpImport &n) { return BlockProduct(n).run(); }

void registerQuantizeContrib(Registry &r) {
  r.addContrib("QuantizeLinear", 2, importQuantizeLinear);
  r.addContrib("DequantizeLinear", 2, importDequantizeLinear);
  r.addContrib("QLinearAdd", 7, importQLinearAdd);
  r.addContrib("QLinearMul", 7, importQLinearMul);
  r.addContrib("QLinearSigmoid", 4, importQLinearSigmoid);
  r.addContrib("QLinearLeakyRelu", 4, importQLinearLeakyRelu);
  r.addContrib("QLinearGlobalAveragePool", 4, importQLinearGlobalAveragePool);
  r.addContrib("QLinearAveragePool", 4, importQLinearAveragePool);
  r.addContrib("QLinearReduceMean", 4, importQLinearReduceMean);
  r.addContrib("QLinearSoftmax", 4, importQLinearSoftmax);
  r.addContrib("QLinearWhere", 9, importQLinearWhere);
  r.addContrib("QLinearConcat", 5, importQLinearConcat);
  r.addContrib("DynamicQuantizeLSTM", 3, importDynamicQuantizeLstm);
  r.addContrib("GatherBlockQuantized", 3, importGatherBlockQuantized);
  r.addContrib("QGemm", 6, importQGemm);
  r.addContrib("MatMulNBits", 3, importMatMulNBits);
}

} // namespace sinter::onnx
