// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph -> a compiled module: the pipeline, then the back end.

#ifndef SINTER_COMPILER_COMPILE_H
#define SINTER_COMPILER_COMPILE_H

#include "compiler/Module.h"
#include "compiler/Options.h"
#include <functional>

namespace sinter {

/// What else to keep beside the code.
struct CompileRequest {
  /// Symbols of the object code begin with it; two objects that are linked into one program need different ones.
  std::string name = "sinter";
  /// Whether a .smod states the SHA-256 of its sections.
  bool sha256 = false;
  bool keepGraph = false, keepFused = false, keepSchedule = false, keepLoops = false, keepLLVM = false,
       keepAssembly = false;
  /// Called with the graph at the end of its phase, if set.
  std::function<void(mlir::ModuleOp)> onGraph;
  /// Called with the module at the end of its fused phase for each target, if set: it may give kernels other schedules.
  std::function<llvm::LogicalResult(mlir::ModuleOp, const schedule::Target &)> onFused;
  /// The last phase that is run; the code is there only after Code.
  enum class Last { Graph, Fused, Schedule, Loops, Code } last = Last::Code;
};

/// Whose fault it is that a graph could not be compiled.
enum class CompileFault {
  Unsupported, // an op, a type or a size that a back end says it lacks
  Misfit,      // a schedule or a target that somebody wrote and that a kernel does not allow
  Memory,      // the system gave too little of it
  Internal     // a defect of Sinter: every graph that was verified is to compile
};

/// Tells by the errors of compileGraph; no error at all is a defect.
CompileFault faultOf(llvm::StringRef errors);

/// Compiles every public function of `graph`, which may be at the graph or the fused level and is changed, for each of
/// the targets. The graph's phase does not depend on them and is run once; text is kept for the first one only.
/// Diagnostics go to the context's handlers.
llvm::FailureOr<CompiledModule> compileGraph(mlir::ModuleOp graph, const Options &options,
                                             const CompileRequest &request = {});

} // namespace sinter

#endif
