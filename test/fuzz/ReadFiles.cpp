// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_read_files: the paths on standard input, each ended by a zero byte, through the sanitized reader of their
// kind. For each, standard output gets a line `MS KIND TEXT`: processor time, `read` or `refused`, the message, whose
// line ends (names in files may hold some) become spaces. A sanitizer's report ends the program in the file that has no
// line yet.

#include "compiler/onnx/Reader.h"
#include "ir/file/GraphFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/smod.h"
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

using llvm::StringRef;

static std::string readOnnx(const std::string &path) {
  auto file = sinter::onnx::readOnnxFile(path);
  if (!file)
    return llvm::toString(file.takeError());
  std::string message;
  for (const auto &proto : (*file)->model.graph().initializer()) {
    auto tensor = sinter::onnx::decodeTensor(proto, (*file)->external.get());
    if (!tensor)
      message = llvm::toString(tensor.takeError());
    else if (tensor->numElements() <= 1 << 20)
      (void)tensor->asFloats();
  }
  return message;
}

static std::string readGraphFile(const std::string &path) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    return mlir::success();
  });
  auto module = sinter::readGraph(&context, path);
  return module ? std::string() : message.empty() ? "no message" : message;
}

static std::string messageOf(sinter_status_code status) { return status ? sinter_last_error() : ""; }

static std::string readNpy(const std::string &path) {
  sinter_tensor tensor = {};
  std::string message = messageOf(sinter_npy_read(path.c_str(), &tensor));
  if (message.empty())
    sinter_tensor_free(&tensor);
  return message;
}

template <auto Open, auto Count, auto Name, auto Read, auto Close, typename Archive>
static std::string readArchive(const std::string &path, Archive *archive = nullptr) {
  std::string message = messageOf(Open(path.c_str(), &archive));
  for (int32_t i = 0; message.empty() && i < Count(archive); ++i) {
    sinter_tensor tensor = {};
    message = messageOf(Read(archive, Name(archive, i), &tensor));
    if (message.empty())
      sinter_tensor_free(&tensor);
  }
  if (archive)
    Close(archive);
  return message;
}

static std::string readModule(const std::string &path) {
  sinter_smod *module = nullptr;
  std::string message = messageOf(sinter_smod_open(path.c_str(), &module));
  if (message.empty())
    sinter_smod_close(module);
  return message;
}

static std::string read(const std::string &path) {
  StringRef name(path);
  if (name.ends_with(".sinter"))
    return readGraphFile(path);
  if (name.ends_with(".npy"))
    return readNpy(path);
  if (name.ends_with(".npz"))
    return readArchive<sinter_npz_open, sinter_npz_count, sinter_npz_name, sinter_npz_read, sinter_npz_close,
                       sinter_npz>(path);
  if (name.ends_with(".safetensors"))
    return readArchive<sinter_safetensors_open, sinter_safetensors_count, sinter_safetensors_name,
                       sinter_safetensors_read, sinter_safetensors_close, sinter_safetensors>(path);
  if (name.ends_with(".smod"))
    return readModule(path);
  return readOnnx(path);
}

int main() {
  for (std::string path; std::getline(std::cin, path, '\0');) {
    std::clock_t start = std::clock();
    std::string message = read(path);
    for (char &letter : message)
      if (letter == '\n' || letter == '\r' || !letter)
        letter = ' ';
    std::printf("%ld %s %s\n", (std::clock() - start) / (CLOCKS_PER_SEC / 1000), message.empty() ? "read" : "refused",
                message.c_str());
    std::fflush(stdout);
  }
  return 0;
}
