// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TEST_RUNTIME_FILES_H
#define SINTER_TEST_RUNTIME_FILES_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace sinter::test {

/// A folder that goes away with the test.
struct Folder {
  std::filesystem::path path;

  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sinter-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string file(const std::string &name) const { return (path / name).string(); }

  /// Writes a file, in a folder below perhaps, and returns its path.
  std::string write(const std::string &name, const std::string &content) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << content;
    return file(name);
  }

  /// Files and folders in it: a refused write leaves none behind.
  int count() const {
    return static_cast<int>(
        std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
  }
};

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace sinter::test

#endif
