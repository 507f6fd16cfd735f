// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of the command line: words, shapes, inputs, targets, memory policies, optimizers. The first byte says of what.
// Each is read, or refused with a message of one line that is no defect.

#include "compiler/Targets.h"
#include "compiler/train/OptimizerSpec.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/Tensors.h"
#include <cmath>
#include <cstdlib>

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

static void readTargets(const std::string &text) {
  std::vector<cpu::Target> targets;
  std::string error;
  if (!parseTargets(text, targets, error))
    requireOneLine(error);
  else
    require(!targets.empty());
}

static void readOptimizer(const std::string &text) {
  OptimizerSpec spec;
  std::string error;
  if (!OptimizerSpec::parse(text, spec, error))
    requireOneLine(error);
  else
    require(spec.rateIsInput || std::isfinite(spec.rate));
}

static void readPolicy(const std::string &text) {
  if (auto policy = CheckpointPolicy::parse(text))
    require(policy->count >= (policy->hasSnapshots() ? 1 : 0));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const kinds[])(const std::string &) = {readWords, readInput, readTargets, readOptimizer, readPolicy};
  if (size < 1)
    return 0;
  std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
  const char *letters = "witop";
  const char *letter = static_cast<const char *>(std::memchr(letters, data[0], 5));
  kinds[letter ? letter - letters : data[0] % 5](text);
  return 0;
}
