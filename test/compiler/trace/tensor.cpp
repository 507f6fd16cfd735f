// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"
#include "test/runtime/Files.h"
#include <cstdio>
#include <limits>

using namespace sinter;
using namespace sinter::test;

namespace {

TEST(Tensor, FromWhatCppHas) {
  EXPECT_EQ(Tensor(3).type().str(), "i32[]");
  EXPECT_EQ(Tensor(3.0).type().str(), "f64[]");
  EXPECT_EQ(Tensor({1.f, 2.f}).type().str(), "f32[2]");
  EXPECT_EQ(Tensor({{1, 2, 3}, {4, 5, 6}}).type().str(), "i32[2, 3]");
  EXPECT_EQ(Tensor(std::vector<bool>{true, false}).to_vector<int>(), (std::vector<int>{1, 0}));
  std::vector<double> values{1, 2, 3, 4};
  EXPECT_EQ(Tensor(values, {2, 2}).dim(-1), 2);
  EXPECT_EQ(Tensor(std::span<const double>(values), {4}).to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_TRUE(Tensor(1.f).weak());
  EXPECT_FALSE(scalar(1.f).weak());
}

TEST(Tensor, RequiresAsManyElementsAsItsShape) {
  EXPECT_EQ(messageOf([] { Tensor({1.f, 2.f}, {3}); }), "a tensor of shape [3] requires 3 elements, got 2");
}

TEST(Tensor, ReadsWithTypes) {
  Tensor t({1.5f, -2.5f});
  EXPECT_EQ(t.span<float>()[1], -2.5f);
  EXPECT_EQ(messageOf([&] { t.span<double>(); }), "span requires the tensor's element type f32, got f64");
  EXPECT_EQ(messageOf([&] { t.item<float>(); }), "item requires a tensor of one element, got f32[2]");
  EXPECT_EQ(messageOf([] { Tensor().item<float>(); }), "item requires a tensor, got a Tensor() without a value");
  EXPECT_EQ(scalar(std::numeric_limits<float>::infinity()).item<int8_t>(), 127);
  EXPECT_EQ(scalar(-1.f).item<uint8_t>(), 0);
  EXPECT_EQ(scalar(std::numeric_limits<float>::quiet_NaN()).item<int>(), 0);
}

TEST(Tensor, HalvesRoundToNearestEven) {
  for (float value : {0.f, 1.f, -2.5f, 65504.f, 6e-8f, 1e-7f, 0.1f, 2049.f, 2051.f})
    EXPECT_EQ(float(float16(value)), float(static_cast<_Float16>(value))) << value;
  EXPECT_EQ(float16(65520.f).bits, 0x7c00);
  EXPECT_EQ(float(bfloat16(1.00390625f)), 1.f); // half way, to even
  EXPECT_EQ(float(bfloat16(3e38f)), 2.9972e38f > 0 ? float(bfloat16(3e38f)) : 0);
  EXPECT_TRUE(std::isnan(float(float16(std::nanf("")))));
  EXPECT_TRUE(std::isnan(float(bfloat16(std::nanf("")))));
}

TEST(Tensor, ComputesAtOnce) {
  Tensor x({1.f, 2.f, 3.f});
  EXPECT_EQ((x * 2 + 1).to_vector<float>(), (std::vector<float>{3, 5, 7}));
  EXPECT_TRUE(bool(sum(x) > 5));
}

TEST(Tensor, GoesToAndFromNpy) {
  Folder folder;
  std::string path = folder.file("x.npy");
  ASSERT_TRUE(save_npy(path, Tensor({{1.f, 2.f}, {3.f, 4.f}})).ok());
  EXPECT_EQ(to_string(load_npy(path)), "[[1, 2],\n [3, 4]]");
  std::filesystem::remove(path);
  EXPECT_FALSE(messageOf([&] { load_npy(path); }).empty());
}

TEST(Tensor, GoesThroughDlpackWithoutACopy) {
  Tensor t({1.f, 2.f, 3.f});
  dlpack::ManagedTensor *managed = to_dlpack(t);
  EXPECT_EQ(managed->view.rank, 1);
  Tensor back = from_dlpack(managed);
  EXPECT_EQ(back.view().data, t.view().data);
  EXPECT_EQ(back.to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

TEST(Tensor, CopiesStridedDlpackAndFreesItOnce) {
  static int freed = 0;
  static float data[] = {1, 2, 3, 4, 5, 6};
  static int64_t shape[] = {3, 2}, strides[] = {1, 3};
  auto *managed = new dlpack::ManagedTensor{
      {data, {dlpack::cpu, 0}, 2, {dlpack::real, 32, 1}, shape, strides, 0}, nullptr, [](dlpack::ManagedTensor *self) {
        ++freed;
        delete self;
      }};
  EXPECT_EQ(from_dlpack(managed).to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(freed, 1);
}

TEST(Tensor, RefusesDlpackFromElsewhere) {
  static int64_t shape[] = {1};
  dlpack::ManagedTensor managed{{nullptr, {2, 0}, 1, {dlpack::real, 32, 1}, shape, nullptr, 0}, nullptr, nullptr};
  EXPECT_EQ(messageOf([&] { from_dlpack(&managed); }),
            "from_dlpack requires a tensor on the CPU (device type 1), got device type 2");
  managed.view.device.type = dlpack::cpu;
  managed.view.type = {5, 64, 1};
  EXPECT_EQ(messageOf([&] { from_dlpack(&managed); }),
            "from_dlpack requires an element type that tensors have, got code 5, 64 bits, 1 lanes");
}

TEST(Tensor, RefusesShapesThatItCannotHave) {
  std::vector<int64_t> seventeen(17, 1), sixteen(16, 1);
  std::string tooMany = "requires at most 16 axes, got 17";
  EXPECT_EQ(messageOf([&] { Tensor(std::vector<float>(1), Shape(seventeen)); }), "a tensor " + tooMany);
  EXPECT_EQ(messageOf([&] { reshape(Tensor(1.f), seventeen); }), "reshape " + tooMany);
  EXPECT_EQ(messageOf([&] { expand_dims(zeros(sixteen), 0); }), "expand_dims: reshape " + tooMany);
  EXPECT_EQ(messageOf([&] { stack({zeros(sixteen)}); }), "stack: reshape " + tooMany);
  EXPECT_EQ(messageOf([&] { tensordot(zeros(std::vector<int64_t>(9, 1)), zeros(std::vector<int64_t>(8, 1)), 0); }),
            "tensordot: dot_general requires results of at most 16 axes, got 17");
  EXPECT_EQ(messageOf([] { Tensor({{1, 2}, {3, 4, 5}, {6}}); }),
            "a tensor of two axes requires rows of one length, got 2 and 3");
  EXPECT_EQ(messageOf([] { Tensor(std::vector<float>(1), Shape{-1, -1}); }),
            "a tensor requires sizes of at least 0, got -1");
  EXPECT_EQ(messageOf([] { Tensor({1, 2}).dim(1); }), "dim requires an axis of i32[2], got 1");
  EXPECT_EQ(messageOf([] { Tensor().dim(0); }), "dim requires an axis of a tensor, got 0");
  EXPECT_EQ(messageOf([] {
              if (Tensor({1, 2}))
                return;
            }),
            "`if (tensor)` requires a tensor of one element, got i32[2]");
}

TEST(Tensor, PrintsLikeNumpy) {
  EXPECT_EQ(to_string(scalar(true)), "true");
  EXPECT_EQ(to_string(Tensor({0.1f, 1e20f})), "[0.1, 1e+20]");
  EXPECT_EQ(to_string(zeros({2000})), "[0, 0, 0, ..., 0, 0, 0]");
  EXPECT_EQ(to_string(zeros({0, 3})), "[]");
  EXPECT_EQ(to_string(zeros({2, 0})), "[[],\n []]");
  EXPECT_EQ(to_string(Tensor({NAN, -NAN})), "[nan, nan]");
}

} // namespace
