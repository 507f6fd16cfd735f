// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled code may call by name: the functions of C's mathematics that the dialect's ops become where there is no
// code of our own, those that LLVM makes of instructions that a machine lacks, and memory functions. The compiler links
// code sections against the names alone; they are bound here, to this process's C library.

#define _GNU_SOURCE
#include "code.h"
#include <math.h>
#include <string.h>
#include <strings.h>

typedef struct Import {
  const char *name;
  void *function;
} Import;

// BOTH has the f64 and the f32 form.
#define ONE(name) {#name, __extension__(void *) name}
#define BOTH(name) ONE(name), ONE(name##f)

static const Import imports[] = {
    BOTH(acos),      BOTH(acosh), BOTH(asin),      BOTH(asinh), BOTH(atan),   BOTH(atan2),     BOTH(atanh),
    BOTH(cbrt),      BOTH(ceil),  BOTH(cos),       BOTH(cosh),  BOTH(erf),    BOTH(erfc),      BOTH(exp),
    BOTH(exp10),     BOTH(exp2),  BOTH(expm1),     BOTH(fabs),  BOTH(floor),  BOTH(fma),       BOTH(fmax),
    BOTH(fmin),      BOTH(fmod),  BOTH(frexp),     BOTH(ldexp), BOTH(lgamma), BOTH(log),       BOTH(log10),
    BOTH(log1p),     BOTH(log2),  ONE(bcmp),       ONE(memcmp), ONE(memcpy),  ONE(memmove),    ONE(memset),
    BOTH(nearbyint), BOTH(pow),   BOTH(remainder), BOTH(rint),  BOTH(round),  BOTH(roundeven), BOTH(sin),
    BOTH(sincos),    BOTH(sinh),  BOTH(sqrt),      ONE(strlen), BOTH(tan),    BOTH(tanh),      BOTH(tgamma),
    BOTH(trunc),
};

void *srtFindImport(const char *name) {
  for (size_t i = 0; i < sizeof imports / sizeof *imports; ++i)
    if (strcmp(imports[i].name, name) == 0)
      return imports[i].function;
  return NULL;
}
