// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/WgmmaInstructions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr unsigned kShared = 3; // NVPTX's number of that memory
constexpr llvm::StringLiteral kDynamicName = "dynamic_slabs";

Value WgmmaBuilder::dynamicShared() {
  auto module = t.fn.function->getParentOfType<ModuleOp>();
  auto type = LLVM::LLVMArrayType::get(t.b.getI8Type(), 0);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(module.getBody());
  auto memory = LLVM::GlobalOp::create(t.b, type, /*isConstant=*/false, LLVM::Linkage::External, kDynamicName,
                                       Attribute(), /*alignment=*/kPatternBytes, kShared);
  t.b.setInsertionPointToStart(&t.fn.function.getBody().front());
  return LLVM::AddressOfOp::create(t.b, memory);
}

//===- Inline PTX -------------------------------------------------------------------------------===//

void WgmmaBuilder::inlinePtx(StringRef text, StringRef constraints, ValueRange operands) {
  std::string all = (constraints + (constraints.empty() ? "" : ",") + "~{memory}").str();
  LLVM::InlineAsmOp::create(t.b, TypeRange(), operands, text, all, /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

/// The text names the sums $0, $1, ... and the other operands after them.
SmallVector<Value> WgmmaBuilder::tied(StringRef text, StringRef constraints, ValueRange operands, ValueRange sums) {
  std::string all;
  llvm::raw_string_ostream os(all);
  const Type sum = sums.front().getType();
  for (size_t i = 0; i < sums.size(); ++i)
    os << (sum.isF32() ? "=f," : "=r,");
  os << constraints;
  for (size_t i = 0; i < sums.size(); ++i)
    os << i << ",";
  os << "~{memory}";
  SmallVector<Value> given(operands);
  llvm::append_range(given, sums);
  auto type = LLVM::LLVMStructType::getLiteral(t.b.getContext(), SmallVector<Type>(sums.size(), sum));
  auto made = LLVM::InlineAsmOp::create(t.b, type, given, text, all, /*has_side_effects=*/true,
                                        /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(),
                                        ArrayAttr());
  SmallVector<Value> results;
  for (size_t i = 0; i < sums.size(); ++i)
    results.push_back(LLVM::ExtractValueOp::create(t.b, made.getResult(0), static_cast<int64_t>(i)));
  return results;
}

/// In shared memory, as i32.
Value WgmmaBuilder::address(Value pointer) { return LLVM::PtrToIntOp::create(t.b, t.b.getI32Type(), pointer); }

//===- mbarriers and copies ---------------------------------------------------------------------===//

void WgmmaBuilder::initBarrier(Value barrier, int64_t arrivals) {
  Value count = arith::ConstantIntOp::create(t.b, t.b.getI32Type(), arrivals);
  inlinePtx("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r", {address(barrier), count});
}

void WgmmaBuilder::fenceBarriers() { inlinePtx("fence.mbarrier_init.release.cluster;", "", {}); }

void WgmmaBuilder::fenceForProducts() { inlinePtx("fence.proxy.async.shared::cta;", "", {}); }

void WgmmaBuilder::arriveWhere(Value condition, Value barrier) {
  Value word = arith::ExtUIOp::create(t.b, t.b.getI32Type(), condition);
  inlinePtx("{\n.reg .pred here;\nsetp.ne.b32 here, $1, 0;\n@here mbarrier.arrive.shared::cta.b64 _, [$0];\n}", "r,r",
            {address(barrier), word});
}

void WgmmaBuilder::arriveInClusterWhere(Value condition, Value barrier, Value rank) {
  Value word = arith::ExtUIOp::create(t.b, t.b.getI32Type(), condition);
  inlinePtx("{\n.reg .pred here;\n.reg .b32 there;\nsetp.ne.b32 here, $1, 0;\n"
            "@here mapa.shared::cluster.u32 there, $0, $2;\n"
            "@here mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}",
            "r,r,r", {address(barrier), word, arith::IndexCastOp::create(t.b, t.b.getI32Type(), rank)});
}

Value WgmmaBuilder::rankInCluster() {
  auto read = LLVM::InlineAsmOp::create(t.b, t.b.getI32Type(), ValueRange(), "mov.u32 $0, %cluster_ctarank;", "=r",
                                        /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                        LLVM::AsmDialectAttr(), ArrayAttr());
  return arith::IndexCastUIOp::create(t.b, t.b.getIndexType(), read.getResult(0));
}

void WgmmaBuilder::meetCluster() {
  joinWarp();
  NVVM::ClusterArriveOp::create(t.b, t.b.getUnitAttr());
  NVVM::ClusterWaitOp::create(t.b, t.b.getUnitAttr());
}

void WgmmaBuilder::joinWarp() {
  NVVM::SyncWarpOp::create(t.b, arith::ConstantIntOp::create(t.b, t.b.getI32Type(), -1));
}

void WgmmaBuilder::arriveAndExpect(Value barrier, int64_t bytes) {
  Value count = arith::ConstantIntOp::create(t.b, t.b.getI32Type(), bytes);
  inlinePtx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r", {address(barrier), count});
}

void WgmmaBuilder::wait(Value barrier, Value parity, bool ofCluster) {
  StringRef order = ofCluster ? ".acquire.cluster" : "";
  inlinePtx(("{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity" + order +
             ".shared::cta.b64 done, [$0], $1;\n@done bra DONE;\nbra WAIT;\nDONE:\n}")
                .str(),
            "r,r", {address(barrier), parity});
}

void WgmmaBuilder::copyBox(Value map, ArrayRef<Value> coordinates, Value to, Value barrier, int64_t blocks) {
  SmallVector<Value> operands = {address(to), LLVM::PtrToIntOp::create(t.b, t.b.getI64Type(), map), address(barrier)};
  std::string text, constraints = "r,l,r";
  llvm::raw_string_ostream os(text);
  os << "cp.async.bulk.tensor." << coordinates.size() << "d.shared::cluster.global.mbarrier::complete_tx::bytes"
     << (blocks > 1 ? ".multicast::cluster" : "") << " [$0], [$1, {";
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    operands.push_back(arith::IndexCastOp::create(t.b, t.b.getI32Type(), coordinate));
    constraints += ",r";
    os << (i ? ", $" : "$") << i + 3;
  }
  os << "}], [$2]";
  if (blocks > 1) {
    os << ", $" << operands.size();
    operands.push_back(arith::ConstantIntOp::create(t.b, t.b.getI16Type(), (1 << blocks) - 1));
    constraints += ",h";
  }
  os << ";";
  inlinePtx(text, constraints, operands);
}

void WgmmaBuilder::storeBoxWhere(Value condition, Value map, ArrayRef<Value> coordinates, Value from) {
  Value word = arith::ExtUIOp::create(t.b, t.b.getI32Type(), condition);
  SmallVector<Value> operands = {word, LLVM::PtrToIntOp::create(t.b, t.b.getI64Type(), map), address(from)};
  std::string text, constraints = "r,l,r";
  llvm::raw_string_ostream os(text);
  os << "{\n.reg .pred here;\nsetp.ne.b32 here, $0, 0;\n@here cp.async.bulk.tensor." << coordinates.size()
     << "d.global.shared::cta.bulk_group [$1, {";
  for (auto [i, coordinate] : llvm::enumerate(coordinates)) {
    operands.push_back(arith::IndexCastOp::create(t.b, t.b.getI32Type(), coordinate));
    constraints += ",r";
    os << (i ? ", $" : "$") << i + 3;
  }
  os << "}], [$2];\n@here cp.async.bulk.commit_group;\n}";
  inlinePtx(text, constraints, operands);
}

void WgmmaBuilder::waitForBoxes(int64_t underWay) {
  inlinePtx("cp.async.bulk.wait_group.read " + std::to_string(underWay) + ";", "", {});
}

void WgmmaBuilder::setRegisters(int64_t count, bool isLess) {
  NVVM::SetMaxRegisterOp::create(t.b, static_cast<uint32_t>(count),
                                 isLess ? NVVM::SetMaxRegisterAction::decrease : NVVM::SetMaxRegisterAction::increase);
}

//===- wgmma ------------------------------------------------------------------------------------===//

/// PTX ISA, "Matrix Descriptor Format": address, distance of 64 free positions where these lie side by side (else not
/// looked at), distance of eight rows, swizzle of 128 bytes. Distances and addresses are in 16 bytes.
Value WgmmaBuilder::descriptor(const Operand &operand) {
  constexpr uint64_t stride = kPatternBytes / 16, mode = uint64_t(1) << 62;
  uint64_t leading = operand.kInner ? 1 : 64 * kSwizzleBytes / 16;
  Type i64 = t.b.getI64Type();
  auto constant = [&](uint64_t value) -> Value {
    return arith::ConstantOp::create(t.b, IntegerAttr::get(i64, static_cast<int64_t>(value)));
  };
  Value at = arith::ExtUIOp::create(t.b, i64, address(operand.slab));
  at = arith::ShRUIOp::create(t.b, arith::AndIOp::create(t.b, at, constant(0x3ffff)), constant(4));
  return arith::OrIOp::create(t.b, at, constant(leading << 16 | stride << 32 | mode));
}

bool cuda::mixesSigns(StringRef ptx) {
  return ptx.contains("wgmma.mma_async") && (ptx.contains(".s32.u8.s8") || ptx.contains(".s32.s8.u8"));
}

static StringRef nameOf(Type element) {
  if (element.isInteger())
    return element.isUnsignedInteger() ? "u8" : "s8";
  return element.isF16() ? "f16" : element.isBF16() ? "bf16" : isa<Float8E4M3FNType>(element) ? "e4m3" : "e5m2";
}

SmallVector<Value> WgmmaBuilder::multiply(std::array<Type, 2> elements, Operand a, Operand b, int64_t columns,
                                          ValueRange sums) {
  size_t count = sums.size();
  std::string text, results;
  for (size_t i = 0; i < count; ++i)
    results += (i ? ", $" : "$") + std::to_string(i);
  llvm::raw_string_ostream os(text);
  const int64_t width = elements[0].getIntOrFloatBitWidth() / 8;
  // What follows the operands: whether sums are added to; signs of floats; turns of 16 bits, as of these alone k may
  // lie outside.
  std::string flags = elements[0].isInteger() ? "1" : "1, 1, 1";
  if (width > 1)
    flags += ", " + std::to_string(int(!a.kInner)) + ", " + std::to_string(int(!b.kInner));
  // From 32 bytes of k to the next, in units of 16 bytes.
  int64_t stepA = a.kInner ? 2 : kSwizzleBytes, stepB = b.kInner ? 2 : kSwizzleBytes;
  os << "{\n.reg .b64 a, b;\nwgmma.fence.sync.aligned;\n";
  for (int64_t step = 0; step < 4; ++step)
    os << "add.s64 a, $" << count << ", " << step * stepA << ";\nadd.s64 b, $" << count + 1 << ", " << step * stepB
       << ";\nwgmma.mma_async.sync.aligned.m64n" << columns << "k" << 32 / width
       << (elements[0].isInteger() ? ".s32." : ".f32.") << nameOf(elements[0]) << "." << nameOf(elements[1]) << " {"
       << results << "}, a, b, " << flags << ";\n";
  os << "wgmma.commit_group.sync.aligned;\n}";
  return tied(text, "l,l,", {descriptor(a), descriptor(b)}, sums);
}

SmallVector<Value> WgmmaBuilder::settle(ValueRange sums, int64_t underWay) {
  return tied("wgmma.wait_group.sync.aligned " + std::to_string(underWay) + ";", "", {}, sums);
}

SmallVector<Value> WgmmaBuilder::multiplyHeld(Type element, ValueRange held, Operand b, int64_t columns,
                                              ValueRange sums) {
  size_t count = sums.size();
  std::string text, results, constraints;
  for (size_t i = 0; i < count; ++i)
    results += (i ? ", $" : "$") + std::to_string(i);
  SmallVector<Value> operands;
  for (size_t i = 0; i < held.size(); i += 2) {
    operands.push_back(LLVM::BitcastOp::create(t.b, t.b.getI32Type(), t.pack(element, held[i], held[i + 1])));
    constraints += "r,";
  }
  operands.push_back(descriptor(b));
  StringRef type = element.isF16() ? "f16" : "bf16";
  int64_t stepB = b.kInner ? 2 : kSwizzleBytes; // as above
  llvm::raw_string_ostream os(text);
  os << "{\n.reg .b64 b;\nwgmma.fence.sync.aligned;\n";
  for (size_t step = 0; step < 4; ++step) {
    os << "add.s64 b, $" << count + 16 << ", " << static_cast<int64_t>(step) * stepB
       << ";\nwgmma.mma_async.sync.aligned.m64n" << columns << "k16.f32." << type << "." << type << " {" << results
       << "}, {";
    for (size_t i = 0; i < 4; ++i)
      os << (i ? ", $" : "$") << count + step * 4 + i;
    os << "}, b, 1, 1, 1, " << !b.kInner << ";\n";
  }
  os << "wgmma.commit_group.sync.aligned;\n}";
  return tied(text, constraints + "l,", operands, sums);
}
