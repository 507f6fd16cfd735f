// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/KernelCache.h"
#include "backends/schedule/CacheFiles.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/Alignment.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/TargetParser/Host.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace sinter;
using namespace sinter::cpu;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

constexpr StringRef kMagic = "sinter-kernel 1\n";
constexpr StringRef kSuffix = ".kernel";

static std::string reason() { return std::strerror(errno); }

const std::string &cpu::buildOfCode() {
  static const std::string build = [] {
    std::string text = "sinter 0.1.0, LLVM " LLVM_VERSION_STRING;
    auto add = [&](const void *function) {
      Dl_info info;
      struct stat file;
      if (dladdr(function, &info) && info.dli_fname && stat(info.dli_fname, &file) == 0)
        text += " " + std::to_string(file.st_size) + " " + std::to_string(file.st_mtim.tv_sec) + "." +
                std::to_string(file.st_mtim.tv_nsec);
    };
    add(reinterpret_cast<const void *>(&buildOfCode));
    add(reinterpret_cast<const void *>(&mlir::translateModuleToLLVMIR));
    std::string (*ofLLVM)() = &llvm::sys::getDefaultTargetTriple;
    add(reinterpret_cast<const void *>(ofLLVM));
    return text;
  }();
  return build;
}

KernelCache::KernelCache(StringRef given, int64_t maxBytes) : maxBytes(maxBytes) { openFolder(given); }

void KernelCache::openFolder(StringRef given) {
  std::string path = given.str();
  if (path.empty()) {
    const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (cache && *cache)
      path = std::string(cache) + "/sinter/kernels";
    else if (home && *home)
      path = std::string(home) + "/.cache/sinter/kernels";
    else
      return complain("it requires a folder, XDG_CACHE_HOME or HOME, got none");
  }
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    StringRef parent = llvm::sys::path::parent_path(path);
    if (std::error_code code = parent.empty() ? std::error_code() : fs::create_directories(parent))
      return complain("cannot make the folder '" + path + "': " + code.message());
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return complain("cannot make the folder '" + path + "': " + reason());
    if (stat(path.c_str(), &info) != 0)
      return complain("cannot read the folder '" + path + "': " + reason());
  }
  if (!S_ISDIR(info.st_mode))
    return complain("it requires a folder, got '" + path + "'");
  if ((info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & 022))
    return complain("it requires a folder of this user or root that nobody else may write to, got '" + path + "'");
  folder = path;
}

void KernelCache::complain(const std::string &text) {
  std::lock_guard<std::mutex> guard(lock);
  if (firstProblem.empty())
    firstProblem = text;
}

std::string KernelCache::problem() {
  std::lock_guard<std::mutex> guard(lock);
  return firstProblem;
}

std::string KernelCache::pathOf(StringRef key) const { return folder + "/" + schedule::cacheFileName(key, kSuffix); }

/// The whole file, or why there is none.
static std::optional<std::string> readWhole(const std::string &path, int &error) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0) {
    error = errno;
    if (file >= 0)
      close(file);
    return std::nullopt;
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t n = read(file, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    have += static_cast<size_t>(n);
  }
  close(file);
  bytes.resize(have);
  return bytes;
}

/// What stands behind the magic: the digest of the key and the object.
static std::array<uint8_t, schedule::kDigestBytes> sumOf(StringRef key, StringRef object) {
  llvm::SHA256 hash;
  hash.update(schedule::digestOf(key));
  hash.update(object);
  return hash.final();
}

std::optional<std::string> KernelCache::find(StringRef key) {
  if (folder.empty())
    return std::nullopt;
  std::string path = pathOf(key);
  int error = 0;
  std::optional<std::string> bytes = readWhole(path, error);
  if (!bytes) {
    if (error != ENOENT)
      complain("cannot read '" + path + "': " + std::strerror(error));
    return std::nullopt;
  }
  StringRef rest = *bytes;
  if (!rest.consume_front(kMagic) || rest.size() < schedule::kDigestBytes)
    return std::nullopt; // another version's, or cut off: it is replaced
  StringRef object = rest.drop_front(schedule::kDigestBytes);
  std::array<uint8_t, schedule::kDigestBytes> expected = sumOf(key, object);
  if (std::memcmp(rest.data(), expected.data(), schedule::kDigestBytes) != 0)
    return std::nullopt;
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // used now; a folder that is read only keeps its times
  ++numHits;
  return object.str();
}

void KernelCache::store(StringRef key, StringRef object) {
  if (folder.empty())
    return;
  std::string path = pathOf(key);
  std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(numWrites++) + ".tmp";
  int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    return complain("cannot write to '" + folder + "': " + reason());
  std::array<uint8_t, schedule::kDigestBytes> sum = sumOf(key, object);
  std::string bytes = kMagic.str() + std::string(sum.begin(), sum.end()) + object.str();
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t n = write(file, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    have += static_cast<size_t>(n);
  }
  bool isWhole = have == bytes.size();
  std::string why = isWhole ? "" : reason();
  if (close(file) != 0 && isWhole) {
    isWhole = false;
    why = reason();
  }
  if (isWhole && rename(temporary.c_str(), path.c_str()) != 0) {
    isWhole = false;
    why = reason();
  }
  if (isWhole) {
    stored = true;
    return;
  }
  unlink(temporary.c_str());
  complain("cannot write to '" + folder + "': " + why);
}

void KernelCache::sweep() {
  if (stored)
    schedule::trimCacheFolder(folder, kSuffix, maxBytes);
}

//===- names -----------------------------------------------------------------------------------------===//

bool cpu::renameKernel(std::string &object, StringRef from, StringRef to) {
  using namespace llvm::ELF;
  Elf64_Ehdr header;
  if (object.size() < sizeof header)
    return false;
  std::memcpy(&header, object.data(), sizeof header);
  if (!header.checkMagic() || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  auto fits = [&](uint64_t offset, uint64_t bytes) {
    return offset <= object.size() && bytes <= object.size() - offset;
  };
  if (!fits(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr)))
    return false;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), object.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  auto table = llvm::find_if(sections, [](const Elf64_Shdr &section) { return section.sh_type == SHT_SYMTAB; });
  if (table == sections.end() || table->sh_link >= sections.size() || table->sh_entsize != sizeof(Elf64_Sym) ||
      !fits(table->sh_offset, table->sh_size))
    return false;
  Elf64_Shdr &names = sections[table->sh_link];
  if (!fits(names.sh_offset, names.sh_size) || names.sh_size == 0)
    return false;
  // LLVM writes the names last, before the table of sections.
  if (names.sh_offset + names.sh_size > header.e_shoff || header.e_shoff - names.sh_offset - names.sh_size >= 8)
    return false;
  StringRef old = StringRef(object).substr(names.sh_offset, names.sh_size);
  if (old.back() != '\0')
    return false;
  std::string text;
  std::vector<std::pair<uint64_t, int64_t>> moves; // what lies behind an offset moves by so much
  for (StringRef rest = old.drop_back();;) {
    auto [name, others] = rest.split('\0');
    uint64_t at = static_cast<uint64_t>(name.data() - old.data());
    bool isOurs = name == from || name == (from + "_body").str();
    text += (isOurs ? to + name.drop_front(from.size()) : name).str();
    text += '\0';
    if (isOurs)
      moves.emplace_back(at, static_cast<int64_t>(to.size()) - static_cast<int64_t>(from.size()));
    if (name.size() == rest.size())
      break;
    rest = others;
  }
  auto moved = [&](auto &offset) {
    int64_t by = 0;
    for (auto [begin, bytes] : moves)
      by += offset > begin ? bytes : 0;
    offset = static_cast<Elf64_Word>(offset + by);
  };
  for (uint64_t at = table->sh_offset, end = at + table->sh_size; at + sizeof(Elf64_Sym) <= end;
       at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, object.data() + at, sizeof symbol);
    moved(symbol.st_name);
    std::memcpy(object.data() + at, &symbol, sizeof symbol);
  }
  if (header.e_shstrndx == table->sh_link)
    for (Elf64_Shdr &section : sections)
      moved(section.sh_name);
  names.sh_size = text.size();
  object.resize(names.sh_offset);
  object += text;
  object.resize(llvm::alignTo(object.size(), 8));
  header.e_shoff = object.size();
  object.append(reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(Elf64_Shdr));
  std::memcpy(object.data(), &header, sizeof header);
  return true;
}
