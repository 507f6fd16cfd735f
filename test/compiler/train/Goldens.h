// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What torch_goldens.py says, and its numbers by a formula.

#ifndef SINTER_TEST_COMPILER_TRAIN_GOLDENS_H
#define SINTER_TEST_COMPILER_TRAIN_GOLDENS_H

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sinter/sinter.hpp>
#include <sstream>

namespace goldens {

inline sinter::Tensor fill(const sinter::Shape &shape, int seed, double scale = 0.6) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.elements(); ++i)
    values.push_back((double((i + 1) * (37 + 2 * seed) % 97) / 97 - 0.5) * scale);
  return sinter::Tensor(values, shape);
}

inline std::vector<double> golden(const std::string &name, const char *path = SINTER_GOLDENS) {
  static std::map<std::string, std::map<std::string, std::vector<double>>> files;
  if (!files.count(path))
    files[path] = [&] {
      std::map<std::string, std::vector<double>> read;
      std::ifstream file(path);
      for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key, number;
        words >> key;
        while (words >> number)
          read[key].push_back(std::stod(number));
      }
      return read;
    }();
  const auto &all = files[path];
  auto found = all.find(name);
  EXPECT_NE(found, all.end()) << name;
  return found == all.end() ? std::vector<double>() : found->second;
}

inline void expectNear(const std::string &name, const std::vector<double> &got, double tolerance = 1e-12,
                       const char *path = SINTER_GOLDENS) {
  std::vector<double> wanted = golden(name, path);
  ASSERT_EQ(got.size(), wanted.size()) << name;
  for (size_t k = 0; k < got.size(); ++k)
    ASSERT_NEAR(got[k], wanted[k], tolerance * std::max(1., std::abs(wanted[k]))) << name << " " << k;
}

} // namespace goldens

#endif
