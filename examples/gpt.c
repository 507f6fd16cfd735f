// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Teaches a transformer to write like the files that it is given, one character after another, then lets it write:
//
//   sinter train-step gpt.mlir --loss cross_entropy --labels int32 --optimizer adamw:lr=3e-3,warmup=50
//     --clip 1 --init 1 -o net.o
//   cc -O2 gpt.c net.o libsinter_rt.a -lm -ldl -lpthread -o gpt
//   ./gpt 600 *.md

#include "net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { Batch = 16, Length = 64, Characters = 96, MostText = 1 << 22, Written = 300 };

static unsigned char text[MostText];
static int32_t ids[Batch][Length], next[Batch][Length];
static float scores[Length][Characters];

static int fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

/// Line breaks are 0, then the printable ones; everything else is a blank.
static unsigned char encode(int c) { return c == '\n' ? 0 : c >= ' ' && c <= '~' ? (unsigned char)(c - ' ' + 1) : 1; }
static int decode(int id) { return id == 0 ? '\n' : id - 1 + ' '; }

static uint64_t random64(void) {
  static uint64_t state = 1;
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static long readFiles(int count, char **paths) {
  long size = 0;
  for (int i = 0; i < count; ++i) {
    FILE *f = fopen(paths[i], "rb");
    if (!f)
      return -1;
    for (int c; size < MostText && (c = fgetc(f)) != EOF;)
      text[size++] = encode(c);
    fclose(f);
  }
  return size;
}

/// A character by its probability, a little sharpened.
static int draw(const float *row) {
  double most = row[0], sum = 0, weights[Characters];
  for (int k = 1; k < Characters; ++k)
    most = row[k] > most ? row[k] : most;
  for (int k = 0; k < Characters; ++k)
    sum += weights[k] = exp((row[k] - most) / 0.8);
  double at = (double)(random64() >> 11) * 0x1p-53 * sum;
  for (int k = 0; k < Characters; ++k)
    if ((at -= weights[k]) < 0)
      return k;
  return Characters - 1;
}

int main(int argc, char **argv) {
  long size = argc > 2 ? readFiles(argc - 2, argv + 2) : -1;
  if (size <= Length)
    return fail("usage: gpt STEPS FILE... (files of more than 64 characters)");
  net *object = net_init(0);
  if (!object)
    return fail(net_error());

  float loss = 0, mean = 0;
  int steps = atoi(argv[1]);
  for (int step = 1; step <= steps; ++step) {
    for (int b = 0; b < Batch; ++b) {
      long start = (long)(random64() % (uint64_t)(size - Length));
      for (int t = 0; t < Length; ++t) {
        ids[b][t] = text[start + t];
        next[b][t] = text[start + t + 1];
      }
    }
    if (net_step(object, Batch, ids[0], next[0], &loss))
      return fail(net_error());
    mean = step == 1 ? loss : 0.95f * mean + 0.05f * loss;
    if (step % 50 == 0 || step == steps)
      printf("step %d: loss %.3f\n", step, (double)mean), fflush(stdout);
  }

  int32_t window[Length] = {0};
  for (int n = 0; n < Written; ++n) {
    int at = n < Length ? n : Length - 1;
    if (net_infer(object, 1, window, scores[0]))
      return fail(net_error());
    int id = draw(scores[at]);
    putchar(decode(id));
    if (n + 1 >= Length)
      for (int t = 0; t + 1 < Length; ++t)
        window[t] = window[t + 1];
    window[n + 1 < Length ? n + 1 : Length - 1] = id;
  }
  putchar('\n');
  net_free(object);
  return 0;
}
