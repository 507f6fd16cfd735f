// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures of any format, told by their first bytes, with the number of channels that a model wants.

#include "Media.h"
#include <algorithm>
#include <array>
#include <limits>

using namespace sinter::data;

void sinter::data::requirePixels(const char *format, int64_t height, int64_t width, int64_t maxPixels) {
  if (height < 1 || width < 1 || height > maxPixels / width)
    throw Error(SINTER_LIMIT,
                std::string("a ") + format + " picture requires 1 to " + std::to_string(maxPixels) + " pixels, got " +
                    std::to_string(height) + "x" + std::to_string(width),
                {}, true);
}

/// One pixel of `from` channels (1 gray, 2 gray and alpha, 3 colours, 4 colours and alpha, or inks) as one of `to`.
template <typename T> static void convertPixel(const T *in, int64_t from, bool isInk, T *out, int64_t to) {
  constexpr uint64_t full = std::numeric_limits<T>::max();
  uint64_t red = in[0], green = in[from < 3 ? 0 : 1], blue = in[from < 3 ? 0 : 2], alpha = full;
  if (isInk) {
    uint64_t light = full - in[3];
    auto mixed = [&](uint64_t ink) { return light - (ink * light + full / 2) / full; };
    red = mixed(in[0]), green = mixed(in[1]), blue = mixed(in[2]);
  } else if (from % 2 == 0) {
    alpha = in[from - 1];
  }
  if (to < 3) // ITU-R BT.601 in 16 bits
    out[0] = static_cast<T>((red * 19595 + green * 38470 + blue * 7471 + 32768) >> 16);
  else
    out[0] = static_cast<T>(red), out[1] = static_cast<T>(green), out[2] = static_cast<T>(blue);
  if (to % 2 == 0)
    out[to - 1] = static_cast<T>(alpha);
}

template <typename T> static Value converted(const Value &picture, int64_t to, bool isInk) {
  int64_t from = picture.dims()[2], pixels = picture.count() / from;
  auto memory = allocate(pixels * to * static_cast<int64_t>(sizeof(T)));
  const T *in = picture.as<T>().data();
  T *out = reinterpret_cast<T *>(memory.get());
  for (int64_t i = 0; i < pixels; ++i)
    convertPixel(in + i * from, from, isInk, out + i * to, to);
  return Value(picture.dtype(), {picture.dims()[0], picture.dims()[1], to}, std::move(memory));
}

Value sinter::data::decodePicture(std::string_view bytes, int64_t channels, int64_t maxPixels) {
  if (channels < 0 || channels > 4)
    throw Error(SINTER_INVALID_ARGUMENT,
                "a picture requires 1 to 4 channels, or 0 for those of the file, got " + std::to_string(channels));
  bool isJpeg = bytes.starts_with("\xFF\xD8");
  if (!isJpeg && !bytes.starts_with("\x89PNG") && !bytes.starts_with("P"))
    throw Error(SINTER_UNSUPPORTED, "a picture requires PNG, JPEG or netpbm", {}, true);
  Value picture = isJpeg                         ? decodeJpeg(bytes, maxPixels)
                  : bytes.starts_with("\x89PNG") ? decodePng(bytes, maxPixels)
                                                 : decodeFullPnm(bytes);
  if (channels == 0 || channels == picture.dims()[2])
    if (!(isJpeg && picture.dims()[2] == 4 && channels == 4))
      return picture;
  bool isInk = isJpeg && picture.dims()[2] == 4;
  return picture.dtype() == SINTER_U16 ? converted<uint16_t>(picture, channels, isInk)
                                       : converted<uint8_t>(picture, channels, isInk);
}

static constexpr std::array<const char *, 2> soundSuffixes = {".wav", ".WAV"};

const std::vector<std::string> &sinter::data::mediaSuffixes() {
  static const std::vector<std::string> suffixes = [] {
    std::vector<std::string> all = pictureSuffixes();
    all.insert(all.end(), soundSuffixes.begin(), soundSuffixes.end());
    return all;
  }();
  return suffixes;
}

bool sinter::data::isSound(std::string_view name) {
  return std::ranges::any_of(soundSuffixes, [&](const char *suffix) { return name.ends_with(suffix); });
}

const std::vector<std::string> &sinter::data::pictureSuffixes() {
  static const std::vector<std::string> suffixes = {".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pbm",
                                                    ".PNG", ".JPG", ".JPEG", ".PPM", ".PGM", ".PBM"};
  return suffixes;
}
