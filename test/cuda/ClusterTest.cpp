// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clusters of several blocks: programs that nvcc compiled, with answers by formula, and mistakes put into them.
#include "Hopper.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace sinter::ptx;

static std::string clusterText(const std::string &kernel) { return textOf("clusters_sm_90a", kernel); }

static std::vector<uint32_t> counted(size_t n, uint32_t times, uint32_t from) {
  std::vector<uint32_t> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = uint32_t(i) * times + from;
  return values;
}

TEST(Cluster, places_of_blocks) {
  Runner run(clusterText("places"));
  const uint64_t out = run.room(4 * 6 * 32);
  ASSERT_EQ(run.fault("places", {4, 6}, {32}, out), "");
  const auto got = run.get<uint32_t>(out, 4 * 6 * 8);
  for (uint32_t y = 0; y < 6; ++y)
    for (uint32_t x = 0; x < 4; ++x) {
      const std::vector<uint32_t> expected{x % 2 + y % 2 * 2, 4, x % 2, y % 2, x / 2, y / 2, 2, 3};
      const auto from = got.begin() + (y * 4 + x) * 8;
      EXPECT_EQ(std::vector<uint32_t>(from, from + 8), expected) << x << " " << y;
    }
}

static std::string runSums(const std::string &text, int columns, std::vector<float> *got = nullptr) {
  Runner run(text);
  std::vector<float> in(size_t(columns) * 3);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i / columns + 1) * float(i % columns); // exact sums
  const uint64_t p = run.put(in), out = run.room(12);
  const std::string fault = run.fault("sums", {12}, {64}, p, out, columns);
  if (got && fault.empty())
    *got = run.get<float>(out, 3);
  return fault;
}

TEST(Cluster, sums_over_shared_memory_of_others) {
  for (const int columns : {1, 63, 255, 256, 257, 1000}) {
    std::vector<float> got;
    ASSERT_EQ(runSums(clusterText("sums"), columns, &got), "");
    for (int row = 0; row < 3; ++row)
      EXPECT_EQ(got[size_t(row)], float((row + 1) * columns * (columns - 1) / 2)) << columns;
  }
}

static std::string runCounts(const std::string &text, std::vector<uint32_t> *got = nullptr) {
  Runner run(text);
  std::vector<uint8_t> in(1000);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint8_t(i * i % 64);
  const uint64_t p = run.put(in), out = run.room(256);
  const std::string fault = run.fault("counts", {2}, {96}, p, out, 1000);
  if (got && fault.empty())
    *got = run.get<uint32_t>(out, 64);
  return fault;
}

TEST(Cluster, atomics_in_shared_memory_of_others) {
  std::vector<uint32_t> got, expected(64);
  ASSERT_EQ(runCounts(clusterText("counts"), &got), "");
  for (uint32_t i = 0; i < 1000; ++i)
    ++expected[i * i % 64];
  EXPECT_EQ(got, expected);
}

static std::string runHand(const std::string &text, std::vector<uint32_t> *got = nullptr) {
  Runner run(text);
  const uint64_t p = run.put(counted(32, 3, 7)), out = run.room(128);
  const std::string fault = run.fault("hand", {2}, {32}, p, out);
  if (got && fault.empty())
    *got = run.get<uint32_t>(out, 32);
  return fault;
}

TEST(Cluster, arrivals_at_an_mbarrier_of_another) {
  std::vector<uint32_t> got;
  ASSERT_EQ(runHand(clusterText("hand"), &got), "");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(got[lane], (31 - lane) * 3 + 7);
}

static std::string runRows(const std::string &text, int slabs, std::vector<uint32_t> *got = nullptr) {
  Runner run(text);
  const uint64_t p = run.put(counted(size_t(slabs) * 8 * 32, 1, 0)), out = run.room(256);
  const Map map = mapOf(2, p, {32, uint64_t(slabs) * 8}, {128}, {32, 4}, Swizzle(0));
  const std::string fault = run.fault("shared_rows", {2}, {64}, map, out, slabs);
  if (got && fault.empty())
    *got = run.get<uint32_t>(out, 64);
  return fault;
}

TEST(Cluster, boxes_for_two_blocks) {
  for (const int slabs : {1, 2, 3, 7}) {
    std::vector<uint32_t> got;
    ASSERT_EQ(runRows(clusterText("shared_rows"), slabs, &got), "");
    const uint32_t rows = uint32_t(slabs) * 8;
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], (i / 32 + 1) * (rows * (i % 32) + 32 * rows * (rows - 1) / 2)) << slabs;
  }
}

static std::string runBoth(const std::string &text, std::vector<uint32_t> *got = nullptr) {
  Runner run(text);
  const uint64_t p = run.put(counted(128, 5, 1)), out = run.room(4 * 512);
  const std::string fault = run.fault("both", {4}, {128}, p, out);
  if (got && fault.empty())
    *got = run.get<uint32_t>(out, 512);
  return fault;
}

TEST(Cluster, one_copy_for_two_blocks) {
  std::vector<uint32_t> got;
  ASSERT_EQ(runBoth(clusterText("both"), &got), "");
  for (uint32_t i = 0; i < 512; ++i)
    EXPECT_EQ(got[i], i % 128 * 5 + 1 + i / 128);
}

static std::string runOf(const std::string &kernel, const std::string &text) {
  if (kernel == "sums")
    return runSums(text, 300);
  if (kernel == "counts")
    return runCounts(text);
  if (kernel == "hand")
    return runHand(text);
  return kernel == "both" ? runBoth(text) : runRows(text, 5);
}

TEST(Cluster, mistakes_are_told) {
  struct Mutant {
    const char *kernel, *from;
    int n;
    const char *to, *report;
  };
  const Mutant mutants[] = {
      // Barriers.
      {"sums", "barrier.cluster.wait;", 0, "", "arrives twice at the barrier of the cluster"},
      {"sums", "barrier.cluster.arrive;", 0, "", "waits at the barrier of the cluster without barrier.cluster.arrive"},
      {"sums", "barrier.cluster.arrive;", 0, "barrier.cluster.arrive.relaxed;", "race: kernel sums"},
      {"sums", "barrier.cluster.arrive;", 0, "@%p1 barrier.cluster.arrive;", "without barrier.cluster.arrive before"},
      {"counts", "barrier.cluster.arrive;", 1, "barrier.cluster.arrive.relaxed;", "race: kernel counts"},
      {"counts", "barrier.cluster.wait;", 1, "", "race: kernel counts"},
      // Ranks.
      {"sums", "mov.u32 \t%r41, 3;", 0, "mov.u32 \t%r41, 4;", "block 4 of a cluster of 4"},
      {"hand", "mapa.shared::cluster.u32 %r15, %r16, %r22;", 0, "mov.u32 %r15, %r16;", "uninitialised memory"},
      {"hand", "mapa.shared::cluster.u32 %r20, %r21, %r22;", 0, "mov.u32 %r20, %r21;", "no mbarrier was initialized"},
      {"hand", "st.shared::cluster.u32", 0, "st.shared.u32", "which .shared::cluster alone reaches"},
      {"shared_rows", "mov.u16 \t%rs1, 3;", 0, "mov.u16 %rs1, 7;", "the blocks of mask 7 in a cluster of 2"},
      {"shared_rows", "mov.u16 \t%rs1, 3;", 0, "mov.u16 %rs1, 1;", "deadlock: kernel shared_rows"},
      // Order.
      {"hand", "arrive.release.cluster.shared::cluster", 0, "arrive.relaxed.cluster.shared::cluster",
       "race: kernel hand"},
      {"hand", "parity.acquire.cluster", 0, "parity.acquire.cta", "race: kernel hand"},
      {"hand", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r20];", 0, "",
       "32 arrivals and 0 bytes are missing"},
      {"shared_rows", "@p bra DONE;", 0, "bra DONE;", "before anybody waited for it"},
      {"shared_rows", "@p bra DONE;", 1, "bra DONE;", "race: kernel shared_rows"},
      {"shared_rows", "mbarrier.init.shared::cta.b64 [%r24], %r25;", 0, "mbarrier.init.shared::cta.b64 [%r24], %r23;",
       "deadlock: kernel shared_rows"},
      {"shared_rows", "fence.mbarrier_init.release.cluster;", 0, "", "race: kernel shared_rows"},
      {"both", "fence.mbarrier_init.release.cluster;", 0, "", "the mbarrier was initialized, and no fence"},
  };
  for (const Mutant &mutant : mutants) {
    const std::string name = std::string(mutant.kernel) + ": " + mutant.from + " " + std::to_string(mutant.n);
    const std::string changed = withChange(clusterText(mutant.kernel), mutant.from, mutant.n, mutant.to);
    ASSERT_NE(changed, "") << name;
    const std::string report = runOf(mutant.kernel, changed);
    EXPECT_NE(report.find(mutant.report), std::string::npos) << name << "\n" << report;
  }
}

// With a barrier of the cluster left out entirely.
static std::string withoutMeeting(const std::string &kernel, const std::string &how, int n) {
  return withChange(withChange(clusterText(kernel), "barrier.cluster.arrive" + how, n, ""),
                    "barrier.cluster.wait" + how, n, "");
}

TEST(Cluster, a_dropped_barrier_is_told) {
  auto expectHas = [](const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expectHas(runSums(withoutMeeting("sums", ";", 0), 300),
            "shared memory of block 1 of the cluster, which may not have begun");
  // Others end while the first block reads what they have, or have ended.
  const std::string report = runSums(withoutMeeting("sums", ";", 1), 300);
  EXPECT_TRUE(report.find("the block ends, and block (0,0,0) thread (0,0,0) may still read") != std::string::npos ||
              report.find("of the cluster, which has ended") != std::string::npos)
      << report;
  expectHas(runCounts(withoutMeeting("counts", ";", 0)), "race: kernel counts");
  expectHas(runCounts(withoutMeeting("counts", ";", 1)), "race: kernel counts");
  expectHas(runHand(withoutMeeting("hand", ".aligned;", 0)), "race: kernel hand");
  expectHas(runBoth(withoutMeeting("both", ".aligned;", 0)), "race: kernel both");
  expectHas(runRows(withChange(withChange(clusterText("shared_rows"), "barrier.cluster.arrive.aligned;", 0, ""),
                               "barrier.cluster.wait.aligned;", 1, ""),
                    5),
            "shared memory of block 0 of the cluster, which has ended");
}

static std::string small(const std::string &head, const std::string &body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 out)\n" + head +
         "\n{ .reg .b64 %r<4>; .reg .b32 %t<8>; .reg .pred %p<4>; .shared .align 4 .b8 s[64];\n"
         "mov.u32 %t0, %cluster_ctarank; mov.u32 %t1, %tid.x; mov.u32 %t2, s; setp.eq.u32 %p0, %t0, 0;\n" +
         body + "\nret; }";
}

TEST(Cluster, a_barrier_to_which_not_all_come) {
  Runner run(small(".reqnctapercluster 2, 1, 1",
                   "@%p0 barrier.cluster.arrive.aligned;\n@%p0 barrier.cluster.wait.aligned;\n"
                   "bar.sync 0; setp.ne.u32 %p1, %t0, 0; @%p0 bra END;\nbarrier.cluster.arrive;\n"
                   "barrier.cluster.wait;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nEND:"));
  EXPECT_EQ(run.fault("k", {2}, {32}, uint64_t(0)), ""); // threads that have ended are not waited for
  Runner waits(small(
      ".reqnctapercluster 2, 1, 1",
      "@%p0 bra THERE;\nbar.sync 1, 64;\nTHERE:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"));
  const std::string report = waits.fault("k", {2}, {64}, uint64_t(0));
  EXPECT_EQ(report, "");
  Runner never(
      small(".reqnctapercluster 2, 1, 1",
            "setp.lt.u32 %p1, %t1, 32; and.pred %p1, %p1, %p0; @%p1 bra THERE;\n"
            "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nbra END;\nTHERE:\nbar.sync 1, 64;\nEND:"));
  const std::string stuck = never.fault("k", {2}, {64}, uint64_t(0));
  EXPECT_TRUE(stuck.starts_with("divergent barrier: kernel k, k.ptx:")) << stuck;
  Runner lanes(small(".reqnctapercluster 2, 1, 1",
                     "setp.lt.u32 %p1, %t1, 7; @%p1 bra THERE;\nbarrier.cluster.arrive.aligned;\n"
                     "barrier.cluster.wait.aligned;\nbra END;\nTHERE:\nbar.sync 1, 32;\nEND:"));
  EXPECT_NE(lanes.fault("k", {2}, {32}, uint64_t(0)).find("only lanes 0x0000007f of the warp are here"),
            std::string::npos);
}

TEST(Cluster, whose_memory_an_address_is) {
  const std::string text = small(".reqnctapercluster 2, 1, 1", R"(
ld.param.u64 %r0, [out]; xor.b32 %t3, %t0, 1; cvta.shared.u64 %r1, %r1;
mapa.u64 %r2, %r1, %t3; getctarank.u64 %t4, %r2; isspacep.shared::cta %p1, %r2; isspacep.shared::cluster %p2, %r2;
selp.u32 %t5, 1, 0, %p1; selp.u32 %t6, 1, 0, %p2; shl.b32 %t5, %t5, 1; or.b32 %t5, %t5, %t6;
mul.wide.u32 %r3, %t0, 8; add.s64 %r0, %r0, %r3; st.global.u32 [%r0], %t4; st.global.u32 [%r0+4], %t5;)");
  std::string given = text;
  given.insert(given.find("ld.param.u64 %r0"), "cvt.u64.u32 %r1, %t2; ");
  Runner run(given);
  const uint64_t out = run.room(16);
  ASSERT_EQ(run.fault("k", {2}, {1}, out), "");
  EXPECT_EQ(run.get<uint32_t>(out, 4), (std::vector<uint32_t>{1, 1, 0, 1}));
}

TEST(Cluster, orders_of_the_scope_of_a_cluster) {
  // Block 0 writes a number to global memory and sets a flag there, which the other block of its cluster reads.
  auto flag = [](const std::string &scope, const char *head = ".reqnctapercluster 2, 1, 1") {
    Runner run(small(
        head,
        "ld.param.u64 %r0, [out]; mov.u32 %t0, %ctaid.x; setp.eq.u32 %p0, %t0, 0; @!%p0 bra READ; st.global.u32 [%r0], "
        "42; st.release." +
            scope + ".global.u32 [%r0+4], 1; bra END;\nREAD:\nld.acquire." + scope +
            ".global.u32 %t3, [%r0+4]; setp.eq.u32 %p1, %t3, 0; @%p1 bra READ;\nld.global.u32 %t4, [%r0];\nEND:"));
    return run.fault("k", {2}, {1}, run.put(std::vector<uint32_t>(2)));
  };
  EXPECT_EQ(flag("gpu"), "");
  EXPECT_EQ(flag("cluster"), "");
  EXPECT_EQ(flag("gpu", ""), "");
  EXPECT_NE(flag("cta").find("race: kernel k"), std::string::npos);
  EXPECT_NE(flag("cluster", "").find("race: kernel k"), std::string::npos); // two clusters
}

TEST(Cluster, wrong_launches_are_refused) {
  Runner run(small(".reqnctapercluster 2, 1, 1", ""));
  EXPECT_EQ(run.fault("k", {3}, {32}, uint64_t(0)),
            "wrong launch: kernel k: a grid of (3,1,1) blocks in clusters of (2,1,1)");
  auto withCluster = [](Runner &run, Dim3 grid, Dim3 cluster, unsigned major = 9) {
    Launch l;
    l.module = run.module.get();
    l.code = run.module->find("k");
    l.memory = &run.memory;
    l.grid = grid;
    l.block = {32};
    l.cluster = cluster;
    l.device.major = major;
    l.params.resize(8);
    try {
      execute(l);
    } catch (const Fault &fault) {
      return std::string(fault.what());
    }
    return std::string();
  };
  EXPECT_EQ(withCluster(run, {4}, {2}), "");
  EXPECT_EQ(withCluster(run, {4}, {4}),
            "wrong launch: kernel k: clusters of (4,1,1) blocks, .reqnctapercluster requires (2,1,1)");
  EXPECT_EQ(withCluster(run, {4}, {2}, 8),
            "wrong launch: kernel k: clusters of (2,1,1) blocks on sm_80, which has none");
  Runner open(small(".explicitcluster", ""));
  EXPECT_EQ(withCluster(open, {4}, {}),
            "wrong launch: kernel k: .explicitcluster requires the size of clusters with the launch");
  EXPECT_EQ(withCluster(open, {4, 2}, {2, 2}), "");
  EXPECT_EQ(withCluster(open, {16}, {16}), "wrong launch: kernel k: a cluster of 16 blocks, at most 8 are possible");
}
