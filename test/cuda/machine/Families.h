// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each family of instructions adds its names.
#pragma once

#include "Decode.h"

namespace sinter::ptx {

std::vector<Instruction> integerInstructions();    // Integers.cpp
std::vector<Instruction> bitInstructions();        // Bits.cpp
std::vector<Instruction> floatInstructions();      // Floats.cpp
std::vector<Instruction> comparisonInstructions(); // Comparisons.cpp
std::vector<Instruction> conversionInstructions(); // Conversions.cpp
std::vector<Instruction> accessInstructions();     // Loads.cpp
std::vector<Instruction> atomicInstructions();     // Atomics.cpp
std::vector<Instruction> controlInstructions();    // Control.cpp
std::vector<Instruction> warpInstructions();       // Collectives.cpp
std::vector<Instruction> clusterInstructions();    // Clusters.cpp
std::vector<Instruction> matrixInstructions();     // Matrix.cpp
std::vector<Instruction> asyncInstructions();      // AsyncCopies.cpp
std::vector<Instruction> wgmmaInstructions();      // Wgmma.cpp

void decodeClusterBarrier(Decoder &d); // barrier.cluster, without `cluster`

// Integers.cpp and Floats.cpp share names.
void decodeFloatArithmetic(Decoder &d, Type type);
Handler floatUnary(const std::string &name, Type type);

} // namespace sinter::ptx
