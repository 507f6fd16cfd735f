// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds speech in WAV files with the Silero VAD model:
//
//   sinter compile silero_vad.onnx -o silero_vad.smod
//   speech silero_vad.smod voice.wav silence
//
// The model looks at 512 new samples at 16 kHz (32 ms) after the 64 samples before them, gives the
// probability of speech, and hands back a state that goes into its next call. The word `silence`
// stands for two seconds of zeros.

#include "example.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { Rate = 16000, Context = 64, Step = 512, StateSize = 2 * 1 * 128 };

typedef struct {
  float *samples; // owned, -1 to 1
  size_t count;
  unsigned rate; // per second
} Sound;

static void refuse(const char *path, const char *why) {
  fprintf(stderr, "%s: %s\n", path, why);
  exit(1);
}

static uint32_t littleEndian(const unsigned char *p, int bytes) {
  uint32_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | p[i];
  return value;
}

/// Reads the first channel of a 16-bit PCM WAV file.
static Sound readWav(const char *path) {
  FILE *f = fopen(path, "rb");
  unsigned char chunk[8], format[16];
  if (!f)
    refuse(path, "cannot be opened");
  if (fread(format, 1, 12, f) != 12 || memcmp(format, "RIFF", 4) || memcmp(format + 8, "WAVE", 4))
    refuse(path, "a RIFF WAVE header is required");
  Sound sound = {0};
  unsigned channels = 0;
  while (fread(chunk, 1, 8, f) == 8) {
    uint32_t bytes = littleEndian(chunk + 4, 4);
    if (!memcmp(chunk, "fmt ", 4) && bytes >= 16 && fread(format, 1, 16, f) == 16) {
      channels = littleEndian(format + 2, 2);
      sound.rate = littleEndian(format + 4, 4);
      if (littleEndian(format, 2) != 1 || littleEndian(format + 14, 2) != 16 || !channels || !sound.rate)
        refuse(path, "16-bit PCM is required");
      bytes -= 16;
    } else if (!memcmp(chunk, "data", 4) && channels) {
      unsigned char *raw = malloc(bytes + 1);
      if (!raw)
        refuse(path, "out of memory");
      sound.count = fread(raw, 1, bytes, f) / (2 * channels);
      sound.samples = malloc((sound.count + 1) * sizeof(float));
      if (!sound.samples)
        refuse(path, "out of memory");
      for (size_t i = 0; i < sound.count; ++i)
        sound.samples[i] = (float)(int16_t)littleEndian(raw + 2 * channels * i, 2) / 32768.0f;
      free(raw);
      break;
    }
    fseek(f, (long)bytes + (bytes & 1), SEEK_CUR);
  }
  fclose(f);
  if (!sound.samples)
    refuse(path, "a data chunk is required");
  return sound;
}

/// The sound at 16 kHz, by a windowed sinc that cuts off below the lower of the two Nyquist rates.
static Sound resample(Sound in) {
  const double pi = 3.14159265358979323846;
  double ratio = (double)in.rate / Rate, cut = ratio > 1 ? 0.95 / ratio : 0.95, reach = 16 / cut;
  Sound out = {.count = (size_t)((double)in.count / ratio), .rate = Rate};
  out.samples = malloc((out.count + 1) * sizeof(float));
  if (!out.samples)
    refuse("resample", "out of memory");
  for (size_t i = 0; i < out.count; ++i) {
    double at = (double)i * ratio, sum = 0;
    for (long k = (long)ceil(at - reach); k <= (long)floor(at + reach); ++k) {
      if (k < 0 || k >= (long)in.count)
        continue;
      double x = (double)k - at, phase = pi * cut * x;
      double sinc = x == 0 ? cut : cut * sin(phase) / phase;
      sum += in.samples[k] * sinc * (0.5 + 0.5 * cos(pi * x / reach));
    }
    out.samples[i] = (float)sum;
  }
  free(in.samples);
  return out;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODULE.smod FILE.wav|silence...\n", argv[0]);
    return 2;
  }
  sinter_session *session = openSession(argv[1]);
  const sinter_function *function = sinter_session_function(session);
  int input = sinter_function_find_input(function, "input"), state = sinter_function_find_input(function, "state");
  int rate = sinter_function_find_input(function, "sr"), speech = sinter_function_find_output(function, "output");
  int next = sinter_function_find_output(function, "stateN");
  if (input < 0 || state < 0 || rate < 0 || speech < 0 || next < 0)
    refuse(argv[1], "inputs input, state, sr and outputs output, stateN are required");

  printf("%-20s %8s %8s %8s %9s\n", "sound", "seconds", "speech", "highest", "us/call");
  for (int a = 2; a < argc; ++a) {
    int silence = !strcmp(argv[a], "silence");
    Sound sound = silence ? (Sound){calloc(2 * Rate, sizeof(float)), 2 * Rate, Rate} : resample(readWav(argv[a]));
    size_t calls = sound.count / Step;
    if (!sound.samples || !calls)
      refuse(argv[a], "at least 32 ms of sound are required");

    _Alignas(64) float window[Context + Step] = {0}, memory[StateSize] = {0};
    _Alignas(64) int64_t sampleRate[8] = {Rate};
    sinter_tensor windowView = {.data = window, .dtype = SINTER_F32, .rank = 2, .dims = {1, Context + Step}};
    sinter_tensor stateView = {.data = memory, .dtype = SINTER_F32, .rank = 3, .dims = {2, 1, 128}};
    sinter_tensor rateView = {.data = sampleRate, .dtype = SINTER_I64, .rank = 0};
    check(sinter_session_set_input(session, input, &windowView));
    check(sinter_session_set_input(session, state, &stateView));
    check(sinter_session_set_input(session, rate, &rateView));

    size_t spoken = 0;
    float highest = 0;
    double *times = malloc(calls * sizeof(double));
    if (!times)
      refuse(argv[a], "out of memory");
    for (size_t i = 0; i < calls; ++i) {
      memmove(window, window + Step, Context * sizeof(float));
      memcpy(window + Context, sound.samples + i * Step, Step * sizeof(float));
      double start = microseconds();
      check(sinter_session_run(session));
      times[i] = microseconds() - start;
      sinter_tensor probability, newState;
      check(sinter_session_output(session, speech, &probability));
      check(sinter_session_output(session, next, &newState));
      float p = *(const float *)probability.data;
      spoken += p > 0.5f;
      highest = p > highest ? p : highest;
      memcpy(memory, newState.data, sizeof(memory));
    }
    const char *slash = strrchr(argv[a], '/');
    printf("%-20s %8.2f %6.0f %% %8.3f %9.1f\n", slash ? slash + 1 : argv[a], (double)sound.count / Rate,
           100.0 * (double)spoken / (double)calls, (double)highest, median(times, calls));
    free(times);
    free(sound.samples);
  }
  sinter_session_destroy(session);
  return 0;
}
