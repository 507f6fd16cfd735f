// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Reader.h"

#include "compiler/onnx/Limits.h"
#include "google/protobuf/io/coded_stream.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace sinter::onnx {

static Error failAt(StringRef path, const Twine &message) {
  return createStringError(inconvertibleErrorCode(), "%s", (path + ": " + message).str().c_str());
}

Expected<std::string> readRegularFile(StringRef path, uint64_t maxBytes) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang
  int fd = open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return failAt(path, "cannot be opened: " + std::string(std::strerror(errno)));
  llvm::scope_exit closeFile([&] { close(fd); });
  struct stat info;
  if (fstat(fd, &info) != 0)
    return failAt(path, "cannot be read: " + std::string(std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return failAt(path, S_ISDIR(info.st_mode) ? "requires a regular file, found a directory"
                                              : "requires a regular file, found a device, pipe or socket");
  if (uint64_t(info.st_size) > maxBytes)
    return failAt(path, formatv("requires a file of at most {0} bytes, found {1}", maxBytes, info.st_size));
  std::string text(size_t(info.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    ssize_t got = read(fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failAt(path, "cannot be read: " + std::string(std::strerror(errno)));
    if (got == 0)
      return failAt(path, "became shorter while it was read");
    done += size_t(got);
  }
  return text;
}

Expected<std::unique_ptr<OnnxFile>> readOnnxFile(StringRef path) {
  Expected<std::string> text = readRegularFile(path, kMaxModelBytes);
  if (!text)
    return text.takeError();
  if (text->empty())
    return failAt(path, "requires an ONNX model, found an empty file");

  auto file = std::make_unique<OnnxFile>();
  file->path = path.str();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(text->data()), int(text->size()));
  // a graph within a graph takes three messages: graph, node, attribute
  stream.SetRecursionLimit(3 * kMaxDepth + 16);
  bool parsed = file->model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  std::string().swap(*text);
  if (!parsed)
    return failAt(path, "requires an ONNX model, found something else or a truncated one");
  if (!file->model.has_graph() || !file->model.has_ir_version())
    return failAt(path, Twine("requires an ONNX model, found a file without ") +
                            (file->model.has_graph() ? "a format version" : "a graph"));
  if (Error error = orderModel(file->model))
    return failAt(path, toString(std::move(error)));
  if (Error error = checkModel(file->model))
    return failAt(path, toString(std::move(error)));

  StringRef folder = sys::path::parent_path(path);
  file->external = std::make_unique<ExternalFiles>(folder.empty() ? "." : folder.str());
  return file;
}

} // namespace sinter::onnx
