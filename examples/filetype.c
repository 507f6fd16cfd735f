// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names the type of files with the Magika model:
//
//   sinter compile magika.onnx -o magika.smod
//   filetype magika.smod magika.json README.md CMakeLists.txt
//
// The model sees the first and the last 1024 bytes, after white space at either end, with 256 where a
// file is shorter. The JSON file that comes with the model lists its labels.

#include "example.h"

#include <stdint.h>
#include <string.h>

enum { Block = 4096, Ends = 1024, Padding = 256, MaxLabels = 1024 };

static void refuse(const char *path, const char *why) {
  fprintf(stderr, "%s: %s\n", path, why);
  exit(1);
}

/// Reads the strings of `"target_labels_space": [...]` and returns how many there are. The text that
/// they point into stays allocated.
static int readLabels(const char *path, const char *labels[MaxLabels]) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (!f || !text)
    refuse(path, "cannot be read");
  text[fread(text, 1, (1 << 20) - 1, f)] = 0;
  fclose(f);
  char *at = strstr(text, "\"target_labels_space\"");
  at = at ? strchr(at, '[') : NULL;
  if (!at)
    refuse(path, "target_labels_space is required");
  int count = 0;
  for (char *p = at + 1; *p && *p != ']'; ++p) {
    if (*p != '"')
      continue;
    char *end = strchr(p + 1, '"');
    if (!end || count == MaxLabels)
      refuse(path, "at most 1024 labels in quotes are required");
    *end = 0;
    labels[count++] = p + 1;
    p = end;
  }
  return count;
}

static int isSpace(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Fills the model's 2048 numbers from the file's two ends.
static void readFeatures(const char *path, int32_t features[2 * Ends]) {
  unsigned char block[Block];
  FILE *f = fopen(path, "rb");
  if (!f)
    refuse(path, "cannot be opened");
  for (int i = 0; i < 2 * Ends; ++i)
    features[i] = Padding;
  size_t size = fread(block, 1, Block, f), start = 0;
  while (start < size && isSpace(block[start]))
    ++start;
  for (size_t i = 0; i < Ends && start + i < size; ++i)
    features[i] = block[start + i];
  if (size == Block && !fseek(f, -Block, SEEK_END))
    size = fread(block, 1, Block, f);
  while (size > 0 && isSpace(block[size - 1]))
    --size;
  for (size_t i = 0; i < Ends && i < size; ++i)
    features[2 * Ends - 1 - i] = block[size - 1 - i];
  fclose(f);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s MODULE.smod LABELS.json FILE...\n", argv[0]);
    return 2;
  }
  sinter_session *session = openSession(argv[1]);
  const char *labels[MaxLabels];
  int numLabels = readLabels(argv[2], labels);
  _Alignas(64) int32_t features[2 * Ends];
  sinter_tensor view = {.data = features, .dtype = SINTER_I32, .rank = 2, .dims = {1, 2 * Ends}};
  check(sinter_session_set_input(session, 0, &view));

  printf("%-28s %-14s %8s %9s\n", "file", "type", "score", "us/call");
  for (int a = 3; a < argc; ++a) {
    readFeatures(argv[a], features);
    double times[3];
    for (int i = 0; i < 3; ++i) {
      double start = microseconds();
      check(sinter_session_run(session));
      times[i] = microseconds() - start;
    }
    sinter_tensor scores;
    check(sinter_session_output(session, 0, &scores));
    if (scores.dims[scores.rank - 1] != numLabels)
      refuse(argv[2], "as many labels as the model has scores are required");
    const float *score = scores.data;
    int best = 0;
    for (int i = 1; i < numLabels; ++i)
      if (score[i] > score[best])
        best = i;
    printf("%-28s %-14s %8.3f %9.1f\n", argv[a], labels[best], (double)score[best], median(times, 3));
  }
  sinter_session_destroy(session);
  return 0;
}
