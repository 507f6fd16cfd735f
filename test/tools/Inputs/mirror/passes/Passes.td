// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
def FuseElementwise : Pass<"sinter-fuse-elementwise", "ModuleOp"> {}
def FoldConstants : Pass<"sinter-fold-constants", "ModuleOp"> {}
