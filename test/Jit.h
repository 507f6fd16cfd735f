// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native code for functions in upstream dialects, for unit tests of what emitters build.

#ifndef SINTER_TEST_JIT_H
#define SINTER_TEST_JIT_H

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

namespace sinter::test {

/// Compiles a module of functions on static memrefs; each memref becomes one pointer.
class Jit {
public:
  /// Everything that such a module may use, for the context that holds it.
  static void registerDialects(mlir::DialectRegistry &registry) {
    registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                    mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                    mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
    mlir::registerBuiltinDialectTranslation(registry);
    mlir::registerLLVMDialectTranslation(registry);
  }

  /// `populate` adds rewrites that run first. The module is consumed; `lookup` gives null when it does not compile.
  Jit(mlir::ModuleOp module, llvm::function_ref<void(mlir::RewritePatternSet &)> populate) {
    static const bool initialized = !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
    if (!initialized || mlir::failed(lower(module, populate)))
      return;
    auto context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> code = mlir::translateModuleToLLVMIR(module, *context);
    if (!code)
      return;
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::cantFail(jit->addIRModule({std::move(code), std::move(context)}));
  }

  template <typename FunctionT> FunctionT lookup(llvm::StringRef name) {
    return jit ? llvm::cantFail(jit->lookup(name)).toPtr<FunctionT>() : nullptr;
  }

private:
  static mlir::LogicalResult lower(mlir::ModuleOp module,
                                   llvm::function_ref<void(mlir::RewritePatternSet &)> populate) {
    mlir::MLIRContext *context = module.getContext();
    mlir::RewritePatternSet first(context);
    populate(first);
    mlir::arith::populateExpandBFloat16Patterns(first);
    if (mlir::failed(mlir::applyPatternsGreedily(module, std::move(first))))
      return mlir::failure();
    mlir::LowerToLLVMOptions options(context);
    options.useBarePtrCallConv = true;
    mlir::LLVMTypeConverter types(context, options);
    mlir::LLVMConversionTarget target(*context);
    target.addLegalOp<mlir::ModuleOp>();
    mlir::RewritePatternSet second(context);
    mlir::populateSCFToControlFlowConversionPatterns(second);
    mlir::cf::populateControlFlowToLLVMConversionPatterns(types, second);
    mlir::populateFuncToLLVMConversionPatterns(types, second);
    mlir::populateFinalizeMemRefToLLVMConversionPatterns(types, second);
    mlir::arith::populateArithToLLVMConversionPatterns(types, second);
    mlir::populateMathToLLVMConversionPatterns(types, second);
    mlir::populateMathToLibmConversionPatterns(second);
    mlir::populateVectorToLLVMConversionPatterns(types, second);
    return mlir::applyFullConversion(module, target, std::move(second));
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace sinter::test

#endif
