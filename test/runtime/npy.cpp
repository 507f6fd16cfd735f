// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "Functions.h"
#include "runtime/dtypes.h"
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::test;

namespace {

/// An npy file of format `major`.0.
std::string npy(const std::string &dict, const std::string &data, int major = 1) {
  std::string header = dict + "\n", length;
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    length += static_cast<char>(header.size() >> 8 * i & 0xFF);
  return std::string("\x93NUMPY") + static_cast<char>(major) + '\0' + length + header + data;
}

std::string dict(const std::string &descr, const std::string &shape, const std::string &order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

TEST(Npy, EveryDtypeAndRankComesBack) {
  Folder folder;
  std::mt19937 random(1);
  for (int32_t dtype = SINTER_F64; dtype <= SINTER_U64; ++dtype)
    for (int32_t rank : {0, 1, 2, 3, 16}) {
      sinter_tensor tensor = {}, got;
      tensor.dtype = dtype;
      tensor.rank = rank;
      size_t bytes = static_cast<size_t>(sinter_dtype_bytes(dtype));
      for (int32_t d = 0; d < rank; ++d)
        bytes *= static_cast<size_t>(tensor.dims[d] = rank == 16 ? 1 + d % 2 : 2 + d);
      std::vector<unsigned char> data(bytes);
      for (auto &byte : data)
        byte = static_cast<unsigned char>(random() % (dtype == SINTER_I1 ? 2 : 256));
      tensor.data = data.data();
      ASSERT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_OK) << lastError();
      ASSERT_EQ(sinter_npy_read(folder.file("x.npy").c_str(), &got), SINTER_OK) << lastError();
      EXPECT_EQ(got.dtype, dtype);
      EXPECT_EQ(got.rank, rank);
      EXPECT_EQ(memcmp(got.dims, tensor.dims, sizeof got.dims), 0);
      EXPECT_EQ(memcmp(got.data, data.data(), bytes), 0);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(got.data) % 64, 0u);
      sinter_tensor_free(&got);
      EXPECT_EQ(got.data, nullptr);
    }
  EXPECT_EQ(folder.count(), 1);
}

TEST(Npy, RefusesTypesThatNumpyHasNot) {
  Folder folder;
  std::string path = folder.file("x.npy");
  unsigned char byte = 0x38;
  sinter_tensor tensor = {};
  tensor.data = &byte;
  tensor.rank = 1;
  tensor.dims[0] = 1;
  for (int32_t dtype : {SINTER_F8E4M3FN, SINTER_F8E5M2, SINTER_I4, SINTER_U4}) {
    tensor.dtype = dtype;
    EXPECT_EQ(sinter_npy_write(path.c_str(), &tensor), SINTER_UNSUPPORTED);
    EXPECT_EQ(lastError(),
              "writing '" + path + "' requires an element type that npy files have, got " + sinter_dtype_name(dtype));
  }
  EXPECT_EQ(folder.count(), 0);
}

TEST(Dtypes, BitsAndBytesOfEach) {
  EXPECT_EQ(sinter_dtype_bits(SINTER_F64), 64);
  EXPECT_EQ(sinter_dtype_bits(SINTER_I1), 8);
  EXPECT_EQ(sinter_dtype_bits(SINTER_F8E5M2), 8);
  EXPECT_EQ(sinter_dtype_bytes(SINTER_F8E4M3FN), 1);
  EXPECT_EQ(sinter_dtype_bits(SINTER_I4), 4);
  EXPECT_EQ(sinter_dtype_bytes(SINTER_U4), 0);
  EXPECT_STREQ(sinter_dtype_name(SINTER_U4), "ui4");
  EXPECT_EQ(sinter_dtype_bits(18), 0);
  EXPECT_EQ(sinter_dtype_bits(-1), 0);
}

TEST(Npy, WritesWhatNumpyWrites) {
  Folder folder;
  float data[3] = {1, 2, 3};
  sinter_tensor tensor = view(data, {3});
  ASSERT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_OK);
  std::string written = readFile(folder.file("x.npy"));
  ASSERT_EQ(written.size(), 128u + 12);
  EXPECT_EQ(written.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(written.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }  ");
  EXPECT_EQ(written[127], '\n');
}

TEST(Npy, WritesStridedTensorsRowMajor) {
  Folder folder;
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t strides[2] = {1, 2};
  sinter_tensor tensor = view(data, {2, 3}), got;
  tensor.strides = strides;
  ASSERT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_OK);
  ASSERT_EQ(sinter_npy_read(folder.file("x.npy").c_str(), &got), SINTER_OK);
  const float *values = static_cast<float *>(got.data);
  EXPECT_EQ(std::vector<float>(values, values + 6), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  sinter_tensor_free(&got);
}

TEST(Npy, ReadsWhatOthersWrite) {
  Folder folder;
  std::string six = "\1\2\3\4\5\6";
  auto read = [&](const std::string &content) {
    sinter_tensor tensor;
    std::string path = folder.write("x.npy", content), text;
    EXPECT_EQ(sinter_npy_read(path.c_str(), &tensor), SINTER_OK) << lastError();
    for (int32_t d = 0; d < tensor.rank; ++d)
      text += std::to_string(tensor.dims[d]) + " ";
    text += sinter_dtype_name(tensor.dtype);
    text += ":";
    int64_t count = 1;
    for (int32_t d = 0; d < tensor.rank; ++d)
      count *= tensor.dims[d];
    for (int64_t i = 0; i < count * sinter_dtype_bytes(tensor.dtype); ++i)
      text += std::to_string(static_cast<unsigned char *>(tensor.data)[i]);
    sinter_tensor_free(&tensor);
    return text;
  };
  EXPECT_EQ(read(npy(dict("|u1", "(2, 3)"), six)), "2 3 ui8:123456");
  EXPECT_EQ(read(npy(dict("|u1", "(3, 2)", "True"), six)), "3 2 ui8:142536");
  EXPECT_EQ(read(npy(dict("<u2", "(3, 1)", "True"), six)), "3 1 ui16:123456");
  EXPECT_EQ(read(npy(dict("|u1", "(6L,)"), six, 2)), "6 ui8:123456");
  EXPECT_EQ(read(npy(dict(">u1", "(6,)"), six, 3)), "6 ui8:123456");
  EXPECT_EQ(read(npy(dict("<V2", "(3,)"), six)), "3 bf16:123456");
  EXPECT_EQ(read(npy(dict("|V2", "(3,)"), six)), "3 bf16:123456");
  EXPECT_EQ(read(npy(dict("bfloat16", "(3,)"), six)), "3 bf16:123456");
  EXPECT_EQ(read(npy(dict("|b1", "(6,)"), std::string("\0\1\2\0\7\xFF", 6))), "6 i1:011011");
  EXPECT_EQ(read(npy(dict("<f4", "(0, 7)"), "")), "0 7 f32:");
  EXPECT_EQ(read(npy(dict("|i1", "()"), "\1")), "i8:1");
  EXPECT_EQ(read(npy("{\"shape\":(1,),\"descr\":\"|i1\",\"fortran_order\":False}", "\1")), "1 i8:1");
}

TEST(Npy, RefusesWhatIsNoArray) {
  Folder folder;
  auto refuse = [&](const std::string &content, sinter_status_code status, const std::string &message) {
    sinter_tensor tensor;
    tensor.data = &tensor;
    std::string path = folder.write("x.npy", content);
    EXPECT_EQ(sinter_npy_read(path.c_str(), &tensor), status);
    EXPECT_EQ(lastError(), "array '" + path + "' " + message);
    EXPECT_EQ(tensor.data, nullptr);
  };
  auto corrupt = [&](const std::string &content, const std::string &message) {
    refuse(content, SINTER_CORRUPT, message);
  };
  auto badHeader = [&](const std::string &text, const std::string &message) {
    corrupt(npy(text, "1234"), "requires a header that numpy writes, got " + message);
  };
  std::string good = npy(dict("<f4", "(1,)"), "1234");
  corrupt("", "requires the magic of an npy file");
  corrupt("PK\3\4 is an archive", "requires the magic of an npy file");
  corrupt(good.substr(0, 7), "is truncated in its header");
  corrupt(good.substr(0, 9), "is truncated in its header");
  corrupt(good.substr(0, 40), "requires a header of 68 bytes, the file has 40");
  corrupt(good.substr(0, 70), "requires 4 bytes of data, got 2");
  corrupt(good + "5", "requires 4 bytes of data, got 5");
  corrupt(std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12),
          "requires a header of at most 1048576 bytes, got 4294967295");
  refuse(std::string("\x93NUMPY\4\0\0\0\0\0", 12), SINTER_UNSUPPORTED,
         "has npy format 4.0; 1.0, 2.0 and 3.0 are supported");
  refuse(npy(dict(">f4", "(1,)"), "1234"), SINTER_UNSUPPORTED, "has dtype '>f4'; big-endian arrays are not supported");
  for (std::string descr : {"<c8", "|O", "<U5", "|S4", "<f16", "<M8[ns]", "", "<", "f4<"})
    refuse(npy(dict(descr, "(1,)"), "1234"), SINTER_UNSUPPORTED,
           "has dtype '" + descr + "'; supported are f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 and V2 (bf16)");
  refuse(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"), SINTER_UNSUPPORTED,
         "is a structured array; plain dtypes are supported");
  refuse(npy(dict("|i1", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "1"), SINTER_UNSUPPORTED,
         "requires rank 16 at most, got more");
  corrupt(npy(dict("<f4", "(4611686018427387904, 4)"), ""), "requires a size below 2^63 bytes");
  corrupt(npy(dict("<f4", "(1000000000000,)"), "1234"), "requires 4000000000000 bytes of data, got 4");
  badHeader("", "no dict");
  badHeader("[]", "no dict");
  badHeader("{}", "a dict that lacks 'descr', 'fortran_order' or 'shape'");
  badHeader("{'descr': '<f4', 'shape': (1,)}", "a dict that lacks 'descr', 'fortran_order' or 'shape'");
  badHeader("{'descr': '<f4', 'descr': '<f4'}", "a key twice");
  badHeader("{'dtype': '<f4'}", "an unknown key");
  badHeader("{'descr'}", "a key without a value");
  badHeader("{'a key that is far too long for this header': 1}", "a key without a value");
  badHeader("{'descr': 4}", "a 'descr' that is no string");
  badHeader("{'descr': '<f4", "a 'descr' that is no string");
  badHeader("{'descr': '<f4'", "a dict without its end");
  badHeader("{'fortran_order': 0}", "a 'fortran_order' that is neither True nor False");
  badHeader(dict("<f4", "[1]"), "a 'shape' that is no tuple");
  badHeader(dict("<f4", "(-1,)"), "a 'shape' that is no tuple of sizes");
  badHeader(dict("<f4", "(,)"), "a 'shape' that is no tuple of sizes");
  badHeader("{'shape': (1}", "a 'shape' without its end");
  badHeader(dict("<f4", "(1)"), "a 'shape' that is a number in parentheses");
  badHeader(dict("<f4", "(99999999999999999999,)"), "a size over 2^63");
  badHeader(dict("<f4", "(1,)") + " x", "text behind the dict");
}

TEST(Npy, MutatedFilesAreReadOrRefused) {
  Folder folder;
  std::mt19937 random(3);
  std::string good = npy(dict("<f4", "(2, 2)", "True"), "0123456789abcdef");
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    for (int change = 0; change < 1 + round % 3; ++change)
      bad[random() % bad.size()] = static_cast<char>(random());
    sinter_tensor tensor;
    if (sinter_npy_read(folder.write("x.npy", bad).c_str(), &tensor) == SINTER_OK)
      sinter_tensor_free(&tensor);
    else
      EXPECT_NE(lastError(), "");
  }
}

TEST(Npy, RefusesWhatIsNoFile) {
  Folder folder;
  sinter_tensor tensor;
  std::string path = folder.file("missing.npy");
  EXPECT_EQ(sinter_npy_read(path.c_str(), &tensor), SINTER_IO);
  EXPECT_EQ(lastError(), "cannot open '" + path + "': No such file or directory");
  EXPECT_EQ(sinter_npy_read(folder.path.c_str(), &tensor), SINTER_IO);
  EXPECT_EQ(lastError(), "'" + folder.path.string() + "' requires a regular file, got a directory");
  EXPECT_EQ(sinter_npy_read("/dev/zero", &tensor), SINTER_IO);
  EXPECT_EQ(lastError(), "'/dev/zero' requires a regular file, got a device");
  mkfifo(folder.file("pipe").c_str(), 0600);
  EXPECT_EQ(sinter_npy_read(folder.file("pipe").c_str(), &tensor), SINTER_IO);
  EXPECT_EQ(lastError(), "'" + folder.file("pipe") + "' requires a regular file, got a pipe");
  EXPECT_EQ(sinter_npy_read(nullptr, &tensor), SINTER_INVALID_ARGUMENT);
}

TEST(Npy, AWriteGoesRoundWhatAKilledProcessLeft) {
  Folder folder;
  float value = 1;
  sinter_tensor tensor = view(&value, {1});
  for (int k = 0; k < 500; ++k) // process numbers come again, in containers with each start
    folder.write("x.npy." + std::to_string(getpid()) + "-" + std::to_string(k) + ".tmp", "old");
  EXPECT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_OK);
  EXPECT_EQ(folder.count(), 501);
}

TEST(Npy, AKilledWriteLeavesNothing) {
  Folder folder;
  int unnamed = open(folder.path.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (unnamed < 0)
    GTEST_SKIP() << "the file system has no files without names";
  close(unnamed);
  std::vector<float> values(1 << 22);
  sinter_tensor tensor = view(values.data(), {1 << 22});
  ASSERT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_OK);
  for (int k = 0; k < 5; ++k) {
    pid_t child = fork();
    if (child == 0)
      while (true)
        sinter_npy_write(folder.file("x.npy").c_str(), &tensor);
    usleep(5000 + 3000 * k);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    sinter_tensor read;
    EXPECT_EQ(sinter_npy_read(folder.file("x.npy").c_str(), &read), SINTER_OK) << lastError();
    sinter_tensor_free(&read);
  }
  EXPECT_LE(folder.count(), 2); // a name is there between its link and the rename
}

TEST(Npy, ARefusedWriteLeavesNothing) {
  Folder folder;
  float value = 1;
  sinter_tensor tensor = view(&value, {1});
  EXPECT_EQ(sinter_npy_write(folder.file("none/x.npy").c_str(), &tensor), SINTER_IO);
  EXPECT_EQ(lastError(), "cannot write '" + folder.file("none/x.npy") + "': No such file or directory");
  EXPECT_EQ(sinter_npy_write(folder.path.c_str(), &tensor), SINTER_IO);
  EXPECT_EQ(lastError(), "cannot write '" + folder.path.string() + "': it is a directory");
  tensor.dims[0] = -1;
  EXPECT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(folder.count(), 0);
}

} // namespace
