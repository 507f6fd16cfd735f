// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix instructions of a warp: ldmatrix, stmatrix, movmatrix, mma. Where the ISA gives an element (i of lane) its row
// and column, the functions below are those formulas; g is groupID = lane / 4, t is threadID_in_group = lane % 4.
#include "Builtins.h"
#include "Families.h"
#include "Numbers.h"

#include <cstring>

namespace sinter::ptx {

// All lanes take part: what .sync.aligned asks for.
static void demandWholeWarp(Warp &w, const Inst &i, Mask m) {
  if (m != ~0u)
    w.fault(FaultKind::Invalid, i, unsigned(__builtin_ctz(~m)),
            "all 32 lanes of the warp must run this instruction together");
}

// Rows of 8 x 8 matrices of 16 bits: row r of matrix j is at the address of lane 8 j + r. Lane l holds elements
// 2 (l % 4), 2 (l % 4) + 1 of row l / 4; transposed, of column l / 4.
static void ldmatrix(Warp &w, const Inst &i, Mask m) {
  demandWholeWarp(w, i, m);
  const bool transpose = i.aux2 & 1;
  const Space space = i.aux2 & 2 ? Space::Generic : Space::Shared;
  uint16_t rows[32][8];
  for (unsigned lane = 0; lane < i.outs * 8u; ++lane) {
    uint64_t address = (i.aux & 0x80000000 ? w.in<uint64_t>(i, 0)[lane] : w.in<uint32_t>(i, 0)[lane]) + i.imm;
    std::memcpy(rows[lane], w.read(i, lane, space, address, 16, false), 16);
  }
  for (unsigned j = 0; j < i.outs; ++j) {
    auto *d = w.out<uint32_t>(i, j);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned r = lane / 4, c = lane % 4 * 2;
      uint32_t low = transpose ? rows[8 * j + c][r] : rows[8 * j + r][c];
      uint32_t high = transpose ? rows[8 * j + c + 1][r] : rows[8 * j + r][c + 1];
      d[lane] = low | high << 16;
    }
  }
}

static void stmatrix(Warp &w, const Inst &i, Mask m) {
  demandWholeWarp(w, i, m);
  const bool transpose = i.aux2 & 1;
  const unsigned count = i.ins - 1u;
  const Space space = i.aux2 & 2 ? Space::Generic : Space::Shared;
  for (unsigned j = 0; j < count; ++j) {
    const auto *a = w.in<uint32_t>(i, 1 + j);
    for (unsigned row = 0; row < 8; ++row) {
      uint16_t values[8];
      for (unsigned c = 0; c < 8; ++c) {
        const unsigned r = transpose ? c : row, k = transpose ? row : c; // element (r, k) lies in lane 4 r + k / 2
        values[c] = uint16_t(a[4 * r + k / 2] >> (k % 2 * 16));
      }
      const unsigned lane = 8 * j + row;
      uint64_t address = (i.aux & 0x80000000 ? w.in<uint64_t>(i, 0)[lane] : w.in<uint32_t>(i, 0)[lane]) + i.imm;
      std::memcpy(w.write(i, lane, space, address, 16, false), values, 16);
    }
  }
}

static void decodeMatrixMove(Decoder &d) {
  const bool load = d.name() == "ldmatrix";
  if (!d.flag("sync") || !d.flag("aligned") || !d.flag("m8n8"))
    d.unsupported();
  int count = d.oneOf({"x1", "x2", "x4"});
  d.inst.aux2 = d.flag("trans");
  int space = d.oneOf({"shared", "shared::cta"});
  Space in = space < 0 ? Space::Generic : Space::Shared;
  if (space < 0)
    d.inst.aux2 |= 2;
  Type type = d.type(), b32{Kind::Bits, 32};
  if (count < 0 || type.bits != 16)
    d.unsupported();
  d.expectCount(2, 2);
  const Operand &vector = d.operand(load ? 0 : 1);
  std::vector<Operand> parts = vector.form == Operand::Vector ? vector.parts : std::vector<Operand>{vector};
  if (parts.size() != size_t(1) << count)
    d.fail("a vector of " + std::to_string(1 << count) + " registers is required");
  bool local;
  if (load)
    for (const Operand &part : parts)
      d.out(part, b32);
  d.address(d.operand(load ? 1 : 0), in, local);
  if (!load)
    for (const Operand &part : parts)
      d.in(part, b32);
  d.emit(load ? &ldmatrix : &stmatrix);
}

static void movmatrix(Warp &w, const Inst &i, Mask m) {
  demandWholeWarp(w, i, m);
  const auto *a = w.in<uint32_t>(i, 0);
  uint32_t result[32];
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned r = lane / 4, c = lane % 4 * 2;
    auto element = [&](unsigned row, unsigned column) { return a[4 * row + column / 2] >> (column % 2 * 16) & 0xffff; };
    result[lane] = element(c, r) | element(c + 1, r) << 16;
  }
  std::memcpy(w.out<uint32_t>(i, 0), result, sizeof result);
}
static void decodeMovmatrix(Decoder &d) {
  if (!d.flag("sync") || !d.flag("aligned") || !d.flag("m8n8") || !d.flag("trans"))
    d.unsupported();
  d.type();
  d.expectCount(2, 2);
  d.out(d.operand(0), {Kind::Bits, 32});
  d.in(d.operand(1), {Kind::Bits, 32});
  d.emit(&movmatrix);
}

namespace {
enum class Element : uint8_t { F16, BF16, TF32, E4M3, E5M2, S8, U8, F64 };
struct Mma {
  unsigned n = 8, m = 16, k;
  Element a, b;
  bool halfD = false, halfC = false, saturate = false;
};
struct Place {
  unsigned row, column;
};
} // namespace

static unsigned bitsOf(Element e) {
  return e == Element::F64 ? 64 : e == Element::TF32 ? 32 : e <= Element::BF16 ? 16 : 8;
}

// Element i of A in lane l. For b bits an element, a register holds 32 / b of them side by side in a row; registers go
// over rows g, g + 8, then over the second half of the columns.
static Place placeA(const Mma &op, unsigned lane, unsigned i) {
  const unsigned g = lane / 4, t = lane % 4;
  if (op.a == Element::F64)
    return op.m == 8 ? Place{g, t} : Place{g + (i % 2) * 8, t + i / 2 * 4};
  const unsigned per = 32 / bitsOf(op.a), reg = i / per;
  return {g + (reg % 2 ? 8 : 0), t * per + i % per + (reg / 2) * 4 * per};
}
// Element i of B: the same of its columns.
static Place placeB(const Mma &op, unsigned lane, unsigned i) {
  const unsigned g = lane / 4, t = lane % 4;
  if (op.a == Element::F64)
    return {t + i * 4, g};
  const unsigned per = 32 / bitsOf(op.a), reg = i / per;
  return {t * per + i % per + reg * 4 * per, g};
}
// Element i of C and D.
static Place placeC(const Mma &, unsigned lane, unsigned i) {
  const unsigned g = lane / 4, t = lane % 4;
  return {g + (i >= 2 ? 8 : 0), t * 2 + i % 2};
}

static float decodeElement(Element e, uint32_t bits) {
  switch (e) {
  case Element::F16:
    return halfToFloat(uint16_t(bits));
  case Element::BF16:
    return bhalfToFloat(uint16_t(bits));
  case Element::TF32:
    return std::bit_cast<float>(bits & 0xffffe000); // the low bits are not looked at
  case Element::E4M3:
    return float(decode(bits, kE4M3));
  case Element::E5M2:
    return float(decode(bits, kE5M2));
  case Element::S8:
    return int8_t(bits);
  default:
    return uint8_t(bits);
  }
}

static void mmaFloat(Warp &w, const Inst &i, Mask mask) {
  demandWholeWarp(w, i, mask);
  const Mma &op = *static_cast<const Mma *>(i.extra);
  const unsigned bits = bitsOf(op.a), per = 32 / bits;
  const unsigned aRegs = op.m * op.k / 32 / per, bRegs = op.k * 8 / 32 / per;
  float a[16][64], b[8][64], c[16][8]; // b by columns
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned e = 0; e < aRegs * per; ++e) {
      Place at = placeA(op, lane, e);
      a[at.row][at.column] =
          decodeElement(op.a, bits == 32 ? w.in<uint32_t>(i, e)[lane]
                                         : w.in<uint32_t>(i, e / per)[lane] >> (e % per * bits) & ((1u << bits) - 1));
    }
    for (unsigned e = 0; e < bRegs * per; ++e) {
      Place at = placeB(op, lane, e);
      b[at.column][at.row] = decodeElement(
          op.b, bits == 32 ? w.in<uint32_t>(i, aRegs + e)[lane]
                           : w.in<uint32_t>(i, aRegs + e / per)[lane] >> (e % per * bits) & ((1u << bits) - 1));
    }
    for (unsigned e = 0; e < 4; ++e) {
      Place at = placeC(op, lane, e);
      if (op.halfC)
        c[at.row][at.column] = halfToFloat(uint16_t(w.in<uint32_t>(i, aRegs + bRegs + e / 2)[lane] >> (e % 2 * 16)));
      else
        c[at.row][at.column] = w.in<float>(i, aRegs + bRegs + e)[lane];
    }
  }
  // Products are exact and sums are of f64, rounded once: closer than the hardware, whose order and rounding are open.
  for (unsigned r = 0; r < 16; ++r)
    for (unsigned n = 0; n < 8; ++n) {
      double sum = c[r][n];
      for (unsigned k = 0; k < op.k; ++k)
        sum += double(a[r][k]) * double(b[n][k]);
      c[r][n] = float(sum);
    }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 4; ++e) {
      Place at = placeC(op, lane, e);
      if (op.halfD) {
        uint16_t h = uint16_t(encode(c[at.row][at.column], kF16));
        std::memcpy(reinterpret_cast<uint8_t *>(w.out<uint32_t>(i, e / 2) + lane) + e % 2 * 2, &h, 2);
      } else
        w.out<float>(i, e)[lane] = canonical(c[at.row][at.column]);
    }
}

static void mmaInteger(Warp &w, const Inst &i, Mask mask) {
  demandWholeWarp(w, i, mask);
  const Mma &op = *static_cast<const Mma *>(i.extra);
  const unsigned aRegs = op.m * op.k / 128, bRegs = op.k * 8 / 128;
  int32_t a[16][32], b[8][32];
  auto value = [](Element e, uint32_t bits) { return e == Element::S8 ? int32_t(int8_t(bits)) : int32_t(bits & 255); };
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned e = 0; e < aRegs * 4; ++e) {
      Place at = placeA(op, lane, e);
      a[at.row][at.column] = value(op.a, w.in<uint32_t>(i, e / 4)[lane] >> (e % 4 * 8));
    }
    for (unsigned e = 0; e < bRegs * 4; ++e) {
      Place at = placeB(op, lane, e);
      b[at.column][at.row] = value(op.b, w.in<uint32_t>(i, aRegs + e / 4)[lane] >> (e % 4 * 8));
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 4; ++e) {
      Place at = placeC(op, lane, e);
      int64_t sum = w.in<int32_t>(i, aRegs + bRegs + e)[lane];
      for (unsigned k = 0; k < op.k; ++k)
        sum += int64_t(a[at.row][k]) * b[at.column][k];
      w.out<int32_t>(i, e)[lane] = op.saturate ? int32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)) : int32_t(sum);
    }
}

static void mmaDouble(Warp &w, const Inst &i, Mask mask) { // m8n8k4
  demandWholeWarp(w, i, mask);
  const double *a = w.in<double>(i, 0), *b = w.in<double>(i, 1);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned row = lane / 4, column = lane % 4 * 2 + e;
      double sum = w.in<double>(i, 2 + e)[lane];
      for (unsigned k = 0; k < 4; ++k)
        sum = std::fma(a[row * 4 + k], b[column * 4 + k],
                       sum); // A(row, k) in lane 4 row + k, B(k, column) in lane 4 column + k
      w.out<double>(i, e)[lane] = sum;
    }
}

static void decodeMma(Decoder &d) {
  if (!d.flag("sync") || !d.flag("aligned") || !d.flag("row") || !d.flag("col"))
    d.unsupported();
  Mma op;
  int shape = d.oneOf({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k4"});
  op.saturate = d.flag("satfinite");
  d.takePrefix("kind::f8f6f4");
  if (shape < 0 || d.words.size() != 4)
    d.unsupported();
  op.k = shape == 4 ? 4 : 4u << shape;
  if (shape == 4)
    op.m = 8;
  static const std::map<std::string_view, Element> elements = {
      {"f16", Element::F16},   {"bf16", Element::BF16}, {"tf32", Element::TF32}, {"e4m3", Element::E4M3},
      {"e5m2", Element::E5M2}, {"s8", Element::S8},     {"u8", Element::U8},     {"f64", Element::F64}};
  auto a = elements.find(d.words[1]), b = elements.find(d.words[2]);
  if (a == elements.end() || b == elements.end())
    d.unsupported();
  op.a = a->second;
  op.b = b->second;
  const std::string dType = d.words[0], cType = d.words[3];
  d.words.clear();
  const unsigned bits = bitsOf(op.a);
  const bool integer = op.a == Element::S8 || op.a == Element::U8, wide = op.a == Element::F64;
  const bool valid = bitsOf(op.b) == bits && integer == (op.b == Element::S8 || op.b == Element::U8) &&
                     (wide                   ? shape == 4
                      : integer || bits == 8 ? op.k == 16 || op.k == 32
                      : bits == 16           ? (op.k == 8 || op.k == 16) && op.a == op.b
                                             : (op.k == 4 || op.k == 8) && shape != 4);
  if (!valid || (wide      ? dType != "f64" || cType != "f64"
                 : integer ? dType != "s32" || cType != "s32"
                           : (dType != "f32" && dType != "f16") || (cType != "f32" && cType != "f16")))
    d.unsupported();
  op.halfD = dType == "f16";
  op.halfC = cType == "f16";
  if ((op.halfD || op.halfC) && (op.a == Element::BF16 || op.a == Element::TF32))
    d.unsupported();
  const Type reg{Kind::Bits, uint8_t(wide ? 64 : 32)};
  const size_t aRegs = wide ? 1 : op.m * op.k * bits / 1024, bRegs = wide ? 1 : op.k * bits / 128,
               dRegs = wide       ? 2
                       : op.halfD ? 2
                                  : 4,
               cRegs = wide       ? 2
                       : op.halfC ? 2
                                  : 4;
  d.expectCount(4, 4);
  auto parts = [&](size_t n, size_t count, const char *what) {
    const Operand &operand = d.operand(n);
    std::vector<Operand> all = operand.form == Operand::Vector ? operand.parts : std::vector<Operand>{operand};
    if (all.size() != count)
      d.fail(std::string(what) + " requires " + std::to_string(count) + " registers, got " +
             std::to_string(all.size()));
    return all;
  };
  for (const Operand &part : parts(0, dRegs, "D"))
    d.out(part, reg);
  for (const Operand &part : parts(1, aRegs, "A"))
    d.in(part, reg);
  for (const Operand &part : parts(2, bRegs, "B"))
    d.in(part, reg);
  for (const Operand &part : parts(3, cRegs, "C"))
    d.in(part, reg);
  d.inst.extra = d.keep(op);
  d.emit(wide ? &mmaDouble : integer ? &mmaInteger : &mmaFloat);
}

std::vector<Instruction> matrixInstructions() {
  return {{"ldmatrix", decodeMatrixMove, ".m8n8 .x1 .x2 .x4 .trans b16"},
          {"stmatrix", decodeMatrixMove, "as ldmatrix"},
          {"movmatrix", decodeMovmatrix, ".m8n8.trans b16"},
          {"mma", decodeMma, ".row.col: m16n8k8, k16 f16 bf16; k4, k8 tf32; k16, k32 s8 u8, e4m3 e5m2; m8n8k4 f64"}};
}

} // namespace sinter::ptx
