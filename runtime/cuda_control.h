// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of one thread that decide, on the GPU, whether loops and branches of a graph go on. They are a module of
// their own: drivers before 12.4 do not know cudaGraphSetConditional and would refuse the module that calls it.

#ifndef SINTER_RUNTIME_CUDA_CONTROL_H
#define SINTER_RUNTIME_CUDA_CONTROL_H

/// `sinter_loop(condition, flag, trips, limit, stop)`: one more trip if the byte at `flag` is not 0, fewer than `limit`
/// trips (a negative one: any number) were made, and the word at `stop`, which is the host's, is 0. The 64-bit number
/// at `trips` counts them.
/// `sinter_branch(then, else, flag)`: one of two conditions holds.
#define SINTER_CUDA_CONTROL_PTX                                                                                        \
  ".version 7.0\n"                                                                                                     \
  ".target sm_80\n"                                                                                                    \
  ".address_size 64\n"                                                                                                 \
  ".extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);\n"                                 \
  ".visible .entry sinter_loop(.param .u64 condition, .param .u64 flag, .param .u64 trips, .param .u64 limit,\n"       \
  "                            .param .u64 stop) {\n"                                                                  \
  "  .reg .pred %p<5>;\n"                                                                                              \
  "  .reg .b32 %r<4>;\n"                                                                                               \
  "  .reg .b64 %d<8>;\n"                                                                                               \
  "  ld.param.u64 %d0, [condition];\n"                                                                                 \
  "  ld.param.u64 %d1, [flag];\n"                                                                                      \
  "  ld.param.u64 %d2, [trips];\n"                                                                                     \
  "  ld.param.u64 %d3, [limit];\n"                                                                                     \
  "  ld.param.u64 %d4, [stop];\n"                                                                                      \
  "  ld.global.u8 %r0, [%d1];\n"                                                                                       \
  "  setp.ne.u32 %p0, %r0, 0;\n"                                                                                       \
  "  ld.global.u64 %d5, [%d2];\n"                                                                                      \
  "  setp.lt.s64 %p1, %d3, 0;\n"                                                                                       \
  "  setp.lt.s64 %p2, %d5, %d3;\n"                                                                                     \
  "  or.pred %p1, %p1, %p2;\n"                                                                                         \
  "  and.pred %p0, %p0, %p1;\n"                                                                                        \
  "  ld.volatile.global.u32 %r1, [%d4];\n"                                                                             \
  "  setp.eq.u32 %p3, %r1, 0;\n"                                                                                       \
  "  and.pred %p0, %p0, %p3;\n"                                                                                        \
  "  selp.u32 %r2, 1, 0, %p0;\n"                                                                                       \
  "  cvt.u64.u32 %d6, %r2;\n"                                                                                          \
  "  add.s64 %d7, %d5, %d6;\n"                                                                                         \
  "  st.global.u64 [%d2], %d7;\n"                                                                                      \
  "  { .param .b64 a; .param .b32 b;\n"                                                                                \
  "    st.param.b64 [a], %d0;\n"                                                                                       \
  "    st.param.b32 [b], %r2;\n"                                                                                       \
  "    call.uni cudaGraphSetConditional, (a, b); }\n"                                                                  \
  "  ret;\n"                                                                                                           \
  "}\n"                                                                                                                \
  ".visible .entry sinter_branch(.param .u64 then, .param .u64 else, .param .u64 flag) {\n"                            \
  "  .reg .pred %p<2>;\n"                                                                                              \
  "  .reg .b32 %r<4>;\n"                                                                                               \
  "  .reg .b64 %d<4>;\n"                                                                                               \
  "  ld.param.u64 %d0, [then];\n"                                                                                      \
  "  ld.param.u64 %d1, [else];\n"                                                                                      \
  "  ld.param.u64 %d2, [flag];\n"                                                                                      \
  "  ld.global.u8 %r0, [%d2];\n"                                                                                       \
  "  setp.ne.u32 %p0, %r0, 0;\n"                                                                                       \
  "  selp.u32 %r1, 1, 0, %p0;\n"                                                                                       \
  "  xor.b32 %r2, %r1, 1;\n"                                                                                           \
  "  { .param .b64 a; .param .b32 b;\n"                                                                                \
  "    st.param.b64 [a], %d0;\n"                                                                                       \
  "    st.param.b32 [b], %r1;\n"                                                                                       \
  "    call.uni cudaGraphSetConditional, (a, b); }\n"                                                                  \
  "  { .param .b64 a; .param .b32 b;\n"                                                                                \
  "    st.param.b64 [a], %d1;\n"                                                                                       \
  "    st.param.b32 [b], %r2;\n"                                                                                       \
  "    call.uni cudaGraphSetConditional, (a, b); }\n"                                                                  \
  "  ret;\n"                                                                                                           \
  "}\n"

#endif
