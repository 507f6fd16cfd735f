// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the machine tells, and how it says it.
#include "test/cuda/Runner.h"

#include <gtest/gtest.h>

using namespace sinter::ptx;

static std::string loadError(const std::string &text) {
  Memory memory;
  try {
    load(kHead + text, "k.ptx", memory);
  } catch (const ParseError &error) {
    return error.what();
  }
  return "";
}

// A kernel of 64 threads with %t0 = tid, %r0 = p + 4 tid, %t1 = s + 4 tid.
static std::string kernel(const std::string &body) {
  return kHead +
         ".entry k(.param .u64 p) { .reg .b64 %r<9>; .reg .b32 %t<9>; .reg .pred %p<4>; .shared .align 4 .b8 s[256];\n"
         "mov.u32 %t0, %tid.x; ld.param.u64 %r1, [p]; mul.wide.u32 %r2, %t0, 4; add.s64 %r0, %r1, %r2; shl.b32 %t2, "
         "%t0, 2; mov.u32 %t3, s; add.u32 %t1, %t2, %t3;\n" +
         body + "\n}";
}
static std::string faultOf(const std::string &body, uint64_t bytes = 256, bool written = false) {
  Runner run(kernel(body));
  uint64_t p = written ? run.put(std::vector<uint32_t>(bytes / 4)) : run.room(bytes);
  return run.fault("k", {}, {64}, p);
}

TEST(Load, unknown_and_unsupported_instructions_are_told) {
  EXPECT_EQ(loadError(".entry k() {\n frob.u32 1; }"), "k.ptx:5: unknown instruction frob.u32");
  EXPECT_EQ(loadError(".entry k() { .reg .b32 %a; add.odd.s32 %a, %a, %a; }"),
            "k.ptx:4: add.odd.s32: modifier .odd is not supported here");
  EXPECT_EQ(loadError(".entry k() { .reg .b32 %a; .reg .b64 %r; add.s32 %a, %a, %r; }"),
            "k.ptx:4: add.s32: register %r of type b64 where s32 is required");
  EXPECT_EQ(loadError(".extern .func malloc(.param .b64 x); .entry k() { .param .b64 a; call.uni malloc, (a); }"),
            "k.ptx:4: call.uni: function malloc is not defined, and the machine does not provide it");
}

static void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Fault, out_of_bounds) {
  std::string text = faultOf("st.global.u32 [%r0], 0;", 252);
  expectHas(text,
            "out of bounds: kernel k, k.ptx:6 (st.global.u32 [%r0], 0;), block (0,0,0) thread (63,0,0): 4 bytes at 0x");
  expectHas(text, ": 0 bytes past the end of allocation of 252 bytes");
  expectHas(faultOf("st.shared.u32 [%t1+4], 0;"), "0 bytes past the end of shared variable s (256 bytes)");
  expectHas(faultOf("st.global.u32 [%r0+-4], 0;"), "4 bytes before allocation of 256 bytes");
  expectHas(faultOf("mov.b64 %r3, 16; ld.global.u32 %t4, [%r3];"), "no device memory is near");
}

TEST(Fault, use_after_free) {
  Runner run(kernel("st.global.u32 [%r0], 0;"));
  uint64_t p = run.room(256);
  run.memory.release(p);
  expectHas(run.fault("k", {}, {64}, p), "use after free: kernel k, k.ptx:6");
}

TEST(Fault, misaligned) {
  expectHas(faultOf("st.global.v2.u32 [%r0], {%t0, %t0};", 512), "misaligned: kernel k, k.ptx:6");
}

TEST(Fault, uninitialised) {
  expectHas(faultOf("ld.global.u32 %t4, [%r0];"), "uninitialised memory: kernel k, k.ptx:6");
  expectHas(faultOf("ld.shared.u32 %t4, [%t1];"), "which byte 0 was never written, at byte 0 of shared variable s");
  expectHas(faultOf("add.u32 %t4, %t5, 1;"), "uninitialised register: kernel k, k.ptx:6 (add.u32 %t4, %t5, 1;), block "
                                             "(0,0,0) thread (0,0,0): register %t5 was never written");
  expectHas(faultOf("setp.eq.u32 %p0, %t0, 7; @%p0 mov.u32 %t4, 1; add.u32 %t4, %t4, 1;"),
            "thread (0,0,0): register %t4");
  expectHas(faultOf("@%p1 add.u32 %t4, %t0, 1;"), "the guard %p1 was never written");
}

TEST(Fault, race_in_shared_memory) {
  const std::string store = "st.shared.u32 [%t1], %t0;",
                    load = "xor.b32 %t4, %t2, 128; add.u32 %t4, %t4, %t3; ld.shared.u32 %t5, [%t4];";
  EXPECT_EQ(faultOf(store + "\nbar.sync 0;\n" + load), "");
  expectHas(faultOf(store + "\n" + load), "uninitialised memory: kernel k, k.ptx:7"); // the other warp has not yet run
  expectHas(faultOf(store + "\nbar.sync 0;\n" + load + "\n" + store), "race: kernel k, k.ptx:8");
  expectHas(
      faultOf(store + "\nbar.sync 0; setp.lt.u32 %p0, %t0, 32; @%p0 bra A;" + load + "bra E; A:" + store + "E: ret;"),
      "read, without a barrier between");
  EXPECT_EQ(faultOf(store + "\nbar.sync 0;\n" + load + "\nbar.sync 0;\n" + store), "");
  expectHas(faultOf("st.shared.u32 [s], %t0;"),
            "wrote at line 6 without a barrier between; at byte 0 of shared variable s");
}

TEST(Fault, race_within_a_warp) {
  const std::string store = "st.shared.u32 [%t1], %t0;",
                    load = "xor.b32 %t4, %t2, 4; add.u32 %t4, %t4, %t3; ld.shared.u32 %t5, [%t4];";
  EXPECT_EQ(faultOf(store + "bar.warp.sync -1;" + load), "");
  expectHas(faultOf(store + "\n" + load), "race: kernel k, k.ptx:7");
}

TEST(Fault, race_in_global_memory) {
  EXPECT_EQ(faultOf("red.global.add.u32 [%r1], 1;", 256, true), "");
  expectHas(faultOf("red.global.add.u32 [%r1], 1;\nld.global.u32 %t4, [%r1];", 256, true), "race: kernel k, k.ptx:");
  Runner run(kernel("st.global.u32 [%r0], %t0;"));
  expectHas(run.fault("k", {2}, {64}, run.room(256)),
            "block (1,0,0) thread (0,0,0): writes what block (0,0,0) thread (0,0,0) wrote at line 6");
}

TEST(Fault, divergent_barrier) {
  expectHas(faultOf("setp.lt.u32 %p0, %t0, 40; @%p0 bar.sync 0;"), "divergent barrier: kernel k, k.ptx:6");
  expectHas(faultOf("setp.lt.u32 %p0, %t0, 32; @%p0 bar.sync 0;"), "32 of 64 threads came, 32 threads have ended");
  expectHas(faultOf("setp.gt.u32 %p0, %t0, 40; @%p0 ret;\nbar.sync 0;"), "divergent barrier: kernel k, k.ptx:7");
}

TEST(Fault, lanes_that_never_come) {
  expectHas(faultOf("setp.lt.u32 %p0, %t0, 9; @%p0 bra A; bar.warp.sync -1; bra B;\nA: shfl.sync.bfly.b32 %t4, %t0, 1, "
                    "31, -1; B: ret;"),
            "deadlock: kernel k, k.ptx:");
  expectHas(faultOf("shfl.sync.bfly.b32 %t4, %t0, 1, 31, 0xffff;"), "this lane is not in its own mask of members");
}

TEST(Fault, wrong_launches) {
  Runner run(kHead +
             ".entry k(.param .u64 p) .maxntid 64 { .shared .b8 s[40000]; ret; } .entry q() .reqntid 32, 2 { ret; }");
  EXPECT_EQ(run.fault("k", {}, {64}), "wrong launch: kernel k: its parameters have 8 bytes, got 0");
  EXPECT_EQ(run.fault("k", {}, {96}, uint64_t(0)),
            "wrong launch: kernel k: a block of (96,1,1) threads, .maxntid allows (64,1,1)");
  EXPECT_EQ(run.fault("q", {}, {64}),
            "wrong launch: kernel q: a block of (64,1,1) threads, .reqntid requires (32,2,1)");
  EXPECT_EQ(run.fault("q", {0}, {32, 2}), "wrong launch: kernel q: a grid of (0,1,1) blocks of (32,2,1) threads");
  run.dynamicShared = 200000;
  EXPECT_EQ(run.fault("k", {}, {64}, uint64_t(0)),
            "wrong launch: kernel k: 240000 bytes of shared memory, at most 232448 are possible");
}

TEST(Fault, trap_and_division_by_zero) {
  expectHas(faultOf("setp.eq.u32 %p0, %t0, 3; @%p0 trap;"),
            "trap: kernel k, k.ptx:6 (setp.eq.u32 %p0, %t0, 3; @%p0 trap;), block (0,0,0) thread (3,0,0)");
  expectHas(faultOf("div.u32 %t4, 1, %t0;"), "thread (0,0,0): integer division by zero");
}
