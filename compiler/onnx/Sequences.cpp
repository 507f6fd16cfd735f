// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences of tensors. The dialect has none: the import keeps the list of values that a sequence holds, so that how
// many there are, and which of them is asked for, has to be known here. Exporters write such sequences between
// operators that split and join; those that a loop carries, or that enter or leave a model, are not supported.

#include "compiler/onnx/Limits.h"
#include "compiler/onnx/OpImport.h"
#include "ir/Checks.h"

using namespace mlir;

namespace sinter::onnx {

/// Input `i` as a list of values, null after an error.
static const SmallVector<Value> *listOf(OpImport &n, unsigned i) {
  const SmallVector<Value> *list = n.sequence(i);
  if (!list)
    (void)n.unsupported("a sequence that the graph does not make of tensors in one piece");
  return list;
}

/// Input `i`, a place in [low, high], or from the end where it is negative; `otherwise` where the input is left out.
static FailureOr<int64_t> placeOf(OpImport &n, unsigned i, int64_t count, int64_t high, int64_t otherwise) {
  if (!n.in(i))
    return otherwise;
  std::optional<SmallVector<int64_t>> known = n.knownInts(n.in(i));
  if (!known || known->size() != 1)
    return n.unsupported("a place in a sequence that is known only at run time");
  int64_t place = known->front();
  if (place < -count || place > high)
    return n.error("requires a place in [" + Twine(-count) + ", " + Twine(high) + "] of a sequence of " + Twine(count) +
                   ", found " + Twine(place));
  return place < 0 ? place + count : place;
}

static LogicalResult importSequenceAt(OpImport &n) {
  const SmallVector<Value> *list = listOf(n, 0);
  if (!list)
    return failure();
  int64_t count = int64_t(list->size());
  FailureOr<int64_t> place = placeOf(n, 1, count, count - 1, -1);
  if (failed(place))
    return failure();
  return *place < 0 ? n.error("requires a place, found none") : n.out((*list)[*place]);
}

static LogicalResult importSequenceInsert(OpImport &n) {
  const SmallVector<Value> *list = listOf(n, 0);
  if (!list)
    return failure();
  if (!n.in(1))
    return n.error("requires a tensor to insert, found none");
  if (!list->empty() && n.elem(list->front()) != n.elem(n.in(1)))
    return n.error("requires a tensor of the element type of the sequence");
  int64_t count = int64_t(list->size());
  FailureOr<int64_t> place = placeOf(n, 2, count, count, count);
  if (failed(place))
    return failure();
  SmallVector<Value> longer(*list);
  longer.insert(longer.begin() + *place, n.in(1));
  return n.outSequence(longer);
}

static LogicalResult importSequenceErase(OpImport &n) {
  const SmallVector<Value> *list = listOf(n, 0);
  if (!list)
    return failure();
  int64_t count = int64_t(list->size());
  FailureOr<int64_t> place = placeOf(n, 1, count, count - 1, count - 1);
  if (failed(place))
    return failure();
  if (*place < 0)
    return n.error("requires a sequence with a tensor to erase, found none");
  SmallVector<Value> shorter(*list);
  shorter.erase(shorter.begin() + *place);
  return n.outSequence(shorter);
}

static LogicalResult importSequenceConstruct(OpImport &n) {
  for (Value value : n.ins())
    if (!value)
      return n.unsupported("a sequence of other things than tensors");
  return n.outSequence(n.ins());
}

static LogicalResult importConcatFromSequence(OpImport &n) {
  const SmallVector<Value> *list = listOf(n, 0);
  if (!list)
    return failure();
  if (list->empty())
    return n.error("requires a sequence with a tensor, found none");
  bool isNew = n.intAttr("new_axis", 0) != 0;
  int64_t axis = n.axisAttr("axis", 0, n.rank(list->front()) + isNew);
  if (axis < 0)
    return failure();
  SmallVector<Value> parts(*list);
  for (Value &part : parts)
    part = isNew ? n.unsqueeze(part, {axis}) : part;
  return n.out(n.concat(parts, axis));
}

static LogicalResult importSplitToSequence(OpImport &n) {
  Value x = n.in(0);
  int64_t axis = n.axisAttr("axis", 0, n.rank(x));
  if (axis < 0)
    return failure();
  int64_t size = n.size(x, axis);
  std::optional<SmallVector<int64_t>> lengths;
  if (n.in(1) && !(lengths = n.knownInts(n.in(1))))
    return n.unsupported("lengths of parts that are known only at run time");
  bool isEven = !n.in(1) || n.rank(n.in(1)) == 0;
  if (isEven) {
    if (ShapedType::isDynamic(size))
      return n.unsupported("parts of a size known only at run time");
    int64_t length = lengths ? lengths->front() : 1;
    if (length < 1)
      return n.error("requires parts of at least one element, found " + Twine(length));
    if (uint64_t(size / length) > kMaxSequenceValues)
      return n.error("requires at most " + Twine(kMaxSequenceValues) + " parts (kMaxSequenceValues), found " +
                     Twine(size / length));
    lengths.emplace();
    for (int64_t from = 0; from < size; from += length)
      lengths->push_back(std::min(length, size - from));
  }
  int64_t all = 0;
  for (int64_t length : *lengths)
    if (length < 0 || __builtin_add_overflow(all, length, &all))
      return n.error("requires lengths of at least 0, found " + Twine(length));
  if (ShapedType::isDynamic(size)) {
    Value found = n.dim(x, axis), wanted = n.scalarInt(all);
    x = n.make<RequireOp>(n.compare(CompareKind::eq, found, wanted), x, found, wanted,
                          "split_to_sequence got {} elements, requires {} by the lengths of its parts");
  } else if (all != size) {
    return n.error("requires parts that add up to " + Twine(size) + ", found " + Twine(all));
  }
  bool keeps = n.in(1) || n.intAttr("keepdims", 1) != 0;
  SmallVector<Value> parts;
  int64_t from = 0;
  for (int64_t length : *lengths) {
    Value part = n.slice(x, axis, from, from + length);
    parts.push_back(keeps ? part : n.squeeze(part, {axis}));
    from += length;
  }
  return n.outSequence(parts);
}

void registerSequences(Registry &r) {
  r.add("SequenceEmpty", 11, 0, [](OpImport &n) { return n.outSequence({}); });
  r.add("SequenceConstruct", 11, 0, importSequenceConstruct);
  r.add("SequenceInsert", 11, 0, importSequenceInsert);
  r.add("SequenceErase", 11, 0, importSequenceErase);
  r.add("SequenceAt", 11, 0, importSequenceAt);
  r.add("SequenceLength", 11, 0, [](OpImport &n) {
    const SmallVector<Value> *list = listOf(n, 0);
    return list ? n.out(n.scalarInt(int64_t(list->size()))) : failure();
  });
  r.add("SplitToSequence", 11, 1, importSplitToSequence);
  r.add("ConcatFromSequence", 11, 0, importConcatFromSequence);
}

} // namespace sinter::onnx
