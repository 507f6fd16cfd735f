// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA GPUs among the back ends of the compiler: "cuda" in a target, or "cuda:sm_90" for one generation and newer.

#include "backends/cpu/emit/RowForm.h"
#include "backends/cuda/AttentionShape.h"
#include "backends/cuda/CudaBackend.h"
#include "backends/schedule/Backends.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Generations, and the lowest version of PTX that knows each.
static const struct {
  llvm::StringLiteral name;
  llvm::StringLiteral features;
} generations[] = {{"sm_80", "+ptx70"}, {"sm_86", "+ptx71"},  {"sm_87", "+ptx74"},  {"sm_89", "+ptx78"},
                   {"sm_90", "+ptx78"}, {"sm_90a", "+ptx80"}, {"sm_100", "+ptx86"}, {"sm_120", "+ptx87"}};

namespace {
class CudaMachine final : public schedule::Machine {
public:
  explicit CudaMachine(Generation given) : generation(std::move(given)) {
    name = "cuda:" + generation.cpu;
    requirements = code = key = generation.cpu;
    int64_t number = 0;
    StringRef digits = StringRef(generation.cpu).drop_front(3);
    bool isExact = digits.consume_back("a"); // no other generation runs it
    digits.getAsInteger(10, number);
    demands = {2 * number + isExact};
  }
  const schedule::BackendKind &kind() const override { return *schedule::findBackend("cuda"); }
  Attribute attribute(MLIRContext *context) const override { return StringAttr::get(context, generation.cpu); }

  const Generation generation;
};

class CudaKind final : public schedule::BackendKind {
public:
  StringRef name() const override { return "cuda"; }

  std::shared_ptr<const schedule::Machine> parse(StringRef text, std::string &error) const override {
    for (const auto &known : generations)
      if (text.empty() || text == known.name)
        return std::make_shared<CudaMachine>(Generation{known.name.str(), known.features.str()});
    llvm::raw_string_ostream os(error);
    os << "cuda requires one of ";
    llvm::interleaveComma(generations, os, [&](const auto &known) { os << known.name; });
    os << ", got '" << text << "'";
    return nullptr;
  }
  std::shared_ptr<const schedule::Machine> read(Attribute attribute, std::string &error) const override {
    if (auto text = dyn_cast<StringAttr>(attribute); text && !text.empty())
      return parse(text, error);
    error = "sinter.devices does not fit: cuda requires the name of a generation";
    return nullptr;
  }

  bool keepsComposite(Operation *op) const override { return cpu::hasRowTemplate(op) || keepsAttention(op); }
  bool takesKernel(KernelOp kernel, ShapeAnalysis &sizes) const override {
    CudaBackend backend;
    return backend.refusal(*backend.specify(kernel, &sizes)).empty();
  }
  std::unique_ptr<schedule::Backend> create(const schedule::Machine &machine, int) const override {
    return std::make_unique<CudaBackend>(static_cast<const CudaMachine &>(machine).generation);
  }
  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<NVVM::NVVMDialect>();
    registerNVVMDialectTranslation(registry);
  }
};
} // namespace

static schedule::RegisterBackend<CudaKind> registered;
