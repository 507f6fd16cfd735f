// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C ABI of the Sinter runtime: modules (compiled functions and their weights), sessions (a
// function plus the memory and threads that run it) and tensor files. The ABI is append-only:
// functions are added, option structs carry their size and grow at the end, handles are opaque.
//
// Threads. A module may be shared by any number of threads. A session belongs to one thread at a
// time: while a call of one is in progress, calls of others fail with SINTER_BUSY and change nothing; only
// `sinter_session_cancel` has its effect then. `sinter_last_error` is per thread.
// Nothing here prints (but debug_print, when a program asks for it), exits or aborts, and a process keeps its signals,
// descriptors, limits and environment: workers block all signals, and files are open only during the call that opens
// them, or until what they made is closed.
//
// Forks. A child may use, destroy and make sessions. Those that its parent made run on the calling thread alone; one
// that another thread was running at the fork can only be destroyed, and keeps its memory.
//
// A null pointer where one is required is SINTER_INVALID_ARGUMENT, or the zero of the result's type, in every call.
// Handles that were closed or destroyed, and pointers to memory of another type, are not known as such: do not use
// them.
//
//   sinter_module *module;
//   sinter_session *session;
//   if (sinter_module_open("model.smod", NULL, &module) || sinter_session_create(module, 0, NULL, &session))
//     return puts(sinter_last_error());
//   sinter_tensor x = {.data = samples, .dtype = SINTER_F32, .rank = 2, .dims = {1, 512}}, y;
//   if (sinter_session_set_input(session, 0, &x) || sinter_session_run(session) ||
//       sinter_session_output(session, 0, &y))
//     return puts(sinter_last_error());

#ifndef SINTER_RUNTIME_SINTER_H
#define SINTER_RUNTIME_SINTER_H

#include "abi.h"
#include <stddef.h>

#if defined(__GNUC__)
#define SINTER_API __attribute__((visibility("default")))
#define SINTER_EXTENSION __extension__ // a union without a name, which C99 does not have
#else
#define SINTER_API
#define SINTER_EXTENSION
#endif

#ifdef __cplusplus
extern "C" {
#endif

//===- Status and types ---------------------------------------------------------------------------===//

/// The ABI version of this library, SINTER_ABI_VERSION when it was built.
SINTER_API uint32_t sinter_abi_version(void);

/// The message of the last call that failed on this thread, one line without a final period; the
/// empty string when none did. Valid until the next failing call on this thread.
SINTER_API const char *sinter_last_error(void);

/// Records `message` for sinter_last_error on this thread and returns `code`: for libraries on top of this one, as
/// libsinter_compiler is. A null message is the code's name.
SINTER_API sinter_status_code sinter_set_error(sinter_status_code code, const char *message);

/// A short name for a status code, for example "invalid argument". Never null.
SINTER_API const char *sinter_status_name(int32_t code);

/// Bytes of one element, 0 for a value that is not a sinter_dtype.
SINTER_API int64_t sinter_dtype_bytes(int32_t dtype);

/// The name of an element type as the compiler prints it ("f32", "ui8", "i1"), or "unknown".
SINTER_API const char *sinter_dtype_name(int32_t dtype);

/// A view of a dense tensor. It owns nothing unless the call that filled it says so.
typedef struct sinter_tensor {
  void *data; // may be null when a dim is 0
  int32_t dtype;
  int32_t rank;
  int64_t dims[SINTER_MAX_RANK]; // elements
  const int64_t *strides;        // elements, may be negative; null means row-major without gaps
} sinter_tensor;

//===- Functions of the program as ops ------------------------------------------------------------===//
//
// A graph may call a function of the program as an op (sinter_graph_external). Code in memory, of sinter_graph_compile
// or a .smod, finds the function by the op's name in a table of the process; objects, archives, libraries and programs
// that the compiler writes refer to a C function of that name, which is linked with them.

/// Bytes of a message, the terminator included.
#define SINTER_OP_MESSAGE_BYTES 256

/// int32_t name(int32_t num_inputs, const sinter_tensor *inputs, int32_t num_outputs, const sinter_tensor *outputs,
///              char *message)
///
/// `sinter_op_fn` (abi.h) reads inputs and writes all elements of outputs, whose dtypes and dims are those that the
/// graph states. Tensors are row-major without strides, and belong to the caller: nothing of them may be kept after the
/// call, inputs must not be written, outputs hold anything at first and share no bytes with others. Data of an empty
/// tensor may be null. It returns SINTER_OK; else the call that ran it fails with that status code (another number
/// counts as SINTER_RUNTIME_ERROR), with what is written to `message` (SINTER_OP_MESSAGE_BYTES, at first empty), and
/// states stay what they were.
///
/// It runs on the thread of the session, several at a time when several sessions run; it must not throw, nor use the
/// session that runs it. It has no effects but its outputs, and equal inputs give equal outputs: a call whose result is
/// not needed may be left out, and one that is needed in several places made once or several times.

/// Enters an op by its name, a C identifier that is not a function of the C library. `reference` is what the reference
/// evaluator calls; null: `function`. The same functions may be entered again; others for a known name are an error. A
/// null `function` takes the op out; code that was loaded before keeps it. Any thread may call.
SINTER_API sinter_status_code sinter_op_register(const char *name, sinter_op_fn function, sinter_op_fn reference);

/// What was entered, or null. `reference`: non-zero asks for that function.
SINTER_API sinter_op_fn sinter_op_find(const char *name, int32_t reference);

/// Calls an op as compiled code does: its failure becomes a status and the message of sinter_last_error.
SINTER_API sinter_status_code sinter_op_call(const char *name, sinter_op_fn function, int32_t num_inputs,
                                             const sinter_tensor *inputs, int32_t num_outputs,
                                             const sinter_tensor *outputs);

//===- What programs print ------------------------------------------------------------------------===//

/// Takes a text without a newline at its end (long tensors have some inside), valid during the call. Called on the
/// thread that prints, several at a time where several threads print.
typedef void (*sinter_log_fn)(void *user, const char *text);

/// Sends what debug_print prints to `log`; null: to standard error, as at first. Nothing else is printed.
SINTER_API void sinter_log_to(sinter_log_fn log, void *user);

/// Prints `format`, each {} of which stands for a tensor: what the op debug_print does when code reaches it.
SINTER_API sinter_status_code sinter_debug_print(const char *format, int32_t count, const sinter_tensor *tensors);

//===- Modules ------------------------------------------------------------------------------------===//

typedef struct sinter_module sinter_module;

typedef struct sinter_open_options {
  uint32_t struct_size;     // sizeof(sinter_open_options)
  int32_t skip_weight_hash; // non-zero: do not verify the hash of a .smod's weights
  int32_t map_weights; // non-zero: map the weights of a .smod instead of reading them, so that processes share them
                       // and none that is not used is read. Who makes the file shorter then ends the process
  int32_t reserved;
  const char *sha256; // the SHA-256 that a .smod must have, 64 hexadecimal digits as sha256sum prints; null: any
  const char
      *device; // .smod only: the device that its kernels run on, "cuda:1", or "cuda" for the driver's own choice;
               // the module must have code for it. Null: the best code that runs here, on the driver's choice
  void *device_context; // of the program, in which the device works: a CUcontext; null: the device's primary context
  void *device_stream;  // where its work is put in order with the program's: a CUstream; null: a stream of its own
} sinter_open_options;

// A module that is opened twice may run on two devices: each has its own code, weights and states there. A context and
// a stream of the program must outlive the module; a stream belongs to that context, or to the device's primary one.
// Work of all sessions of the module goes to the stream; a run waits for its end before it returns.

/// Opens a `.smod` file, or a shared library that exports `sinter_functions` (or, for `libSTEM.so`,
/// `STEM_functions`). Both hold native code: open only files that you trust. Of a module with code for
/// several CPUs the best that this one runs is taken. `options` may be null. Fails with SINTER_IO (no such file, a
/// folder, no rights), SINTER_LIMIT (open files), SINTER_OUT_OF_MEMORY, SINTER_CORRUPT (bad offset, size, hash or
/// SHA-256; code that Sinter does not make), SINTER_UNSUPPORTED (version, CPU). A module holds no file open. On success
/// the caller owns `*module`.
SINTER_API sinter_status_code sinter_module_open(const char *path, const sinter_open_options *options,
                                                 sinter_module **module);

/// A module over code that is linked into the program: a table of pointers that ends with null. The
/// table and what it points to must outlive the module.
SINTER_API sinter_status_code sinter_module_open_functions(const sinter_function *const *functions,
                                                           const sinter_open_options *options, sinter_module **module);

/// The same for one function.
SINTER_API sinter_status_code sinter_module_open_function(const sinter_function *function,
                                                          const sinter_open_options *options, sinter_module **module);

/// Gives the caller's hold on `module` back. Its code and weights stay until its last session is
/// destroyed. Null is ignored.
SINTER_API void sinter_module_close(sinter_module *module);

/// One more hold on `module`, to be given back by sinter_module_close. Returns `module`.
SINTER_API sinter_module *sinter_module_retain(sinter_module *module);

/// How many functions the module has.
SINTER_API int32_t sinter_module_num_functions(const sinter_module *module);

/// The description of function `index`: names, dtypes, dims, symbols (see abi.h). Null when out of
/// range. Valid as long as the module.
SINTER_API const sinter_function *sinter_module_function(const sinter_module *module, int32_t index);

/// The index of the function called `name`, or -1.
SINTER_API int32_t sinter_module_find_function(const sinter_module *module, const char *name);

/// Bytes of weights that the module's functions read, wherever they are stored.
SINTER_API int64_t sinter_module_weights_bytes(const sinter_module *module);

/// The manifest section of a `.smod`, or null. Not terminated; valid as long as the module.
SINTER_API const void *sinter_module_manifest(const sinter_module *module, int64_t *bytes);

/// The index of the input or output called `name`, or -1.
SINTER_API int32_t sinter_function_find_input(const sinter_function *function, const char *name);
SINTER_API int32_t sinter_function_find_output(const sinter_function *function, const char *name);

//===- Sessions -----------------------------------------------------------------------------------===//

typedef struct sinter_session sinter_session;

/// Hooks for the memory of a session. `allocate` returns `bytes` aligned to `alignment` (64 or more, a
/// power of two) or null; it is called on the session's thread only.
typedef struct sinter_allocator {
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*free)(void *user, void *pointer, size_t bytes);
  void *user;
} sinter_allocator;

/// Threads of the caller's program, for sessions that have no workers of their own. `run` calls task(data, index) for
/// indices of [0, count), each at most once, on any threads, in any order or at the same time, and returns when all
/// calls that began have ended. It may leave calls out, as where all threads are busy: the session's thread, which
/// calls `run` and may be one of them, does what is left. Several sessions may call it at the same time. It throws
/// nothing. Results do not depend on it.
typedef struct sinter_executor {
  void (*run)(void *user, void (*task)(void *data, int32_t index), void *data, int32_t count);
  void *user;
} sinter_executor;

/// Workers that sessions share, so that many sessions at once keep no more threads busy than there are: `workers` of
/// them, besides the sessions' own threads; 0: one less than the cores that the process may use. In a child of the
/// process that made them they do nothing. The caller owns `*threads`.
typedef struct sinter_shared_threads sinter_shared_threads;
SINTER_API sinter_status_code sinter_shared_threads_create(int32_t workers, sinter_shared_threads **threads);

/// For sinter_session_options; valid until they are destroyed.
SINTER_API sinter_executor sinter_shared_threads_executor(sinter_shared_threads *threads);

/// Joins the workers. All sessions that use them are destroyed before. Null is ignored.
SINTER_API void sinter_shared_threads_destroy(sinter_shared_threads *threads);

typedef struct sinter_session_options {
  uint32_t struct_size; // sizeof(sinter_session_options)
  int32_t threads;      // the calling one included; 0: all cores that the process may use
  int32_t spin_us;      // how long idle workers spin before they sleep; 0: 50, negative: not at all
  int32_t no_huge_pages;
  sinter_allocator allocator;      // both functions or none; none: malloc, and mmap from 2 MiB on
  struct sinter_session *state_of; // a session of the same module whose states are used; null: states of its own
  int64_t max_bytes;               // most that it may hold at once, states apart; 0: no limit
  int64_t max_tape_bytes;          // most that loops of unknown length may store of their trips, at once; 0: no limit
  const char *folder;              // states and arenas of 64 KiB and more lie in files here, see below; null: in memory
  sinter_executor executor;        // with a `run`: threads of the program, `threads` at most; null: workers of its own
} sinter_session_options;

// A session with a folder needs less memory than its states and its arena: they are files that are mapped, which the
// system writes out where memory is short and reads ahead where they are used in order. Results are the same to the
// bit. The files have no names, and are gone with the session; the disk has room for them before they are used, so that
// a full one is an error of sinter_session_create, load or run. Sessions that share states have their folder from the
// first. States there belong to the process that made them: a child gets an error.

/// Makes a session for function `index` of `module`: one allocation, and threads - 1 workers. The
/// arena comes with the first run and grows only when sizes do. `options` may be null. The session
/// keeps the module's code alive. On success the caller owns `*session`.
SINTER_API sinter_status_code sinter_session_create(sinter_module *module, int32_t index,
                                                    const sinter_session_options *options, sinter_session **session);

/// Joins the workers and frees all memory of the session. Not during a call of another thread. Null is ignored.
SINTER_API void sinter_session_destroy(sinter_session *session);

/// The description of the function that the session runs; valid as long as the session.
SINTER_API const sinter_function *sinter_session_function(const sinter_session *session);

/// The number of threads that runs use.
SINTER_API int32_t sinter_session_threads(const sinter_session *session);

/// Binds input `index`. Dtype, rank and fixed dims are checked here, named dims by `run`. The data is
/// not copied here: it must stay alive and unchanged during every run that uses the binding. Data
/// that is strided, not aligned to 64 bytes, or an earlier output view of this session (a state that
/// is fed back) is copied into the session at the start of each run. A null `tensor` unbinds.
SINTER_API sinter_status_code sinter_session_set_input(sinter_session *session, int32_t index,
                                                       const sinter_tensor *tensor);

/// Binds the caller's memory for output `index`: `tensor` states dtype, rank and room. A run whose
/// output needs fewer bytes writes it row-major at the start; one that needs more fails. With strides
/// the dims must match exactly. Strided or unaligned memory is filled by a copy at the end of the run.
/// It must not overlap an input, another output or itself (strides that lead two elements to one address). A null
/// `tensor` goes back to the session's memory.
SINTER_API sinter_status_code sinter_session_set_output(sinter_session *session, int32_t index,
                                                        const sinter_tensor *tensor);

// Tensors on the device. In a module whose kernels run on a device (sinter_open_options.device), inputs may lie in that
// device's memory, and outputs may stay there: nothing of them goes through the host. Addresses are of the device that
// the module was opened on; those of another one, or of the host, are refused. Kernels read and write them where they
// lie when the address is a multiple of 64, else by a copy on the device. Elements are row-major without gaps; those of
// i1 are 0 or 1.
//
// Order. What an input holds must have been written when the run begins, or be written by work that is before it in the
// module's stream (sinter_module_stream): a producer of DLPack is given that stream (`__dlpack__(stream=...)`), or its
// stream is the one that the module was opened with. A run waits for its own work before it returns, so that a
// consumer's stream has nothing to wait for.

/// Binds input `index` to memory of the device, as sinter_session_set_input does to the host's. It is not written.
SINTER_API sinter_status_code sinter_session_set_input_on_device(sinter_session *session, int32_t index,
                                                                 const sinter_tensor *tensor);

/// Binds the caller's memory on the device for output `index`. Without data: memory of the session there, as large as
/// the output is. sinter_session_output describes what a run wrote. sinter_session_set_output undoes both.
SINTER_API sinter_status_code sinter_session_set_output_on_device(sinter_session *session, int32_t index,
                                                                  const sinter_tensor *tensor);

/// The stream of the module's device (a CUstream), or null: the module has no device with one.
SINTER_API void *sinter_module_stream(const sinter_module *module);

/// DLManagedTensorVersioned of DLPack 1.0, with its layout: cast pointers where a program has dlpack.h.
typedef struct sinter_dlpack sinter_dlpack;
struct sinter_dlpack {
  uint32_t major, minor; // 1 and 0 or more
  void *manager;
  void (*deleter)(sinter_dlpack *self); // may be null
  uint64_t flags;                       // SINTER_DLPACK_READ_ONLY, SINTER_DLPACK_IS_COPIED
  void *data;
  int32_t device_type; // 1: the host; 2: CUDA
  int32_t device_id;
  int32_t rank;
  uint8_t code, bits; // 0 signed, 1 unsigned, 2 float, 4 bf16, 6 bool
  uint16_t lanes;     // 1
  int64_t *dims;
  int64_t *strides; // elements; null: row-major
  uint64_t offset;  // bytes
};
#define SINTER_DLPACK_READ_ONLY 1
#define SINTER_DLPACK_IS_COPIED 2

/// Binds a tensor of the host (1) or of the module's device (2). On success the session owns `tensor`, whose deleter it
/// calls when the input is bound anew or the session is destroyed; else the caller still does. Strides are copied on
/// the host, and refused on the device.
SINTER_API sinter_status_code sinter_session_set_input_dlpack(sinter_session *session, int32_t index,
                                                              sinter_dlpack *tensor);

/// The same for an output that is written to the tensor's memory. One that is read-only is refused.
SINTER_API sinter_status_code sinter_session_set_output_dlpack(sinter_session *session, int32_t index,
                                                               sinter_dlpack *tensor);

/// Gives the memory of output `index` of the last run, which the session has on the device, to the caller: who calls
/// the deleter of `*tensor`, once, on any thread, also after the session and the module are gone. The next run writes
/// to other memory. The deleter waits for what the device still does.
SINTER_API sinter_status_code sinter_session_take_output_dlpack(sinter_session *session, int32_t index,
                                                                sinter_dlpack **tensor);

/// A copy of a row-major tensor of the host in the memory of the module's device, to be given to its deleter. Without
/// data: memory for such a tensor, not initialized.
SINTER_API sinter_status_code sinter_module_to_device(sinter_module *module, const sinter_tensor *tensor,
                                                      sinter_dlpack **result);

/// Copies a row-major tensor on the module's device to `to`, which has room for it.
SINTER_API sinter_status_code sinter_module_to_host(const sinter_module *module, const sinter_dlpack *tensor, void *to);

/// Runs the function on the calling thread and the workers. Every input must be bound. The caller's
/// floating-point control state is set to the default (round to nearest, denormals kept) and
/// restored. After a failure the outputs are undefined and the session may be used again.
SINTER_API sinter_status_code sinter_session_run(sinter_session *session);

/// Binds all inputs and outputs and runs: the quick way for callers that come again with tensors of the same shapes at
/// other addresses. An output without data goes to the session's memory; on success each output describes what was
/// written. What is given for states is not looked at; lists without them are taken, too. The bindings stay.
SINTER_API sinter_status_code sinter_session_call(sinter_session *session, int32_t num_inputs,
                                                  const sinter_tensor *inputs, int32_t num_outputs,
                                                  sinter_tensor *outputs);

/// Fills `*view` with output `index` of the last run, which must have succeeded: the caller's memory
/// if bound, else memory of the session that is valid until its next run.
SINTER_API sinter_status_code sinter_session_output(const sinter_session *session, int32_t index, sinter_tensor *view);

/// Asks the run in progress to stop with SINTER_CANCELLED; without one, or when it writes states where they lie
/// already, as a training step's backward part does, it has no effect. From any thread while the session exists.
SINTER_API void sinter_session_cancel(sinter_session *session);

/// Bytes that a session holds, by use.
typedef struct sinter_memory_report {
  uint32_t struct_size; // sizeof(sinter_memory_report), set by the caller
  uint32_t reserved;
  int64_t fixed_bytes;   // the session itself and cached plans
  int64_t arena_bytes;   // buffers of planned size
  int64_t input_bytes;   // copies of strided or unaligned inputs
  int64_t output_bytes;  // outputs without the caller's memory
  int64_t scratch_bytes; // buffers whose size depends on data, pooled
  int64_t peak_bytes;    // most that was held at once, states apart
  int64_t state_bytes;   // states, shared with other sessions or not
} sinter_memory_report;

/// Fills `*report` with what the session holds now and held at most, in bytes.
SINTER_API sinter_status_code sinter_session_memory(const sinter_session *session, sinter_memory_report *report);

/// The calls of one kernel and the time that the session waited for them.
typedef struct sinter_kernel_profile {
  const char *name; // what it computes; valid as long as the module
  int64_t calls;
  int64_t ns;
} sinter_kernel_profile;

/// Writes up to `room` kernels in the order of their first calls, and to `*count` how many there are: none unless the
/// code was compiled for it (sinter_compile_options.profile). What the session does besides (branches, copies, numbers
/// held in registers) is no kernel.
SINTER_API sinter_status_code sinter_session_profile(const sinter_session *session, int32_t room,
                                                     sinter_kernel_profile *kernels, int32_t *count);

/// A call of a kernel, or a copy from or to a device.
typedef struct sinter_kernel_event {
  const char *name;         // what it computes, on a device the kernel's symbol; valid as long as the module
  int32_t on_device;        // non-zero: it ran on the module's device
  int64_t begin_ns, end_ns; // since the run began
} sinter_kernel_event;

/// From the next run on the session keeps the first `room` events of each run: kernels of code that was compiled for it
/// (sinter_compile_options.profile), kernels of a device, and copies; these count in the profile, too. A device then
/// gets one launch after the other rather than graphs. 0 ends it. Fails with SINTER_INVALID_ARGUMENT where `room` is
/// not in [0, 2^24], SINTER_OUT_OF_MEMORY.
SINTER_API sinter_status_code sinter_session_trace(sinter_session *session, int64_t room);
/// Writes up to `room` events of the last run in the order in which they ended, and to `*count` how many there are.
SINTER_API sinter_status_code sinter_session_events(const sinter_session *session, int64_t room,
                                                    sinter_kernel_event *events, int64_t *count);

//===- State --------------------------------------------------------------------------------------===//

// Tensors that a session keeps from call to call: weights in training, an optimizer's moments, random keys. A new
// session has the module's initial values. Sessions that share states (sinter_session_options.state_of) take turns:
// one of them runs, saves or loads at a time. A call that fails leaves every state as it was.

/// The number of states that the session's function uses.
SINTER_API int32_t sinter_session_num_states(const sinter_session *session);

/// The name of state `index`, or null when out of range. Valid as long as the module.
SINTER_API const char *sinter_session_state_name(const sinter_session *session, int32_t index);

/// Fills `*view` with the state called `name`: memory of the session, not to be written, valid until the next run,
/// set, reset or load of a session that shares it.
SINTER_API sinter_status_code sinter_session_state_get(const sinter_session *session, const char *name,
                                                       sinter_tensor *view);

/// Copies `value`, which may be strided, into the state called `name`. Dtype and dims must be the state's.
SINTER_API sinter_status_code sinter_session_state_set(sinter_session *session, const char *name,
                                                       const sinter_tensor *value);

/// Gives every shared state its initial value again.
SINTER_API sinter_status_code sinter_session_state_reset(sinter_session *session);

/// Writes every state of the session, and of those that share with it, as a safetensors file: to a temporary file
/// beside `path`, synchronized with the disk, then renamed, so that a crash leaves the old file or the new one.
SINTER_API sinter_status_code sinter_session_save(const sinter_session *session, const char *path);

/// Reads them back, all or none: every state must be in the file with its dtype and dims. What else the file holds is
/// ignored. States that hold rows of a table larger than memory (<sinter/data/data.h>) are left as they are, here and
/// by sinter_session_state_reset.
SINTER_API sinter_status_code sinter_session_load(sinter_session *session, const char *path);

//===- Tensor files -------------------------------------------------------------------------------===//

/// Reads a NumPy `.npy` file (format 1 to 3, little-endian; Fortran order is converted; `V2` is read as
/// bf16). On success `*tensor` owns its 64-byte aligned data: give it to `sinter_tensor_free`.
SINTER_API sinter_status_code sinter_npy_read(const char *path, sinter_tensor *tensor);

/// Writes `tensor` as `.npy`: to a temporary file beside `path`, then renamed.
SINTER_API sinter_status_code sinter_npy_write(const char *path, const sinter_tensor *tensor);

/// Frees the data of a tensor that a read function filled, and clears it.
SINTER_API void sinter_tensor_free(sinter_tensor *tensor);

typedef struct sinter_npz sinter_npz;

/// Opens a NumPy `.npz` archive (zip: stored or deflate, zip64). On success the caller owns `*npz`.
SINTER_API sinter_status_code sinter_npz_open(const char *path, sinter_npz **npz);
SINTER_API void sinter_npz_close(sinter_npz *npz);
SINTER_API int32_t sinter_npz_count(const sinter_npz *npz);

/// The name of array `index` without ".npy", or null when out of range. Valid until close.
SINTER_API const char *sinter_npz_name(const sinter_npz *npz, int32_t index);

/// Reads the array called `name`; the rest as sinter_npy_read.
SINTER_API sinter_status_code sinter_npz_read(const sinter_npz *npz, const char *name, sinter_tensor *tensor);

/// Writes `count` arrays, stored, with their CRC-32: to a temporary file beside `path`, then renamed.
SINTER_API sinter_status_code sinter_npz_write(const char *path, const char *const *names, const sinter_tensor *tensors,
                                               int32_t count);

typedef struct sinter_safetensors sinter_safetensors;

/// Opens a safetensors file; its header is read and checked whole: known dtypes, sizes that agree, data without gaps
/// or overlaps. Any file may be given. On success the caller owns `*file`.
SINTER_API sinter_status_code sinter_safetensors_open(const char *path, sinter_safetensors **file);
SINTER_API void sinter_safetensors_close(sinter_safetensors *file);
SINTER_API int32_t sinter_safetensors_count(const sinter_safetensors *file);

/// The name of tensor `index`, or null when out of range. Valid until close.
SINTER_API const char *sinter_safetensors_name(const sinter_safetensors *file, int32_t index);

/// Reads the tensor called `name`; the rest as sinter_npy_read.
SINTER_API sinter_status_code sinter_safetensors_read(const sinter_safetensors *file, const char *name,
                                                      sinter_tensor *tensor);

/// Writes `count` tensors under distinct names, synchronized and renamed as sinter_session_save does.
SINTER_API sinter_status_code sinter_safetensors_write(const char *path, const char *const *names,
                                                       const sinter_tensor *tensors, int32_t count);

//===- Compiler (libsinter_compiler) --------------------------------------------------------------===//
//
// Graphs are recorded op by op, then compiled, evaluated or saved. What follows is in libsinter_compiler, which depends
// on libsinter_rt; everything above is there. A graph belongs to one thread at a time; graphs are independent of each
// other. A call that fails records nothing.
//
//   sinter_graph *graph;
//   sinter_value_type scalar = {.dtype = SINTER_F32};
//   sinter_value x, y;
//   int32_t count;
//   sinter_module *module;
//   if (sinter_graph_create(&graph) || sinter_graph_begin(graph, "f", 1, &scalar, NULL, &x) ||
//       sinter_graph_op(graph, "exp", 1, &x, 0, NULL, 1, &y, &count) || sinter_graph_end(graph, 1, &y, NULL, NULL) ||
//       sinter_graph_compile(graph, NULL, &module))
//     return puts(sinter_last_error());
//
// Calls with results take `room`, the number of entries that `results` has, and write to `*count` how many there are;
// less room than needed is an error.

typedef struct sinter_graph sinter_graph;

/// A tensor of a graph; 0 is none. Numbers are given out in order and never twice.
typedef uint32_t sinter_value;

/// A finished region, to be used by one control flow op; 0 is none.
typedef uint32_t sinter_region;

/// Element type and sizes. A dim is a size when >= 0, else the symbol `-1 - dim` of the graph, or SINTER_DIM_UNKNOWN.
/// Equal symbols are equal sizes.
typedef struct sinter_value_type {
  int32_t dtype; // sinter_dtype
  int32_t rank;
  sinter_dim dims[SINTER_MAX_RANK];
} sinter_value_type;

/// On success the caller owns `*graph`.
SINTER_API sinter_status_code sinter_graph_create(sinter_graph **graph);

/// Null is ignored. What was compiled from the graph lives on.
SINTER_API void sinter_graph_destroy(sinter_graph *graph);

/// The size called `name` ("batch"), as types hold it; made when there is none.
SINTER_API sinter_status_code sinter_graph_symbol(sinter_graph *graph, const char *name, sinter_dim *dim);

/// What a negative dim of this graph stands for: "batch", an expression ("2*batch + 1") or a name of its own for a size
/// that only running tells. Null for what is no symbol. Valid as long as the graph.
SINTER_API const char *sinter_graph_dim_text(const sinter_graph *graph, sinter_dim dim);

/// Says where the ops recorded from now on come from, for later messages. A null `file`: unknown; `function` may be
/// null.
SINTER_API void sinter_graph_location(sinter_graph *graph, const char *file, int32_t line, int32_t column,
                                      const char *function);

/// The type of a value. Sizes that the graph computes are symbols too, so that equal sizes show.
SINTER_API sinter_status_code sinter_graph_value_type(sinter_graph *graph, sinter_value value, sinter_value_type *type);

/// For the last call on this graph that failed because of one of several operands, carries or results: its index, else
/// -1.
SINTER_API int32_t sinter_graph_error_index(const sinter_graph *graph);

//===- Functions

/// Starts a function; `arguments` receives `count` values. `names` or its entries may be null. Within another function
/// it is a private one, for sinter_graph_call; what it uses of the enclosing one becomes captures.
SINTER_API sinter_status_code sinter_graph_begin(sinter_graph *graph, const char *name, int32_t count,
                                                 const sinter_value_type *types, const char *const *names,
                                                 sinter_value *arguments);

/// Ends the innermost function. `function`, which may be null, receives its number.
SINTER_API sinter_status_code sinter_graph_end(sinter_graph *graph, int32_t count, const sinter_value *results,
                                               const char *const *names, int32_t *function);

/// The number of finished functions; they are numbered from 0 in the order of their ends.
SINTER_API int32_t sinter_graph_num_functions(const sinter_graph *graph);

typedef struct sinter_function_info {
  uint32_t struct_size; // sizeof(sinter_function_info), set by the caller
  int32_t num_inputs;   // without captures
  int32_t num_outputs;
  int32_t num_captures; // of a private function
  const char *name;     // valid as long as the graph
} sinter_function_info;

/// Fills `*info` with what function `function` of the graph takes and gives. SINTER_INVALID_ARGUMENT when out of range.
SINTER_API sinter_status_code sinter_graph_function(const sinter_graph *graph, int32_t function,
                                                    sinter_function_info *info);

/// The type and name of an input or output; `name` may be null and receives what is valid as long as the graph.
SINTER_API sinter_status_code sinter_graph_input(sinter_graph *graph, int32_t function, int32_t index,
                                                 sinter_value_type *type, const char **name);
SINTER_API sinter_status_code sinter_graph_output(sinter_graph *graph, int32_t function, int32_t index,
                                                  sinter_value_type *type, const char **name);

/// Repeats the ops of a finished function here. Captures are passed by themselves.
SINTER_API sinter_status_code sinter_graph_call(sinter_graph *graph, int32_t function, int32_t num_operands,
                                                const sinter_value *operands, int32_t room, sinter_value *results,
                                                int32_t *count);

//===- Ops

/// A constant; the elements are copied.
SINTER_API sinter_status_code sinter_graph_constant(sinter_graph *graph, const sinter_tensor *tensor,
                                                    sinter_value *value);

/// Fills `*view` with the row-major elements of a constant; a dtype of 0 says that `value` is none. Valid as long as
/// the graph.
SINTER_API sinter_status_code sinter_graph_constant_data(sinter_graph *graph, sinter_value value, sinter_tensor *view);

typedef enum sinter_attr_kind {
  SINTER_ATTR_BOOL = 1,
  SINTER_ATTR_I64 = 2,
  SINTER_ATTR_F64 = 3,
  SINTER_ATTR_STRING = 4, // also the spelling of an enumeration ("lt", "reflect")
  SINTER_ATTR_I64S = 5,
  SINTER_ATTR_F64S = 6,
  SINTER_ATTR_BOOLS = 7,
  SINTER_ATTR_STRINGS = 8, // also of enumerations
  SINTER_ATTR_DTYPE = 9,   // i64 holds a sinter_dtype
  SINTER_ATTR_TYPE = 10,   // negative dims are sizes that the type leaves open
  SINTER_ATTR_TENSOR = 11
} sinter_attr_kind;

typedef struct sinter_attr {
  const char *name;
  int32_t kind;  // sinter_attr_kind
  int32_t count; // of arrays
  SINTER_EXTENSION union {
    int64_t i64; // BOOL, I64, DTYPE
    double f64;
    const char *string;
    const int64_t *i64s;
    const double *f64s;
    const uint8_t *bools;
    const char *const *strings;
    const sinter_value_type *type;
    const sinter_tensor *tensor;
  };
} sinter_attr;

/// Records an op without regions; `op` is its name in the dialect without "sinter." ("add", "reduce"). Operands come in
/// the order of its definition; 0 stands for an optional one that is left out, the elements of a variadic one follow
/// each other. Where an op has several operands of such kinds, the attribute "operandSegmentSizes" (I64S) may say how
/// many values each has; without it each has one value or 0. Attributes with a default may be left out. The op's shape
/// rule finds the results' types.
SINTER_API sinter_status_code sinter_graph_op(sinter_graph *graph, const char *op, int32_t num_operands,
                                              const sinter_value *operands, int32_t num_attrs, const sinter_attr *attrs,
                                              int32_t room, sinter_value *results, int32_t *count);

/// Calls the C function `name` of the program as an op (sinter_op_register). `types` are those of its results; each dim
/// that is SINTER_DIM_UNKNOWN there is the next one of `sizes` (rank-0 i64). It has no gradient of its own:
/// sinter_graph_custom_vjp gives it one.
SINTER_API sinter_status_code sinter_graph_external(sinter_graph *graph, const char *name, int32_t num_operands,
                                                    const sinter_value *operands, int32_t num_sizes,
                                                    const sinter_value *sizes, int32_t num_results,
                                                    const sinter_value_type *types, sinter_value *results);

/// The number of ops recorded and not dropped since, in the whole graph.
SINTER_API int64_t sinter_graph_num_ops(const sinter_graph *graph);

//===- Control flow
//
// Bodies are recorded first, as regions, then given to the op. Values from outside that a region uses become captures
// of the op by themselves, at any depth. When the op is refused its regions can be used again.

/// Starts a region with arguments of `types`. A loop must keep the sizes that are given for its carries;
/// SINTER_DIM_UNKNOWN lets one change from trip to trip.
SINTER_API sinter_status_code sinter_graph_region_begin(sinter_graph *graph, int32_t count,
                                                        const sinter_value_type *types, sinter_value *arguments);

/// Ends the innermost region. Its values may no longer be used.
SINTER_API sinter_status_code sinter_graph_region_end(sinter_graph *graph, int32_t count, const sinter_value *yields,
                                                      sinter_region *region);

/// `pred` is a rank-0 i1; the regions have no arguments and yields of the same dtypes and ranks.
SINTER_API sinter_status_code sinter_graph_cond(sinter_graph *graph, sinter_value pred, sinter_region then_region,
                                                sinter_region else_region, int32_t room, sinter_value *results,
                                                int32_t *count);

/// sinter_graph_cond for two ways through a program that come together again: ops that both regions end with alike,
/// from the same place (sinter_graph_location), are recorded once, behind the branch. `num_shared`, which may be null,
/// receives their number.
SINTER_API sinter_status_code sinter_graph_join(sinter_graph *graph, sinter_value pred, sinter_region then_region,
                                                sinter_region else_region, int32_t room, sinter_value *results,
                                                int32_t *count, int32_t *num_shared);

/// `index` is a rank-0 i64; out of range takes the last region.
SINTER_API sinter_status_code sinter_graph_switch(sinter_graph *graph, sinter_value index, int32_t num_regions,
                                                  const sinter_region *regions, int32_t room, sinter_value *results,
                                                  int32_t *count);

typedef struct sinter_loop_options {
  uint32_t struct_size;  // sizeof(sinter_loop_options)
  int32_t trap_at_limit; // while: non-zero makes reaching max_trip an error; else the loop stops there
  int64_t max_trip;      // while: 0 for no limit
  const int64_t *axes;   // scan: one entry per sequence, per stack; null for axis 0, not reversed
  const uint8_t *reverse;
  const int64_t *out_axes;
  const uint8_t *out_reverse;
  const char *memory; // what it keeps for its gradient (sinter_gradient_options); null for what that says
} sinter_loop_options;

/// `cond` takes the carries and yields a rank-0 i1, `body` takes the carries and yields the next ones, then per-trip
/// outputs. Results: trips (i64), carries, stacks of the per-trip outputs. `options` may be null.
SINTER_API sinter_status_code sinter_graph_while(sinter_graph *graph, int32_t num_init, const sinter_value *init,
                                                 sinter_region cond, sinter_region body,
                                                 const sinter_loop_options *options, int32_t room,
                                                 sinter_value *results, int32_t *count);

/// `body` takes i (rank-0 i64) and the carries. Results: carries, stacks.
SINTER_API sinter_status_code sinter_graph_for(sinter_graph *graph, sinter_value lower, sinter_value upper,
                                               sinter_value step, int32_t num_init, const sinter_value *init,
                                               sinter_region body, int32_t room, sinter_value *results, int32_t *count);

/// The same with options, of which it reads `memory`.
SINTER_API sinter_status_code sinter_graph_for_with(sinter_graph *graph, sinter_value lower, sinter_value upper,
                                                    sinter_value step, int32_t num_init, const sinter_value *init,
                                                    sinter_region body, const sinter_loop_options *options,
                                                    int32_t room, sinter_value *results, int32_t *count);

/// `body` takes the carries and one slice of each sequence. Results: carries, stacks. `options` may be null.
SINTER_API sinter_status_code sinter_graph_scan(sinter_graph *graph, int32_t num_init, const sinter_value *init,
                                                int32_t num_sequences, const sinter_value *sequences,
                                                sinter_region body, const sinter_loop_options *options, int32_t room,
                                                sinter_value *results, int32_t *count);

/// How many functions and regions are open.
SINTER_API int32_t sinter_graph_depth(const sinter_graph *graph);

/// A place in the recording. Truncating to it drops what was recorded since: ops, finished regions and functions, and
/// open ones. The function or region that was innermost must still be open.
typedef struct sinter_mark {
  uint64_t serial;
  uint32_t values;
  uint32_t regions;
  int64_t ops;
  int32_t functions;
  int32_t reserved;
} sinter_mark;

/// A mark of how far the graph is built, for sinter_graph_truncate.
SINTER_API sinter_mark sinter_graph_mark(const sinter_graph *graph);
/// Drops what was recorded since `mark`. SINTER_INVALID_ARGUMENT when the function or region that was innermost then is
/// not open, or the mark is none of this graph.
SINTER_API sinter_status_code sinter_graph_truncate(sinter_graph *graph, sinter_mark mark);

//===- Gradients

typedef enum sinter_gradient_mode {
  SINTER_GRAD = 0,           // inputs -> gradients of one rank-0 output
  SINTER_VALUE_AND_GRAD = 1, // inputs -> outputs, gradients
  SINTER_VJP = 2,            // inputs, a cotangent per float output -> outputs, gradients
  SINTER_JVP = 3,            // inputs, a tangent per input of `wrt` -> outputs, a tangent per float output
  SINTER_HVP = 4             // inputs, a vector per input of `wrt` -> second derivative times these
} sinter_gradient_mode;

typedef struct sinter_gradient_options {
  uint32_t struct_size; // sizeof(sinter_gradient_options)
  int32_t mode;         // sinter_gradient_mode
  int32_t output;       // which one SINTER_GRAD, _VALUE_AND_GRAD and _HVP differentiate
  int32_t reserved;
  const char *memory; // of loops that state none: all, recompute, period(K), binomial(SLOTS), online(SLOTS), implicit
} sinter_gradient_options;

/// Adds the gradient of a finished function with respect to its float inputs `wrt` as a function of its own, private
/// and with the same captures where that one is. Gradients have gradients. Fails with SINTER_INVALID_ARGUMENT where an
/// op has none. `options` may be null.
SINTER_API sinter_status_code sinter_graph_gradient(sinter_graph *graph, int32_t function, int32_t count,
                                                    const int32_t *wrt, const sinter_gradient_options *options,
                                                    int32_t *gradient);

/// Records a region without arguments in place; its gradient keeps what the region captures and computes the rest
/// again.
SINTER_API sinter_status_code sinter_graph_checkpoint(sinter_graph *graph, sinter_region region, int32_t room,
                                                      sinter_value *results, int32_t *count);

typedef struct sinter_gradient_check_options {
  uint32_t struct_size; // sizeof(sinter_gradient_check_options)
  int32_t reverse_only; // non-zero: not forward mode, which a function with a gradient of its own does not have
  uint64_t seed;
  int64_t elements;   // of each input that are moved one by one; 0: 32
  double step;        // of the differences, relative to max(1, |x|); 0: 1e-5
  double tolerance;   // relative to max(1, largest magnitude of what is compared); 0: 1e-6
  const char *memory; // as in sinter_gradient_options
} sinter_gradient_check_options;

typedef struct sinter_gradient_check {
  uint32_t struct_size; // sizeof(sinter_gradient_check), set by the caller
  int32_t passed;
  int32_t worst_input; // the one with element_error; -1 without inputs to differentiate by
  int32_t reserved;
  double element_error;   // gradients against central differences by single elements
  double direction_error; // and along a random direction
  double transpose_error; // <v, J t> of forward against <J^T v, t> of reverse mode
} sinter_gradient_check;

/// Compares the gradient of a random combination of a function's float results by its inputs `wrt` with what the values
/// say, in f64 on the reference evaluator, whatever the function's float types. `options` may be null.
SINTER_API sinter_status_code sinter_graph_check_gradient(sinter_graph *graph, int32_t function, int32_t count,
                                                          const int32_t *wrt, int32_t num_inputs,
                                                          const sinter_tensor *inputs,
                                                          const sinter_gradient_check_options *options,
                                                          sinter_gradient_check *check);

/// Records a function with a gradient of its own. `forward` takes the operands and yields `num_results` results, then
/// residuals, what `backward` needs besides; `backward` takes the residuals and a cotangent per float result, and
/// yields a cotangent per float operand. What the two capture has no gradient: to ask for one is an error when the
/// gradient is built. Second derivatives are those of `forward` and `backward`.
SINTER_API sinter_status_code sinter_graph_custom_vjp(sinter_graph *graph, int32_t num_operands,
                                                      const sinter_value *operands, int32_t num_results,
                                                      sinter_region forward, sinter_region backward, int32_t room,
                                                      sinter_value *results, int32_t *count);

//===- Training

/// Makes input `input` of a finished function the state `name`, which sessions keep from call to call; `output`, unless
/// negative, is what replaces it. States of one name in several functions are one. `initial`, of the input's type, is
/// its first value; null: zeros.
SINTER_API sinter_status_code sinter_graph_state(sinter_graph *graph, int32_t function, int32_t input, int32_t output,
                                                 const char *name, const sinter_tensor *initial);

/// Says what a finished function keeps where values are read much later, as activations in a backward part: texts as of
/// `sinter train-step --checkpoint` ("none", "full", "named:REGEX", "budget:64M", "budget:40%"). Results keep their
/// bits. Whether a budget can be met is found when the function is compiled.
SINTER_API sinter_status_code sinter_graph_keep(sinter_graph *graph, int32_t function, const char *policy);

/// Says what products and convolutions of f32 in the graph's functions multiply in, gradients' too: texts as of
/// `sinter compile --precision` ("bf16", "bf16,convolution=f32"). Sums, results and all other ops stay f32; what
/// training steps keep for their backward parts, and elsewhere residuals that products read, too, do not, unless the
/// text has activation=f32.
SINTER_API sinter_status_code sinter_graph_precision(sinter_graph *graph, const char *policy);

typedef struct sinter_train_options {
  uint32_t struct_size;  // sizeof(sinter_train_options)
  int32_t draws_weights; // non-zero: weights without a first value are drawn by `weight_seed`; else they are zeros
  const char *loss;      // texts as of `sinter train-step`: --loss
  const char *optimizer; // --optimizer, "adamw:lr=1e-3"
  const char *labels;    // --labels; null: i64
  const char *trainable; // --trainable; null: all weights
  const char *frozen;    // --frozen; null: none
  int64_t batch;         // --batch; 0: as the model says
  uint64_t weight_seed;
  uint64_t seed;          // of random numbers such as dropout's
  const char *checkpoint; // --checkpoint, as sinter_graph_keep of the step; null: none
  const char *precision;  // --precision, as sinter_graph_precision of the step; null: as the model says, else f32
  const char *loss_scale; // --loss-scale: "none", "1024", "dynamic"; null: dynamic with products in f16, else none
} sinter_train_options;

/// The training step of a model, as `sinter train-step` makes it: a graph of two functions over the same states, `step`
/// and `infer`. The model is the graph's function `main`, else its first, and its states are the weights; of a graph
/// that was loaded from an ONNX file, which is read again, its float initializers. The caller owns `*step`.
SINTER_API sinter_status_code sinter_graph_train_step(sinter_graph *graph, const sinter_train_options *options,
                                                      sinter_graph **step);

//===- Out of a graph
//
// These require that no function is open. Private functions are left out.

/// MLIR text, valid until the next call on this graph.
SINTER_API sinter_status_code sinter_graph_print(sinter_graph *graph, const char **text);

/// Writes the graph; the suffix says how: .sinter or .mlir.
SINTER_API sinter_status_code sinter_graph_save(sinter_graph *graph, const char *path);

/// Reads .sinter, .onnx or .mlir. Fails with SINTER_IO, SINTER_CORRUPT or SINTER_UNSUPPORTED (operators). On success
/// the caller owns `*graph`.
SINTER_API sinter_status_code sinter_graph_load(const char *path, sinter_graph **graph);

/// Runs a finished function in the reference evaluator: slow, and the meaning of every op. Outputs own their data: give
/// each to sinter_tensor_free.
SINTER_API sinter_status_code sinter_graph_evaluate(sinter_graph *graph, int32_t function, int32_t num_inputs,
                                                    const sinter_tensor *inputs, int32_t room, sinter_tensor *outputs,
                                                    int32_t *count);

typedef enum sinter_emit {
  SINTER_EMIT_BY_SUFFIX = 0, // .smod, .o, .a, .so, .s, .sinter, .mlir; none is a program
  SINTER_EMIT_MODULE = 1,
  SINTER_EMIT_OBJECT = 2,
  SINTER_EMIT_ARCHIVE = 3,
  SINTER_EMIT_SHARED = 4,
  SINTER_EMIT_PROGRAM = 5,
  SINTER_EMIT_ASSEMBLY = 6
} sinter_emit;

/// What becomes of positions outside of an axis.
typedef enum sinter_index_policy {
  SINTER_INDEX_AS_RECORDED = 0, // the call fails where the graph checks them, as graphs of ONNX files do
  SINTER_INDEX_CLAMP = 1,       // gathers read the nearest, scatters skip them
  SINTER_INDEX_ERROR = 2        // the call fails
} sinter_index_policy;

typedef struct sinter_compile_options {
  uint32_t struct_size; // sizeof(sinter_compile_options)
  int32_t opt_level;    // 1 to 3; 0: the default, 2; -1: each op by itself, plain loops
  int32_t threads;      // of the compiler; 0: all cores
  int32_t emit;         // sinter_emit; files only
  const char *target;   // null: this machine; several, separated by commas: code for each, the best that runs is taken
  const char *header;   // files only: where the C header goes; null: beside the file
  int32_t disk_cache;   // not files: look for the code in the disk cache, and put it there
  int32_t no_memory_cache;   // not files: compile even if this process has compiled the same
  const char *cache_folder;  // null: $XDG_CACHE_HOME/sinter/jit, or ~/.cache/sinter/jit
  int64_t cache_bytes;       // most that the folder may hold; 0: 1 GiB
  int32_t fast_math;         // rewrites that change rounding, infinities and NaN, as `sinter compile --fast-math`
  int32_t sha256;            // files only, .smod: non-zero stores the SHA-256 of each section
  int32_t index_policy;      // sinter_index_policy
  int32_t strip_debug;       // non-zero: without debug_print and check_finite
  int32_t profile;           // non-zero: sessions count calls and time of each kernel, which costs some 50 ns a call
  int32_t kernel_cache;      // non-zero: take object code of kernels from a folder, and keep it there
  const char *kernel_folder; // null: $XDG_CACHE_HOME/sinter/kernels, or ~/.cache/sinter/kernels
  int64_t kernel_bytes;      // most that this folder may hold; 0: 1 GiB
  const char *device; // not files: where it runs, "cuda" or "cuda:1" (sinter_open_options.device); without a target the
                      // code is for that back end and this machine's CPU. Null: the CPU, or what the target names
} sinter_compile_options;

/// What became of compilations in this process.
typedef struct sinter_jit_report {
  uint32_t struct_size; // sizeof(sinter_jit_report), set by the caller
  uint32_t reserved;
  int64_t memory_hits;
  int64_t disk_hits;
  int64_t compiles;
  int64_t compile_ns;
  int64_t disk_rejected; // entries that were damaged or of another key, and were replaced
  int64_t disk_evicted;
  int64_t eager_hits;
  int64_t eager_compiles;
  int64_t modules_kept; // by this process, for functions that come again
  int64_t eager_kept;   // kernels of sinter_eager
} sinter_jit_report;

/// Fills `*report` with what this process has compiled and found compiled so far.
SINTER_API sinter_status_code sinter_jit_stats(sinter_jit_report *report);

/// Sets how many modules of functions, and how many kernels of sinter_eager, this process keeps in memory: at first 512
/// of each. Of modules the least recently used go first, kernels all at once. What is in use lives until it is closed.
SINTER_API sinter_status_code sinter_jit_limit(int64_t most);

/// Gives all of them back, with their memory. Files of the disk cache stay.
SINTER_API void sinter_jit_clear(void);

/// Compiles the functions that are not private, in their order, for use by everything above. The caller owns `*module`;
/// it does not need the graph. `options` may be null.
SINTER_API sinter_status_code sinter_graph_compile(sinter_graph *graph, const sinter_compile_options *options,
                                                   sinter_module **module);

/// The text of a phase, named as `sinter compile --emit` does: graph, fused, schedule, loops, llvm or asm. Valid until
/// the next call on this graph. `options` may be null.
SINTER_API sinter_status_code sinter_graph_dump(sinter_graph *graph, const char *phase,
                                                const sinter_compile_options *options, const char **text);

/// Writes what `sinter compile` writes. `options` may be null.
SINTER_API sinter_status_code sinter_graph_compile_file(sinter_graph *graph, const char *path,
                                                        const sinter_compile_options *options);

/// Runs one op at once; names, attributes and operands as in sinter_graph_op, with a dtype of 0 for an operand that is
/// left out. Kernels are compiled when first needed and serve all shapes of a class. Outputs own their data, 64-byte
/// aligned: give each to sinter_tensor_free. Any thread may call. The environment's SINTER_EAGER=reference uses the
/// evaluator.
SINTER_API sinter_status_code sinter_eager(const char *op, int32_t num_operands, const sinter_tensor *operands,
                                           int32_t num_attrs, const sinter_attr *attrs, int32_t room,
                                           sinter_tensor *outputs, int32_t *count);

#ifdef __cplusplus
}
#endif

#endif
