// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between compiled code and the runtime. Emitted code reaches the runtime only through
// `sinter_context`, a versioned table: fields are appended, never moved. Everything here is plain C
// with fixed layout, because the CPU back end writes these structs as LLVM types.
//
// A compiled function is one entry point plus one constant `sinter_function` that describes it. The
// entry point runs on the caller's thread and starts kernels over chunks through `parallel`. What a
// chunk is depends on shapes only, never on the number of threads, so results do not either.

#ifndef SINTER_RUNTIME_ABI_H
#define SINTER_RUNTIME_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_ABI_VERSION 1u
#define SINTER_MAX_RANK 16
/// Inputs and outputs together of a function of the program that is an op, and tensors of one debug_print.
#define SINTER_MAX_OP_TENSORS 64

/// Element types, as stored. Booleans are bytes 0 or 1. Values are part of the file formats.
typedef enum sinter_dtype {
  SINTER_F64 = 1,
  SINTER_F32 = 2,
  SINTER_F16 = 3,
  SINTER_BF16 = 4,
  SINTER_I1 = 5,
  SINTER_I8 = 6,
  SINTER_I16 = 7,
  SINTER_I32 = 8,
  SINTER_I64 = 9,
  SINTER_U8 = 10,
  SINTER_U16 = 11,
  SINTER_U32 = 12,
  SINTER_U64 = 13
} sinter_dtype;

/// Status codes, returned by compiled code and by every call of sinter.h. Zero is success.
typedef enum sinter_status_code {
  SINTER_OK = 0,
  SINTER_INVALID_ARGUMENT = 1, // wrong shape, dtype, name, handle
  SINTER_OUT_OF_MEMORY = 2,
  SINTER_IO = 3,            // a file cannot be read or written
  SINTER_CORRUPT = 4,       // a file is not what its header says
  SINTER_UNSUPPORTED = 5,   // version or CPU feature that this runtime or machine does not have
  SINTER_CANCELLED = 6,     // sinter_session_cancel was called
  SINTER_RUNTIME_ERROR = 7, // an op reported an error (index out of bounds under policy `error`, trip limit ...)
  SINTER_BUSY = 8,          // another thread uses the session, or another session its states; nothing was changed
  SINTER_LIMIT = 9,         // the process has reached a limit of the system: open files, executable memory
  SINTER_INTERNAL = 10      // a defect of Sinter: nothing that was given is wrong
} sinter_status_code;

struct sinter_context;
struct sinter_tensor;

/// A function of the program that is an op (sinter.h says what it may do).
typedef int32_t (*sinter_op_fn)(int32_t num_inputs, const struct sinter_tensor *inputs, int32_t num_outputs,
                                const struct sinter_tensor *outputs, char *message);

/// A kernel over chunks `[begin, end)`. `args` is an array of 8-byte words: pointers to buffers, then
/// sizes, in the order of the kernel's own signature.
typedef int32_t (*sinter_kernel_fn)(struct sinter_context *ctx, const int64_t *args, int64_t begin, int64_t end);

/// One buffer of a function whose size is known once the dims are: it lives over the schedule
/// positions `[first, last]` (both inclusive). Buffers whose lives overlap get disjoint bytes.
typedef struct sinter_buffer_life {
  int32_t first;
  int32_t last;
} sinter_buffer_life;

/// Where compiled code finds an input, and where it reports an output.
typedef struct sinter_tensor_slot {
  void *data;                    // inputs: row-major elements, 64-byte aligned, never null. outputs: filled by `output`
  int64_t dims[SINTER_MAX_RANK]; // sizes in elements; compiled code writes those of outputs
} sinter_tensor_slot;

/// What compiled code may ask of the runtime. One per session; never shared between threads except
/// by the kernels that `parallel` starts, which use only `cancelled` and `fail`.
typedef struct sinter_context {
  uint32_t abi_version;
  uint32_t struct_size;
  void *session; // the runtime's own

  /// Non-zero asks for an early stop; compiled loops poll it and return SINTER_CANCELLED.
  volatile int32_t cancelled;
  /// Compiled code sets it to 1 before it writes a state in place: from then on `parallel` does not look at
  /// `cancelled`, so that the call ends with all states written. 0 when a call begins.
  int32_t committing;

  /// Runs `fn` over `[0, chunks)` in any order on the session's threads and waits; the first non-zero
  /// status wins. With one thread, a busy pool or one chunk it runs inline.
  int32_t (*parallel)(struct sinter_context *ctx, sinter_kernel_fn fn, const int64_t *args, int64_t chunks);

  /// Places `count` buffers of `bytes[i]` with lives `lives[i]` in the session's arena and writes
  /// `offsets[i]` (64-byte aligned). Returns the arena's base, or null when memory runs out (the
  /// message is set). Plans are cached per `lives` table and equal sizes; the arena grows only here.
  /// Each `lives` table has memory of its own, so several may be planned during one call; planning the
  /// same table again gives its earlier buffers up. Negative sizes, lives that end before they start and
  /// overflow are refused. Called on the session's thread only.
  uint8_t *(*plan)(struct sinter_context *ctx, const sinter_buffer_life *lives, int64_t count, const int64_t *bytes,
                   int64_t *offsets);

  /// A buffer whose size depends on data, 64-byte aligned, not initialized. Freed by `release` or at the
  /// end of the call. Null when memory runs out or `bytes` is negative (the message is set). Called on the
  /// session's thread only.
  void *(*acquire)(struct sinter_context *ctx, int64_t bytes);
  void (*release)(struct sinter_context *ctx, void *buffer);

  /// The storage of output `index` for a tensor of the given dims: the caller's buffer when one was
  /// given, else memory of the session that stays valid until its next call. Writes the dims to the
  /// output's slot. Null with the message set when the caller's buffer is too small or memory runs out.
  /// Every output must be asked for, also an empty one. Called on the session's thread only.
  void *(*output)(struct sinter_context *ctx, int32_t index, const int64_t *dims, int32_t rank);

  /// Records an error and returns `code`. `message` is a static string; `a` and `b` replace its first
  /// and second "{}".
  int32_t (*fail)(struct sinter_context *ctx, int32_t code, const char *message, int64_t a, int64_t b);

  /// A buffer for per-trip outputs of a loop whose number of trips is not known: at least `needed` bytes (`*capacity`
  /// says how many) that begin with the first `used` bytes of `buffer`, which came from `acquire` or `grow` and is
  /// given up. Capacities grow geometrically. Null when memory runs out, `needed` is negative, or all such buffers
  /// would exceed the session's max_tape_bytes (the message is set). Called on the session's thread only.
  void *(*grow)(struct sinter_context *ctx, void *buffer, int64_t used, int64_t needed, int64_t *capacity);

  /// Calls `function`, the op `name`, or where that is null prints `name`, a format of sinter_debug_print. `layout` has
  /// the number of inputs and of outputs, at most SINTER_MAX_OP_TENSORS together, then dtype and rank of each; `words`
  /// has the address of each tensor and then its dims. Returns a status code, the message is set. Called on the
  /// session's thread only.
  int32_t (*external)(struct sinter_context *ctx, const char *name, sinter_op_fn function, const int32_t *layout,
                      const int64_t *words);

  /// `parallel`, counted under the kernel's name: code that is compiled for profiles calls it instead.
  int32_t (*measure)(struct sinter_context *ctx, const char *name, sinter_kernel_fn fn, const int64_t *args,
                     int64_t chunks);

  /// `parallel`, `steps` times, each after all chunks of the one before; `*step`, a word of `args`, is the number of
  /// the step that runs. Inline, a step is one call of `fn`.
  int32_t (*repeat)(struct sinter_context *ctx, sinter_kernel_fn fn, const int64_t *args, int64_t chunks, int64_t *step,
                    int64_t steps);

  /// For drivers of devices: non-zero when `address` lies in an input or output of this call that is memory of the
  /// module's device.
  int32_t (*is_there)(struct sinter_context *ctx, const void *address);

  /// For drivers of devices: takes note of a kernel or copy `name`, a text that lives as long as the module, that ran
  /// there between these times of CLOCK_MONOTONIC. Called on the session's thread; null unless the call is traced.
  void (*measured)(struct sinter_context *ctx, const char *name, int64_t begin_ns, int64_t end_ns, int32_t on_device);

  /// Threads that `parallel` may use, the calling one included. Code may choose by it what is faster, never what comes
  /// out.
  int32_t threads;
} sinter_context;

/// The compiled function. `symbols[i]` is the size bound to the i-th named dim (see
/// sinter_dim). Returns a status code.
typedef int32_t (*sinter_entry_fn)(sinter_context *ctx, const sinter_tensor_slot *inputs, sinter_tensor_slot *outputs,
                                   const int64_t *symbols, const void *weights);

/// A dim of a signature: a size when >= 0; otherwise the symbol `-1 - dim`. An output dim that only the
/// call itself determines is SINTER_DIM_UNKNOWN.
typedef int64_t sinter_dim;
#define SINTER_DIM_UNKNOWN INT64_MIN

typedef struct sinter_tensor_type {
  const char *name;
  int32_t dtype; // sinter_dtype
  int32_t rank;
  const sinter_dim *dims;
} sinter_tensor_type;

/// The compiled code writes the state's result only after the last read of the old value (element by element) and after
/// the last operation that can fail: `output` gives it the state's own memory.
#define SINTER_STATE_IN_PLACE 1

/// The state (i64, rank 0) that the random numbers of a function depend on.
#define SINTER_SEED_STATE "random.seed"

/// A tensor that the session keeps from call to call. Functions of one module that name the same state share it. Its
/// input and output have fixed dims and one dtype; callers bind neither.
typedef struct sinter_state {
  const char *name;
  int32_t input;  // where the function reads it
  int32_t output; // what replaces it when the call succeeds; -1: the function only reads it
  int32_t flags;  // SINTER_STATE_IN_PLACE or 0: `output` gives other memory, which takes the place of the old
  int32_t reserved;
  int64_t initial; // byte offset of the first value in the function's weights; -1: zeros
} sinter_state;

/// Describes one compiled function; a constant in the object file.
typedef struct sinter_function sinter_function;
struct sinter_function {
  uint32_t abi_version;
  uint32_t struct_size;
  const char *name; // what the source called it
  int32_t num_inputs;
  int32_t num_outputs;
  const sinter_tensor_type *inputs;
  const sinter_tensor_type *outputs;
  int32_t num_symbols;
  int32_t reserved;
  const char *const *symbol_names;
  sinter_entry_fn entry;
  /// Weights linked into the object; null when they come from a file beside the code (.smod).
  const void *weights;
  int64_t weights_bytes;
  /// CPU features that the code needs: LLVM names or levels ("avx2 fma", "x86-64-v3 avx512bf16"), separated by
  /// spaces or commas; checked at open, where an unknown name counts as missing. May be empty or null.
  const char *cpu_features;
  int32_t num_states;
  int32_t num_variants;
  const sinter_state *states;
  /// The same function for other CPUs. Of them and this one, opening takes the one with the highest priority whose
  /// cpu_features the machine has, and none of the others is run.
  const sinter_function *const *variants;
  uint32_t priority;
  uint32_t reserved2;
};

#ifdef __cplusplus
}
#endif

#endif
