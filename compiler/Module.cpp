// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Module.h"
#include "backends/cpu/FloatSupport.h"
#include "backends/cpu/FunctionTable.h"
#include "compiler/Header.h"
#include "compiler/Link.h"
#include "compiler/Options.h"
#include "compiler/Targets.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace sinter;
using llvm::StringRef;

namespace {
/// Files of one link.
class LinkFolder {
public:
  LinkFolder(const CompiledModule &module, const cpu::Target &target, const schedule::CodeModule &code)
      : module(module), target(target), code(code) {
    options.target = &target;
  }

  bool prepare(const cpu::TableOptions &table, std::string &error) {
    if (folder.path().empty()) {
      error = "cannot make a temporary folder";
      return false;
    }
    for (const std::string &object : code.objects)
      if (!add(object, error))
        return false;
    for (const cpu::TableVariant &variant : table.variants)
      for (const CompiledModule::Variant &other : module.variants)
        if (&other.target == variant.target)
          for (const std::string &object : other.code.objects)
            if (!add(object, error))
              return false;
    FailureOr<std::string> described = cpu::makeTableObject(code.functions, table, options, error);
    if (failed(described) || !add(*described, error))
      return false;
    if (callsFloats) {
      FailureOr<std::string> support = cpu::floatSupport(options, error);
      if (failed(support) || !add(*support, error))
        return false;
    }
    if (table.weights.empty())
      return true;
    files.push_back(folder.file("weights.o"));
    return cpu::writeDataObject(files.back(), table.weights, module.code.weights, target, error);
  }

  bool add(const std::string &object, std::string &error) {
    callsFloats |= cpu::callsFloatSupport(object);
    files.push_back(folder.file(std::to_string(files.size()) + ".o"));
    return folder.write(files.back(), object, error);
  }

  const CompiledModule &module;
  const cpu::Target &target;
  const schedule::CodeModule &code;
  TemporaryFolder folder;
  cpu::ObjectOptions options;
  std::vector<std::string> files;
  bool callsFloats = false;
};
} // namespace

/// Code alone as a shared library: weights are given at load.
static std::optional<std::string> linkCode(const CompiledModule &module, const cpu::Target &target,
                                           const schedule::CodeModule &code, std::string &error) {
  LinkFolder link(module, target, code);
  cpu::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(module.code.weights.size());
  if (!link.prepare(table, error))
    return std::nullopt;
  return linkToMemory(codeArguments(link.files, target), error);
}

bool LoadedModule::link(const CompiledModule &module, const cpu::Target &target, const schedule::CodeModule &code,
                        std::string &error) {
  std::optional<std::string> image = linkCode(module, target, code, error);
  if (!image)
    return false;
  if (sinter_code_load("memory", image->data(), static_cast<int64_t>(image->size()), &loaded) != SINTER_OK) {
    error = sinter_last_error();
    return false;
  }
  for (const sinter_function *const *function = sinter_code_functions(loaded); *function; ++function) {
    functions.push_back(**function);
    functions.back().weights = module.code.weights.data();
  }
  for (const sinter_function &function : functions)
    table.push_back(&function);
  table.push_back(nullptr);
  if (sinter_module_open_functions(table.data(), nullptr, &handle) == SINTER_OK)
    return true;
  error = sinter_last_error();
  return false;
}

std::unique_ptr<LoadedModule> LoadedModule::load(const CompiledModule &module, std::string &error) {
  for (const CompiledModule::Variant &variant : llvm::reverse(module.variants)) {
    std::unique_ptr<LoadedModule> loaded(new LoadedModule());
    if (loaded->link(module, variant.target, variant.code, error))
      return loaded;
  }
  std::unique_ptr<LoadedModule> loaded(new LoadedModule());
  return loaded->link(module, module.target, module.code, error) ? std::move(loaded) : nullptr;
}

LoadedModule::~LoadedModule() {
  sinter_module_close(handle);
  sinter_code_free(loaded);
}

//===- files ---------------------------------------------------------------------------------------===//

std::string sinter::printManifest(const CompiledModule &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, 1);
  auto tensors = [&](ArrayRef<schedule::Signature::Tensor> list, const schedule::Signature &function) {
    for (const schedule::Signature::Tensor &tensor : list)
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
    if (!module.variants.empty())
      json.attributeArray("targets", [&] {
        json.value(module.target.name);
        for (const CompiledModule::Variant &variant : module.variants)
          json.value(variant.target.name);
      });
    json.attribute("opt_level", static_cast<int64_t>(module.optLevel));
    if (module.fastMath)
      json.attributeArray("fast_math", [&] {
        for (const char *name : fastMathNames)
          json.value(name);
      });
    json.attribute("weights_bytes", static_cast<int64_t>(module.code.weights.size()));
    json.attributeArray("functions", [&] {
      for (const schedule::Signature &function : module.code.functions)
        json.object([&] {
          json.attribute("name", function.name);
          json.attributeArray("inputs", [&] { tensors(function.inputs, function); });
          json.attributeArray("outputs", [&] { tensors(function.outputs, function); });
        });
    });
    json.attributeArray("kernels", [&] {
      for (const schedule::KernelReport &kernel : module.code.kernels)
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
  std::string manifest = printManifest(module);
  const schedule::WeightBytes &weights = module.code.weights;
  std::vector<sinter_smod_section> sections;
  auto add = [&](uint32_t kind, const void *data, size_t bytes) -> sinter_smod_section & {
    sinter_smod_section &section = sections.emplace_back();
    section.kind = kind;
    section.data = data;
    section.bytes = static_cast<int64_t>(bytes);
    section.has_sha256 = module.sha256;
    return section;
  };
  add(SINTER_SMOD_MANIFEST, manifest.data(), manifest.size());
  std::vector<std::string> images, requirements;
  std::vector<std::vector<sinter_smod_range>> ranges;
  size_t count = 1 + module.variants.size();
  for (auto *list : {&images, &requirements})
    list->reserve(count);
  ranges.reserve(count);
  auto addCode = [&](const cpu::Target &target, const schedule::CodeModule &code) {
    std::optional<std::string> image = linkCode(module, target, code, error);
    if (!image)
      return false;
    images.push_back(std::move(*image));
    requirements.push_back(requirementsOf(target));
    sinter_smod_section &section = add(SINTER_SMOD_CODE, images.back().data(), images.back().size());
    section.priority = static_cast<uint32_t>(images.size() - 1);
    section.requirements = requirements.back().c_str();
    std::vector<sinter_smod_range> &read = ranges.emplace_back();
    for (schedule::WeightRange range : code.usedWeights)
      read.push_back({range.offset, range.bytes});
    bool readsAll = read.size() == 1 && read[0].bytes == static_cast<int64_t>(weights.size());
    if (readsAll)
      return true;
    section.ranges = read.data();
    section.num_ranges = static_cast<int32_t>(read.size());
    return true;
  };
  if (!addCode(module.target, module.code))
    return false;
  for (const CompiledModule::Variant &variant : module.variants)
    if (!addCode(variant.target, variant.code))
      return false;
  for (const schedule::CodeObject &other : module.code.others) {
    sinter_smod_section &section = add(SINTER_SMOD_CODE, other.payload.data(), other.payload.size());
    section.back_end = other.backend.c_str();
    section.requirements = other.requirements.c_str();
  }
  if (!weights.empty())
    add(SINTER_SMOD_WEIGHTS, weights.data(), weights.size());
  if (sinter_smod_write(path.str().c_str(), sections.data(), static_cast<int32_t>(sections.size())) == SINTER_OK)
    return true;
  error = sinter_last_error();
  return false;
}

std::string sinter::symbolStem(StringRef path) {
  std::string stem = schedule::symbolName(llvm::sys::path::stem(path));
  if (StringRef(stem).starts_with("lib"))
    stem.erase(0, 3);
  return stem.empty() || llvm::isDigit(stem[0]) || isReservedInC(stem) ? "m_" + stem : stem;
}

static bool writeLinked(const CompiledModule &module, StringRef path, OutputFormat format, std::string &error) {
  std::string stem = symbolStem(path);
  for (const CompiledModule::Variant &variant : module.variants)
    if (llvm::Triple(variant.target.triple).getArch() != llvm::Triple(module.target.triple).getArch()) {
      error = "a file for the linker or a program requires targets of one kind of machine, got " + module.target.name +
              " and " + variant.target.name + ": a .smod may hold code for both";
      return false;
    }
  LinkFolder link(module, module.target, module.code);
  cpu::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(module.code.weights.size());
  if (!module.code.weights.empty())
    table.weights = stem + "_weights";
  for (const CompiledModule::Variant &variant : module.variants)
    table.variants.push_back({variant.code.functions, &variant.target});
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
  auto library = [&] {
    std::string object = link.folder.file(stem + ".o");
    if (!relocatable(object))
      return false;
    llvm::Expected<llvm::NewArchiveMember> member = llvm::NewArchiveMember::getFile(object, /*Deterministic=*/true);
    llvm::Error failure = member.takeError();
    std::unique_ptr<llvm::MemoryBuffer> bytes; // a file of LLVM's would come with its signal handlers
    if (!failure) {
      member->MemberName = llvm::sys::path::filename(object);
      auto made = llvm::writeArchiveToBuffer(*member, llvm::SymtabWritingMode::NormalSymtab,
                                             llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
      failure = made.takeError();
      if (!failure)
        bytes = std::move(*made);
    }
    if (!failure)
      return writeFile(path, ArrayRef<char>(bytes->getBufferStart(), bytes->getBufferSize()), error);
    error = "cannot write '" + path.str() + "': " + llvm::toString(std::move(failure));
    return false;
  };
  bool ok = false;
  switch (format) {
  case OutputFormat::Object:
    ok = relocatable(path.str());
    break;
  case OutputFormat::Archive:
    ok = library();
    break;
  case OutputFormat::Shared:
    ok = archive("libsinter_rt.a") &&
         linkToFile(sharedLibraryArguments(link.files, module.target), path, /*executable=*/true, error);
    break;
  default:
    if (archive("libsinter_rt_main.a") && archive("libsinter_rt.a"))
      if (auto arguments = programArguments(link.files, module.target, error))
        ok = linkToFile(*arguments, path, /*executable=*/true, error);
    break;
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
