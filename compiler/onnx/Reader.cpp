// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Reader.h"

#include "compiler/onnx/ExternalFiles.h"
#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Outline.h"
#include "google/protobuf/io/coded_stream.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace sinter::onnx {

static Error failAt(StringRef path, const Twine &message) {
  return createStringError(inconvertibleErrorCode(), "%s", (path + ": " + message).str().c_str());
}

namespace {
/// A regular file that is open, and its size.
struct RegularFile {
  int fd;
  uint64_t size;
  RegularFile(int fd, uint64_t size) : fd(fd), size(size) {}
  RegularFile(RegularFile &&other) noexcept : fd(std::exchange(other.fd, -1)), size(other.size) {}
  RegularFile &operator=(RegularFile &&) = delete;
  ~RegularFile() {
    if (fd >= 0)
      close(fd);
  }
};
} // namespace

static Expected<RegularFile> openRegularFile(StringRef path, uint64_t maxBytes) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang
  int fd = open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return failAt(path, "cannot be opened: " + std::string(std::strerror(errno)));
  RegularFile file(fd, 0);
  struct stat info;
  if (fstat(fd, &info) != 0)
    return failAt(path, "cannot be read: " + std::string(std::strerror(errno)));
  if (!S_ISREG(info.st_mode))
    return failAt(path, S_ISDIR(info.st_mode) ? "requires a regular file, found a directory"
                                              : "requires a regular file, found a device, pipe or socket");
  file.size = uint64_t(info.st_size);
  if (file.size > maxBytes)
    return failAt(path, formatv("requires a file of at most {0} bytes, found {1}", maxBytes, file.size));
  return file;
}

static Expected<std::string> readAll(StringRef path, const RegularFile &file) {
  std::string text(size_t(file.size), '\0');
  for (size_t done = 0; done < text.size();) {
    ssize_t got = pread(file.fd, text.data() + done, text.size() - done, off_t(done));
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

Expected<std::string> readRegularFile(StringRef path, uint64_t maxBytes) {
  Expected<RegularFile> file = openRegularFile(path, maxBytes);
  if (!file)
    return file.takeError();
  return readAll(path, *file);
}

namespace {
/// Of raw data of large tensors.
enum class Wanted { outside, inside, nothing };
} // namespace

/// A file without what it means; with `outside`, blocks of raw data that it points into.
static Error parse(StringRef path, Wanted wanted, onnxfile::Model &model,
                   std::vector<std::shared_ptr<FileBytes>> &outside) {
  Expected<RegularFile> file = openRegularFile(path, kMaxModelBytes);
  if (!file)
    return file.takeError();
  if (file->size == 0)
    return failAt(path, "requires an ONNX model, found an empty file");
  std::string text;
  bool hasOutline = false;
  if (wanted != Wanted::inside) {
    Expected<std::optional<Outline>> outline = outlineOf(file->fd, file->size, wanted == Wanted::outside);
    if (!outline)
      return failAt(path, toString(outline.takeError()));
    if (*outline) {
      hasOutline = true;
      text = std::move((*outline)->text);
      outside = std::move((*outline)->outside);
    }
  }
  if (!hasOutline) { // or the file is no model: the parser says so
    Expected<std::string> all = readAll(path, *file);
    if (!all)
      return all.takeError();
    text = std::move(*all);
    if (Error error = checkFootprint(text))
      return failAt(path, toString(std::move(error)));
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(text.data()), int(text.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return failAt(path, "requires an ONNX model, found something else or a truncated one");
  return Error::success();
}

static void addLocations(const onnxfile::Tensor &tensor, StringSet<> &names) {
  for (const onnxfile::Entry &entry : tensor.external_data())
    if (entry.key() == "location")
      names.insert(entry.value());
}

template <typename Nodes> static void addLocationsOf(const Nodes &nodes, StringSet<> &names) {
  auto addGraph = [&](const onnxfile::Graph &graph) {
    for (const onnxfile::Tensor &tensor : graph.initializer())
      addLocations(tensor, names);
    addLocationsOf(graph.node(), names);
  };
  for (const onnxfile::Node &node : nodes)
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      addLocations(attribute.t(), names);
      for (const onnxfile::Tensor &tensor : attribute.tensors())
        addLocations(tensor, names);
      if (attribute.has_g())
        addGraph(attribute.g());
      for (const onnxfile::Graph &graph : attribute.graphs())
        addGraph(graph);
    }
}

std::vector<std::string> externalFilesOf(StringRef path) {
  onnxfile::Model model;
  std::vector<std::shared_ptr<FileBytes>> none;
  if (Error error = parse(path, Wanted::nothing, model, none)) {
    consumeError(std::move(error));
    return {};
  }
  StringSet<> names;
  for (const onnxfile::Tensor &tensor : model.graph().initializer())
    addLocations(tensor, names);
  addLocationsOf(model.graph().node(), names);
  for (const onnxfile::Function &function : model.functions())
    addLocationsOf(function.node(), names);
  std::vector<std::string> files;
  for (const auto &name : names) {
    SmallString<128> file(sys::path::parent_path(path));
    sys::path::append(file, name.getKey());
    files.push_back(file.str().str());
  }
  return files;
}

Expected<std::unique_ptr<OnnxFile>> readOnnxFile(StringRef path, RawData where) {
  auto file = std::make_unique<OnnxFile>();
  file->path = path.str();
  std::vector<std::shared_ptr<FileBytes>> outside;
  if (Error error = parse(path, where == RawData::inside ? Wanted::inside : Wanted::outside, file->model, outside))
    return error;
  if (!file->model.has_graph() || !file->model.has_ir_version())
    return failAt(path, Twine("requires an ONNX model, found a file without ") +
                            (file->model.has_graph() ? "a format version" : "a graph"));
  if (Error error = orderModel(file->model))
    return failAt(path, toString(std::move(error)));
  if (Error error = checkModel(file->model))
    return failAt(path, toString(std::move(error)));

  StringRef folder = sys::path::parent_path(path);
  file->external = std::make_unique<ExternalFiles>(folder.empty() ? "." : folder.str(), std::move(outside));
  return file;
}

} // namespace sinter::onnx
