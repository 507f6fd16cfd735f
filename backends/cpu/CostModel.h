// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What work costs on a target, and how much of it one thread takes at once: the only place with such numbers. Plans and
// the schedule ask it. Most were measured on Zen 4 with AVX-512 and hold for every target until somebody measures
// another.

#ifndef SINTER_BACKENDS_CPU_COSTMODEL_H
#define SINTER_BACKENDS_CPU_COSTMODEL_H

#include "backends/cpu/Target.h"

namespace sinter::cpu {

struct CostModel {
  // Rates, one core. (Peaks are higher: these tell a launch worth a thread from one that is not.)
  double tiledMacsPerNs = 50;       // multiply-adds of a register tile: products and convolutions
  double widenedMacsPerNs = 40;     // the same where operands are converted on the way
  double bfloatMacsPerNs = 90;      // pairs of bf16
  double shortMacsPerNs = 50;       // pairs of i16
  double byteMacsPerNs = 180;       // fours of bytes
  double pairMacsPerNs = 80;        // rows of bytes times four-bit codes, pairs of bytes (Zen 3 with AVX2)
  double bfloatTileMacsPerNs = 500; // tiles of bf16 and of bytes, with what brings them
  double byteTileMacsPerNs = 1000;
  double streamedMacsPerNs = 20; // multiply-adds that read a matrix once; depthwise taps, recurrent cells
  double windowTapsPerNs = 8;    // elements that windows combine
  double reducedNs = 0.1;        // an element of a reduction
  double rowNs = 0.3;            // an element of a softmax or layer norm
  double turnedNs = 0.5;         // an element of a transpose
  double elementNs = 0.1;        // an element of a map that is only moved
  double additionNs = 0.025;     // an addition in lanes; elementCost counts in additions
  double scalarNs = 1;           // an element of plain loops
  double updateCallNs = 1;       // an update, whatever its size
  double updatedNs = 0.2;        // an element of a window that is written
  double scatteredNs = 2;        // an element of a scatter's updates

  // Chunks: what a thread claims at once, some microseconds to a hundred.
  int64_t contractionMacs = 1 << 21;       // tens of microseconds; more where rows stay in the second-level cache
  int64_t fewestContractionMacs = 1 << 19; // even where the second-level cache holds no more
  int64_t parallelChunks = 24;             // blocks of a product grow only while there are so many
  int64_t stripChunks = 24;                // strips pay for many rows: row blocks are made only until there are so many
  int64_t convolutionMacs = 1 << 23;       // about 100 us, so that copied rows are few beside computed ones
  int64_t depthwiseBytes = 128 << 10;      // of padded input, or more where a chunk would copy mostly what others do
  int64_t streamedMacs = 1 << 16;          // matrix times vector streams the matrix
  int64_t mapElements = 16384;             // that are only moved; fewer of dear ones
  int64_t transposedElements = 16384;
  int64_t reducedElements = 1 << 15; // of the operand
  int64_t rowElements = 1 << 13;
  int64_t windowTaps = 1 << 16;
  int64_t rootElements = 256;     // results of plain loops, each a loop of its own
  int64_t plainElements = 16384;  // others of plain loops
  int64_t winogradChunks = 8;     // each transforms its tiles, so they are few
  int64_t recurrentRows = 4;      // of the batch
  int64_t orderedElements = 4096; // of rows that are sorted
  int64_t orderedChunks = 8;      // at most so many, as each has a workspace, or more where all are small:
  int64_t orderedBytes = 4 << 20;
  int64_t cumulativeElements = 4096;
  int64_t scatteredElements = 1 << 14; // of updates
  int64_t baggedElements = 2048;       // results of sums of bags, each of which reads some rows
  int64_t argWindowElements = 256;     // results of a window's positions
  int64_t choleskyChunks = 64;         // at most so many, as matrices share workspaces
  int64_t attentionChunks = 64;        // at most so many, as blocks of rows share workspaces
  int64_t attentionRows = 192;         // at most, of a block of scores, for which keys are transposed once
  int64_t longAttentionRows = 504;     // the same where so many blocks remain:
  int64_t attentionBlocks = 32;
  int64_t shortAttentionRows = 96; // of 16-bit operands, beside copies of which a block stays small
  int64_t shortAttentionGradientRows = 54;
  int64_t tiledAttentionRows = 256; // by tiles of matrix units, which hold scores of 32 rows at a time
  int64_t tiledAttentionGradientRows = 64, tiledAttentionGradientKeys = 128;
  int64_t attentionKeyBytes = 768; // of a row of shares in the backward part
  int64_t attentionHeads = 8;      // so many heads of keys are enough chunks for the backward part

  // Products of bytes without an instruction for fours of them: the time of a word, where one of pairs of bytes that
  // lie as they do in the constant takes 1 (Zen 3 with AVX2).
  struct PairTimes {
    double joined = .83, joinedInOrder = .88; // two words are added in 16 bits
    double asTheyLie = 1, inOrder = 1.05;
    double shorts = 1.25; // pairs of i16, which hold whatever bytes there are
    double extra = 1.6;   // a word that stands behind a panel
    double extras = .5;   // the loop over these
  } pairTimes;

  // Limits that decide between two ways.
  double winogradInputMacs = 260;   // for a tile and an input channel, the transform takes as long as so many
  double winogradOutputMacs = 240;  // multiply-adds; for an output channel
  double streamedByteMacs = 5;      // a byte of a filter that the second-level cache does not hold
  double winogradGain = 1.1;        // a convolution is computed so where that is better by this factor
  int64_t updateElements = 1 << 16; // a larger window is written by the map emitter, on all threads
  int64_t copiedBytes = 32 << 20;   // at most, of operands of a product that are copied whole
  int64_t copiedForRows = 64;       // rows of a right operand that lie far apart are copied for so many rows
  int64_t farBytes = 512;           // rows so far apart share few cache sets, and each is a page of its own
  double inlineNs = 2000;           // shorter launches stay on the calling thread: waking another costs as much
  double smallNs = 400;             // kernels up to here may become a part of the schedule's function
  int64_t smallElements = 1 << 13;  // that a small kernel reads and writes
  int64_t smallKernels = 128;       // in a module at most: they are compiled one after the other
};

/// The costs on `target`; for a kernel that is looked at without one, those of any.
const CostModel &costsOf(const Target *target);

} // namespace sinter::cpu

#endif
