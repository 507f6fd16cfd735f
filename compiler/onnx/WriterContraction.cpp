// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and convolutions, out to ONNX.

#include "compiler/onnx/OpExport.h"

using namespace mlir;

namespace sinter::onnx {

/// The type in which ONNX multiplies and adds: the result's, or i32 for shorter integers, whose low bits are the same.
static Type productType(Type result) {
  if (isa<IntegerType>(result) && result.getIntOrFloatBitWidth() < 32)
    return IntegerType::get(result.getContext(), 32);
  return result;
}

static std::string castTo(OpExport &n, Value value, Type element) {
  return n.elem(value) == element ? n.of(value) : n.cast(n.of(value), element);
}

/// True for [batch..., m, k] x [batch..., k, n], and for [..., k] x [k, n].
static bool isMatMul(DotGeneralOp op) {
  int64_t lhs = OpExport::rank(op.getLhs()), rhs = OpExport::rank(op.getRhs());
  int64_t batch = static_cast<int64_t>(op.getLhsBatch().size());
  auto inOrder = [&](ArrayRef<int64_t> axes) { return llvm::equal(axes, llvm::seq<int64_t>(0, batch)); };
  if (op.getLhsContract().size() != 1 || op.getLhsContract()[0] != lhs - 1 || op.getRhsContract()[0] != batch ||
      rhs != batch + 2 || !inOrder(op.getLhsBatch()) || !inOrder(op.getRhsBatch()))
    return false;
  return lhs == batch + 2 || (batch == 0 && lhs > 1);
}

/// `abc,acd->abd`
static std::string equationOf(DotGeneralOp op) {
  std::string lhs(OpExport::rank(op.getLhs()), 0), rhs(OpExport::rank(op.getRhs()), 0), result;
  char next = 'a';
  for (auto [l, r] : llvm::zip(op.getLhsBatch(), op.getRhsBatch()))
    result += lhs[l] = rhs[r] = next++;
  for (auto [l, r] : llvm::zip(op.getLhsContract(), op.getRhsContract()))
    lhs[l] = rhs[r] = next++;
  for (std::string *side : {&lhs, &rhs})
    for (char &letter : *side)
      if (!letter)
        result += letter = next++;
  return lhs + "," + rhs + "->" + result;
}

static LogicalResult writeDotGeneral(DotGeneralOp op, OpExport &n) {
  Type result = n.elem(op.getResult()), type = productType(result);
  std::string lhs = castTo(n, op.getLhs(), type), rhs = castTo(n, op.getRhs(), type), product;
  if (isMatMul(op)) {
    if (type == result)
      return n.out("MatMul", {lhs, rhs});
    product = n.emit("MatMul", {lhs, rhs});
  } else {
    std::string equation = equationOf(op);
    if (type == result)
      return n.out("Einsum", {lhs, rhs}, {{"equation", equation.c_str()}});
    product = n.emit("Einsum", {lhs, rhs}, {{"equation", equation.c_str()}});
  }
  return n.out("Cast", {product}, {{"to", int64_t(onnxType(result))}});
}

/// A convolution whose input is spread by zeros is ONNX's ConvTranspose with the filter turned around.
static LogicalResult writeTransposed(ConvolutionOp op, OpExport &n, std::string input, std::string filter) {
  RankedTensorType type = n.type(op.getFilter());
  int64_t spatial = type.getRank() - 2, groups = op.getGroups();
  if (!type.hasStaticShape())
    return n.reject("ConvTranspose requires a filter of fixed size");
  SmallVector<int64_t> low, high;
  for (int64_t k = 0; k < spatial; ++k) {
    int64_t reach = op.getDilation()[k] * (type.getDimSize(k + 2) - 1);
    low.push_back(reach - op.getLow()[k]);
    high.push_back(reach - op.getHigh()[k]);
    if (op.getStrides()[k] != 1 || low.back() < 0 || high.back() < 0)
      return n.reject("ConvTranspose has no such strides and padding");
  }
  // [O, C / g, ...] -> [C, O / g, ...], backwards along the spatial axes.
  int64_t outputs = type.getDimSize(0), inputs = type.getDimSize(1);
  SmallVector<int64_t> split = {groups, outputs / groups, inputs}, joined = {groups * inputs, outputs / groups},
                       order = {0, 2, 1};
  SmallVector<int64_t> axes, back(spatial, -1), least(spatial, std::numeric_limits<int64_t>::min());
  for (int64_t k = 0; k < spatial; ++k) {
    split.push_back(type.getDimSize(k + 2));
    joined.push_back(type.getDimSize(k + 2));
    order.push_back(k + 3);
    axes.push_back(k + 2);
  }
  filter = n.emit("Transpose", {n.emit("Reshape", {filter, n.ints(split)})}, {{"perm", ArrayRef<int64_t>(order)}});
  filter = n.emit("Reshape", {filter, n.ints(joined)});
  filter = n.emit("Slice", {filter, n.ints(back), n.ints(least), n.ints(axes), n.ints(back)});
  low.append(high);
  return n.out("ConvTranspose", {input, filter},
               {{"strides", op.getInputDilation()},
                {"pads", ArrayRef<int64_t>(low)},
                {"dilations", op.getDilation()},
                {"group", groups}});
}

static LogicalResult writeConvolution(ConvolutionOp op, OpExport &n) {
  Type result = n.elem(op.getResult());
  if (op.getLayout() != ConvLayout::channels_first)
    return n.reject("Conv has its channels first");
  auto isByte = [&](Value value) { return n.elem(value).isInteger(8); };
  bool isInteger = isByte(op.getInput()) && isByte(op.getFilter()) && result.isSignlessInteger(32);
  if (!isa<FloatType>(result) && !isInteger)
    return n.reject("Conv computes floats, or i32 from 8-bit integers");
  std::string input = isInteger ? n.of(op.getInput()) : castTo(n, op.getInput(), result);
  std::string filter = isInteger ? n.of(op.getFilter()) : castTo(n, op.getFilter(), result);
  if (llvm::any_of(op.getInputDilation(), [](int64_t d) { return d != 1; }))
    return isInteger ? n.reject("ConvTranspose computes floats") : writeTransposed(op, n, input, filter);
  SmallVector<int64_t> pads(op.getLow());
  llvm::append_range(pads, op.getHigh());
  if (llvm::any_of(pads, [](int64_t pad) { return pad < 0; })) { // Conv does not cut
    size_t spatial = op.getLow().size();
    SmallVector<int64_t> all(2 * (spatial + 2), 0);
    std::copy(op.getLow().begin(), op.getLow().end(), all.begin() + 2);
    std::copy(op.getHigh().begin(), op.getHigh().end(), all.begin() + spatial + 4);
    input = n.emit("Pad", {input, n.ints(all)});
    pads.assign(pads.size(), 0);
  }
  return n.out(isInteger ? "ConvInteger" : "Conv", {input, filter},
               {{"strides", op.getStrides()},
                {"pads", ArrayRef<int64_t>(pads)},
                {"dilations", op.getDilation()},
                {"group", int64_t(op.getGroups())}});
}

void exportContraction(ExportTable &t) {
  t.add<DotGeneralOp>(writeDotGeneral);
  t.add<ConvolutionOp>(writeConvolution);
  t.addNode<DetOp>("Det");
}

} // namespace sinter::onnx
