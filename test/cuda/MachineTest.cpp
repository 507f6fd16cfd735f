// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions one by one, against the ISA's formulas.
#include "test/cuda/Runner.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter::ptx;

// What `body` leaves in %d of 32 lanes, from the inputs in %a, %b and %c.
template <class D, class A>
static std::vector<D> eval(const std::string &body, const std::vector<A> &a, const std::vector<A> &b = {},
                           const std::vector<A> &c = {}) {
  auto type = [](size_t bytes) { return std::string(bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16"); };
  std::string text = kHead +
                     ".entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {\n.reg .b64 %r<9>; "
                     ".reg .b32 %t<9>; .reg .pred %p<4>; .reg ." +
                     type(sizeof(A)) + " %a, %b, %c; .reg ." + type(sizeof(D)) +
                     " %d;\nmov.u32 %t0, %laneid; mul.wide.u32 %r0, %t0, " + std::to_string(sizeof(A)) +
                     "; mul.wide.u32 %r8, %t0, " + std::to_string(sizeof(D)) + ";\n";
  const char *names[] = {"a", "b", "c"};
  for (const char *n : names)
    text += std::string("ld.param.u64 %r1, [p") + n + "]; add.s64 %r1, %r1, %r0; ld.global." + type(sizeof(A)) + " %" +
            n + ", [%r1];\n";
  text += body + "\nld.param.u64 %r1, [pd]; add.s64 %r1, %r1, %r8; st.global." + type(sizeof(D)) + " [%r1], %d;\n}";
  Runner run(text);
  auto padded = [](std::vector<A> v) {
    v.resize(32);
    return v;
  };
  uint64_t d = run.room(32 * sizeof(D));
  run.launch("k", {}, {32}, run.put(padded(a)), run.put(padded(b)), run.put(padded(c)), d);
  return run.get<D>(d, 32);
}
template <class D, class A> static D one(const std::string &body, A a, A b = {}, A c = {}) {
  return eval<D, A>(body, std::vector<A>(32, a), std::vector<A>(32, b), std::vector<A>(32, c))[7];
}
static uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

TEST(Integers, arithmetic_wraps_and_saturates) {
  EXPECT_EQ((one<uint32_t>("add.s32 %d, %a, %b;", 0x7fffffffu, 1u)), 0x80000000u);
  EXPECT_EQ((one<uint32_t>("add.sat.s32 %d, %a, %b;", 0x7fffffffu, 1u)), 0x7fffffffu);
  EXPECT_EQ((one<uint32_t>("mul.hi.s32 %d, %a, %b;", 0x80000000u, 2u)), 0xffffffffu);
  EXPECT_EQ((one<uint32_t>("mul.hi.u32 %d, %a, %b;", 0x80000000u, 2u)), 1u);
  EXPECT_EQ((one<uint64_t>("mul.wide.s32 %d, %a, %b;", 0xffffffffu, 3u)), uint64_t(-3));
  EXPECT_EQ((one<uint64_t>("mul.hi.u64 %d, %a, %b;", ~uint64_t(0), ~uint64_t(0))), ~uint64_t(0) - 1);
  EXPECT_EQ((one<uint32_t>("mad.lo.s32 %d, %a, %b, %c;", 7u, uint32_t(-3), 1u)), uint32_t(-20));
  EXPECT_EQ((one<uint32_t>("div.s32 %d, %a, %b;", uint32_t(-7), 2u)), uint32_t(-3));
  EXPECT_EQ((one<uint32_t>("rem.s32 %d, %a, %b;", uint32_t(-7), 2u)), uint32_t(-1));
  EXPECT_EQ((one<uint32_t>("div.s32 %d, %a, %b;", 0x80000000u, uint32_t(-1))), 0x80000000u);
  EXPECT_EQ((one<uint16_t>("min.s16 %d, %a, %b;", uint16_t(0xffff), uint16_t(1))), 0xffff);
  EXPECT_EQ((one<uint32_t>("sad.u32 %d, %a, %b, %c;", 3u, 10u, 1u)), 8u);
  EXPECT_EQ((one<uint32_t>("add.cc.u32 %t1, %a, %b; addc.u32 %d, %c, 0;", ~0u, 1u, 5u)), 6u);
  EXPECT_EQ((one<uint32_t>("sub.cc.u32 %t1, %a, %b; subc.u32 %d, %c, 0;", 0u, 1u, 5u)), 4u);
  EXPECT_EQ((one<uint32_t>("dp4a.s32.s32 %d, %a, %b, %c;", 0x01ff02feu, 0x01020304u, 100u)),
            uint32_t(100 + 1 - 2 + 6 - 8));
}

TEST(Bits, fields_shifts_and_permutations) {
  EXPECT_EQ((one<uint32_t>("bfe.u32 %d, %a, %b, %c;", 0xabcd1234u, 8u, 12u)), 0xd12u);
  EXPECT_EQ((one<uint32_t>("bfe.s32 %d, %a, %b, %c;", 0x00000f00u, 8u, 4u)), ~0u);
  EXPECT_EQ((one<uint32_t>("bfe.s32 %d, %a, %b, %c;", 0x80000000u, 28u, 32u)), 0xfffffff8u);
  EXPECT_EQ((one<uint32_t>("bfe.u32 %d, %a, %b, %c;", ~0u, 40u, 4u)), 0u);
  EXPECT_EQ((one<uint32_t>("bfi.b32 %d, %a, %b, 4, 8;", 0xffu, 0u)), 0xff0u);
  EXPECT_EQ((one<uint32_t>("shl.b32 %d, %a, %b;", 1u, 32u)), 0u);
  EXPECT_EQ((one<uint32_t>("shr.s32 %d, %a, %b;", 0x80000000u, 99u)), ~0u);
  EXPECT_EQ((one<uint32_t>("shr.u32 %d, %a, %b;", 0x80000000u, 31u)), 1u);
  EXPECT_EQ((one<uint32_t>("shf.l.wrap.b32 %d, %a, %b, %c;", 0x80000000u, 1u, 33u)), 3u);
  EXPECT_EQ((one<uint32_t>("shf.r.clamp.b32 %d, %a, %b, %c;", 0u, 7u, 40u)), 7u);
  EXPECT_EQ((one<uint32_t>("prmt.b32 %d, %a, %b, %c;", 0x33221100u, 0x77665544u, 0x7531u)), 0x77553311u);
  EXPECT_EQ((one<uint32_t>("prmt.b32 %d, %a, %b, %c;", 0x00008000u, 0u, 0x9999u)), ~0u);
  EXPECT_EQ((one<uint32_t>("lop3.b32 %d, %a, %b, %c, 0xE8;", 0xf0u, 0xccu, 0xaau)), 0xe8u);
  EXPECT_EQ((one<uint32_t>("popc.b32 %d, %a;", 0xff00ffu)), 16u);
  EXPECT_EQ((one<uint32_t>("clz.b64 %d, %a;", uint64_t(1))), 63u);
  EXPECT_EQ((one<uint32_t>("bfind.s32 %d, %a;", uint32_t(-2))), 0u);
  EXPECT_EQ((one<uint32_t>("bfind.u32 %d, %a;", 0u)), ~0u);
  EXPECT_EQ((one<uint32_t>("brev.b32 %d, %a;", 1u)), 0x80000000u);
  EXPECT_EQ((one<uint32_t>("fns.b32 %d, %a, 0, 3;", 0b10110u)), 4u);
}

TEST(Floats, rounding_and_flushing) {
  EXPECT_EQ((one<uint32_t>("add.rn.f32 %d, %a, %b;", bits(1), bits(0x1p-25f))), bits(1));
  EXPECT_EQ((one<uint32_t>("add.rp.f32 %d, %a, %b;", bits(1), bits(0x1p-25f))), bits(std::nextafter(1.0f, 2.0f)));
  EXPECT_EQ((one<uint32_t>("add.rm.f32 %d, %a, %b;", bits(1), bits(-0x1p-60f))), bits(std::nextafter(1.0f, 0.0f)));
  EXPECT_EQ((one<uint32_t>("mul.ftz.f32 %d, %a, %b;", bits(0x1p-100f), bits(0x1p-40f))), 0u);
  EXPECT_EQ((one<uint32_t>("mul.f32 %d, %a, %b;", bits(0x1p-100f), bits(0x1p-40f))), bits(0x1p-140f));
  EXPECT_EQ((one<uint32_t>("sub.f32 %d, %a, %b;", bits(INFINITY), bits(INFINITY))), 0x7fffffffu);
  EXPECT_EQ((one<uint32_t>("fma.rn.f32 %d, %a, %b, %c;", bits(1 + 0x1p-23f), bits(1 + 0x1p-23f), bits(-1 - 0x1p-22f))),
            bits(0x1p-46f));
  EXPECT_EQ((one<uint32_t>("div.rz.f32 %d, %a, %b;", bits(1), bits(3))), 0x3eaaaaaau);
  EXPECT_EQ((one<uint32_t>("div.rp.f32 %d, %a, %b;", bits(1), bits(3))), 0x3eaaaaabu);
  EXPECT_EQ((one<uint32_t>("min.f32 %d, %a, %b;", bits(NAN), bits(3))), bits(3));
  EXPECT_EQ((one<uint32_t>("max.NaN.f32 %d, %a, %b;", bits(NAN), bits(3))), 0x7fffffffu);
  EXPECT_EQ((one<uint32_t>("min.f32 %d, %a, %b;", bits(0.0f), bits(-0.0f))), bits(-0.0f));
  EXPECT_EQ((one<uint32_t>("add.sat.f32 %d, %a, %b;", bits(0.75f), bits(0.5f))), bits(1));
  EXPECT_EQ((one<uint64_t>("sqrt.rz.f64 %d, %a;", std::bit_cast<uint64_t>(2.0))), 0x3ff6a09e667f3bccu);
  EXPECT_EQ((one<uint64_t>("sqrt.rp.f64 %d, %a;", std::bit_cast<uint64_t>(2.0))), 0x3ff6a09e667f3bcdu);
  EXPECT_EQ((one<uint16_t>("add.f16 %d, %a, %b;", uint16_t(0x3c00), uint16_t(0x1000))), 0x3c00); // 1 + 2^-11: to even
  EXPECT_EQ((one<uint16_t>("fma.rn.f16 %d, %a, %b, %c;", uint16_t(0x3c01), uint16_t(0x3c01), uint16_t(0xbc02))),
            0x0010); // (1+u)^2 - (1+2u) = u^2 = 2^-20
  EXPECT_EQ((one<uint16_t>("fma.rn.bf16 %d, %a, %b, %c;", uint16_t(0x3f80), uint16_t(0x3f80), uint16_t(0x3c00))),
            0x3f81); // 1 + 2^-7
  EXPECT_EQ((one<uint32_t>("add.f16x2 %d, %a, %b;", 0x3c004000u, 0x40003c00u)), 0x42004200u);
  EXPECT_NEAR(std::bit_cast<float>(one<uint32_t>("ex2.approx.f32 %d, %a;", bits(3.5f))), 11.3137085f, 1e-5);
}

TEST(Floats, f16_fma_is_rounded_once) {
  // All products and sums of a few values, against long double.
  std::vector<uint16_t> values = {0x0001, 0x03ff, 0x0400, 0x1400, 0x3555, 0x3c00, 0x3c01,
                                  0x4248, 0x7bff, 0x8001, 0xb800, 0xfbff, 0xbc01, 0x2e66};
  auto value = [](uint16_t h) {
    return (long double)std::ldexp((h & 0x7c00 ? (h & 0x3ff) | 0x400 : h & 0x3ff), std::max((h >> 10 & 31), 1) - 25) *
           (h >> 15 ? -1 : 1);
  };
  for (uint16_t a : values)
    for (uint16_t b : values) {
      std::vector<uint16_t> as(32, a), bs(32, b), cs(values);
      auto got = eval<uint16_t, uint16_t>("fma.rn.f16 %d, %a, %b, %c;", as, bs, cs);
      for (size_t n = 0; n < cs.size(); ++n) {
        _Float16 want = (_Float16)(value(a) * value(b) + value(cs[n])); // exact in 64 bits of mantissa
        if (want == 0)
          EXPECT_EQ(got[n] & 0x7fff, 0);
        else
          EXPECT_EQ(got[n], std::bit_cast<uint16_t>(want)) << a << " " << b << " " << cs[n];
      }
    }
}

TEST(Comparisons, unordered_relations_and_selections) {
  auto yes = [](const std::string &relation, float a, float b) {
    return one<uint32_t>("setp." + relation + ".f32 %p1, %a, %b; selp.b32 %d, 1, 0, %p1;", bits(a), bits(b)) == 1;
  };
  EXPECT_FALSE(yes("ne", NAN, 1));
  EXPECT_TRUE(yes("neu", NAN, 1));
  EXPECT_TRUE(yes("ltu", NAN, 1));
  EXPECT_FALSE(yes("lt", NAN, 1));
  EXPECT_TRUE(yes("num", 1, 1));
  EXPECT_TRUE(yes("nan", 1, NAN));
  // p = (a < b) and !c, q = !(a < b) and !c
  const std::string pair = "setp.ne.u32 %p3, %c, 0; setp.lt.and.s32 %p1|%p2, %a, %b, !%p3; selp.b32 %t1, 1, 0, %p1; "
                           "selp.b32 %t2, 2, 0, %p2; or.b32 %d, %t1, %t2;";
  EXPECT_EQ((one<uint32_t>(pair, 1u, 2u, 0u)), 1u);
  EXPECT_EQ((one<uint32_t>(pair, 2u, 2u, 0u)), 2u);
  EXPECT_EQ((one<uint32_t>(pair, 2u, 2u, 1u)), 0u);
}

TEST(Conversions, clamp_round_and_saturate) {
  EXPECT_EQ((one<uint32_t>("cvt.rzi.s32.f32 %d, %a;", bits(-2.7f))), uint32_t(-2));
  EXPECT_EQ((one<uint32_t>("cvt.rni.s32.f32 %d, %a;", bits(2.5f))), 2u);
  EXPECT_EQ((one<uint32_t>("cvt.rzi.s32.f32 %d, %a;", bits(3e9f))), 0x7fffffffu);
  EXPECT_EQ((one<uint32_t>("cvt.rzi.u32.f32 %d, %a;", bits(-1))), 0u);
  EXPECT_EQ((one<uint32_t>("cvt.rzi.s32.f32 %d, %a;", bits(NAN))), 0u);
  EXPECT_EQ((one<uint32_t>("cvt.rmi.f32.f32 %d, %a;", bits(-1.5f))), bits(-2));
  EXPECT_EQ((one<uint32_t>("cvt.rn.f32.u32 %d, %a;", 0xffffffffu)), bits(4294967296.0f));
  EXPECT_EQ((one<uint32_t>("cvt.rz.f32.u32 %d, %a;", 0xffffffffu)), bits(4294967040.0f));
  EXPECT_EQ((one<uint32_t>("cvt.rn.f32.u64 %d, %a;", uint64_t(0x8000008000000001))), 0x5f000001u); // above the tie
  EXPECT_EQ((one<uint64_t>("cvt.rn.f64.s64 %d, %a;", ~uint64_t(0) >> 1)), std::bit_cast<uint64_t>(0x1p63));
  EXPECT_EQ((one<uint16_t>("cvt.rn.f16.f32 %d, %a;", bits(65520))), 0x7c00);
  EXPECT_EQ((one<uint16_t>("cvt.rn.bf16.f32 %d, %a;", 0x3f808000u)), 0x3f80);
  EXPECT_EQ((one<uint32_t>("cvt.rn.f16x2.f32 %d, %a, %b;", bits(1), bits(2))), 0x3c004000u);
  EXPECT_EQ((one<uint32_t>("cvt.rna.tf32.f32 %d, %a;", 0x3f801000u)), 0x3f802000u);
  EXPECT_EQ((one<uint16_t>("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", bits(1000), bits(-1))), 0x7eb8);
  EXPECT_EQ((one<uint16_t>("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", bits(1), bits(0x1p-16f))), 0x3c01);
  EXPECT_EQ((one<uint32_t>("cvt.s32.s8 %d, %a;", 0x80u)), 0xffffff80u);
  EXPECT_EQ((one<uint32_t>("cvt.sat.u8.s32 %d, %a;", 300u)), 255u);
}

TEST(Memory, vectors_extend_and_address) {
  Runner run(kHead + R"(.entry k(.param .u64 p, .param .u64 q) { .reg .b64 %r<4>; .reg .b32 %t<4>; .reg .b16 %h<4>;
    ld.param.u64 %r0, [p]; ld.param.u64 %r1, [q]; ld.global.s8 %t0, [%r0+3]; ld.global.v4.u8 {%h0, %h1, %h2, _}, [%r0];
    cvt.u32.u16 %t1, %h2; st.global.v2.b32 [%r1], {%t0, %t1}; st.global.u8 [%r1+8], %h1; ret; })");
  uint64_t in = run.put<uint8_t>({1, 2, 3, 0xff}), out = run.room(12);
  run.launch("k", {}, {1}, in, out);
  EXPECT_EQ(run.get<uint32_t>(out, 2), (std::vector<uint32_t>{~0u, 3}));
  EXPECT_EQ(run.get<uint8_t>(out, 9)[8], 2);
}

TEST(Warps, shuffles_votes_and_reductions) {
  std::vector<uint32_t> lanes(32);
  for (unsigned n = 0; n < 32; ++n)
    lanes[n] = n * n;
  auto down = eval<uint32_t, uint32_t>("shfl.sync.down.b32 %d, %a, 3, 31, -1;", lanes);
  auto up = eval<uint32_t, uint32_t>("shfl.sync.up.b32 %d, %a, 1, 0, -1;", lanes);
  auto seg = eval<uint32_t, uint32_t>("shfl.sync.idx.b32 %d, %a, 2, 0x181f, -1;", lanes);
  auto ballot = eval<uint32_t, uint32_t>("setp.gt.u32 %p1, %a, 100; vote.sync.ballot.b32 %d, %p1, -1;", lanes);
  auto sum = eval<uint32_t, uint32_t>("redux.sync.add.u32 %d, %a, -1;", lanes);
  auto same = eval<uint32_t, uint32_t>("and.b32 %t1, %a, 1; match.any.sync.b32 %d, %t1, -1;", lanes);
  for (unsigned n = 0; n < 32; ++n) {
    EXPECT_EQ(down[n], lanes[n + 3 < 32 ? n + 3 : n]);
    EXPECT_EQ(up[n], lanes[n ? n - 1 : 0]);
    EXPECT_EQ(seg[n], lanes[n / 8 * 8 + 2]);
    EXPECT_EQ(ballot[n], ~0u << 11);
    EXPECT_EQ(sum[n], 10416u);
    EXPECT_EQ(same[n], n % 2 ? 0xaaaaaaaau : 0x55555555u);
  }
}

TEST(Warps, lanes_part_and_join) {
  // A loop of laneid steps, a shuffle of all lanes after it, and a function called by half of them.
  Runner run(kHead + R"(.func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %t<3>; ld.param.u32 %t0, [x];
      add.u32 %t0, %t0, %t0; st.param.b32 [r], %t0; ret; }
    .entry k(.param .u64 p) { .reg .b64 %r<4>; .reg .b32 %t<9>; .reg .pred %p<3>;
    mov.u32 %t0, %tid.x; mov.u32 %t1, 0; mov.u32 %t2, 0;
    L: setp.ge.u32 %p0, %t1, %t0; @%p0 bra D; add.u32 %t1, %t1, 1; add.u32 %t2, %t2, %t1; bra L;
    D: shfl.sync.bfly.b32 %t3, %t2, 1, 31, -1; and.b32 %t4, %t0, 1; setp.eq.u32 %p1, %t4, 0; @%p1 bra E;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %t3; call.uni (b), twice, (a); ld.param.b32 %t3, [b]; }
    E: activemask.b32 %t5; setp.ne.u32 %p2, %t5, -1; @%p2 trap;
    ld.param.u64 %r0, [p]; mul.wide.u32 %r1, %t0, 4; add.s64 %r0, %r0, %r1; st.global.u32 [%r0], %t3; ret; })");
  uint64_t out = run.room(128);
  run.launch("k", {}, {32}, out);
  auto got = run.get<uint32_t>(out, 32);
  for (unsigned n = 0; n < 32; ++n)
    EXPECT_EQ(got[n], (n ^ 1) * ((n ^ 1) + 1) / 2 * (n % 2 ? 2 : 1)) << n;
}

TEST(Warps, lanes_that_wait_for_others_of_their_warp_do_not_starve_them) {
  Runner run(kHead + R"(.entry k(.param .u64 p) { .reg .b64 %r<4>; .reg .b32 %t<9>; .reg .pred %p<3>;
    ld.param.u64 %r0, [p]; mov.u32 %t0, %tid.x; setp.eq.u32 %p0, %t0, 5; @%p0 bra S;
    L: ld.relaxed.gpu.global.u32 %t1, [%r0]; setp.eq.u32 %p1, %t1, 0; @%p1 bra L; bra.uni E;
    S: st.relaxed.gpu.global.u32 [%r0], 1; E: ret; })");
  run.launch("k", {}, {32}, run.put<uint32_t>({0}));
}

TEST(Blocks, barriers_named_barriers_and_reductions) {
  Runner run(
      kHead +
      R"(.entry k(.param .u64 p) { .reg .b64 %r<4>; .reg .b32 %t<9>; .reg .pred %p<3>; .shared .align 4 .b8 s[256];
    mov.u32 %t0, %tid.x; shl.b32 %t1, %t0, 2; mov.u32 %t2, s; add.u32 %t1, %t1, %t2; st.shared.u32 [%t1], %t0; bar.sync 0;
    xor.b32 %t3, %t0, 63; shl.b32 %t3, %t3, 2; add.u32 %t3, %t3, %t2; ld.shared.u32 %t4, [%t3];
    setp.gt.u32 %p0, %t0, 40; bar.red.popc.u32 %t5, 0, %p0; add.u32 %t4, %t4, %t5;
    setp.lt.u32 %p1, %t0, 32; @%p1 bra A; bar.arrive 3, 64; bra.uni E; A: bar.sync 3, 64;
    E: ld.param.u64 %r0, [p]; mul.wide.u32 %r1, %t0, 4; add.s64 %r0, %r0, %r1; st.global.u32 [%r0], %t4; ret; })");
  uint64_t out = run.room(256);
  run.launch("k", {}, {64}, out);
  auto got = run.get<uint32_t>(out, 64);
  for (unsigned n = 0; n < 64; ++n)
    EXPECT_EQ(got[n], 63 - n + 23);
}

TEST(Blocks, the_last_block_sees_what_the_others_wrote_before_a_fence) {
  const std::string text =
      kHead +
      R"(.global .u32 count; .entry k(.param .u64 p, .param .u64 q) { .reg .b64 %r<6>; .reg .b32 %t<9>; .reg .pred %p<3>;
    ld.param.u64 %r0, [p]; ld.param.u64 %r1, [q]; mov.u32 %t0, %ctaid.x; mul.wide.u32 %r2, %t0, 4; add.s64 %r2, %r0, %r2; st.global.u32 [%r2], %t0;
    membar.gl;
    atom.global.add.u32 %t1, [count], 1; setp.ne.u32 %p0, %t1, 7; @%p0 ret;
    membar.gl;
    mov.u32 %t2, 0; mov.u32 %t3, 0; L: ld.global.u32 %t4, [%r0]; add.u32 %t3, %t3, %t4; add.s64 %r0, %r0, 4; add.u32 %t2, %t2, 1;
    setp.lt.u32 %p1, %t2, 8; @%p1 bra L; st.global.u32 [%r1], %t3; ret; })";
  Runner run(text);
  uint64_t out = run.room(4);
  run.launch("k", {8}, {1}, run.room(32), out);
  EXPECT_EQ(run.get<uint32_t>(out, 1)[0], 28u);
  std::string without = text;
  without.replace(without.find("membar.gl;"), 10, "");
  Runner broken(without);
  EXPECT_NE(broken.fault("k", {8}, {1}, broken.room(32), broken.room(4)).find("race: kernel k"), std::string::npos);
}

TEST(Atomics, operations_and_results) {
  Runner run(kHead + R"(.entry k(.param .u64 p) { .reg .b64 %r<4>; .reg .b32 %t<9>; .reg .f32 %f<2>;
    ld.param.u64 %r0, [p]; mov.u32 %t0, %tid.x; atom.global.add.u32 %t1, [%r0], %t0; red.global.max.s32 [%r0+4], %t0;
    atom.global.inc.u32 %t2, [%r0+8], 4; atom.global.cas.b32 %t3, [%r0+12], %t0, 77; cvt.rn.f32.u32 %f0, %t0; red.global.add.f32 [%r0+16], %f0; ret; })");
  uint64_t p = run.put<uint32_t>({0, uint32_t(-5), 0, 9, bits(0.5f)});
  run.launch("k", {2}, {32}, p);
  EXPECT_EQ(run.get<uint32_t>(p, 5), (std::vector<uint32_t>{992, 31, 64 % 5, 77, bits(992.5f)}));
}
