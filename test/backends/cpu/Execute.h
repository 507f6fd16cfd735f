// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a function at the fused level, runs it through the runtime and compares with the reference evaluator.

#ifndef SINTER_TEST_BACKENDS_CPU_EXECUTE_H
#define SINTER_TEST_BACKENDS_CPU_EXECUTE_H

#include "backends/cpu/CodeModule.h"
#include "backends/cpu/CpuKind.h"
#include "compiler/Module.h"
#include "compiler/Pipeline.h"
#include "compiler/Register.h"
#include "ir/Ops.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

namespace sinter::test {

/// How a module at the fused level is compiled and opened; null, with the reason in `error`, when that fails. Unset:
/// for the CPU, in this process. The test of another back end sets it.
inline sinter_module *(*openProgram)(mlir::ModuleOp fused, int optLevel, std::string &error) = nullptr;

/// A program, compiled at one level.
class Program {
public:
  /// `isGraph`: `text` is at the graph level and goes through the pipeline first.
  Program(llvm::StringRef text, int optLevel, unsigned threads = 1, bool isGraph = false, int64_t maxTapeBytes = 0) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!source) {
      error = "does not parse";
      return;
    }
    mlir::OwningOpRef<mlir::ModuleOp> fused = source->clone();
    if (isGraph) {
      mlir::PassManager pipeline(&context);
      Options graphOptions;
      graphOptions.optLevel = optLevel;
      buildPipeline(pipeline, graphOptions);
      if (mlir::failed(pipeline.run(*fused))) {
        error = "does not pass the pipeline";
        return;
      }
    }
    if (openProgram) {
      opened = openProgram(*fused, optLevel, error);
      if (opened)
        start(opened, threads, maxTapeBytes);
      return;
    }
    cpu::CodeOptions options;
    options.target = cpu::Target::host();
    options.optLevel = optLevel;
    options.threads = 2;
    options.prefix = "test";
    llvm::FailureOr<schedule::CodeModule> code = cpu::compileCode(*fused, options);
    if (llvm::failed(code)) {
      error = "does not compile";
      return;
    }
    compiled.target.host = cpu::machineOf(options.target);
    compiled.code = std::move(*code);
    loaded = LoadedModule::load(compiled, error);
    if (loaded)
      start(loaded->get(), threads, maxTapeBytes);
  }
  ~Program() {
    sinter_session_destroy(session);
    sinter_module_close(opened);
  }

  void start(sinter_module *module, unsigned threads, int64_t maxTapeBytes) {
    sinter_session_options sessionOptions = {};
    sessionOptions.struct_size = sizeof sessionOptions;
    sessionOptions.threads = static_cast<int32_t>(threads);
    sessionOptions.max_tape_bytes = maxTapeBytes;
    if (sinter_session_create(module, 0, &sessionOptions, &session))
      error = sinter_last_error();
  }

  mlir::func::FuncOp function() { return *source->getOps<mlir::func::FuncOp>().begin(); }

  static HostTensor fromRuntime(const sinter_tensor &tensor, mlir::Type elementType) {
    HostTensor result(elementType, llvm::ArrayRef(tensor.dims, tensor.rank));
    if (result.numBytes())
      std::memcpy(result.data(), tensor.data, result.numBytes());
    return result;
  }

  /// The outputs; nothing when the call fails (`error` says why).
  std::optional<std::vector<HostTensor>> run(llvm::ArrayRef<HostTensor> inputs) {
    for (auto [i, input] : llvm::enumerate(inputs)) {
      sinter_tensor tensor = {};
      tensor.data = const_cast<char *>(input.data());
      tensor.dtype = sinter_session_function(session)->inputs[i].dtype;
      tensor.rank = static_cast<int32_t>(input.rank());
      llvm::copy(input.shape(), tensor.dims);
      if (sinter_session_set_input(session, static_cast<int32_t>(i), &tensor)) {
        error = sinter_last_error();
        return std::nullopt;
      }
    }
    if (sinter_session_run(session)) {
      error = sinter_last_error();
      return std::nullopt;
    }
    std::vector<HostTensor> outputs;
    for (auto [i, type] : llvm::enumerate(function().getResultTypes())) {
      sinter_tensor view;
      if (sinter_session_output(session, static_cast<int32_t>(i), &view)) {
        error = sinter_last_error();
        return std::nullopt;
      }
      outputs.push_back(fromRuntime(view, mlir::getElementTypeOrSelf(type)));
    }
    return outputs;
  }

  llvm::FailureOr<llvm::SmallVector<HostTensor>> evaluate(llvm::ArrayRef<HostTensor> inputs) {
    return Evaluator().run(function().getBody(), inputs);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> source;
  CompiledModule compiled;
  std::unique_ptr<LoadedModule> loaded;
  sinter_module *opened = nullptr;
  sinter_session *session = nullptr;
  std::string error;
};

/// What a test feeds: shape and elements (repeated as needed).
struct Feed {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> values;
};

inline HostTensor makeInput(mlir::Type elementType, const Feed &feed) {
  HostTensor tensor(elementType, feed.shape);
  std::vector<double> values(static_cast<size_t>(tensor.numElements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        feed.values.empty() ? 0.25 * static_cast<double>((i * 7) % 23) - 2 : feed.values[i % feed.values.size()];
  tensor.assignFloats(values);
  return tensor;
}

/// What a program's function gets, in the types of its arguments.
inline std::vector<HostTensor> inputsOf(Program &program, llvm::ArrayRef<Feed> feeds) {
  std::vector<HostTensor> inputs;
  for (auto [feed, type] : llvm::zip(feeds, program.function().getArgumentTypes()))
    inputs.push_back(makeInput(mlir::getElementTypeOrSelf(type), feed));
  return inputs;
}

/// Runs `text` on each feed at levels 0 and 2 (each feed twice: the second call reuses the plan) against the evaluator.
inline void expectMatches(llvm::StringRef text, llvm::ArrayRef<std::vector<Feed>> feeds, double tolerance = 1e-5,
                          bool isGraph = false) {
  for (int level : {0, 2}) {
    if (openProgram && level == 0)
      continue; // the levels are the CPU's
    Program program(text, level, 2, isGraph);
    ASSERT_EQ(program.error, "") << "at level " << level;
    for (const std::vector<Feed> &feed : feeds) {
      std::vector<HostTensor> inputs = inputsOf(program, feed);
      auto expected = program.evaluate(inputs);
      ASSERT_TRUE(llvm::succeeded(expected));
      for (int call = 0; call < 2; ++call) {
        auto actual = program.run(inputs);
        ASSERT_TRUE(actual) << program.error;
        ASSERT_EQ(actual->size(), expected->size());
        for (auto [i, pair] : llvm::enumerate(llvm::zip(*actual, *expected))) {
          auto &[got, want] = pair;
          ASSERT_EQ(got.shape(), want.shape()) << "output " << i << " at level " << level;
          for (int64_t k = 0; k < got.numElements(); ++k)
            ASSERT_NEAR(got.getFloat(k), want.getFloat(k), tolerance * std::max(1.0, std::abs(want.getFloat(k))))
                << "element " << k << " of output " << i << " at level " << level << ", call " << call;
        }
      }
    }
  }
}

} // namespace sinter::test

#endif
