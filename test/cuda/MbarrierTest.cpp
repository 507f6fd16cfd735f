// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarrier and bulk copies: a producer warp fills two stages that a consumer warp adds up.
#include "test/cuda/Runner.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace sinter::ptx;

static const std::string kPipeline = R"(.version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 p, .param .u64 q, .param .u32 n) { .reg .b64 %r<6>; .reg .b32 %t<20>; .reg .pred %p<6>;
.shared .align 16 .b8 tiles[256]; .shared .align 8 .b8 full[16]; .shared .align 8 .b8 empty[16];
mov.u32 %t0, %tid.x; ld.param.u64 %r0, [p]; ld.param.u64 %r1, [q]; ld.param.u32 %t1, [n];
mov.u32 %t2, tiles; mov.u32 %t3, full; mov.u32 %t4, empty; setp.ne.u32 %p0, %t0, 0; @%p0 bra READY;
mbarrier.init.shared.b64 [%t3], 1; mbarrier.init.shared.b64 [%t3+8], 1;
mbarrier.init.shared.b64 [%t4], 32; mbarrier.init.shared.b64 [%t4+8], 32; fence.proxy.async;
READY:
bar.sync 0;
mov.u32 %t5, 0; setp.lt.u32 %p1, %t0, 32; @%p1 bra CONSUME;
setp.ne.u32 %p2, %t0, 32; @%p2 bra END;
PRODUCE:
and.b32 %t6, %t5, 1; shr.u32 %t7, %t5, 1; and.b32 %t7, %t7, 1; xor.b32 %t8, %t7, 1; shl.b32 %t9, %t6, 3; add.u32 %t10, %t4, %t9; add.u32 %t11, %t3, %t9;
WAIT_EMPTY:
mbarrier.try_wait.parity.shared.b64 %p3, [%t10], %t8; @!%p3 bra WAIT_EMPTY;
mbarrier.arrive.expect_tx.shared.b64 _, [%t11], 128;
shl.b32 %t12, %t6, 7; add.u32 %t12, %t12, %t2; mul.wide.u32 %r2, %t5, 128; add.s64 %r2, %r0, %r2;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%t12], [%r2], 128, [%t11];
add.u32 %t5, %t5, 1; setp.lt.u32 %p4, %t5, %t1; @%p4 bra PRODUCE; bra END;
CONSUME:
mov.u32 %t15, 0;
NEXT:
and.b32 %t6, %t5, 1; shr.u32 %t7, %t5, 1; and.b32 %t7, %t7, 1; shl.b32 %t9, %t6, 3; add.u32 %t10, %t4, %t9; add.u32 %t11, %t3, %t9;
WAIT_FULL:
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [%t11], %t7; @!%p3 bra WAIT_FULL;
shl.b32 %t12, %t6, 7; add.u32 %t12, %t12, %t2; shl.b32 %t13, %t0, 2; add.u32 %t12, %t12, %t13;
ld.shared.u32 %t14, [%t12];
mbarrier.arrive.shared.b64 %r3, [%t10];
add.u32 %t15, %t15, %t14; add.u32 %t5, %t5, 1; setp.lt.u32 %p4, %t5, %t1; @%p4 bra NEXT;
mul.wide.u32 %r2, %t0, 4; add.s64 %r1, %r1, %r2; st.global.u32 [%r1], %t15;
END: ret; })";

static std::string run(const std::string &text, std::vector<uint32_t> *result = nullptr) {
  Runner runner(text);
  std::vector<uint32_t> in(32 * 7);
  std::iota(in.begin(), in.end(), 5);
  uint64_t p = runner.put(in), q = runner.put(std::vector<uint32_t>(32));
  std::string fault = runner.fault("k", {}, {64}, p, q, 7);
  if (result)
    *result = runner.get<uint32_t>(q, 32);
  return fault;
}
static std::string without(const std::string &line, const std::string &instead = "") {
  std::string text = kPipeline;
  EXPECT_NE(text.find(line), std::string::npos);
  return text.replace(text.find(line), line.size(), instead);
}

TEST(Mbarrier, a_pipeline_of_bulk_copies) {
  std::vector<uint32_t> got;
  EXPECT_EQ(run(kPipeline, &got), "");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], 7 * (5 + lane) + 32 * 21);
}

TEST(Mbarrier, missing_waits_and_wrong_counts_are_told) {
  auto expectHas = [](const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expectHas(run(without("@!%p3 bra WAIT_EMPTY;")), "race: kernel k, k.ptx:20 (cp.async.bulk");
  // The consumer does not wait: nobody has written, or the copy is on its way.
  std::string report = run(without("@!%p3 bra WAIT_FULL;"));
  EXPECT_TRUE(report.starts_with("uninitialised memory: kernel k, k.ptx:29") ||
              report.starts_with("race: kernel k, k.ptx:29"))
      << report;
  expectHas(run(without("bar.sync 0;")), "race: kernel k, k.ptx:17");
  expectHas(run(without("mbarrier.init.shared.b64 [%t4], 32;")), "no mbarrier was initialized here");
  expectHas(run(without("mbarrier.arrive.shared.b64 %r3, [%t10];", "mbarrier.arrive.shared::cta.b64 %r3, [%t10], 33;")),
            "33 arrivals at an mbarrier where 32 are missing");
  expectHas(run(without("[%r2], 128, [%t11]", "[%r2], 120, [%t11]")), "misaligned: kernel k, k.ptx:20");
}
