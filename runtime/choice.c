// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "choice.h"
#include "cpu.h"
#include <stdio.h>
#include <string.h>

enum { maxName = 64 };

int32_t srtChoose(const Candidate *candidates, int32_t count) {
  const sinter_host *host = srtBriefHost();
  int32_t best = -1;
  char word[maxName + 1];
  int why;
  // The kernel is asked for state only where code that is better than all that was seen before needs it.
  for (int32_t i = 0; i < count && host; ++i)
    if (candidates[i].requirements && (best < 0 || candidates[i].priority > candidates[best].priority) &&
        sinter_host_runs(host, candidates[i].requirements, word, sizeof word) == SINTER_HOST_RUNS &&
        srtMayRun(host, candidates[i].requirements, &why))
      best = i;
  return best;
}

/// How many words of a list of requirements the host does not meet.
static int countMissing(const sinter_host *host, const char *requirements) {
  int count = 0;
  for (const char *at = requirements; *at;) {
    size_t length = strcspn(at, " ,");
    char word[maxName + 1], missing[maxName + 1];
    if (length) {
      snprintf(word, sizeof word, "%.*s", (int)(length < maxName ? length : maxName), at);
      count += sinter_host_runs(host, word, missing, sizeof missing) != SINTER_HOST_RUNS;
    }
    at += length + (at[length] != 0);
  }
  return count;
}

const char *srtExplainChoice(const Candidate *candidates, int32_t count, char text[SRT_CHOICE_TEXT_BYTES]) {
  const sinter_host *host = srtBriefHost();
  if (!host) { // SINTER_HOST names no description
    snprintf(text, SRT_CHOICE_TEXT_BYTES, "%s", sinter_last_error());
    return text;
  }
  const char *level = *sinter_host_level(host) ? sinter_host_level(host) : "native";
  int32_t nearest = -1;
  int fewest = 0;
  char word[maxName + 1] = "";
  for (int32_t i = 0; i < count; ++i) {
    const char *requirements = candidates[i].requirements;
    if (!requirements || sinter_host_runs(host, requirements, word, sizeof word) == SINTER_HOST_OTHER)
      continue;
    int missing = countMissing(host, requirements);
    if (nearest < 0 || missing < fewest) {
      nearest = i;
      fewest = missing;
    }
  }
  if (nearest < 0) {
    snprintf(text, SRT_CHOICE_TEXT_BYTES, "all of it is for other kinds of machines; compile it with --target=%s, too",
             level);
    return text;
  }
  const char *requirements = candidates[nearest].requirements;
  int why;
  if (!fewest && !srtMayRun(host, requirements, &why)) {
    snprintf(
        text, SRT_CHOICE_TEXT_BYTES,
        "the nearest (%.160s) requires the state of AMX, which the kernel refuses to this process (%s); compile it "
        "with -amx-tile, too",
        requirements, strerror(why));
    return text;
  }
  sinter_host_runs(host, requirements, word, sizeof word);
  snprintf(text, SRT_CHOICE_TEXT_BYTES,
           "the nearest (%.160s) requires %s, which this machine lacks; compile it with --target=native here, or with "
           "%s among the targets",
           requirements, word, level);
  return text;
}
