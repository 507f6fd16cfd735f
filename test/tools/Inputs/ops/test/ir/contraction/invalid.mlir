// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// func.func @dot_c1_lhs_has_rank_3() func.func @outer_c1_rank_2() func.func @outer_c4_nothing()
