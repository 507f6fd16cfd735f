// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_mutants [--seed S] [--count N] [--out FOLDER] FILE...
//
// Changes graph files by N seeds from S on, as sinter_fuzz does, and compiles those that can still be read, with and
// without their gradients, then runs them on zeros. Each is done in a process of its own, which must end by itself:
// with results or with a message. A file whose process crashes or hangs is written to FOLDER.

#include "compiler/Compile.h"
#include "compiler/Pipeline.h"
#include "compiler/Register.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/gradient/BuildGradient.h"
#include "test/fuzz/MutateGraph.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;

/// CPU seconds and bytes that a process may take; the largest input that it is run on.
constexpr rlim_t kSeconds = 20, kBytes = rlim_t(6) << 30;
constexpr int64_t kInputBytes = 64 << 20;

/// Sizes that the file leaves open become 2.
static bool runOnZeros(const CompiledModule &compiled) {
  std::string error;
  std::unique_ptr<LoadedModule> loaded = LoadedModule::load(compiled, error);
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  sinter_session *session = nullptr;
  if (!loaded || sinter_session_create(loaded->get(), 0, &options, &session) != SINTER_OK)
    return false;
  const sinter_function *function = sinter_session_function(session);
  llvm::SmallDenseSet<int32_t> states;
  for (int32_t i = 0; i < function->num_states; ++i)
    states.insert(function->states[i].input);
  std::vector<std::vector<char>> zeros;
  bool ok = true;
  for (int32_t i = 0; ok && i < function->num_inputs; ++i) {
    if (states.contains(i))
      continue;
    sinter_tensor tensor = {};
    tensor.dtype = function->inputs[i].dtype;
    tensor.rank = function->inputs[i].rank;
    int64_t bytes = 16;
    for (int32_t k = 0; k < tensor.rank; ++k) {
      tensor.dims[k] = std::max<int64_t>(function->inputs[i].dims[k], -1);
      if (tensor.dims[k] < 0)
        tensor.dims[k] = 2;
      ok = ok && !__builtin_mul_overflow(bytes, std::max<int64_t>(tensor.dims[k], 1), &bytes) && bytes <= kInputBytes;
    }
    if (!ok)
      break;
    zeros.emplace_back(static_cast<size_t>(bytes));
    tensor.data = zeros.back().data();
    ok = sinter_session_set_input(session, i, &tensor) == SINTER_OK;
  }
  ok = ok && sinter_session_run(session) == SINTER_OK;
  sinter_session_destroy(session);
  return ok;
}

/// What happens to a good graph. Messages are counted, not told.
static bool compileAndRun(ModuleOp module, int optLevel) {
  Options options;
  options.optLevel = optLevel;
  options.threads = 1;
  FailureOr<CompiledModule> compiled = compileGraph(module, options);
  return succeeded(compiled) && runOnZeros(*compiled);
}

static bool differentiate(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return false;
  func::FuncOp function = *functions.begin();
  SmallVector<unsigned> wrt;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<FloatType>(getElementTypeOrSelf(type)))
      wrt.push_back(static_cast<unsigned>(i));
  if (failed(refineForGradient(function)))
    return false;
  FailureOr<func::FuncOp> gradient = buildGradient(function, wrt);
  if (failed(gradient))
    return false;
  for (func::FuncOp other : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (other == function)
      other.erase();
  return compileAndRun(module, 2);
}

namespace {
enum Stage { Quick, Optimized, Gradient };
constexpr const char *kStages[] = {"-O0", "-O2", "gradient"};
} // namespace

/// Empty when the process that does `stage` ends by itself.
static std::string runStage(StringRef bytes, Stage stage, bool &made) {
  pid_t child = fork();
  if (child == 0) {
    rlimit seconds{kSeconds, kSeconds + 1}, memory{kBytes, kBytes}, core{0, 0};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CORE, &core);
    DialectRegistry registry;
    registerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    int messages = 0;
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return success();
    });
    OwningOpRef<ModuleOp> module = readGraph(&context, ArrayRef<char>(bytes.data(), bytes.size()), "mutant");
    bool ok = module && (stage == Gradient ? differentiate(*module) : compileAndRun(*module, stage == Quick ? 0 : 2));
    _exit(ok ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  made = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status))
    return std::string(kStages[stage]) + ": " + strsignal(WTERMSIG(status));
  if (!made && WEXITSTATUS(status) != 3)
    return std::string(kStages[stage]) + ": exit code " + std::to_string(WEXITSTATUS(status));
  return "";
}

int main(int argc, char **argv) {
  namespace cl = llvm::cl;
  static cl::opt<uint64_t> seedFlag("seed", cl::desc("the first change"), cl::init(1));
  static cl::opt<uint64_t> countFlag("count", cl::desc("how many changes"), cl::init(20000));
  static cl::opt<std::string> folderFlag("out", cl::desc("folder for files that fail"), cl::init("build/fuzz/mutants"));
  static cl::list<std::string> filesFlag(cl::Positional, cl::OneOrMore, cl::desc("FILE.sinter..."));
  cl::ParseCommandLineOptions(argc, argv, "changed graph files are compiled or refused\n");
  std::vector<std::string> seeds;
  for (const std::string &path : filesFlag) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer) {
      llvm::errs() << "sinter_mutants: " << path << ": " << buffer.getError().message() << "\n";
      return 2;
    }
    seeds.push_back((*buffer)->getBuffer().str());
  }
  uint64_t read = 0, made = 0, failures = 0;
  std::unique_ptr<MLIRContext> context;
  for (uint64_t i = 0; i < countFlag; ++i) {
    if (i % 5000 == 0)
      context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
    uint64_t seed = seedFlag + i;
    std::string bytes = seeds[seed % seeds.size()];
    fuzz::mutateGraph(bytes, static_cast<unsigned>(seed));
    {
      ScopedDiagnosticHandler quiet(context.get(), [](Diagnostic &) { return success(); });
      if (!readGraph(context.get(), ArrayRef<char>(bytes.data(), bytes.size()), "mutant"))
        continue;
    }
    ++read;
    for (Stage stage : {Quick, Optimized, Gradient}) {
      bool compiled = false;
      std::string problem = runStage(bytes, stage, compiled);
      made += compiled;
      if (problem.empty())
        continue;
      ++failures;
      std::string path = folderFlag + "/" + std::to_string(seed) + ".sinter";
      std::error_code error = llvm::sys::fs::create_directories(folderFlag);
      llvm::raw_fd_ostream(path, error) << bytes;
      llvm::outs() << "seed " << seed << ": " << problem << "  " << path << "\n";
      llvm::outs().flush();
    }
    if (read % 500 == 0) {
      llvm::outs() << i + 1 << " changed, " << read << " read, " << made << " run, " << failures << " failed\n";
      llvm::outs().flush();
    }
  }
  llvm::outs() << countFlag << " changed, " << read << " read, " << made << " run, " << failures << " failed\n";
  return failures != 0;
}
