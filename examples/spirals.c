// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Learns to tell two spirals apart, from random weights to no mistake, in a program without any framework:
//
//   sinter train-step spirals.mlir --loss cross_entropy --optimizer adam:lr=0.01 --init 1 -o net.o
//   cc -Os -ffunction-sections -Wl,--gc-sections spirals.c net.o libsinter_rt.a -lm -ldl -lpthread -o spirals

#include "net.h"

#include <math.h>
#include <stdio.h>

enum { Points = 194, MostSteps = 5000 };

static int fail(void) {
  fprintf(stderr, "%s\n", net_error());
  return 1;
}

int main(void) {
  static float x[Points][2], scores[Points][2];
  static int64_t labels[Points];
  for (int i = 0; i < Points; ++i) { // Lang and Witbrock 1988: three turns each, the second one half a turn behind
    float angle = (float)(i / 2) * 3.14159265f / 16, radius = 6.5f * (float)(104 - i / 2) / 104;
    float sign = i % 2 ? -1 : 1;
    x[i][0] = sign * radius * sinf(angle);
    x[i][1] = sign * radius * cosf(angle);
    labels[i] = i % 2;
  }

  net *object = net_init(1);
  if (!object)
    return fail();
  for (int step = 0, right = 0; right < Points; ++step) {
    float loss;
    if (step == MostSteps || net_step(object, Points, x[0], labels, &loss) ||
        net_infer(object, Points, x[0], scores[0]))
      return fail();
    right = 0;
    for (int i = 0; i < Points; ++i)
      right += (scores[i][1] > scores[i][0]) == labels[i];
    if (step % 100 == 0 || right == Points)
      printf("step %4d: loss %.4f, %d of %d right\n", step, (double)loss, right, Points);
  }

  for (float v = 7; v >= -7; v -= 0.7f, putchar('\n')) // what it thinks of the plane
    for (float u = -7; u <= 7; u += 0.35f) {
      float point[2] = {u, v}, score[2];
      if (net_infer(object, 1, point, score))
        return fail();
      putchar(score[1] > score[0] ? '#' : '.');
    }
  net_free(object);
  return 0;
}
