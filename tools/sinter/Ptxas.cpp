// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Ptxas.h"
#include "tools/sinter/Command.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <tuple>

using namespace sinter;
using namespace sinter::tool;
using llvm::StringRef;

GpuCode tool::partsOfGpuCode(StringRef payload) {
  GpuCode parts;
  StringRef text = payload.split("\n=== cubin ").first;
  if (!text.consume_front("\n")) // else no kernel has a line
    std::tie(parts.lines, text) = text.split("\n\n");
  std::tie(parts.ptx, parts.wide) = text.split("\n=== sm_90a\n");
  return parts;
}

std::optional<std::string> tool::findPtxas() {
  std::string given = llvm::sys::Process::GetEnv("SINTER_PTXAS").value_or("");
  auto found = llvm::sys::findProgramByName(given.empty() ? "ptxas" : given);
  if (!found || !llvm::sys::fs::can_execute(*found))
    return std::nullopt;
  return *found;
}

bool tool::runPtxas(StringRef ptxas, StringRef ptx, StringRef generation, std::string &told, std::string *cubin,
                    std::string &error) {
  llvm::SmallString<128> input, output, code("/dev/null");
  int file;
  llvm::scope_exit removal([&] {
    for (StringRef path : {StringRef(input), StringRef(output), StringRef(cubin ? StringRef(code) : StringRef())})
      if (!path.empty())
        llvm::sys::fs::remove(path);
  });
  if (llvm::sys::fs::createTemporaryFile("sinter-kernels", "ptx", file, input) ||
      llvm::sys::fs::createTemporaryFile("sinter-kernels", "log", output) ||
      (cubin && llvm::sys::fs::createTemporaryFile("sinter-kernels", "cubin", code))) {
    error = "no temporary file for ptxas";
    return false;
  }
  {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    os << ptx;
  }
  std::string arch = ("-arch=" + generation).str(), reason;
  std::optional<StringRef> redirects[] = {StringRef(""), output.str(), output.str()};
  int status = llvm::sys::ExecuteAndWait(ptxas, {ptxas, "-v", "-o", code, arch, input}, std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  auto log = llvm::MemoryBuffer::getFile(output), made = llvm::MemoryBuffer::getFile(cubin ? code : output);
  if (status != 0 || !log || !made || (cubin && (*made)->getBufferSize() == 0)) {
    StringRef first = log ? (*log)->getBuffer().split('\n').first : StringRef();
    error = "ptxas fails for " + generation.str() + ": " + (reason.empty() ? first.str() : reason);
    return false;
  }
  told = (*log)->getBuffer().str();
  if (cubin)
    *cubin = (*made)->getBuffer().str();
  return true;
}

static void addCubin(schedule::CodeObject &code, StringRef ptxas, StringRef part, StringRef ptx, StringRef generation) {
  std::string told, cubin, error;
  if (!runPtxas(ptxas, ptx, generation, told, &cubin, error))
    throw Stop(Exit::Failure, "--cubins: " + error);
  code.payload += ("\n=== cubin " + part + " " + generation + " " + std::to_string(cubin.size()) + "\n" + cubin).str();
}

void tool::addCubins(CompiledModule &module, const std::vector<std::string> &generations) {
  std::vector<schedule::CodeObject *> objects;
  auto add = [&](schedule::CodeModule &made) {
    for (schedule::CodeObject &code : made.others)
      if (code.backend == "cuda")
        objects.push_back(&code);
  };
  add(module.code);
  for (CompiledModule::Variant &variant : module.variants)
    add(variant.code);
  if (objects.empty())
    throw Stop(Exit::Usage, "--cubins requires kernels for a GPU, such as those of --target=cpu+cuda");
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    throw Stop(Exit::Unsupported, "--cubins requires NVIDIA's ptxas, which is not installed");
  for (schedule::CodeObject *code : objects) {
    const std::string before = code->payload;
    GpuCode parts = partsOfGpuCode(before);
    for (const std::string &generation : generations) {
      addCubin(*code, *ptxas, "all", parts.ptx, generation);
      if (!parts.wide.empty() && (generation == "sm_90" || generation == "sm_90a"))
        addCubin(*code, *ptxas, "wide", parts.wide, "sm_90a");
    }
  }
}
