// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What STEM_init, STEM_run and STEM_free of an emitted object or library call: plain pointers and sizes in, one session
// behind. Emitted headers declare the STEM functions; nothing but emitted code includes this.

#ifndef SINTER_RUNTIME_EMBED_H
#define SINTER_RUNTIME_EMBED_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A session for function `index` of a linked-in table, or null (sinter_last_error says why). `threads` as in
/// sinter_session_options.
SINTER_API sinter_session *sinter_embed_init(const sinter_function *const *functions, int32_t index, int32_t threads);

/// `symbols[k]` is the size of dim symbol k. `pointers` has one entry per input, then one per output. An output whose
/// dims are sizes and symbols has the caller's memory there; one that only the call sizes has a `const void **` that
/// receives a view, valid until the next call, and `dims[o]` receives its sizes (unused entries of `dims` are null).
/// Null where one is required is SINTER_INVALID_ARGUMENT; a call during that of another thread is SINTER_BUSY.
SINTER_API int32_t sinter_embed_run(sinter_session *session, const int64_t *symbols, void *const *pointers,
                                    int64_t *const *dims);

SINTER_API void sinter_embed_free(sinter_session *session);

/// The functions of a linked-in table as one object whose states they share. Null when it fails (sinter_last_error says
/// why).
typedef struct sinter_embed sinter_embed;
SINTER_API sinter_embed *sinter_embed_open(const sinter_function *const *functions, int32_t threads);

/// Calls function `index`; the rest as sinter_embed_run, where pointers of states are ignored.
SINTER_API int32_t sinter_embed_call(sinter_embed *object, int32_t index, const int64_t *symbols, void *const *pointers,
                                     int64_t *const *dims);

/// All states to and from a safetensors file, as sinter_session_save and sinter_session_load.
SINTER_API int32_t sinter_embed_save(const sinter_embed *object, const char *path);
SINTER_API int32_t sinter_embed_load(sinter_embed *object, const char *path);
/// Sets the state SINTER_SEED_STATE.
SINTER_API int32_t sinter_embed_seed(sinter_embed *object, int64_t seed);
SINTER_API void sinter_embed_close(sinter_embed *object);

#ifdef __cplusplus
}
#endif

#endif
