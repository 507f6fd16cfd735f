// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures and sounds: files of a folder as records, and their bytes as tensors, wherever they come from.
//
//   Dataset::from(openFolder("flowers", {".ppm"})).map(decodeColumn(decodePnm, "bytes", "image"), {.threads = 2})

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

/// A picture of netpbm (P1 to P6): ui8, of values above 255 ui16, [height, width, 1 or 3]; of bitmaps 1 is black.
Value decodePnm(std::string_view bytes);

/// A sound of RIFF WAVE, [frames, channels]: ui8, i16, i32 (also of 24 bits, in the upper ones), f32 or f64. `rate`,
/// where it is not null, becomes frames a second.
Value decodeWav(std::string_view bytes, int64_t *rate = nullptr);
/// The same as f32 in [-1, 1), whatever the file holds.
Value decodeWavF32(std::string_view bytes);

/// A function for map(): what `decode` makes of the bytes of one column takes its place as `result`. Errors are
/// skippable and name the file where the record has a column `file`.
Dataset::Map decodeColumn(std::function<Value(std::string_view)> decode, const std::string &column,
                          const std::string &result);

} // namespace sinter::data

#endif
