// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PNG by libpng, which reports errors by longjmp: what lives across its calls is in `Reading`, and the functions that
// it may leave hold nothing that would have to be destroyed.

#include "Media.h"

using namespace sinter::data;

#if SINTER_HAS_PNG
#include <csetjmp>
#include <png.h>

namespace {
struct Reading {
  std::string_view rest;
  std::string message;
  png_structp png = nullptr;
  png_infop info = nullptr;
  int64_t height = 0, width = 0, channels = 0, depth = 0;

  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

void onError(png_structp png, png_const_charp message) {
  static_cast<Reading *>(png_get_error_ptr(png))->message = message;
  png_longjmp(png, 1);
}

void onWarning(png_structp, png_const_charp) {}

void onRead(png_structp png, png_bytep to, size_t count) {
  auto &rest = static_cast<Reading *>(png_get_io_ptr(png))->rest;
  if (count > rest.size())
    png_error(png, "the file is truncated");
  std::memcpy(to, rest.data(), count);
  rest.remove_prefix(count);
}

/// Reads what comes before the pixels and asks for 8 or 16 bits and no palette. False after an error.
bool readHead(Reading &reading) {
  if (setjmp(png_jmpbuf(reading.png)))
    return false;
  png_structp png = reading.png;
  png_infop info = reading.info;
  // Texts, profiles and times are passed over, however far they expand.
  static const png_byte unread[] =
      "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0"
      "tEXt\0tIME\0zTXt";
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, unread, sizeof unread / 5);
  png_set_user_limits(png, 1 << 24, 1 << 24);
  png_read_info(png, info);
  png_set_expand(png); // palettes to colours, fewer than 8 bits to 8, a colour that is transparent to alpha
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  png_set_swap(png);
#endif
  png_set_interlace_handling(png);
  int64_t packedRow = static_cast<int64_t>(png_get_rowbytes(png, info));
  png_read_update_info(png, info);
  reading.height = png_get_image_height(png, info);
  reading.width = png_get_image_width(png, info);
  reading.channels = png_get_channels(png, info);
  reading.depth = png_get_bit_depth(png, info);
  // Deflate makes a byte into 1,032 at most.
  if (packedRow > 1032 * static_cast<int64_t>(reading.rest.size()) / reading.height)
    png_error(png, "the file is too short for its pixels");
  return true;
}

bool readRows(Reading &reading, png_bytep *rows) {
  if (setjmp(png_jmpbuf(reading.png)))
    return false;
  png_read_image(reading.png, rows);
  png_read_end(reading.png, nullptr);
  return true;
}
} // namespace

bool sinter::data::readsPng() { return true; }

Value sinter::data::decodePng(std::string_view bytes, int64_t maxPixels) {
  Reading reading;
  reading.rest = bytes;
  auto fail = [&] { throw Error(SINTER_CORRUPT, "a PNG picture could not be read: " + reading.message, {}, true); };
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, onError, onWarning);
  reading.info = reading.png ? png_create_info_struct(reading.png) : nullptr;
  if (!reading.info)
    throw std::bad_alloc();
  png_set_read_fn(reading.png, &reading, onRead);
  if (!readHead(reading))
    fail();
  requirePixels("PNG", reading.height, reading.width, maxPixels);
  int64_t rowBytes = reading.width * reading.channels * (reading.depth / 8);
  auto memory = allocate(reading.height * rowBytes);
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < reading.height; ++y)
    rows.push_back(reinterpret_cast<png_bytep>(memory.get()) + y * rowBytes);
  if (!readRows(reading, rows.data()))
    fail();
  return Value(reading.depth == 16 ? SINTER_U16 : SINTER_U8, {reading.height, reading.width, reading.channels},
               std::move(memory));
}
#else
bool sinter::data::readsPng() { return false; }

Value sinter::data::decodePng(std::string_view, int64_t) {
  throw Error(SINTER_UNSUPPORTED, "PNG pictures require libpng, which this build was made without");
}
#endif
