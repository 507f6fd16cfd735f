// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define SINTER_ARCHIVE npz
#include "ArchiveFuzz.h"
