// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   i32 chain(ctx, args, begin, end):
//     words = args                                    // of all kernels, one after the other, then memory and flags
//     place = the first whose flag is not set         // which sets it; it is cleared at the end
//     for step in parts[begin] .. parts[end]:         // the first one is begins[begin]
//       for each window: move what is kept to its beginning; words = where its tensor would begin
//       for each kernel: status = kernel(ctx, its words, first chunk, end of chunks); return it unless it is 0
//
// There are as many places for windows as parts, of which no more are used than threads run parts at once: those that
// are used stay in the threads' caches from call to call.

#include "backends/cpu/ChainFunction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
class ChainFunction {
public:
  ChainFunction(schedule::ChainOp chain, ModuleOp module, StringRef name)
      : chain(chain), module(module), b(chain.getLoc(), module.getContext()), i32(b.getI32Type()), i64(b.getI64Type()),
        ptr(LLVM::LLVMPointerType::get(b.getContext())), type(LLVM::LLVMFunctionType::get(i32, {ptr, ptr, i64, i64})) {
    b.setInsertionPointToStart(module.getBody());
    function = LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::Internal);
  }
  void emit();

private:
  Value number(int64_t value) { return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(value)); }
  Value add(Value x, Value y) { return LLVM::AddOp::create(b, x, y); }
  Value at(Value base, Value bytes) {
    return LLVM::GEPOp::create(b, ptr, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value word(Value base, int64_t i) { return at(base, number(8 * i)); }
  Value word(Value base, Value i) { return at(base, LLVM::MulOp::create(b, i, number(8))); }
  Value load(Type of, Value from) { return LLVM::LoadOp::create(b, of, from); }
  Block *newBlock(ArrayRef<Type> arguments = {}) {
    Block *block = b.createBlock(&function.getBody(), function.getBody().end(), arguments,
                                 SmallVector<Location>(arguments.size(), b.getLoc()));
    return block;
  }
  Value table(StringRef name, ArrayRef<int64_t> numbers);
  Value takePlace(Value flags);
  void slideWindows(Value step, Value words, Value memory);
  void runKernels(Value step, Value context, Value words, Block *failed);

  schedule::ChainOp chain;
  ModuleOp module;
  ImplicitLocOpBuilder b;
  Type i32, i64, ptr;
  LLVM::LLVMFunctionType type;
  LLVM::LLVMFuncOp function;
};
} // namespace

Value ChainFunction::table(StringRef name, ArrayRef<int64_t> numbers) {
  std::string symbol = (function.getName() + "_" + name).str();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto values = DenseElementsAttr::get(RankedTensorType::get(numbers.size(), i64), numbers);
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(i64, numbers.size()), /*isConstant=*/true,
                           LLVM::Linkage::Internal, symbol, values, 64);
  }
  return LLVM::AddressOfOp::create(b, ptr, symbol);
}

/// The number of a place that nobody else uses from here on.
Value ChainFunction::takePlace(Value flags) {
  Block *before = b.getInsertionBlock(), *test = newBlock(i64), *taken = newBlock();
  b.setInsertionPointToEnd(before);
  LLVM::BrOp::create(b, ValueRange(number(0)), test);
  b.setInsertionPointToEnd(test);
  Value place = test->getArgument(0);
  Value old = LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::xchg, word(flags, place), number(1),
                                        LLVM::AtomicOrdering::acquire);
  Value isFree = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, old, number(0));
  LLVM::CondBrOp::create(b, isFree, taken, ValueRange(), test, ValueRange(add(place, number(1))));
  b.setInsertionPointToEnd(taken);
  return place;
}

/// Before the step whose numbers are at `step`.
void ChainFunction::slideWindows(Value step, Value words, Value memory) {
  int64_t offset = 0;
  for (auto [i, bytes] : llvm::enumerate(chain.getWindows())) {
    auto first = 3 * static_cast<int64_t>(i);
    Value window = at(memory, number(offset));
    Value kept = at(window, load(i64, word(step, first)));
    LLVM::MemcpyOp::create(b, window, kept, load(i64, word(step, first + 1)), /*isVolatile=*/false);
    Value tensor = at(window, LLVM::SubOp::create(b, number(0), load(i64, word(step, first + 2))));
    for (int64_t argument : chain.getPlaces().slice(2 * i, 2))
      LLVM::StoreOp::create(b, tensor, word(words, argument));
    offset += static_cast<int64_t>(llvm::alignTo(bytes, 64));
  }
}

/// `failed` takes the status.
void ChainFunction::runKernels(Value step, Value context, Value words, Block *failed) {
  int64_t from = 3 * static_cast<int64_t>(chain.getWindows().size());
  for (auto [k, kernel] : llvm::enumerate(chain.getKernels().getAsRange<FlatSymbolRefAttr>())) {
    if (!module.lookupSymbol(kernel.getValue())) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto declared = LLVM::LLVMFuncOp::create(b, kernel.getValue(), type);
      declared.setVisibility_(LLVM::Visibility::Hidden); // other objects define it
    }
    Value begin = load(i64, word(step, from + 2 * static_cast<int64_t>(k))),
          end = load(i64, word(step, from + 2 * static_cast<int64_t>(k) + 1));
    Value status =
        LLVM::CallOp::create(b, i32, kernel.getValue(),
                             ValueRange{context, word(words, chain.beginOfKernel(static_cast<int64_t>(k))), begin, end})
            .getResult();
    Value none = LLVM::ConstantOp::create(b, i32, b.getI32IntegerAttr(0));
    Value isOk = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, status, none);
    Block *before = b.getInsertionBlock(), *next = newBlock();
    b.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(b, isOk, next, ValueRange(), failed, ValueRange(status));
    b.setInsertionPointToEnd(next);
  }
}

void ChainFunction::emit() {
  Block *entry = function.addEntryBlock(b);
  Value context = entry->getArgument(0), given = entry->getArgument(1), begin = entry->getArgument(2),
        end = entry->getArgument(3);
  Block *header = newBlock(i64), *body = newBlock(), *done = newBlock(i32);
  b.setInsertionPointToEnd(entry);
  auto count = static_cast<int64_t>(chain.getArguments().size());
  Value words = LLVM::AllocaOp::create(b, ptr, i64, number(count), 64);
  LLVM::MemcpyOp::create(b, words, given, number(8 * count), /*isVolatile=*/false);
  Value flags = load(ptr, word(given, count + 1)), place = takePlace(flags);
  Value memory = at(load(ptr, word(given, count)), LLVM::MulOp::create(b, place, number(chain.bytesOfPart())));
  Value parts = table("parts", chain.getParts()), begins = table("begins", chain.getBegins()),
        steps = table("steps", chain.getSteps());
  Value first = load(i64, word(parts, begin)), last = load(i64, word(parts, end));
  auto stepOf = [&](Value table, Value number_) {
    return word(table, LLVM::MulOp::create(b, number_, number(chain.numbersOfStep())));
  };
  Value firstStep = stepOf(begins, begin);
  LLVM::BrOp::create(b, ValueRange(first), header);

  b.setInsertionPointToEnd(header);
  Value number_ = header->getArgument(0);
  Value isLeft = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::slt, number_, last);
  Value ok = LLVM::ConstantOp::create(b, i32, b.getI32IntegerAttr(0));
  LLVM::CondBrOp::create(b, isLeft, body, ValueRange(), done, ValueRange(ok));

  b.setInsertionPointToEnd(body);
  Value isFirst = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, number_, first);
  Value step = LLVM::SelectOp::create(b, isFirst, firstStep, stepOf(steps, number_));
  slideWindows(step, words, memory);
  runKernels(step, context, words, done);
  LLVM::BrOp::create(b, ValueRange(add(number_, number(1))), header);

  b.setInsertionPointToEnd(done);
  LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::xchg, word(flags, place), number(0), LLVM::AtomicOrdering::release);
  LLVM::ReturnOp::create(b, done->getArgument(0));
}

std::string cpu::emitChain(schedule::ChainOp chain, ModuleOp module) {
  std::string first = cast<FlatSymbolRefAttr>(chain.getKernels()[0]).getValue().str(), name;
  for (int i = 0; name.empty() || module.lookupSymbol(name); ++i)
    name = first + "_chain" + std::to_string(i);
  ChainFunction(chain, module, name).emit();
  return name;
}
