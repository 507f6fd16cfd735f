// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SINTER_TEST_COMPILER_ONNX_TEMPFOLDER_H
#define SINTER_TEST_COMPILER_ONNX_TEMPFOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace sinter::onnx::test {

/// A folder of its own that goes away with the object.
class TempFolder {
public:
  TempFolder() {
    char name[] = "/tmp/sinter-onnx-XXXXXX";
    root = mkdtemp(name);
  }
  ~TempFolder() { std::filesystem::remove_all(root); }

  std::string path(const std::string &name) const { return (root / name).string(); }

  /// Writes `bytes` to `name` and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const {
    std::filesystem::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << bytes;
    return path(name);
  }

private:
  std::filesystem::path root;
};

} // namespace sinter::onnx::test

#endif // SINTER_TEST_COMPILER_ONNX_TEMPFOLDER_H
