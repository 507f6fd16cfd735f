// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ByteTables.h"
#include "ir/Constants.h"
#include "ir/ElementCost.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/reference/FloatState.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr int64_t kRegisterBytes = 64; // that an instruction permutes

static bool isByte(Value value) { return getElementTypeOrSelf(value).isInteger(8); }

/// One number for all elements.
static std::optional<DenseElementsAttr> splatOf(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat() ? std::optional(dense) : std::nullopt;
}

namespace {
/// The pointwise ops between one value of bytes and another.
struct ByteChain {
  llvm::SmallPtrSet<Operation *, 16> ops;

  /// Whether `value` is computed from `source` and numbers alone.
  bool find(Value value, Value source) {
    if (value == source || splatOf(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !isa<Pointwise>(op) || !isa<Evaluable>(op) || op->getNumResults() != 1)
      return false;
    if (!ops.insert(op).second)
      return true;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return find(operand, source); });
  }

  int64_t cost() const {
    int64_t additions = 0;
    for (Operation *op : ops)
      additions += elementCost(op);
    return additions;
  }
};
} // namespace

/// The bytes nearest to the kernel's inputs that `value` is computed from alone, and the ops between.
static Value findSource(Block &body, Value value, ByteChain &chain) {
  auto isSource = [&](Value source) {
    chain = {};
    return source != value && isByte(source) && chain.find(value, source) && !chain.ops.empty();
  };
  for (BlockArgument argument : body.getArguments())
    if (isSource(argument))
      return argument;
  for (Operation &op : body.without_terminator()) {
    if (&op == value.getDefiningOp())
      break;
    if (op.getNumResults() == 1 && !splatOf(op.getResult(0)) && isSource(op.getResult(0)))
      return op.getResult(0);
  }
  return {};
}

static HostTensor allOf(DenseElementsAttr splat) {
  HostTensor one = *HostTensor::fromAttr(splat.resizeSplat(RankedTensorType::get({1}, splat.getElementType())));
  HostTensor all(splat.getElementType(), {kByteValues});
  for (int64_t i = 0; i < kByteValues; ++i)
    std::memcpy(all.data() + i * one.numBytes(), one.data(), one.numBytes());
  return all;
}

/// Results of the ops of `chain` for every byte.
static std::optional<HostTensor> evaluate(Block &body, const ByteChain &chain, Value source, Value value) {
  HostTensor bytes(getElementTypeOrSelf(source), {kByteValues});
  for (int64_t i = 0; i < kByteValues; ++i)
    bytes.data()[i] = static_cast<char>(i);
  DenseMap<Value, HostTensor> known{{source, bytes}};
  Evaluator evaluator;
  DefaultFloatState floatState;
  for (Operation &op : body.without_terminator()) {
    if (!chain.ops.contains(&op))
      continue;
    SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands()) {
      std::optional<DenseElementsAttr> splat = operand == source ? std::nullopt : splatOf(operand);
      operands.push_back(splat ? allOf(*splat) : known.lookup(operand));
    }
    FailureOr<SmallVector<HostTensor>> results = cast<Evaluable>(op).evaluate(operands, evaluator);
    if (failed(results))
      return std::nullopt;
    known[op.getResult(0)] = results->front();
  }
  return known.lookup(value);
}

/// Tables in registers: an instruction takes 64 bytes from two of 64.
static bool permutesBytes(const Target &target) {
  return target.vectorBytes == kRegisterBytes && llvm::is_contained(llvm::split(target.features, ','), "+avx512vbmi");
}

std::optional<ByteTable> sinter::cpu::byteTableOf(KernelSpec &spec, Value value) {
  constexpr int64_t permutedCost = 8, gatheredCost = 2; // additions: of a vector, of a lane
  ByteChain chain;
  // Loops for other machines than CPUs, which have no triple here, would keep a table for each thread.
  if (spec.target().triple.empty() || !isByte(value) || isa<BlockArgument>(value))
    return std::nullopt;
  // The same for vectors and for what is left of them, so that all elements come from one table.
  const Target &target = spec.target();
  int64_t lookUp = permutesBytes(target) ? permutedCost : gatheredCost * target.lanes(sizeof(float));
  Value source = findSource(spec.body(), value, chain);
  if (!source || chain.cost() <= lookUp)
    return std::nullopt;
  std::optional<HostTensor> results = evaluate(spec.body(), chain, source, value);
  if (!results)
    return std::nullopt;
  ByteTable table{source, {}};
  std::memcpy(table.results.data(), results->data(), kByteValues);
  return table;
}

/// Halves of the table lie in two registers each, and the high bit of a byte says in which half it is.
static Value permute(ImplicitLocOpBuilder &b, const ByteTable &table, Value bytes) {
  constexpr int64_t width = kRegisterBytes;
  auto type = VectorType::get({width}, b.getI8Type());
  int64_t lanes = cast<VectorType>(bytes.getType()).getNumElements();
  SmallVector<int64_t> widened = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  widened.resize(width, vector::ShuffleOp::kPoisonIndex);
  Value all = lanes == width ? bytes : vector::ShuffleOp::create(b, bytes, bytes, widened);
  auto part = [&](int64_t first) -> Value {
    ArrayRef<uint8_t> elements = ArrayRef(table.results).slice(first * width, width);
    return arith::ConstantOp::create(
        b, DenseElementsAttr::getFromRawBuffer(type, ArrayRef(reinterpret_cast<const char *>(elements.data()), width)));
  };
  auto half = [&](int64_t first) {
    return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr("llvm.x86.avx512.vpermi2var.qi.512"),
                                         ValueRange{part(first), all, part(first + 1)})
        .getResult(0);
  };
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, all, zero);
  Value found = arith::SelectOp::create(b, isHigh, half(2), half(0));
  if (lanes == width)
    return found;
  return vector::ShuffleOp::create(b, found, found, llvm::to_vector(llvm::seq<int64_t>(0, lanes)));
}

/// The table as 32-bit words on the stack of the kernel's function, once.
static Value onStack(KernelFunction &fn, const ByteTable &table) {
  constexpr llvm::StringLiteral kTable = "byte_table";
  ImplicitLocOpBuilder &b = fn.b;
  Block &entry = fn.function.getBody().front();
  auto bytes = VectorType::get({kByteValues}, b.getI8Type());
  auto attribute = DenseElementsAttr::getFromRawBuffer(
      bytes, ArrayRef(reinterpret_cast<const char *>(table.results.data()), kByteValues));
  for (auto known : entry.getOps<memref::AllocaOp>())
    if (known->getAttr(kTable) == attribute)
      return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&entry);
  auto memory = memref::AllocaOp::create(b, MemRefType::get({kByteValues}, b.getI32Type()), b.getI64IntegerAttr(64));
  memory->setAttr(kTable, attribute);
  int64_t lanes = fn.spec.target().lanes(sizeof(int32_t));
  auto words = VectorType::get({lanes}, b.getI32Type());
  for (int64_t first = 0; first < kByteValues; first += lanes) {
    SmallVector<int32_t> elements(ArrayRef(table.results).slice(first, lanes));
    Value some = arith::ConstantOp::create(b, DenseElementsAttr::get(words, ArrayRef<int32_t>(elements)));
    vector::StoreOp::create(b, some, memory, ValueRange{arith::ConstantIndexOp::create(b, first)});
  }
  return memory;
}

static Value gather(KernelFunction &fn, const ByteTable &table, Value bytes) {
  ImplicitLocOpBuilder &b = fn.b;
  Value memory = onStack(fn, table);
  auto vector = dyn_cast<VectorType>(bytes.getType());
  if (!vector) {
    Value place = arith::IndexCastUIOp::create(b, b.getIndexType(), bytes);
    return arith::TruncIOp::create(b, bytes.getType(), memref::LoadOp::create(b, memory, ValueRange{place}));
  }
  auto words = vector.clone(b.getI32Type());
  Value all = arith::ConstantOp::create(b, DenseElementsAttr::get(cast<VectorType>(vector.clone(b.getI1Type())), true));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(words)), places = arith::ExtUIOp::create(b, words, bytes);
  Value found = vector::GatherOp::create(b, words, memory, ValueRange{fn.index(0)}, places, all, zero);
  return arith::TruncIOp::create(b, vector, found);
}

Value sinter::cpu::lookUp(KernelFunction &fn, const ByteTable &table, Value bytes) {
  auto vector = dyn_cast<VectorType>(bytes.getType());
  bool fits = vector && vector.getNumElements() <= kRegisterBytes;
  return fits && permutesBytes(fn.spec.target()) ? permute(fn.b, table, bytes) : gather(fn, table, bytes);
}
