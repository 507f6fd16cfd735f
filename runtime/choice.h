// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of several forms of the same code this machine runs: sections of a module, or variants of a function.

#ifndef SINTER_RUNTIME_CHOICE_H
#define SINTER_RUNTIME_CHOICE_H

#include <stddef.h>
#include <stdint.h>

typedef struct Candidate {
  const char
      *requirements; // as sinter_host_runs reads them; null for code of another kind of machine, whatever it requires
  uint32_t priority;
} Candidate;

/// The index of the candidate with the highest priority that this machine can run, the first among equals, or -1.
int32_t srtChoose(const Candidate *candidates, int32_t count);

/// Bytes of text that srtExplainChoice may write.
#define SRT_CHOICE_TEXT_BYTES 320

/// After srtChoose found none: what the nearest candidate lacks and what helps, as the end of a message.
const char *srtExplainChoice(const Candidate *candidates, int32_t count, char text[SRT_CHOICE_TEXT_BYTES]);

#endif
