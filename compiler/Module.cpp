// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Module.h"
#include "backends/cpu/FunctionTable.h"
#include "compiler/Link.h"
#include "runtime/smod.h"
#include "llvm/Support/JSON.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
using llvm::StringRef;

namespace {
/// Files of one link.
class LinkFolder {
public:
  explicit LinkFolder(const CompiledModule &module) : module(module) { options.target = &module.target; }

  bool prepare(const cpu::TableOptions &table, std::string &error) {
    if (folder.path().empty()) {
      error = "cannot make a temporary folder";
      return false;
    }
    for (const std::string &object : module.code.objects)
      if (!add(object, error))
        return false;
    FailureOr<std::string> described = cpu::makeTableObject(module.code.functions, table, options, error);
    if (failed(described) || !add(*described, error))
      return false;
    if (table.weights.empty())
      return true;
    files.push_back(folder.file("weights.o"));
    return cpu::writeDataObject(files.back(), table.weights, module.code.weights, module.target, error);
  }

  bool add(const std::string &object, std::string &error) {
    files.push_back(folder.file(std::to_string(files.size()) + ".o"));
    return writeFile(files.back(), object, error);
  }

  const CompiledModule &module;
  TemporaryFolder folder;
  cpu::ObjectOptions options;
  std::vector<std::string> files;
};
} // namespace

/// Code alone as a shared library: weights are given at load.
static std::optional<std::string> linkCode(const CompiledModule &module, std::string &error) {
  LinkFolder link(module);
  cpu::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(module.code.weights.size());
  std::string output = link.folder.file("code.so");
  if (!link.prepare(table, error) || !runLinker(sharedLibraryArguments(link.files, output, module.target), error))
    return std::nullopt;
  return readFile(output, error);
}

std::unique_ptr<LoadedModule> LoadedModule::load(const CompiledModule &module, std::string &error) {
  std::optional<std::string> image = linkCode(module, error);
  if (!image)
    return nullptr;
  std::unique_ptr<LoadedModule> loaded(new LoadedModule());
  loaded->file = memfd_create("sinter-code", MFD_CLOEXEC);
  size_t done = 0;
  while (loaded->file >= 0 && done < image->size()) {
    ssize_t wrote = write(loaded->file, image->data() + done, image->size() - done);
    if (wrote <= 0)
      break;
    done += static_cast<size_t>(wrote);
  }
  if (done < image->size()) {
    error = "cannot write compiled code to a memory file";
    return nullptr;
  }
  // dlopen knows libraries by name, so the file stays open as long as the library.
  std::string name = "/proc/self/fd/" + std::to_string(loaded->file);
  loaded->library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *table = loaded->library ? static_cast<const sinter_function *const *>(dlsym(loaded->library, "sinter_functions")) : nullptr;
  if (!table) {
    error = std::string("cannot load compiled code: ") + dlerror();
    return nullptr;
  }
  for (; *table; ++table) {
    loaded->functions.push_back(**table);
    loaded->functions.back().weights = module.code.weights.data();
  }
  for (const sinter_function &function : loaded->functions)
    loaded->table.push_back(&function);
  loaded->table.push_back(nullptr);
  if (sinter_module_open_functions(loaded->table.data(), nullptr, &loaded->handle) != SINTER_OK) {
    error = sinter_last_error();
    return nullptr;
  }
  return loaded;
}

LoadedModule::~LoadedModule() {
  sinter_module_close(handle);
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}
