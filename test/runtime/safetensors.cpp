// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "Functions.h"
#include "runtime/dtypes.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace sinter::test;

namespace {

std::string file(const std::string &header, const std::string &data) {
  std::string length;
  for (int i = 0; i < 8; ++i)
    length += static_cast<char>(header.size() >> 8 * i & 0xFF);
  return length + header + data;
}

std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape, int begin, int end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

/// What opening says about `content`; empty when it opens.
std::string openingSays(const std::string &content) {
  Folder folder;
  std::string path = folder.write("x.safetensors", content);
  sinter_safetensors *opened = nullptr;
  bool good = sinter_safetensors_open(path.c_str(), &opened) == SINTER_OK;
  EXPECT_EQ(opened != nullptr, good);
  sinter_safetensors_close(opened);
  std::string text = good ? "" : lastError();
  for (size_t at; (at = text.find(path)) != std::string::npos;)
    text.replace(at, path.size(), "FILE");
  return text;
}

TEST(Safetensors, EveryDtypeAndRankComesBack) {
  Folder folder;
  std::mt19937 random(1);
  std::vector<std::vector<unsigned char>> data;
  std::vector<std::string> names;
  std::vector<sinter_tensor> tensors;
  for (int32_t dtype = SINTER_F64; dtype <= SINTER_F8E5M2; ++dtype)
    for (int32_t rank : {0, 1, 3, 16}) {
      sinter_tensor made = {};
      made.dtype = dtype;
      made.rank = rank;
      size_t bytes = static_cast<size_t>(sinter_dtype_bytes(dtype));
      for (int32_t d = 0; d < rank; ++d)
        bytes *= static_cast<size_t>(made.dims[d] = rank == 16 ? 1 + d % 2 : d == 0 && dtype == SINTER_I8 ? 0 : 2 + d);
      data.emplace_back(bytes);
      for (auto &byte : data.back())
        byte = static_cast<unsigned char>(random() % (dtype == SINTER_I1 ? 2 : 256)); // booleans are 0 and 1
      names.push_back("t \"" + std::to_string(dtype) + "\"\n\\" + std::to_string(rank));
      tensors.push_back(made);
    }
  std::vector<const char *> pointers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].data = data[i].data();
    pointers.push_back(names[i].c_str());
  }
  std::string path = folder.file("x.safetensors");
  ASSERT_EQ(
      sinter_safetensors_write(path.c_str(), pointers.data(), tensors.data(), static_cast<int32_t>(tensors.size())),
      SINTER_OK)
      << lastError();
  EXPECT_EQ(folder.count(), 1);
  sinter_safetensors *opened;
  ASSERT_EQ(sinter_safetensors_open(path.c_str(), &opened), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_safetensors_count(opened), static_cast<int32_t>(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    sinter_tensor got;
    ASSERT_EQ(sinter_safetensors_read(opened, pointers[i], &got), SINTER_OK) << lastError();
    EXPECT_EQ(got.dtype, tensors[i].dtype);
    EXPECT_EQ(got.rank, tensors[i].rank);
    EXPECT_EQ(memcmp(got.dims, tensors[i].dims, sizeof got.dims), 0);
    EXPECT_EQ(memcmp(got.data, data[i].data(), data[i].size()), 0);
    sinter_tensor_free(&got);
  }
  sinter_safetensors_close(opened);
}

TEST(Safetensors, WritesAlignedHeadersAndReadsWhatOthersWrite) {
  Folder folder;
  float values[2] = {1, 2};
  sinter_tensor made = view(values, {2});
  const char *name = "a";
  ASSERT_EQ(sinter_safetensors_write(folder.file("x").c_str(), &name, &made, 1), SINTER_OK);
  std::string written = readFile(folder.file("x"));
  EXPECT_EQ(written.size(), 64u + 8);
  EXPECT_EQ(written.substr(8, 56), "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  ");
  std::string other =
      " \n{ \"__metadata__\" : {\"format\":\"pt\", \"n\\u00e4\":\"\\ud83d\\ude00\"} "
      ",\n\t\"b\\u00fc\\ud83d\\ude00\":{\"data_offsets\":[4,8],"
      "\"shape\":[],\"dtype\":\"I32\"}, \"a\":{\"shape\":[4],\"dtype\":\"U8\",\"data_offsets\":[0,4]}}   ";
  sinter_safetensors *opened;
  ASSERT_EQ(sinter_safetensors_open(folder.write("y", file(other.substr(2), "abcd\1\0\0\0")).c_str(), &opened),
            SINTER_CORRUPT);
  ASSERT_EQ(sinter_safetensors_open(folder.write("y", file(other.substr(2), std::string("abcd\1\0\0\0", 8))).c_str(),
                                    &opened),
            SINTER_OK)
      << lastError();
  EXPECT_STREQ(sinter_safetensors_name(opened, 0), "a");
  EXPECT_STREQ(sinter_safetensors_name(opened, 1), "b\xC3\xBC\xF0\x9F\x98\x80");
  EXPECT_EQ(sinter_safetensors_name(opened, 2), nullptr);
  sinter_tensor got;
  ASSERT_EQ(sinter_safetensors_read(opened, "b\xC3\xBC\xF0\x9F\x98\x80", &got), SINTER_OK);
  EXPECT_EQ(*static_cast<int32_t *>(got.data), 1);
  sinter_tensor_free(&got);
  EXPECT_EQ(sinter_safetensors_read(opened, "c", &got), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(got.data, nullptr);
  sinter_safetensors_close(opened);
}

TEST(Safetensors, RefusesBrokenFiles) {
  EXPECT_EQ(openingSays("abc"), "safetensors file 'FILE' requires 8 bytes at least, got 3");
  EXPECT_EQ(
      openingSays(std::string(8, '\xFF')),
      "safetensors file 'FILE' requires a header within its 8 bytes and below 100000000, got 18446744073709551615");
  EXPECT_EQ(openingSays(file("{}", "")), "");
  EXPECT_EQ(openingSays(file("", "")), "safetensors file 'FILE' requires '{' at byte 0 of its header");
  EXPECT_EQ(openingSays(file(" {}", "")), "safetensors file 'FILE' requires '{' at byte 0 of its header");
  EXPECT_EQ(openingSays(file("{}", "x")), "safetensors file 'FILE' requires tensors for 1 bytes of data, got 0");
  EXPECT_EQ(openingSays(file("{} x", "")),
            "safetensors file 'FILE' requires nothing but blanks at byte 3 of its header");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F33", "[1]", 0, 4) + "}", "1234")),
            "tensor 'a' of 'FILE' has the dtype F33, which is not supported");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F32", "[2]", 0, 4) + "}", "1234")),
            "tensor 'a' of 'FILE' requires the bytes of f32 2, its data_offsets give 4");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F32", "[9223372036854775807,4]", 0, 4) + "}", "1234")),
            "tensor 'a' of 'FILE' requires the bytes of f32 9223372036854775807x4, its data_offsets give 4");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F32", "[9223372036854775808]", 0, 4) + "}", "1234")).substr(0, 56),
            "safetensors file 'FILE' requires an integer from 0 on at");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F32", "[1]", 0, 8) + "}", "1234")),
            "tensor 'a' of 'FILE' requires data_offsets [begin, end] within 4 bytes");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F32", "[1]", 4, 0) + "}", "1234")),
            "tensor 'a' of 'FILE' requires data_offsets [begin, end] within 4 bytes");
  EXPECT_EQ(openingSays(file("{" + tensor("a", "F32", "[1]", 4, 8) + "}", "12345678")),
            "tensor 'a' of 'FILE' requires data at 0, behind the one before, got 4");
  EXPECT_EQ(
      openingSays(file("{" + tensor("a", "F32", "[1]", 0, 4) + "," + tensor("b", "F32", "[1]", 0, 4) + "}", "1234")),
      "tensor 'b' of 'FILE' requires data at 4, behind the one before, got 0");
  EXPECT_EQ(openingSays(
                file("{" + tensor("a", "F32", "[1]", 0, 4) + "," + tensor("a", "F32", "[1]", 4, 8) + "}", "12345678")),
            "safetensors file 'FILE' names tensor 'a' twice");
  EXPECT_EQ(openingSays(file("{\"a\":{\"dtype\":\"F32\"}}", "")).substr(0, 68),
            "safetensors file 'FILE' requires dtype, shape and data_offsets, each");
  EXPECT_EQ(openingSays(file("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", "")).substr(0, 68),
            "safetensors file 'FILE' requires dtype, shape and data_offsets, each");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100000; ++i)
    deep += "{\"a\":";
  EXPECT_NE(openingSays(file(deep, "")), "");
  EXPECT_NE(openingSays(file("{" + tensor("a", "U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", 0, 1) + "}", "1")), "");
}

TEST(Safetensors, NoCutOrChangedFileIsReadWrongly) {
  std::string good = file("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a\\u00e9", "F32", "[2,1]", 0, 8) + "," +
                              tensor("b", "I64", "[]", 8, 16) + "}",
                          std::string(16, 'x'));
  ASSERT_EQ(openingSays(good), "");
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(openingSays(good.substr(0, length)), "") << length;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = good;
    for (int k = 0; k <= i % 3; ++k)
      changed[random() % changed.size()] = static_cast<char>(random());
    (void)openingSays(changed); // must come back
  }
}

TEST(Safetensors, RefusesToWriteNonsense) {
  Folder folder;
  float values[2] = {1, 2};
  sinter_tensor two[2] = {view(values, {2}), view(values, {2})};
  const char *same[2] = {"a", "a"}, *metadata[1] = {"__metadata__"};
  EXPECT_EQ(sinter_safetensors_write(folder.file("x").c_str(), same, two, 2), SINTER_INVALID_ARGUMENT);
  EXPECT_NE(lastError().find("requires distinct names, got 'a' twice"), std::string::npos);
  EXPECT_EQ(sinter_safetensors_write(folder.file("x").c_str(), metadata, two, 1), SINTER_INVALID_ARGUMENT);
  two[0].dtype = SINTER_U4;
  EXPECT_EQ(sinter_safetensors_write(folder.file("x").c_str(), same, two, 1), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(),
            "tensor 'a' of '" + folder.file("x") + "' requires an element type that safetensors files have, got ui4");
  two[0].dtype = SINTER_F32;
  EXPECT_EQ(sinter_safetensors_write(folder.file("no/x").c_str(), same, two, 1), SINTER_IO);
  EXPECT_EQ(folder.count(), 0);
}

} // namespace
