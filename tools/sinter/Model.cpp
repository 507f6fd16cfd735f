// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Model.h"
#include "backends/schedule/Dialect.h"
#include "backends/schedule/KeepPolicy.h"
#include "backends/schedule/Timeline.h"
#include "compiler/MainFunction.h"
#include "compiler/Register.h"
#include "compiler/Targets.h"
#include "compiler/onnx/Import.h"
#include "ir/Limits.h"
#include "ir/file/GraphFile.h"
#include "ir/reference/Evaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/IndexPolicy.h"
#include "passes/InlineCalls.h"
#include "passes/LowerPrecision.h"
#include "passes/Passes.h"
#include "passes/StripDebug.h"
#include "tools/sinter/Crash.h"
#include "tools/sinter/Ptxas.h"
#include "tools/sinter/Remarks.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Diagnostics::Diagnostics(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        bool isWarning = diagnostic.getSeverity() == DiagnosticSeverity::Warning;
        if (!isWarning && diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        std::string where = place(diagnostic.getLocation());
        if (!where.empty())
          where += ": ";
        if (isWarning) {
          std::cerr << where << "warning: " << oneLine(diagnostic.str()) << "\n";
          return success();
        }
        text += (text.empty() ? "" : "\n") + where + oneLine(diagnostic.str());
        for (Diagnostic &note : diagnostic.getNotes())
          text += "\n  " + oneLine(note.str());
        return success();
      }) {}

void tool::writeGraphTo(ModuleOp graph, const std::string &path, const OpPrintingFlags &printing) {
  if (path.ends_with(".sinter")) {
    Diagnostics diagnostics(*graph.getContext());
    if (failed(writeGraph(graph, path)))
      throw Stop(Exit::Failure, diagnostics.errors());
    return;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  graph.print(os, printing);
  os << '\n';
  writeText(text, path);
}

Options tool::compilerOptions(const SharedOptions &options) {
  Options result;
  result.optLevel = options.optLevel;
  result.fastMath = options.fastMath;
  // Text at the fused level tells its target itself.
  bool isGiven = llvm::is_contained(options.compiling, "--target");
  result.target = isGiven || !options.device.empty() ? options.targets() : "";
  result.threads = static_cast<unsigned>(options.compilerThreads);
  result.timeline = options.times.timeline();
  const char *folder = std::getenv("SINTER_KERNEL_CACHE");
  result.kernelFolder = !options.kernelCache.empty() ? options.kernelCache : folder ? folder : "";
  result.cachesKernels = !result.kernelFolder.empty();
  if (result.kernelFolder == "-")
    result.kernelFolder.clear();
  result.kernelFolderBytes = options.kernelCacheMiB << 20;
  return result;
}

Model::Model(const std::string &path, const SharedOptions &options, const AdjustImport &adjust, bool keepsCalls)
    : path(path), options(options) {
  setCrashModel(path);
  DialectRegistry registry;
  registerDialects(registry);
  ctx = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  ctx->loadAllAvailableDialects();
  ctx->printOpOnDiagnostic(false);
  std::vector<schedule::Target> targets;
  std::string error;
  if (!parseTargets(options.targets(), targets, error))
    throw Stop(Exit::Usage, "--target: " + error);
  options.useDevice(path);
  // The machine would be free to run a target without the GPU.
  for (const schedule::Target &target : targets)
    if (!options.device.empty() && target.name().find("+cuda") == std::string::npos)
      throw Stop(Exit::Usage,
                 "--device " + options.device + " requires targets with cuda such as cpu+cuda, got " + options.target);
  if (path.ends_with(".smod") || path.ends_with(".so"))
    readModule();
  else if (!options.function.empty())
    throw Stop(Exit::Usage, "--function requires a module (.smod, .so), got " + path);
  else
    readGraphFile(adjust, keepsCalls);
}

Model::~Model() {
  sinter_session_destroy(active);
  sinter_module_close(opened);
}

static void requireFile(const std::string &path) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    throw Stop(Exit::Failure, path + ": no such file");
  if (status.type() != std::filesystem::file_type::regular)
    throw Stop(Exit::Failure, path + ": requires a regular file");
}

/// What --shape asks for may not fit a model that is right.
static bool isAboutShapes(llvm::StringRef message) {
  return message.contains("the given shape") || message.contains("shape is given for") ||
         message.contains("give its shape");
}

OwningOpRef<ModuleOp> Model::import(const AdjustImport &adjust) {
  Diagnostics diagnostics(*ctx);
  onnx::OnnxImportReport report;
  onnx::OnnxImportOptions import;
  import.report = &report;
  import.checkPositions = options.indexPolicy != "clamp";
  import.mapTensors = options.mapTensors;
  for (const auto &[name, dims] : options.parsedShapes())
    import.shapes[name].assign(dims.begin(), dims.end());
  if (adjust)
    adjust(import);
  auto imported = onnx::importOnnx(ctx.get(), path, import);
  if (!report.unsupported.empty()) {
    std::string text = path + ": not supported:";
    for (const std::string &line : report.unsupported)
      text += "\n  " + oneLine(line);
    throw Stop(Exit::Unsupported, text);
  }
  if (failed(imported))
    throw Stop(isAboutShapes(diagnostics.errors()) ? Exit::Failure : Exit::Damage,
               diagnostics.errors().empty() ? path + ": cannot be imported" : diagnostics.errors());
  return std::move(*imported);
}

OwningOpRef<ModuleOp> Model::readAgain(const AdjustImport &adjust) {
  if (path.ends_with(".onnx"))
    return import(adjust);
  return module->clone();
}

void Model::readGraphFile(const AdjustImport &adjust, bool keepsCalls) {
  double start = now();
  schedule::Span span(options.times.timeline(), schedule::Timeline::Kind::Phase, "import");
  Diagnostics diagnostics(*ctx);
  if (path.ends_with(".mlir")) {
    requireFile(path);
    ParserConfig config(ctx.get());
    module = readGraphText(config, path);
    if (!module)
      throw Stop(Exit::Damage, diagnostics.errors().empty() ? path + ": cannot be parsed" : diagnostics.errors());
  } else if (path.ends_with(".sinter")) {
    module = readGraph(ctx.get(), path);
    if (!module)
      throw Stop(Exit::Damage, diagnostics.errors());
  } else {
    module = import(adjust);
  }
  if (options.mapTensors && !path.ends_with(".onnx"))
    throw Stop(Exit::Usage, "--map-tensors has no effect on " + path + ", which is no ONNX model");
  if (failed(verifyLimits(*module)) || failed(verifyPrecision(*module)) ||
      failed(schedule::verifyKeepPolicies(*module)))
    throw Stop(Exit::Failure, path + ": " + diagnostics.errors());
  if (!keepsCalls && failed(inlineCalls(*module)))
    throw Stop(Exit::Unsupported, diagnostics.errors());
  if (!options.indexPolicy.empty() && !path.ends_with(".onnx")) // the importer knows already
    applyIndexPolicy(*module, options.indexPolicy == "error" ? IndexPolicy::Error : IndexPolicy::Clamp);
  std::string precisionError;
  if (!options.precision.empty() && !setPrecision(*module, options.precision, precisionError))
    throw Stop(Exit::Usage, "--precision: " + precisionError);
  if (options.stripDebug)
    stripDebug(*module);
  if (!module->getOps<schedule::FunctionOp>().empty())
    throw Stop(Exit::Unsupported, path +
                                      ": is a schedule, whose text lacks the model's constants; what --emit=graph or "
                                      "--emit=fused writes can be gone on from");
  if (module->getOps<func::FuncOp>().empty())
    throw Stop(Exit::Damage, path + ": requires a function, got an empty module");
  if (llvm::none_of(module->getOps<func::FuncOp>(),
                    [](func::FuncOp function) { return function.isPublic() && !function.isDeclaration(); }))
    throw Stop(Exit::Damage, path + ": requires a public function with a body, got none");
  func::FuncOp main = function();
  if (!options.checkpoint.empty())
    main->setAttr(schedule::kKeepAttr, StringAttr::get(ctx.get(), options.checkpoint));
  auto portOf = [&](Type type, Attribute name, const std::string &otherwise, unsigned number) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      throw Stop(Exit::Damage, path + ": requires tensors as inputs and outputs of the function");
    auto text = dyn_cast_or_null<StringAttr>(name);
    return Port{text ? text.str() : otherwise + std::to_string(number), tensor, static_cast<int32_t>(number)};
  };
  // States belong to the session.
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (main.getArgAttr(i, "sinter.state"))
      hasStates = true;
    else
      inputPorts.push_back(portOf(main.getArgumentTypes()[i], main.getArgAttr(i, "sinter.name"), "arg", i));
  if (!options.shapes.empty() && !path.ends_with(".onnx")) // the importer knows already
    fixShapes(main);
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (!main.getResultAttr(i, "sinter.state"))
      outputPorts.push_back(portOf(main.getResultTypes()[i], main.getResultAttr(i, "sinter.name"), "result", i));
  importTime = now() - start;
}

void Model::describeFunction(const sinter_function &function) {
  auto port = [&](const sinter_tensor_type &type, int32_t number) {
    SmallVector<int64_t> shape;
    for (int32_t k = 0; k < type.rank; ++k)
      shape.push_back(type.dims[k] >= 0 ? type.dims[k] : ShapedType::kDynamic);
    return Port{type.name, RankedTensorType::get(shape, elementTypeOf(ctx.get(), type.dtype)), number};
  };
  // States belong to the session. Tables of older modules end before them.
  bool listsStates =
      function.struct_size >= offsetof(sinter_function, states) + sizeof(function.states) && function.num_states > 0;
  llvm::ArrayRef<sinter_state> states(listsStates ? function.states : nullptr, listsStates ? function.num_states : 0);
  for (int32_t i = 0; i < function.num_inputs; ++i)
    if (llvm::none_of(states, [&](const sinter_state &state) { return state.input == i; }))
      inputPorts.push_back(port(function.inputs[i], i));
  for (int32_t i = 0; i < function.num_outputs; ++i)
    if (llvm::none_of(states, [&](const sinter_state &state) { return state.output == i; }))
      outputPorts.push_back(port(function.outputs[i], i));
  readShapes(); // the sizes that random or zero inputs get
}

void Model::readShapes() {
  for (const auto &[name, dims] : options.parsedShapes()) {
    auto it = llvm::find_if(inputPorts, [&](const Port &candidate) { return candidate.name == name; });
    if (it == inputPorts.end())
      throw Stop(Exit::Failure, path + ": has no input '" + name + "' that --shape names");
    SmallVector<int64_t> shape;
    for (int64_t size : dims)
      shape.push_back(size < 0 ? ShapedType::kDynamic : size);
    auto type = RankedTensorType::get(shape, it->type.getElementType());
    if (!agree(type, it->type))
      throw Stop(Exit::Failure, path + ": input '" + name + "' requires " + describe(it->type) + ", --shape gives " +
                                    printShape(shape));
    it->type = type;
  }
}

void Model::fixShapes(func::FuncOp main) {
  readShapes();
  for (const Port &port : inputPorts)
    main.getArgument(static_cast<unsigned>(port.number)).setType(port.type);
  main.setType(FunctionType::get(main.getContext(), main.getBody().getArgumentTypes(), main.getResultTypes()));
  Diagnostics diagnostics(*ctx);
  PassManager passes(main.getContext(), func::FuncOp::getOperationName());
  passes.addPass(createRefineShapes());
  if (failed(passes.run(main)))
    throw Stop(Exit::Failure, diagnostics.errors());
}

void Model::readModule() {
  options.refuseCompiling(path + ", which is compiled already");
  if (!options.indexPolicy.empty())
    throw Stop(Exit::Usage, "--index-policy has no effect on " + path + ", which is compiled already");
  if (options.mapTensors)
    throw Stop(Exit::Usage, "--map-tensors has no effect on " + path + ", which is compiled already");
  requireFile(path);
  if (int32_t status = sinter_module_open(path.c_str(), nullptr, &opened))
    stopFor(status);
  if (!options.function.empty()) {
    functionIndex = sinter_module_find_function(opened, options.function.c_str());
    std::string names;
    for (int32_t i = 0; i < sinter_module_num_functions(opened); ++i)
      names += (i ? ", " : "") + oneLine(sinter_module_function(opened, i)->name);
    if (functionIndex < 0)
      throw Stop(Exit::Failure, path + " has no function '" + oneLine(options.function) + "'; it has " + names);
  }
  describeFunction(*sinter_module_function(opened, functionIndex));
}

void Model::stopWithReproducer(const std::string &message) {
  // A full disk or too little memory is no defect.
  if (Exit code = classOf(message.c_str(), Exit::Internal); code != Exit::Internal)
    throw Stop(code, message);
  std::string folder = (std::filesystem::temp_directory_path() / "sinter-reproducer-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    throw Stop(Exit::Internal, message);
  std::error_code error;
  llvm::raw_fd_ostream graph(folder + "/graph.mlir", error);
  if (!error)
    module->print(graph);
  std::ofstream(folder + "/README") << "sinter " SINTER_VERSION "\n"
                                    << message << "\nsinter compile graph.mlir -O" << options.optLevel << " --target "
                                    << options.target << "\n";
  throw Stop(Exit::Internal, message + " (this is a defect of sinter; a reproducer is in " + folder + ")");
}

const CompiledModule &Model::compile(const CompileRequest &request) {
  if (compiled)
    return *compiled;
  double start = now();
  Diagnostics diagnostics(*ctx);
  OwningOpRef<ModuleOp> copy = module->clone();
  FailureOr<CompiledModule> result = compileGraph(*copy, compilerOptions(options), request);
  if (failed(result) && diagnostics.errors().find("not supported: ") != std::string::npos)
    throw Stop(Exit::Unsupported, diagnostics.errors());
  if (failed(result) && faultOf(diagnostics.errors()) == CompileFault::Misfit)
    throw Stop(Exit::Failure, diagnostics.errors());
  if (failed(result))
    stopWithReproducer(diagnostics.errors().empty() ? path + ": cannot be compiled" : diagnostics.errors());
  if (!options.cubins.empty())
    addCubins(*result, options.cubins);
  compiled = std::move(*result);
  compileTime = now() - start;
  return *compiled;
}

sinter_session *Model::session() {
  if (active)
    return active;
  if (!opened) {
    std::string error;
    compile();
    schedule::Target host;
    if (!schedule::parseTarget("native", host, error))
      throw Stop(Exit::Failure, error);
    auto kindOf = [](const schedule::Target &target) { return llvm::StringRef(target.host->triple).split('-').first; };
    auto isOurs = [&](const schedule::Target &target) { return kindOf(host) == kindOf(target); };
    if (!isOurs(compiled->target) &&
        llvm::none_of(compiled->variants, [&](const auto &variant) { return isOurs(variant.target); }))
      throw Stop(Exit::Failure, path + ": running requires code for this machine (" + host.host->triple +
                                    "), --target gives " + compiled->target.host->triple);
    loaded = LoadedModule::load(*compiled, error);
    // A machine without the GPU that the target names is no defect.
    if (size_t at = error.find("the back end '"); !loaded && at != std::string::npos)
      throw Stop(Exit::Unsupported, path + ": " + error.substr(at));
    if (!loaded)
      stopWithReproducer(error);
  }
  sinter_session_options sessionOptions = {};
  sessionOptions.struct_size = sizeof(sessionOptions);
  sessionOptions.threads = options.threads;
  if (int32_t status = sinter_session_create(opened ? opened : loaded->get(), functionIndex, &sessionOptions, &active))
    stopFor(status);
  return active;
}

std::vector<HostTensor> Model::run(const std::vector<HostTensor> &inputs) {
  sinter_session *s = session();
  if (int32_t status = hasStates ? sinter_session_state_reset(s) : SINTER_OK)
    stopFor(status);
  if (!options.states.empty() && sinter_session_num_states(s) == 0)
    throw Stop(Exit::Failure, "--load requires a function with states, " + path + " has none");
  if (int32_t status = options.states.empty() ? SINTER_OK : sinter_session_load(s, options.states.c_str()))
    stopFor(status);
  std::vector<std::vector<int64_t>> rooms(inputs.size()); // until the call has ended
  for (auto [i, tensor] : llvm::enumerate(inputs)) {
    sinter_tensor view = viewOf(tensor, rooms[i]);
    if (int32_t status = sinter_session_set_input(s, inputPorts[i].number, &view))
      stopFor(status);
  }
  if (int32_t status = sinter_session_run(s))
    stopFor(status);
  std::vector<HostTensor> results;
  for (size_t i = 0; i < outputPorts.size(); ++i) {
    sinter_tensor view = {};
    if (int32_t status = sinter_session_output(s, outputPorts[i].number, &view))
      stopFor(status);
    results.push_back(copyOf(ctx.get(), view));
  }
  return results;
}

func::FuncOp Model::function() { return mainFunction(*module); }

std::vector<HostTensor> Model::argumentsFor(const std::vector<HostTensor> &inputs) {
  func::FuncOp main = function();
  std::vector<HostTensor> arguments;
  auto next = inputs.begin();
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(main.getArgumentTypes()[i]);
    auto initial = main.getArgAttrOfType<ElementsAttr>(i, "sinter.initial");
    FailureOr<HostTensor> first = failure();
    if (!main.getArgAttr(i, "sinter.state"))
      arguments.push_back(*next++);
    else if (!initial)
      arguments.emplace_back(type.getElementType(), type.getShape());
    else if (first = HostTensor::fromAttr(initial); succeeded(first))
      arguments.push_back(*first);
    else
      throw Stop(Exit::Failure, path + ": a state's first value has no content");
  }
  return arguments;
}

std::vector<HostTensor> Model::runReference(const std::vector<HostTensor> &inputs) {
  if (!module)
    throw Stop(Exit::Usage,
               path + ": the reference evaluator requires a graph (.onnx, .sinter or .mlir), got compiled code");
  Diagnostics diagnostics(*ctx);
  Evaluator evaluator;
  auto results = evaluator.run(function().getBody(), argumentsFor(inputs));
  if (failed(results))
    throw Stop(Exit::Failure, diagnostics.errors().empty() ? path + ": cannot be evaluated" : diagnostics.errors());
  std::vector<HostTensor> outputs;
  for (const Port &port : outputPorts)
    outputs.push_back((*results)[static_cast<size_t>(port.number)]);
  return outputs;
}

Difference tool::compare(const HostTensor &actual, const HostTensor &expected, double rtol, double atol) {
  Difference difference;
  if (!actual.isFloat()) {
    std::vector<int64_t> a = actual.toInts(), b = expected.toInts();
    for (size_t i = 0; i < a.size(); ++i) {
      difference.mismatches += a[i] != b[i];
      difference.absolute =
          std::max(difference.absolute, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return difference;
  }
  std::vector<double> a = actual.toFloats(), b = expected.toFloats();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if ((std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i]) {
      if (std::isfinite(b[i]))
        largest = std::max(largest, std::abs(b[i]));
      continue;
    }
    double distance = std::abs(a[i] - b[i]);
    if (!(distance <= atol + rtol * std::abs(b[i])))
      ++difference.mismatches;
    difference.absolute = std::isnan(distance) ? INFINITY : std::max(difference.absolute, distance);
    if (std::isfinite(b[i]))
      largest = std::max(largest, std::abs(b[i]));
  }
  difference.relative = largest > 0 ? difference.absolute / largest : difference.absolute;
  return difference;
}
