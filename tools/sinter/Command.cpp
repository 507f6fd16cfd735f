// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Command.h"
#include "backends/schedule/KeepPolicy.h"
#include "compiler/Link.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>

using namespace sinter::tool;

CLI::Validator sinter::tool::positive() {
  auto check = [](const std::string &text) {
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool isPositive = error == std::errc() && end == text.data() + text.size() && number > 0 && std::isfinite(number);
    return isPositive ? std::string() : "requires a number above 0, got '" + text + "'";
  };
  return CLI::Validator(check, "ABOVE 0");
}

/// Checks that the value of an option is a policy.
static CLI::Validator checkpointPolicy() {
  auto check = [](const std::string &text) {
    std::string error;
    return sinter::schedule::KeepPolicy::parse(text, error) ? std::string() : error;
  };
  return CLI::Validator(check, "POLICY");
}

/// Appends the option's name to `given` when it is read.
static std::function<void(const std::string &)> noteIn(std::vector<std::string> &given, const char *name) {
  return [&given, name](const std::string &) { given.emplace_back(name); };
}

static void refuseFirst(const std::vector<std::string> &given, const std::string &why) {
  if (!given.empty())
    throw Stop(Exit::Usage, given.front() + " has no effect on " + why);
}

void SharedOptions::refuseCompiling(const std::string &why) const { refuseFirst(compiling, why); }
void SharedOptions::refuseThreads(const std::string &why) const { refuseFirst(threading, why); }

void SharedOptions::addTo(CLI::App &command, bool onlyCompiles) {
  // -O2 is one word for users, an option with a value for CLI11.
  command.add_option("-O", optLevel, "optimization level, 0 to 3 (default 2)")
      ->check(CLI::Range(0, 3))
      ->each(noteIn(compiling, "-O"));
  command
      .add_flag("--fast-math", fastMath,
                "also rewrites that change rounding, infinities and NaN: merge-numbers, reciprocal, "
                "batch-norm-as-sum, winograd (passes/REWRITES.md)")
      ->each(noteIn(compiling, "--fast-math"));
  command
      .add_flag("--strip-debug", stripDebug, "leaves out debug_print and check_finite of the program (default: kept)")
      ->each(noteIn(compiling, "--strip-debug"));
  (onlyCompiles ? command.add_option("--threads", compilerThreads, "threads to compile on (default: all cores)")
                : command.add_option("--threads", threads, "threads to run on (default: all cores)"))
      ->check(CLI::Range(1, 1024))
      ->each(noteIn(threading, "--threads"));
  command
      .add_option("--target", target,
                  "CPU to compile for: native, a level (x86-64-v3, aarch64) or LLVM's name of a CPU, +EXT and -EXT "
                  "after it (znver4,-avx512bf16); or several, separated by commas (x86-64-v3,x86-64-v4): each "
                  "machine runs the best that it can")
      ->each(noteIn(compiling, "--target"));
  addShapesTo(command);
}

void SharedOptions::addPrecisionTo(CLI::App &command) {
  command
      .add_option(
          "--precision", precision,
          "f32, bf16 or f16: what products, convolutions and attention of f32 multiply in; sums, results (but those of "
          "attention) and all other ops "
          "stay f32, but for what training steps keep and residuals that products read, too (activation); tf32: GPUs "
          "may round operands to 10 bits behind "
          "the "
          "point. Single ones after it: "
          "bf16,convolution=f32 or f32,dot_general=bf16 (default: as a graph "
          "file says, else f32)")
      ->type_name("TYPE[,OP=TYPE...]")
      ->each(noteIn(compiling, "--precision"));
}

void SharedOptions::addCheckpointTo(CLI::App &command) {
  command
      .add_option("--checkpoint", checkpoint,
                  "what is computed again instead of kept where it is read much later, as activations in a backward "
                  "part: none; full, the smallest arena; named:REGEX, blocks by the names of what they read; "
                  "budget:BYTES (with K, M or G) or budget:SHARE%, as little as such an arena allows "
                  "(default: as the graph says, else none)")
      ->check(checkpointPolicy())
      ->each(noteIn(compiling, "--checkpoint"));
}

void SharedOptions::addKernelCacheTo(CLI::App &command) {
  command
      .add_flag("--kernel-cache{-}", kernelCache,
                "=FOLDER: take object code of kernels that were compiled before from a folder, and keep it there "
                "(alone: $XDG_CACHE_HOME/sinter/kernels, or ~/.cache/sinter/kernels; without the flag the folder that "
                "SINTER_KERNEL_CACHE names, if any)")
      ->each(noteIn(compiling, "--kernel-cache"));
  command.add_option("--kernel-cache-size", kernelCacheMiB, "MiB that the folder may hold (default 1024)")
      ->check(CLI::Range(1, 1 << 20))
      ->each(noteIn(compiling, "--kernel-cache-size"));
}

/// sm_80 or sm_90a.
static std::string mistakeInGeneration(const std::string &text) {
  llvm::StringRef digits(text);
  bool isNamed = digits.consume_front("sm_");
  digits.consume_back("a");
  bool isNumber = digits.size() >= 2 && digits.size() <= 3 && llvm::all_of(digits, llvm::isDigit);
  return isNamed && isNumber ? "" : "requires generations such as sm_80 or sm_90a, got '" + text + "'";
}

void SharedOptions::addCubinsTo(CLI::App &command) {
  command
      .add_option("--cubins", cubins,
                  "generations of GPUs, such as sm_80,sm_90, whose code a module holds beside its PTX, so that their "
                  "drivers need not compile it; requires NVIDIA's ptxas (SINTER_PTXAS, or on the PATH)")
      ->delimiter(',')
      ->check(CLI::Validator(mistakeInGeneration, "GENERATION"))
      ->type_name("GENERATION[,...]")
      ->each(noteIn(compiling, "--cubins"));
}

void SharedOptions::addShapesTo(CLI::App &command) {
  command.add_option("--shape", shapes, "NAME=1x3x224x224: fixes the dims of an input ('?' keeps one dynamic)")
      ->type_name("NAME=DIMS")
      ->allow_extra_args(false);
  command
      .add_option(
          "--index-policy", indexPolicy,
          "positions outside of an axis: error ends the call, the default of ONNX models; clamp has gathers read "
          "the nearest and scatters skip them (default: as a graph file says)")
      ->check(CLI::IsMember({"clamp", "error"}));
}

std::map<std::string, std::vector<int64_t>> SharedOptions::parsedShapes() const {
  std::map<std::string, std::vector<int64_t>> parsed;
  for (const std::string &text : shapes) {
    size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw Stop(Exit::Usage, "--shape requires NAME=DIMS such as x=1x3x224x224, got '" + text + "'");
    std::vector<int64_t> dims;
    const std::string sizes = text.substr(equals + 1);
    for (size_t begin = 0; begin < sizes.size();) {
      size_t end = std::min(sizes.find('x', begin), sizes.size());
      std::string word = sizes.substr(begin, end - begin);
      int64_t size = -1;
      auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), size);
      bool whole = error == std::errc() && rest == word.data() + word.size() && size >= 0;
      if (!whole && word != "?")
        throw Stop(Exit::Usage, "--shape requires sizes separated by 'x', got '" + word + "' in '" + text + "'");
      dims.push_back(whole ? size : -1);
      begin = end + 1;
    }
    if (!sizes.empty() && sizes.back() == 'x')
      throw Stop(Exit::Usage, "--shape requires sizes separated by 'x', got '" + text + "'");
    parsed[text.substr(0, equals)] = dims;
  }
  return parsed;
}

void sinter::tool::writeText(const std::string &text, const std::string &path) {
  std::string error;
  if (path == "-")
    std::cout << text;
  else if (!writeFile(path, llvm::ArrayRef<char>(text.data(), text.size()), error))
    throw Stop(Exit::Failure, error);
}

std::string sinter::tool::describeBytes(uintmax_t bytes) {
  char text[32];
  if (bytes < 10 * 1024)
    std::snprintf(text, sizeof text, "%ju bytes", bytes);
  else if (bytes < 10 * 1024 * 1024)
    std::snprintf(text, sizeof text, "%.0f KB", static_cast<double>(bytes) / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1024 / 1024);
  return text;
}
