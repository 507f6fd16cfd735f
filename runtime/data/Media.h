// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures and sounds: files of a folder as records, and their bytes as tensors, wherever they come from.
//
//   Dataset::from(openFolder("flowers", {".ppm"})).map(decodeColumn(decodePnm, "bytes", "image"), {.threads = 2})
//   Dataset::from(openFolder("flowers", pictureSuffixes()))
//       .map(decodeColumn([](std::string_view bytes) { return decodePicture(bytes, 3); }, "bytes", "image"))

#ifndef SINTER_RUNTIME_DATA_MEDIA_H
#define SINTER_RUNTIME_DATA_MEDIA_H

#include "Dataset.h"

namespace sinter::data {

/// The files below `folder` whose names end with one of `suffixes` (all if there is none), by path: columns `file` (the
/// path below the folder), `bytes`, and `label`, i64: the number of the first folder below it among these, by name (-1
/// for files in `folder` itself). A file may have `maxBytes`.
std::shared_ptr<const Source> openFolder(const std::string &folder, const std::vector<std::string> &suffixes = {},
                                         int64_t maxBytes = 256 << 20);
/// The names that labels stand for.
std::vector<std::string> folderLabels(const std::string &folder);
/// How many files below `folder` openFolder leaves out, and the first of them, as a line; empty where there is none.
/// Files whose names begin with a dot are not counted.
std::string describeOthers(const std::string &folder, const std::vector<std::string> &suffixes);

/// A PNG picture by libpng: ui8, or ui16 where it has 16 bits, [height, width, channels]; 1 gray, 2 gray and alpha,
/// 3 colours, 4 colours and alpha. Palettes become colours, a transparent colour becomes alpha; gamma and profiles are
/// not applied. More than `maxPixels` are an error before memory is taken for them.
Value decodePng(std::string_view bytes, int64_t maxPixels = int64_t(1) << 27);
/// A JPEG picture by libjpeg-turbo: ui8 [height, width, 1 gray, 3 colours or 4 inks (255 full)]. A file that ends early
/// is an error, not a gray rest.
Value decodeJpeg(std::string_view bytes, int64_t maxPixels = int64_t(1) << 27);
/// Whether this library was built with what the two need; otherwise they throw.
bool readsPng();
bool readsJpeg();

/// A picture of any of these formats, told by its first bytes, with `channels` of them: 1 gray (by ITU-R BT.601), 2
/// with alpha, 3 colours, 4 with alpha (full where there is none); 0: as they are.
Value decodePicture(std::string_view bytes, int64_t channels = 0, int64_t maxPixels = int64_t(1) << 27);
/// A picture in another size: ui8 or ui16 [height, width, channels], each channel by itself, by a triangle filter that
/// averages where the picture becomes smaller: along rows, then along columns. The pixels are those of Pillow's
/// BILINEAR, where that takes columns first (a height that shrinks more than the width) at most one step apart.
///   decodeColumn([](std::string_view bytes) { return resizePicture(decodePicture(bytes, 3), 64, 64); }, "bytes",
///   "image")
Value resizePicture(const Value &picture, int64_t height, int64_t width, int64_t maxPixels = int64_t(1) << 27);
/// For openFolder: .png, .jpg, .jpeg, .ppm, .pgm, .pbm.
const std::vector<std::string> &pictureSuffixes();
/// The same and .wav.
const std::vector<std::string> &mediaSuffixes();
/// Whether a file called so is a sound of these.
bool isSound(std::string_view name);
/// Throws unless there are 1 to `maxPixels` of them.
void requirePixels(const char *format, int64_t height, int64_t width, int64_t maxPixels);

/// A picture of netpbm (P1 to P6): ui8, of values above 255 ui16, [height, width, 1 or 3]; of bitmaps 1 is black.
Value decodePnm(std::string_view bytes);
/// The same as Pillow has it: values are shares of 255 or 65535 instead of the file's largest one, and white is 255.
Value decodeFullPnm(std::string_view bytes);

/// A sound of RIFF WAVE, [frames, channels]: ui8, i16, i32 (also of 24 bits, in the upper ones), f32 or f64. `rate`,
/// where it is not null, becomes frames a second.
Value decodeWav(std::string_view bytes, int64_t *rate = nullptr);
/// The same as f32 in [-1, 1), whatever the file holds.
Value decodeWavF32(std::string_view bytes);

/// A function for map(): what `decode` makes of the bytes of one column takes its place as `result`. Errors are
/// skippable and name the file where the record has a column `file`, with the folder in front.
Dataset::Map decodeColumn(std::function<Value(std::string_view)> decode, const std::string &column,
                          const std::string &result, const std::string &folder = {});

} // namespace sinter::data

#endif
