// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function as the machine runs it: one record an instruction, with the address of the routine that does it for a
// whole warp and the places of its operands. A register is an array of 32 lanes (predicates: a mask); an immediate is
// one too, in the constants of the function.
#pragma once

#include "Program.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace sinter::ptx {

using Mask = uint32_t;
class Warp;
struct Inst;
struct Region;
class Memory;
struct Code;
using Handler = void (*)(Warp &, const Inst &, Mask);

constexpr uint32_t kConstant = ~0u; // the "register" of an immediate

struct Ref {
  uint32_t offset; // bytes, in the registers of the frame or in the constants
  uint32_t reg;    // for the check of uninitialised reads
};

struct Inst {
  Handler run = nullptr;
  const Ref *refs = nullptr; // results, then operands
  uint16_t outs = 0, ins = 0;
  int32_t guard = -1; // a predicate's register number
  uint32_t guardOffset = 0;
  bool guardNegated = false;
  bool isProduct = false; // wgmma.mma_async
  uint32_t line = 0, index = 0;
  uint64_t imm = 0; // offset of an address, target of a branch
  uint32_t aux = 0, aux2 = 0;
  const Code *callee = nullptr;
  const void *extra = nullptr;
  mutable Region *region = nullptr; // the one touched last
  mutable uint64_t generation = 0;
};

/// A variable of a block's shared memory. Variables lie apart, so that an index past one is told.
struct SharedVariable {
  const Variable *variable;
  uint32_t offset;
  const Function *owner; // the kernel that declares it; null if every kernel may use it
};

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  Gridid,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicShared,
  TotalShared,
  ClusteridX,
  ClusteridY,
  ClusteridZ,
  NclusteridX,
  NclusteridY,
  NclusteridZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  Clock,
  Clock64,
  Globaltimer,
  IsExplicitCluster,
};

struct Code {
  const Function *function = nullptr;
  const Program *program = nullptr;
  std::vector<Inst> insts;
  std::deque<std::vector<Ref>> refs;
  std::vector<uint8_t> constants; // immediates, 32 lanes each
  uint32_t registerBytes = 0;
  uint32_t registerCount = 0; // with special registers and scratch ones
  std::vector<uint32_t> registerOffsets;
  std::vector<std::pair<SpecialRegister, Ref>> specials; // filled when a frame begins
  std::deque<std::shared_ptr<const void>> extras;        // what instructions point to
  bool hasProducts = false;                              // wgmma: registers are looked after
};

/// A loaded module: its code, and its variables in device memory.
struct Module {
  std::unique_ptr<Program> program;
  std::map<std::string, std::unique_ptr<Code>, std::less<>> code;
  std::map<std::string, Region *, std::less<>> variables; // .global and .const
  std::vector<SharedVariable> shared;                     // those of two kernels overlap
  uint32_t sharedBytes = 0;                               // before the dynamic part
  const Code *find(std::string_view name) const {
    auto it = code.find(name);
    return it == code.end() ? nullptr : it->second.get();
  }
};

/// The module that `text` holds; throws ParseError for what cannot be read or is not supported.
std::unique_ptr<Module> load(std::string_view text, std::string file, Memory &memory);

/// Where a block's shared memory begins: not at 0, so that a null pointer is told.
constexpr uint32_t kSharedBase = 1024;

} // namespace sinter::ptx
