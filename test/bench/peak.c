// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the f32 peak of one core in GFLOP/s: independent chains of fused multiply-adds in registers,
// as wide as the CPU has them, best of a hundred slices of 2 ms, so that a busy machine still
// shows it. Compile with -O2 -ffp-contract=fast.

#include <stdio.h>
#include <time.h>

typedef float Narrow __attribute__((vector_size(16)));
typedef float Middle __attribute__((vector_size(32)));
typedef float Wide __attribute__((vector_size(64)));

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static volatile float sink;

// Twelve chains hide the latency of four cycles on two ports and leave AVX2 registers for the operands.
#define CHAINS(NAME, VECTOR, TARGET)                                                                                   \
  TARGET static double NAME(long steps) {                                                                              \
    VECTOR a = (VECTOR){0} + 0.999f, b = (VECTOR){0} + 0.001f, x[12];                                                  \
    for (int i = 0; i < 12; ++i)                                                                                       \
      x[i] = (VECTOR){0} + (float)i;                                                                                   \
    for (long s = 0; s < steps; ++s)                                                                                   \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < 12; ++i) {                                                \
        x[i] = x[i] * a + b;                                                                                           \
        __asm__("" : REGISTER(x[i]));                                                                                  \
      }                                                                                                                \
    for (int i = 0; i < 12; ++i)                                                                                       \
      sink = x[i][0];                                                                                                  \
    return 2.0 * 12 * sizeof(VECTOR) / sizeof(float) * (double)steps;                                                  \
  }

#if defined(__x86_64__)
#define REGISTER(X) "+v"(X)
CHAINS(wide, Wide, __attribute__((target("avx512f,fma"))))
CHAINS(middle, Middle, __attribute__((target("avx2,fma"))))
#else
#define REGISTER(X) "+w"(X)
#endif
CHAINS(narrow, Narrow, )

int main(void) {
  double (*chains)(long) = narrow;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    chains = wide;
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    chains = middle;
#endif
  double best = 0;
  for (int slice = 0; slice < 100; ++slice) {
    double start = seconds(), operations = 0, end;
    do {
      operations += chains(20000);
      end = seconds();
    } while (end - start < 0.002);
    double rate = operations / (end - start) * 1e-9;
    best = rate > best ? rate : best;
  }
  printf("%.2f\n", best);
  return 0;
}
