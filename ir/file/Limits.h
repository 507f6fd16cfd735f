// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a graph file may ask of us. Graph files are not trusted: whatever exceeds a limit is refused, and the message
// that refuses it names the limit. The writer keeps the same limits.

#ifndef SINTER_IR_FILE_LIMITS_H
#define SINTER_IR_FILE_LIMITS_H

#include "ir/Limits.h"

namespace sinter::file {

/// Bytes of the FlatBuffer, which cannot be larger by its own format. Weights lie outside.
inline constexpr uint64_t kMaxGraphBytes = (uint64_t(1) << 31) - 64;
/// Nesting of FlatBuffers tables.
inline constexpr uint32_t kMaxTableDepth = 64;
/// Names of ops, attributes and enumerations; types; locations; weights; resources; functions: each.
inline constexpr uint32_t kMaxRecords = 1 << 22;
/// Ops of all functions together.
inline constexpr uint32_t kMaxOps = 1 << 22;
/// Regions within regions.
inline constexpr uint32_t kMaxRegionDepth = 64;
/// Arrays and dictionaries within each other in an attribute.
inline constexpr uint32_t kMaxAttributeDepth = 16;
/// Locations within locations.
inline constexpr uint32_t kMaxLocationDepth = 256;
using sinter::kMaxRank;
using sinter::kMaxTensorBytes;
/// Bytes of a name of an op, attribute, enumeration, function or resource.
inline constexpr uint32_t kMaxNameBytes = 4096;
/// Bytes of a constant that is stored within the FlatBuffer; larger ones are weights.
inline constexpr uint32_t kMaxInlineBytes = 1024;

} // namespace sinter::file

#endif
