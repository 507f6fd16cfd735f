// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/FunctionTable.h"
#include "backends/cpu/CpuKind.h"
#include "ir/Shapes.h"
#include "runtime/device.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include <cstring>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// Builds constants field by field; LLVM's struct layout is C's for these types.
class TableBuilder {
public:
  TableBuilder(llvm::Module &module)
      : module(module), context(module.getContext()), ptr(llvm::PointerType::getUnqual(context)) {}

  llvm::Constant *i32(int64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value, true); }
  llvm::Constant *i64(int64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value, true); }
  llvm::Constant *null() { return llvm::ConstantPointerNull::get(ptr); }
  llvm::Constant *text(StringRef value) { return data(llvm::ConstantDataArray::getString(context, value)); }
  llvm::Constant *record(ArrayRef<llvm::Constant *> fields) { return llvm::ConstantStruct::getAnon(context, fields); }
  llvm::Constant *array(ArrayRef<llvm::Constant *> elements) {
    if (elements.empty())
      return null();
    return data(llvm::ConstantArray::get(llvm::ArrayType::get(elements.front()->getType(), elements.size()), elements));
  }
  llvm::Constant *data(llvm::Constant *value) {
    return new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value);
  }
  llvm::Constant *external(StringRef name) {
    auto *global = new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(context), true,
                                            llvm::GlobalValue::ExternalLinkage, nullptr, name);
    global->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return global;
  }

  llvm::Constant *states(ArrayRef<Signature::State> list) {
    SmallVector<llvm::Constant *> result;
    for (const Signature::State &state : list)
      result.push_back(
          record({text(state.name), i32(state.input), i32(state.output),
                  i32((state.inPlace ? SINTER_STATE_IN_PLACE : 0) | (state.onDevice ? SINTER_STATE_ON_DEVICE : 0)),
                  i32(0), i64(state.initial)}));
    return array(result);
  }

  llvm::Constant *tensors(ArrayRef<Signature::Tensor> list) {
    SmallVector<llvm::Constant *> result;
    for (const Signature::Tensor &tensor : list) {
      SmallVector<llvm::Constant *> dims;
      for (int64_t size : tensor.dims)
        dims.push_back(i64(size == ShapedType::kDynamic ? SINTER_DIM_UNKNOWN : size));
      result.push_back(record({text(tensor.name), i32(schedule::dtypeOf(tensor.elementType)),
                               i32(static_cast<int64_t>(tensor.dims.size())), array(dims)}));
    }
    return array(result);
  }

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::PointerType *ptr;
};
} // namespace

namespace {
/// What plain functions are made of. The order and form of their arguments is that of the emitted header.
class PlainFunctions {
public:
  explicit PlainFunctions(llvm::Module &module) : module(module), b(module.getContext()) {}

  llvm::Function *define(const llvm::Twine &name, llvm::Type *result, ArrayRef<llvm::Type *> arguments) {
    auto *function = llvm::Function::Create(llvm::FunctionType::get(result, arguments, false),
                                            llvm::GlobalValue::ExternalLinkage, name, module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
    return function;
  }
  llvm::FunctionCallee declare(StringRef runtimeName, llvm::Type *result, ArrayRef<llvm::Type *> arguments) {
    return module.getOrInsertFunction(runtimeName, llvm::FunctionType::get(result, arguments, false));
  }
  /// RESULT NAME(arguments...) that passes its arguments on to the runtime, `first` before them.
  void forward(const llvm::Twine &name, StringRef runtimeName, llvm::Type *result, ArrayRef<llvm::Type *> arguments,
               ArrayRef<llvm::Value *> first = {}) {
    llvm::Function *function = define(name, result, arguments);
    SmallVector<llvm::Value *> values(first);
    for (llvm::Argument &argument : function->args())
      values.push_back(&argument);
    llvm::Value *call = b.CreateCall(
        declare(runtimeName, result, llvm::map_to_vector(values, [](auto *v) { return v->getType(); })), values);
    result->isVoidTy() ? b.CreateRetVoid() : b.CreateRet(call);
  }
  /// NAME(self, symbols..., inputs..., outputs...) that calls `runtimeName`(self, middle..., symbols, pointers, dims).
  void run(const llvm::Twine &name, StringRef runtimeName, const Signature &signature,
           ArrayRef<llvm::Value *> middle = {});

  llvm::Module &module;
  llvm::IRBuilder<> b;
};
} // namespace

void PlainFunctions::run(const llvm::Twine &name, StringRef runtimeName, const Signature &signature,
                         ArrayRef<llvm::Value *> middle) {
  llvm::Type *ptr = b.getPtrTy(), *i32 = b.getInt32Ty(), *i64 = b.getInt64Ty();
  SmallVector<bool> stateInputs = schedule::statePlaces(signature, false),
                    stateOutputs = schedule::statePlaces(signature, true);
  SmallVector<llvm::Type *> types = {ptr};
  types.append(signature.symbols.size(), i64);
  types.append(llvm::count(stateInputs, false), ptr);
  auto isUnknown = [](const Signature::Tensor &tensor) {
    return llvm::is_contained(tensor.dims, ShapedType::kDynamic);
  };
  for (auto [output, isState] : llvm::zip(signature.outputs, stateOutputs))
    if (!isState)
      types.append(isUnknown(output) ? 2 : 1, ptr);
  llvm::Function *run = define(name, i32, types);
  auto array = [&](size_t count) { return b.CreateAlloca(ptr, b.getInt64(std::max<uint64_t>(count, 1))); };
  llvm::Value *symbols = array(signature.symbols.size());
  llvm::Value *pointers = array(signature.inputs.size() + signature.outputs.size());
  llvm::Value *dims = array(signature.outputs.size());
  llvm::Value *null = llvm::Constant::getNullValue(ptr);
  unsigned next = 1;
  auto put = [&](llvm::Value *value, llvm::Value *to, size_t i) {
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(i64, to, i));
  };
  for (size_t i = 0; i < signature.symbols.size(); ++i)
    put(run->getArg(next++), symbols, i);
  for (size_t i = 0; i < signature.inputs.size(); ++i)
    put(stateInputs[i] ? null : run->getArg(next++), pointers, i);
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    put(stateOutputs[i] ? null : run->getArg(next++), pointers, signature.inputs.size() + i);
    put(!stateOutputs[i] && isUnknown(signature.outputs[i]) ? run->getArg(next++) : null, dims, i);
  }
  SmallVector<llvm::Value *> values = {run->getArg(0)};
  values.append(middle.begin(), middle.end());
  values.append({symbols, pointers, dims});
  b.CreateRet(b.CreateCall(declare(runtimeName, i32, llvm::map_to_vector(values, [](auto *v) { return v->getType(); })),
                           values));
}

/// STEM_init(threads), STEM_FUNCTION(self, ...) for each function, STEM_save(self, path), STEM_load(self, path),
/// STEM_seed(self, seed) where random numbers are drawn, STEM_free(self), STEM_error(): one object whose functions
/// share its states.
static void addStatefulFunctions(llvm::Module &module, ArrayRef<Signature> functions, StringRef stem,
                                 llvm::Constant *table) {
  PlainFunctions plain(module);
  llvm::Type *ptr = plain.b.getPtrTy(), *i32 = plain.b.getInt32Ty();
  plain.forward(stem + "_init", "sinter_embed_open", ptr, {i32}, {table});
  plain.forward(stem + "_save", "sinter_embed_save", i32, {ptr, ptr});
  plain.forward(stem + "_load", "sinter_embed_load", i32, {ptr, ptr});
  if (schedule::hasSeed(functions))
    plain.forward(stem + "_seed", "sinter_embed_seed", i32, {ptr, plain.b.getInt64Ty()});
  plain.forward(stem + "_free", "sinter_embed_close", plain.b.getVoidTy(), {ptr});
  plain.forward(stem + "_error", "sinter_last_error", ptr, {});
  for (auto [i, function] : llvm::enumerate(functions))
    plain.run(stem + "_" + schedule::symbolName(function.name), "sinter_embed_call", function,
              {plain.b.getInt32(static_cast<uint32_t>(i))});
}

/// NAME_init(threads), NAME_run(session, symbols..., inputs..., outputs...), NAME_free(session), NAME_error().
static void addPlainFunctions(llvm::Module &module, const Signature &signature, StringRef name, llvm::Constant *table,
                              size_t index) {
  PlainFunctions plain(module);
  llvm::Type *ptr = plain.b.getPtrTy();
  plain.forward(name + "_init", "sinter_embed_init", ptr, {plain.b.getInt32Ty()},
                {table, plain.b.getInt32(static_cast<uint32_t>(index))});
  plain.forward(name + "_free", "sinter_embed_free", plain.b.getVoidTy(), {ptr});
  plain.forward(name + "_error", "sinter_last_error", ptr, {});
  plain.run(name + "_run", "sinter_embed_run", signature);
}

FailureOr<std::string> cpu::makeTableObject(ArrayRef<Signature> functions, const TableOptions &table,
                                            const ObjectOptions &options, std::string &error) {
  llvm::LLVMContext context;
  llvm::Module module("table", context);
  TableBuilder b(module);
  llvm::Constant *weights = table.weights.empty() ? b.null() : b.external(table.weights);
  auto describe = [&](const Signature &function, size_t priority, ArrayRef<llvm::Constant *> variants) {
    SmallVector<llvm::Constant *> symbols;
    for (const std::string &symbol : function.symbols)
      symbols.push_back(b.text(symbol));
    return b.data(b.record({b.i32(SINTER_ABI_VERSION),
                            b.i32(sizeof(sinter_function)),
                            b.text(function.name),
                            b.i32(static_cast<int64_t>(function.inputs.size())),
                            b.i32(static_cast<int64_t>(function.outputs.size())),
                            b.tensors(function.inputs),
                            b.tensors(function.outputs),
                            b.i32(static_cast<int64_t>(symbols.size())),
                            b.i32(0),
                            b.array(symbols),
                            b.external(function.entry),
                            weights,
                            b.i64(table.weightsBytes),
                            b.text(function.requirements),
                            b.i32(static_cast<int64_t>(function.states.size())),
                            b.i32(static_cast<int64_t>(variants.size())),
                            b.states(function.states),
                            b.array(variants),
                            b.i32(static_cast<int64_t>(priority)),
                            b.i32(0)}));
  };
  SmallVector<llvm::Constant *> all;
  for (auto [f, function] : llvm::enumerate(functions)) {
    SmallVector<llvm::Constant *> variants;
    for (auto [v, variant] : llvm::enumerate(table.variants))
      variants.push_back(describe(variant.functions[f], v + 1, {}));
    all.push_back(describe(function, 0, variants));
  }
  all.push_back(b.null());
  auto *type = llvm::ArrayType::get(all.front()->getType(), all.size());
  auto *exported = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage,
                                            llvm::ConstantArray::get(type, all), table.symbol);
  if (!table.alias.empty()) {
    exported->setVisibility(llvm::GlobalValue::HiddenVisibility);
    llvm::GlobalAlias::create(type, 0, llvm::GlobalValue::ExternalLinkage, table.alias, exported, &module);
  }
  if (!table.plain.empty() && schedule::hasStates(functions))
    addStatefulFunctions(module, functions, table.plain, exported);
  else if (!table.plain.empty())
    for (auto [i, function] : llvm::enumerate(functions))
      addPlainFunctions(module, function, schedule::plainName(functions, i, table.plain), exported, i);
  return compileModule(module, options, error);
}

bool cpu::writeDataObject(StringRef path, StringRef symbol, ArrayRef<char> bytes, const Target &target,
                          std::string &error) {
  using namespace llvm::ELF;
  const char names[] = "\0.rodata.weights\0.symtab\0.strtab\0.note.GNU-stack";
  enum { Null, Data, Symbols, Strings, NoStack, NumSections };
  const uint32_t nameOf[] = {0, 1, 17, 25, 33};
  std::string strings = std::string(names, sizeof names);
  auto symbolName = static_cast<uint32_t>(strings.size());
  strings += symbol.str() + '\0';

  Elf64_Sym entries[2] = {};
  entries[1].st_name = symbolName;
  entries[1].setBindingAndType(STB_GLOBAL, STT_OBJECT);
  entries[1].st_other = STV_HIDDEN;
  entries[1].st_shndx = Data;
  entries[1].st_size = bytes.size();

  uint64_t dataOffset = 64;
  uint64_t symbolsOffset = llvm::alignTo(dataOffset + bytes.size(), 8);
  uint64_t stringsOffset = symbolsOffset + sizeof entries;
  uint64_t tableOffset = llvm::alignTo(stringsOffset + strings.size(), 8);
  Elf64_Shdr sections[NumSections] = {};
  for (int i = 0; i < NumSections; ++i)
    sections[i].sh_name = nameOf[i];
  auto describe = [&](int i, uint32_t type, uint64_t flags, uint64_t offset, uint64_t size, uint64_t alignment) {
    sections[i].sh_type = type;
    sections[i].sh_flags = flags;
    sections[i].sh_offset = offset;
    sections[i].sh_size = size;
    sections[i].sh_addralign = alignment;
  };
  describe(Data, SHT_PROGBITS, SHF_ALLOC, dataOffset, bytes.size(), 64);
  describe(Symbols, SHT_SYMTAB, 0, symbolsOffset, sizeof entries, 8);
  sections[Symbols].sh_link = Strings;
  sections[Symbols].sh_info = 1;
  sections[Symbols].sh_entsize = sizeof(Elf64_Sym);
  describe(Strings, SHT_STRTAB, 0, stringsOffset, strings.size(), 1);
  describe(NoStack, SHT_PROGBITS, 0, stringsOffset, 0, 1);

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ElfMagic, 4);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = llvm::Triple(target.triple).isAArch64() ? EM_AARCH64 : EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = tableOffset;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = NumSections;
  header.e_shstrndx = Strings;

  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code) {
    error = (path + ": " + code.message()).str();
    return false;
  }
  auto write = [&](const void *data, size_t size) { os.write(static_cast<const char *>(data), size); };
  write(&header, sizeof header);
  write(bytes.data(), bytes.size());
  os.write_zeros(symbolsOffset - (dataOffset + bytes.size()));
  write(entries, sizeof entries);
  write(strings.data(), strings.size());
  os.write_zeros(tableOffset - (stringsOffset + strings.size()));
  write(sections, sizeof sections);
  os.close();
  if (os.has_error()) {
    error = (path + ": " + os.error().message()).str();
    os.clear_error();
    return false;
  }
  return true;
}
