// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/InlineCalls.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter;

namespace {
class Inliner {
public:
  explicit Inliner(ModuleOp module) : symbols(module) {}

  /// Leaves no calls in `function`.
  LogicalResult expand(func::FuncOp function);

private:
  LogicalResult check(func::CallOp call, func::FuncOp callee);
  LogicalResult inlineCall(func::CallOp call, func::FuncOp callee);

  SymbolTable symbols;
  SmallVector<func::FuncOp> active;       // from the outermost caller inwards
  DenseMap<func::FuncOp, int64_t> numOps; // of functions without calls
  int64_t added = 0;
};
} // namespace

LogicalResult Inliner::check(func::CallOp call, func::FuncOp callee) {
  if (auto *first = llvm::find(active, callee); first != active.end()) {
    InFlightDiagnostic diagnostic = call.emitError("not supported: the function '")
                                    << callee.getName() << "' calls itself (";
    for (func::FuncOp function : llvm::make_range(first, active.end()))
      diagnostic << "'" << function.getName() << "' -> ";
    return diagnostic << "'" << callee.getName() << "'); a sinter.while can repeat what recursion would";
  }
  if (callee.isExternal())
    return call.emitError("not supported: a call of '") << callee.getName() << "', which has no body";
  if (!callee.getBody().hasOneBlock())
    return call.emitError("not supported: a call of '")
           << callee.getName() << "', which has several blocks; control flow requires ops with regions";
  if (active.size() >= kMaxCallDepth)
    return call.emitError("not supported: calls nested to a depth of more than ") << kMaxCallDepth;
  return success();
}

LogicalResult Inliner::inlineCall(func::CallOp call, func::FuncOp callee) {
  added += numOps[callee];
  if (added > kMaxExpandedOps)
    return call.emitError("not supported: calls that expand to more than ") << kMaxExpandedOps << " ops";
  Block &body = callee.getBody().front();
  IRMapping map;
  map.map(body.getArguments(), call.getOperands());
  OpBuilder builder(call);
  for (Operation &op : body.without_terminator())
    builder.clone(op, map);
  for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookup(value));
  call.erase();
  return success();
}

LogicalResult Inliner::expand(func::FuncOp function) {
  if (numOps.contains(function))
    return success();
  active.push_back(function);
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee)
      return call.emitError("requires a function of the module, got '") << call.getCallee() << "'";
    if (failed(check(call, callee)) || failed(expand(callee)) || failed(inlineCall(call, callee)))
      return failure();
  }
  active.pop_back();
  int64_t count = 0;
  function.walk([&](Operation *) { ++count; });
  numOps[function] = count;
  return success();
}

LogicalResult sinter::inlineCalls(ModuleOp module) {
  if (!module.walk([](func::CallOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return success();
  Inliner inliner(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(inliner.expand(function)))
      return failure();
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
  return success();
}
