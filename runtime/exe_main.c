// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main function of `sinter compile --emit=exe`: reads npy files, runs the linked function, writes
// npy files. An archive of its own (sinter_rt_main), so that libsinter_rt.a never brings a `main`.

#include "dtypes.h"
#include "log.h"
#include "sinter.h"
#include "status.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// The compiled functions: a table that ends with null, from the object file.
extern const sinter_function *const sinter_functions[];

enum { ExitOk = 0, ExitError = 1, ExitUsage = 2 };

typedef struct Run {
  const char *program;
  sinter_module *module;
  sinter_session *session;
  const sinter_function *function;
  const char *load, *save; // safetensors files of the states, or null
  const char **inputFiles; // by index, null when not given
  const char **outputFiles;
  sinter_tensor *inputs;
  int32_t index; // of the function
  int32_t threads;
  int anyOutput, print;
} Run;

/// True when an input (or output) is a tensor that the session keeps.
static int isState(const sinter_function *function, int32_t input, int32_t output) {
  for (int32_t s = 0; s < function->num_states; ++s)
    if (function->states[s].input == input || (output >= 0 && function->states[s].output == output))
      return 1;
  return 0;
}

//===- Messages -----------------------------------------------------------------------------------===//

static int fail(const Run *run, const char *detail) {
  fprintf(stderr, "%s: %s\n", run->program, detail);
  return ExitError;
}

static int usageError(const Run *run, const char *what, const char *argument) {
  fprintf(stderr, "%s: %s: '%s' (see --help)\n", run->program, what, argument);
  return ExitUsage;
}

static void printType(const sinter_function *function, const sinter_tensor_type *type) {
  printf("  %s: %s [", type->name, sinter_dtype_name(type->dtype));
  for (int32_t d = 0; d < type->rank; ++d) {
    int64_t dim = type->dims[d];
    printf("%s", d ? ", " : "");
    if (dim >= 0)
      printf("%" PRId64, dim);
    else
      printf("%s", dim == SINTER_DIM_UNKNOWN ? "?" : function->symbol_names[-1 - dim]);
  }
  printf("]\n");
}

static void printHelp(const Run *run) {
  const sinter_function *function = run->function;
  printf("usage: %s [FILE.npy ...] [--input NAME=@FILE.npy] [--output NAME=@FILE.npy] [--threads N] [--print]\n\n"
         "Runs '%s', compiled by sinter. Files without a name are inputs in order. Outputs are written where\n"
         "--output says; without --output and --print to NAME.npy. --print writes them to the terminal.\n",
         run->program, function->name);
  if (function->num_states)
    printf("--load FILE reads the %d states of the program from a safetensors file first, --save FILE writes them in "
           "the end;\n"
           "--function NAME runs another function over them.\n",
           function->num_states);
  printf("\ninputs\n");
  for (int32_t i = 0; i < function->num_inputs; ++i)
    if (!isState(function, i, -1))
      printType(function, &function->inputs[i]);
  printf("outputs\n");
  for (int32_t o = 0; o < function->num_outputs; ++o)
    if (!isState(function, -1, o))
      printType(function, &function->outputs[o]);
}

//===- Values -------------------------------------------------------------------------------------===//

/// Half `index` of packed elements.
static int half(const void *data, int64_t index) { return ((const uint8_t *)data)[index / 2] >> index % 2 * 4 & 15; }

/// An f8E4M3FN, whose exponent is less by 2^8 than that of a half with the same bits.
static double wideByte(uint8_t bits) {
  if ((bits & 0x7F) == 0x7F)
    return (double)NAN;
  return 256 * (double)srtWiden((uint16_t)((bits & 0x80) << 8 | (bits & 0x7F) << 7), 5);
}

static void printValue(const sinter_tensor *tensor, int64_t index) {
  const char *at = (const char *)tensor->data + index * sinter_dtype_bytes(tensor->dtype);
#define LOAD(type) (*(const type *)at)
  switch (tensor->dtype) {
  case SINTER_F64:
    printf("%.17g", LOAD(double));
    break;
  case SINTER_F32:
    printf("%.9g", (double)LOAD(float));
    break;
  case SINTER_F16:
    printf("%.5g", (double)srtWiden(LOAD(uint16_t), 5));
    break;
  case SINTER_BF16:
    printf("%.4g", (double)srtWiden(LOAD(uint16_t), 8));
    break;
  case SINTER_F8E4M3FN:
    printf("%.3g", wideByte(LOAD(uint8_t)));
    break;
  case SINTER_F8E5M2:
    printf("%.3g", (double)srtWiden((uint16_t)(LOAD(uint8_t) << 8), 5));
    break;
  case SINTER_I4:
    printf("%d", (half(tensor->data, index) ^ 8) - 8);
    break;
  case SINTER_U4:
    printf("%d", half(tensor->data, index));
    break;
  case SINTER_I8:
    printf("%d", LOAD(int8_t));
    break;
  case SINTER_I16:
    printf("%d", LOAD(int16_t));
    break;
  case SINTER_I32:
    printf("%" PRId32, LOAD(int32_t));
    break;
  case SINTER_I64:
    printf("%" PRId64, LOAD(int64_t));
    break;
  case SINTER_U16:
    printf("%u", LOAD(uint16_t));
    break;
  case SINTER_U32:
    printf("%" PRIu32, LOAD(uint32_t));
    break;
  case SINTER_U64:
    printf("%" PRIu64, LOAD(uint64_t));
    break;
  default: // i1, ui8
    printf("%u", LOAD(uint8_t));
    break;
  }
#undef LOAD
}

/// "name: f32 [2, 3]", then a line for each innermost row.
static void printTensor(const char *name, const sinter_tensor *tensor) {
  printf("%s: %s [", name, sinter_dtype_name(tensor->dtype));
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->rank; ++d) {
    printf("%s%" PRId64, d ? ", " : "", tensor->dims[d]);
    count *= tensor->dims[d];
  }
  printf("]\n");
  int64_t row = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
  for (int64_t i = 0; i < count; ++i) {
    printf("%s", i % row ? " " : "  ");
    printValue(tensor, i);
    if (i % row == row - 1)
      printf("\n");
  }
}

//===- Arguments ----------------------------------------------------------------------------------===//

/// Splits NAME=@FILE at its first '=' and keeps the file at the tensor's index.
static int readBinding(Run *run, char *text, const char *kind) {
  const sinter_function *function = run->function;
  int isInput = strcmp(kind, "input") == 0;
  char *file = strchr(text, '=');
  if (!file || file[1] != '@' || !file[2])
    return usageError(run, "required is NAME=@FILE.npy, got", text);
  *file = 0;
  int32_t index = isInput ? sinter_function_find_input(function, text) : sinter_function_find_output(function, text);
  if (index < 0 || isState(function, isInput ? index : -1, isInput ? -1 : index)) {
    fprintf(stderr, "%s: function '%s' has no %s '%s' (see --help)\n", run->program, function->name, kind, text);
    return ExitUsage;
  }
  const char **given = &(isInput ? run->inputFiles : run->outputFiles)[index];
  if (*given) {
    fprintf(stderr, "%s: one file is required for %s '%s', got '%s' and '%s' (see --help)\n", run->program, kind, text,
            *given, file + 2);
    return ExitUsage;
  }
  *given = file + 2;
  run->anyOutput |= !isInput;
  return ExitOk;
}

static int readArguments(Run *run, int argc, char **argv) {
  int32_t numPositional = 0;
  for (int i = 1; i < argc; ++i) {
    char *argument = argv[i];
    int takesFile = run->function->num_states && (strcmp(argument, "--load") == 0 || strcmp(argument, "--save") == 0);
    int takesValue = takesFile || strcmp(argument, "--function") == 0 || strcmp(argument, "--input") == 0 ||
                     strcmp(argument, "--output") == 0 || strcmp(argument, "--threads") == 0;
    if (takesValue && i + 1 == argc)
      return usageError(run, "a value is required after", argument);
    int status = ExitOk;
    if (strcmp(argument, "--threads") == 0) {
      char *end;
      long threads = strtol(argv[++i], &end, 10);
      if (*end || end == argv[i] || threads < 0 || threads > 1024)
        return usageError(run, "required is --threads 0 to 1024, got", argv[i]);
      run->threads = (int32_t)threads;
    } else if (takesFile) {
      *(strcmp(argument, "--load") == 0 ? &run->load : &run->save) = argv[++i];
    } else if (strcmp(argument, "--function") == 0) {
      ++i; // chosen before
    } else if (takesValue) {
      status = readBinding(run, argv[++i], argument + 2);
    } else if (strcmp(argument, "--print") == 0) {
      run->print = 1;
    } else if (argument[0] == '-') {
      return usageError(run, "unknown option", argument);
    } else {
      while (numPositional < run->function->num_inputs &&
             (run->inputFiles[numPositional] || isState(run->function, numPositional, -1)))
        ++numPositional;
      if (numPositional == run->function->num_inputs)
        return usageError(run, "more files than inputs", argument);
      run->inputFiles[numPositional] = argument;
    }
    if (status)
      return status;
  }
  for (int32_t i = 0; i < run->function->num_inputs; ++i)
    if (!run->inputFiles[i] && !isState(run->function, i, -1))
      return usageError(run, "no file for input", run->function->inputs[i].name);
  return ExitOk;
}

//===- The run ------------------------------------------------------------------------------------===//

static int writeOutput(const Run *run, int32_t index) {
  const char *name = run->function->outputs[index].name, *file = run->outputFiles[index];
  sinter_tensor tensor;
  if (sinter_session_output(run->session, index, &tensor))
    return fail(run, sinter_last_error());
  if (run->print)
    printTensor(name, &tensor);
  if (!file && (run->anyOutput || run->print))
    return ExitOk;
  char *local = NULL;
  if (!file) { // NAME.npy here, whatever the name
    local = malloc(strlen(name) + sizeof ".npy");
    if (!local)
      return fail(run, "no memory for a file name");
    strcpy(local, name);
    for (char *at = local; *at; ++at)
      if (*at == '/' || *at < ' ')
        *at = '_';
    strcat(local, ".npy");
    file = local;
  }
  sinter_status_code status = sinter_npy_write(file, &tensor);
  char dims[SRT_DIMS_TEXT_BYTES];
  if (!status && !run->print)
    printf("wrote %s: %s %s\n", file, sinter_dtype_name(tensor.dtype), srtDimsText(tensor.dims, tensor.rank, dims));
  free(local);
  return status ? fail(run, sinter_last_error()) : ExitOk;
}

static int runFunction(Run *run) {
  sinter_session_options options = {.struct_size = sizeof options, .threads = run->threads};
  if (sinter_session_create(run->module, run->index, &options, &run->session) ||
      (run->load && sinter_session_load(run->session, run->load)))
    return fail(run, sinter_last_error());
  for (int32_t i = 0; i < run->function->num_inputs; ++i)
    if (!isState(run->function, i, -1) && (sinter_npy_read(run->inputFiles[i], &run->inputs[i]) ||
                                           sinter_session_set_input(run->session, i, &run->inputs[i])))
      return fail(run, sinter_last_error());
  if (sinter_session_run(run->session))
    return fail(run, sinter_last_error());
  if (run->save && sinter_session_save(run->session, run->save))
    return fail(run, sinter_last_error());
  for (int32_t o = 0; o < run->function->num_outputs; ++o) {
    int status = isState(run->function, -1, o) ? ExitOk : writeOutput(run, o);
    if (status)
      return status;
  }
  if (fflush(stdout) != 0)
    return fail(run, "cannot write to the terminal");
  return ExitOk;
}

int main(int argc, char **argv) {
  Run run = {.program = argc > 0 ? argv[0] : "program"};
  if (sinter_module_open_functions(sinter_functions, NULL, &run.module))
    return fail(&run, sinter_last_error());
  for (int i = 1; i + 1 < argc; ++i)
    if (strcmp(argv[i], "--function") == 0 && (run.index = sinter_module_find_function(run.module, argv[i + 1])) < 0) {
      fprintf(stderr, "%s: has no function '%s'\n", run.program, argv[i + 1]);
      sinter_module_close(run.module);
      return ExitUsage;
    }
  run.function = sinter_module_function(run.module, run.index);
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      printHelp(&run);
      sinter_module_close(run.module);
      return ExitOk;
    }
  run.inputFiles = calloc((size_t)run.function->num_inputs + 1, sizeof *run.inputFiles);
  run.outputFiles = calloc((size_t)run.function->num_outputs + 1, sizeof *run.outputFiles);
  run.inputs = calloc((size_t)run.function->num_inputs + 1, sizeof *run.inputs);
  int status = ExitOk;
  if (!run.inputFiles || !run.outputFiles || !run.inputs)
    status = fail(&run, "no memory for the arguments");
  if (!status)
    status = readArguments(&run, argc, argv);
  if (!status)
    status = runFunction(&run);
  sinter_session_destroy(run.session);
  for (int32_t i = 0; run.inputs && i < run.function->num_inputs; ++i)
    sinter_tensor_free(&run.inputs[i]);
  sinter_module_close(run.module);
  free(run.inputFiles);
  free(run.outputFiles);
  free(run.inputs);
  return status;
}
