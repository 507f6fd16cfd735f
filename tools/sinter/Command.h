// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the subcommands share: exit codes, the failure that carries one, and the flags that several of them take.

#ifndef SINTER_TOOLS_SINTER_COMMAND_H
#define SINTER_TOOLS_SINTER_COMMAND_H

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace sinter::tool {

enum class Exit { Success = 0, Failure = 1, Usage = 2, Unsupported = 3, Mismatch = 4, Internal = 70 };

/// Ends a subcommand: `message` goes to stderr as "sinter: error: MESSAGE" (one line, or several for a list of
/// unsupported operators), `code` is the process's exit code.
struct Stop : std::runtime_error {
  Stop(Exit code, const std::string &message) : std::runtime_error(message), code(code) {}
  Exit code;
};

/// Flags that several subcommands take.
struct SharedOptions {
  int optLevel = 2;
  bool fastMath = false;
  int threads = 0, compilerThreads = 0; // 0: all cores
  std::string target = "native";
  std::vector<std::string> shapes; // NAME=1x80
  std::string indexPolicy;         // clamp or error; empty: as the graph has it
  /// The flags given among those that say how to compile (-O, --fast-math, --target), or on how many threads.
  std::vector<std::string> compiling, threading;

  /// --threads are those to run on, or of a command that only compiles those to compile on.
  void addTo(CLI::App &command, bool onlyCompiles = false);
  /// --shape and --index-policy alone.
  void addShapesTo(CLI::App &command);
  /// Throws Stop where -O or --target is given, or --threads: `why` says what they have no effect on.
  void refuseCompiling(const std::string &why) const;
  void refuseThreads(const std::string &why) const;
  /// Splits each at its last '='. Throws Stop on malformed ones. -1 (written `?`) keeps a dim dynamic.
  std::map<std::string, std::vector<int64_t>> parsedShapes() const;
};

/// Checks that the value of an option is a number above 0.
CLI::Validator positive();

/// Refuses outputs that a rename would destroy: folders, devices, and the model itself. Throws Stop that names `flag`.
void requireWritable(const std::string &output, const std::string &model, const std::string &flag = "-o");

/// Writes a file, or to standard output where `path` is `-`. Throws Stop.
void writeText(const std::string &text, const std::string &path);

/// `812 bytes`, `56 KB`, `7.8 MB`
std::string describeBytes(uintmax_t bytes);

// One per subcommand: adds it to the program. Its callback does the work and throws Stop, or sets `result`.
void addCompile(CLI::App &program, Exit &result);
void addConvert(CLI::App &program, Exit &result);
void addRun(CLI::App &program, Exit &result);
void addCheck(CLI::App &program, Exit &result);
void addBench(CLI::App &program, Exit &result);
void addGrad(CLI::App &program, Exit &result);
void addInspect(CLI::App &program, Exit &result);
void addTrain(CLI::App &program, Exit &result);
void addTrainStep(CLI::App &program, Exit &result);
void addDoctor(CLI::App &program, Exit &result);

} // namespace sinter::tool

#endif
