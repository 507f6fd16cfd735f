// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JPEG by libjpeg-turbo, which reports errors by a function that must not return: it jumps, so that the functions that
// it may leave hold nothing that would have to be destroyed.

#include "Media.h"

using namespace sinter::data;

#if SINTER_HAS_JPEG
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>

#include <jerror.h>

namespace {
struct Reading {
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  jmp_buf back;
  char message[JMSG_LENGTH_MAX] = "";
  bool isOpen = false;

  ~Reading() {
    if (isOpen)
      jpeg_destroy_decompress(&jpeg);
  }
};

Reading &readingOf(j_common_ptr jpeg) { return *static_cast<Reading *>(jpeg->client_data); }

void onError(j_common_ptr jpeg) {
  jpeg->err->format_message(jpeg, readingOf(jpeg).message);
  longjmp(readingOf(jpeg).back, 1);
}

/// What libjpeg would make up, pixels that are not in the file, is an error here.
void onMessage(j_common_ptr jpeg, int level) {
  int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE ||
                    code == JWRN_ARITH_BAD_CODE || code == JWRN_NOT_SEQUENTIAL || code == JWRN_BOGUS_PROGRESSION))
    onError(jpeg);
}

/// A progressive file may hold any number of scans, each of which goes over all pixels.
void onProgress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > 200) {
    std::snprintf(readingOf(jpeg).message, JMSG_LENGTH_MAX, "it has more than 200 scans");
    longjmp(readingOf(jpeg).back, 1);
  }
}

bool readHead(Reading &reading, std::string_view bytes) {
  if (setjmp(reading.back))
    return false;
  jpeg_decompress_struct &jpeg = reading.jpeg;
  jpeg.client_data = &reading;
  jpeg.err = jpeg_std_error(&reading.errors);
  reading.errors.error_exit = onError;
  reading.errors.emit_message = onMessage;
  jpeg_create_decompress(&jpeg);
  reading.isOpen = true;
  reading.progress.progress_monitor = onProgress;
  jpeg.progress = &reading.progress;
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char *>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.jpeg_color_space == JCS_YCCK || jpeg.jpeg_color_space == JCS_CMYK)
    jpeg.out_color_space = JCS_CMYK;
  else if (jpeg.jpeg_color_space != JCS_GRAYSCALE)
    jpeg.out_color_space = JCS_RGB;
  jpeg_calc_output_dimensions(&jpeg);
  return true;
}

bool readRows(Reading &reading, unsigned char *pixels, size_t rowBytes) {
  if (setjmp(reading.back))
    return false;
  jpeg_decompress_struct &jpeg = reading.jpeg;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    unsigned char *row = pixels + jpeg.output_scanline * rowBytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}
} // namespace

bool sinter::data::readsJpeg() { return true; }

Value sinter::data::decodeJpeg(std::string_view bytes, int64_t maxPixels) {
  Reading reading;
  auto fail = [&] {
    throw Error(SINTER_CORRUPT, std::string("a JPEG picture could not be read: ") + reading.message, {}, true);
  };
  if (!readHead(reading, bytes))
    fail();
  int64_t height = reading.jpeg.output_height, width = reading.jpeg.output_width;
  int64_t channels = reading.jpeg.out_color_components;
  requirePixels("JPEG", height, width, maxPixels);
  // A block of 64 pixels takes a bit at least, by arithmetic coding a small part of one.
  if (height * width / (reading.jpeg.arith_code ? 1 << 16 : 512) > static_cast<int64_t>(bytes.size()))
    throw Error(SINTER_CORRUPT, "a JPEG picture could not be read: the file is too short for its pixels", {}, true);
  auto memory = allocate(height * width * channels);
  auto *pixels = reinterpret_cast<unsigned char *>(memory.get());
  if (!readRows(reading, pixels, static_cast<size_t>(width * channels)))
    fail();
  if (channels == 4 && reading.jpeg.saw_Adobe_marker) // which stores 255 for no ink
    for (int64_t i = 0; i < height * width * channels; ++i)
      pixels[i] = static_cast<unsigned char>(255 - pixels[i]);
  return Value(SINTER_U8, {height, width, channels}, std::move(memory));
}
#else
bool sinter::data::readsJpeg() { return false; }

Value sinter::data::decodeJpeg(std::string_view, int64_t) {
  throw Error(SINTER_UNSUPPORTED, "JPEG pictures require libjpeg, which this build was made without");
}
#endif
