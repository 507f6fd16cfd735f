// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/JitCache.h"
#include "backends/schedule/CacheFiles.h"
#include "compiler/Link.h"
#include "compiler/capi/Public.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "runtime/smod.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;
namespace fs = llvm::sys::fs;

/// Modules that the process keeps unless it says otherwise; the least recently used goes first.
static std::atomic<int64_t> limit{512};

int64_t capi::jitLimit() { return limit; }

//===- keys ------------------------------------------------------------------------------------------===//

/// Tells builds of the compiler apart: its version, and the size and time of the file that holds this function.
static const std::string &buildOfCompiler() {
  static const std::string build = [] {
    std::string text = "sinter 0.1.0";
    Dl_info info;
    struct stat file;
    if (dladdr(reinterpret_cast<void *>(&jitKey), &info) && info.dli_fname && stat(info.dli_fname, &file) == 0)
      text += " " + std::to_string(file.st_size) + " " + std::to_string(file.st_mtim.tv_sec) + "." +
              std::to_string(file.st_mtim.tv_nsec);
    return text;
  }();
  return build;
}

std::string capi::jitKey(ModuleOp module, const Options &options, ArrayRef<schedule::Target> targets) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << buildOfCompiler() << "\n-O" << options.optLevel << (options.fastMath ? " fast-math" : "") << " fused "
     << options.maxFusedOps << " folded " << options.maxFoldedBytes << ' ' << options.maxFoldingSteps << "\n";
  for (const schedule::Target &target : targets) {
    os << target.host->key << '\n';
    for (const auto &device : target.devices)
      os << device->name << ' ' << device->key << '\n';
  }
  OpPrintingFlags flags;
  flags.elideLargeResourceString(0).useLocalScope();
  module->print(os, flags);
  os << '\n';
  // Weights are named in the text; here is what they hold.
  llvm::DenseSet<Attribute> seen;
  module->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](DenseResourceElementsAttr attr) {
      if (AsmResourceBlob *blob = attr.getRawHandle().getBlob(); blob && seen.insert(attr).second)
        os << attr.getRawHandle().getKey() << ' '
           << schedule::hexDigestOf({reinterpret_cast<const uint8_t *>(blob->getData().data()), blob->getData().size()})
           << '\n';
    });
  });
  return key;
}

//===- in this process -------------------------------------------------------------------------------===//

namespace {
/// Never destroyed: modules may be used by threads that outlive main.
struct Modules {
  struct Entry {
    std::string key;
    sinter_module *module;
  };
  std::mutex lock;
  std::list<Entry> entries; // the most recently used first
  llvm::StringMap<std::list<Entry>::iterator> byKey;
  std::atomic<int64_t> memoryHits{0}, diskHits{0}, compiles{0}, compileNs{0}, rejected{0}, evicted{0};

  sinter_module *find(const std::string &key) {
    std::lock_guard<std::mutex> guard(lock);
    auto it = byKey.find(key);
    if (it == byKey.end())
      return nullptr;
    entries.splice(entries.begin(), entries, it->second);
    return sinter_module_retain(it->second->module);
  }
  void add(const std::string &key, sinter_module *module) {
    std::lock_guard<std::mutex> guard(lock);
    if (byKey.contains(key))
      return;
    entries.push_front({key, sinter_module_retain(module)});
    byKey[key] = entries.begin();
    shrink(jitLimit());
  }
  void keep(int64_t most) {
    std::lock_guard<std::mutex> guard(lock);
    shrink(most);
  }
  int64_t count() {
    std::lock_guard<std::mutex> guard(lock);
    return static_cast<int64_t>(entries.size());
  }

private:
  void shrink(int64_t most) {
    while (static_cast<int64_t>(entries.size()) > most) {
      sinter_module_close(entries.back().module);
      byKey.erase(entries.back().key);
      entries.pop_back();
    }
  }
};
} // namespace

static Modules &modules() {
  static Modules &instance = *new Modules();
  return instance;
}

sinter_status_code sinter_jit_stats(sinter_jit_report *report) {
  if (!report || report->struct_size < sizeof report->struct_size)
    return invalid("jit report requires its struct_size");
  Modules &m = modules();
  sinter_jit_report full = {};
  full.struct_size = report->struct_size;
  full.memory_hits = m.memoryHits;
  full.disk_hits = m.diskHits;
  full.compiles = m.compiles;
  full.compile_ns = m.compileNs;
  full.disk_rejected = m.rejected;
  full.disk_evicted = m.evicted;
  eagerCounts(full.eager_hits, full.eager_compiles);
  full.modules_kept = m.count();
  full.eager_kept = eagerKernels();
  std::memcpy(report, &full, std::min<size_t>(report->struct_size, sizeof full));
  return SINTER_OK;
}

sinter_status_code sinter_jit_limit(int64_t most) {
  if (most < 0)
    return invalid("jit limit requires a number of modules of 0 or more, got " + Twine(most));
  limit = most;
  modules().keep(most);
  if (eagerKernels() > most)
    clearEager();
  return SINTER_OK;
}

void sinter_jit_clear(void) {
  modules().keep(0);
  clearEager();
}

//===- on disk ---------------------------------------------------------------------------------------===//

/// Finds or makes the folder; it must be this user's and closed to others.
static sinter_status_code openFolder(const JitCacheOptions &options, std::string &folder) {
  folder = options.folder;
  if (folder.empty()) {
    const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (cache && *cache)
      folder = std::string(cache) + "/sinter/jit";
    else if (home && *home)
      folder = std::string(home) + "/.cache/sinter/jit";
    else
      return fail(SINTER_IO, "the disk cache requires XDG_CACHE_HOME or HOME, got neither");
  }
  if (std::error_code code = fs::create_directories(llvm::sys::path::parent_path(folder)))
    return fail(SINTER_IO, "cannot make the folder of the disk cache '" + folder + "': " + code.message());
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(SINTER_IO, "cannot make the folder of the disk cache '" + folder + "': " + std::strerror(errno));
  struct stat info;
  if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return fail(SINTER_IO, "the disk cache requires a folder, got '" + folder + "'");
  if (info.st_uid != geteuid() || (info.st_mode & 077))
    return fail(SINTER_IO,
                "the disk cache requires a folder that only its owner, this user, may enter, got '" + folder + "'");
  return SINTER_OK;
}

/// Whether the file was compiled from `key`. Its code is not loaded before that is known.
static bool isOf(const std::string &path, const std::string &key) {
  sinter_smod *smod;
  if (sinter_smod_open(path.c_str(), &smod))
    return false;
  bool same = false;
  for (int32_t i = 0; i < sinter_smod_count(smod); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    if (section->kind != SINTER_SMOD_MANIFEST)
      continue;
    llvm::Expected<llvm::json::Value> manifest =
        llvm::json::parse(StringRef(static_cast<const char *>(section->data), static_cast<size_t>(section->bytes)));
    if (!manifest) {
      llvm::consumeError(manifest.takeError());
      continue;
    }
    const llvm::json::Object *object = manifest->getAsObject();
    std::optional<StringRef> stored = object ? object->getString("cache_key") : std::nullopt;
    same = stored && *stored == key;
  }
  sinter_smod_close(smod);
  return same;
}

//===- both ------------------------------------------------------------------------------------------===//

sinter_status_code capi::findOrCompile(const std::string &key, const JitCacheOptions &options,
                                       llvm::function_ref<sinter_status_code(const std::string &)> compile,
                                       sinter_module **module) {
  Modules &kept = modules();
  // The file is the same for all devices, what is loaded of it is not.
  std::string loaded = options.device.empty() ? key : key + "\ndevice " + options.device;
  if (options.memory && (*module = kept.find(loaded))) {
    ++kept.memoryHits;
    return SINTER_OK;
  }
  TemporaryFolder temporary;
  std::string folder, path;
  sinter_open_options open = {};
  open.struct_size = sizeof open;
  open.device = options.device.empty() ? nullptr : options.device.c_str();
  open.skip_weight_hash = 1; // of a file that was just written or verified
  if (options.disk) {
    if (sinter_status_code status = openFolder(options, folder))
      return status;
    path = folder + "/" + schedule::cacheFileName(key, ".smod");
    if (fs::exists(path)) {
      if (isOf(path, key) && sinter_module_open(path.c_str(), &open, module) == SINTER_OK) {
        ++kept.diskHits;
        utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // used now
        if (options.memory)
          kept.add(loaded, *module);
        return SINTER_OK;
      }
      ++kept.rejected;
    }
  } else {
    if (temporary.path().empty())
      return fail(SINTER_IO, "cannot make a temporary folder");
    path = temporary.file("jit.smod");
  }
  auto start = std::chrono::steady_clock::now();
  ++kept.compiles;
  if (sinter_status_code status = compile(path))
    return status;
  if (sinter_status_code status = sinter_module_open(path.c_str(), &open, module)) {
    if (!options.disk || fs::exists(path))
      return status;
    path = temporary.file("jit.smod"); // another process has made room in the folder since
    if ((status = compile(path)) || (status = sinter_module_open(path.c_str(), &open, module)))
      return status;
  }
  kept.compileNs +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  if (options.disk)
    kept.evicted += schedule::trimCacheFolder(folder, ".smod", options.maxBytes, path);
  if (options.memory)
    kept.add(loaded, *module);
  return SINTER_OK;
}
