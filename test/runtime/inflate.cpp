// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

extern "C" {
#include "runtime/inflate.h"
}
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <zlib.h>

namespace {

using Bytes = std::vector<unsigned char>;

Bytes deflate(const Bytes &data, int level, int strategy) {
  z_stream stream = {};
  deflateInit2(&stream, level, Z_DEFLATED, -15, 8, strategy);
  Bytes packed(deflateBound(&stream, data.size()) + 64);
  stream.next_in = const_cast<Bytef *>(data.data());
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// Buffers of the exact size, so that the sanitizers see every byte too far.
const char *inflateExactly(const Bytes &packed, std::unique_ptr<unsigned char[]> &out, size_t outBytes) {
  std::unique_ptr<unsigned char[]> in(new unsigned char[packed.size()]);
  std::copy(packed.begin(), packed.end(), in.get());
  out.reset(new unsigned char[outBytes]);
  return srtInflate(in.get(), static_cast<int64_t>(packed.size()), out.get(), static_cast<int64_t>(outBytes));
}

Bytes sample(unsigned seed, size_t bytes, int kind) {
  std::mt19937 random(seed);
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i)
    data[i] =
        static_cast<unsigned char>(kind == 0   ? random()          // does not shrink: stored blocks
                                   : kind == 1 ? random() % 4 * 37 // short codes
                                   : kind == 2 ? (i / 1000) & 0xFF // long matches
                                               : (i > 300 && random() % 8 ? data[i - 1 - random() % 300] : random()));
  return data;
}

TEST(Inflate, UndoesWhatZlibDoes) {
  std::unique_ptr<unsigned char[]> out;
  for (size_t bytes : {size_t(0), size_t(1), size_t(2), size_t(300), size_t(70000), size_t(300000)})
    for (int kind = 0; kind < 4; ++kind) {
      Bytes data = sample(static_cast<unsigned>(bytes), bytes, kind);
      for (int level : {0, 1, 6, 9})
        for (int strategy : {Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED}) {
          const char *error = inflateExactly(deflate(data, level, strategy), out, bytes);
          ASSERT_EQ(error, nullptr) << error;
          ASSERT_TRUE(std::equal(data.begin(), data.end(), out.get()));
        }
    }
}

TEST(Inflate, StatesWhatIsWrong) {
  std::unique_ptr<unsigned char[]> out;
  EXPECT_STREQ(inflateExactly({}, out, 1), "a truncated stream");
  EXPECT_STREQ(inflateExactly({0x07}, out, 1), "an unknown kind of block");
  EXPECT_STREQ(inflateExactly({0x01, 0x01, 0x00, 0xFF, 0xFF, 0x41}, out, 1),
               "a stored block whose length does not match its check");
  EXPECT_STREQ(inflateExactly({0x01, 0x02, 0x00, 0xFD, 0xFF, 0x41}, out, 2), "a truncated stream");
  Bytes data = sample(1, 1000, 3), packed = deflate(data, 9, Z_DEFAULT_STRATEGY);
  EXPECT_STREQ(inflateExactly(packed, out, 999), "more data than stated");
  EXPECT_STREQ(inflateExactly(packed, out, 1001), "less data than stated");
  EXPECT_STREQ(inflateExactly({0x4B}, out, 3), "a truncated stream");
  EXPECT_STREQ(inflateExactly({0x63, 0x04, 0x42, 0x00}, out, 9), "a distance before the start");
  EXPECT_STREQ(inflateExactly({0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, out, 9), "too many codes");
}

TEST(Inflate, EveryTruncationIsAnError) {
  std::unique_ptr<unsigned char[]> out;
  for (int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED}) {
    Bytes data = sample(5, 2000, 3), packed = deflate(data, 9, strategy);
    for (size_t bytes = 0; bytes < packed.size(); ++bytes)
      EXPECT_NE(inflateExactly(Bytes(packed.begin(), packed.begin() + static_cast<long>(bytes)), out, data.size()),
                nullptr);
  }
}

TEST(Inflate, DamagedStreamsStayInsideTheirBuffers) {
  std::mt19937 random(11);
  std::unique_ptr<unsigned char[]> out;
  for (int round = 0; round < 3000; ++round) {
    size_t bytes = 1 + random() % 2000;
    Bytes packed = deflate(sample(static_cast<unsigned>(round), bytes, 1 + round % 3), 9, Z_DEFAULT_STRATEGY);
    for (int change = 0; change < 1 + round % 4; ++change)
      packed[random() % packed.size()] ^= static_cast<unsigned char>(1u << random() % 8);
    inflateExactly(packed, out, bytes);
    for (auto &byte : packed)
      byte = static_cast<unsigned char>(random());
    inflateExactly(packed, out, bytes);
  }
}

} // namespace
