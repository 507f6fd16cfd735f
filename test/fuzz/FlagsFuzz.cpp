// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of the command line: words, shapes, inputs, targets, memory policies, optimizers; descriptions of hosts, and
// what messages become. The first byte says of what. Each is read, or refused with a message of one line that is no
// defect.

#include "KeptContext.h"
#include "backends/cpu/CpuKind.h"
#include "backends/cpu/HostTarget.h"
#include "compiler/Targets.h"
#include "compiler/train/OptimizerSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/Tensors.h"
#include <cmath>
#include <cstdlib>
#include <sstream>

using namespace sinter;
using namespace sinter::tool;

static void require(bool condition) {
  if (!condition)
    abort();
}

static void requireOneLine(const std::string &message) {
  require(!message.empty() && oneLine(message).find('\n') == std::string::npos);
}

template <typename Read> static void readOrStop(Read read) {
  try {
    read();
  } catch (const Stop &stop) {
    requireOneLine(stop.what());
    require(stop.code != Exit::Internal && stop.code != Exit::Success);
  } catch (const CLI::Error &error) { // main() prints these and exits with 2; --help is one
    require(error.get_exit_code() == 0 || *error.what());
  }
}

/// A command line of flags that several commands take; words end at line ends.
static void readWords(const std::string &text) {
  CLI::App app;
  SharedOptions options;
  double rate = 1;
  int64_t steps = 1;
  uint64_t seed = 0;
  options.addTo(app, text.size() % 2 == 1);
  app.add_option("--rate", rate)->check(positive());
  app.add_option("--steps", steps)->check(positive());
  app.add_option("--seed", seed);
  std::vector<std::string> words; // the last one first, as CLI11 takes them
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    words.insert(words.begin(), text.substr(begin, end - begin));
    begin = end + 1;
  }
  readOrStop([&] {
    app.parse(words);
    require(options.optLevel >= 0 && options.optLevel <= 3);
    require(options.threads >= 0 && options.threads <= 1024 && options.compilerThreads >= 0 &&
            options.compilerThreads <= 1024);
    require(rate > 0 && std::isfinite(rate) && steps > 0);
    for (const auto &[name, dims] : options.parsedShapes())
      for (int64_t dim : dims)
        require(!name.empty() && dim >= -1);
    options.refuseCompiling("this");
    options.refuseThreads("this");
  });
}

static void readInput(const std::string &text) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (text.find("=@") != std::string::npos) // no files
    return;
  std::vector<Port> ports;
  for (int32_t dtype : {SINTER_F32, SINTER_F16, SINTER_I1, SINTER_I64, SINTER_U8})
    ports.push_back({dtype == SINTER_F32 ? "x" : "a=b" + std::to_string(dtype),
                     mlir::RankedTensorType::get({2, 3}, elementTypeOf(&context, dtype))});
  size_t half = text.find('\n');
  std::string fill = half == std::string::npos ? "zeros" : text.substr(half + 1);
  if (fill.starts_with("@"))
    return;
  readOrStop([&] {
    for (const HostTensor &tensor : readInputs(&context, ports, {text.substr(0, half)}, fill, 0.125))
      require(tensor.numElements() == 6);
  });
}

/// What code for a target requires is what the runtime asks of a host.
static void requireKnown(const cpu::Target &target) {
  char word[64];
  std::string requirements = cpu::requirementsOf(target);
  require(sinter_host_runs(sinter_host_get(), requirements.c_str(), word, sizeof word) != SINTER_HOST_UNKNOWN);
  require(target.vectorBytes >= 16 && target.l1Bytes > 0 && target.l2Bytes > 0);
}

static void readTargets(const std::string &text) {
  std::vector<schedule::Target> targets;
  std::string error;
  if (!parseTargets(text, targets, error))
    return requireOneLine(error);
  require(!targets.empty());
  for (const schedule::Target &target : targets)
    requireKnown(cpu::targetOf(*target.host));
}

/// A host that a file describes, and targets there: the first line goes on with them.
static void readHost(const std::string &text) {
  static sinter_host host; // stays: the process decides by it
  size_t end = std::min(text.find('\n'), text.size());
  if (sinter_host_parse(text.c_str() + std::min(end + 1, text.size()), "fuzz", &host) != SINTER_OK)
    return requireOneLine(sinter_last_error());
  sinter_host_use(&host);
  readTargets("native" + text.substr(0, end));
  requireKnown(cpu::Target::host());
  require(!cpu::reportHost(host).requirements.empty() && sinter_host_cores(&host) > 0);
  sinter_host_use(nullptr);
}

/// Functions as text: on a line a name, then words that begin with i (an input), o (an output), y (a symbol) or s (a
/// state) and go on with a name and letters for sizes.
static std::vector<schedule::Signature> signaturesOf(llvm::StringRef text) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::SmallVector<llvm::StringRef> lines, words;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<schedule::Signature> functions;
  for (llvm::StringRef line : lines) {
    words.clear();
    line.split(words, ' ', -1, /*KeepEmpty=*/false);
    schedule::Signature &function = functions.emplace_back();
    for (llvm::StringRef word : words) {
      auto [name, sizes] = word.drop_front().split(':');
      llvm::SmallVector<int64_t> dims(sizes.begin(), sizes.end());
      if (word[0] == 'i' || word[0] == 'o')
        (word[0] == 'i' ? function.inputs : function.outputs)
            .push_back({name.str(), mlir::IntegerType::get(&context, 8 + 8 * (sizes.size() % 2)), dims});
      else if (word[0] == 'y')
        function.symbols.push_back(name.str());
      else if (word[0] == 's')
        function.states.push_back({name.str(), static_cast<int>(sizes.size())});
      else
        function.name = word.str();
    }
  }
  return functions;
}

static void compareSignatures(const std::string &text) {
  size_t middle = std::min(text.find("\n\n"), text.size());
  auto one = signaturesOf(llvm::StringRef(text).take_front(middle)), two = signaturesOf(text.substr(middle));
  std::string error;
  require(haveSameSignatures(one, one, error) && haveSameSignatures(two, two, error));
  bool same = haveSameSignatures(one, two, error);
  require(same == haveSameSignatures(two, one, error));
  if (!same)
    requireOneLine(error);
}

static bool hasControls(const std::string &text, const char *allowed) {
  return llvm::any_of(text, [&](char letter) {
    auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 || byte == 0x7f) && !(byte && std::strchr(allowed, byte));
  });
}

/// A message that repeats what somebody chose.
static void readMessage(const std::string &text) {
  require(!hasControls(oneLine(text), "") && !hasControls(printable(text), "\n\t"));
  std::ostringstream out;
  {
    PrintableStream safe(out);
    out << text.substr(0, text.size() / 2);
    for (char letter : text.substr(text.size() / 2))
      out.put(letter);
  }
  require(!hasControls(out.str(), "\n\t\r"));
  require(classOf(text.c_str(), Exit::Damage) != Exit::Internal);
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), std::min(text.size(), sizeof bytes));
  requireOneLine(describeBytes(bytes));
  int32_t status = static_cast<int32_t>(text.size() % 16);
  if (*sinter_last_error())
    readOrStop([&] { stopFor(status); });
}

static void readOptimizer(const std::string &text) {
  OptimizerSpec spec;
  std::string error;
  if (!OptimizerSpec::parse(text, spec, error))
    requireOneLine(error);
  else
    require(spec.lr_is_input || std::isfinite(spec.lr));
}

static void readPolicy(const std::string &text) {
  auto policy = CheckpointPolicy::parse(text);
  if (policy)
    require(policy->count >= (policy->hasSnapshots() ? 1 : 0));
  static fuzz::KeptContext kept(fuzz::bareContext);
  mlir::MLIRContext &context = kept.next();
  int errors = 0;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &) {
    ++errors;
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> op = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  require(succeeded(CheckpointPolicy::of(*op)));
  (*op)->setAttr("sinter.memory", mlir::StringAttr::get(&context, text));
  require(succeeded(CheckpointPolicy::of(*op)) == policy.has_value() && errors == (policy ? 0 : 1));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const kinds[])(const std::string &) = {readWords,  readInput, readTargets,       readOptimizer,
                                                       readPolicy, readHost,  compareSignatures, readMessage};
  if (size < 1)
    return 0;
  std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
  const char *letters = "witophsm";
  const char *letter = static_cast<const char *>(std::memchr(letters, data[0], 8));
  kinds[letter ? letter - letters : data[0] % 8](text);
  return 0;
}
