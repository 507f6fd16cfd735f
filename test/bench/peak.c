// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints three figures of one core, best of many short slices, so that a busy machine still shows them:
//
//   f32 GFLOP/s of independent chains of fused multiply-adds in registers, as wide as the CPU has them
//   the same with one operand of each read from the first-level cache, as register tiles of products do
//   GB/s of reading memory far larger than most caches
//
// and, with an argument, the GB/s of that many threads together. Compile with -O2 -ffp-contract=fast -pthread.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// The same with operands from a buffer of 16 KB; each is read once for four multiply-adds of other rows.
#define LOADS(NAME, VECTOR, TARGET)                                                                                    \
  TARGET static double NAME(long steps) {                                                                              \
    static VECTOR rows[16384 / sizeof(VECTOR)];                                                                        \
    VECTOR a = (VECTOR){0} + 0.5f, x[12];                                                                              \
    for (int i = 0; i < 12; ++i)                                                                                       \
      x[i] = (VECTOR){0} + (float)i;                                                                                   \
    for (long s = 0; s < steps; ++s) {                                                                                 \
      const VECTOR *row = rows + s % 64 * 3;                                                                           \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < 12; ++i) {                                                \
        VECTOR b = row[i / 4];                                                                                         \
        __asm__("" : REGISTER(b));                                                                                     \
        x[i] = x[i] * a + b;                                                                                           \
        __asm__("" : REGISTER(x[i]));                                                                                  \
      }                                                                                                                \
    }                                                                                                                  \
    for (int i = 0; i < 12; ++i)                                                                                       \
      sink = x[i][0];                                                                                                  \
    return 2.0 * 12 * sizeof(VECTOR) / sizeof(float) * (double)steps;                                                  \
  }

#if defined(__x86_64__)
#define REGISTER(X) "+v"(X)
#define AVX512 __attribute__((target("avx512f,fma")))
#define AVX2 __attribute__((target("avx2,fma")))
CHAINS(wide, Wide, AVX512)
CHAINS(middle, Middle, AVX2)
LOADS(wideLoads, Wide, AVX512)
LOADS(middleLoads, Middle, AVX2)
#else
#define REGISTER(X) "+w"(X)
#endif
CHAINS(narrow, Narrow, )
LOADS(narrowLoads, Narrow, )

static double bestRate(double (*chains)(long)) {
  double best = 0;
  for (int slice = 0; slice < 50; ++slice) {
    double start = seconds(), operations = 0, end;
    do {
      operations += chains(20000);
      end = seconds();
    } while (end - start < 0.002);
    double rate = operations / (end - start) * 1e-9;
    best = rate > best ? rate : best;
  }
  return best;
}

// Each thread reads a block of its own, larger than most caches, in pieces that are timed one by one.
static const size_t kBlock = (size_t)96 << 20, kPiece = (size_t)4 << 20;
static pthread_barrier_t barrier;

static void *readBlock(void *made) {
  double *rate = made;
  char *block = aligned_alloc(64, kBlock);
  if (!block) {
    fputs("peak: no memory for a block of 96 MB\n", stderr);
    exit(1);
  }
  memset(block, 1, kBlock);
  for (int turn = 0; turn < 8; ++turn) {
    pthread_barrier_wait(&barrier);
    for (size_t piece = 0; piece < kBlock; piece += kPiece) {
      double start = seconds();
      const Wide *vectors = (const Wide *)(block + piece);
      Wide sums[8] = {{0}};
      for (size_t i = 0; i < kPiece / sizeof(Wide); i += 8)
        for (size_t k = 0; k < 8; ++k)
          sums[k] += vectors[i + k];
      for (int k = 0; k < 8; ++k)
        sink = sums[k][0];
      double now = (double)kPiece / (seconds() - start) * 1e-9;
      *rate = now > *rate ? now : *rate;
    }
  }
  free(block);
  return NULL;
}

static double bandwidth(int count) {
  enum { kMost = 256 };
  pthread_t threads[kMost];
  double rates[kMost] = {0}, sum = 0;
  count = count < 1 ? 1 : count > kMost ? kMost : count;
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], NULL, readBlock, &rates[i]) != 0)
      exit(1);
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    sum += rates[i];
  }
  pthread_barrier_destroy(&barrier);
  return sum;
}

int main(int argc, char **argv) {
  double (*chains)(long) = narrow, (*loads)(long) = narrowLoads;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    chains = wide;
    loads = wideLoads;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    chains = middle;
    loads = middleLoads;
  }
#endif
  printf("%.2f %.2f %.2f", bestRate(chains), bestRate(loads), bandwidth(1));
  if (argc > 1)
    printf(" %.2f", bandwidth(atoi(argv[1])));
  printf("\n");
  return 0;
}
