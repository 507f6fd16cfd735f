// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Families.h"

using namespace mlir;

namespace sinter::onnx {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value takeApart(OpImport &n, Value x, int64_t heads) {
  return n.reshapeSizes(x, {n.sizeOf(x, 0), n.sizeOf(x, 1), n.fixed(heads), n.over(n.sizeOf(x, 2), heads)});
}

Value splitHeads(OpImport &n, Value x, int64_t heads) {
  if (n.failed() || n.rank(x) == 4)
    return x;
  return n.transpose(takeApart(n, x, heads), {0, 2, 1, 3});
}

Value joinHeads(OpImport &n, Value x) {
  Value rows = n.transpose(x, {0, 2, 1, 3});
  return n.reshapeSizes(rows, {n.sizeOf(rows, 0), n.sizeOf(rows, 1), n.times(n.sizeOf(rows, 2), n.sizeOf(rows, 3))});
}

Value repeatHeads(OpImport &n, Value x, int64_t heads) {
  if (n.failed() || heads == n.size(x, 1))
    return x;
  int64_t pairs = n.size(x, 1);
  SmallVector<Size> sizes = {n.sizeOf(x, 0), n.fixed(pairs), n.fixed(heads / pairs), n.sizeOf(x, 2), n.sizeOf(x, 3)};
  Value wide = n.expand(n.unsqueeze(x, {2}), n.shapeTensor(sizes));
  return n.reshapeSizes(wide, {sizes[0], n.fixed(heads), sizes[3], sizes[4]});
}

Value rotate(OpImport &n, Value x, Value cosine, Value sine, int64_t rotated, bool interleaved) {
  int64_t width = n.size(x, 3);
  cosine = n.unsqueeze(cosine, {2});
  sine = n.unsqueeze(sine, {2});
  Value rest = rotated == width ? Value() : n.slice(x, 3, rotated, width);
  Value head = rotated == width ? x : n.slice(x, 3, 0, rotated);
  Value a = interleaved ? n.slice(head, 3, 0, rotated, 2) : n.slice(head, 3, 0, rotated / 2);
  Value b = interleaved ? n.slice(head, 3, 1, rotated, 2) : n.slice(head, 3, rotated / 2, rotated);
  Value real = n.sub(n.mul(a, cosine), n.mul(b, sine)), imaginary = n.add(n.mul(a, sine), n.mul(b, cosine));
  Value turned;
  if (interleaved) {
    Value pairs = n.concat({n.unsqueeze(real, {4}), n.unsqueeze(imaginary, {4})}, 4);
    turned = n.reshapeSizes(pairs, {n.sizeOf(x, 0), n.sizeOf(x, 1), n.sizeOf(x, 2), n.fixed(rotated)});
  } else {
    turned = n.concat({real, imaginary}, 3);
  }
  return rest ? n.concat({turned, rest}, 3) : turned;
}

namespace {
/// One Attention node: what its attributes and inputs say, and the steps of the computation.
class Attention {
public:
  explicit Attention(OpImport &n) : n(n) {}
  LogicalResult run();

private:
  LogicalResult readHeads();
  void readMask();
  /// Where queries may look, beside the mask: a boolean that broadcasts to [batch, heads, rows, columns], or null.
  Value findAllowed();
  /// The position among all keys of each query.
  Value queryPositions(Value plane);
  Value plane() { return n.spread(n.scalar(type, 0), {n.fixed(1), n.fixed(1), n.sizeOf(q, 2), n.sizeOf(k, 2)}); }
  /// What rows count as numbers, if it can be said so and each row counts some key.
  bool findBand(IntegerAttr &before, IntegerAttr &after);
  /// Whether a row may look somewhere, where what hides keys is -inf in `bias`.
  Value seesSome(Value bias) {
    return n.compare(CompareKind::ne, n.reduce(Combiner::max, bias, {3}, true), -kInfinity);
  }
  /// By the composite, which kernels know.
  Value whole();
  /// Step by step, as caps, windows and the scores as an output need it.
  Value bySteps();

  OpImport &n;
  Value q, k, v, presentKey, presentValue, past, lengths, scores;
  Value mask, floatMask, boolMask;
  Type type;
  int64_t heads = 0, pairs = 0, rank = 0, left = -1, right = -1;
  double scale = 0, cap = 0;
};
} // namespace

LogicalResult Attention::readHeads() {
  q = n.in(0), k = n.in(1), v = n.in(2), mask = n.in(3);
  rank = n.rank(q), heads = n.intAttr("q_num_heads", 0), pairs = n.intAttr("kv_num_heads", 0);
  if ((rank != 3 && rank != 4) || n.rank(k) != rank || n.rank(v) != rank)
    return n.error("requires operands of rank 3 or 4, found " + printShape(n.dims(q)));
  if (rank == 3 && (heads < 1 || pairs < 1))
    return n.error("requires q_num_heads and kv_num_heads, found none");
  q = splitHeads(n, q, heads);
  k = splitHeads(n, k, pairs);
  v = splitHeads(n, v, pairs);
  if (n.failed())
    return failure();
  heads = n.size(q, 1);
  pairs = n.size(k, 1);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(pairs))
    return n.unsupported("a number of heads known only at run time");
  if (pairs < 1 || heads % pairs != 0)
    return n.error("requires a number of query heads that is a multiple of the others, found " + Twine(heads) +
                   " and " + Twine(pairs));
  int64_t width = n.size(q, 3);
  if (!n.attribute("scale") && ShapedType::isDynamic(width))
    return n.unsupported("a head size known only at run time");
  type = n.elem(q);
  scale = n.floatAttr("scale", 1 / std::sqrt(double(width)));
  cap = n.floatAttr("softcap", 0);
  left = n.intAttr("left_window_size", -1);
  right = n.intAttr("right_window_size", -1);
  if (left < -1 || right < -1)
    return n.error("requires window sizes of at least -1, found " + Twine(std::min(left, right)));
  past = n.in(4);
  lengths = n.in(6);
  if (!past != !n.in(5))
    return n.error("requires past_key and past_value together, found one");
  if (past && lengths)
    return n.error("requires past_key or nonpad_kv_seqlen, found both");
  presentKey = past ? n.concat({past, k}, 2) : k;
  presentValue = past ? n.concat({n.in(5), v}, 2) : v;
  k = presentKey;
  v = presentValue;
  return success(!n.failed());
}

void Attention::readMask() {
  if (!mask || n.failed())
    return;
  bool isBool = n.elem(mask).isInteger(1);
  // Columns that it does not have are not looked at.
  int64_t last = n.rank(mask) - 1, given = n.size(mask, last), columns = n.size(k, 2);
  bool isGiven = !ShapedType::isDynamic(given), isKnown = !ShapedType::isDynamic(columns);
  if (last >= 0 && isGiven != isKnown) {
    SmallVector<Size> sizes;
    for (int64_t axis = 0; axis < last; ++axis)
      sizes.push_back(n.sizeOf(mask, axis));
    Size missing;
    missing.tensor = n.reshape(n.max(n.sub(n.dim(k, 2), n.dim(mask, last)), 0), {1});
    sizes.push_back(missing);
    mask = n.concat({mask, n.spread(n.scalar(n.elem(mask), isBool ? 0 : -kInfinity), sizes)}, last);
  } else if (last >= 0 && isGiven && isKnown && given < columns) {
    SmallVector<int64_t> low(size_t(last) + 1, 0), high(low);
    high.back() = columns - given;
    mask = n.pad(mask, n.scalar(n.elem(mask), isBool ? 0 : -kInfinity), low, high);
  }
  mask = n.unsqueeze(mask, llvm::to_vector(llvm::seq<int64_t>(0, std::max<int64_t>(4 - n.rank(mask), 0))));
  if (n.failed())
    return;
  if (isBool)
    boolMask = mask;
  else
    floatMask = n.convert(mask, type);
}

Value Attention::queryPositions(Value plane) {
  Value rows = n.positions(plane, 2);
  if (past)
    return n.add(rows, n.dim(past, 2));
  if (!lengths)
    return rows;
  Value first = n.sub(n.convert(lengths, n.b.getI64Type()), n.dim(q, 2));
  return n.add(rows, n.unsqueeze(first, {1, 2, 3}));
}

Value Attention::findAllowed() {
  Value allowed;
  auto both = [&](Value more) { allowed = allowed ? n.binary<AndOp>(allowed, more) : more; };
  if (n.intAttr("is_causal", 0) || left >= 0 || right >= 0) {
    Value all = plane(), columns = n.positions(all, 3), rows = queryPositions(all);
    if (n.intAttr("is_causal", 0))
      both(n.compare(CompareKind::le, columns, rows));
    if (left >= 0)
      both(n.compare(CompareKind::le, n.sub(rows, columns), double(left)));
    if (right >= 0)
      both(n.compare(CompareKind::le, n.sub(columns, rows), double(right)));
  }
  if (lengths)
    both(n.compare(CompareKind::lt, n.positions(plane(), 3),
                   n.unsqueeze(n.convert(lengths, n.b.getI64Type()), {1, 2, 3})));
  return allowed;
}

bool Attention::findBand(IntegerAttr &before, IntegerAttr &after) {
  bool isCausal = n.intAttr("is_causal", 0) != 0;
  if (!isCausal && left < 0 && right < 0)
    return true;
  int64_t rows = n.size(q, 2), columns = n.size(k, 2), behind = past ? n.size(past, 2) : 0;
  // A row that looks nowhere is zero, which the composite does not say; booleans may lead to such rows.
  if (lengths || boolMask || ShapedType::isDynamic(behind))
    return false;
  if (left >= 0 && (ShapedType::isDynamic(rows) || ShapedType::isDynamic(columns) || rows + behind - left > columns))
    return false;
  if (left >= 0)
    before = n.b.getI64IntegerAttr(left - behind);
  if (isCausal || right >= 0)
    after = n.b.getI64IntegerAttr((isCausal ? 0 : right) + behind);
  return true;
}

Value Attention::whole() {
  Value bias, alive; // rows that may look somewhere; all others are zero
  IntegerAttr before, after;
  bool isBand = findBand(before, after);
  Value allowed = isBand ? Value() : findAllowed();
  if (floatMask) {
    Value seen = isBand ? findAllowed() : allowed, visible = seen ? n.select(seen, floatMask, -kInfinity) : floatMask;
    alive = seesSome(visible);
    bias = n.select(alive, isBand ? floatMask : visible, 0); // numbers for the softmax of the others
  } else {
    if (boolMask)
      allowed = allowed ? n.binary<AndOp>(allowed, boolMask) : boolMask;
    if (allowed)
      bias = n.select(allowed, n.scalar(type, 0), n.scalar(type, type.isF16() ? -65504 : -3.0e38));
    if (boolMask)
      alive = n.reduce(Combiner::logical_or, allowed, {3}, true);
  }
  Value result = n.makeAll<AttentionOp>(2, q, k, v, bias, APFloat(scale), before, after, /*log_sums=*/true)[0];
  return alive ? n.select(alive, result, 0) : result;
}

Value Attention::bySteps() {
  double root = std::sqrt(scale);
  k = repeatHeads(n, k, heads);
  v = repeatHeads(n, v, heads);
  Value keys = n.transpose(k, {0, 1, 3, 2});
  Value product = n.matmul(n.mul(q, root), n.mul(keys, root), type), capped = product;
  if (cap > 0)
    capped = n.mul(n.make<TanhOp>(n.div(product, cap)), cap);
  Value bias = floatMask, allowed = boolMask;
  if (Value more = findAllowed())
    allowed = allowed ? n.binary<AndOp>(allowed, more) : more;
  if (allowed) {
    Value penalty = n.select(allowed, n.scalar(type, 0), n.scalar(type, -kInfinity));
    bias = bias ? n.add(bias, penalty) : penalty;
  }
  Value biased = bias ? n.add(capped, bias) : capped;
  int64_t precision = n.intAttr("softmax_precision", 0);
  Type wide = precision ? n.elementType(precision) : type;
  if (n.failed() || !wide)
    return {};
  // A row that may look nowhere is zero, whatever its scores are; its softmax is one of numbers, so that gradients are.
  Value alive, summed = biased;
  if (bias) {
    alive = seesSome(bias);
    summed = n.select(alive, biased, 0);
  }
  Value shares = n.convert(n.make<SoftmaxOp>(n.convert(summed, wide), int64_t(3), false), type);
  if (alive)
    shares = n.select(alive, shares, 0);
  Value choices[] = {product, capped, biased, shares};
  int64_t mode = n.intAttr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    (void)n.error("requires a qk_matmul_output_mode of 0 to 3, found " + Twine(mode));
    return {};
  }
  scores = choices[mode];
  return n.matmul(shares, v, type);
}

LogicalResult Attention::run() {
  if (failed(readHeads()))
    return failure();
  readMask();
  IntegerAttr before, after;
  bool isWindow = left >= 0 || right >= 0; // f16 and bf16 round after each step there
  bool isPlain =
      cap == 0 && !lengths && !n.wants(3) && (!isWindow || ((type.isF32() || type.isF64()) && findBand(before, after)));
  Value result = isPlain ? whole() : bySteps();
  if (n.failed() || failed(n.out(rank == 4 ? result : joinHeads(n, result))))
    return failure();
  for (Value more : {presentKey, presentValue, scores})
    if (more && n.outputs.size() < n.numOutputs() && failed(n.out(more)))
      return failure();
  return success();
}

static LogicalResult importAttention(OpImport &n) { return Attention(n).run(); }

static LogicalResult importRotaryEmbedding(OpImport &n) {
  Value x = n.in(0), cosine = n.in(1), sine = n.in(2), positions = n.in(3);
  int64_t heads = n.intAttr("num_heads", 0), rotated = n.intAttr("rotary_embedding_dim", 0);
  bool interleaved = n.intAttr("interleaved", 0) != 0, flat = n.rank(x) == 3;
  if (!flat && n.rank(x) != 4)
    return n.error("requires an operand of rank 3 or 4, found " + printShape(n.dims(x)));
  if (flat && heads < 1)
    return n.error("requires num_heads, found none");
  SmallVector<Size> original;
  for (int64_t axis = 0; axis < n.rank(x); ++axis)
    original.push_back(n.sizeOf(x, axis));
  // [batch, length, heads, size]
  x = flat ? takeApart(n, x, heads) : n.transpose(x, {0, 2, 1, 3});
  int64_t width = n.size(x, 3);
  if (ShapedType::isDynamic(width) || n.rank(x) != 4)
    return n.unsupported("a head size known only at run time");
  rotated = rotated ? rotated : width;
  if (rotated < 0 || rotated % 2 != 0 || rotated > width)
    return n.error("requires an even rotary_embedding_dim of at most " + Twine(width) + ", found " + Twine(rotated));
  for (Value cache : {cosine, sine})
    if (n.rank(cache) != (positions ? 2 : 3))
      return n.error("requires caches of rank " + Twine(positions ? 2 : 3) + ", found " + printShape(n.dims(cache)));
  if (positions) {
    positions = n.checked(positions, cosine, 0);
    cosine = n.gather(cosine, positions, 0);
    sine = n.gather(sine, positions, 0);
  }
  Value turned =
      rotate(n, x, n.slice(cosine, 2, 0, rotated / 2), n.slice(sine, 2, 0, rotated / 2), rotated, interleaved);
  return n.out(flat ? n.reshapeSizes(turned, original) : n.transpose(turned, {0, 2, 1, 3}));
}

void registerAttention(Registry &r) {
  r.add("Attention", 23, 3, importAttention);
  r.add("RotaryEmbedding", 23, 3, importRotaryEmbedding);
}

} // namespace sinter::onnx
