// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between compiled host code and the runtime of a back end whose kernels run elsewhere: on a GPU, say,
// with a memory and a queue of their own. Host code of a module with kernels of back end NAME refers to one symbol,
// `const sinter_device sinter_device_NAME`, which is what the back end's driver (driver.h) loaded the module's code and
// weights into. Each open module has a device of its own.
//
// All functions are called on the thread of a session, whose memory and queue are its own: `ctx` tells which. Several
// sessions may call at once. Those that can fail return a status code, having set the message by `ctx->fail`.

#ifndef SINTER_RUNTIME_DEVICE_H
#define SINTER_RUNTIME_DEVICE_H

#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_DEVICE_VERSION 2u

/// What a word of a launch is.
typedef enum sinter_word {
  SINTER_WORD_SIZE = 0,
  SINTER_WORD_READ = 1,   // a buffer that the kernel only reads
  SINTER_WORD_WRITTEN = 2 // a buffer that the kernel writes, and may read
} sinter_word;

/// Where a copy goes. The device's side of it may be any address within a buffer. What is the host's side may be memory
/// of the device, too, where the caller's tensor lies there (`ctx->is_there`): nothing is copied between an address and
/// itself, and the call returns when the bytes are there.
typedef enum sinter_copy {
  SINTER_COPY_TO_DEVICE = 0, // the host's bytes have been read when the call returns
  SINTER_COPY_TO_HOST = 1,   // the host's bytes are there when the call returns
  SINTER_COPY_WITHIN = 2
} sinter_copy;

/// Parts of loops and branches that the device decides (`control`).
typedef enum sinter_control {
  SINTER_CONTROL_LOOP = 0, // what follows up to the test computes the condition
  SINTER_CONTROL_TEST = 1, // one more trip of what follows up to the loop's end, if the condition holds
  SINTER_CONTROL_LOOP_END = 2,
  SINTER_CONTROL_BRANCH = 3, // what follows up to `else` runs if the condition holds
  SINTER_CONTROL_ELSE = 4,   // what follows up to the branch's end runs if it does not
  SINTER_CONTROL_BRANCH_END = 5
} sinter_control;

/// A flag of a sinter_state: it lies in the memory of the module's device, where inputs and outputs of compiled code
/// are.
#define SINTER_STATE_ON_DEVICE 2

typedef struct sinter_device sinter_device;
struct sinter_device {
  uint32_t version;     // SINTER_DEVICE_VERSION
  uint32_t struct_size; // fields are appended, never moved

  /// A call of a function begins. What an earlier call left, as it failed, is given up.
  int32_t (*begin)(const sinter_device *device, sinter_context *ctx);

  /// Memory of the device, 64-byte aligned, not initialized: an address that the host never reads or writes. Null
  /// when there is none. Lives until `release`, or until the next `begin`.
  void *(*acquire)(const sinter_device *device, sinter_context *ctx, int64_t bytes);
  /// May be called while launches that use the buffer wait in the queue: it is given back after them.
  void (*release)(const sinter_device *device, sinter_context *ctx, void *buffer);

  /// The device's copy of the module's weights, from a byte offset on.
  void *(*weight)(const sinter_device *device, sinter_context *ctx, int64_t offset);

  int32_t (*copy)(const sinter_device *device, sinter_context *ctx, void *to, const void *from, int64_t bytes,
                  int32_t direction);
  int32_t (*clear)(const sinter_device *device, sinter_context *ctx, void *to, int64_t bytes);

  /// Puts a kernel into the queue. `words` are its arguments (copied at once), `roles[i]` the sinter_word of each. It
  /// runs at any time after launches, copies and clears before it that write what it reads or writes, or read what it
  /// writes. `ordered`: also after all ordered launches before it.
  int32_t (*launch)(const sinter_device *device, sinter_context *ctx, const char *kernel, const int64_t *words,
                    const uint8_t *roles, int64_t num_words, int64_t chunks, int32_t ordered);

  /// Waits until all that uses the buffer is done; the status of what failed.
  int32_t (*wait)(const sinter_device *device, sinter_context *ctx, void *buffer);

  /// The session is destroyed: what it had is given up. Called once, also for a session that began no call.
  void (*end)(const sinter_device *device, sinter_context *ctx);

  // States lie in memory that all sessions of the module share, each for one session at a time. No call of compiled
  // code uses the memory while these functions run, on any thread.
  /// Memory as that of `acquire`, but until `discard`; null when there is none.
  void *(*keep)(const sinter_device *device, int64_t bytes);
  void (*discard)(const sinter_device *device, void *buffer);
  /// Copies all of it to or from the host (sinter_copy), which is done when the call returns. A status code.
  int32_t (*transfer)(const sinter_device *device, void *to, const void *from, int64_t bytes, int32_t direction);

  /// Loops and branches, as deep in each other as the caller likes; launches, copies within the device and clears
  /// between their parts run as often as the device decides. `part` is a sinter_control. `buffer`: for a test and a
  /// branch a byte, not 0 where the condition holds; for a loop 8 bytes that will hold the number of trips. `limit`: of
  /// a loop, the most trips that it makes; negative for any number. A cancelled call ends the loops, and the next wait
  /// returns SINTER_CANCELLED. Null for a back end whose host code never calls it.
  int32_t (*control)(const sinter_device *device, sinter_context *ctx, int32_t part, void *buffer, int64_t limit);

  /// Memory for a copy of a tensor of the caller: `at`, which is its address, where that is memory of the device that
  /// kernels can use as it is; else as `acquire`.
  void *(*place)(const sinter_device *device, sinter_context *ctx, int64_t bytes, void *at);

  // Callers whose tensors lie on the device. Null and zeros for a back end that takes none.
  /// Non-zero when these bytes are memory of the device that kernels may use; else `why` (256 bytes) says what they
  /// are.
  int32_t (*holds)(const sinter_device *device, const void *address, int64_t bytes, char *why);
  /// Waits until nothing on the device uses memory that it gave to others: then `discard` may take it back.
  void (*settle)(const sinter_device *device);
  void *stream;         // where its work is put, as the back end calls it: a CUstream
  int32_t type, number; // DLPack's DLDevice
};

#ifdef __cplusplus
}
#endif

#endif
