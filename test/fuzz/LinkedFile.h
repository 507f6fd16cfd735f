// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file whose path has a suffix, in a folder of this process with what the external data of a model may name: "data"
// of 64 bytes, "folder", "pipe" and "out", a link that leaves the folder.

#ifndef SINTER_TEST_FUZZ_LINKEDFILE_H
#define SINTER_TEST_FUZZ_LINKEDFILE_H

#include "MemoryFile.h"
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>

namespace sinter::fuzz {

/// The folder; it is gone when the process ends in an orderly way.
inline const std::string &folderOfFiles() {
  static const std::string folder = [] {
    char name[] = "/tmp/sinter-fuzz-XXXXXX";
    if (!mkdtemp(name))
      abort();
    std::ofstream(std::string(name) + "/data") << std::string(64, '\1');
    std::filesystem::create_directory(std::string(name) + "/folder");
    std::filesystem::create_symlink("/etc/hostname", std::string(name) + "/out");
    if (mkfifo((std::string(name) + "/pipe").c_str(), 0600) != 0)
      abort();
    return std::string(name);
  }();
  static const bool isSwept = std::atexit([] {
                                std::error_code ignored;
                                std::filesystem::remove_all(folder, ignored);
                              }) == 0;
  (void)isSwept;
  return folder;
}

/// The path of a file with these bytes in the folder; the same one each time for a suffix.
inline const char *linkedFile(const uint8_t *data, size_t size, const char *suffix) {
  static std::map<std::string, std::string> links;
  const char *target = memoryFile(data, size);
  std::string &link = links[suffix];
  if (link.empty()) {
    link = folderOfFiles() + "/graph" + suffix;
    std::filesystem::create_symlink(target, link);
  }
  return link.c_str();
}

} // namespace sinter::fuzz

#endif
