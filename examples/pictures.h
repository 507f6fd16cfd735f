/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Pictures of 12 x 12 with a bar across, down or aslant, and noise, by a formula: what train_cnn.cpp and
 * train_cnn_main.c learn to tell. */

#ifndef SINTER_EXAMPLES_PICTURES_H
#define SINTER_EXAMPLES_PICTURES_H

#include <stdint.h>

enum { kPictures = 24, kSide = 12, kKinds = 3 };

/* Batch `number`: pictures [24, 1, 12, 12] and what they show [24]. */
static void makePictures(uint32_t number, float *pictures, int64_t *kinds) {
  uint32_t random = number * 2654435761u + 12345u;
  for (int k = 0; k < kPictures; ++k) {
    random = random * 1664525u + 1013904223u;
    int kind = (int)((random >> 16) % kKinds), place = (int)((random >> 20) % kSide);
    kinds[k] = kind;
    for (int row = 0; row < kSide; ++row)
      for (int column = 0; column < kSide; ++column) {
        random = random * 1664525u + 1013904223u;
        float noise = (float)(random >> 8) / 16777216.f;
        int isBar = kind == 0 ? row == place : kind == 1 ? column == place : (row + column) % kSide == place;
        pictures[(k * kSide + row) * kSide + column] = noise + (isBar ? .5f : 0.f);
      }
  }
}

#endif
