// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/Lowering.h"
#include "backends/cpu/emit/Branches.h"
#include "backends/cpu/emit/Math.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace sinter;

struct cuda::Lowering::Impl {
  explicit Impl(MLIRContext *context) : options(makeOptions(context)), types(context, options), target(*context) {
    RewritePatternSet first(context);
    populateMathF32ExpansionPatterns(first, [](StringRef) { return true; }); // f16 and bf16 through f32
    cpu::populateMathPolynomials(first, {});
    populateBFloat16Rounding(first);
    arith::populateCeilFloorDivExpandOpsPatterns(first);
    arith::populateExpandBFloat16Patterns(first);
    expand = FrozenRewritePatternSet(std::move(first));
    branches = cpu::branchPatterns(context);

    RewritePatternSet second(context);
    cf::populateControlFlowToLLVMConversionPatterns(types, second);
    populateFuncToLLVMConversionPatterns(types, second);
    populateFinalizeMemRefToLLVMConversionPatterns(types, second);
    arith::populateArithToLLVMConversionPatterns(types, second);
    populateMathToLLVMConversionPatterns(types, second, /*approximateLog1p=*/false);
    populateVectorToLLVMConversionPatterns(types, second);
    convert = FrozenRewritePatternSet(std::move(second));
    target.addLegalOp<ModuleOp>();
    target.addLegalDialect<NVVM::NVVMDialect>();
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

cuda::Lowering::Lowering(MLIRContext *context) : impl(std::make_unique<Impl>(context)) {}
cuda::Lowering::~Lowering() = default;

LogicalResult cuda::Lowering::run(ModuleOp module) {
  if (failed(cpu::expandMath(module, impl->expand)))
    return failure();
  cpu::lowerToBranches(module, impl->branches);
  return applyFullConversion(module, impl->target, impl->convert);
}
