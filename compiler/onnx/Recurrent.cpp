// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LSTM, GRU and RNN: one op of the dialect for each direction.

#include "compiler/onnx/Families.h"
#include "compiler/onnx/Windows.h"

using namespace mlir;

namespace sinter::onnx {

namespace {

/// What the three operators share.
struct Cells {
  int64_t hidden = 0;
  int64_t directions = 1;
  bool reverseOnly = false;
  bool batchFirst = false;
  double clip = 0;
  Value x;       // [T, B, I]
  Value lengths; // [B] of i32, or null
  SmallVector<Activation> activations;

  Direction direction(int64_t d) const { return reverseOnly || d == 1 ? Direction::reverse : Direction::forward; }
};

class RecurrentImport {
public:
  RecurrentImport(OpImport &n, int64_t gates) : n(n), gates(gates) {}

  LogicalResult read(unsigned lengthsInput, ArrayRef<Activation> defaults) {
    c.hidden = n.intAttr("hidden_size", 0);
    if (c.hidden <= 0)
      c.hidden = n.size(n.in(2), 2); // [D, gates * H, H]
    if (ShapedType::isDynamic(c.hidden) || n.rank(n.in(0)) != 3 || n.rank(n.in(1)) != 3 || n.rank(n.in(2)) != 3)
      return n.error("requires operands of rank 3 and a hidden_size, found " + printShape(n.dims(n.in(0))) + ", " +
                     printShape(n.dims(n.in(1))) + " and " + printShape(n.dims(n.in(2))));
    StringRef direction = n.stringAttr("direction", "forward");
    c.directions = direction == "bidirectional" ? 2 : 1;
    c.reverseOnly = direction == "reverse";
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return n.error("requires direction forward, reverse or bidirectional, found '" + direction + "'");
    if (c.hidden > kMaxWindow)
      return n.error("requires a hidden_size of at most " + Twine(kMaxWindow) + ", found " + Twine(c.hidden));
    for (unsigned input : {1u, 2u})
      if (n.size(n.in(input), 0) != c.directions || n.size(n.in(input), 1) != gates * c.hidden)
        return n.error("requires weights [" + Twine(c.directions) + ", " + Twine(gates * c.hidden) + ", ...], found " +
                       printShape(n.dims(n.in(input))));
    if (ShapedType::isDynamic(n.size(n.in(2), 2)))
      return n.unsupported("a number of hidden units that is known only at run time");
    if (n.in(3) && (n.rank(n.in(3)) != 2 || n.size(n.in(3), 0) != c.directions))
      return n.error("requires biases [" + Twine(c.directions) + ", ...], found " + printShape(n.dims(n.in(3))));
    c.clip = n.floatAttr("clip", 0);
    c.batchFirst = n.intAttr("layout", 0) != 0;
    c.x = c.batchFirst ? n.transpose(n.in(0), {1, 0, 2}) : n.in(0);
    if (n.in(lengthsInput))
      c.lengths = n.convert(n.in(lengthsInput), n.b.getI32Type());
    return readActivations(defaults);
  }

  /// One direction of a parameter [D, rows...], rows [from, to).
  Value part(Value parameter, int64_t d, int64_t from, int64_t to) {
    Value one = n.squeeze(n.slice(parameter, 0, d, d + 1), {0});
    return n.slice(one, 0, from, to);
  }
  Value weights(unsigned input, int64_t d) { return part(n.in(input), d, 0, gates * c.hidden); }

  /// One direction of an initial state [D, B, H] ([B, D, H] batch first), zeros if it is absent.
  Value state(unsigned input, int64_t d) {
    Value given = n.in(input);
    if (!given)
      return n.spread(n.scalar(n.elem(c.x), 0), {n.sizeOf(c.x, 1), n.fixed(c.hidden)});
    int64_t axis = c.batchFirst ? 1 : 0;
    return n.squeeze(n.slice(given, axis, d, d + 1), {axis});
  }

  /// [T, B, H] of each direction to [T, D, B, H], or [B, T, D, H] batch first.
  LogicalResult outSequence(ArrayRef<Value> parts) {
    SmallVector<Value> stacked;
    for (Value value : parts)
      stacked.push_back(n.unsqueeze(value, {1}));
    Value all = n.concat(stacked, 1);
    return n.out(c.batchFirst ? n.transpose(all, {2, 0, 1, 3}) : all);
  }
  /// [B, H] of each direction to [D, B, H], or [B, D, H] batch first.
  LogicalResult outState(ArrayRef<Value> parts) {
    int64_t axis = c.batchFirst ? 1 : 0;
    SmallVector<Value> stacked;
    for (Value value : parts)
      stacked.push_back(n.unsqueeze(value, {axis}));
    return n.out(n.concat(stacked, axis));
  }

  Cells c;

private:
  LogicalResult readActivations(ArrayRef<Activation> defaults) {
    SmallVector<StringRef> names = n.stringsAttr("activations");
    for (int64_t d = 0; d < c.directions; ++d)
      c.activations.append(defaults.begin(), defaults.end());
    if (names.empty())
      return success();
    if (names.size() != c.activations.size())
      return n.error("requires " + Twine(c.activations.size()) + " activations, found " + Twine(names.size()));
    for (auto [activation, name] : llvm::zip(c.activations, names)) {
      std::string lower = name.lower();
      if (lower == "sigmoid")
        activation = Activation::sigmoid;
      else if (lower == "tanh")
        activation = Activation::tanh;
      else if (lower == "relu")
        activation = Activation::relu;
      else
        return n.unsupported("activation '" + name + "'");
    }
    return success();
  }

  OpImport &n;
  int64_t gates;
};

} // namespace

LogicalResult importLstm(OpImport &n) {
  RecurrentImport r(n, 4);
  if (failed(r.read(4, {Activation::sigmoid, Activation::tanh, Activation::tanh})))
    return failure();
  int64_t h = r.c.hidden;
  SmallVector<Value> all, lastH, lastC;
  for (int64_t d = 0; d < r.c.directions; ++d) {
    Value bias, peephole;
    if (n.in(3))
      bias = n.add(r.part(n.in(3), d, 0, 4 * h), r.part(n.in(3), d, 4 * h, 8 * h));
    if (n.in(7))
      peephole = r.part(n.in(7), d, 0, 3 * h);
    SmallVector<Value> results =
        n.makeAll<LstmOp>(3, r.c.x, r.weights(1, d), r.weights(2, d), bias, r.state(5, d), r.state(6, d), peephole,
                          r.c.lengths, r.c.direction(d), r.c.activations[3 * d], r.c.activations[3 * d + 1],
                          r.c.activations[3 * d + 2], r.c.clip, n.intAttr("input_forget", 0) != 0);
    all.push_back(results[0]);
    lastH.push_back(results[1]);
    lastC.push_back(results[2]);
  }
  (void)r.outSequence(all);
  (void)r.outState(lastH);
  return r.outState(lastC);
}

static LogicalResult importGru(OpImport &n) {
  RecurrentImport r(n, 3);
  if (failed(r.read(4, {Activation::sigmoid, Activation::tanh})))
    return failure();
  int64_t h = r.c.hidden;
  SmallVector<Value> all, last;
  for (int64_t d = 0; d < r.c.directions; ++d) {
    Value inputBias, hiddenBias;
    if (n.in(3)) {
      inputBias = r.part(n.in(3), d, 0, 3 * h);
      hiddenBias = r.part(n.in(3), d, 3 * h, 6 * h);
    }
    SmallVector<Value> results = n.makeAll<GruOp>(
        2, r.c.x, r.weights(1, d), r.weights(2, d), inputBias, hiddenBias, r.state(5, d), r.c.lengths, r.c.direction(d),
        r.c.activations[2 * d], r.c.activations[2 * d + 1], r.c.clip, n.intAttr("linear_before_reset", 0) != 0);
    all.push_back(results[0]);
    last.push_back(results[1]);
  }
  (void)r.outSequence(all);
  return r.outState(last);
}

static LogicalResult importRnn(OpImport &n) {
  RecurrentImport r(n, 1);
  if (failed(r.read(4, {Activation::tanh})))
    return failure();
  int64_t h = r.c.hidden;
  SmallVector<Value> all, last;
  for (int64_t d = 0; d < r.c.directions; ++d) {
    Value bias;
    if (n.in(3))
      bias = n.add(r.part(n.in(3), d, 0, h), r.part(n.in(3), d, h, 2 * h));
    SmallVector<Value> results = n.makeAll<RnnOp>(2, r.c.x, r.weights(1, d), r.weights(2, d), bias, r.state(5, d),
                                                  r.c.lengths, r.c.direction(d), r.c.activations[d], r.c.clip);
    all.push_back(results[0]);
    last.push_back(results[1]);
  }
  (void)r.outSequence(all);
  return r.outState(last);
}

void registerRecurrent(Registry &r) {
  r.add("LSTM", 7, 3, importLstm);
  r.add("GRU", 7, 3, importGru);
  r.add("RNN", 7, 3, importRnn);
}

} // namespace sinter::onnx
