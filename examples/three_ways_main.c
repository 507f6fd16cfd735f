// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plain C program around the function that three_ways.cpp compiled ahead of time: neither compiler nor C++ are
// needed.
//
//   cc three_ways_main.c collatz.o libsinter_rt.a -lm -lpthread -ldl

#include "collatz.h"

#include <stdio.h>

int main(void) {
  collatz *function = collatz_init(1);
  const int64_t numbers[] = {6, 27, 97};
  for (int k = 0; k < 3; ++k) {
    int64_t steps, most;
    if (!function || collatz_run(function, &numbers[k], &steps, &most)) {
      fprintf(stderr, "%s\n", collatz_error());
      return 1;
    }
    printf("%lld: %lld steps, at most %lld\n", (long long)numbers[k], (long long)steps, (long long)most);
  }
  collatz_free(function);
  return 0;
}
