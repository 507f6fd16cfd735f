// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/OpImport.h"

using namespace mlir;

namespace sinter::onnx {

/// [batch, length, heads * size] to [batch, heads, length, size].
static Value splitHeads(OpImport &n, Value x, int64_t heads) {
  if (n.failed() || n.rank(x) == 4)
    return x;
  Size width = n.over(n.sizeOf(x, 2), heads);
  return n.transpose(n.reshapeSizes(x, {n.sizeOf(x, 0), n.sizeOf(x, 1), n.fixed(heads), width}), {0, 2, 1, 3});
}

static LogicalResult importAttention(OpImport &n) {
  Value q = n.in(0), k = n.in(1), v = n.in(2), mask = n.in(3);
  for (StringRef name : {"left_window_size", "right_window_size"})
    if (n.intAttr(name, -1) != -1)
      return n.unsupported("attribute '" + name + "'");
  if (n.in(4) || n.in(5) || n.in(6))
    return n.unsupported("a cache of earlier keys and values");
  if (n.wants(1) || n.wants(2) || n.wants(3))
    return n.unsupported("a second output");
  if (n.floatAttr("softcap", 0) != 0)
    return n.unsupported("attribute 'softcap'");
  int64_t rank = n.rank(q), heads = n.intAttr("q_num_heads", 0), pairs = n.intAttr("kv_num_heads", 0);
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
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(pairs) || pairs < 1 || heads % pairs != 0)
    return n.error("requires a number of query heads that is a multiple of the others, found " + Twine(heads) +
                   " and " + Twine(pairs));
  if (heads != pairs) {
    // each pair serves several query heads
    auto repeat = [&](Value x) {
      SmallVector<Size> sizes = {n.sizeOf(x, 0), n.fixed(pairs), n.fixed(heads / pairs), n.sizeOf(x, 2),
                                 n.sizeOf(x, 3)};
      Value wide = n.expand(n.unsqueeze(x, {2}), n.shapeTensor(sizes));
      return n.reshapeSizes(wide, {sizes[0], n.fixed(heads), sizes[3], sizes[4]});
    };
    k = repeat(k);
    v = repeat(v);
  }
  int64_t width = n.size(q, 3);
  if (!n.attribute("scale") && ShapedType::isDynamic(width))
    return n.unsupported("a head size known only at run time");
  double scale = n.floatAttr("scale", 1 / std::sqrt(double(width)));
  Type type = n.elem(q);
  // booleans say where to look; a row that may look nowhere is zero
  Value bias, allowed;
  if (mask) {
    SmallVector<int64_t> lead = llvm::to_vector(llvm::seq<int64_t>(0, std::max<int64_t>(4 - n.rank(mask), 0)));
    mask = n.unsqueeze(mask, lead);
    if (n.failed())
      return failure();
    if (n.elem(mask).isInteger(1))
      allowed = mask;
    else
      bias = n.convert(mask, type);
  }
  if (n.intAttr("is_causal", 0)) {
    Value plane = n.spread(n.scalar(type, 0), {n.fixed(1), n.fixed(1), n.sizeOf(q, 2), n.sizeOf(k, 2)});
    Value causal = n.compare(CompareKind::le, n.positions(plane, 3), n.positions(plane, 2));
    allowed = allowed ? n.binary<AndOp>(allowed, causal) : causal;
  }
  if (allowed) {
    Value penalty = n.select(allowed, n.scalar(type, 0), n.scalar(type, type.isF16() ? -65504 : -3.0e38));
    bias = bias ? n.add(bias, penalty) : penalty;
  }
  Value result = n.make<AttentionOp>(q, k, v, bias, scale);
  if (allowed && mask && n.elem(mask).isInteger(1))
    result = n.select(n.reduce(Combiner::logical_or, allowed, {3}, true), result, 0);
  if (rank == 4)
    return n.out(result);
  Value rows = n.transpose(result, {0, 2, 1, 3});
  return n.out(
      n.reshapeSizes(rows, {n.sizeOf(rows, 0), n.sizeOf(rows, 1), n.times(n.fixed(heads), n.sizeOf(rows, 3))}));
}

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
  x = flat ? n.reshapeSizes(x, {original[0], original[1], n.fixed(heads), n.over(original[2], heads)})
           : n.transpose(x, {0, 2, 1, 3});
  int64_t width = n.size(x, 3);
  if (ShapedType::isDynamic(width) || n.rank(x) != 4)
    return n.unsupported("a head size known only at run time");
  rotated = rotated ? rotated : width;
  if (rotated % 2 != 0 || rotated > width)
    return n.error("requires an even rotary_embedding_dim of at most " + Twine(width) + ", found " + Twine(rotated));
  if (positions) {
    cosine = n.gather(cosine, positions, 0);
    sine = n.gather(sine, positions, 0);
  }
  cosine = n.unsqueeze(n.slice(cosine, 2, 0, rotated / 2), {2});
  sine = n.unsqueeze(n.slice(sine, 2, 0, rotated / 2), {2});
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
  if (rest)
    turned = n.concat({turned, rest}, 3);
  return n.out(flat ? n.reshapeSizes(turned, original) : n.transpose(turned, {0, 2, 1, 3}));
}

void registerAttention(Registry &r) {
  r.add("Attention", 23, 3, importAttention);
  r.add("RotaryEmbedding", 23, 3, importRotaryEmbedding);
}

} // namespace sinter::onnx
