// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extern "C" {
#include "runtime/hash.h"
}
#include <gtest/gtest.h>
#include <string>
#include <zlib.h>

namespace {

TEST(Hash, Xxh64MatchesPublishedValues) {
  EXPECT_EQ(srtXxh64("", 0, 0), 0xEF46DB3751D8E999u);
  EXPECT_EQ(srtXxh64("abc", 3, 0), 0x44BC2CF5AD770999u);
  std::string text = "Nobody inspects the spammish repetition"; // over 32 bytes
  EXPECT_EQ(srtXxh64(text.data(), static_cast<int64_t>(text.size()), 0), 0xFBCEA83C8A378BF1u);
}

TEST(Hash, Crc32IsThatOfZip) {
  EXPECT_EQ(srtCrc32(0, "123456789", 9), 0xCBF43926u);
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(srtCrc32(0, text.data(), i),
              crc32(0, reinterpret_cast<const Bytef *>(text.data()), static_cast<uInt>(i)));
    text += static_cast<char>(i * 37);
  }
  EXPECT_EQ(srtCrc32(srtCrc32(0, text.data(), 100), text.data() + 100, 200), srtCrc32(0, text.data(), 300));
}

} // namespace
