// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading regular files and writing files whole: to a temporary file beside the target, then renamed,
// so that a reader sees the old file or the new one and a failed write leaves nothing. Where the file system can, the
// temporary file has no name while it is written, so that a process that is killed leaves nothing, too.

#ifndef SINTER_RUNTIME_FILE_H
#define SINTER_RUNTIME_FILE_H

#include "sinter.h"

/// What an errno of open or mmap is to the caller: SINTER_LIMIT, SINTER_OUT_OF_MEMORY or SINTER_IO.
sinter_status_code srtFileStatus(int error);

/// Opens a regular file for reading. Directories, devices and pipes are refused by name. Messages of all
/// functions here name `path`.
sinter_status_code srtOpenFile(const char *path, int *file, int64_t *bytes);

/// Reads exactly `bytes` at `offset`.
sinter_status_code srtReadAt(int file, int64_t offset, void *data, int64_t bytes, const char *path);

/// The first four bytes; zeros stand for what a shorter file lacks.
sinter_status_code srtReadMagic(const char *path, char magic[4]);

sinter_status_code srtWriteAll(int file, const void *data, int64_t bytes, const char *path);

typedef struct NewFile {
  int file;
  const char *path; // the target, the caller's; where that is a link, what it leads to, as the link is kept
  char *followed;   // owned; null where the caller's path is no link
  char *temporary;  // its name when it has one, owned
  int unnamed;
  int executable; // whoever may read it may run it
  int durable;    // the new content is on the disk before the name is
} NewFile;

/// Makes the temporary file; `path` must stay alive until srtFinishFile.
sinter_status_code srtCreateFile(const char *path, NewFile *file);

/// Renames when `status` is good, removes otherwise. Returns `status` or the error of the rename.
sinter_status_code srtFinishFile(NewFile *file, sinter_status_code status);

#endif
