// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs to code: in this process, or to files. Code that runs here goes through a `.smod`, which the runtime opens as
// it does any other.

#include "compiler/Compile.h"
#include "backends/schedule/Signature.h"
#include "backends/schedule/Timeline.h"
#include "compiler/Link.h"
#include "compiler/Targets.h"
#include "compiler/capi/FileLimit.h"
#include "compiler/capi/JitCache.h"
#include "compiler/capi/Public.h"
#include "passes/IndexPolicy.h"
#include "passes/StripDebug.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

/// The caller's options as the compiler's.
static sinter_status_code readCompileOptions(const sinter_compile_options *given, sinter_compile_options &read,
                                             Options &options) {
  if (!readOptions(given, read))
    return invalid("compile options require their struct_size");
  if (read.opt_level < -1 || read.opt_level > 3)
    return invalid("compile options require an opt_level from -1 to 3, got " + Twine(read.opt_level));
  if (read.cache_bytes < 0)
    return invalid("compile options require cache_bytes of at least 0, got " + Twine(read.cache_bytes));
  if (read.threads < 0)
    return invalid("compile options require at least 0 threads, got " + Twine(read.threads));
  if (read.index_policy < SINTER_INDEX_AS_RECORDED || read.index_policy > SINTER_INDEX_ERROR)
    return invalid("compile options require an index_policy of sinter_index_policy, got " + Twine(read.index_policy));
  if (read.kernel_bytes < 0)
    return invalid("compile options require kernel_bytes of at least 0, got " + Twine(read.kernel_bytes));
  options.cachesKernels = read.kernel_cache != 0;
  options.kernelFolder = read.kernel_folder ? read.kernel_folder : "";
  options.kernelFolderBytes = read.kernel_bytes ? read.kernel_bytes : options.kernelFolderBytes;
  options.optLevel = read.opt_level == 0 ? 2 : std::max(read.opt_level, 0);
  options.threads = static_cast<unsigned>(read.threads);
  options.fastMath = read.fast_math != 0;
  if (StringRef device = read.device ? read.device : ""; !device.empty())
    options.target = ("cpu+" + device.split(':').first).str();
  if (read.target)
    options.target = read.target;
  std::vector<schedule::Target> targets;
  std::string error;
  return parseTargets(options.target, targets, error) ? SINTER_OK : fail(SINTER_UNSUPPORTED, "target: " + error);
}

/// The public functions of the graph with the checks and prints that the options ask for.
static sinter_status_code moduleToCompile(sinter_graph &graph, const sinter_compile_options &read,
                                          OwningOpRef<ModuleOp> &module) {
  if (sinter_status_code status = publicModule(graph, "compile", module))
    return status;
  if (read.index_policy != SINTER_INDEX_AS_RECORDED)
    applyIndexPolicy(*module, read.index_policy == SINTER_INDEX_ERROR ? IndexPolicy::Error : IndexPolicy::Clamp);
  if (read.strip_debug)
    stripDebug(*module);
  if (read.profile)
    (*module)->setAttr("sinter.profile", UnitAttr::get(module->getContext()));
  return SINTER_OK;
}

static sinter_status_code failToCompile(StringRef errors) {
  switch (faultOf(errors)) {
  case CompileFault::Unsupported:
    return fail(SINTER_UNSUPPORTED, errors);
  case CompileFault::Misfit:
    return invalid(errors);
  case CompileFault::Memory:
    return fail(SINTER_OUT_OF_MEMORY, errors);
  case CompileFault::Internal:
    break;
  }
  return fail(SINTER_INTERNAL,
              (errors.empty() ? "the graph cannot be compiled" : errors) + " (this is a defect of sinter)");
}

/// Runs the compiler; `module` is used up.
static sinter_status_code compileModule(sinter_graph &graph, ModuleOp module, const Options &options,
                                        const CompileRequest &request, CompiledModule &compiled) {
  graph.message.clear();
  graph.namePlaces = true;
  Options measured = options;
  std::optional<schedule::Timeline> timeline;
  if (const char *asked = std::getenv("SINTER_TIME_PASSES"); asked && *asked)
    measured.timeline = &timeline.emplace();
  FailureOr<CompiledModule> result = compileGraph(module, measured, request);
  graph.namePlaces = false;
  if (timeline)
    std::fputs(timeline->table().c_str(), stderr);
  if (failed(result))
    return failToCompile(graph.message);
  compiled = std::move(*result);
  compiled.timeline = nullptr; // which ends here
  return SINTER_OK;
}

sinter_status_code sinter_graph_compile(sinter_graph *graph, const sinter_compile_options *given,
                                        sinter_module **result) {
  if (!graph || !result)
    return invalid("compile requires a graph and a place for the module, got null");
  *result = nullptr;
  sinter_compile_options read = {};
  Options options;
  if (sinter_status_code status = readCompileOptions(given, read, options))
    return status;
  OwningOpRef<ModuleOp> module;
  if (sinter_status_code status = moduleToCompile(*graph, read, module))
    return status;
  std::vector<schedule::Target> targets;
  std::string error;
  (void)parseTargets(options.target, targets, error); // was checked
  JitCacheOptions cache;
  cache.memory = !read.no_memory_cache;
  cache.disk = read.disk_cache;
  cache.folder = read.cache_folder ? read.cache_folder : "";
  cache.device = read.device ? read.device : "";
  cache.maxBytes = read.cache_bytes ? read.cache_bytes : cache.maxBytes;
  std::string key = cache.memory || cache.disk ? jitKey(*module, options, targets) : "";
  auto compile = [&](const std::string &path) -> sinter_status_code {
    CompiledModule compiled;
    if (sinter_status_code status = compileModule(*graph, *module, options, {}, compiled))
      return status;
    if (cache.disk)
      compiled.cacheKey = key;
    return writeModule(compiled, path, OutputFormat::Module, error) ? SINTER_OK : fail(SINTER_IO, error);
  };
  FileLimitIsAnError fileLimit;
  return findOrCompile(key, cache, compile, result);
}

sinter_status_code sinter_graph_dump(sinter_graph *graph, const char *phase, const sinter_compile_options *given,
                                     const char **text) {
  if (!graph || !phase || !text)
    return invalid("dump requires a graph, a phase and a place for the text, got null");
  sinter_compile_options read = {};
  Options options;
  if (sinter_status_code status = readCompileOptions(given, read, options))
    return status;
  CompileRequest request;
  using Last = CompileRequest::Last;
  std::pair<bool *, Last> asked = llvm::StringSwitch<std::pair<bool *, Last>>(phase)
                                      .Case("graph", {&request.keepGraph, Last::Graph})
                                      .Case("fused", {&request.keepFused, Last::Fused})
                                      .Case("schedule", {&request.keepSchedule, Last::Schedule})
                                      .Case("loops", {&request.keepLoops, Last::Loops})
                                      .Case("llvm", {&request.keepLLVM, Last::Code})
                                      .Case("asm", {&request.keepAssembly, Last::Code})
                                      .Default({nullptr, Last::Code});
  if (!asked.first)
    return invalid(Twine("dump requires one of graph, fused, schedule, loops, llvm and asm, got '") + phase + "'");
  *asked.first = true;
  request.last = asked.second;
  OwningOpRef<ModuleOp> module;
  if (sinter_status_code status = moduleToCompile(*graph, read, module))
    return status;
  CompiledModule compiled;
  if (sinter_status_code status = compileModule(*graph, *module, options, request, compiled))
    return status;
  for (std::string *part : {&compiled.graph, &compiled.fused, &compiled.code.schedule, &compiled.code.loops,
                            &compiled.code.llvm, &compiled.code.assembly})
    if (!part->empty())
      graph->text = std::move(*part);
  *text = graph->text.c_str();
  return SINTER_OK;
}

//===- files -----------------------------------------------------------------------------------------===//

static std::optional<OutputFormat> formatOf(int32_t emit, StringRef path) {
  switch (emit) {
  case SINTER_EMIT_MODULE:
    return OutputFormat::Module;
  case SINTER_EMIT_OBJECT:
    return OutputFormat::Object;
  case SINTER_EMIT_ARCHIVE:
    return OutputFormat::Archive;
  case SINTER_EMIT_SHARED:
    return OutputFormat::Shared;
  case SINTER_EMIT_PROGRAM:
    return OutputFormat::Program;
  case SINTER_EMIT_ASSEMBLY:
    return OutputFormat::Assembly;
  case SINTER_EMIT_BY_SUFFIX:
    return llvm::StringSwitch<std::optional<OutputFormat>>(llvm::sys::path::extension(path))
        .Case(".smod", OutputFormat::Module)
        .Case(".o", OutputFormat::Object)
        .Case(".a", OutputFormat::Archive)
        .Case(".so", OutputFormat::Shared)
        .Case(".s", OutputFormat::Assembly)
        .Case("", OutputFormat::Program)
        .Default(std::nullopt);
  default:
    return std::nullopt;
  }
}

sinter_status_code sinter_graph_compile_file(sinter_graph *graph, const char *path,
                                             const sinter_compile_options *given) {
  if (!graph || !path || !*path)
    return invalid("compile requires a graph and a path, got null");
  sinter_compile_options read = {};
  Options options;
  if (sinter_status_code status = readCompileOptions(given, read, options))
    return status;
  StringRef suffix = llvm::sys::path::extension(path);
  if (read.device)
    return invalid("a device is for code that runs in this process, files require a target such as cpu+cuda");
  if (read.emit == SINTER_EMIT_BY_SUFFIX && (suffix == ".mlir" || suffix == ".sinter"))
    return sinter_graph_save(graph, path);
  std::optional<OutputFormat> format = formatOf(read.emit, path);
  if (!format)
    return fail(SINTER_UNSUPPORTED,
                read.emit == SINTER_EMIT_BY_SUFFIX
                    ? "compile requires the suffix .smod, .o, .a, .so, .s, .sinter, .mlir or none, got '" +
                          Twine(suffix) + "'"
                    : "compile options require a form of sinter_emit, got " + Twine(read.emit));
  bool hasHeader =
      *format == OutputFormat::Object || *format == OutputFormat::Archive || *format == OutputFormat::Shared;
  if (read.header && !hasHeader)
    return invalid("a C header requires an object, an archive or a shared library, got '" + Twine(path) + "'");
  if (StringRef folder = llvm::sys::path::parent_path(path); !folder.empty() && !llvm::sys::fs::is_directory(folder))
    return fail(SINTER_IO, "cannot write '" + Twine(path) + "': '" + folder + "' is no folder");
  OwningOpRef<ModuleOp> module;
  if (sinter_status_code status = moduleToCompile(*graph, read, module))
    return status;
  CompileRequest request;
  request.sha256 = read.sha256 != 0;
  request.keepAssembly = *format == OutputFormat::Assembly;
  if (size_t count = splitTargets(options.target).size(); request.keepAssembly && count > 1)
    return invalid("assembly requires one target, got " + Twine(count) + ": " + options.target);
  request.name = schedule::symbolName(llvm::sys::path::stem(path));
  if (StringRef(request.name).starts_with("lib"))
    request.name.erase(0, 3);
  CompiledModule compiled;
  if (sinter_status_code status = compileModule(*graph, *module, options, request, compiled))
    return status;
  std::string error;
  FileLimitIsAnError fileLimit;
  if (!writeModule(compiled, path, *format, error))
    return fail(SINTER_IO, error);
  if (!read.header)
    return SINTER_OK;
  llvm::SmallString<128> beside(path);
  llvm::sys::path::replace_extension(beside, ".h");
  if (beside == read.header)
    return SINTER_OK;
  if (std::error_code code = llvm::sys::fs::rename(beside, read.header))
    return fail(SINTER_IO, "cannot write '" + Twine(read.header) + "': " + code.message());
  return SINTER_OK;
}
