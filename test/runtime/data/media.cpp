// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures and sounds: bytes as the formats' documents lay them out, and what is refused.
#include "runtime/data/Media.h"
#include "Messages.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace sinter::data;
using sinter::test::messageOf;
using namespace std::string_literals;

template <typename T> static std::vector<int64_t> numbersOf(const Value &value) {
  auto all = value.as<T>();
  return {all.begin(), all.end()};
}

// As Pillow's.
TEST(DataPictures, netpbm_as_shares_of_the_greatest) {
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(numbersOf<uint8_t>(decodePicture("P1 3 2 101 0 1 0")), (Numbers{0, 255, 0, 255, 0, 255}));
  EXPECT_EQ(numbersOf<uint8_t>(decodePicture("P4 9 1\n\x80\x80"s)), (Numbers{0, 255, 255, 255, 255, 255, 255, 255, 0}));
  EXPECT_EQ(numbersOf<uint8_t>(decodePicture("P2 2 2 9 0 1 8 9")), (Numbers{0, 28, 227, 255}));
  EXPECT_EQ(numbersOf<uint16_t>(decodePicture("P5 3 1 1000\n\x00\x01\x01\xF4\x03\xE8"s)), (Numbers{66, 32768, 65535}));
}

TEST(DataPictures, every_kind_of_netpbm) {
  using Numbers = std::vector<int64_t>;
  Value bits = decodePnm("P1 # three by two\n3 2\n101\n0 1 0");
  EXPECT_EQ(bits.dims().text(), "2x3x1");
  EXPECT_EQ(numbersOf<uint8_t>(bits), (Numbers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(numbersOf<uint8_t>(decodePnm("P2\n2 2\n#x\n9\n0 1\n8 9\n")), (Numbers{0, 1, 8, 9}));
  Value wide = decodePnm("P3 1 1 65535 1 256 65535");
  EXPECT_EQ(wide.dims().text(), "1x1x3");
  EXPECT_EQ(numbersOf<uint16_t>(wide), (Numbers{1, 256, 65535}));
  EXPECT_EQ(numbersOf<uint8_t>(decodePnm("P4 9 2\n\x80\x80\x01\x00"s)),
            (Numbers{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  EXPECT_EQ(numbersOf<uint8_t>(decodePnm("P5 3 1 255\n\x00\x0A\xFF"s)), (Numbers{0, 10, 255}));
  EXPECT_EQ(numbersOf<uint16_t>(decodePnm("P5 2 1 1000\n\x00\x01\x03\xE8"s)), (Numbers{1, 1000}));
  Value color = decodePnm("P6 1 2 255\nabcdef");
  EXPECT_EQ(color.dims().text(), "2x1x3");
  EXPECT_EQ(numbersOf<uint8_t>(color), (Numbers{'a', 'b', 'c', 'd', 'e', 'f'}));
}

/// Pixel i has (7 i^2 + 31 i) mod 251.
static Value patternOf(const Dims &dims) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < dims.count(); ++i)
    pixels.push_back(static_cast<uint8_t>((i * i * 7 + i * 31) % 251));
  return Value::of(std::span<const uint8_t>(pixels), dims);
}

TEST(DataPictures, other_sizes_have_pillows_pixels) {
  using Numbers = std::vector<int64_t>;
  Value gray = patternOf({3, 5, 1}), colors = patternOf({37, 53, 3}); // Pillow 13.0, Image.resize(..., BILINEAR)
  EXPECT_EQ(resizePicture(gray, 2, 3).dims().text(), "2x3x1");
  EXPECT_EQ(numbersOf<uint8_t>(resizePicture(gray, 2, 3)), (Numbers{57, 102, 177, 98, 124, 90}));
  EXPECT_EQ(numbersOf<uint8_t>(resizePicture(gray, 4, 2)), (Numbers{43, 161, 94, 142, 118, 114, 109, 85}));
  EXPECT_EQ(numbersOf<uint8_t>(resizePicture(gray, 1, 7)), (Numbers{36, 98, 127, 86, 132, 138, 121}));
  auto sum = [&](int64_t height, int64_t width) {
    uint32_t sum = 0;
    for (int64_t pixel : numbersOf<uint8_t>(resizePicture(colors, height, width)))
      sum = sum * 31 + static_cast<uint32_t>(pixel);
    return sum;
  };
  EXPECT_EQ(sum(16, 16), 1607263406u);
  EXPECT_EQ(sum(37, 53), 2051742065u);
  EXPECT_EQ(sum(80, 20), 724574749u);
  EXPECT_EQ(sum(1, 1), 131076u);
}

TEST(DataPictures, other_sizes_of_wide_pixels) {
  std::vector<uint16_t> pixels = {0, 65535, 65535, 65535};
  Value picture = Value::of(std::span<const uint16_t>(pixels), {1, 4, 1});
  EXPECT_EQ(numbersOf<uint16_t>(resizePicture(picture, 1, 1)),
            (std::vector<int64_t>{51882})); // less 5/24, the weight of 0
  EXPECT_EQ(numbersOf<uint16_t>(resizePicture(picture, 2, 4)),
            (std::vector<int64_t>{0, 65535, 65535, 65535, 0, 65535, 65535, 65535}));
  EXPECT_EQ(messageOf([&] { resizePicture(picture, 0, 4); }),
            "a resized picture requires 1 to 134217728 pixels, got 0x4");
  EXPECT_EQ(messageOf([] { resizePicture(Value::scalar(1.f), 2, 2); }),
            "a picture to be resized requires ui8 or ui16 [height, width, channels], got f32 scalar");
}

TEST(DataPictures, what_is_no_picture_is_told) {
  const std::pair<std::string, const char *> bad[] = {
      {"P7 1 1", "the start P1 to P6"},
      {"", "the start P1 to P6"},
      {"P5 x", "a width"},
      {"P5 1234567890 1 255\n", "a width of at most 9 digits"},
      {"P5 0 1 255\n", "sizes above 0 and a largest value up to 65535"},
      {"P5 1 1 65536\n", "sizes above 0 and a largest value up to 65535"},
      {"P5 1 1 255", "a blank before its values"},
      {"P6 999999999 999999999 65535\n1", "values for 999999999x999999999 pixels, the file ends before them"},
      {"P1 1 1 #", "values up to 1"},
      {"P1 1 1   #\n", "values up to 1"},
      {"P1 1 1 2", "values up to 1"},
      {"P2 2 1 9 9     ", "a value for each pixel"},
      {"P2 1 1 9 10", "values up to 9"}};
  for (const auto &[bytes, what] : bad)
    EXPECT_EQ(messageOf([&] { decodePnm(bytes); }), std::string("a PNM picture requires ") + what) << bytes;
}

/// A file of WAVE with a chunk that nobody knows in front.
static std::string wav(uint16_t kind, uint16_t bits, const std::string &data, uint16_t channels = 2) {
  std::string bytes = "RIFF....WAVEnote\x03\0\0\0abc\0fmt \x10\0\0\0"s;
  auto put = [&](auto number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof number); };
  put(kind);
  put(channels);
  put(uint32_t(8000));
  put(uint32_t(8000 * channels * bits / 8));
  put(static_cast<uint16_t>(channels * bits / 8));
  put(bits);
  bytes += "data";
  put(static_cast<uint32_t>(data.size()));
  return bytes + data;
}

TEST(DataSounds, every_kind_of_wave) {
  using Numbers = std::vector<int64_t>;
  int64_t rate = 0;
  Value shorts = decodeWav(wav(1, 16, "\x01\x00\xFF\xFF\x00\x80\x00\x40"s), &rate);
  EXPECT_EQ(shorts.dims().text(), "2x2");
  EXPECT_EQ(rate, 8000);
  EXPECT_EQ(numbersOf<int16_t>(shorts), (Numbers{1, -1, -32768, 16384}));
  EXPECT_EQ(numbersOf<uint8_t>(decodeWav(wav(1, 8, "\x00\x80\xFF"s))), (Numbers{0, 128})); // whole frames
  EXPECT_EQ(numbersOf<int32_t>(decodeWav(wav(1, 24, "\x01\x00\x00\xFF\xFF\xFF"s))), (Numbers{256, -256}));
  EXPECT_EQ(numbersOf<int32_t>(decodeWav(wav(1, 32, "\x01\x00\x00\x00\x00\x00\x00\x80"s))),
            (Numbers{1, -2147483648LL}));
  EXPECT_EQ(decodeWav(wav(3, 32, "\x00\x00\x00\x3F\x00\x00\x80\xBF"s)).as<float>()[1], -1.0f);
  EXPECT_EQ(decodeWav(wav(3, 64, std::string(6, '\0') + "\xE0\x3F"s + std::string(8, '\0'))).as<double>()[0], 0.5);
  Value scaled = decodeWavF32(wav(1, 16, "\x00\x80\x00\x40"s));
  EXPECT_EQ(scaled.as<float>()[0], -1.0f);
  EXPECT_EQ(scaled.as<float>()[1], 0.5f);
  EXPECT_EQ(decodeWavF32(wav(1, 8, "\x00\xC0"s)).as<float>()[1], 0.5f);
}

TEST(DataSounds, what_is_no_sound_is_told) {
  auto refused = [](const std::string &bytes) { return messageOf([&] { decodeWav(bytes); }); };
  std::string good = wav(1, 16, "abcd");
  EXPECT_EQ(refused("RIFX....WAVE"), "a WAV sound requires the start RIFF and WAVE");
  EXPECT_EQ(refused("RIFF....WAVE"), "a WAV sound requires a chunk 'fmt ' and a chunk 'data'");
  EXPECT_EQ(refused(good.substr(0, good.size() - 1)), "a WAV sound requires chunks within the file");
  EXPECT_EQ(refused(wav(1, 16, "", 0)), "a WAV sound requires a channel or more");
  EXPECT_EQ(refused(wav(85, 16, "")),
            "a WAV sound requires PCM of 8, 16, 24 or 32 bits or floats of 32 or 64, got kind "
            "85 of 16 bits");
}

TEST(DataFolders, files_have_the_labels_of_their_folders) {
  namespace fs = std::filesystem;
  fs::path folder = fs::path(testing::TempDir()) / ("folder" + std::to_string(getpid()));
  for (const char *name : {"b/2.pgm", "a/1.pgm", "b/bad.pgm", "c/x.txt", "0.pgm"}) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << (std::string(name) == "b/bad.pgm" ? "none" : "P2 1 1 9 5");
  }
  Dataset pictures =
      Dataset::from(openFolder(folder.string(), {".pgm"})).map(decodeColumn(decodePnm, "bytes", "image"));
  Loader loader(pictures.skipErrors());
  std::string seen;
  for (Record record; loader.next(record);)
    seen += std::string(record["file"].bytes()) + " " + std::to_string(record["label"].as<int64_t>()[0]) + " " +
            record["image"].dims().text() + ", ";
  EXPECT_EQ(seen, "0.pgm -1 1x1x1, a/1.pgm 0 1x1x1, b/2.pgm 1 1x1x1, ");
  EXPECT_EQ(folderLabels(folder.string()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(messageOf([&] {
              Loader all(pictures);
              for (Record record; all.next(record);)
                ;
            }),
            "'b/bad.pgm': a PNM picture requires the start P1 to P6");
  EXPECT_NE(messageOf([&] {
              openFolder(folder.string(), {}, 3)->read(0);
            }).find("a file is required to have at most 3 bytes, got 10"),
            std::string::npos);
  EXPECT_NE(messageOf([&] { openFolder("/none"); }).find("cannot read folder '/none'"), std::string::npos);
  EXPECT_EQ(describeOthers(folder.string(), {".pgm"}),
            folder.string() + ": 1 file is left out, which no suffix tells to be read: 'c/x.txt'");
  std::ofstream(folder / "b/.hidden") << "";
  std::ofstream(folder / "a/z.gif") << "";
  EXPECT_EQ(describeOthers(folder.string(), {".pgm"}),
            folder.string() + ": 2 files are left out, which no suffix tells to be read: 'a/z.gif', ...");
  EXPECT_EQ(describeOthers(folder.string(), {".pgm", ".gif", ".txt"}), "");

  // A state fits to the same files with the same content.
  auto signature = [&] { return Dataset::from(openFolder(folder.string(), {".pgm"})).signature(); };
  std::string before = signature();
  EXPECT_EQ(signature(), before);
  std::ofstream(folder / "a/1.pgm") << "P2 1 1 9 6";
  EXPECT_NE(signature(), before);
  std::ofstream(folder / "a/1.pgm") << "P2 1 1 9 5";
  EXPECT_EQ(signature(), before);
  fs::rename(folder / "b", folder / "d");
  EXPECT_NE(signature(), before);
  fs::remove_all(folder);
}
