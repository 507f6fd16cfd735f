// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step keeps of its moments where somebody asks for fewer bits (StateType). A step computes with what it reads,
// and its move with the exact new moments; only what it writes is coded.
//
//   bf16   the upper half of the number in f32
//   int8   blocks of 256 elements in row-major order (the last one filled up with zeros), each with its greatest
//          magnitude as a scale; with r = value / scale
//            k = floor(127 sign(r) sqrt|r| + u)                  value = scale (k / 127) |k / 127|
//          and of moments that are sums or means of squares, whose root divides,
//            k = max(floor(255 r^(1/4) + u), 1) - 128            value = scale ((k + 128) / 255)^4
//
// Both codes of int8 are finer near zero, as the dynamic code of Dettmers et al. 2022 is, but need no table: the root
// of a square has the steps of a signed moment. A square is never 0 beside others, since 0 would divide by eps alone.
//
// u = frac(1/2 + t (sqrt(5) - 1) / 2) after t steps, of all elements alike, is evenly spread over the steps. It rounds
// up in just the share of them that keeps averages true: 0.999 of a number, rounded to the nearest of 8 bits, would be
// the number again.

#ifndef SINTER_COMPILER_TRAIN_CODES_H
#define SINTER_COMPILER_TRAIN_CODES_H

#include "compiler/train/Moves.h"

namespace sinter::formulas {

/// Elements that share a scale, and the fewest of a moment that is coded: others take next to no memory.
constexpr int64_t kBlock = 256, kLeastCoded = 4096;

/// Whether a moment like this one is kept in fewer bits than its own.
template <class N> bool isCoded(StateType type, const N &moment) {
  return type != StateType::weight && bitsOf(moment) >= 32 && countOf(moment) >= static_cast<double>(kLeastCoded);
}

/// Whether the moment `kind` is made of squares.
inline bool isOfSquares(const std::string &kind, MoveSettings::Kind move) {
  return kind != "mean" && kind != "momentum" && !(kind == "sum" && move == MoveSettings::Kind::ftrl);
}

/// What a step rounds up by, from the number of steps before it; f64 of rank 0.
template <class N> N roundingOf(const N &before) {
  N turns = 0.6180339887498949 * before + 0.5;
  return turns - floorOf(turns);
}

template <class N> struct Blocks {
  N code;  // i8 [blocks, kBlock]
  N scale; // [blocks]
};

/// Whether a weight that moves like this can move as blocks: element by element, or by norms of all of it.
inline bool movesInBlocks(MoveSettings::Kind move) {
  return move != MoveSettings::Kind::adafactor && move != MoveSettings::Kind::muon;
}

template <class N> Blocks<N> encoded(const N &value, bool isOfSquares, const N &rounding) {
  N blocks = inBlocks(value, kBlock), size = magnitude(blocks), scale = greatestAlong(size, 1);
  N share = size / along(greatest(scale, fill(scale, 1e-37)), blocks, {0}), up = inTypeOf(rounding, share);
  N code = isOfSquares ? greatest(floorOf(255.0 * squareRoot(squareRoot(share)) + up), fill(share, 1)) - 128.0
                       : floorOf(127.0 * signOf(blocks) * squareRoot(share) + up);
  return {asByte(code), scale};
}

/// The moment in the type of `scale` and the shape of `like`.
template <class N> N decoded(const N &code, const N &scale, bool isOfSquares, const N &like) {
  N k = inTypeOf(inBlocks(code, kBlock), scale);
  N root = isOfSquares ? (k + 128.0) / 255.0 : k / 127.0;
  N share = isOfSquares ? (root * root) * (root * root) : root * magnitude(root);
  return fromBlocks(share * along(scale, share, {0}), like);
}

} // namespace sinter::formulas

#endif
