// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "Functions.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <zlib.h>

using namespace sinter::test;

namespace {

std::string le(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

struct ZipOptions {
  bool deflate = false;
  bool zip64 = false;
  std::string comment;
};

/// An archive as numpy's savez (zip64 fields in local headers) and other tools make them.
std::string zip(const std::vector<std::pair<std::string, std::string>> &members, const ZipOptions &options = {}) {
  std::string out, directory;
  for (const auto &[name, data] : members) {
    uint32_t crc =
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef *>(data.data()), static_cast<uInt>(data.size())));
    std::string packed = data;
    if (options.deflate) {
      z_stream stream = {};
      deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
      packed.resize(deflateBound(&stream, data.size()));
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
      stream.avail_in = static_cast<uInt>(data.size());
      stream.next_out = reinterpret_cast<Bytef *>(packed.data());
      stream.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream, Z_FINISH);
      packed.resize(stream.total_out);
      deflateEnd(&stream);
    }
    std::string offset = options.zip64 ? le(0xFFFFFFFF, 4) : le(out.size(), 4);
    std::string sizes =
        options.zip64 ? le(0xFFFFFFFF, 4) + le(0xFFFFFFFF, 4) : le(packed.size(), 4) + le(data.size(), 4);
    std::string localExtra = le(1, 2) + le(16, 2) + le(data.size(), 8) + le(packed.size(), 8);
    std::string extra = options.zip64 ? le(0x9999, 2) + le(2, 2) + "zz" + le(1, 2) + le(24, 2) + le(data.size(), 8) +
                                            le(packed.size(), 8) + le(out.size(), 8)
                                      : "";
    std::string common = le(45, 2) + le(0, 2) + le(options.deflate ? 8 : 0, 2) + le(0, 4) + le(crc, 4);
    directory += "PK\1\2" + le(45, 2) + common + sizes + le(name.size(), 2) + le(extra.size(), 2) + le(0, 2) +
                 le(0, 2) + le(0, 2) + le(0, 4) + offset + name + extra;
    out += "PK\3\4" + common + le(0xFFFFFFFF, 4) + le(0xFFFFFFFF, 4) + le(name.size(), 2) + le(localExtra.size(), 2) +
           name + localExtra + packed;
  }
  uint64_t start = out.size(), count = members.size();
  out += directory;
  if (options.zip64) {
    uint64_t record = out.size();
    out += "PK\6\6" + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 4) + le(0, 4) + le(count, 8) + le(count, 8) +
           le(directory.size(), 8) + le(start, 8);
    out += "PK\6\7" + le(0, 4) + le(record, 8) + le(1, 4);
    return out + "PK\5\6" + le(0, 4) + le(0xFFFF, 2) + le(0xFFFF, 2) + le(0xFFFFFFFF, 4) + le(0xFFFFFFFF, 4) +
           le(options.comment.size(), 2) + options.comment;
  }
  return out + "PK\5\6" + le(0, 4) + le(count, 2) + le(count, 2) + le(directory.size(), 4) + le(start, 4) +
         le(options.comment.size(), 2) + options.comment;
}

std::string npy(const std::string &dict, const std::string &data) {
  return std::string("\x93NUMPY\1\0", 8) + le(dict.size(), 2) + dict + data;
}

std::string floats(std::vector<float> values) {
  return {reinterpret_cast<const char *>(values.data()), 4 * values.size()};
}

const std::string dict3 = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";

std::vector<float> readFloats(const sinter_npz *npz, const char *name) {
  sinter_tensor tensor;
  EXPECT_EQ(sinter_npz_read(npz, name, &tensor), SINTER_OK) << lastError();
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d)
    count *= tensor.dims[d];
  std::vector<float> values(static_cast<float *>(tensor.data), static_cast<float *>(tensor.data) + count);
  sinter_tensor_free(&tensor);
  return values;
}

TEST(Npz, ArraysComeBack) {
  Folder folder;
  float x[6] = {1, 2, 3, 4, 5, 6};
  int64_t strides[2] = {1, 2};
  sinter_tensor tensors[3] = {view(x, {6}), view(x, {2, 3}), view(nullptr, {0})};
  tensors[1].strides = strides;
  const char *names[3] = {"x", "layer/weight:0", "\xC3\xA9"};
  std::string path = folder.file("x.npz");
  ASSERT_EQ(sinter_npz_write(path.c_str(), names, tensors, 3), SINTER_OK) << lastError();
  sinter_npz *npz;
  ASSERT_EQ(sinter_npz_open(path.c_str(), &npz), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_npz_count(npz), 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_STREQ(sinter_npz_name(npz, i), names[i]);
  EXPECT_EQ(sinter_npz_name(npz, 3), nullptr);
  EXPECT_EQ(readFloats(npz, "x"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(readFloats(npz, "layer/weight:0"), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(readFloats(npz, "\xC3\xA9"), std::vector<float>());
  sinter_tensor tensor;
  EXPECT_EQ(sinter_npz_read(npz, "y", &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "archive '" + path + "' has no array 'y'");
  sinter_npz_close(npz);
}

TEST(Npz, ReadsStoredDeflatedAndZip64Members) {
  Folder folder;
  std::vector<float> many(5000);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<float>(i % 17);
  std::string dictMany = "{'descr': '<f4', 'fortran_order': False, 'shape': (50, 100), }";
  for (bool deflate : {false, true})
    for (bool zip64 : {false, true})
      for (std::string comment : {"", "a comment with PK\5\6 in it"}) {
        std::string path = folder.write("x.npz", zip({{"a.npy", npy(dict3, floats({1, 2, 3}))},
                                                      {"notes.txt", "not an array"},
                                                      {"b.npy", npy(dictMany, floats(many))}},
                                                     {deflate, zip64, comment}));
        sinter_npz *npz;
        ASSERT_EQ(sinter_npz_open(path.c_str(), &npz), SINTER_OK) << lastError();
        EXPECT_EQ(sinter_npz_count(npz), 2);
        EXPECT_EQ(readFloats(npz, "a"), (std::vector<float>{1, 2, 3}));
        EXPECT_EQ(readFloats(npz, "b"), many);
        sinter_npz_close(npz);
      }
}

TEST(Npz, AnEmptyArchiveHasNoArrays) {
  Folder folder;
  sinter_npz *npz;
  ASSERT_EQ(sinter_npz_write(folder.file("x.npz").c_str(), nullptr, nullptr, 0), SINTER_OK);
  ASSERT_EQ(sinter_npz_open(folder.file("x.npz").c_str(), &npz), SINTER_OK);
  EXPECT_EQ(sinter_npz_count(npz), 0);
  sinter_npz_close(npz);
}

TEST(Npz, RefusesWhatIsNoArchive) {
  Folder folder;
  auto refuse = [&](const std::string &content, sinter_status_code status, const std::string &message) {
    std::string path = folder.write("x.npz", content);
    sinter_npz *npz;
    EXPECT_EQ(sinter_npz_open(path.c_str(), &npz), status) << message;
    EXPECT_EQ(npz, nullptr);
    std::string expected = message;
    if (size_t at = expected.find('@'); at != std::string::npos)
      expected.replace(at, 1, "'" + path + "'");
    EXPECT_EQ(lastError(), expected);
    sinter_npz_close(npz);
  };
  std::string noZip = "archive @ is no zip file that numpy writes: ";
  std::string good = zip({{"a.npy", npy(dict3, floats({1, 2, 3}))}});
  size_t entry = good.find("PK\1\2"), end = good.size() - 22;
  auto changed = [&](size_t at, const std::string &bytes) {
    std::string bad = good;
    bad.replace(at, bytes.size(), bytes);
    return bad;
  };
  refuse("", SINTER_CORRUPT, noZip + "no end of the central directory");
  refuse(good.substr(0, good.size() - 1), SINTER_CORRUPT, noZip + "no end of the central directory");
  refuse(npy(dict3, floats({1, 2, 3})), SINTER_CORRUPT, noZip + "no end of the central directory");
  refuse(changed(end + 16, le(1 << 30, 4)), SINTER_CORRUPT, noZip + "a central directory outside of the file");
  refuse(changed(end + 12, le(1 << 30, 4)), SINTER_CORRUPT, noZip + "a central directory outside of the file");
  refuse(changed(end + 10, le(9, 2)), SINTER_CORRUPT, noZip + "more entries than the central directory has room for");
  refuse(changed(entry, "XX"), SINTER_CORRUPT, noZip + "a damaged central directory");
  refuse(changed(entry + 28, le(60000, 2)), SINTER_CORRUPT, noZip + "an entry that leaves the central directory");
  refuse(changed(entry + 46, std::string("\0", 1)), SINTER_CORRUPT, noZip + "a name with a zero byte");
  refuse(changed(entry + 8, le(1, 2)), SINTER_UNSUPPORTED, "array 'a' of @ is encrypted");
  refuse(changed(entry + 10, le(12, 2)), SINTER_UNSUPPORTED,
         "array 'a' of @ has compression method 12; 0 (stored) and 8 (deflate) are supported");
  refuse(changed(entry + 24, le(1000, 4)), SINTER_CORRUPT, "array 'a' of @ states sizes that cannot be");
  refuse(changed(entry + 42, le(100000, 4)), SINTER_CORRUPT, "array 'a' of @ states sizes that cannot be");
  // A deflate bomb: a terabyte from some bytes.
  std::string bomb = changed(entry + 10, le(8, 2));
  bomb.replace(entry + 24, 4, le(0xF0000000, 4));
  refuse(bomb, SINTER_CORRUPT, "array 'a' of @ states sizes that cannot be");
  std::string zip64 = zip({{"a.npy", npy(dict3, floats({1, 2, 3}))}}, {false, true, ""});
  std::string bad = zip64;
  bad.replace(bad.size() - 22 - 20 + 8, 8, le(~0ull, 8));
  refuse(bad, SINTER_CORRUPT, noZip + "a zip64 end record outside of the file");
  bad = zip64;
  bad.replace(bad.find("PK\1\2") + 46 + 5 + 6 + 2, 2, le(8, 2));
  refuse(bad, SINTER_CORRUPT, noZip + "a damaged zip64 field");
}

TEST(Npz, RefusesDamagedMembers) {
  Folder folder;
  auto refuse = [&](const std::string &content, const std::string &message) {
    std::string path = folder.write("x.npz", content);
    sinter_npz *npz;
    ASSERT_EQ(sinter_npz_open(path.c_str(), &npz), SINTER_OK) << lastError();
    sinter_tensor tensor;
    EXPECT_EQ(sinter_npz_read(npz, "a", &tensor), SINTER_CORRUPT);
    std::string expected = message;
    if (size_t at = expected.find('@'); at != std::string::npos)
      expected.replace(at, 1, "'" + path + "'");
    EXPECT_EQ(lastError(), expected);
    EXPECT_EQ(tensor.data, nullptr);
    sinter_npz_close(npz);
  };
  std::string stored = zip({{"a.npy", npy(dict3, floats({1, 2, 3}))}});
  std::string bad = stored;
  bad[stored.find("PK\1\2") - 1] ^= 1;
  refuse(bad, "array 'a' of @ is damaged: checksum");
  bad = stored;
  bad[0] = 'X';
  refuse(bad, "array 'a' of @ lies outside of the file");
  bad = stored;
  bad.replace(28, 2, le(60000, 2));
  refuse(bad, "array 'a' of @ lies outside of the file");
  std::string deflated = zip({{"a.npy", npy(dict3, floats({1, 2, 3}))}}, {true, false, ""});
  bad = deflated;
  bad[30 + 5 + 20] = 7;
  refuse(bad, "array 'a' of @ is damaged: deflate stream with an unknown kind of block");
  refuse(zip({{"a.npy", npy(dict3, floats({1, 2}))}}), "array 'a' requires 12 bytes of data, got 8");
  refuse(zip({{"a.npy", npy(dict3, "").substr(0, 30)}}), "array 'a' is truncated in its header");
  refuse(zip({{"a.npy", "text"}}), "array 'a' requires the magic of an npy file");
}

TEST(Npz, MutatedArchivesAreReadOrRefused) {
  Folder folder;
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    std::string bad = zip({{"a.npy", npy(dict3, floats({1, 2, 3}))}, {"b.npy", npy(dict3, floats({4, 5, 6}))}},
                          {round % 2 == 0, round % 4 < 2, ""});
    for (int change = 0; change < 1 + round % 3; ++change)
      bad[random() % bad.size()] = static_cast<char>(random());
    if (round % 5 == 0)
      bad.resize(random() % bad.size());
    sinter_npz *npz;
    if (sinter_npz_open(folder.write("x.npz", bad).c_str(), &npz) != SINTER_OK)
      continue;
    for (int32_t i = 0; i < sinter_npz_count(npz); ++i) {
      sinter_tensor tensor;
      if (sinter_npz_read(npz, sinter_npz_name(npz, i), &tensor) == SINTER_OK)
        sinter_tensor_free(&tensor);
    }
    sinter_npz_close(npz);
  }
}

TEST(Npz, RefusesBadNames) {
  Folder folder;
  float x = 1;
  sinter_tensor tensors[2] = {view(&x, {1}), view(&x, {1})};
  const char *twice[2] = {"x", "x"}, *empty[1] = {""};
  std::string path = folder.file("x.npz");
  EXPECT_EQ(sinter_npz_write(path.c_str(), twice, tensors, 2), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "archive '" + path + "' requires different names, got 'x' twice");
  EXPECT_EQ(sinter_npz_write(path.c_str(), empty, tensors, 1), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "array 0 of '" + path + "' requires a name of 1 to 60000 bytes");
  tensors[0].dtype = 0;
  const char *one[1] = {"x"};
  EXPECT_EQ(sinter_npz_write(path.c_str(), one, tensors, 1), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(folder.count(), 0);
}

} // namespace
