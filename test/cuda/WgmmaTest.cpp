// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wgmma: programs that nvcc made of kernels/hopper_sm_90a.cu, whose operands lie by the layouts of the ISA manual, and
// what is told of broken ones; other element types by PTX written here.
#include "test/cuda/Hopper.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter::ptx;

namespace {
struct Numbers {
  std::vector<_Float16> a, b; // a[row][k], b[column][k]
  std::vector<float> c;
};
} // namespace

static Numbers numbers(int m, int n, int k) {
  Numbers all;
  for (int i = 0; i < m * k; ++i)
    all.a.push_back(_Float16(i * 7 % 23 - 11));
  for (int i = 0; i < n * k; ++i)
    all.b.push_back(_Float16(i * 5 % 19 - 9));
  for (int r = 0; r < m; ++r)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int i = 0; i < k; ++i)
        sum += float(all.a[size_t(r * k + i)]) * float(all.b[size_t(j * k + i)]);
      all.c.push_back(sum);
    }
  return all;
}

static std::string runProduct(const std::string &ptx, const char *kernel, std::vector<float> *result = nullptr) {
  Runner run(ptx);
  run.dynamicShared = 16384;
  const Numbers in = numbers(64, 32, 64);
  const uint64_t c = run.room(64 * 32 * 4);
  const std::string fault = run.fault(kernel, {}, {128}, run.put(in.a), run.put(in.b), c);
  if (result && fault.empty())
    *result = run.get<float>(c, 64 * 32);
  return fault;
}

TEST(Wgmma, operands_in_shared_memory_by_all_swizzles_and_directions) {
  for (const char *bytes : {"16", "32", "64", "128"})
    for (const char *turns : {"00", "01", "10", "11"}) {
      const std::string kernel = std::string("product_") + bytes + "_" + turns;
      std::vector<float> got;
      ASSERT_EQ(runProduct(hopperText(kernel), kernel.c_str(), &got), "") << kernel;
      EXPECT_EQ(got, numbers(64, 32, 64).c) << kernel;
    }
}

TEST(Wgmma, an_operand_in_registers) {
  std::vector<float> got;
  ASSERT_EQ(runProduct(hopperText("held"), "held", &got), "");
  EXPECT_EQ(got, numbers(64, 32, 64).c);
}

// Sums of bytes, to which c is added, in 32 bits: they go around, or each instruction (of 32 k) keeps them within.
static void checkBytes(const char *kernel, bool isSignedA, bool isSignedB, bool saturates) {
  std::vector<uint8_t> a(64 * 128), b(32 * 128);
  std::vector<int32_t> c(64 * 32), want;
  // All bytes, and rows and columns of the largest and the smallest alone.
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = uint8_t(i / 128 % 8 == 0 ? 0x80 : i / 128 % 8 == 1 ? 0xff : i / 128 % 8 == 2 ? 0x7f : i * 37 + i / 128 * 5);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = uint8_t(i / 128 % 8 == 0 ? 0x80 : i / 128 % 8 == 1 ? 0xff : i / 128 % 8 == 2 ? 0x7f : i * 101 + i / 128);
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = i % 5 == 0 ? INT32_MAX - 1000 : i % 5 == 1 ? INT32_MIN + 77 : int32_t(i * 7919) - 8000000;
  auto valueOf = [](uint8_t byte, bool isSigned) { return isSigned ? int64_t(int8_t(byte)) : int64_t(byte); };
  for (size_t row = 0; row < 64; ++row)
    for (size_t column = 0; column < 32; ++column) {
      int64_t sum = c[row * 32 + column];
      for (size_t k = 0; k < 128; ++k) {
        sum += valueOf(a[row * 128 + k], isSignedA) * valueOf(b[column * 128 + k], isSignedB);
        if (saturates && k % 32 == 31)
          sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      }
      want.push_back(int32_t(uint32_t(uint64_t(sum))));
    }
  Runner run(hopperText(kernel));
  run.dynamicShared = 96 * 128;
  const uint64_t results = run.put(c);
  ASSERT_EQ(run.fault(kernel, {}, {128}, run.put(a), run.put(b), results), "") << kernel;
  EXPECT_EQ(run.get<int32_t>(results, 64 * 32), want) << kernel;
}

TEST(Wgmma, bytes_of_either_sign_to_sums_of_32_bits) {
  checkBytes("bytes_s8_s8", true, true, false);
  checkBytes("bytes_s8_u8", true, false, false);
  checkBytes("bytes_u8_s8", false, true, false);
  checkBytes("bytes_u8_u8", false, false, false);
  checkBytes("bytes_saturated", false, true, true);
}

static std::string runPipeline(const std::string &ptx, std::vector<float> *result = nullptr) {
  Runner run(ptx);
  run.dynamicShared = 3 * (8192 + 4096);
  const int m = 128, n = 64, k = 328;
  const Numbers in = numbers(m, n, k);
  const uint64_t c = run.room(m * n * 4);
  const Map a = mapOf(6, run.put(in.a), {k, m}, {k * 2}, {64, 64}, Swizzle::Bytes128),
            b = mapOf(6, run.put(in.b), {k, n}, {k * 2}, {64, 32}, Swizzle::Bytes128);
  const std::string fault = run.fault("pipeline", {2, 2}, {256}, a, b, c, n, k);
  if (fault.empty()) {
    auto got = run.get<float>(c, m * n);
    if (result)
      *result = got;
    else if (got != in.c)
      return "wrong";
  }
  return fault;
}

TEST(Wgmma, a_pipeline_of_tensor_copies_with_an_edge_of_k) {
  std::vector<float> got;
  ASSERT_EQ(runPipeline(hopperText("pipeline"), &got), "");
  EXPECT_EQ(got, numbers(128, 64, 328).c);
}

TEST(Wgmma, mistakes_are_told) {
  struct Mutant {
    const char *kernel, *from;
    int n;
    const char *to, *told;
  };
  const Mutant mutants[] = {
      // The result is not waited for.
      {"product_128_00", "wgmma.wait_group.sync.aligned 0;", 0, "", "race: kernel product_128_00"},
      {"pipeline", "wgmma.wait_group.sync.aligned 0;", 0, "wgmma.wait_group.sync.aligned 1;",
       "which was not waited for"},
      // Registers that were written, without a fence.
      {"pipeline", "wgmma.fence.sync.aligned;", 0, "", "no wgmma.fence came before the first"},
      {"product_16_00", "wgmma.fence.sync.aligned;", 0, "", "no wgmma.fence came before the first"},
      // What threads wrote, without a fence of the asynchronous proxy.
      {"product_64_11", "fence.proxy.async.shared::cta;", 0, "", "without a fence.proxy.async between"},
      {"held", "fence.proxy.async;", 0, "", "without a fence.proxy.async between"},
      // An mbarrier that copies do not see.
      {"pipeline", "fence.mbarrier_init.release.cluster;", 0, "", "the mbarrier was initialized, and no fence"},
      // Waits for readers, for slabs, for mbarriers.
      {"pipeline", "@p bra DONE;", 3, "bra DONE;", "race: kernel pipeline"},
      {"pipeline", "@p bra DONE;", 5, "bra DONE;", "kernel pipeline"},
      {"pipeline", "bar.sync \t0;", 0, "", "race: kernel pipeline"},
  };
  for (const Mutant &mutant : mutants) {
    const std::string name = std::string(mutant.kernel) + ": " + mutant.from + " " + std::to_string(mutant.n);
    const std::string changed = withChange(hopperText(mutant.kernel), mutant.from, mutant.n, mutant.to);
    ASSERT_NE(changed, "") << name;
    const std::string report =
        std::string(mutant.kernel) == "pipeline" ? runPipeline(changed) : runProduct(changed, mutant.kernel);
    EXPECT_NE(report.find(mutant.told), std::string::npos) << name << "\n" << report;
  }
}

TEST(Wgmma, waits_that_never_end_are_a_deadlock) {
  for (const char *bytes : {"12304", "12272"}) {
    const std::string changed =
        withChange(hopperText("pipeline"), "%r260, 12288;", 0, std::string("%r260, ") + bytes + ";");
    EXPECT_TRUE(runPipeline(changed).starts_with("deadlock: kernel pipeline")) << bytes << "\n" << runPipeline(changed);
  }
}

// Other types, on slabs without a swizzle: chunk c of row r of eight rows at 16 (8 c + r), 8 rows on 8 * chunks * 16.
static void checkType(const std::string &type, const std::string &result, unsigned bytes,
                      std::function<uint32_t(int)> encode) {
  const unsigned k = 32 / bytes;
  const std::string shape = "m64n8k" + std::to_string(k) + "." + result + "." + type + "." + type;
  const bool integer = result == "s32", half = result == "f16";
  const std::string regs = half ? "{%c0, %c1}" : "{%c0, %c1, %c2, %c3}";
  std::string body =
      std::string(".version 8.0\n.target sm_90a\n.address_size 64\n") +
      ".extern .shared .align 1024 .b8 slab[];\n"
      ".entry k(.param .u64 p, .param .u64 q) { .reg .b64 %r<12>; .reg .b32 %t<9>, %c<4>; .reg .pred %p;\n"
      "mov.u32 %t0, %tid.x; ld.param.u64 %r0, [p]; ld.param.u64 %r1, [q]; mov.u32 %t1, slab;\n"
      // 72 rows of 32 bytes: each of 128 threads copies words
      "mov.u32 %t2, %t0;\nCOPY: mul.wide.u32 %r2, %t2, 4; add.s64 %r2, %r0, %r2; ld.global.u32 %t3, [%r2];\n"
      "shl.b32 %t4, %t2, 2; add.u32 %t4, %t4, %t1; st.shared.u32 [%t4], %t3; add.u32 %t2, %t2, 128;\n"
      "setp.lt.u32 %p, %t2, 576; @%p bra COPY;\n"
      "fence.proxy.async; bar.sync 0;\n"
      // descriptors: LBO 128, SBO 256
      "cvt.u64.u32 %r3, %t1; shr.u64 %r3, %r3, 4; or.b64 %r4, %r3, 0x0000001000080000;\n"
      "add.s64 %r5, %r4, 128; setp.ne.u32 %p, %t1, %t1;\n"
      "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned." +
      shape + " " + regs + ", %r4, %r5, %p" +
      (integer      ? ""
       : bytes == 2 ? ", 1, 1, 0, 0"
                    : ", 1, 1") +
      "; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "mul.wide.u32 %r6, %t0, 16; add.s64 %r6, %r1, %r6; " +
      (half ? "st.global.v2.b32" : "st.global.v4.b32") + " [%r6], " + regs + "; }";
  Runner run(body);
  run.dynamicShared = 72 * 32;
  auto value = [](unsigned row, unsigned i) { return int((row * 5 + i * 3) % 8); };
  std::vector<uint8_t> slab(72 * 32);
  for (unsigned row = 0; row < 72; ++row) // the last 8 are columns of b
    for (unsigned i = 0; i < k; ++i) {
      const uint32_t bits = encode(value(row, i));
      std::memcpy(slab.data() + row / 8 * 256 + i * bytes / 16 * 128 + row % 8 * 16 + i * bytes % 16, &bits, bytes);
    }
  const uint64_t q = run.room(128 * 16);
  run.launch("k", {}, {128}, run.put(slab), q);
  auto got = run.get<uint32_t>(q, 512);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned row = thread / 32 * 16 + thread % 32 / 4 + e / 2 * 8, column = thread % 4 * 2 + e % 2;
      int want = 0;
      for (unsigned i = 0; i < k; ++i)
        want += value(row, i) * value(64 + column, i);
      const uint32_t word = got[thread * 4 + (half ? e / 2 : e)];
      if (half)
        EXPECT_EQ(float(std::bit_cast<_Float16>(uint16_t(word >> (e % 2 * 16)))), float(want)) << shape;
      else
        EXPECT_EQ(integer ? float(int32_t(word)) : std::bit_cast<float>(word), float(want)) << shape;
    }
}

TEST(Wgmma, all_types) {
  auto f16 = [](int x) { return uint32_t(std::bit_cast<uint16_t>(_Float16(x))); };
  auto bf16 = [](int x) { return std::bit_cast<uint32_t>(float(x)) >> 16; };
  auto f32 = [](int x) { return std::bit_cast<uint32_t>(float(x)); };
  auto byte = [](int x) { return uint32_t(x); };
  auto e4m3 = [](int x) { return uint32_t("\x00\x38\x40\x44\x48\x4a\x4c\x4e"[x]); };
  checkType("f16", "f32", 2, f16);
  checkType("f16", "f16", 2, f16);
  checkType("bf16", "f32", 2, bf16);
  checkType("tf32", "f32", 4, f32);
  checkType("s8", "s32", 1, byte);
  checkType("u8", "s32", 1, byte);
  checkType("e4m3", "f32", 1, e4m3);
}
