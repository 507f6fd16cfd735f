// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files in memory of this process. Readers do not map what users give them: a mapping of a file that another process
// makes shorter ends this one (SIGBUS), however carefully its content is checked. Large tensors that lie in files
// beside a model are mapped where a user asks for it, as models of billions of weights need their size twice otherwise.

#ifndef SINTER_IR_FILE_FILEBYTES_H
#define SINTER_IR_FILE_FILEBYTES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <string>

namespace sinter {

/// A block of memory, aligned to 64 bytes, that goes away with the object.
class FileBytes {
public:
  /// Memory of `size` bytes that nobody has written; null when there is none.
  static std::shared_ptr<FileBytes> allocate(uint64_t size);
  /// Bytes [offset, offset + size) of an open file; null with the reason in `problem` when they cannot be read, also
  /// because the file has become shorter.
  static std::shared_ptr<FileBytes> read(int file, uint64_t offset, uint64_t size, std::string &problem);
  /// The same bytes, mapped: pages come when they are read, and who makes the file shorter then ends the process. For
  /// offsets that are multiples of 16, to which the bytes are aligned.
  static std::shared_ptr<FileBytes> map(int file, uint64_t offset, uint64_t size, std::string &problem);
  ~FileBytes();
  FileBytes(const FileBytes &) = delete;
  FileBytes &operator=(const FileBytes &) = delete;

  char *data() { return start; }
  const char *data() const { return start; }
  uint64_t size() const { return bytes; }
  llvm::ArrayRef<char> all() const { return {start, static_cast<size_t>(bytes)}; }

private:
  FileBytes() = default;
  char *start = nullptr;
  uint64_t bytes = 0;
  bool isMapped = false; // pages rather than the heap's
  bool isOfFile = false; // pages of a file
  uint64_t lead = 0;     // bytes of the first page before `start`
};

/// Gives pages back that hold nothing but `bytes`, where these lie in a file that is mapped; they come again when they
/// are read. Elsewhere nothing happens.
void forgetMapped(llvm::ArrayRef<char> bytes);

} // namespace sinter

#endif
