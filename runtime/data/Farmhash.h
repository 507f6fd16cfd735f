// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FarmHash's Fingerprint64 (Pike 2014, https://github.com/google/farmhash), which TensorFlow hashes strings with, and
// how it joins fingerprints for crossed columns. Both never change.

#ifndef SINTER_RUNTIME_DATA_FARMHASH_H
#define SINTER_RUNTIME_DATA_FARMHASH_H

#include <cstdint>
#include <string_view>

namespace sinter::data {

uint64_t fingerprint64(std::string_view text);

/// TensorFlow's FingerprintCat64, and what it begins with for a cross.
uint64_t joinFingerprints(uint64_t first, uint64_t second);
inline constexpr uint64_t crossKey = 0xDECAFCAFFE;

} // namespace sinter::data

#endif
