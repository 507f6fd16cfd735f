// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Object files -> libraries and programs, with lld inside this process. Files go through a private temporary folder;
// what is written for the user appears at once, by a rename.

#ifndef SINTER_COMPILER_LINK_H
#define SINTER_COMPILER_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/TargetParser/Triple.h"
#include <optional>
#include <string>
#include <vector>

namespace sinter {

/// A folder that goes away with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  /// Empty when the folder could not be made.
  const std::string &path() const { return folder; }
  std::string file(llvm::StringRef name) const { return folder + "/" + name.str(); }
  /// Writes in place: nobody else reads here.
  bool write(llvm::StringRef path, llvm::ArrayRef<char> bytes, std::string &error) const;

private:
  std::string folder;
};

/// The whole file or none: it gets its name when all of it is written; `-` is standard output. False with the reason in
/// `error`.
bool writeFile(llvm::StringRef path, llvm::ArrayRef<char> bytes, std::string &error);
/// The bytes of a file; nothing with the reason in `error`.
std::optional<std::string> readFile(llvm::StringRef path, std::string &error);

/// What `ld.lld ARGUMENTS`, which name no output, makes; nothing with the reason in `error`. One link at a time in a
/// process; others wait. The process keeps its signal handlers, and no thread stays.
std::optional<std::string> linkToMemory(llvm::ArrayRef<std::string> arguments, std::string &error);
/// The same as a file, which gets its name when all of it is written.
bool linkToFile(llvm::ArrayRef<std::string> arguments, llvm::StringRef path, bool executable, std::string &error);

/// Arguments of a code section's image from these files (runtime/code.h). What stays undefined the runtime must offer.
std::vector<std::string> codeArguments(llvm::ArrayRef<std::string> files, const llvm::Triple &machine);

/// Arguments of a shared library from these files. Nothing but libc and libm may stay undefined.
std::vector<std::string> sharedLibraryArguments(llvm::ArrayRef<std::string> files, const llvm::Triple &machine);

/// Arguments of a program: the C library's start files are searched where Debian, Fedora and Arch put them. Fails
/// naming the package that is missing.
std::optional<std::vector<std::string>> programArguments(llvm::ArrayRef<std::string> files, const llvm::Triple &machine,
                                                         std::string &error);

/// Path of an archive of the runtime ("libsinter_rt.a") for this kind of machine: in the folder that the
/// environment variable SINTER_RUNTIME_DIR names, else beside the compiler's library; for another kind than the
/// compiler's in a folder there that is called after it ("aarch64-linux-gnu").
std::optional<std::string> findRuntimeArchive(llvm::StringRef name, const llvm::Triple &machine, std::string &error);

} // namespace sinter

#endif
