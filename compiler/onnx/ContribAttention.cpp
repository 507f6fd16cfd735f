// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention of onnxruntime's domain: of one projection, of many heads, of groups of heads with a cache, and angles.

#include "compiler/onnx/Families.h"
#include "compiler/onnx/Quantized.h"

using namespace mlir;

namespace sinter::onnx {

namespace {
/// Queries, keys and values as [batch, heads, length, size], and what is added to their scores (or null).
struct Heads {
  Value q, k, v, bias;
  /// Keys before the first query, where queries see no later key than their own (else nothing).
  std::optional<int64_t> behind;

  void add(OpImport &n, Value more) { bias = bias ? n.add(bias, more) : more; }
};
} // namespace

/// Zero where `allowed`, else what leaves nothing of a score.
static Value penalty(OpImport &n, Value allowed, Type type, double number = -3.0e38) {
  if (n.failed())
    return {};
  return n.select(allowed, n.scalar(type, 0), n.scalar(type, type.isF16() ? std::max(number, -65504.0) : number));
}

/// [1, 1, rows, columns] of the scores.
static Value scorePlane(OpImport &n, const Heads &h) {
  return n.spread(n.scalar(n.elem(h.q), 0), {n.fixed(1), n.fixed(1), n.sizeOf(h.q, 2), n.sizeOf(h.k, 2)});
}

/// What hides keys behind a query's own; `addPast` adds the keys before the first query to numbers of rows.
static Value penaltyOfOrder(OpImport &n, const Heads &h, llvm::function_ref<Value(Value)> addPast) {
  Value plane = scorePlane(n, h), last = addPast(n.positions(plane, 2));
  return penalty(n, n.compare(CompareKind::le, n.positions(plane, 3), last), n.elem(h.q));
}

/// 0, 1, ... along the second axis of [batch, length].
static Value placesIn(OpImport &n, Size batch, Size length) {
  return n.positions(n.spread(n.scalarInt(0), {batch, length}), 1);
}

/// Shares of the scores times values.
static Value attend(OpImport &n, const Heads &h) {
  int64_t heads = n.size(h.q, 1), size = n.size(h.q, 3);
  if (n.failed())
    return {};
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(size)) {
    (void)n.unsupported("heads whose number or size is known only at run time");
    return {};
  }
  double scale = n.floatAttr("scale", 0), cap = n.floatAttr("softcap", 0);
  scale = scale == 0 ? 1 / std::sqrt(double(size)) : scale;
  Value bias = h.bias ? n.convert(h.bias, n.elem(h.q)) : Value();
  if (cap == 0) {
    IntegerAttr after = h.behind ? n.b.getI64IntegerAttr(*h.behind) : IntegerAttr();
    return n.makeAll<AttentionOp>(2, h.q, h.k, h.v, bias, APFloat(scale), IntegerAttr(), after, /*log_sums=*/true)[0];
  }
  // Rows of all heads that one head of keys serves.
  int64_t pairs = n.size(h.k, 1);
  Size batch = n.sizeOf(h.q, 0), rows = n.sizeOf(h.q, 2), all = n.times(rows, n.fixed(heads / pairs));
  auto product = [&](Value x, Value y, int64_t contracted, Size columns) {
    x = n.reshapeSizes(x, {batch, n.fixed(pairs), all, n.sizeOf(x, 3)});
    Value result = n.make<DotGeneralOp>(x, y, ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{3},
                                        ArrayRef<int64_t>{contracted}, n.elem(x));
    return n.reshapeSizes(result, {batch, n.fixed(heads), rows, columns});
  };
  Value scores = n.mul(product(h.q, h.k, 3, n.sizeOf(h.k, 2)), scale);
  scores = n.mul(n.make<TanhOp>(n.div(scores, cap)), cap);
  if (bias)
    scores = n.add(scores, bias);
  if (h.behind)
    scores = n.add(scores, penaltyOfOrder(n, h, [&](Value rows) { return n.add(rows, double(*h.behind)); }));
  return product(n.make<SoftmaxOp>(scores, int64_t(3), false), h.v, 2, n.sizeOf(h.v, 3));
}

/// Lets queries, of which `past` (or null) keys come first, see no later key than their own.
static void lookBack(OpImport &n, Heads &h, Value past) {
  int64_t behind = past ? n.size(past, 2) : 0;
  if (!ShapedType::isDynamic(behind)) {
    h.behind = behind;
    return;
  }
  h.add(n, penaltyOfOrder(n, h, [&](Value rows) { return n.add(rows, n.dim(past, 2)); }));
}

/// Leaves out keys: `mask` has the number of keys of each sequence, or a zero for each key, or for each row and key.
static void leaveOut(OpImport &n, Heads &h, Value mask) {
  if (!mask || n.failed())
    return;
  double filter = n.floatAttr("mask_filter_value", -10000);
  Value allowed;
  int64_t batch = n.size(h.q, 0);
  bool isOfSequences = ShapedType::isDynamic(batch) || n.size(mask, 0) == batch;
  if (n.rank(mask) == 1 && isOfSequences) {
    Value ends = n.unsqueeze(n.convert(mask, n.b.getI64Type()), {1, 2, 3});
    allowed = n.compare(CompareKind::lt, n.positions(scorePlane(n, h), 3), ends);
  } else if (n.rank(mask) == 2) {
    allowed = n.unsqueeze(n.compare(CompareKind::ne, mask, 0), {1, 2});
  } else if (n.rank(mask) == 3) {
    allowed = n.unsqueeze(n.compare(CompareKind::ne, mask, 0), {1});
  } else {
    (void)n.unsupported("a mask of " + printShape(n.dims(mask)) + " for " + Twine(batch) + " sequences");
    return;
  }
  h.add(n, penalty(n, allowed, n.elem(h.q), filter));
}

/// The next output: what `h` attends to, its heads beside each other.
static LogicalResult outAttended(OpImport &n, const Heads &h) {
  Value result = attend(n, h);
  return n.failed() ? failure() : n.out(joinHeads(n, result));
}

/// The same with a mask of keys, a bias of scores (both may be null) and the attribute `unidirectional`, behind `past`.
static LogicalResult outMasked(OpImport &n, Heads &h, Value mask, Value bias, Value past) {
  leaveOut(n, h, mask);
  if (bias)
    h.add(n, bias);
  if (n.intAttr("unidirectional", 0))
    lookBack(n, h, past);
  return outAttended(n, h);
}

/// `x` behind `past` along the lengths.
static Value behind(OpImport &n, Value past, Value x) { return past ? n.concat({past, x}, 2) : x; }

namespace {
/// The inputs of an attention whose queries, keys and values are one product. All but the first two may be null.
struct Projected {
  Value x, weights, bias, mask, past, scores;
};
} // namespace

/// Attention of the product that `project` makes of the input, columns of queries, keys and values beside each other.
static LogicalResult attendProjected(OpImport &n, const Projected &in, llvm::function_ref<Value()> project) {
  int64_t heads = n.intAttr("num_heads", 0);
  if (n.intAttr("do_rotary", 0) || n.intAttr("past_present_share_buffer", 0))
    return n.unsupported("rotated or shared caches");
  if (n.rank(in.x) != 3 || n.rank(in.weights) != 2 || !n.isStatic(in.weights) || heads < 1)
    return n.error("requires an input of rank 3, a matrix of weights and num_heads, found " + printShape(n.dims(in.x)) +
                   ", " + printShape(n.dims(in.weights)) + " and " + Twine(heads));
  if (in.past && n.rank(in.past) != 5)
    return n.error("requires a past of rank 5, found " + printShape(n.dims(in.past)));
  int64_t columns = n.size(in.weights, 1);
  SmallVector<int64_t> widths =
      n.intsAttr("qkv_hidden_sizes").value_or(SmallVector<int64_t>{columns / 3, columns / 3, columns / 3});
  if (widths.size() != 3 || widths[0] != widths[1] || widths[0] + widths[1] + widths[2] != columns ||
      llvm::any_of(widths, [&](int64_t width) { return width < 1 || width % heads != 0; }))
    return n.error("requires three widths that are multiples of " + Twine(heads) + " heads in " + Twine(columns) +
                   " columns");
  Value all = project();
  int64_t from = 0;
  auto part = [&](int64_t width) {
    from += width;
    return splitHeads(n, n.slice(all, 2, from - width, from), heads);
  };
  Heads h;
  h.q = part(widths[0]);
  h.k = part(widths[1]);
  h.v = part(widths[2]);
  if (n.failed())
    return failure();
  Value pastKeys, pastValues;
  if (in.past) {
    pastKeys = n.squeeze(n.slice(in.past, 0, 0, 1), {0});
    pastValues = n.squeeze(n.slice(in.past, 0, 1, 2), {0});
  }
  h.k = behind(n, pastKeys, h.k);
  h.v = behind(n, pastValues, h.v);
  if (failed(outMasked(n, h, in.mask, in.scores, pastKeys)))
    return failure();
  return n.wants(1) ? n.out(n.concat({n.unsqueeze(h.k, {0}), n.unsqueeze(h.v, {0})}, 0)) : success();
}

static LogicalResult importAttention(OpImport &n) {
  Projected in{n.in(0), n.in(1), n.in(2), n.in(3), n.in(4), n.in(5)};
  if (!haveOneFloatType(n, {in.x, in.weights, in.bias, in.past, in.scores}))
    return failure();
  if (n.in(6))
    return n.unsupported("rotated or shared caches");
  return attendProjected(n, in, [&] {
    Value all = n.matmul(in.x, in.weights, n.elem(in.x));
    return in.bias ? n.add(all, in.bias) : all;
  });
}

/// The same of an input and weights of bytes.
static LogicalResult importQAttention(OpImport &n) {
  Projected in{n.in(0), n.in(1), n.in(2), n.in(5), n.in(8), Value()};
  if (!haveOneFloatType(n, {n.in(3), n.in(4), in.bias, in.past}))
    return failure();
  return attendProjected(
      n, in, [&] { return floatProduct(n, {in.x, n.in(3), n.in(6)}, {in.weights, n.in(4), n.in(7)}, in.bias); });
}

static LogicalResult importMultiHeadAttention(OpImport &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2), bias = n.in(3), past = n.in(6);
  int64_t heads = n.intAttr("num_heads", 0);
  if (!haveOneFloatType(n, {q, k, v, bias, n.in(5), past, n.in(7)}))
    return failure();
  if (n.in(8) || n.in(9) || n.wants(3))
    return n.unsupported("shared caches, beams of them and scores as an output");
  if (heads < 1)
    return n.error("requires num_heads, found " + Twine(heads));
  if (!past != !n.in(7))
    return n.error("requires past_key and past_value together, found one");
  for (Value cache : {past, n.in(7)})
    if (cache && n.rank(cache) != 4)
      return n.error("requires a past of rank 4, found " + printShape(n.dims(cache)));
  auto biased = [&](Value x, int64_t which) -> Value {
    if (!bias || n.failed() || n.rank(x) != 3)
      return x;
    int64_t width = n.size(q, 2), from = which * width;
    if (ShapedType::isDynamic(width) || ShapedType::isDynamic(n.size(bias, 0))) {
      (void)n.unsupported("a bias for widths that are known only at run time");
      return {};
    }
    return n.add(x, n.slice(bias, 0, from, which == 2 ? n.size(bias, 0) : from + width));
  };
  if (n.rank(q) != 3 || !k || !v || (n.rank(k) != 3 && n.rank(k) != 4) || n.rank(k) != n.rank(v))
    return n.unsupported("other operands than queries of rank 3 with keys and values of rank 3 or 4");
  Value queries = biased(q, 0), keys = biased(k, 1), values = biased(v, 2);
  if (n.failed())
    return failure();
  Heads h{splitHeads(n, queries, heads), splitHeads(n, keys, heads), splitHeads(n, values, heads), {}, {}};
  if (n.failed())
    return failure();
  h.k = behind(n, past, h.k);
  h.v = behind(n, n.in(7), h.v);
  if (failed(outMasked(n, h, n.in(4), n.in(5), past)))
    return failure();
  for (Value present : {h.k, h.v})
    if (n.outputs.size() < n.numOutputs() && failed(n.out(present)))
      return failure();
  return success();
}

//===--- groups of heads with a cache ---------------------------------------------------------------------------===//

namespace {
/// One GroupQueryAttention node. Of each sequence `start` keys were there before this call and `ends` are behind it; a
/// cache has room for `capacity` rows, of which those before this call lie at its beginning. Queries look at the first
/// `used` rows of the past, where all keys before this call are, and behind them those of this call.
class GroupQuery {
public:
  explicit GroupQuery(OpImport &n) : n(n) {}
  LogicalResult run();

private:
  LogicalResult read();
  LogicalResult readLengths();
  LogicalResult turn();
  /// Rows of `cache` that hold keys of any sequence, and those of this call behind them.
  Value joined(Value cache, Value x);
  /// How many of `length` keys a cache keeps, the last ones. One of a window drops `capacity - window + 1` at once.
  Value kept(Value length);
  /// The position of each row that queries may look at, behind all of them where a row holds no key.
  Value positionsOfRows(Value rows);
  Value findAllowed(const Heads &h);
  /// For each sequence and place of the cache behind this call which of `rows` comes there.
  Value placesOfRows(Value rows);
  Value cache(Value rows, Value places);

  OpImport &n;
  Value q, k, v, past, start, ends, total, capacity, used;
  int64_t heads = 0, pairs = 0, window = 0;
  bool isRolling = false;
};
} // namespace

LogicalResult GroupQuery::read() {
  q = n.in(0), k = n.in(1), v = n.in(2), past = n.in(3);
  heads = n.intAttr("num_heads", 0), pairs = n.intAttr("kv_num_heads", 0);
  if (heads < 1 || pairs < 1 || heads % pairs != 0 || n.rank(q) != 3)
    return n.error("requires queries of rank 3 and num_heads that is a multiple of kv_num_heads, found " +
                   printShape(n.dims(q)) + ", " + Twine(heads) + " and " + Twine(pairs));
  if (!n.in(5) || !n.in(6))
    return n.error("requires seqlens_k and total_sequence_length");
  if (!haveOneFloatType(n, {q, k, v, past, n.in(4), n.in(7), n.in(8), n.in(10)}))
    return failure();
  if (!k != !v || !past != !n.in(4))
    return n.error("requires keys and values, and both or none of the past, found one");
  for (auto [value, rank] : {std::pair(k, 3), {v, 3}, {past, 4}, {n.in(4), 4}})
    if (value && n.rank(value) != rank)
      return n.error("requires keys and values of rank 3 and a past of rank 4, found " + printShape(n.dims(value)));
  auto differ = [](int64_t a, int64_t b) { return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b; };
  for (Value cache : {past, n.in(4)})
    if (cache && (differ(n.size(cache, 0), n.size(q, 0)) || differ(n.size(cache, 1), pairs) ||
                  differ(n.size(cache, 2), n.size(past, 2))))
      return n.error("requires a past of as many sequences, heads and rows for keys and values, found " +
                     printShape(n.dims(cache)));
  for (unsigned i = 11; i < n.numInputs(); ++i)
    if (n.in(i))
      return n.unsupported("sinks, caches of bytes and normalized heads");
  if (n.intAttr("smooth_softmax", 0) > 0 || n.wants(3) || n.intAttr("qk_output", 0))
    return n.unsupported("a smooth softmax and scores as an output");
  if (past && n.in(10))
    return n.unsupported("a bias of scores with keys of a cache");
  window = n.intAttr("local_window_size", -1);
  isRolling = past && n.intAttr("sliding_window_cache", 0) != 0;
  if (isRolling && window < 1)
    return n.error("requires a local_window_size for a cache of a window, found " + Twine(window));
  if (!k) { // all three beside each other
    Value all = takeApart(n, q, heads + 2 * pairs);
    q = n.slice(all, 2, 0, heads);
    k = n.slice(all, 2, heads, heads + pairs);
    v = n.slice(all, 2, heads + pairs, heads + 2 * pairs);
  } else {
    q = takeApart(n, q, heads), k = takeApart(n, k, pairs), v = takeApart(n, v, pairs);
  }
  for (Value heads : {q, v, past, n.in(4)})
    if (heads && !n.failed() && differ(n.size(heads, 3), n.size(k, 3)))
      return n.error("requires heads of one size, found " + printShape(n.dims(k)) + " and " +
                     printShape(n.dims(heads)));
  return success(!n.failed());
}

LogicalResult GroupQuery::readLengths() {
  Type index = n.b.getI64Type();
  Value fresh = n.dim(q, 1);
  ends = n.add(n.reshape(n.convert(n.in(5), index), {-1}), 1);
  total = n.reshape(n.convert(n.in(6), index), {});
  // Of a first call queries begin at 0, whatever the sequences hold; later all are at the ends.
  Value before = n.max(n.sub(ends, fresh), 0);
  start = past ? n.select(n.compare(CompareKind::eq, total, fresh), 0, before) : n.full(before, 0);
  if (past) {
    capacity = n.dim(past, 2);
    used = n.min(n.max(n.sub(total, fresh), 0), capacity);
  }
  return success(!n.failed());
}

LogicalResult GroupQuery::turn() {
  if (!n.intAttr("do_rotary", 0))
    return success();
  Value cosine = n.in(7), sine = n.in(8), positions = n.in(9);
  if (!cosine || !sine || n.rank(cosine) != 2 || n.rank(sine) != 2 || ShapedType::isDynamic(n.size(cosine, 1)))
    return n.error("requires caches of rank 2 of cosines and sines to rotate by");
  int64_t rotated = 2 * n.size(cosine, 1);
  if (ShapedType::isDynamic(n.size(q, 3)) || rotated > n.size(q, 3))
    return n.error("requires heads of at least " + Twine(rotated) + " places, found " + printShape(n.dims(q)));
  if (!positions)
    positions = n.add(placesIn(n, n.sizeOf(q, 0), n.sizeOf(q, 1)), n.unsqueeze(start, {1}));
  positions = n.checked(positions, cosine, 0);
  bool isInterleaved = n.intAttr("rotary_interleaved", 0) != 0;
  cosine = n.gather(cosine, positions, 0);
  sine = n.gather(sine, positions, 0);
  q = rotate(n, q, cosine, sine, rotated, isInterleaved);
  k = rotate(n, k, cosine, sine, rotated, isInterleaved);
  return success(!n.failed());
}

Value GroupQuery::joined(Value cache, Value x) {
  x = n.transpose(x, {0, 2, 1, 3});
  if (!cache || n.failed())
    return x;
  int64_t all = std::numeric_limits<int64_t>::max();
  Value limits = n.concat({n.ints({all, all}), n.reshape(used, {1}), n.ints({all})}, 0);
  return n.concat({n.make<RangeSliceOp>(cache, n.ints({0, 0, 0, 0}), limits, n.ints({1, 1, 1, 1})), x}, 2);
}

Value GroupQuery::kept(Value length) {
  if (!isRolling)
    return length;
  Value group = n.max(n.sub(capacity, double(window - 1)), 1), over = n.max(n.sub(length, capacity), 0);
  return n.sub(length, n.mul(n.div(n.sub(n.add(over, group), 1), group), group));
}

Value GroupQuery::positionsOfRows(Value rows) {
  Value row = placesIn(n, n.sizeOf(rows, 0), n.sizeOf(rows, 2));
  if (!past)
    return row;
  Value first = n.unsqueeze(start, {1}), count = n.unsqueeze(kept(start), {1});
  Value ofPast = n.select(n.compare(CompareKind::lt, row, count), n.add(row, n.sub(first, count)), double(1 << 30));
  return n.select(n.compare(CompareKind::lt, row, used), ofPast, n.add(n.sub(row, used), first));
}

Value GroupQuery::findAllowed(const Heads &h) {
  Value columns = n.unsqueeze(positionsOfRows(h.k), {1, 2}), first = n.unsqueeze(start, {1, 2, 3});
  Value rows = n.add(n.positions(scorePlane(n, h), 2), first);
  Value last = n.intAttr("causal", 1) ? rows : n.add(first, n.sub(n.dim(q, 1), 1));
  Value allowed = n.compare(CompareKind::le, columns, last);
  if (window > 0)
    allowed = n.binary<AndOp>(allowed, n.compare(CompareKind::lt, n.sub(rows, columns), double(window)));
  return allowed;
}

Value GroupQuery::placesOfRows(Value rows) {
  Value length = isRolling ? capacity : n.max(capacity, total);
  Size size;
  if (std::optional<SmallVector<int64_t>> known = n.knownInts(length))
    size.known = known->front();
  else
    size.tensor = n.reshape(length, {1});
  Value place = placesIn(n, n.sizeOf(q, 0), size), first = n.unsqueeze(start, {1});
  Value position = n.add(place, n.unsqueeze(n.sub(ends, kept(ends)), {1}));
  Value ofPast = n.sub(position, n.unsqueeze(n.sub(start, kept(start)), {1}));
  Value row = n.select(n.compare(CompareKind::lt, position, first), ofPast, n.add(n.sub(position, first), used));
  // Behind the last key anything may be.
  return n.max(n.min(row, n.sub(n.dim(rows, 2), 1)), 0);
}

Value GroupQuery::cache(Value rows, Value places) {
  if (!past)
    return rows;
  // Rows of all sequences and heads in one table.
  Size batch = n.sizeOf(rows, 0), length = n.sizeOf(rows, 2), size = n.sizeOf(rows, 3);
  Value table = n.reshapeSizes(rows, {n.times(n.times(batch, n.fixed(pairs)), length), size});
  Value which = n.spread(n.scalarInt(0), {batch, n.fixed(pairs), n.fixed(1)});
  Value line = n.add(n.mul(n.positions(which, 0), double(pairs)), n.positions(which, 1));
  return n.gather(table, n.add(n.mul(line, n.dim(rows, 2)), n.unsqueeze(places, {1})), 0);
}

LogicalResult GroupQuery::run() {
  if (failed(read()) || failed(readLengths()) || failed(turn()))
    return failure();
  Heads h;
  h.q = n.transpose(q, {0, 2, 1, 3});
  h.k = joined(past, k);
  h.v = joined(n.in(4), v);
  if (n.failed())
    return failure();
  if (!past && n.intAttr("causal", 1) && window < 1)
    h.behind = 0;
  else
    h.bias = penalty(n, findAllowed(h), n.elem(h.q));
  if (n.in(10))
    h.add(n, n.in(10));
  if (failed(outAttended(n, h)))
    return failure();
  if (n.numOutputs() < 2)
    return success();
  Value places = past ? placesOfRows(h.k) : Value();
  for (Value rows : {h.k, h.v})
    if (n.outputs.size() < n.numOutputs() && failed(n.out(cache(rows, places))))
      return failure();
  return success();
}

static LogicalResult importGroupQueryAttention(OpImport &n) { return GroupQuery(n).run(); }

//===--- angles -------------------------------------------------------------------------------------------------===//

static LogicalResult importRotaryEmbedding(OpImport &n) {
  Value x = n.in(0), positions = n.in(1), cosine = n.in(2), sine = n.in(3);
  int64_t heads = n.intAttr("num_heads", 0), rotated = n.intAttr("rotary_embedding_dim", 0);
  if (!haveOneFloatType(n, {x, cosine, sine}))
    return failure();
  if (n.floatAttr("scale", 1) != 1 || n.intAttr("is_packed_batching", 0))
    return n.unsupported("scaled angles and packed sequences");
  if ((n.rank(x) != 3 && n.rank(x) != 4) || n.rank(cosine) != 2 || n.rank(sine) != 2)
    return n.error("requires an operand of rank 3 or 4 and caches of rank 2, found " + printShape(n.dims(x)) + ", " +
                   printShape(n.dims(cosine)) + " and " + printShape(n.dims(sine)));
  if (ShapedType::isDynamic(n.size(cosine, 1)))
    return n.unsupported("caches whose width is known only at run time");
  bool isFlat = n.rank(x) == 3;
  SmallVector<Size> original;
  for (int64_t axis = 0; axis < n.rank(x); ++axis)
    original.push_back(n.sizeOf(x, axis));
  if (isFlat && heads > 0)
    x = takeApart(n, x, heads);
  else if (isFlat) // heads are as wide as the caches say
    x = n.reshapeSizes(
        x, {original[0], original[1], n.over(original[2], 2 * n.size(cosine, 1)), n.fixed(2 * n.size(cosine, 1))});
  else
    x = n.transpose(x, {0, 2, 1, 3});
  if (n.failed())
    return failure();
  rotated = rotated ? rotated : 2 * n.size(cosine, 1);
  if (ShapedType::isDynamic(n.size(x, 3)) || rotated < 2 || rotated % 2 || rotated > n.size(x, 3) ||
      rotated / 2 > n.size(cosine, 1))
    return n.error("requires an even rotary_embedding_dim within heads and caches, found " + Twine(rotated) + " for " +
                   printShape(n.dims(x)) + " and " + printShape(n.dims(cosine)));
  if (n.rank(positions) < 2) // where the first token is
    positions = n.add(placesIn(n, original[0], n.sizeOf(x, 1)), n.reshape(n.convert(positions, n.b.getI64Type()), {}));
  positions = n.checked(positions, cosine, 0);
  auto angles = [&](Value cache) { return n.slice(n.gather(cache, positions, 0), 2, 0, rotated / 2); };
  Value turned = rotate(n, x, angles(cosine), angles(sine), rotated, n.intAttr("interleaved", 0) != 0);
  return n.out(isFlat ? n.reshapeSizes(turned, original) : n.transpose(turned, {0, 2, 1, 3}));
}

void registerContribAttention(Registry &r) {
  r.addContrib("Attention", 2, importAttention);
  r.addContrib("QAttention", 5, importQAttention);
  r.addContrib("MultiHeadAttention", 1, importMultiHeadAttention);
  r.addContrib("GroupQueryAttention", 1, importGroupQueryAttention);
  r.addContrib("RotaryEmbedding", 4, importRotaryEmbedding);
}

} // namespace sinter::onnx
