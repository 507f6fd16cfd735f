// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wgmma: four warps multiply 64 rows, each of them 16, by operands in shared memory that descriptors name (or a in
// registers), by the asynchronous proxy. A result is there when its group has been waited for: until then its registers
// may be neither read nor written, nor what it reads in shared memory overwritten.
#include "Families.h"
#include "Numbers.h"
#include "TensorMap.h"

#include <bit>
#include <cstring>

namespace sinter::ptx {

namespace {
enum class Element : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8 };
struct Wgmma {
  unsigned n = 8, k = 16;
  Element a, b;
  unsigned bytes = 2; // of an element
  bool aInRegisters = false, halfD = false, saturate = false;
  bool turnsA = false, turnsB = false; // free positions lie side by side, not k
  bool negatesA = false, negatesB = false;
  unsigned outs = 0, scale = 0, descriptorA = 0, descriptorB = 0; // numbers of results and operands
  bool isInteger() const { return a == Element::S8 || a == Element::U8; }
};

// What a descriptor says (PTX ISA, "Matrix Descriptor Format").
struct Descriptor {
  uint64_t start, leading, stride;
  Swizzle swizzle;
};
} // namespace

static Descriptor descriptorOf(Warp &w, const Inst &i, unsigned operand) {
  const auto *all = w.in<uint64_t>(i, operand);
  const uint64_t bits = all[0];
  for (unsigned lane = 1; lane < 32; ++lane)
    if (all[lane] != bits)
      w.fault(FaultKind::Invalid, i, lane, "its descriptor differs from lane 0's");
  static const Swizzle modes[] = {Swizzle::None, Swizzle::Bytes128, Swizzle::Bytes64, Swizzle::Bytes32};
  if (bits >> 49 & 7)
    w.fault(FaultKind::Invalid, i, 0, "base offsets of descriptors are not supported by this machine");
  auto field = [&](unsigned at) { return (bits >> at & 0x3fff) << 4; };
  return {field(0), field(16), field(32), modes[bits >> 62]};
}

// Where 16 bytes of an operand lie: with k side by side, chunk `chunk` of k at free position `at`; else chunk `chunk`
// of free positions at k `at`. Rows are 16, 32, 64 or 128 bytes as the swizzle says, eight of them make a pattern.
static uint64_t chunkAddress(const Descriptor &d, bool turned, unsigned at, unsigned chunk) {
  const unsigned perRow = 1u << unsigned(d.swizzle);
  uint64_t offset = at % 8 * 16 * perRow;
  if (d.swizzle == Swizzle::None)
    offset += turned ? at / 8 * d.leading + chunk * d.stride : at / 8 * d.stride + chunk * d.leading;
  else if (turned)
    offset += at / 8 * d.stride + chunk % perRow * 16 + chunk / perRow * d.leading;
  else
    offset += at / 8 * d.stride + chunk * 16;
  return swizzled(d.start + offset, d.swizzle);
}

static double valueOf(Element e, const uint8_t *at) {
  uint16_t half;
  uint32_t word;
  switch (e) {
  case Element::F16:
    std::memcpy(&half, at, 2);
    return halfToFloat(half);
  case Element::BF16:
    std::memcpy(&half, at, 2);
    return bhalfToFloat(half);
  case Element::TF32:
    std::memcpy(&word, at, 4);
    return std::bit_cast<float>(word & 0xffffe000);
  case Element::E4M3:
    return decode(*at, kE4M3);
  case Element::E5M2:
    return decode(*at, kE5M2);
  case Element::S8:
    return int8_t(*at);
  default:
    return *at;
  }
}

namespace {
// Operands as numbers: a[16][k], b[k][n].
struct Operands {
  double a[16][32], b[32][256];
  std::vector<uint32_t> reads;
};
} // namespace

// Calls put(free position, k, value) for all of an operand from free position `from` on.
template <class F>
static void readShared(Warp &w, const Inst &i, const Wgmma &op, unsigned operand, Element e, bool turned, unsigned from,
                       unsigned count, std::vector<uint32_t> &reads, F put) {
  const Descriptor d = descriptorOf(w, i, operand);
  const unsigned perChunk = 16 / op.bytes, rows = turned ? op.k : count, chunks = (turned ? count : op.k) / perChunk;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      const unsigned at = turned ? row : from + row, inner = turned ? from / perChunk + chunk : chunk;
      const uint8_t *data = w.readAsync(i, 0, Space::Shared, chunkAddress(d, turned, at, inner), 16);
      reads.push_back(uint32_t(data - w.block.shared.get()) / 16);
      for (unsigned n = 0; n < perChunk; ++n) {
        const double value = valueOf(e, data + n * op.bytes);
        if (turned)
          put(chunk * perChunk + n, row, value);
        else
          put(row, chunk * perChunk + n, value);
      }
    }
}

// a as the fragments of mma.m16n8k16 (m16n8k8 of tf32, m16n8k32 of bytes): register r of lane l has row l / 4, + 8 for
// odd r, and elements of k that begin at 4 bytes * (l % 4), + 16 bytes for r of 2 and 3.
static void readRegisters(Warp &w, const Inst &i, const Wgmma &op, Operands &all) {
  const unsigned per = 4 / op.bytes;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 4; ++r) {
      uint8_t data[4];
      std::memcpy(data, w.in<uint32_t>(i, op.descriptorA + r) + lane, 4);
      for (unsigned n = 0; n < per; ++n)
        all.a[lane / 4 + r % 2 * 8][(lane % 4 + r / 2 * 4) * per + n] = valueOf(op.a, data + n * op.bytes);
    }
}

// Result e of a lane lies in row l / 4, + 8 for each second pair, and column 8 (e / 4) + 2 (l % 4) + e % 2.
static void multiply(Warp &w, const Inst &i, const Wgmma &op, const Operands &all) {
  const bool adds = predicate(w, i, op.scale) & 1;
  const double sign = op.negatesA != op.negatesB ? -1 : 1;
  double sums[16][256];
  auto place = [&](unsigned lane, unsigned e) -> double & {
    return sums[lane / 4 + e / 2 % 2 * 8][e / 4 * 8 + lane % 4 * 2 + e % 2];
  };
  const unsigned perLane = op.n / 2;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < perLane; ++e) {
      double &sum = place(lane, e);
      if (!adds)
        sum = 0;
      else if (op.halfD)
        sum = halfToFloat(uint16_t(w.out<uint32_t>(i, e / 2)[lane] >> (e % 2 * 16)));
      else if (op.isInteger())
        sum = w.out<int32_t>(i, e)[lane];
      else
        sum = w.out<float>(i, e)[lane];
    }
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned k = 0; k < op.k; ++k) {
      const double x = sign * all.a[r][k];
      for (unsigned n = 0; n < op.n; ++n)
        sums[r][n] += x * all.b[k][n];
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < perLane; ++e) {
      const double sum = place(lane, e);
      if (op.halfD) {
        const uint16_t h = uint16_t(encode(sum, kF16));
        std::memcpy(reinterpret_cast<uint8_t *>(w.out<uint32_t>(i, e / 2) + lane) + e % 2 * 2, &h, 2);
      } else if (op.isInteger()) {
        const auto whole = int64_t(sum);
        w.out<int32_t>(i, e)[lane] =
            op.saturate ? int32_t(std::clamp<int64_t>(whole, INT32_MIN, INT32_MAX)) : int32_t(whole);
      } else
        w.out<float>(i, e)[lane] = canonical(float(sum));
    }
}

// Calls visit(product) for all that are under way.
template <class F> static void forProducts(const Products &products, F visit) {
  for (const auto &group : products.groups)
    for (const Products::One &one : group)
      visit(one);
  for (const Products::One &one : products.open)
    visit(one);
}

// The rules of registers: written ones need a wgmma.fence before, and those of another product under way must be its
// accumulators, of the same shape.
static void checkRegisters(Warp &w, const Inst &i, const Wgmma &op) {
  Frame &frame = *w.frame;
  if (!w.products.fences)
    w.fault(FaultKind::Race, i, 0, "no wgmma.fence came before the first wgmma.mma_async");
  auto name = [&](unsigned reg) { return "register " + frame.code->function->registers[reg].name; };
  auto check = [&](unsigned reg) {
    if (frame.changed[reg] == w.products.fences)
      w.fault(FaultKind::Race, i, 0, name(reg) + " was written after the last wgmma.fence");
  };
  for (unsigned n = 0; n < op.outs; ++n) {
    const uint32_t reg = i.refs[n].reg;
    if ((predicate(w, i, op.scale) & 1) && frame.written[reg] != ~0u)
      w.fault(FaultKind::UninitializedRegister, i, 0, name(reg) + " was never written");
    if (frame.written[reg])
      check(reg);
  }
  for (unsigned n = 0; op.aInRegisters && n < 4; ++n)
    if (i.refs[i.outs + op.descriptorA + n].reg != kConstant)
      check(i.refs[i.outs + op.descriptorA + n].reg);
  forProducts(w.products, [&](const Products::One &other) {
    const auto &that = *static_cast<const Wgmma *>(other.inst->extra);
    if (other.frame != &frame || (that.n == op.n && that.halfD == op.halfD && that.k == op.k))
      return;
    for (unsigned n = 0; n < op.outs; ++n)
      for (unsigned m = 0; m < that.outs; ++m)
        if (i.refs[n].reg == other.inst->refs[m].reg)
          w.fault(FaultKind::Race, i, 0, name(i.refs[n].reg) + " belongs to a product of another shape under way");
  });
}

// All four warps run the same ones in the same order.
static void checkGroup(Warp &w, const Inst &i) {
  if (w.index / 4 * 4 + 4 > w.launch.warpsPerBlock)
    w.fault(FaultKind::Invalid, i, 0, "a warpgroup has four warps");
  auto &orders = w.block.productOrders;
  orders.resize((w.launch.warpsPerBlock + 3) / 4);
  auto &order = orders[w.index / 4];
  if (w.products.issued == order.size())
    order.push_back(&i);
  else if (order[w.products.issued] != &i)
    w.fault(FaultKind::Invalid, i, 0,
            "another warp of the warpgroup runs line " + std::to_string(order[w.products.issued]->line) + " instead");
  ++w.products.issued;
}

static void demandAll(Warp &w, const Inst &i, Mask m) {
  if (m != ~0u)
    w.fault(FaultKind::Invalid, i, unsigned(std::countr_zero(~m)),
            "all 32 lanes of the warp must run this instruction together");
}

static void mma(Warp &w, const Inst &i, Mask m) {
  demandAll(w, i, m);
  const Wgmma &op = *static_cast<const Wgmma *>(i.extra);
  checkGroup(w, i);
  checkRegisters(w, i, op);
  Operands all;
  if (op.aInRegisters)
    readRegisters(w, i, op, all);
  else
    readShared(w, i, op, op.descriptorA, op.a, op.turnsA, w.index % 4 * 16, 16, all.reads,
               [&](unsigned at, unsigned k, double value) { all.a[at][k] = value; });
  readShared(w, i, op, op.descriptorB, op.b, op.turnsB, 0, op.n, all.reads,
             [&](unsigned at, unsigned k, double value) { all.b[k][at] = value; });
  multiply(w, i, op, all);
  Block &block = w.block;
  block.productReaders.resize(block.sharedBytes / 16 + 1);
  for (uint32_t chunk : all.reads)
    ++block.productReaders[chunk];
  ++block.productsUnderWay;
  w.products.open.push_back({&i, w.frame, std::move(all.reads)});
}

static void commit(Warp &w, const Inst &i, Mask m) {
  demandAll(w, i, m);
  w.products.groups.push_back(std::move(w.products.open));
  w.products.open.clear();
}

static void wait(Warp &w, const Inst &i, Mask m) {
  demandAll(w, i, m);
  while (w.products.groups.size() > i.imm) {
    for (const Products::One &one : w.products.groups.front()) {
      for (uint32_t chunk : one.reads)
        --w.block.productReaders[chunk];
      --w.block.productsUnderWay;
    }
    w.products.groups.erase(w.products.groups.begin());
  }
}

static void fence(Warp &w, const Inst &i, Mask m) {
  demandAll(w, i, m);
  ++w.products.fences;
}

void Warp::checkProductRegisters(const Inst &i, Mask m) {
  forProducts(products, [&](const Products::One &one) {
    if (one.frame != frame)
      return;
    const auto &op = *static_cast<const Wgmma *>(one.inst->extra);
    auto tell = [&](uint32_t reg, const char *what) {
      fault(FaultKind::Race, i, unsigned(std::countr_zero(m)),
            "register " + frame->code->function->registers[reg].name + " is " + what + " wgmma.mma_async of line " +
                std::to_string(one.inst->line) + ", which was not waited for");
    };
    for (unsigned n = 0; n < unsigned(i.outs + i.ins); ++n) {
      const uint32_t reg = i.refs[n].reg;
      for (unsigned k = 0; k < op.outs; ++k)
        if (reg == one.inst->refs[k].reg)
          tell(reg, "a result of");
      for (unsigned k = 0; n < i.outs && op.aInRegisters && k < 4; ++k)
        if (reg == one.inst->refs[op.outs + op.descriptorA + k].reg)
          tell(reg, "an operand of");
    }
  });
}

void Warp::checkProducts(const Inst &i, unsigned lane, const Place &place, unsigned bytes) {
  const Block &block = *place.owner;
  const auto first = place.sharedOffset() / 16, last = first + (bytes - 1) / 16;
  for (uint32_t chunk = first; chunk <= last && chunk < block.productReaders.size(); ++chunk) {
    if (!block.productReaders[chunk])
      continue;
    for (const auto &warp : block.warps)
      forProducts(warp->products, [&](const Products::One &one) {
        if (std::find(one.reads.begin(), one.reads.end(), chunk) != one.reads.end())
          fault(FaultKind::Race, i, lane,
                "writes what wgmma.mma_async of line " + std::to_string(one.inst->line) + " in warp " +
                    std::to_string(warp->index) + " reads, which was not waited for; " +
                    describeIn(*place.region, place.region->base + place.offset, bytes));
      });
  }
}

//===- Reading --------------------------------------------------------------------------------------===//

static unsigned shapeOf(Decoder &d, Wgmma &op) {
  const std::string shape = d.takePrefix("m64n");
  char *end = nullptr;
  op.n = shape.empty() ? 0 : unsigned(std::strtoul(shape.c_str() + 4, &end, 10));
  const unsigned k = end && *end == 'k' ? unsigned(std::strtoul(end + 1, nullptr, 10)) : 0;
  if (!op.n || op.n % 8 || op.n > 256)
    d.unsupported();
  return k;
}

static bool immediate(Decoder &d, size_t n, std::initializer_list<int64_t> allowed) {
  const Operand &operand = d.operand(n);
  if (operand.form != Operand::Integer ||
      std::find(allowed.begin(), allowed.end(), int64_t(operand.bits)) == allowed.end())
    d.fail("operand " + std::to_string(n) + " must be one of its constants");
  return int64_t(operand.bits) == *(allowed.end() - 1);
}

static void decodeProduct(Decoder &d) {
  Wgmma op;
  if (!d.flag("sync") || !d.flag("aligned"))
    d.unsupported();
  op.k = shapeOf(d, op);
  op.saturate = d.flag("satfinite");
  static const std::map<std::string_view, Element> elements = {
      {"f16", Element::F16},   {"bf16", Element::BF16}, {"tf32", Element::TF32}, {"e4m3", Element::E4M3},
      {"e5m2", Element::E5M2}, {"s8", Element::S8},     {"u8", Element::U8}};
  if (d.words.size() != 3 || !elements.contains(d.words[1]) || !elements.contains(d.words[2]))
    d.unsupported();
  const std::string result = d.words[0];
  op.a = elements.at(d.words[1]);
  op.b = elements.at(d.words[2]);
  d.words.clear();
  const bool is16 = op.a == Element::F16 || op.a == Element::BF16, isByte = op.a >= Element::E4M3;
  op.bytes = is16 ? 2 : isByte ? 1 : 4;
  op.halfD = result == "f16";
  const bool sameKind = isByte ? op.b >= Element::E4M3 && op.isInteger() == (op.b >= Element::S8) : op.a == op.b;
  const bool fits = op.isInteger() ? result == "s32" && (op.n % 16 == 0 || op.n <= 24)
                                   : result == "f32" || (op.halfD && op.a != Element::BF16 && op.a != Element::TF32);
  if (!sameKind || !fits || op.k * op.bytes != 32)
    d.unsupported();
  if (op.isInteger() && op.a != op.b && d.module.program->version < 84)
    d.fail("bytes of both signs require .version 8.4");

  const Operand &results = d.operand(0), &a = d.operand(1);
  op.outs = op.n / (op.halfD ? 4 : 2);
  if (results.form != Operand::Vector || results.parts.size() != op.outs)
    d.fail("D requires " + std::to_string(op.outs) + " registers");
  for (const Operand &part : results.parts)
    d.out(part, {Kind::Bits, 32});
  op.aInRegisters = a.form == Operand::Vector;
  op.descriptorA = d.operandCount();
  if (op.aInRegisters && a.parts.size() != 4)
    d.fail("A requires 4 registers or a descriptor");
  for (size_t n = 0; n < (op.aInRegisters ? 4 : 1); ++n)
    d.in(op.aInRegisters ? a.parts[n] : a, {Kind::Bits, uint8_t(op.aInRegisters ? 32 : 64)});
  op.descriptorB = d.in(d.operand(2), {Kind::Bits, 64});
  op.scale = d.inPredicate(d.operand(3));
  const size_t turns = is16 ? (op.aInRegisters ? 1 : 2) : 0, count = op.isInteger() ? 4 : 6 + turns;
  d.expectCount(count, count);
  if (!op.isInteger()) {
    op.negatesA = immediate(d, 4, {1, -1});
    op.negatesB = immediate(d, 5, {1, -1});
  }
  if (turns == 2)
    op.turnsA = immediate(d, 6, {0, 1});
  if (turns)
    op.turnsB = immediate(d, 5 + turns, {0, 1});
  d.code.hasProducts = true;
  d.inst.isProduct = true;
  d.inst.extra = d.keep(op);
  d.emit(&mma);
}

static void decodeWgmma(Decoder &d) {
  if (d.flag("mma_async"))
    return decodeProduct(d);
  const int what = d.oneOf({"fence", "commit_group", "wait_group"});
  if (what < 0 || !d.flag("sync") || !d.flag("aligned"))
    d.unsupported();
  d.expectCount(what == 2, what == 2);
  if (what == 2) {
    if (d.operand(0).form != Operand::Integer)
      d.fail("a constant is required");
    d.inst.imm = d.operand(0).bits;
  }
  d.emit(what == 0 ? &fence : what == 1 ? &commit : &wait);
}

std::vector<Instruction> wgmmaInstructions() {
  return {{"wgmma", decodeWgmma,
           ".mma_async m64nNk16 f16 bf16, k8 tf32, k32 s8 u8 e4m3 e5m2, to f32, f16, s32; .fence .commit_group "
           ".wait_group"}};
}

} // namespace sinter::ptx
