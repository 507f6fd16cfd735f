// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What NVIDIA's assembler says of PTX, where it is installed.

#ifndef SINTER_TEST_BACKENDS_CUDA_PTXAS_H
#define SINTER_TEST_BACKENDS_CUDA_PTXAS_H

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <string>
#include <unistd.h>
#include <vector>

namespace sinter::cuda {

inline bool hasPtxas() { return std::system("ptxas --version > /dev/null 2>&1") == 0; }

/// The PTX has `kernels` that spill nothing, run no products of warpgroups one by one, and need `registers` at most, on
/// each of `generations`.
inline void expectNoSpills(const std::string &ptx, unsigned kernels, int registers,
                           const std::vector<const char *> &generations = {"sm_80", "sm_90"}) {
  std::string path = testing::TempDir() + "sinter-tiles-" + std::to_string(getpid()) + ".ptx", output = path + ".log";
  std::ofstream(path) << ptx;
  for (const char *generation : generations) {
    std::string command =
        "ptxas -v -o /dev/null -arch=" + std::string(generation) + " " + path + " > " + output + " 2>&1";
    int status = std::system(command.c_str());
    std::ifstream log(output);
    std::string told((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    EXPECT_EQ(status, 0) << generation << ": " << told;
    EXPECT_EQ(told.find("are serialized"), std::string::npos) << generation << ": " << told;
    std::regex numbers("([0-9]+) bytes spill stores|Used ([0-9]+) registers");
    unsigned seen = 0;
    for (std::sregex_iterator it(told.begin(), told.end(), numbers), end; it != end; ++it, ++seen) {
      if ((*it)[1].matched)
        EXPECT_EQ((*it)[1], "0") << generation << ": " << told;
      else
        EXPECT_LE(std::stoi((*it)[2]), registers) << generation << ": " << told;
    }
    EXPECT_EQ(seen, 2 * kernels) << told;
    std::remove(output.c_str());
  }
  std::remove(path.c_str());
}

} // namespace sinter::cuda

#endif
