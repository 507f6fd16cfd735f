// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that live as long as a test.

#ifndef SINTER_TEST_RUNTIME_DATA_WRITTENFILES_H
#define SINTER_TEST_RUNTIME_DATA_WRITTENFILES_H

#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace sinter::test {

class WrittenFiles : public testing::Test {
protected:
  /// The path of a new file with this content.
  std::string write(const std::string &name, const std::string &content) {
    std::string path = testing::TempDir() + "/" + std::to_string(getpid()) + name;
    std::ofstream(path, std::ios::binary) << content;
    paths.push_back(path);
    return path;
  }
  ~WrittenFiles() override {
    for (const std::string &path : paths)
      unlink(path.c_str());
  }
  std::vector<std::string> paths;
};

} // namespace sinter::test

#endif
