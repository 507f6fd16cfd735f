// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_programs [--seed S] [--count N] [--steps K] [--gradients] [--target TARGET] [--out FOLDER] [--print]
//
// Makes N random programs from seed S on and checks each. A failing one shrinks and is written to FOLDER as an .mlir
// file that holds its inputs as constants; such a file, once its cause is mended, goes to test/fuzz/programs/cases/.
// FILE.mlir in place of a seed checks that file.

#include "compiler/Register.h"
#include "mlir/Parser/Parser.h"
#include "test/fuzz/programs/Check.h"
#include "test/fuzz/programs/Generator.h"
#include "test/fuzz/programs/Shrink.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {
/// Copied from the flags before the first compilation: the linker gives LLVM's command-line flags their defaults back.
struct Flags {
  uint64_t seed, count;
  unsigned steps;
  bool gradients, print;
  std::string folder, target;
  std::vector<std::string> files;
};
} // namespace

static Flags flags;

static void parseFlags(int argc, char **argv) {
  namespace cl = llvm::cl;
  static cl::opt<uint64_t> seed("seed", cl::desc("the first program's seed"), cl::init(0));
  static cl::opt<uint64_t> count("count", cl::desc("how many programs"), cl::init(20000));
  static cl::opt<unsigned> steps(
      "steps", cl::desc("ops of a program, without those in bodies (default 12, with gradients 8)"), cl::init(0));
  static cl::opt<bool> gradients("gradients", cl::desc("check derivatives"));
  static cl::opt<bool> print("print", cl::desc("print the programs rather than check them"));
  static cl::opt<std::string> folder("out", cl::desc("folder for failing programs"), cl::init("build/fuzz/programs"));
  static cl::opt<std::string> target("target", cl::desc("of native code, in one way only (default: the host, in all)"));
  static cl::list<std::string> files(cl::Positional, cl::desc("[FILE.mlir...]"));
  cl::ParseCommandLineOptions(argc, argv, "random programs: reference, -O0, -O2 and derivatives agree\n");
  flags = {seed,
           count,
           steps       ? unsigned(steps)
           : gradients ? 8u
                       : 12u,
           gradients,
           print,
           folder,
           target,
           {files.begin(), files.end()}};
}

/// CPU seconds that one program may take.
constexpr rlim_t kSeconds = 120;

/// In a process of its own, so that a program which crashes the compiler or does not end is one that fails.
static std::optional<std::string> check(const Program &program) {
  int ends[2];
  if (pipe(ends))
    return "cannot be checked: " + std::string(strerror(errno));
  pid_t child = fork();
  if (child < 0)
    return "cannot be checked: " + std::string(strerror(errno));
  if (child == 0) {
    rlimit seconds{kSeconds, kSeconds + 1}, core{0, 0};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &core);
    std::optional<std::string> text = flags.gradients ? checkProgramGradients(*program.module, program.inputs)
                                                      : checkValues(*program.module, program.inputs);
    bool told = !text || write(ends[1], text->data(), text->size()) == static_cast<ssize_t>(text->size());
    _exit(text || !told ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return std::string("crashes: ") + strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) ? std::optional<std::string>(text) : std::nullopt;
}

static Program generate(MLIRContext &context, uint64_t seed, unsigned length) {
  ProgramOptions options;
  options.seed = seed;
  options.steps = length;
  options.differentiable = flags.gradients;
  return generateProgram(context, options);
}

/// Shrinks and writes the program of `seed`.
static void report(MLIRContext &context, uint64_t seed, const std::string &what) {
  llvm::outs() << "seed " << seed << ": " << what << "\n";
  llvm::outs().flush();
  // A prefix of the program first: that costs few runs.
  unsigned length = flags.steps;
  for (unsigned shorter = 1; shorter < length; ++shorter)
    if (check(generate(context, seed, shorter)))
      length = shorter;
  Program program = generate(context, seed, length);
  shrink(program, [](const Program &candidate) { return check(candidate).has_value(); });
  Program baked{program.module->clone(), program.inputs};
  bakeInputs(baked);
  if (check(baked)) // else folding hides it: the file takes inputs, which are drawn again when it is checked
    program = std::move(baked);
  std::string path = flags.folder + "/" + (flags.gradients ? "gradient-" : "values-") + std::to_string(seed) + ".mlir";
  std::error_code error = llvm::sys::fs::create_directories(flags.folder);
  llvm::raw_fd_ostream file(path, error);
  if (!error)
    program.module->print(file);
  llvm::outs() << "  shrunk to " << path << "\n";
  llvm::outs().flush();
}

int main(int argc, char **argv) {
  parseFlags(argc, argv);
  checkFor(flags.target);
  DialectRegistry registry;
  registerDialects(registry);
  uint64_t failures = 0, done = 0;
  for (const std::string &path : flags.files) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    Program program{parseSourceFile<ModuleOp>(path, ParserConfig(&context)), {}};
    if (program.module)
      drawInputs(program, flags.seed);
    std::optional<std::string> text = program.module ? check(program) : std::optional<std::string>("cannot be read");
    if (text)
      llvm::outs() << path << ": " << *text << "\n";
    failures += text.has_value();
    ++done;
  }
  for (uint64_t seed = flags.seed; flags.files.empty() && seed < flags.seed + flags.count; ++seed, ++done) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    Program program = generate(context, seed, flags.steps);
    if (flags.print) {
      program.module->print(llvm::outs());
      continue;
    }
    if (std::optional<std::string> text = check(program)) {
      ++failures;
      report(context, seed, *text);
    }
    if ((done + 1) % 1000 == 0) {
      llvm::outs() << done + 1 << " programs, " << failures << " failed\n";
      llvm::outs().flush();
    }
  }
  llvm::outs() << done - failures << " passed, " << failures << " failed\n";
  return failures != 0;
}
