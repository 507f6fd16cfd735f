// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that the GPU runs by itself, as graphs of the driver and as one kernel.

#ifndef SINTER_TEST_BACKENDS_CUDA_LOOPTEXTS_H
#define SINTER_TEST_BACKENDS_CUDA_LOOPTEXTS_H

#include "CudaProgram.h"
#include "passes/SimplifyControl.h"
#include "test/backends/cpu/Execute.h"

namespace sinter::cuda {

/// Newton's method for x = cos(a x), until the step is below 1e-6: the trips depend on a.
inline constexpr char newtonText[] = R"(func.func @f(%a: tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>) {
    %half = sinter.constant dense<0.5> : tensor<5xf32>
    %one = sinter.constant dense<1.0> : tensor<5xf32>
    %n, %x, %s = sinter.while(%half, %one) captures(%a) : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<i64>, tensor<5xf32>, tensor<5xf32>) cond {
    ^bb0(%x: tensor<5xf32>, %s: tensor<5xf32>, %c: tensor<5xf32>):
      %most = sinter.reduce max %s axes = [0] : (tensor<5xf32>) -> tensor<f32>
      %small = sinter.constant dense<1.0e-6> : tensor<f32>
      %go = sinter.compare gt %most, %small : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%x: tensor<5xf32>, %s: tensor<5xf32>, %c: tensor<5xf32>):
      %p = sinter.mul %c, %x : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %cos = sinter.cos %p : (tensor<5xf32>) -> tensor<5xf32>
      %sin = sinter.sin %p : (tensor<5xf32>) -> tensor<5xf32>
      %f = sinter.sub %x, %cos : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %as = sinter.mul %c, %sin : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %o = sinter.constant dense<1.0> : tensor<5xf32>
      %d = sinter.add %o, %as : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %q = sinter.div %f, %d : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %y = sinter.sub %x, %q : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      %t = sinter.abs %q : (tensor<5xf32>) -> tensor<5xf32>
      sinter.yield(%y, %t) : tensor<5xf32>, tensor<5xf32>
    }
    return %n, %x : tensor<i64>, tensor<5xf32>
  })";

/// Carries that take each other's places, one that stays, a limit, and a loop that makes no trip.
inline constexpr char fibonacciText[] =
    R"(func.func @f(%x: tensor<3xf32>, %end: tensor<f32>) -> (tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %n, %a, %b, %c = sinter.while(%x, %x, %x) captures(%end) {max_trip = 9 : i64} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) cond {
    ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>, %r: tensor<3xf32>, %l: tensor<f32>):
      %most = sinter.reduce max %p axes = [0] : (tensor<3xf32>) -> tensor<f32>
      %go = sinter.compare lt %most, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>, %r: tensor<3xf32>, %l: tensor<f32>):
      %s = sinter.add %p, %q : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      sinter.yield(%q, %s, %p) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
    }
    return %n, %a, %b, %c : tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  })";

/// A loop in a loop with a branch in it, and a branch around all.
inline constexpr char nestedText[] = R"(func.func @f(%x: tensor<4xf32>, %flag: tensor<i1>) -> tensor<4xf32> {
    %r = sinter.cond %flag(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
    ^bb0(%y: tensor<4xf32>):
      %zero = sinter.constant dense<0> : tensor<i64>
      %n:3 = sinter.while(%y, %zero) captures() : (tensor<4xf32>, tensor<i64>) -> (tensor<i64>, tensor<4xf32>, tensor<i64>) cond {
      ^bb0(%v: tensor<4xf32>, %i: tensor<i64>):
        %four = sinter.constant dense<4> : tensor<i64>
        %go = sinter.compare lt %i, %four : (tensor<i64>, tensor<i64>) -> tensor<i1>
        sinter.yield(%go) : tensor<i1>
      } body {
      ^bb0(%v: tensor<4xf32>, %i: tensor<i64>):
        %m:2 = sinter.while(%v) captures(%i) : (tensor<4xf32>, tensor<i64>) -> (tensor<i64>, tensor<4xf32>) cond {
        ^bb0(%w: tensor<4xf32>, %j: tensor<i64>):
          %sum = sinter.reduce add %w axes = [0] : (tensor<4xf32>) -> tensor<f32>
          %f = sinter.convert %j {element_type = f32} : (tensor<i64>) -> tensor<f32>
          %ten = sinter.constant dense<10.0> : tensor<f32>
          %l = sinter.mul %f, %ten : (tensor<f32>, tensor<f32>) -> tensor<f32>
          %go = sinter.compare lt %sum, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
          sinter.yield(%go) : tensor<i1>
        } body {
        ^bb0(%w: tensor<4xf32>, %j: tensor<i64>):
          %one = sinter.constant dense<1.0> : tensor<4xf32>
          %p = sinter.add %w, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          sinter.yield(%p) : tensor<4xf32>
        }
        %two = sinter.constant dense<2> : tensor<i64>
        %even = sinter.rem %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %nought = sinter.constant dense<0> : tensor<i64>
        %is = sinter.compare eq %even, %nought : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %q = sinter.cond %is(%m#1) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
        ^bb0(%w: tensor<4xf32>):
          %s = sinter.reverse %w {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
          sinter.yield(%s) : tensor<4xf32>
        } else {
        ^bb0(%w: tensor<4xf32>):
          sinter.yield(%w) : tensor<4xf32>
        }
        %inc = sinter.constant dense<1> : tensor<i64>
        %next = sinter.add %i, %inc : (tensor<i64>, tensor<i64>) -> tensor<i64>
        sinter.yield(%q, %next) : tensor<4xf32>, tensor<i64>
      }
      sinter.yield(%n#1) : tensor<4xf32>
    } else {
    ^bb0(%y: tensor<4xf32>):
      %e = sinter.exp %y : (tensor<4xf32>) -> tensor<4xf32>
      sinter.yield(%e) : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  })";

/// Adds 1 to a state as long as it is below `most`, by a loop of its own.
inline constexpr char endlessText[] =
    R"(func.func @f(%w: tensor<3xf32> {sinter.state = "w", sinter.initial = dense<0.0> : tensor<3xf32>}, %most: tensor<f32>) -> (tensor<3xf32> {sinter.state = "w"}, tensor<i64>, tensor<3xf32>) {
    %n, %a = sinter.while(%w) captures(%most) : (tensor<3xf32>, tensor<f32>) -> (tensor<i64>, tensor<3xf32>) cond {
    ^bb0(%p: tensor<3xf32>, %l: tensor<f32>):
      %least = sinter.reduce min %p axes = [0] : (tensor<3xf32>) -> tensor<f32>
      %go = sinter.compare lt %least, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
      sinter.yield(%go) : tensor<i1>
    } body {
    ^bb0(%p: tensor<3xf32>, %l: tensor<f32>):
      %one = sinter.constant dense<1.0> : tensor<3xf32>
      %s = sinter.add %p, %one : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      sinter.yield(%s) : tensor<3xf32>
    }
    return %a, %n, %w : tensor<3xf32>, tensor<i64>, tensor<3xf32>
  })";

/// A run of `endlessText` that would not end is cancelled after so many looks of the host, and the session goes on with
/// the state as it was.
inline void expectCancelled(test::Program &endless, unsigned looks) {
  auto run = [&](float most) {
    sinter_tensor tensor = {};
    tensor.data = &most;
    tensor.dtype = SINTER_F32;
    sinter_status_code status = sinter_session_set_input(endless.session, 1, &tensor);
    return status == SINTER_OK ? sinter_session_run(endless.session) : status;
  };
  ASSERT_EQ(run(5), SINTER_OK) << sinter_last_error();
  // Sums of f32 stop growing before.
  EXPECT_EQ(runCancelled(endless.session, looks, [&] { return run(1e30f); }), SINTER_CANCELLED);
  EXPECT_GE(count("not ready"), looks);
  ASSERT_EQ(run(7), SINTER_OK) << sinter_last_error();
  sinter_tensor trips, old;
  ASSERT_EQ(sinter_session_output(endless.session, 1, &trips), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_session_output(endless.session, 2, &old), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(*static_cast<const int64_t *>(trips.data), 2);
  EXPECT_EQ(*static_cast<const float *>(old.data), 5);
  EXPECT_EQ(report(), "");
}

/// The text of a graph as the pipeline for a GPU has it: loops that count are whiles.
inline std::string simplified(const char *text) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  mlir::PassManager passes(&context);
  passes.addNestedPass<mlir::func::FuncOp>(createSimplifyControl());
  std::string result;
  llvm::raw_string_ostream os(result);
  if (module && mlir::succeeded(passes.run(*module)))
    module->print(os);
  return result;
}

} // namespace sinter::cuda

#endif
