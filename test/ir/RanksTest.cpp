// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op of the texts in test/ir with an operand of another rank: its type is inferred and it is verified, or both
// refuse it. Files and importers bring such ops.

#include "compiler/Register.h"
#include "ir/Dialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

using namespace mlir;

namespace {
class Ranks : public testing::Test {
protected:
  Ranks() : context(makeRegistry()), handler(&context, [](Diagnostic &) { return success(); }) {
    context.loadAllAvailableDialects();
    std::signal(SIGABRT, [](int) { std::fputs((last + "\n").c_str(), stderr); }); // which op it was
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    sinter::registerDialects(registry);
    return registry;
  }

  void tryText(StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return;
    module->walk([&](Operation *op) {
      if (op->getNumRegions() == 0 && op->getName().getDialectNamespace() == "sinter")
        for (unsigned i = 0; i < op->getNumOperands(); ++i)
          if (auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType()))
            for (int64_t rank : {int64_t(0), type.getRank() - 1, type.getRank() + 1, int64_t(16)})
              if (rank >= 0 && rank != type.getRank() &&
                  seen.insert({op->getName().getStringRef().str(), i, rank}).second)
                tryOp(op, i, type, rank);
    });
  }

  /// The op as it is, but for the type of operand `i`.
  void tryOp(Operation *op, unsigned i, RankedTensorType type, int64_t rank) {
    last = (op->getName().getStringRef() + ", operand " + Twine(i) + " of rank " + Twine(rank)).str();
    SmallVector<int64_t> shape(type.getShape().take_front(rank));
    shape.resize(rank, 2);
    Block block;
    Value other = block.addArgument(RankedTensorType::get(shape, type.getElementType()), op->getLoc());
    SmallVector<Value> operands(op->getOperands());
    operands[i] = other;
    SmallVector<Type> types(op->getResultTypes());
    if (auto infers = dyn_cast<InferTypeOpInterface>(op)) {
      types.clear();
      if (failed(infers.inferReturnTypes(&context, op->getLoc(), operands, op->getDiscardableAttrDictionary(),
                                         op->getPropertiesStorage(), op->getRegions(), types)))
        return void(++refused);
    }
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&block);
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    Operation *made = builder.create(state);
    ++(succeeded(verify(made, /*verifyRecursively=*/false)) ? taken : refused);
    made->erase();
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::set<std::tuple<std::string, unsigned, int64_t>> seen;
  static std::string last;
  unsigned taken = 0, refused = 0;
};
std::string Ranks::last;
} // namespace

TEST_F(Ranks, NoneEndsTheProcess) {
  for (const auto &entry : std::filesystem::recursive_directory_iterator(TEST_IR)) {
    if (entry.path().extension() != ".mlir")
      continue;
    auto file = llvm::MemoryBuffer::getFile(entry.path().string());
    ASSERT_TRUE(bool(file)) << entry.path();
    for (StringRef rest = (*file)->getBuffer(); !rest.empty();) {
      auto [text, after] = rest.split("\n// -----");
      tryText(text);
      rest = after;
    }
  }
  EXPECT_GT(refused, 300u); // most ops say what they need
  EXPECT_GT(taken, 100u);   // those that take any rank
}
