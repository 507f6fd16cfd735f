// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an ONNX file may ask of us. ONNX files are not trusted: whatever exceeds a limit is refused, and the message
// that refuses it names the limit.

#ifndef SINTER_COMPILER_ONNX_LIMITS_H
#define SINTER_COMPILER_ONNX_LIMITS_H

#include "ir/Limits.h"

namespace sinter::onnx {

/// Bytes of one serialized model; protobuf itself cannot address more. Larger weights are external data.
inline constexpr uint64_t kMaxModelBytes = (uint64_t(1) << 31) - 1;
/// What a parsed model may take of memory: so many bytes, and so many more for each byte of its file.
inline constexpr uint64_t kMinFootprint = uint64_t(64) << 20, kMaxSpread = 32;
/// The newest version of the file format that is known.
inline constexpr int64_t kNewestIrVersion = 14;
/// Nodes of a model after local functions are expanded.
inline constexpr int64_t kMaxNodes = 1 << 20;
/// Graphs within graphs (If, Loop and Scan bodies), and calls of functions within functions.
inline constexpr int kMaxDepth = 48;
/// Messages within one another: a graph within a graph takes three, graph, node and attribute.
inline constexpr int kMaxMessageDepth = 3 * kMaxDepth + 16;
using sinter::kMaxRank;
using sinter::kMaxTensorBytes;
/// Inputs, outputs or attributes of one node.
inline constexpr int kMaxNodeEdges = 1 << 16;
/// Values that all sequences of a model hold together, those that are passed to functions and back again each time.
inline constexpr uint64_t kMaxSequenceValues = uint64_t(1) << 20;
/// Characters of a name that an error message repeats.
inline constexpr int kMaxNameInMessage = 120;
/// Elements up to which an integer constant may steer the import (shapes, axes, pads ...).
inline constexpr int64_t kMaxSteeringElements = 4096;

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_LIMITS_H
