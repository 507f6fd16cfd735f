// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small program compiled on every host of the table and for every CPU that LLVM knows: its code has vectors of the
// target's width, and the module that is written opens where it must and nowhere else.

#include "test/hosts/Hosts.h"
#include "Execute.h"
#include "backends/cpu/CodeModule.h"
#include "backends/cpu/CpuKind.h"
#include "backends/cpu/HostTarget.h"
#include "compiler/Link.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace sinter;
using namespace sinter::test;

namespace {

const char text[] = R"(
    func.func @f(%x: tensor<16x64xf32> {sinter.name = "x"}) -> (tensor<16x64xf32> {sinter.name = "y"}) {
      %0 = sinter.kernel map(%x) : (tensor<16x64xf32>) -> tensor<16x64xf32> {
      ^bb0(%a: tensor<16x64xf32>):
        %s = sinter.mul %a, %a : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
        %t = sinter.add %s, %a : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
        sinter.yield(%t) : tensor<16x64xf32>
      }
      return %0 : tensor<16x64xf32>
    })";

class Hosts : public testing::Test {
protected:
  Hosts() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  CompiledModule compile(const cpu::Target &target) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = source->clone();
    cpu::CodeOptions options;
    options.target = target;
    options.prefix = "test";
    options.keepAssembly = true;
    llvm::FailureOr<schedule::CodeModule> code = cpu::compileCode(*copy, options);
    CompiledModule compiled;
    compiled.target.host = cpu::machineOf(target);
    if (llvm::failed(code))
      ADD_FAILURE() << "does not compile";
    else
      compiled.code = std::move(*code);
    return compiled;
  }

  /// The bits of the widest vector registers in text of machine code.
  static int widest(const std::string &assembly, const cpu::Target &target) {
    if (llvm::Triple(target.triple).isAArch64())
      return assembly.find(".4s") != std::string::npos ? 128 : 0;
    auto has = [&](const char *name) { return assembly.find(name) != std::string::npos; };
    return has("%zmm") ? 512 : has("%ymm") ? 256 : has("%xmm") ? 128 : 0;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> source;
  TemporaryFolder folder;
};

TEST_F(Hosts, EachCompilesWritesAndOpensModules) {
  std::map<std::string, std::string> levels; // of modules that are tried on every host
  for (const char *level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    cpu::Target target;
    std::string error;
    ASSERT_TRUE(cpu::Target::parse(level, target, error)) << error;
    levels[level] = folder.file(std::string(level) + ".smod");
    ASSERT_TRUE(writeModule(compile(target), levels[level], OutputFormat::Module, error)) << error;
  }
  auto opens = [&](const std::string &path) {
    sinter_module *module = nullptr;
    sinter_status_code status = sinter_module_open(path.c_str(), nullptr, &module);
    sinter_module_close(module);
    return status;
  };
  for (const ExpectedHost &expected : expectedHosts()) {
    SCOPED_TRACE(expected.name);
    UseHost use(expected.host);
    cpu::Target target = cpu::Target::host();
    CompiledModule compiled = compile(target);
    EXPECT_EQ(widest(compiled.code.assembly, target), expected.bits);
    std::string own = folder.file(expected.name + ".smod"), error;
    ASSERT_TRUE(writeModule(compiled, own, OutputFormat::Module, error)) << error;
    bool isOfHere = llvm::Triple(target.triple).isX86() == llvm::Triple(llvm::sys::getProcessTriple()).isX86();
    if (isOfHere) // the rest of loading is this machine's
      EXPECT_EQ(opens(own), SINTER_OK) << sinter_last_error();
    for (const auto &[level, path] : levels) {
      bool runs = expected.level >= level && expected.level.starts_with("x86-64"); // names are in this order
      if (runs && isOfHere)
        EXPECT_EQ(opens(path), SINTER_OK) << level << " " << sinter_last_error();
      else if (!runs)
        EXPECT_EQ(opens(path), SINTER_UNSUPPORTED) << level;
    }
  }
}

TEST_F(Hosts, EveryCpuOfLlvmCompilesToItsWidth) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  llvm::AArch64::fillValidCPUArchList(names);
  std::set<std::string> compiled; // names of the same CPU give the same target
  testing::internal::CaptureStderr();
  for (llvm::StringRef name : names) {
    SCOPED_TRACE(name.str());
    cpu::Target target;
    std::string error;
    ASSERT_TRUE(cpu::Target::parse(("cpu:" + name).str(), target, error)) << error;
    if (compiled.insert(target.cpu + target.features).second)
      EXPECT_EQ(widest(compile(target).code.assembly, target), target.vectorBytes * 8);
  }
  // LLVM writes there when it does not know a name.
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
