// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/GpuKernels.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/Ptxas.h"
#include "llvm/ADT/StringExtras.h"
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::tool;
using llvm::StringRef;
using nlohmann::json;

namespace {
/// What a multiprocessor holds at once (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
struct Multiprocessor {
  int generation, warps, blocks;
  int64_t sharedBytes;
};
constexpr Multiprocessor kMultiprocessors[] = {
    {80, 64, 32, 164 << 10}, {86, 48, 16, 100 << 10},  {87, 48, 16, 164 << 10},  {89, 48, 24, 100 << 10},
    {90, 64, 32, 228 << 10}, {100, 64, 32, 228 << 10}, {103, 64, 32, 228 << 10}, {120, 48, 24, 100 << 10}};
constexpr int64_t kRegisters = 65536, kRegisterUnit = 256, kSharedUnit = 128, kSharedOfSystem = 1024;

/// What ptxas says of a kernel.
struct Usage {
  int64_t registers = 0, sharedBytes = 0, spillStores = 0, spillLoads = 0;
};

/// A line in front of the PTX (backends/cuda/CudaBackend.h).
struct Launch {
  int64_t threads = 0, dynamicBytes = 0;
  bool isWide = false;
};
} // namespace

static int generationOf(StringRef text) { // sm_90a
  int number = 0;
  text.consume_front("sm_");
  text.consumeInteger(10, number);
  return number;
}

static std::vector<std::pair<std::string, Launch>> readLaunches(StringRef lines) {
  std::vector<std::pair<std::string, Launch>> result;
  for (StringRef line : llvm::split(lines, '\n')) {
    llvm::SmallVector<StringRef> words;
    line.split(words, ' ');
    if (words.size() < 4 || words[0] == "map")
      continue;
    Launch launch;
    launch.isWide = words[0] == "wide";
    words[launch.isWide ? 2 : 3].getAsInteger(10, launch.threads);
    if (launch.isWide)
      words[3].getAsInteger(10, launch.dynamicBytes);
    result.emplace_back(words[1].str(), launch);
  }
  return result;
}

/// The number before `unit` in a line such as `Used 40 registers, 2048 bytes smem`; 0 without one.
static int64_t numberBefore(StringRef line, StringRef unit) {
  size_t at = line.find((" " + unit).str());
  if (at == StringRef::npos)
    return 0;
  int64_t number = 0;
  line.take_front(at).rsplit(' ').second.getAsInteger(10, number);
  return number;
}

static std::map<std::string, Usage> readUsage(StringRef told) {
  std::map<std::string, Usage> result;
  std::string kernel;
  for (StringRef line : llvm::split(told, '\n')) {
    if (line.contains("Compiling entry function '"))
      kernel = line.split('\'').second.split('\'').first.str();
    Usage &usage = result[kernel];
    if (line.contains("bytes spill stores")) {
      usage.spillStores = numberBefore(line, "bytes spill stores");
      usage.spillLoads = numberBefore(line, "bytes spill loads");
    }
    if (line.contains(" registers")) {
      usage.registers = numberBefore(line, "registers");
      usage.sharedBytes = numberBefore(line, "bytes smem");
    }
  }
  return result;
}

/// Runs the assembler; false with the reason in `note`.
static bool assemble(StringRef ptxas, StringRef ptx, StringRef generation, std::map<std::string, Usage> &usage,
                     std::string &note) {
  std::string told;
  if (!runPtxas(ptxas, ptx, generation, told, nullptr, note))
    return false;
  usage.merge(readUsage(told));
  return true;
}

/// How many blocks a multiprocessor holds, by registers, threads, shared memory and their number. Registers are given
/// to warps in units, to all four quarters of the multiprocessor alike.
static int64_t blocksAtOnce(const Multiprocessor &gpu, const Usage &usage, const Launch &launch) {
  int64_t warps = (launch.threads + 31) / 32;
  if (warps == 0)
    return 0;
  int64_t ofWarp = std::max<int64_t>((usage.registers * 32 + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit, 1);
  int64_t byRegisters = kRegisters / ofWarp / 4 * 4 / warps;
  int64_t shared = usage.sharedBytes + launch.dynamicBytes + kSharedOfSystem;
  shared = (shared + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
  return std::min({byRegisters, gpu.warps / warps, gpu.sharedBytes / shared, static_cast<int64_t>(gpu.blocks)});
}

static json describe(const std::string &name, const Launch &launch, StringRef generation,
                     const std::map<std::string, Usage> &usage) {
  json kernel = {{"name", name}, {"gpu", generation.str()}, {"threads", launch.threads}};
  auto known = usage.find(name);
  if (known == usage.end())
    return kernel;
  const Usage &used = known->second;
  kernel["registers"] = used.registers;
  kernel["shared_bytes"] = used.sharedBytes + launch.dynamicBytes;
  kernel["spill_store_bytes"] = used.spillStores;
  kernel["spill_load_bytes"] = used.spillLoads;
  const Multiprocessor *gpu = llvm::find_if(
      kMultiprocessors, [&](const Multiprocessor &other) { return other.generation == generationOf(generation); });
  if (gpu != std::end(kMultiprocessors)) {
    int64_t blocks = blocksAtOnce(*gpu, used, launch);
    kernel["blocks_at_once"] = blocks;
    kernel["occupancy"] = static_cast<double>(blocks * ((launch.threads + 31) / 32)) / gpu->warps;
  }
  return kernel;
}

json tool::describeGpuKernels(const CompiledModule &module, std::string &note) {
  json list = json::array();
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    note = "registers, shared memory and spills of GPU kernels require NVIDIA's ptxas, which is not installed";
  for (const schedule::CodeObject &code : module.code.others) {
    if (code.backend != "cuda")
      continue;
    auto [lines, ptx, wide] = partsOfGpuCode(code.payload);
    std::map<std::string, Usage> usage, wideUsage;
    if (ptxas && assemble(*ptxas, ptx, code.requirements, usage, note) && !wide.empty())
      assemble(*ptxas, wide, "sm_90a", wideUsage, note);
    for (const auto &[name, launch] : readLaunches(lines)) {
      bool isOther = launch.isWide && !wide.empty();
      list.push_back(describe(name, launch, isOther ? "sm_90a" : code.requirements, isOther ? wideUsage : usage));
    }
  }
  if (list.empty())
    note.clear();
  return list;
}

void tool::printGpuKernels(const json &kernels) {
  for (const json &kernel : kernels) {
    std::cout << "  gpu kernel " << kernel["name"].get<std::string>() << " (" << kernel["gpu"].get<std::string>()
              << "): " << kernel["threads"] << " threads";
    if (kernel.contains("registers"))
      std::cout << ", " << kernel["registers"] << " registers, " << kernel["shared_bytes"]
                << " bytes of shared memory, "
                << kernel["spill_store_bytes"].get<int64_t>() + kernel["spill_load_bytes"].get<int64_t>()
                << " bytes spilled";
    if (kernel.contains("occupancy")) {
      std::cout << ", " << kernel["blocks_at_once"] << " blocks at once, occupancy "
                << static_cast<int>(kernel["occupancy"].get<double>() * 100 + 0.5) << " %";
    }
    std::cout << "\n";
  }
}
