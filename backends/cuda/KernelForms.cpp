// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/KernelForms.h"
#include "backends/cpu/emit/Emitters.h"
#include "backends/cuda/ArgReduceForm.h"
#include "backends/cuda/AttentionForms.h"
#include "backends/cuda/AttentionWgmma.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/BlockOrder.h"
#include "backends/cuda/BlockRunning.h"
#include "backends/cuda/BlockScatter.h"
#include "backends/cuda/BlockTriangular.h"
#include "backends/cuda/ClusterForms.h"
#include "backends/cuda/Gpus.h"
#include "backends/cuda/ProductForms.h"
#include "backends/cuda/TransposeForm.h"
#include "backends/cuda/UpdateForm.h"
#include "backends/cuda/VectorForm.h"
#include "backends/cuda/WgmmaForms.h"
#include "ir/Shapes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// The scalar loops of an emitter, with chunks as small as they come.
static std::string planLoops(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  cpu::Plan plan = cpu::findEmitter(name)->plan(spec, {});
  if (!plan.takes())
    return plan.refusal;
  auto least = [](const cpu::Choice &choice) { return choice.chosen ? choice.least : 0; };
  SmallVector<int64_t> tile;
  for (const cpu::Choice &choice : plan.tile)
    tile.push_back(least(choice));
  schedule =
      ScheduleAttr::get(spec.kernel.getContext(), name, least(plan.lanes), tile, least(plan.chunk), plan.packing, {});
  return "";
}

template <cpu::EmittedKernel (*Emit)(cpu::KernelSpec &, ModuleOp, StringRef)>
static cpu::EmittedKernel emitLoops(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return Emit(spec, module, symbol);
}

template <Core core> static std::string planTiles(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  return planProduct(spec, name, core, schedule);
}

template <Core core> static cpu::EmittedKernel emitTiles(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return emitProduct(spec, module, symbol, core, ProductTile::of(spec.schedule()));
}

template <Core core, bool isGradient>
static std::string planHeads(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  return planAttention(spec, name, core, isGradient, schedule);
}

template <Core core, bool isGradient>
static cpu::EmittedKernel emitHeads(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  auto *emit = isGradient ? emitAttentionGradient : emitAttention;
  return emit(spec, module, symbol, core, attentionTileOf(spec.schedule()));
}

/// A form that chooses one schedule for each kernel takes no other.
template <std::string (*Plan)(cuda::KernelSpec &, StringRef, ScheduleAttr &)>
static std::string planOnly(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  ScheduleAttr chosen;
  std::string reason = Plan(spec, name, chosen);
  if (!reason.empty())
    return reason;
  if (schedule && schedule != chosen) {
    llvm::raw_string_ostream(reason) << "its schedule is " << chosen;
    return reason;
  }
  schedule = chosen;
  return "";
}

static const KernelForm forms[] = {
    {kClusterProduct, Chunk::Block, 0, planClusterProduct, emitWgmmaProduct, kThreadsAtOnce},
    {"wgmma_product", Chunk::Block, 0, planWgmmaProduct, emitWgmmaProduct, kThreadsAtOnce},
    {"mma_product", Chunk::Block, 0, planTiles<Core::Warps>, emitTiles<Core::Warps>, kThreadsAtOnce},
    {"tf32_product", Chunk::Block, 0, planTiles<Core::WarpsTf32>, emitTiles<Core::WarpsTf32>, kThreadsAtOnce},
    {"product", Chunk::Block, 0, planTiles<Core::Threads>, emitTiles<Core::Threads>, kThreadsAtOnce},
    {"wgmma_attention", Chunk::Block, 0, planWgmmaAttention, emitWgmmaAttention, kThreadsAtOnce},
    {"mma_attention", Chunk::Block, 0, planHeads<Core::Warps, false>, emitHeads<Core::Warps, false>, kThreadsAtOnce},
    {"block_attention", Chunk::Block, 0, planHeads<Core::Threads, false>, emitHeads<Core::Threads, false>,
     kThreadsAtOnce},
    {"wgmma_attention_gradient", Chunk::Block, 0, planWgmmaAttentionGradient, emitWgmmaAttentionGradient,
     kThreadsAtOnce},
    {"mma_attention_gradient", Chunk::Block, 0, planHeads<Core::Warps, true>, emitHeads<Core::Warps, true>,
     kThreadsAtOnce},
    {"block_attention_gradient", Chunk::Block, 0, planHeads<Core::Threads, true>, emitHeads<Core::Threads, true>,
     kThreadsAtOnce},
    {"update", Chunk::Thread, 256, planOnly<planUpdate>, emitUpdate},
    {"block_transpose", Chunk::Block, 0, planBlockTranspose, emitBlockTranspose},
    {"vectors", Chunk::Thread, 256, planVectors, emitVectors},
    {"block_columns", Chunk::Block, 0, planBlockColumns, emitBlockColumns},
    {"block_arg_reduce", Chunk::Block, 0, planBlockArgReduce, emitBlockArgReduce},
    {"cluster_reduce", Chunk::Block, 0, planClusterReduce, emitClusterReduce},
    {"cluster_row", Chunk::Block, 0, planClusterRow, emitClusterRow, 2 * kThreadsAtOnce},
    {"block_reduce", Chunk::Block, 0, planBlockReduce, emitBlockReduce},
    {"block_row", Chunk::Block, 0, planBlockRow, emitBlockRow, 2 * kThreadsAtOnce},
    {"row", Chunk::Thread, 256, planOnly<planLoops>, emitLoops<cpu::emitRow>},
    {"bags", Chunk::Thread, 32, planOnly<planLoops>, emitLoops<cpu::emitBags>},
    {"block_scatter", Chunk::Block, 0, planBlockScatter, emitBlockScatter, 2 * kThreadsAtOnce},
    {"scatter", Chunk::Thread, 32, planOnly<planLoops>, emitLoops<cpu::emitScatter>},
    {"block_order", Chunk::Block, 0, planBlockOrder, emitBlockOrder, 2 * kThreadsAtOnce},
    {"order", Chunk::Thread, 32, planOnly<planLoops>, emitLoops<cpu::emitOrder>},
    {"block_running", Chunk::Block, 0, planBlockRunning, emitBlockRunning},
    {"block_determinant", Chunk::Block, 0, planBlockDeterminant, emitBlockDeterminant, 2 * kThreadsAtOnce},
    {"running", Chunk::Thread, 32, planOnly<planLoops>, emitLoops<cpu::emitRunning>},
    {"block_triangular", Chunk::Block, 0, planBlockTriangular, emitBlockTriangular, 2 * kThreadsAtOnce},
    {"triangular", Chunk::Thread, 32, planOnly<planLoops>, emitLoops<cpu::emitTriangular>},
    {"general", Chunk::Thread, 256, planOnly<planLoops>, emitLoops<cpu::emitGeneral>},
};

bool cuda::canBeWide(StringRef generation) {
  return generation == "sm_90a" || gpuOf(generation).generation == "sm_90" ||
         llvm::is_contained({"sm_80", "sm_86", "sm_87", "sm_89"}, generation);
}

ArrayRef<KernelForm> cuda::kernelForms() { return forms; }

const KernelForm *cuda::findForm(StringRef name) {
  const auto *found = llvm::find_if(forms, [&](const KernelForm &form) { return form.name == name; });
  return found == std::end(forms) ? nullptr : found;
}

/// Whether the op is an instruction, or a polynomial of ours, of f32 and f64 (f16 and bf16 go through f32).
static bool isSupported(Operation *op) {
  if (op->getName().getDialectNamespace() != "math")
    return true;
  return llvm::StringSwitch<bool>(op->getName().stripDialect())
      .Cases({"absi", "absf", "ceil", "copysign", "ctlz", "cttz", "ctpop", "floor", "fma", "isfinite", "isinf"}, true)
      .Cases({"isnan", "isnormal", "round", "roundeven", "rsqrt", "sqrt", "trunc"}, true)
      .Cases({"exp", "exp2", "expm1", "log", "log2", "log1p", "powf", "erf"}, true)
      .Cases({"sinh", "cosh", "tanh", "asinh", "acosh", "atanh"}, true)
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan", "atan2"}, true)
      .Default(false);
}

std::string cuda::findUnsupported(ModuleOp loops) {
  std::string text;
  llvm::raw_string_ostream os(text);
  loops.walk([&](Operation *op) {
    if (isSupported(op))
      return WalkResult::advance();
    os << op->getName() << " of " << op->getResult(0).getType();
    return WalkResult::interrupt();
  });
  return text;
}
