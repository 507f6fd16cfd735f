// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products and sums over shared axes.

#include "compiler/onnx/Families.h"
#include "ir/Checks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sinter::onnx {

static LogicalResult importMatMul(OpImport &n) { return n.out(n.matmul(n.in(0), n.in(1), n.elem(n.in(0)))); }

Value gemm(OpImport &n) {
  Value a = n.in(0), b = n.in(1), c = n.in(2);
  if (n.rank(a) != 2 || n.rank(b) != 2) {
    (void)n.error("requires matrices, found " + printShape(n.dims(a)) + " and " + printShape(n.dims(b)));
    return {};
  }
  int64_t contractA = n.intAttr("transA", 0) ? 0 : 1, contractB = n.intAttr("transB", 0) ? 1 : 0;
  double alpha = n.floatAttr("alpha", 1), beta = n.floatAttr("beta", 1);
  bool hasTerm = c && beta != 0;
  // What is scaled or added to is rounded once: A B may be infinite in f16 where alpha A B is not.
  Type type = alpha != 1 || hasTerm ? n.sumType(a) : n.elem(a);
  Value result = n.make<DotGeneralOp>(a, b, ArrayRef<int64_t>(), ArrayRef<int64_t>(), ArrayRef<int64_t>{contractA},
                                      ArrayRef<int64_t>{contractB}, type);
  if (alpha != 1)
    result = n.mul(result, alpha);
  if (hasTerm) {
    c = n.convert(c, type);
    result = n.add(result, beta == 1 ? c : n.mul(c, beta));
  }
  return n.convert(result, n.elem(a));
}

static LogicalResult importGemm(OpImport &n) { return n.out(gemm(n)); }

static LogicalResult importDet(OpImport &n) { return n.out(n.make<DetOp>(n.in(0))); }

//===--- einsum -------------------------------------------------------------------------------------------------===//

namespace {

/// A value and the label of each of its axes. Labels are letters; the axes of `...` are 256 and up, counted from the
/// right.
struct Labelled {
  Value value;
  SmallVector<int> labels;
};

class Einsum {
public:
  explicit Einsum(OpImport &n) : n(n) {}

  LogicalResult run(StringRef equation) {
    std::string compact;
    for (char c : equation)
      if (c != ' ')
        compact += c;
    auto [left, right] = StringRef(compact).split("->");
    bool isExplicit = StringRef(compact).contains("->");
    SmallVector<StringRef> terms;
    left.split(terms, ',');
    if (terms.size() != n.numInputs())
      return n.error("requires one term an input, found equation '" + equation + "'");
    for (auto [term, value] : llvm::zip(terms, n.ins())) {
      FailureOr<SmallVector<int>> labels = parse(term, n.rank(value));
      if (failed(labels))
        return failure();
      if (int64_t(labels->size()) != n.rank(value))
        return n.error("requires a term of " + Twine(n.rank(value)) + " labels, found '" + term + "'");
      operands.push_back({value, *labels});
    }
    SmallVector<int> output;
    if (isExplicit) {
      FailureOr<SmallVector<int>> labels = parse(right, -1);
      if (failed(labels))
        return failure();
      output = *labels;
    } else {
      // the labels of `...`, then those that occur once, in order
      for (int label = 255 + ellipsis; label >= 256; --label)
        output.push_back(label);
      for (int label = 0; label < 256; ++label)
        if (occurrences(label) == 1)
          output.push_back(label);
    }
    for (int label : output)
      if (occurrences(label) == 0 || llvm::count(output, label) > 1)
        return n.error("requires output labels that occur in an input, each once, found equation '" + equation + "'");
    return contract(output);
  }

private:
  FailureOr<SmallVector<int>> parse(StringRef term, int64_t rank) {
    SmallVector<int> labels;
    int64_t letters = int64_t(llvm::count_if(term, [](char c) { return c != '.'; }));
    for (size_t k = 0; k < term.size(); ++k) {
      if (term.substr(k).starts_with("...")) {
        int64_t width = rank < 0 ? ellipsis : rank - letters;
        ellipsis = std::max(ellipsis, int(std::max<int64_t>(width, 0)));
        for (int64_t place = width; place-- > 0;)
          labels.push_back(256 + int(place));
        k += 2;
      } else if (llvm::isAlpha(term[k])) {
        labels.push_back(term[k]);
      } else {
        return n.error("requires labels that are letters, found '" + term + "'");
      }
    }
    return labels;
  }

  int64_t occurrences(int label) const {
    int64_t total = 0;
    for (const Labelled &operand : operands)
      total += llvm::count(operand.labels, label);
    return total;
  }

  static void drop(Labelled &operand, size_t axis) { operand.labels.erase(operand.labels.begin() + axis); }

  /// Makes `value` one whose axes have one size.
  void requireSquare(Value &value, int64_t axis, int64_t other) {
    int64_t a = n.size(value, axis), b = n.size(value, other);
    if (n.failed() || (a == b && (!ShapedType::isDynamic(a) || areEqual(value, axis, value, other))))
      return;
    if (!ShapedType::isDynamic(a) && !ShapedType::isDynamic(b)) {
      (void)n.error("requires one size of axes with one label, found " + Twine(a) + " and " + Twine(b));
      return;
    }
    Value found = n.dim(value, other), wanted = n.dim(value, axis);
    value = n.make<RequireOp>(n.compare(CompareKind::eq, found, wanted), value, found, wanted,
                              "einsum got {} elements along an axis, requires {} as along another with its label");
  }

  /// Makes labels that occur twice in one operand occur once.
  void takeDiagonals(Labelled &operand) {
    for (size_t axis = 0; axis < operand.labels.size() && !n.failed(); ++axis) {
      for (size_t other = axis + 1; other < operand.labels.size(); ++other) {
        if (operand.labels[axis] != operand.labels[other])
          continue;
        requireSquare(operand.value, int64_t(axis), int64_t(other));
        Value onDiagonal = n.compare(CompareKind::eq, n.positions(operand.value, int64_t(axis)),
                                     n.positions(operand.value, int64_t(other)));
        operand.value = n.reduce(Combiner::add, n.select(onDiagonal, operand.value, 0), {int64_t(other)}, false);
        drop(operand, other);
        --other;
      }
    }
  }

  /// Sums over labels that nothing else needs.
  void sumOut(Labelled &operand, llvm::function_ref<bool(int)> isNeeded) {
    SmallVector<int64_t> axes;
    SmallVector<int> kept;
    for (auto [axis, label] : llvm::enumerate(operand.labels)) {
      if (isNeeded(label))
        kept.push_back(label);
      else
        axes.push_back(int64_t(axis));
    }
    operand.value = n.reduce(Combiner::add, operand.value, axes, false);
    operand.labels = kept;
  }

  /// Drops shared axes of size 1 whose partner is larger: they broadcast.
  void dropOnes(Labelled &operand, const Labelled &other) {
    for (size_t axis = 0; axis < operand.labels.size(); ++axis) {
      const int *place = llvm::find(other.labels, operand.labels[axis]);
      if (place == other.labels.end() || n.size(operand.value, int64_t(axis)) != 1 ||
          n.size(other.value, place - other.labels.begin()) == 1)
        continue;
      operand.value = n.squeeze(operand.value, {int64_t(axis)});
      drop(operand, axis--);
    }
  }

  /// Repeats what is one element of `operand` at run time along shared axes as often as `other` says, where their sizes
  /// are not surely equal.
  Value stretched(const Labelled &operand, const Labelled &other) {
    if (n.failed())
      return {};
    SmallVector<int64_t> sizes(n.dims(operand.value));
    SmallVector<Size> shape;
    bool changes = false;
    for (auto [axis, label] : llvm::enumerate(operand.labels)) {
      shape.push_back(n.sizeOf(operand.value, int64_t(axis)));
      const int *place = llvm::find(other.labels, label);
      if (place == other.labels.end() || shape.back().isKnown())
        continue;
      int64_t theirAxis = place - other.labels.begin();
      Size theirs = n.sizeOf(other.value, theirAxis);
      if (!theirs.isKnown() && areEqual(operand.value, int64_t(axis), other.value, theirAxis))
        continue;
      changes = true;
      sizes[axis] = theirs.known;
      if (theirs.isKnown()) // not 1, or that operand has no such axis
        shape.back() = theirs;
      else
        shape.back().tensor =
            n.select(n.compare(CompareKind::eq, shape.back().tensor, 1), theirs.tensor, shape.back().tensor);
    }
    if (!changes || n.failed())
      return operand.value;
    auto type = RankedTensorType::get(sizes, n.elem(operand.value));
    return n.make<BroadcastOp>(operand.value, type.hasStaticShape() ? Value() : n.shapeTensor(shape), ValueRange(),
                               n.allAxes(operand.value), type);
  }

  bool areEqual(Value a, int64_t axis, Value b, int64_t other) {
    DimExpr one = n.symbolicSizes(a)[axis], two = n.symbolicSizes(b)[other];
    return one && one == two;
  }

  LogicalResult contract(ArrayRef<int> output) {
    for (Labelled &operand : operands)
      takeDiagonals(operand);
    while (operands.size() > 1 && !n.failed()) {
      Labelled lhs = operands[0], rhs = operands[1];
      operands.erase(operands.begin(), operands.begin() + 2);
      auto isNeeded = [&](int label) { return llvm::is_contained(output, label) || occurrences(label) > 0; };
      sumOut(lhs, [&](int label) { return isNeeded(label) || llvm::is_contained(rhs.labels, label); });
      sumOut(rhs, [&](int label) { return isNeeded(label) || llvm::is_contained(lhs.labels, label); });
      dropOnes(lhs, rhs);
      dropOnes(rhs, lhs);
      Value left = stretched(lhs, rhs);
      rhs.value = stretched(rhs, lhs);
      lhs.value = left;
      SmallVector<int64_t> lhsBatch, rhsBatch, lhsContract, rhsContract;
      SmallVector<int> labels, lhsFree, rhsFree;
      for (auto [axis, label] : llvm::enumerate(lhs.labels)) {
        const int *place = llvm::find(rhs.labels, label);
        if (place == rhs.labels.end()) {
          lhsFree.push_back(label);
        } else if (isNeeded(label)) {
          labels.push_back(label);
          lhsBatch.push_back(int64_t(axis));
          rhsBatch.push_back(place - rhs.labels.begin());
        } else {
          lhsContract.push_back(int64_t(axis));
          rhsContract.push_back(place - rhs.labels.begin());
        }
      }
      for (int label : rhs.labels)
        if (!llvm::is_contained(lhs.labels, label))
          rhsFree.push_back(label);
      labels.append(lhsFree);
      labels.append(rhsFree);
      Value product =
          n.make<DotGeneralOp>(lhs.value, rhs.value, lhsBatch, rhsBatch, lhsContract, rhsContract, n.elem(lhs.value));
      operands.insert(operands.begin(), {product, labels});
    }
    Labelled &last = operands.front();
    sumOut(last, [&](int label) { return llvm::is_contained(output, label); });
    SmallVector<int64_t> permutation;
    for (int label : output) {
      const int *place = llvm::find(last.labels, label);
      if (place == last.labels.end())
        return n.error("requires output labels that occur in an input");
      permutation.push_back(place - last.labels.begin());
    }
    return n.out(n.transpose(last.value, permutation));
  }

  OpImport &n;
  SmallVector<Labelled> operands;
  int ellipsis = 0;
};

} // namespace

static LogicalResult importEinsum(OpImport &n) { return Einsum(n).run(n.stringAttr("equation", "")); }

void registerContraction(Registry &r) {
  r.add("MatMul", 1, 2, importMatMul);
  r.add("Gemm", 1, 2, importGemm);
  r.add("Einsum", 12, 1, importEinsum);
  r.add("Det", 11, 1, importDet);
}

} // namespace sinter::onnx
