// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Module.h"
#include "backends/cpu/FunctionTable.h"
#include "compiler/Header.h"
#include "compiler/Link.h"
#include "compiler/Options.h"
#include "runtime/smod.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
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
    return folder.write(files.back(), object, error);
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
  if (!link.prepare(table, error))
    return std::nullopt;
  return linkToMemory(sharedLibraryArguments(link.files, module.target), error);
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
  auto *table = loaded->library
                    ? static_cast<const sinter_function *const *>(dlsym(loaded->library, "sinter_functions"))
                    : nullptr;
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

//===- files ---------------------------------------------------------------------------------------===//

std::string sinter::printManifest(const CompiledModule &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 1);
  auto tensors = [&](ArrayRef<cpu::Signature::Tensor> list, const cpu::Signature &function) {
    for (const cpu::Signature::Tensor &tensor : list)
      json.object([&] {
        json.attribute("name", tensor.name);
        std::string type;
        llvm::raw_string_ostream(type) << tensor.elementType;
        json.attribute("dtype", type);
        json.attributeArray("dims", [&] {
          for (int64_t size : tensor.dims)
            if (size == ShapedType::kDynamic)
              json.value("?");
            else if (size < 0)
              json.value(function.symbols[-1 - size]);
            else
              json.value(size);
        });
      });
  };
  json.object([&] {
    json.attribute("compiler", "sinter 0.1.0");
    if (!module.cacheKey.empty())
      json.attribute("cache_key", module.cacheKey);
    json.attribute("target", module.target.name);
    json.attribute("cpu", module.target.cpu);
    json.attribute("opt_level", static_cast<int64_t>(module.optLevel));
    if (module.fastMath)
      json.attributeArray("fast_math", [&] {
        for (const char *name : fastMathNames)
          json.value(name);
      });
    json.attribute("weights_bytes", static_cast<int64_t>(module.code.weights.size()));
    json.attributeArray("functions", [&] {
      for (const cpu::Signature &function : module.code.functions)
        json.object([&] {
          json.attribute("name", function.name);
          json.attributeArray("inputs", [&] { tensors(function.inputs, function); });
          json.attributeArray("outputs", [&] { tensors(function.outputs, function); });
        });
    });
    json.attributeArray("kernels", [&] {
      for (const cpu::KernelReport &kernel : module.code.kernels)
        json.object([&] {
          json.attribute("name", kernel.name);
          json.attribute("object_bytes", kernel.objectBytes);
          json.attribute("uses", static_cast<int64_t>(kernel.uses));
        });
    });
  });
  return text;
}

static bool writeContainer(const CompiledModule &module, StringRef path, std::string &error) {
  std::optional<std::string> code = linkCode(module, error);
  if (!code)
    return false;
  std::string manifest = printManifest(module);
  sinter_smod_section sections[3] = {};
  sections[0] = {SINTER_SMOD_MANIFEST, 0, manifest.data(), static_cast<int64_t>(manifest.size()), nullptr};
  sections[1] = {SINTER_SMOD_CODE, 0, code->data(), static_cast<int64_t>(code->size()),
                 module.target.requiredFeatures.c_str()};
  sections[2] = {SINTER_SMOD_WEIGHTS, 0, module.code.weights.data(), static_cast<int64_t>(module.code.weights.size()),
                 nullptr};
  int32_t count = module.code.weights.empty() ? 2 : 3;
  if (sinter_smod_write(path.str().c_str(), sections, count) == SINTER_OK)
    return true;
  error = sinter_last_error();
  return false;
}

/// Links to a file beside `path` and renames it, so that a failed link leaves nothing.
static bool linkTo(StringRef path, llvm::function_ref<bool(const std::string &)> link, std::string &error) {
  std::string temporary = (path + ".part").str();
  if (!link(temporary)) {
    llvm::sys::fs::remove(temporary);
    return false;
  }
  if (std::error_code code = llvm::sys::fs::rename(temporary, path)) {
    error = ("cannot write '" + path + "': " + code.message()).str();
    llvm::sys::fs::remove(temporary);
    return false;
  }
  return true;
}

std::string sinter::symbolStem(StringRef path) {
  std::string stem = cpu::symbolName(llvm::sys::path::stem(path));
  if (StringRef(stem).starts_with("lib"))
    stem.erase(0, 3);
  return stem.empty() || llvm::isDigit(stem[0]) || isReservedInC(stem) ? "m_" + stem : stem;
}

static bool writeLinked(const CompiledModule &module, StringRef path, OutputFormat format, std::string &error) {
  std::string stem = symbolStem(path);
  LinkFolder link(module);
  cpu::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(module.code.weights.size());
  if (!module.code.weights.empty())
    table.weights = stem + "_weights";
  bool program = format == OutputFormat::Program;
  if (!program) {
    table.symbol = stem + "_functions";
    table.plain = stem;
  }
  if (format == OutputFormat::Shared)
    table.alias = "sinter_functions";
  if (!link.prepare(table, error))
    return false;

  auto archive = [&](StringRef name) {
    std::optional<std::string> found = findRuntimeArchive(name, module.target, error);
    if (found)
      link.files.push_back(*found);
    return found.has_value();
  };
  auto relocatable = [&](const std::string &output) {
    std::vector<std::string> arguments = {"-r"};
    arguments.insert(arguments.end(), link.files.begin(), link.files.end());
    return linkToFile(arguments, output, /*executable=*/false, error);
  };
  bool ok = false;
  switch (format) {
  case OutputFormat::Object:
    ok = linkTo(path, relocatable, error);
    break;
  case OutputFormat::Archive:
    ok = linkTo(
        path,
        [&](const std::string &output) {
          std::string object = link.folder.file(stem + ".o");
          if (!relocatable(object))
            return false;
          llvm::Expected<llvm::NewArchiveMember> member =
              llvm::NewArchiveMember::getFile(object, /*Deterministic=*/true);
          llvm::Error failure = member.takeError();
          std::unique_ptr<llvm::MemoryBuffer> bytes; // a file of LLVM's would come with its signal handlers
          if (!failure) {
            member->MemberName = llvm::sys::path::filename(object);
            auto made =
                llvm::writeArchiveToBuffer(*member, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                           /*Deterministic=*/true, /*Thin=*/false);
            failure = made.takeError();
            if (!failure)
              bytes = std::move(*made);
          }
          if (!failure)
            return writeFile(output, ArrayRef<char>(bytes->getBufferStart(), bytes->getBufferSize()), error);
          error = "cannot write '" + path.str() + "': " + llvm::toString(std::move(failure));
          return false;
        },
        error);
    break;
  case OutputFormat::Shared:
    ok = archive("libsinter_rt.a") &&
         linkTo(
             path,
             [&](const std::string &output) {
               return linkToFile(sharedLibraryArguments(link.files, module.target), output, /*executable=*/true, error);
             },
             error);
    break;
  default: {
    if (!archive("libsinter_rt_main.a") || !archive("libsinter_rt.a"))
      return false;
    ok = linkTo(
        path,
        [&](const std::string &output) {
          auto arguments = programArguments(link.files, module.target, error);
          return arguments && linkToFile(*arguments, output, /*executable=*/true, error);
        },
        error);
    break;
  }
  }
  if (!ok || program)
    return ok;
  llvm::SmallString<128> header(path);
  llvm::sys::path::replace_extension(header, ".h");
  return writeFile(header, printHeader(module.code.functions, stem), error);
}

bool sinter::writeModule(const CompiledModule &module, StringRef path, OutputFormat format, std::string &error) {
  if (format == OutputFormat::Module)
    return writeContainer(module, path, error);
  if (format == OutputFormat::Assembly)
    return writeFile(path, module.code.assembly, error);
  return writeLinked(module, path, format, error);
}
