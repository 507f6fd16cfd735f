// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fragments of mma and ldmatrix against the formulas of the ISA manual (PTX ISA 8.7, "Matrix Fragments for
// mma.m16n8k..."), written here as the manual states them and apart from the machine's own.
#include "test/cuda/Runner.h"

#include <bit>
#include <functional>
#include <gtest/gtest.h>

using namespace sinter::ptx;

namespace {
struct Shape {
  const char *name, *a, *b, *d;
  unsigned k, bits, aElements, bElements;
  std::function<void(unsigned lane, unsigned i, unsigned &row, unsigned &column)> placeA, placeB;
};
} // namespace

// Runs one mma on small integers, each lane's fragments filled by the manual's formulas, and compares with the product.
static void check(const Shape &s, std::function<uint32_t(int)> encode, bool integer) {
  const unsigned per = 32 / s.bits, aRegs = s.aElements / per, bRegs = s.bElements / per;
  std::string regs, loads;
  auto list = [](const char *prefix, unsigned n) {
    std::string out = "{";
    for (unsigned i = 0; i < n; ++i)
      out += (i ? ", %" : "%") + std::string(prefix) + std::to_string(i);
    return out + "}";
  };
  std::string body = kHead + ".entry k(.param .u64 p, .param .u64 q) { .reg .b64 %r<4>; .reg .b32 %t<2>, %a<" +
                     std::to_string(aRegs) + ">, %b<" + std::to_string(bRegs) +
                     ">, %c<4>;\n"
                     "mov.u32 %t0, %laneid; ld.param.u64 %r0, [p]; ld.param.u64 %r1, [q]; mul.wide.u32 %r2, %t0, " +
                     std::to_string((aRegs + bRegs) * 4) +
                     "; add.s64 %r0, %r0, %r2; mul.wide.u32 %r3, %t0, 16; add.s64 %r1, %r1, %r3;\n";
  for (unsigned i = 0; i < aRegs; ++i)
    body += "ld.global.b32 %a" + std::to_string(i) + ", [%r0+" + std::to_string(4 * i) + "];\n";
  for (unsigned i = 0; i < bRegs; ++i)
    body += "ld.global.b32 %b" + std::to_string(i) + ", [%r0+" + std::to_string(4 * (aRegs + i)) + "];\n";
  for (unsigned i = 0; i < 4; ++i)
    body += "ld.global.b32 %c" + std::to_string(i) + ", [%r1+" + std::to_string(4 * i) + "];\n";
  auto operand = [&](const char *prefix, unsigned n) {
    return n == 1 ? "%" + std::string(prefix) + "0" : list(prefix, n);
  };
  body += "mma.sync.aligned." + std::string(s.name) + ".row.col." + s.d + "." + s.a + "." + s.b + "." + s.d + " " +
          list("c", 4) + ", " + operand("a", aRegs) + ", " + operand("b", bRegs) + ", " + list("c", 4) + ";\n";
  body += "st.global.v4.b32 [%r1], " + list("c", 4) + "; }";
  Runner run(body);
  auto valueA = [](unsigned r, unsigned c) { return int((r * 5 + c * 3) % 8); };
  auto valueB = [](unsigned r, unsigned c) { return int((r * 7 + c * 2 + 1) % 8); };
  std::vector<uint32_t> in(32 * (aRegs + bRegs)), out(128);
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto put = [&](unsigned reg, unsigned i, uint32_t bits) {
      in[lane * (aRegs + bRegs) + reg + i / per] |= bits << (i % per * (s.bits % 32));
    };
    unsigned r, c;
    for (unsigned i = 0; i < s.aElements; ++i)
      s.placeA(lane, i, r, c), put(0, i, encode(valueA(r, c)));
    for (unsigned i = 0; i < s.bElements; ++i)
      s.placeB(lane, i, r, c), put(aRegs, i, encode(valueB(r, c)));
    for (unsigned i = 0; i < 4; ++i)
      out[lane * 4 + i] = integer ? lane : std::bit_cast<uint32_t>(float(lane));
  }
  uint64_t q = run.put(out);
  run.launch("k", {}, {32}, run.put(in), q);
  auto got = run.get<uint32_t>(q, 128);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      // row = groupID for ci where i < 2, groupID + 8 for i >= 2; col = (threadID_in_group * 2) + (i & 0x1)
      unsigned row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      int want = int(lane);
      for (unsigned k = 0; k < s.k; ++k)
        want += valueA(row, k) * valueB(k, column);
      EXPECT_EQ(got[lane * 4 + i], integer ? uint32_t(want) : std::bit_cast<uint32_t>(float(want)))
          << s.name << " " << s.a << " lane " << lane << " " << i;
    }
}

static uint32_t f16(int x) { return std::bit_cast<uint16_t>((_Float16)x); }
static uint32_t bf16(int x) { return std::bit_cast<uint32_t>(float(x)) >> 16; }
static uint32_t f32(int x) { return std::bit_cast<uint32_t>(float(x)); }
static uint32_t e4m3(int x) { // 0 to 7: exponent bias 7, 3 bits
  static const uint32_t table[] = {0x00, 0x38, 0x40, 0x44, 0x48, 0x4a, 0x4c, 0x4e};
  return table[x];
}

TEST(Mma, m16n8k16_of_16_bits) {
  auto a = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    // row = groupID for ai where 0 <= i < 2 || 4 <= i < 6, groupID + 8 otherwise
    row = lane / 4 + ((i < 2 || (i >= 4 && i < 6)) ? 0 : 8);
    // col = (threadID_in_group * 2) + (i & 0x1) for ai where i < 4, + 8 where i >= 4
    column = lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
  };
  auto b = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8);
    column = lane / 4;
  };
  check({"m16n8k16", "f16", "f16", "f32", 16, 16, 8, 4, a, b}, f16, false);
  check({"m16n8k16", "bf16", "bf16", "f32", 16, 16, 8, 4, a, b}, bf16, false);
}

TEST(Mma, m16n8k8_of_16_bits) {
  auto a = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane / 4 + (i < 2 ? 0 : 8); // groupID for a0, a1; groupID + 8 for a2, a3
    column = lane % 4 * 2 + (i & 1);
  };
  auto b = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane % 4 * 2 + i;
    column = lane / 4;
  };
  check({"m16n8k8", "f16", "f16", "f32", 8, 16, 4, 2, a, b}, f16, false);
  check({"m16n8k8", "bf16", "bf16", "f32", 8, 16, 4, 2, a, b}, bf16, false);
}

TEST(Mma, tf32) {
  // m16n8k8: row = groupID for a0 and a2, groupID + 8 for a1 and a3; col = threadID_in_group for a0 and a1, + 4 for a2
  // and a3
  auto a = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane / 4 + (i == 0 || i == 2 ? 0 : 8);
    column = lane % 4 + (i < 2 ? 0 : 4);
  };
  auto b = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane % 4 + (i == 0 ? 0 : 4);
    column = lane / 4;
  };
  check({"m16n8k8", "tf32", "tf32", "f32", 8, 32, 4, 2, a, b}, f32, false);
  check({"m16n8k4", "tf32", "tf32", "f32", 4, 32, 2, 1, a, b}, f32, false);
}

TEST(Mma, integers_and_f8) {
  // m16n8k32: row = groupID for ai where 0 <= i < 4 || 8 <= i < 12, groupID + 8 otherwise;
  // col = (threadID_in_group * 4) + (i & 0x3) where i < 8, + 16 where i >= 8
  auto a = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane / 4 + ((i < 4 || (i >= 8 && i < 12)) ? 0 : 8);
    column = lane % 4 * 4 + (i & 3) + (i < 8 ? 0 : 16);
  };
  auto b = [](unsigned lane, unsigned i, unsigned &row, unsigned &column) {
    row = lane % 4 * 4 + (i & 3) + (i < 4 ? 0 : 16);
    column = lane / 4;
  };
  auto byte = [](int x) { return uint32_t(x); };
  check({"m16n8k32", "s8", "s8", "s32", 32, 8, 16, 8, a, b}, byte, true);
  check({"m16n8k32", "u8", "s8", "s32", 32, 8, 16, 8, a, b}, byte, true);
  check({"m16n8k16", "s8", "s8", "s32", 16, 8, 8, 4, a, b}, byte, true);
  check({"m16n8k32", "e4m3", "e4m3", "f32", 32, 8, 16, 8, a, b}, e4m3, false);
}

TEST(Mma, f64) {
  // m8n8k4: A(row groupID, column threadID_in_group), B(row threadID_in_group, column groupID), C(row groupID, column 2
  // threadID_in_group + i)
  Runner run(
      kHead +
      R"(.entry k(.param .u64 p) { .reg .b64 %r<6>; .reg .f64 %f<5>; .reg .b32 %t<4>; mov.u32 %t0, %laneid; shr.u32 %t1, %t0, 2; and.b32 %t2, %t0, 3;
    mad.lo.u32 %t3, %t1, 10, %t2; cvt.rn.f64.u32 %f0, %t3; mad.lo.u32 %t3, %t2, 3, %t1; cvt.rn.f64.u32 %f1, %t3; mov.f64 %f2, 0d3FF0000000000000; mov.f64 %f3, 0d0000000000000000;
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%f2, %f3}, {%f0}, {%f1}, {%f2, %f3};
    ld.param.u64 %r0, [p]; mul.wide.u32 %r1, %t0, 16; add.s64 %r0, %r0, %r1; st.global.v2.f64 [%r0], {%f2, %f3}; })");
  uint64_t p = run.room(512);
  run.launch("k", {}, {32}, p);
  auto got = run.get<double>(p, 64);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 2; ++i) {
      double want = i == 0;
      for (unsigned k = 0; k < 4; ++k)
        want += (lane / 4 * 10.0 + k) * (k * 3.0 + (lane % 4 * 2 + i));
      EXPECT_EQ(got[lane * 2 + i], want);
    }
}

TEST(Matrices, ldmatrix_stmatrix_and_movmatrix) {
  // Row r of matrix j at the address of lane 8 j + r; element (r, c) goes to lane 4 r + c / 2, half c % 2.
  auto program = [](const std::string &load, const std::string &after) {
    return kHead +
           ".entry k(.param .u64 p) { .reg .b64 %r<4>; .reg .b32 %t<4>, %d<4>; .shared .align 16 .b8 s[512]; mov.u32 "
           "%t0, %laneid; shl.b32 %t1, %t0, 4; mov.u32 %t2, s; add.u32 %t1, %t1, %t2;\n"
           "mul.lo.u32 %t3, %t0, 0x00100010; add.u32 %t3, %t3, 0x00010000; st.shared.u32 [%t1], %t3; add.u32 %t3, %t3, "
           "0x00020002; st.shared.u32 [%t1+4], %t3;"
           "add.u32 %t3, %t3, 0x00020002; st.shared.u32 [%t1+8], %t3; add.u32 %t3, %t3, 0x00020002; st.shared.u32 "
           "[%t1+12], %t3; bar.warp.sync -1;\n" + // value 16 lane + c
           load +
           " {%d0, %d1, %d2, %d3}, [%t1];\n" + after +
           "ld.param.u64 %r0, [p]; mul.wide.u32 %r1, %t0, 16; add.s64 %r0, %r0, %r1; st.global.v4.b32 [%r0], {%d0, "
           "%d1, %d2, %d3}; }";
  };
  for (bool transpose : {false, true}) {
    Runner run(program(std::string("ldmatrix.sync.aligned.m8n8.x4") + (transpose ? ".trans" : "") + ".shared.b16", ""));
    uint64_t p = run.room(512);
    run.launch("k", {}, {32}, p);
    auto got = run.get<uint32_t>(p, 128);
    for (unsigned j = 0; j < 4; ++j)
      for (unsigned r = 0; r < 8; ++r)
        for (unsigned c = 0; c < 8; ++c) {
          unsigned lane = transpose ? 4 * c + r / 2 : 4 * r + c / 2, half = transpose ? r % 2 : c % 2;
          EXPECT_EQ(got[lane * 4 + j] >> (16 * half) & 0xffff, 16 * (8 * j + r) + c);
        }
  }
  // movmatrix and a stored and loaded matrix undo the transposition
  Runner run(program("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
                     "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %d0; bar.warp.sync -1; "
                     "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%t1], {%d1, %d1, %d2, %d3}; bar.warp.sync -1;"
                     "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d1, %d1, %d2, %d3}, [%t1];"));
  uint64_t p = run.room(512);
  run.launch("k", {}, {32}, p);
  auto got = run.get<uint32_t>(p, 128);
  for (unsigned j : {0, 1, 2, 3})
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned c = 0; c < 8; ++c)
        EXPECT_EQ(got[(4 * r + c / 2) * 4 + j] >> (16 * (c % 2)) & 0xffff, 16 * (8 * j + r) + c) << j;
}
