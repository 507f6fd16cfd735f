// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "file.h"
#include "output.h"
#include "status.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

sinter_status_code srtFileStatus(int error) {
  return error == EMFILE || error == ENFILE ? SINTER_LIMIT : error == ENOMEM ? SINTER_OUT_OF_MEMORY : SINTER_IO;
}

sinter_status_code srtOpenFile(const char *path, int *file, int64_t *bytes) {
  if (!path)
    return srtError(SINTER_INVALID_ARGUMENT, "file requires a path, got null");
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer must not block
  if (*file < 0)
    return srtError(srtFileStatus(errno), "cannot open '%s': %s", path, strerror(errno));
  struct stat info;
  if (fstat(*file, &info) == 0 && S_ISREG(info.st_mode)) {
    *bytes = info.st_size;
    return SINTER_OK;
  }
  close(*file);
  return srtError(SINTER_IO, "'%s' requires a regular file, got %s", path,
                  S_ISDIR(info.st_mode)                              ? "a directory"
                  : S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)   ? "a device"
                  : S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) ? "a pipe"
                                                                     : "something else");
}

sinter_status_code srtReadAt(int file, int64_t offset, void *data, int64_t bytes, const char *path) {
  char *at = data;
  while (bytes > 0) {
    ssize_t numRead = pread(file, at, bytes < (1 << 30) ? (size_t)bytes : 1u << 30, offset);
    if (numRead < 0 && errno == EINTR)
      continue;
    if (numRead < 0)
      return srtError(SINTER_IO, "cannot read '%s': %s", path, strerror(errno));
    if (numRead == 0)
      return srtError(SINTER_CORRUPT, "'%s' is truncated: it lacks %" PRId64 " bytes at offset %" PRId64, path, bytes,
                      offset);
    at += numRead;
    offset += numRead;
    bytes -= numRead;
  }
  return SINTER_OK;
}

sinter_status_code srtReadMagic(const char *path, char magic[4]) {
  int file;
  int64_t bytes;
  sinter_status_code status = srtOpenFile(path, &file, &bytes);
  if (status)
    return status;
  memset(magic, 0, 4);
  status = srtReadAt(file, 0, magic, bytes < 4 ? bytes : 4, path);
  close(file);
  return status;
}

sinter_status_code srtWriteAll(int file, const void *data, int64_t bytes, const char *path) {
  const char *at = data;
  while (bytes > 0) {
    ssize_t written = write(file, at, bytes < (1 << 30) ? (size_t)bytes : 1u << 30);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return srtError(SINTER_IO, "cannot write '%s': %s", path, strerror(errno));
    at += written;
    bytes -= written;
  }
  return SINTER_OK;
}

static sinter_status_code cannotWrite(const char *path, int error) {
  return srtError(srtFileStatus(error), "cannot write '%s': %s", path, strerror(error));
}

/// Opens the folder of `path`, or with O_TMPFILE a file without a name there. Negative when that cannot be.
static int openFolder(const char *path, int flags, mode_t mode) {
  char folder[4096] = ".";
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  if (length >= sizeof folder)
    return -1;
  if (length)
    snprintf(folder, sizeof folder, "%.*s", (int)length, path);
  return open(folder, flags | O_CLOEXEC, mode);
}

/// Where the system shows an open file, to give it a name.
static const char *shownAt(int file, char place[32]) {
  snprintf(place, 32, "/proc/self/fd/%d", file);
  return place;
}

/// What a symbolic link leads to in the end, which need not exist; null where `path` is none or leads nowhere. Owned by
/// the caller.
static char *followLink(const char *path) {
  char *at = NULL;
  for (int links = 0; links < 40; ++links) {
    char target[4096];
    const char *from = at ? at : path;
    ssize_t length = readlink(from, target, sizeof target);
    if (length < 0 || length == (ssize_t)sizeof target)
      return at;
    const char *slash = strrchr(from, '/');
    size_t folder = target[0] != '/' && slash ? (size_t)(slash - from) + 1 : 0;
    char *next = malloc(folder + (size_t)length + 1);
    if (next) {
      memcpy(next, from, folder);
      memcpy(next + folder, target, (size_t)length);
      next[folder + (size_t)length] = 0;
    }
    free(at);
    at = next;
    if (!at)
      return NULL;
  }
  return at; // a ring, which stat finds
}

/// Whether `name` is `target` and ".PID-WORD.tmp" of a process that is no more.
static int isLeftOver(const char *name, const char *target) {
  size_t length = strlen(target);
  char *end;
  if (strncmp(name, target, length) != 0 || name[length] != '.' || name[length + 1] < '1' || name[length + 1] > '9')
    return 0;
  errno = 0;
  long pid = strtol(name + length + 1, &end, 10);
  if (errno || pid > INT32_MAX || *end != '-')
    return 0;
  end += 1 + strspn(end + 1, "0123456789abcdef");
  return strcmp(end, ".tmp") == 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/// Removes files of ours that processes that are no more have left of writing `path`.
static void sweep(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  int folder = openFolder(path, O_RDONLY | O_DIRECTORY, 0);
  DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
  if (!entries && folder >= 0)
    close(folder);
  struct stat info;
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    if (isLeftOver(entry->d_name, name) && fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && info.st_uid == geteuid())
      unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries)
    closedir(entries);
}

/// A name that no other thread takes. A process that was killed may have left it, so that others follow.
static void nextName(NewFile *file) {
  static _Atomic unsigned counter;
  snprintf(file->temporary, strlen(file->path) + 64, "%s.%ld-%u.tmp", file->path, (long)getpid(), counter++);
}

/// The rights of a file that takes the place of one that has `old`: whoever may read the old content may read the new
/// one, and nobody else.
static void keepRights(const NewFile *file, mode_t old) {
  mode_t rights = old & 07777;
  (void)fchmod(file->file, file->executable ? rights | (rights & 0444) >> 2 : rights);
}

static sinter_status_code createBeside(const char *path, NewFile *file) {
  struct stat info;
  mode_t mode = file->executable ? 0777 : 0666;
  int exists = stat(path, &info) == 0;
  if (!exists && errno == ELOOP)
    return cannotWrite(path, ELOOP);
  if (exists && !S_ISREG(info.st_mode))
    return srtError(SINTER_IO, "cannot write '%s': %s", path,
                    S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file");
  file->temporary = malloc(strlen(path) + 64);
  if (!file->temporary)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  sweep(path);
  char place[32];
  file->file = openFolder(path, O_TMPFILE | O_WRONLY, mode);
  if (file->file >= 0 && access(shownAt(file->file, place), F_OK) == 0) {
    file->unnamed = 1;
    if (exists)
      keepRights(file, info.st_mode);
    return SINTER_OK;
  }
  if (file->file >= 0)
    close(file->file);
  do {
    nextName(file);
    file->file = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (file->file < 0 && errno == EEXIST);
  if (file->file >= 0) {
    if (exists)
      keepRights(file, info.st_mode);
    return SINTER_OK;
  }
  int error = errno;
  free(file->temporary);
  return cannotWrite(path, error);
}

static sinter_status_code createFile(const char *path, int executable, NewFile *file) {
  *file = (NewFile){.file = -1, .path = path, .executable = executable};
  if (!path)
    return srtError(SINTER_INVALID_ARGUMENT, "file requires a path, got null");
  file->followed = followLink(path);
  if (file->followed)
    path = file->path = file->followed;
  sinter_status_code status = createBeside(path, file);
  if (status)
    free(file->followed);
  return status;
}

sinter_status_code srtCreateFile(const char *path, NewFile *file) { return createFile(path, /*executable=*/0, file); }

/// Gives the written file its temporary name; a rename cannot start from none.
static int nameFile(NewFile *file) {
  char place[32];
  int result;
  do {
    nextName(file);
    result = linkat(AT_FDCWD, shownAt(file->file, place), AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW);
  } while (result != 0 && errno == EEXIST);
  file->unnamed = result != 0;
  return result;
}

/// Asks the disk for the folder of `path`: the rename is in it. File systems that cannot do that are not to blame.
static void synchronizeFolder(const char *path) {
  int opened = openFolder(path, O_RDONLY | O_DIRECTORY, 0);
  if (opened < 0)
    return;
  (void)fsync(opened);
  close(opened);
}

sinter_status_code srtFinishFile(NewFile *file, sinter_status_code status) {
  if (!status && file->durable && fsync(file->file) != 0)
    status = cannotWrite(file->path, errno);
  if (!status && file->unnamed && nameFile(file) != 0)
    status = cannotWrite(file->path, errno);
  if (close(file->file) != 0 && !status)
    status = cannotWrite(file->path, errno);
  if (!status && rename(file->temporary, file->path) != 0)
    status = cannotWrite(file->path, errno);
  if (status && !file->unnamed)
    unlink(file->temporary);
  else if (!status && file->durable)
    synchronizeFolder(file->path);
  free(file->temporary);
  free(file->followed);
  return status;
}

//===- For others ---------------------------------------------------------------------------------===//

struct sinter_output {
  NewFile file;
  char *path; // owned
};

sinter_status_code sinter_output_create(const char *path, int32_t executable, sinter_output **output) {
  if (!path || !output)
    return srtError(SINTER_INVALID_ARGUMENT, "writing a file requires a path and a place for it, got null");
  *output = calloc(1, sizeof **output);
  char *copy = *output ? strdup(path) : NULL;
  sinter_status_code status = copy ? createFile(copy, executable, &(*output)->file)
                                   : srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  if (!status) {
    (*output)->path = copy;
    return SINTER_OK;
  }
  free(copy);
  free(*output);
  *output = NULL;
  return status;
}

sinter_status_code sinter_output_append(sinter_output *output, const void *data, int64_t bytes) {
  if (!output || bytes < 0 || (bytes && !data))
    return srtError(SINTER_INVALID_ARGUMENT, "appending requires an output and its bytes, got null");
  return srtWriteAll(output->file.file, data, bytes, output->path);
}

sinter_status_code sinter_output_finish(sinter_output *output, sinter_status_code status) {
  if (!output)
    return srtError(SINTER_INVALID_ARGUMENT, "finishing requires an output, got null");
  status = srtFinishFile(&output->file, status);
  free(output->path);
  free(output);
  return status;
}
