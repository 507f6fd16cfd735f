// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns along an axis that is not the innermost one, `lanes` of them at a time. The last group takes those too that
// fill no vector, by a vector that ends where they do.

#ifndef SINTER_BACKENDS_CPU_EMIT_COLUMNGROUPS_H
#define SINTER_BACKENDS_CPU_EMIT_COLUMNGROUPS_H

#include "backends/cpu/emit/Emitter.h"

namespace sinter::cpu {

class ColumnGroups {
public:
  /// `others` are the sizes of all axes but the one that columns run along; the last one is known and has as many
  /// elements as there are lanes, or more.
  ColumnGroups(KernelFunction &fn, Dims others, int64_t lanes) : fn(fn), lanes(lanes), groups(std::move(others)) {
    columns = fn.spec.dims.resolve(groups.back()).constant();
    groups.back() = fn.spec.dims.constant(columns / lanes);
  }

  DimExpr count() const { return fn.spec.dims.product(groups); }

  /// Calls `body` for the columns of a group: their place on the other axes, and the first of them. Once more where
  /// some are left over.
  void visit(mlir::Value number, llvm::function_ref<void(llvm::ArrayRef<mlir::Value> outer, mlir::Value column)> body) {
    mlir::ImplicitLocOpBuilder &b = fn.b;
    llvm::SmallVector<mlir::Value> outer = fn.delinearize(number, groups);
    mlir::Value group = outer.pop_back_val();
    body(outer, mlir::arith::MulIOp::create(b, group, fn.index(lanes)));
    if (columns % lanes == 0)
      return;
    mlir::Value last = fn.index(columns / lanes - 1);
    mlir::Value isLast = mlir::arith::CmpIOp::create(b, mlir::arith::CmpIPredicate::eq, group, last);
    fn.ifThen(isLast, [&] { body(outer, fn.index(columns - lanes)); });
  }

private:
  KernelFunction &fn;
  int64_t lanes, columns;
  Dims groups;
};

} // namespace sinter::cpu

#endif
