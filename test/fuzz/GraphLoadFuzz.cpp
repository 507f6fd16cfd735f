// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes through sinter_graph_load, as each of its formats, and what it gives through the calls that look at a
// graph.

#include "MemoryFile.h"
#include "runtime/sinter.h"
#include <cctype>
#include <cstring>
#include <string>

/// The path of a memory file has no suffix; a link beside it in a folder of this process has one.
static std::string linkTo(const char *path, const char *suffix) {
  static std::string folder;
  if (folder.empty()) {
    char name[] = "/tmp/sinter-fuzz-XXXXXX";
    if (!mkdtemp(name))
      abort();
    folder = name;
    std::atexit([] {
      for (const char *suffix : {".onnx", ".mlir", ".sinter"})
        unlink((folder + "/graph" + suffix).c_str());
      rmdir(folder.c_str());
    });
  }
  std::string link = folder + "/graph" + suffix;
  unlink(link.c_str());
  if (symlink(path, link.c_str()) != 0)
    abort();
  return link;
}

static void requireMessage() {
  const char *message = sinter_last_error();
  if (!*message || std::strchr(message, '\n'))
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool isText = size > 8 && std::isprint(data[0]) && std::isprint(data[7]);
  const char *suffix = size > 0 && data[0] == 0x8f ? ".sinter" : isText ? ".mlir" : ".onnx";
  char path[64];
  int file = memoryFile(data, size, path);
  sinter_graph *graph = nullptr;
  if (sinter_graph_load(linkTo(path, suffix).c_str(), &graph) != SINTER_OK) {
    requireMessage();
  } else {
    const char *text = nullptr;
    if (sinter_graph_print(graph, &text) != SINTER_OK)
      requireMessage();
    sinter_graph_destroy(graph);
  }
  close(file);
  return 0;
}
