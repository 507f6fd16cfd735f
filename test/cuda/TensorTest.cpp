// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk tensor copies by tensor maps: boxes of kernels/hopper_sm_90a.cu against the formulas of the documentation of
// cuTensorMapEncodeTiled and of the ISA manual's swizzles.
#include "test/cuda/Hopper.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace sinter::ptx;

namespace {
// A box of a tensor of bytes or wider elements, all of whose bytes differ where they can.
struct Case {
  int type;
  unsigned width;
  std::vector<uint64_t> sizes, strides; // strides in bytes, of all but the first
  std::vector<uint32_t> box;
  std::vector<int> at;
  Swizzle swizzle = Swizzle::None;
};
} // namespace

// Byte `offset` of a box in shared memory, by the manual: chunks of 16 bytes of a row of 2^n chunks change places as
// the number of the 128 bytes that they are in says.
static uint64_t placeOf(uint64_t offset, Swizzle mode) {
  const uint64_t line = offset / 128, chunk = offset / 16 % 8, rest = offset % 16;
  switch (mode) {
  case Swizzle::None:
    return offset;
  case Swizzle::Bytes32:
    return line * 128 + (chunk ^ line % 2) * 16 + rest;
  case Swizzle::Bytes64:
    return line * 128 + (chunk ^ line % 4) * 16 + rest;
  case Swizzle::Bytes128:
    return line * 128 + (chunk ^ line % 8) * 16 + rest;
  }
  return 0;
}

static void check(const Case &c) {
  const unsigned rank = unsigned(c.sizes.size());
  auto strides = c.strides;
  strides.insert(strides.begin(), c.width);
  uint64_t all = c.width, bytes = c.width;
  for (unsigned n = 0; n < rank; ++n) {
    all += (c.sizes[n] - 1) * strides[n];
    bytes *= c.box[n];
  }
  std::vector<uint8_t> data(all);
  std::iota(data.begin(), data.end(), uint8_t(1));
  Runner run(hopperText("box"));
  run.dynamicShared = uint32_t(bytes);
  const uint64_t from = run.put(data), out = run.room(bytes), backAt = run.put(std::vector<uint8_t>(all));
  const Map map = mapOf(c.type, from, c.sizes, c.strides, c.box, c.swizzle),
            back = mapOf(c.type, backAt, c.sizes, c.strides, c.box, c.swizzle);
  auto at = c.at;
  at.resize(3);
  ASSERT_EQ(run.fault("box", {}, {64}, map, back, out, int(bytes), int(rank), at[0], at[1], at[2]), "");
  auto got = run.get<uint8_t>(out, bytes), stored = run.get<uint8_t>(backAt, all);
  std::vector<uint8_t> wanted(all);
  for (uint64_t element = 0; element < bytes / c.width; ++element) {
    uint64_t rest = element, address = 0;
    bool inside = true;
    for (unsigned n = 0; n < rank; ++n) {
      const int64_t i = c.at[n] + int64_t(rest % c.box[n]);
      rest /= c.box[n];
      inside &= i >= 0 && i < int64_t(c.sizes[n]);
      address += uint64_t(i) * strides[n];
    }
    for (unsigned k = 0; k < c.width; ++k) {
      EXPECT_EQ(got[placeOf(element * c.width + k, c.swizzle)], inside ? data[address + k] : 0) << element;
      if (inside)
        wanted[address + k] = uint8_t(data[address + k] + 1);
    }
  }
  if (rank == 2)
    EXPECT_EQ(stored, wanted);
}

TEST(Tensor, boxes_of_all_ranks_and_widths) {
  check({0, 1, {100}, {}, {64}, {16}});
  check({0, 1, {100}, {}, {64}, {48}}); // past the end
  check({6, 2, {40, 20}, {96}, {16, 8}, {8, 4}});
  check({7, 4, {40, 20}, {160}, {8, 16}, {-4, -3}}); // before the beginning
  check({8, 8, {10, 20}, {80}, {4, 3}, {8, 18}});
  check({9, 2, {24, 6, 5}, {48, 320}, {16, 4, 3}, {16, 4, 3}});
  check({2, 4, {9, 5, 4}, {48, 240}, {12, 2, 2}, {3, 4, 3}}); // rows that end within 16 bytes
}

TEST(Tensor, swizzles) {
  for (Swizzle mode : {Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128}) {
    const auto inner = uint32_t(8u << unsigned(mode));
    check({6, 2, {100, 50}, {208}, {inner, 40}, {24, 5}, mode});
    check({6, 2, {100, 50}, {208}, {inner, 40}, {72, 30}, mode});
  }
}

TEST(Tensor, maps_that_the_driver_would_refuse) {
  auto why = [](int type, uint64_t address, std::vector<uint64_t> sizes, std::vector<uint64_t> strides,
                std::vector<uint32_t> box, int swizzle) {
    TensorMap map;
    std::string text;
    const std::vector<uint32_t> ones(sizes.size(), 1);
    EXPECT_FALSE(TensorMap::encode(map, type, unsigned(sizes.size()), address, sizes.data(), strides.data(), box.data(),
                                   ones.data(), 0, swizzle, 0, text));
    return text;
  };
  EXPECT_EQ(why(6, 0x1008, {64, 8}, {128}, {64, 8}, 3), "an address that is no multiple of 16");
  EXPECT_EQ(why(6, 0x1000, {64, 8}, {136}, {64, 8}, 3), "a stride of 136 bytes, a multiple of 16 is required");
  EXPECT_EQ(why(6, 0x1000, {0, 8}, {128}, {64, 8}, 3), "a size of 0");
  EXPECT_EQ(why(6, 0x1000, {64, 8}, {128}, {64, 257}, 3), "a box of 257, 1 to 256 are possible");
  EXPECT_EQ(why(6, 0x1000, {64, 8}, {128}, {72, 8}, 3), "a box whose rows have 144 bytes");
}

TEST(Tensor, what_is_no_map_is_told) {
  Runner run(hopperText("box"));
  run.dynamicShared = 256;
  const uint64_t out = run.room(256);
  const std::string report = run.fault("box", {}, {64}, Map{}, Map{}, out, 256, 2, 0, 0, 0);
  EXPECT_NE(report.find("there is no tensor map"), std::string::npos) << report;
}

/// What a store reads has to stay until it was waited for.
TEST(Tensor, stores_that_are_not_waited_for_are_told) {
  auto told = [](const std::string &from, const std::string &to) {
    const std::string changed = withChange(hopperText("box"), from, 0, to);
    EXPECT_NE(changed, "") << from;
    Runner run(changed);
    run.dynamicShared = 256;
    std::vector<uint8_t> data(32 * 16);
    const uint64_t memory = run.put(data);
    const Map map = mapOf(0, memory, {32, 16}, {32}, {16, 16}, Swizzle::None);
    return run.fault("box", {}, {64}, map, map, run.room(256), 256, 2, 0, 0, 0);
  };
  const std::string wait = "cp.async.bulk.wait_group.read 0;", commit = "cp.async.bulk.commit_group;";
  EXPECT_EQ(told(wait, wait + " st.shared.u8 [slab], 0;"), "");
  for (const auto &[from, to] :
       {std::pair(wait, std::string()), std::pair(wait, std::string("cp.async.bulk.wait_group.read 1;")),
        std::pair(commit, std::string())})
    EXPECT_NE(told(from, to).find("ends while a bulk store reads shared memory"), std::string::npos) << told(from, to);
  EXPECT_NE(told(commit, commit + " st.shared.u8 [slab], 0;").find("writes what a bulk store reads"),
            std::string::npos);
}
