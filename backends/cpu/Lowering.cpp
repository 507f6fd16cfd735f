// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Lowering.h"
#include "backends/cpu/BFloatRounding.h"
#include "backends/cpu/HalfConversion.h"
#include "backends/cpu/LaneQuotients.h"
#include "backends/cpu/WholeNumbers.h"
#include "backends/cpu/emit/Branches.h"
#include "backends/cpu/emit/Interleave.h"
#include "backends/cpu/emit/Math.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace sinter;

struct cpu::Lowering::Impl {
  Impl(MLIRContext *context, const Target &machine, int optLevel)
      : options(makeOptions(context)), types(context, options), target(*context) {
    RewritePatternSet first(context);
    if (optLevel > 0) {
      populateMathF32ExpansionPatterns(first, [](StringRef) { return true; }); // f16 and bf16 through f32
      if (llvm::Triple(machine.triple).isX86())
        populateLaneQuotients(first);
      populateMathPolynomials(first, {machine.hasScaling, machine.hasFma, machine.hasRounding, /*calls=*/true});
    } else {
      populateMathExpansions(first);
    }
    arith::populateCeilFloorDivExpandOpsPatterns(first);
    populateBFloatRounding(first);
    populateWholeNumbers(first, machine.vectorBytes == 64);
    if (!machine.hasHalfConversion)
      populateHalfConversion(first);
    arith::populateExpandBFloat16Patterns(first);
    vector::populateVectorStepLoweringPatterns(first);
    vector::populateVectorMaskMaterializationPatterns(first, /*force32BitVectorIndices=*/true);
    expand = FrozenRewritePatternSet(std::move(first));
    branches = branchPatterns(context);

    RewritePatternSet second(context);
    cf::populateControlFlowToLLVMConversionPatterns(types, second);
    populateFuncToLLVMConversionPatterns(types, second);
    populateFinalizeMemRefToLLVMConversionPatterns(types, second);
    arith::populateArithToLLVMConversionPatterns(types, second);
    populateMathToLLVMConversionPatterns(types, second, /*approximateLog1p=*/false);
    // Only for what has no LLVM intrinsic: fma, floor, sqrt and their like are instructions.
    populateMathToLibmConversionPatterns(second, /*benefit=*/PatternBenefit(0));
    populateVectorToLLVMConversionPatterns(types, second, /*reassociateFPReductions=*/true,
                                           /*force32BitVectorIndices=*/true);
    convert = FrozenRewritePatternSet(std::move(second));
    target.addLegalOp<ModuleOp>();
  }

  static LowerToLLVMOptions makeOptions(MLIRContext *context) {
    LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    return options;
  }

  LowerToLLVMOptions options;
  LLVMTypeConverter types;
  LLVMConversionTarget target;
  FrozenRewritePatternSet expand, branches, convert;
};

cpu::Lowering::Lowering(MLIRContext *context, const Target &target, int optLevel)
    : impl(std::make_unique<Impl>(context, target, optLevel)) {}
cpu::Lowering::~Lowering() = default;

/// True when an op in the module needs the rewrites that come before the conversion.
static bool needsExpansion(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        if (op->getName().getDialectNamespace() == "math" ||
            isa<arith::SIToFPOp, arith::UIToFPOp, arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
                arith::ExtFOp, arith::TruncFOp, arith::MaximumFOp, arith::MinimumFOp, arith::RemFOp, vector::StepOp,
                vector::CreateMaskOp>(op))
          return WalkResult::interrupt();
        if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
            isa<VectorType>(op->getResult(0).getType()))
          return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult cpu::Lowering::run(ModuleOp module) {
  if (needsExpansion(module) && failed(expandMath(module, impl->expand)))
    return failure();
  interleaveParts(module);
  lowerToBranches(module, impl->branches);
  return applyFullConversion(module, impl->target, impl->convert);
}

void cpu::registerTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}
