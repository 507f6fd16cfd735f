// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Module.h"
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
  LinkFolder(const CompiledModule &module, const schedule::HostMachine &machine, const schedule::CodeModule &code)
      : module(module), machine(machine), code(code) {}

  bool prepare(const schedule::TableOptions &table, std::string &error) {
    if (folder.path().empty()) {
      error = "cannot make a temporary folder";
      return false;
    }
    const schedule::HostKind &host = schedule::hostBackend();
    std::vector<std::string> objects = code.objects;
    for (const schedule::TableVariant &variant : table.variants)
      for (const CompiledModule::Variant &other : module.variants)
        if (other.target.host.get() == variant.machine)
          llvm::append_range(objects, other.code.objects);
    FailureOr<std::string> described = host.tableObject(code.functions, table, machine, error);
    if (failed(described))
      return false;
    objects.push_back(std::move(*described));
    FailureOr<std::string> support = host.supportObject(objects, machine, error);
    if (failed(support))
      return false;
    if (!support->empty())
      objects.push_back(std::move(*support));
    for (const std::string &object : objects) {
      files.push_back(folder.file(std::to_string(files.size()) + ".o"));
      if (!folder.write(files.back(), object, error))
        return false;
    }
    if (table.weights.empty())
      return true;
    files.push_back(folder.file("weights.o"));
    return host.writeDataObject(files.back(), table.weights, module.code.weights, machine, error);
  }

  const CompiledModule &module;
  const schedule::HostMachine &machine;
  const schedule::CodeModule &code;
  TemporaryFolder folder;
  std::vector<std::string> files;
};
} // namespace

/// Code alone as a shared library: weights are given at load.
static std::optional<std::string> linkCode(const CompiledModule &module, const schedule::HostMachine &machine,
                                           const schedule::CodeModule &code, std::string &error) {
  LinkFolder link(module, machine, code);
  schedule::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(module.code.weights.size());
  if (!link.prepare(table, error))
    return std::nullopt;
  return linkToMemory(codeArguments(link.files, llvm::Triple(machine.triple)), error);
}

/// The name of a back end beside the host's that has code in `module`; empty without one.
static std::string findDevice(const CompiledModule &module) {
  if (!module.code.others.empty())
    return module.code.others.front().backend;
  for (const CompiledModule::Variant &variant : module.variants)
    if (!variant.code.others.empty())
      return variant.code.others.front().backend;
  return "";
}

bool LoadedModule::link(const CompiledModule &module, const schedule::HostMachine &machine,
                        const schedule::CodeModule &code, std::string &error) {
  std::optional<std::string> image = linkCode(module, machine, code, error);
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
  if (!findDevice(module).empty()) { // the runtime knows which section belongs to which
    std::unique_ptr<LoadedModule> loaded(new LoadedModule());
    TemporaryFolder folder;
    std::string path = folder.file("memory.smod");
    if (!writeModule(module, path, OutputFormat::Module, error))
      return nullptr;
    if (sinter_module_open(path.c_str(), nullptr, &loaded->handle) == SINTER_OK)
      return loaded;
    error = sinter_last_error();
    return nullptr;
  }
  for (const CompiledModule::Variant &variant : llvm::reverse(module.variants)) {
    std::unique_ptr<LoadedModule> loaded(new LoadedModule());
    if (loaded->link(module, *variant.target.host, variant.code, error))
      return loaded;
  }
  std::unique_ptr<LoadedModule> loaded(new LoadedModule());
  return loaded->link(module, *module.target.host, module.code, error) ? std::move(loaded) : nullptr;
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
    json.attribute("target", module.target.name());
    json.attribute("cpu", module.target.host->cpu);
    if (!module.variants.empty())
      json.attributeArray("targets", [&] {
        json.value(module.target.name());
        for (const CompiledModule::Variant &variant : module.variants)
          json.value(variant.target.name());
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
          if (const std::optional<schedule::KeepReport> &keeps = function.keeps)
            json.attributeObject("checkpoint", [&] {
              json.attribute("policy", keeps->policy);
              json.attribute("arena_bytes", keeps->arenaBytes);
              json.attribute("arena_bytes_of_all", keeps->arenaBytesOfAll);
              json.attribute("ops", static_cast<int64_t>(keeps->launches));
              json.attribute("repeated_ops", static_cast<int64_t>(keeps->repeated));
              json.attribute("added_work", keeps->addedWork);
            });
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
  std::vector<std::string> images;
  std::vector<std::vector<sinter_smod_range>> ranges;
  size_t count = 1 + module.variants.size();
  images.reserve(count);
  ranges.reserve(count);
  // Code of devices has the priority of the host's code that starts it.
  auto addCode = [&](const schedule::Target &target, const schedule::CodeModule &code) {
    schedule::Span span(module.timeline, schedule::Timeline::Kind::Step, "linker");
    std::optional<std::string> image = linkCode(module, *target.host, code, error);
    if (!image)
      return false;
    images.push_back(std::move(*image));
    auto priority = static_cast<uint32_t>(images.size() - 1);
    sinter_smod_section &section = add(SINTER_SMOD_CODE, images.back().data(), images.back().size());
    section.priority = priority;
    section.requirements = code.requirements.c_str();
    std::vector<sinter_smod_range> &read = ranges.emplace_back();
    for (schedule::WeightRange range : code.usedWeights)
      read.push_back({range.offset, range.bytes});
    bool readsAll = read.size() == 1 && read[0].bytes == static_cast<int64_t>(weights.size());
    if (!readsAll) {
      section.ranges = read.data();
      section.num_ranges = static_cast<int32_t>(read.size());
    }
    for (const schedule::CodeObject &other : code.others) {
      sinter_smod_section &beside = add(SINTER_SMOD_CODE, other.payload.data(), other.payload.size());
      beside.back_end = other.backend.c_str();
      beside.requirements = other.requirements.c_str();
      beside.priority = priority;
    }
    return true;
  };
  if (!addCode(module.target, module.code))
    return false;
  for (const CompiledModule::Variant &variant : module.variants)
    if (!addCode(variant.target, variant.code))
      return false;
  if (!weights.empty())
    add(SINTER_SMOD_WEIGHTS, weights.data(), weights.size());
  schedule::Span span(module.timeline, schedule::Timeline::Kind::Step, "file");
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
  llvm::Triple machine(module.target.host->triple);
  if (std::string device = findDevice(module); !device.empty()) {
    error = "code for the back end '" + device + "' requires a .smod, got '" + path.str() +
            "': files for the linker and programs hold the host's code alone";
    return false;
  }
  for (const CompiledModule::Variant &variant : module.variants)
    if (llvm::Triple(variant.target.host->triple).getArch() != machine.getArch()) {
      error = "a file for the linker or a program requires targets of one kind of machine, got " +
              module.target.name() + " and " + variant.target.name() + ": a .smod may hold code for both";
      return false;
    }
  LinkFolder link(module, *module.target.host, module.code);
  schedule::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(module.code.weights.size());
  if (!module.code.weights.empty())
    table.weights = stem + "_weights";
  for (const CompiledModule::Variant &variant : module.variants)
    table.variants.push_back({variant.code.functions, variant.target.host.get()});
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
    std::optional<std::string> found = findRuntimeArchive(name, machine, error);
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
         linkToFile(sharedLibraryArguments(link.files, machine), path, /*executable=*/true, error);
    break;
  default:
    if (archive("libsinter_rt_main.a") && archive("libsinter_rt.a"))
      if (auto arguments = programArguments(link.files, machine, error))
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
  schedule::Span span(module.timeline, schedule::Timeline::Kind::Phase, "linking and writing");
  if (format == OutputFormat::Module)
    return writeContainer(module, path, error);
  if (format == OutputFormat::Assembly)
    return writeFile(path, module.code.assembly, error);
  return writeLinked(module, path, format, error);
}
