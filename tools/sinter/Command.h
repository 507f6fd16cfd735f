// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the subcommands share: the flags that several of them take, and what they check before they write.

#ifndef SINTER_TOOLS_SINTER_COMMAND_H
#define SINTER_TOOLS_SINTER_COMMAND_H

#include "tools/sinter/Exit.h"
#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinter::schedule {
class Timeline;
}

namespace sinter::tool {

/// A flag that asks for a table, and by =FILE.json for a file of events, too.
class EventsFlag {
public:
  void addTo(CLI::App &command, const std::string &flag, const std::string &help);
  bool isAsked() const { return !file.empty(); }
  bool hasFile() const { return isAsked() && file != "table"; }
  /// Throws Stop where the file of events cannot be written, or is one of `others`.
  void require(const std::vector<std::string> &others, bool force) const;
  /// Writes the events, if there is a file for them.
  void write(const std::string &events) const;

private:
  std::string flag, file; // "table": none; empty: not asked for
};

/// --time-passes of commands that make code.
class TimePasses {
public:
  void addTo(CLI::App &command);
  /// Begins to measure if that is asked for. Throws Stop where the file of events cannot be written, or is one of
  /// `others`.
  void begin(const std::vector<std::string> &others, bool force);
  /// Prints the table, and writes the file.
  void finish();
  /// Null while nothing is measured.
  schedule::Timeline *timeline() const { return measured.get(); }

private:
  EventsFlag events;
  std::shared_ptr<schedule::Timeline> measured; // null: nothing is
};

/// Flags that several subcommands take.
struct SharedOptions {
  int optLevel = 2;
  bool fastMath = false;
  int threads = 0, compilerThreads = 0; // 0: all cores
  std::string target = "native";
  std::string device;              // cuda:0; empty: the CPU, or what a module has code for
  std::vector<std::string> shapes; // NAME=1x80
  std::string indexPolicy;         // clamp or error; empty: as the graph has it
  bool mapTensors = false;         // of ONNX models: files beside them are mapped
  std::string precision;           // setPrecision (passes/LowerPrecision.h); empty: as the graph says
  std::string checkpoint;          // schedule::KeepPolicy of the main function; empty: as the graph says
  bool stripDebug = false;         // without debug_print and check_finite
  std::string function;            // of a module; empty: its first
  TimePasses times;                // of commands that have the flag
  std::string kernelCache;         // folder; `-`: the user's; empty: what SINTER_KERNEL_CACHE says
  int64_t kernelCacheMiB = 1024;
  std::vector<std::string> cubins; // generations of GPUs whose code stands beside their PTX
  std::string states;              // safetensors file that states have their values of; empty: their first ones
  /// The flags given among those that say how to compile (-O, --fast-math, --target), or on how many threads.
  std::vector<std::string> compiling, threading;

  /// --threads are those to run on, or of a command that only compiles those to compile on.
  void addTo(CLI::App &command, bool onlyCompiles = false);
  /// --precision, of commands that make code and compare it with nothing.
  void addPrecisionTo(CLI::App &command);
  /// --checkpoint, of commands that make code.
  void addCheckpointTo(CLI::App &command);
  /// --kernel-cache and --kernel-cache-size, of commands that write code.
  void addKernelCacheTo(CLI::App &command);
  /// --cubins, of commands that write code.
  void addCubinsTo(CLI::App &command);
  /// --shape and --index-policy alone.
  void addShapesTo(CLI::App &command);
  /// --device of commands that run code.
  void addDeviceTo(CLI::App &command);
  /// What --target says, or --device where that alone is given: code of the CPU and kernels of the GPU. Throws Stop
  /// where the two disagree.
  std::string targets() const;
  /// Has back ends use the device, and checks that the module at `path` has code for it that this machine takes. Does
  /// nothing without --device. Throws Stop.
  void useDevice(const std::string &path) const;
  /// Throws Stop where -O or --target is given, or --threads: `why` says what they have no effect on.
  void refuseCompiling(const std::string &why) const;
  void refuseThreads(const std::string &why) const;
  void refuseDevice(const std::string &why) const;
  /// Splits each at its last '='. Throws Stop on malformed ones. -1 (written `?`) keeps a dim dynamic.
  std::map<std::string, std::vector<int64_t>> parsedShapes() const;
};

/// Checks that the value of an option is a number above 0.
CLI::Validator positive();

/// What is written, as far as an existing file can be told to be of the same kind: by what it begins with.
enum class Kind { Text, Module, Elf, Archive, Graph, Onnx, Npy, Safetensors, Csv, Svg, Header, Schedules };

/// Refuses outputs that a rename would destroy: folders, devices, an input of the same command (under any name), and,
/// unless `force`, a file of another kind. Throws Stop that names `flag`.
void requireWritable(const std::string &output, const std::vector<std::string> &inputs, Kind kind, bool force,
                     const std::string &flag = "-o");

/// --force of commands that write files.
void addForce(CLI::App &command, bool &force);

/// Writes a file, or to standard output where `path` is `-`. Throws Stop.
void writeText(const std::string &text, const std::string &path);

/// `812 bytes`, `56 KB`, `7.8 MB`
std::string describeBytes(uintmax_t bytes);

/// The whole program: what main returns.
int runProgram(int argc, char **argv);

// One per subcommand: adds it to the program. Its callback does the work and throws Stop, or sets `result`.
void addCompile(CLI::App &program, Exit &result);
void addConvert(CLI::App &program, Exit &result);
void addRun(CLI::App &program, Exit &result);
void addCheck(CLI::App &program, Exit &result);
void addBench(CLI::App &program, Exit &result);
void addGrad(CLI::App &program, Exit &result);
void addInspect(CLI::App &program, Exit &result);
void addQuantize(CLI::App &program, Exit &result);
void addTrain(CLI::App &program, Exit &result);
void addTrainStep(CLI::App &program, Exit &result);
void addData(CLI::App &program, Exit &result);
void addDoctor(CLI::App &program, Exit &result);

} // namespace sinter::tool

#endif
