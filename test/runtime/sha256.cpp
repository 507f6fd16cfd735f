// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages and digests of FIPS 180-4's examples and of NIST's SHA Test Vectors (SHA256ShortMsg, SHA256LongMsg).

extern "C" {
#include "runtime/sha256.h"
}
#include <gtest/gtest.h>
#include <string>

namespace {

std::string digestOf(const std::string &message) {
  uint8_t digest[srtSha256Bytes];
  char text[srtSha256TextBytes];
  srtSha256(message.data(), static_cast<int64_t>(message.size()), digest);
  return srtSha256Text(digest, text);
}

TEST(Sha256, AgreesWithNist) {
  EXPECT_EQ(digestOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digestOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digestOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digestOf("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsm"
                     "nopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(digestOf(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(digestOf("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(digestOf("\xc9\x8c\x8e\x55"), "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
  EXPECT_EQ(digestOf(std::string(55, '\0')), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(digestOf(std::string(56, '\0')), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(digestOf(std::string(64, '\0')), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}

TEST(Sha256, PiecesOfAnySizeMakeTheSameDigest) {
  std::string message;
  for (int i = 0; i < 1000; ++i)
    message += static_cast<char>(i * 7);
  std::string whole = digestOf(message);
  for (size_t piece : {1, 3, 55, 56, 63, 64, 65, 127, 128, 500}) {
    Sha256 sha;
    srtSha256Begin(&sha);
    for (size_t at = 0; at < message.size(); at += piece)
      srtSha256Add(&sha, message.data() + at, static_cast<int64_t>(std::min(piece, message.size() - at)));
    uint8_t digest[srtSha256Bytes];
    char text[srtSha256TextBytes];
    srtSha256End(&sha, digest);
    EXPECT_EQ(srtSha256Text(digest, text), whole) << piece;
  }
}

TEST(Sha256, TextIsReadBackAndNothingElse) {
  std::string text = digestOf("abc"), upper = text;
  for (char &c : upper)
    c = static_cast<char>(toupper(c));
  uint8_t digest[srtSha256Bytes];
  char again[srtSha256TextBytes];
  EXPECT_TRUE(srtSha256Parse(upper.c_str(), digest));
  EXPECT_EQ(srtSha256Text(digest, again), text);
  for (const std::string &wrong :
       {std::string(), text.substr(1), text + "0", "g" + text.substr(1), text.substr(1) + " "})
    EXPECT_FALSE(srtSha256Parse(wrong.c_str(), digest)) << wrong;
}

} // namespace
