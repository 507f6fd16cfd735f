// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of states for libraries on top of this one that change single rows of them.

#ifndef SINTER_RUNTIME_STATE_WRITE_H
#define SINTER_RUNTIME_STATE_WRITE_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Fills `*view` with the state called `name`, whose memory may be written until the session's next call, and says
/// that the host's value is the new one.
sinter_status_code srtStateToWrite(sinter_session *session, const char *name, sinter_tensor *view);

/// Says that the state called `name` holds some rows of a table that lies elsewhere: sinter_session_load and
/// sinter_session_state_reset leave it as it is.
sinter_status_code srtStateHoldsRows(sinter_session *session, const char *name);

#ifdef __cplusplus
}
#endif

#endif
