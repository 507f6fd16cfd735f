// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of kernels/hopper_sm_90a.ptx and clusters_sm_90a.ptx, and tensor maps for them.
#pragma once

#include "test/cuda/Runner.h"
#include "test/cuda/machine/TensorMap.h"

#include <fstream>
#include <map>
#include <sstream>

namespace sinter::ptx {

struct alignas(64) Map {
  char bytes[128];
};

/// A map by the numbers of cuTensorMapEncodeTiled; of zeros where that would refuse it.
inline Map mapOf(int type, uint64_t address, std::vector<uint64_t> sizes, std::vector<uint64_t> strides,
                 std::vector<uint32_t> box, Swizzle swizzle) {
  TensorMap made;
  std::string why;
  const std::vector<uint32_t> ones(sizes.size(), 1);
  Map map{};
  if (TensorMap::encode(made, type, unsigned(sizes.size()), address, sizes.data(), strides.data(), box.data(),
                        ones.data(), 0, int(swizzle), 0, why))
    std::memcpy(map.bytes, &made, sizeof made);
  return map;
}

/// The module of kernels/`file`.ptx with that kernel alone.
inline std::string textOf(const std::string &file, const std::string &kernel) {
  static std::map<std::string, std::string> texts;
  std::string &text = texts[file];
  if (text.empty()) {
    std::ifstream stream(std::string(CUDA_KERNELS) + "/" + file + ".ptx");
    std::ostringstream all;
    all << stream.rdbuf();
    text = all.str();
  }
  const std::string entry = ".visible .entry ";
  const size_t begin = text.find(entry + kernel + "("), end = text.find(entry, begin + 1);
  if (begin == std::string::npos)
    return "";
  return text.substr(0, text.find(entry)) + text.substr(begin, end - begin); // shared memory is declared first
}

inline std::string hopperText(const std::string &kernel) { return textOf("hopper_sm_90a", kernel); }

/// A module with the n-th `from` of its kernel become `to`; empty where there is none.
inline std::string withChange(std::string changed, const std::string &from, int n, const std::string &to) {
  size_t at = changed.find(".entry");
  for (int i = 0; i <= n && at != std::string::npos; ++i)
    at = changed.find(from, at + 1);
  return at == std::string::npos ? "" : changed.replace(at, from.size(), to);
}

} // namespace sinter::ptx
