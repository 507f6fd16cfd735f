// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types that are kept but not computed in: f8E4M3FN, f8E5M2, i4, u4.

#include "Agree.h"
#include <cmath>
#include <cstdlib>

using namespace sinter;
using namespace sinter::test;

namespace {

std::vector<int> bytesOf(const Tensor &tensor) {
  std::vector<int> bytes;
  for (std::byte byte : tensor.bytes())
    bytes.push_back(int(byte));
  return bytes;
}

Tensor fromBytes(std::initializer_list<int> values, DType dtype, const Shape &shape) {
  std::vector<std::byte> bytes;
  for (int value : values)
    bytes.push_back(std::byte(value));
  return Tensor::from_bytes(bytes, dtype, shape);
}

/// (-1)^s 2^(e - bias) (1 + f / 2^fraction), or without the 1 where the field e is 0: OCP 8-bit floating point, 1.0.
double float8(int code, int fraction, int bias) {
  int field = code >> fraction & ((1 << (7 - fraction)) - 1);
  double part = double(code & ((1 << fraction) - 1)) / (1 << fraction);
  double size = field ? std::ldexp(1 + part, field - bias) : std::ldexp(part, 1 - bias);
  return code & 128 ? -size : size;
}

/// Every code is its number, and each number between two codes the nearer one, the even one halfway.
template <class T> void expectRounds(int fraction, int bias, int greatest) {
  for (int code = 0; code < 256; ++code) {
    T number;
    number.bits = uint8_t(code);
    if ((code & 127) <= greatest) {
      EXPECT_EQ(float(number), float8(code, fraction, bias)) << code;
      EXPECT_EQ(T(float(number)).bits, code);
    }
  }
  for (int code = 0; code < greatest; ++code) {
    double low = float8(code, fraction, bias), high = float8(code + 1, fraction, bias), middle = (low + high) / 2;
    EXPECT_EQ(T(float(middle)).bits, code % 2 ? code + 1 : code);
    EXPECT_EQ(T(std::nextafter(float(middle), 0.f)).bits, code);
    EXPECT_EQ(T(std::nextafter(-float(middle), -HUGE_VALF)).bits, 128 + code + 1);
    // Of a double no float lies between it and the middle: one rounding, not two.
    EXPECT_EQ(detail::convertNumber<T>(std::nextafter(middle, HUGE_VAL)).bits, code + 1);
    EXPECT_EQ(detail::convertNumber<T>(std::nextafter(middle, 0.)).bits, code);
  }
  for (float much : {float(float8(greatest, fraction, bias)) * 1.01f, 1e30f, HUGE_VALF}) {
    EXPECT_EQ(T(much).bits, greatest);
    EXPECT_EQ(T(-much).bits, 128 + greatest);
  }
  EXPECT_TRUE(std::isnan(float(T(std::nanf("")))));
}

TEST(Storage, FloatsOf8BitsRoundToNearestEven) {
  expectRounds<float8_e4m3fn>(3, 7, 0x7e);
  expectRounds<float8_e5m2>(2, 15, 0x7b);
  EXPECT_TRUE(std::isinf(float(std::bit_cast<float8_e5m2>(uint8_t(0x7c)))));
}

TEST(Storage, DoublesRoundToHalvesOnce) {
  EXPECT_EQ(detail::convertNumber<float16>(1 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
  EXPECT_EQ(detail::convertNumber<float16>(-(1 + 0x1p-11 - 0x1p-40)).bits, 0xbc00);
  EXPECT_EQ(detail::convertNumber<bfloat16>(1 + 0x1p-8 + 0x1p-40).bits, 0x3f81);
  EXPECT_EQ(detail::convertNumber<float16>(1e300).bits, 0x7c00);
}

TEST(Storage, CastsAgreeWithTheCompiler) {
  std::vector<double> values{
      0,     -0.0,  1,        -1.0625,   0.001953125,      3.3, 15.5, -448, 1000, -1e9, 0.007, 7.5, -8.9, 16.2, 57344,
      61440, 65536, HUGE_VAL, -HUGE_VAL, 1.0625 + 0x1p-40, 1e-9};
  Tensor x(values, {int64_t(values.size())});
  for (DType dtype : {DType::f8E4M3FN, DType::f8E5M2}) {
    Tensor stored = astype(x, dtype);
    EXPECT_EQ(stored.dtype(), dtype);
    std::vector<int> wanted;
    for (double value : values)
      wanted.push_back(dtype == DType::f8E4M3FN ? detail::convertNumber<float8_e4m3fn>(value).bits
                                                : detail::convertNumber<float8_e5m2>(value).bits);
    EXPECT_EQ(bytesOf(stored), wanted);
    EXPECT_EQ(astype(stored, DType::f32).to_vector<float>(), stored.to_vector<float>());
    EXPECT_EQ(bytesOf(jit([&](Tensor x) { return astype(x, dtype); })(x)), wanted);
  }
  // Floats truncate and saturate, integers wrap (ir/Storage.h).
  Tensor floats({-9.5f, -8.f, -0.9f, 2.9f, 7.f, 100.f, 16.f}), integers({-9, -8, 7, 8, 15, 16, 255});
  EXPECT_EQ(astype(floats, DType::i4).to_vector<int>(), (std::vector<int>{-8, -8, 0, 2, 7, 7, 7}));
  EXPECT_EQ(astype(floats, DType::u4).to_vector<int>(), (std::vector<int>{0, 0, 0, 2, 7, 15, 15}));
  EXPECT_EQ(astype(integers, DType::i4).to_vector<int>(), (std::vector<int>{7, -8, 7, -8, -1, 0, -1}));
  EXPECT_EQ(astype(integers, DType::u4).to_vector<int>(), (std::vector<int>{7, 8, 7, 8, 15, 0, 15}));
  EXPECT_EQ(astype(astype(integers, DType::u4), DType::f32).to_vector<float>(),
            (std::vector<float>{7, 8, 7, 8, 15, 0, 15}));
}

TEST(Storage, FromBytes) {
  Tensor four = fromBytes({0x21, 0xf3, 0x9a}, DType::i4, {5});
  EXPECT_EQ(four.type().str(), "i4[5]");
  EXPECT_EQ(four.to_vector<int>(), (std::vector<int>{1, 2, 3, -1, -6}));
  EXPECT_EQ(bytesOf(four), (std::vector<int>{0x21, 0xf3, 0x0a})); // the half that is left is 0
  EXPECT_EQ(fromBytes({0x21, 0xf3}, DType::u4, {2, 2}).to_vector<double>(), (std::vector<double>{1, 2, 3, 15}));
  EXPECT_EQ(to_string(fromBytes({0x21, 0xf3}, DType::i4, {2, 2})), "[[1, 2],\n [3, -1]]");
  Tensor eight = fromBytes({0x38, 0xc0, 0x7e}, DType::f8E4M3FN, {3});
  EXPECT_EQ(eight.to_vector<float>(), (std::vector<float>{1, -2, 448}));
  EXPECT_EQ(to_string(eight), "[1, -2, 448]");
  EXPECT_EQ(fromBytes({0, 0, 0x80, 0x3f}, DType::f32, {}).item<float>(), 1);
  EXPECT_EQ(Tensor({float8_e5m2(1.5f)}).type().str(), "f8E5M2[1]");
  EXPECT_EQ(fromBytes({}, DType::i4, {0, 3}).to_vector<int>(), std::vector<int>());
  EXPECT_EQ(messageOf([] { fromBytes({1, 2, 3}, DType::i4, {3}); }), "from_bytes requires 2 bytes for i4[3], got 3");
  EXPECT_EQ(messageOf([] { fromBytes({1}, DType::f8E5M2, {2}); }), "from_bytes requires 2 bytes for f8E5M2[2], got 1");
}

TEST(Storage, OneElement) {
  auto there = [](Tensor x) { return std::tuple{astype(x, DType::f8E5M2), astype(x, DType::i4)}; };
  auto back = [](Tensor f, Tensor i) { return astype(f, DType::f32) + astype(i, DType::f32); };
  auto [float8, int4] = there(scalar(-3.f));
  EXPECT_EQ(bytesOf(float8), std::vector<int>{0xc2});
  EXPECT_EQ(bytesOf(int4), std::vector<int>{0x0d});
  auto [jitted8, jitted4] = jit(there)(scalar(-3.f));
  EXPECT_EQ(bytesOf(jitted8), std::vector<int>{0xc2});
  EXPECT_EQ(bytesOf(jitted4), std::vector<int>{0x0d});
  EXPECT_EQ(back(float8, int4).item<float>(), -6);
  EXPECT_EQ(jit(back)(float8, int4).item<float>(), -6);
  Tensor bits = bitcast(fromBytes({0x38, 0xc0}, DType::f8E5M2, {2}), DType::u8);
  EXPECT_EQ(bits.to_vector<int>(), (std::vector<int>{0x38, 0xc0}));
  EXPECT_EQ(bytesOf(bitcast(bits, DType::f8E4M3FN)), (std::vector<int>{0x38, 0xc0}));
}

TEST(Storage, Moves) {
  Tensor x = fromBytes({0x21, 0x43, 0x65}, DType::i4, {2, 3});
  auto moved = [](Tensor x) {
    return std::tuple{transpose(x), x[1], x(slice(0, 2), slice(1, 3)), concatenate({x, x}, 0), reshape(x, {6})};
  };
  auto check = [](const auto &parts) {
    auto &[swapped, row, part, twice, flat] = parts;
    EXPECT_EQ(swapped.template to_vector<int>(), (std::vector<int>{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(row.template to_vector<int>(), (std::vector<int>{4, 5, 6}));
    EXPECT_EQ(part.template to_vector<int>(), (std::vector<int>{2, 3, 5, 6}));
    EXPECT_EQ(twice.template to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(flat.type().str(), "i4[6]");
  };
  check(moved(x));
  check(jit(moved)(x));
  Tensor sums =
      jit([x](Tensor scale) { return sum(astype(x, DType::f32) * scale, 1); })(scalar(.5f)); // a captured constant
  EXPECT_EQ(sums.to_vector<float>(), (std::vector<float>{3, 7.5}));
  auto [last, rows] = scan([](Tensor carry, Tensor row) { return std::tuple{row, concatenate({carry, row}, 0)}; },
                           fromBytes({0x88, 0x08}, DType::i4, {3}), x);
  EXPECT_EQ(last.to_vector<int>(), (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(rows.to_vector<int>(), (std::vector<int>{-8, -8, -8, 1, 2, 3, 1, 2, 3, 4, 5, 6}));
}

TEST(Storage, FillsAndChooses) {
  EXPECT_EQ(bytesOf(zeros({3}, DType::i4)), (std::vector<int>{0, 0}));
  EXPECT_EQ(bytesOf(full({3}, 5, DType::u4)), (std::vector<int>{0x55, 0x05}));
  EXPECT_EQ(bytesOf(ones({2}, DType::f8E4M3FN)), (std::vector<int>{0x38, 0x38}));
  Tensor x = fromBytes({0x21, 0x03}, DType::i4, {3});
  EXPECT_EQ(ones_like(x).to_vector<int>(), (std::vector<int>{1, 1, 1}));
  auto choose = [](Tensor mask, Tensor x) { return where(mask, x, -7); };
  Tensor mask({true, false, true});
  EXPECT_EQ(choose(mask, x).to_vector<int>(), (std::vector<int>{1, -7, 3}));
  EXPECT_EQ(jit(choose)(mask, x).to_vector<int>(), (std::vector<int>{1, -7, 3}));
}

TEST(Storage, NothingIsComputed) {
  Tensor four = fromBytes({0x21}, DType::i4, {2}), eight = fromBytes({0x38, 0xc0}, DType::f8E5M2, {2});
  const std::string wanted = " requires a dtype to compute in, got ", how = " (convert with astype)";
  EXPECT_EQ(messageOf([&] { four + four; }), "operator +" + wanted + "i4" + how);
  EXPECT_EQ(messageOf([&] { eight * 2; }), "operator *" + wanted + "f8E5M2" + how);
  EXPECT_EQ(messageOf([&] { maximum(four, four); }), "maximum" + wanted + "i4" + how);
  EXPECT_EQ(messageOf([&] { (void)(four < four); }), "operator <" + wanted + "i4" + how);
  EXPECT_EQ(messageOf([&] { -eight; }), "negative" + wanted + "f8E5M2" + how);
  EXPECT_EQ(messageOf([&] { jit([](Tensor x) { return x - x; })(four); }), "operator -" + wanted + "i4" + how);
  EXPECT_EQ(messageOf([&] { exp(eight); }), "exp requires a float dtype, got f8E5M2 (convert with astype)");
  EXPECT_EQ(messageOf([&] { four + 8; }),
            "operator + requires a number that i4 holds, got 8 (convert the tensor with astype)");
  EXPECT_EQ(messageOf([&] { four.span<int8_t>(); }), "span requires the tensor's element type i4, got i8");
  EXPECT_EQ(messageOf([&] { to_dlpack(four); }), "to_dlpack" + wanted + "i4" + how);
}

} // namespace
