// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Link.h"
#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <dlfcn.h>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace sinter;
using llvm::StringRef;

TemporaryFolder::TemporaryFolder() {
  llvm::SmallString<128> made;
  if (!llvm::sys::fs::createUniqueDirectory("sinter", made))
    folder = made.str().str();
}

TemporaryFolder::~TemporaryFolder() {
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

bool sinter::writeFile(StringRef path, llvm::ArrayRef<char> bytes, std::string &error) {
  llvm::Error failure = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os.write(bytes.data(), bytes.size());
    return llvm::Error::success();
  });
  if (!failure)
    return true;
  error = ("cannot write '" + path + "': " + llvm::toString(std::move(failure))).str();
  return false;
}

bool TemporaryFolder::write(StringRef path, llvm::ArrayRef<char> bytes, std::string &error) const {
  std::error_code problem;
  llvm::raw_fd_ostream os(path, problem);
  if (!problem) {
    os.write(bytes.data(), bytes.size());
    os.close();
    problem = os.error();
    os.clear_error();
  }
  if (problem)
    error = ("cannot write '" + path + "': " + problem.message()).str();
  return !problem;
}

std::optional<std::string> sinter::readFile(StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (buffer)
    return (*buffer)->getBuffer().str();
  error = ("cannot read '" + path + "': " + buffer.getError().message()).str();
  return std::nullopt;
}

bool sinter::runLinker(llvm::ArrayRef<std::string> arguments, std::string &error) {
  static std::mutex mutex;
  static bool broken = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (broken) {
    error = "the linker cannot run again after it crashed";
    return false;
  }
  std::vector<const char *> words = {"ld.lld"};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream os(messages);
  lld::Result result = lld::lldMain(words, os, os, {{lld::Gnu, &lld::elf::link}});
  broken = !result.canRunAgain;
  if (result.retCode == 0)
    return true;
  error = "linking failed: " + StringRef(messages).split('\n').first.str();
  return false;
}

/// The first of `names` in a folder of the C library.
static std::optional<std::string> findSystemFile(const cpu::Target &target, llvm::ArrayRef<StringRef> names) {
  bool arm = llvm::Triple(target.triple).isAArch64();
  StringRef machine = arm ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  for (const llvm::Twine &folder :
       {llvm::Twine("/usr/lib/") + machine, llvm::Twine("/lib/") + machine, llvm::Twine("/usr/lib64"),
        llvm::Twine("/usr/") + machine + "/lib", llvm::Twine("/usr/lib")})
    for (StringRef name : names) {
      llvm::SmallString<128> path;
      folder.toVector(path);
      llvm::sys::path::append(path, name);
      if (llvm::sys::fs::exists(path))
        return path.str().str();
    }
  return std::nullopt;
}

static std::vector<std::string> commonArguments(StringRef output, const cpu::Target &target) {
  bool arm = llvm::Triple(target.triple).isAArch64();
  return {"-m",
          arm ? "aarch64linux" : "elf_x86_64",
          "-o",
          output.str(),
          "--gc-sections",
          "--as-needed",
          "-z",
          "noexecstack",
          "--hash-style=gnu",
          "--build-id=none",
          "--threads=1"};
}

std::vector<std::string> sinter::sharedLibraryArguments(llvm::ArrayRef<std::string> files, StringRef output,
                                                        const cpu::Target &target) {
  std::vector<std::string> arguments = commonArguments(output, target);
  arguments.insert(arguments.end(), {"-shared", "--exclude-libs=ALL", "-z", "relro", "-z", "now"});
  arguments.insert(arguments.end(), files.begin(), files.end());
  // Math and memory functions; without these files (another machine's code) the names are looked up at load.
  for (StringRef name : {"libm.so.6", "libc.so.6"})
    if (std::optional<std::string> path = findSystemFile(target, name))
      arguments.push_back(*path);
  return arguments;
}

std::optional<std::vector<std::string>> sinter::programArguments(llvm::ArrayRef<std::string> files, StringRef output,
                                                                 const cpu::Target &target, std::string &error) {
  bool arm = llvm::Triple(target.triple).isAArch64();
  std::vector<std::string> arguments = commonArguments(output, target);
  arguments.insert(arguments.end(), {"-pie", "-z", "relro", "-z", "now", "--eh-frame-hdr", "-dynamic-linker",
                                     arm ? "/lib/ld-linux-aarch64.so.1" : "/lib64/ld-linux-x86-64.so.2"});
  auto add = [&](llvm::ArrayRef<StringRef> names) {
    if (std::optional<std::string> path = findSystemFile(target, names)) {
      arguments.push_back(*path);
      return true;
    }
    error = ("a program requires " + names.front() +
             " of the C library, found none: install libc6-dev (Debian) or glibc-devel")
                .str();
    return false;
  };
  if (!add(StringRef("Scrt1.o")) || !add(StringRef("crti.o")))
    return std::nullopt;
  arguments.insert(arguments.end(), files.begin(), files.end());
  // libc_nonshared.a holds what newer C libraries moved out of libc.so.6 (atexit, stat).
  if (!add({"libm.so.6"}) || !add({"libc.so.6"}))
    return std::nullopt;
  if (std::optional<std::string> path = findSystemFile(target, {"libc_nonshared.a"}))
    arguments.push_back(*path);
  if (!add(StringRef("crtn.o")))
    return std::nullopt;
  return arguments;
}

std::optional<std::string> sinter::findRuntimeArchive(StringRef name, std::string &error) {
  Dl_info info;
  std::vector<std::string> folders;
  if (dladdr(reinterpret_cast<void *>(&sinter::findRuntimeArchive), &info) && info.dli_fname)
    folders.push_back(llvm::sys::path::parent_path(info.dli_fname).str());
  for (const std::string &folder : folders) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  error = ("linking requires " + name + ", looked in " + llvm::join(folders, ", ")).str();
  return std::nullopt;
}
