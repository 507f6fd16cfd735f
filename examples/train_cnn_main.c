// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plain C program around the training step that train_cnn.cpp compiled ahead of time: neither compiler nor C++ are
// needed, and the losses are those of the jitted step, to the bit.
//
//   cc train_cnn_main.c pictures_net.o libsinter_rt.a -lm -lpthread -ldl

#include "pictures.h"
#include "pictures_net.h"

#include <stdio.h>

static float pictures[kPictures * kSide * kSide], scores[kPictures * kKinds];
static int64_t kinds[kPictures];

int main(void) {
  pictures_net *net = pictures_net_init(1);
  for (uint32_t number = 0; number < 200; ++number) {
    float loss;
    makePictures(number, pictures, kinds);
    if (!net || pictures_net_step(net, pictures, kinds, &loss))
      return fprintf(stderr, "%s\n", pictures_net_error()), 1;
    if (number % 50 == 49)
      printf("step %u: loss %.6a\n", number + 1, (double)loss);
  }
  makePictures(1000, pictures, kinds);
  if (pictures_net_infer(net, pictures, scores))
    return fprintf(stderr, "%s\n", pictures_net_error()), 1;
  int right = 0;
  for (int k = 0; k < kPictures; ++k) {
    int best = 0;
    for (int kind = 1; kind < kKinds; ++kind)
      best = scores[k * kKinds + kind] > scores[k * kKinds + best] ? kind : best;
    right += best == kinds[k];
  }
  printf("right: %d of %d\n", right, kPictures);
  pictures_net_free(net);
  return 0;
}
