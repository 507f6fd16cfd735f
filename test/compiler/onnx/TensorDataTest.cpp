// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/TensorData.h"

#include "test/runtime/Files.h"
#include "gtest/gtest.h"
#include <filesystem>

using namespace sinter::onnx;
namespace onnxfile = sinter::onnxfile;
using sinter::test::Folder;

namespace {

onnxfile::Tensor tensor(int32_t type, std::initializer_list<int64_t> dims) {
  onnxfile::Tensor proto;
  proto.set_data_type(type);
  for (int64_t dim : dims)
    proto.add_dims(dim);
  return proto;
}

std::string decodeError(const onnxfile::Tensor &proto, ExternalFiles *files = nullptr) {
  auto data = decodeTensor(proto, files);
  return data ? "" : llvm::toString(data.takeError());
}

TEST(TensorData, typed_fields) {
  onnxfile::Tensor floats = tensor(onnxfile::FLOAT, {2});
  floats.add_float_data(1.5f);
  floats.add_float_data(-2);
  EXPECT_EQ((*decodeTensor(floats, nullptr)).asFloats(), (llvm::SmallVector<double>{1.5, -2}));

  onnxfile::Tensor halves = tensor(onnxfile::FLOAT16, {1});
  halves.add_int32_data(0x3c00);
  EXPECT_EQ((*decodeTensor(halves, nullptr)).asFloats(), (llvm::SmallVector<double>{1}));

  onnxfile::Tensor bytes = tensor(onnxfile::INT8, {2});
  bytes.add_int32_data(-1);
  bytes.add_int32_data(7);
  EXPECT_EQ((*decodeTensor(bytes, nullptr)).asInts(), (llvm::SmallVector<int64_t>{-1, 7}));
}

TEST(TensorData, scalar_and_empty) {
  onnxfile::Tensor scalar = tensor(onnxfile::INT64, {});
  scalar.add_int64_data(3);
  EXPECT_EQ((*decodeTensor(scalar, nullptr)).asInts(), (llvm::SmallVector<int64_t>{3}));
  EXPECT_EQ((*decodeTensor(tensor(onnxfile::INT64, {4, 0}), nullptr)).numElements(), 0);
}

TEST(TensorData, booleans_become_zero_and_one) {
  onnxfile::Tensor proto = tensor(onnxfile::BOOL, {3});
  proto.set_raw_data(std::string("\0\1\7", 3));
  EXPECT_EQ((*decodeTensor(proto, nullptr)).asInts(), (llvm::SmallVector<int64_t>{0, 1, 1}));
}

TEST(TensorData, sizes_must_agree) {
  onnxfile::Tensor proto = tensor(onnxfile::FLOAT, {2, 2});
  EXPECT_EQ(decodeError(proto), "requires 4 elements, found 0 in float_data");
  proto.set_raw_data("12345");
  EXPECT_EQ(decodeError(proto), "requires 16 bytes of raw data, found 5");
}

TEST(TensorData, dims_that_overflow) {
  EXPECT_EQ(
      decodeError(tensor(onnxfile::FLOAT, {int64_t(1) << 40, int64_t(1) << 40})),
      "requires at most 1099511627776 bytes a tensor (kMaxTensorBytes), found dims [1099511627776, 1099511627776]");
  EXPECT_EQ(decodeError(tensor(onnxfile::FLOAT, {-1})), "requires dims of at least 0, found -1");
}

TEST(TensorData, unsupported_types) {
  EXPECT_EQ(decodeError(tensor(onnxfile::STRING, {1})), "element type string is not supported");
  EXPECT_EQ(decodeError(tensor(99, {1})), "element type type 99 is not supported");
}

class ExternalData : public testing::Test {
protected:
  onnxfile::Tensor at(const std::string &location, const std::string &offset, const std::string &length) {
    onnxfile::Tensor proto = tensor(onnxfile::FLOAT, {2});
    proto.set_data_location(1);
    auto add = [&](const char *key, const std::string &value) {
      onnxfile::Entry *entry = proto.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    if (!offset.empty())
      add("offset", offset);
    if (!length.empty())
      add("length", length);
    return proto;
  }

  std::string error(const std::string &location, const std::string &offset = "", const std::string &length = "") {
    ExternalFiles files(folder.file("model"));
    return decodeError(at(location, offset, length), &files);
  }

  void SetUp() override {
    float values[4] = {1, 2, 3, 4};
    folder.write("model/w.bin", std::string(reinterpret_cast<char *>(values), sizeof(values)));
    folder.write("secret", "0123456789abcdef");
  }

  Folder folder;
};

TEST_F(ExternalData, is_mapped) {
  ExternalFiles files(folder.file("model"));
  auto data = decodeTensor(at("w.bin", "8", "8"), &files);
  ASSERT_TRUE(bool(data)) << llvm::toString(data.takeError());
  EXPECT_EQ(data->asFloats(), (llvm::SmallVector<double>{3, 4}));
}

TEST_F(ExternalData, link_inside_the_folder_is_allowed) {
  std::filesystem::create_symlink("w.bin", folder.file("model/link"));
  EXPECT_EQ(error("link"), "");
}

TEST_F(ExternalData, paths_outside_are_refused) {
  EXPECT_EQ(error(folder.file("secret")), "external data requires a path inside the model's folder, found the absolute "
                                          "path '" +
                                              folder.file("secret") + "'");
  EXPECT_EQ(error("../secret"), "external data requires a path inside the model's folder, found '..' in '../secret'");
  std::filesystem::create_symlink("../secret", folder.file("model/out"));
  EXPECT_EQ(error("out"),
            "external data requires a path inside the model's folder, found 'out', a link that leaves it");
  std::filesystem::create_directory_symlink("..", folder.file("model/up"));
  EXPECT_EQ(error("up/secret"),
            "external data requires a path inside the model's folder, found 'up/secret', a link that leaves it");
  EXPECT_EQ(error(""), "external data requires a location, found none");
  EXPECT_EQ(error("."), "external data requires a path inside the model's folder, found '.', a link that leaves it");
}

TEST_F(ExternalData, ranges_are_checked) {
  EXPECT_EQ(error("w.bin", "12"), "requires bytes 12 to 20 of external data file 'w.bin', which has 16");
  EXPECT_EQ(error("w.bin", "18446744073709551615"),
            "requires bytes 18446744073709551615 to 7 of external data file 'w.bin', which has 16");
  EXPECT_EQ(error("w.bin", "-4"), "external data requires a non-negative offset, found '-4'");
  EXPECT_EQ(error("w.bin", "0", "4"), "requires 8 bytes of external data, found length 4");
  EXPECT_EQ(error("gone.bin"), "external data file 'gone.bin' cannot be opened: No such file or directory");
}

TEST_F(ExternalData, messages_are_one_line) {
  EXPECT_EQ(error("a\nb"), "external data file 'a?b' cannot be opened: No such file or directory");
  EXPECT_EQ(error("/a\nb"), "external data requires a path inside the model's folder, found the absolute path '/a?b'");
  EXPECT_EQ(error("../\x1b"), "external data requires a path inside the model's folder, found '..' in '../?'");
  EXPECT_EQ(error("w.bin", "1\n"), "external data requires a non-negative offset, found '1?'");
  EXPECT_EQ(error("w.bin", "0", "\t"), "external data requires a non-negative length, found '?'");
}

TEST_F(ExternalData, is_refused_outside_models) {
  EXPECT_EQ(decodeError(at("w.bin", "", "")), "external data is allowed in models only");
}

TEST(TensorFile, reads_test_data) {
  Folder folder;
  onnxfile::Tensor proto = tensor(onnxfile::INT32, {2});
  proto.add_int32_data(5);
  proto.add_int32_data(6);
  auto data = readTensorFile(folder.write("input_0.pb", proto.SerializeAsString()));
  ASSERT_TRUE(bool(data)) << llvm::toString(data.takeError());
  EXPECT_EQ(data->asInts(), (llvm::SmallVector<int64_t>{5, 6}));
}

TEST(TensorFile, messages_are_one_line) {
  Folder folder;
  onnxfile::Tensor proto = tensor(onnxfile::STRING, {2});
  proto.set_name("a\nb");
  std::string path = folder.write("input_0.pb", proto.SerializeAsString());
  EXPECT_EQ(llvm::toString(readTensorFile(path).takeError()),
            path + ": tensor 'a?b': element type string is not supported");
}

} // namespace
