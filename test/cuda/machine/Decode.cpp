// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Decode.h"

#include <bit>
#include <cstring>

namespace sinter::ptx {

static unsigned bytesOf(Type type) { return type.kind == Kind::Pred ? 4 : type.bytes() * 32; }

uint32_t addRegister(Code &code, unsigned bytes) {
  code.registerOffsets.push_back(code.registerBytes);
  code.registerBytes += (bytes + 15) / 16 * 16;
  return code.registerCount++;
}

Decoder::Decoder(Code &code, const Module &module, const Statement &statement)
    : words(statement.words.begin() + 1, statement.words.end()), code(code), module(module), statement(statement) {
  inst.line = statement.line;
  if (statement.guard >= 0) {
    inst.guard = statement.guard;
    inst.guardOffset = code.registerOffsets[statement.guard];
    inst.guardNegated = statement.guardNegated;
  }
}

void Decoder::fail(const std::string &what) const {
  throw ParseError(code.function->file + ":" + std::to_string(statement.line) + ": " + statement.text() + ": " + what);
}

void Decoder::unsupported() const {
  throw ParseError(code.function->file + ":" + std::to_string(statement.line) + ": " + statement.text() +
                   " is not supported by this machine");
}

bool Decoder::flag(std::string_view word) {
  auto it = std::find(words.begin(), words.end(), word);
  if (it == words.end())
    return false;
  words.erase(it);
  return true;
}

std::string Decoder::takePrefix(std::string_view prefix) {
  for (auto it = words.begin(); it != words.end(); ++it)
    if (it->starts_with(prefix)) {
      std::string word = *it;
      words.erase(it);
      return word;
    }
  return "";
}

int Decoder::oneOf(std::initializer_list<std::string_view> choices) {
  for (auto it = words.begin(); it != words.end(); ++it) {
    auto choice = std::find(choices.begin(), choices.end(), *it);
    if (choice == choices.end())
      continue;
    words.erase(it);
    return int(choice - choices.begin());
  }
  return -1;
}

bool Decoder::typeIf(Type &type) {
  for (auto it = words.begin(); it != words.end(); ++it)
    if (parseType(*it, type)) {
      words.erase(it);
      return true;
    }
  return false;
}

Type Decoder::type() {
  Type type;
  if (!typeIf(type))
    fail("a type is required");
  return type;
}

const Operand &Decoder::operand(size_t n) {
  if (n >= statement.operands.size())
    fail("more than " + std::to_string(n) + " operands are required");
  return statement.operands[n];
}

void Decoder::expectCount(size_t least, size_t most) {
  if (count() < least || count() > most)
    fail(std::to_string(least) + (most > least ? " to " + std::to_string(most) : "") + " operands are required, got " +
         std::to_string(count()));
}

Type Decoder::typeOf(const Operand &operand) const {
  if (operand.form != Operand::Register)
    fail("a register is required");
  return code.function->registers[operand.reg].type;
}

unsigned Decoder::out(const Operand &operand, Type type) {
  if (operand.form == Operand::Sink) {
    uint32_t reg = addRegister(code, bytesOf(type));
    outs.push_back({code.registerOffsets[reg], reg});
    return outs.size() - 1;
  }
  Type have = typeOf(operand);
  if ((have.kind == Kind::Pred) != (type.kind == Kind::Pred) || (have.kind != Kind::Pred && have.bits != type.bits))
    fail("register " + code.function->registers[operand.reg].name + " of type " + toString(have) + " where " +
         toString(type) + " is required");
  outs.push_back(registerRef(operand.reg));
  return outs.size() - 1;
}

unsigned Decoder::outPredicate(const Operand &operand) { return out(operand, {Kind::Pred, 1}); }

unsigned Decoder::outAny(const Operand &operand) {
  if (operand.form == Operand::Sink)
    return out(operand, {Kind::Bits, 64}), 8;
  Type have = typeOf(operand);
  if (have.kind == Kind::Pred)
    fail("a predicate register where a value is required");
  outs.push_back(registerRef(operand.reg));
  return have.bytes();
}

unsigned Decoder::inAny(const Operand &operand, Type type) {
  if (operand.form != Operand::Register)
    return in(operand, type), type.bytes();
  Type have = typeOf(operand);
  if (have.kind == Kind::Pred)
    fail("a predicate register where a value is required");
  ins.push_back(registerRef(operand.reg));
  return have.bytes();
}

unsigned Decoder::inConstant(uint64_t value, Type type) {
  unsigned bytes = type.kind == Kind::Pred ? 4 : type.bytes();
  uint32_t offset = (code.constants.size() + 15) / 16 * 16;
  unsigned copies = type.kind == Kind::Pred ? 1 : 32;
  code.constants.resize(offset + copies * bytes);
  for (unsigned n = 0; n < copies; ++n)
    std::memcpy(code.constants.data() + offset + n * bytes, &value, std::min(bytes, 8u));
  ins.push_back({offset, kConstant});
  return ins.size() - 1;
}

uint64_t Decoder::addressOf(const Operand &symbol) const {
  const Variable *variable = symbol.variable;
  if (!variable)
    fail("unknown variable " + symbol.name);
  switch (variable->space) {
  case Space::Global:
  case Space::Const: {
    auto it = module.variables.find(variable->name);
    if (it == module.variables.end())
      fail("variable " + variable->name + " has no definition");
    return it->second->base;
  }
  case Space::Shared:
    if (variable->isExtern && !variable->size)
      return kSharedBase + (module.sharedBytes + 1023) / 1024 * 1024;
    for (const SharedVariable &shared : module.shared)
      if (shared.variable == variable)
        return shared.offset;
    fail("variable " + variable->name + " has no place");
  default:
    return variable->offset;
  }
}

Ref Decoder::special(const std::string &name, unsigned bytes) {
  using enum SpecialRegister;
  static const std::map<std::string_view, SpecialRegister> names = {
      {"%tid.x", TidX},
      {"%tid.y", TidY},
      {"%tid.z", TidZ},
      {"%ntid.x", NtidX},
      {"%ntid.y", NtidY},
      {"%ntid.z", NtidZ},
      {"%ctaid.x", CtaidX},
      {"%ctaid.y", CtaidY},
      {"%ctaid.z", CtaidZ},
      {"%nctaid.x", NctaidX},
      {"%nctaid.y", NctaidY},
      {"%nctaid.z", NctaidZ},
      {"%laneid", Laneid},
      {"%warpid", Warpid},
      {"%nwarpid", Nwarpid},
      {"%smid", Smid},
      {"%nsmid", Nsmid},
      {"%gridid", Gridid},
      {"%lanemask_eq", LanemaskEq},
      {"%lanemask_le", LanemaskLe},
      {"%lanemask_lt", LanemaskLt},
      {"%lanemask_ge", LanemaskGe},
      {"%lanemask_gt", LanemaskGt},
      {"%dynamic_smem_size", DynamicShared},
      {"%total_smem_size", TotalShared},
      {"%clusterid.x", ClusteridX},
      {"%clusterid.y", ClusteridY},
      {"%clusterid.z", ClusteridZ},
      {"%nclusterid.x", NclusteridX},
      {"%nclusterid.y", NclusteridY},
      {"%nclusterid.z", NclusteridZ},
      {"%cluster_ctaid.x", ClusterCtaidX},
      {"%cluster_ctaid.y", ClusterCtaidY},
      {"%cluster_ctaid.z", ClusterCtaidZ},
      {"%cluster_nctaid.x", ClusterNctaidX},
      {"%cluster_nctaid.y", ClusterNctaidY},
      {"%cluster_nctaid.z", ClusterNctaidZ},
      {"%cluster_ctarank", ClusterCtarank},
      {"%cluster_nctarank", ClusterNctarank},
  };
  auto it = names.find(name);
  if (it == names.end())
    fail("unknown special register " + name);
  if (bytes != 4)
    fail("special register " + name + " of type u32 where " + std::to_string(bytes * 8) + " bits are required");
  for (const auto &[known, ref] : code.specials)
    if (known == it->second)
      return ref;
  uint32_t reg = addRegister(code, 128);
  code.specials.emplace_back(it->second, Ref{code.registerOffsets[reg], reg});
  return code.specials.back().second;
}

unsigned Decoder::in(const Operand &operand, Type type) {
  if (operand.negated)
    fail("'!' requires a predicate");
  switch (operand.form) {
  case Operand::Register: {
    Type have = typeOf(operand);
    if ((have.kind == Kind::Pred) != (type.kind == Kind::Pred) || (have.kind != Kind::Pred && have.bits != type.bits))
      fail("register " + code.function->registers[operand.reg].name + " of type " + toString(have) + " where " +
           toString(type) + " is required");
    ins.push_back(registerRef(operand.reg));
    return ins.size() - 1;
  }
  case Operand::Integer:
    if (type.isFloat() && operand.bits && type.bits > 16)
      fail("an integer where a floating-point value is required");
    return inConstant(operand.bits, type);
  case Operand::Float: {
    if (type.kind != Kind::Float || type.bits < 32 || type.packed != 1) {
      if (!(operand.floatBits == 32 && type.bits == 32) && !(operand.floatBits == 64 && type.bits == 64))
        fail("a floating-point value where " + toString(type) + " is required");
      return inConstant(operand.bits, type);
    }
    double value =
        operand.floatBits == 32 ? std::bit_cast<float>(uint32_t(operand.bits)) : std::bit_cast<double>(operand.bits);
    if (operand.floatBits == type.bits)
      return inConstant(operand.bits, type);
    return inConstant(type.bits == 64 ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(float(value)), type);
  }
  case Operand::Symbol:
    if (type.bits < 32 || type.isFloat())
      fail("an address where " + toString(type) + " is required");
    return inConstant(addressOf(operand) + operand.bits, type);
  case Operand::Special:
    ins.push_back(special(operand.name, type.bytes()));
    return ins.size() - 1;
  default:
    fail("an operand of this form is not expected");
  }
}

unsigned Decoder::inPredicate(const Operand &operand) {
  if (operand.form == Operand::Integer) // the constants 0 and 1
    return inConstant(operand.bits ? ~uint64_t(0) : 0, {Kind::Pred, 1});
  Operand plain = operand;
  plain.negated = false;
  unsigned n = in(plain, {Kind::Pred, 1});
  if (operand.negated)
    inst.aux2 |= 1u << n;
  return n;
}

void Decoder::address(const Operand &operand, Space &space, bool &frameLocal) {
  frameLocal = false;
  if (operand.form != Operand::Address)
    fail("an address is required");
  const Operand &base = operand.parts[0];
  inst.imm = operand.bits;
  if (base.form == Operand::Symbol) {
    Space of = base.variable->space;
    if (space == Space::Generic)
      space = of;
    else if (space != of && !(space == Space::Global && of == Space::Const))
      fail("variable " + base.name + " lies in another space");
    frameLocal = of == Space::Local;
    inst.imm += addressOf(base);
    inConstant(0, {Kind::Bits, 64});
    inst.aux |= 0x80000000; // of 64 bits
  } else if (base.form == Operand::Integer) {
    inst.imm += base.bits;
    inConstant(0, {Kind::Bits, 64});
    inst.aux |= 0x80000000;
  } else {
    Type have = typeOf(base);
    if (have.kind == Kind::Pred || have.isFloat() || have.bits < 32 || have.bits > 64)
      fail("an address requires an integer register of 32 or 64 bits");
    if (have.bits == 64)
      inst.aux |= 0x80000000;
    ins.push_back(registerRef(base.reg));
  }
}

Inst Decoder::finish() {
  if (!words.empty())
    fail("modifier ." + words[0] + " is not supported here");
  if (!inst.run)
    unsupported();
  inst.outs = outs.size();
  inst.ins = ins.size();
  outs.insert(outs.end(), ins.begin(), ins.end());
  code.refs.push_back(std::move(outs));
  inst.refs = code.refs.back().data();
  return inst;
}

// Numbers registers, then decodes each statement.
static void decodeFunction(Code &code, const Module &module) {
  for (const RegisterDecl &reg : code.function->registers)
    addRegister(code, bytesOf(reg.type));
  for (const Statement &statement : code.function->body) {
    auto it = instructions().find(statement.words[0]);
    if (it == instructions().end())
      throw ParseError(code.function->file + ":" + std::to_string(statement.line) + ": unknown instruction " +
                       statement.text());
    Decoder decoder(code, module, statement);
    it->second.decode(decoder);
    Inst inst = decoder.finish();
    inst.index = code.insts.size();
    code.insts.push_back(inst);
  }
}

static void placeVariables(Module &module, Memory &memory) {
  const Program &program = *module.program;
  // 16 bytes between variables, and no more alignment than was asked for.
  auto placeShared = [&](const Variable &variable, uint32_t &top, const Function *owner) {
    if (variable.space != Space::Shared || (variable.isExtern && !variable.size))
      return;
    uint64_t align = std::max<uint64_t>(variable.align, 4);
    top = (top + align - 1) / align * align;
    if (align >= 16 && align < 1024 && top % (2 * align) == 0)
      top += align;
    module.shared.push_back({&variable, kSharedBase + top, owner});
    top += uint32_t(variable.size + 16);
  };
  uint32_t common = 0;
  for (const auto &variable : program.variables) {
    placeShared(*variable, common, nullptr);
    if (variable->space == Space::Shared || variable->isExtern)
      continue;
    Region *region = memory.allocate(variable->size, "variable " + variable->name);
    if (!region)
      throw ParseError(program.file + ":" + std::to_string(variable->line) + ": no memory for variable " +
                       variable->name);
    // .global variables without contents begin as zeros.
    std::memset(region->valid, 1, variable->size);
    if (!variable->init.empty())
      std::memcpy(region->data, variable->init.data(), variable->init.size());
    region->readOnly = variable->space == Space::Const;
    module.variables[variable->name] = region;
  }
  for (const auto &variable : program.variables)
    for (const Variable::Relocation &to : variable->relocations) {
      auto it = module.variables.find(to.symbol);
      if (it == module.variables.end())
        throw ParseError(program.file + ":" + std::to_string(variable->line) + ": the address of " + to.symbol +
                         " is not a constant");
      uint64_t address = it->second->base + to.addend;
      std::memcpy(module.variables[variable->name]->data + to.offset, &address, to.bytes);
    }
  for (const auto &function : program.functions)
    for (const auto &variable : function->variables)
      if (!function->isEntry)
        placeShared(*variable, common, nullptr);
  module.sharedBytes = common;
  for (const auto &function : program.functions) {
    uint32_t top = common;
    for (const auto &variable : function->variables)
      if (function->isEntry)
        placeShared(*variable, top, function.get());
    module.sharedBytes = std::max(module.sharedBytes, top);
  }
}

std::unique_ptr<Module> load(std::string_view text, std::string file, Memory &memory) {
  auto module = std::make_unique<Module>();
  module->program = parse(text, std::move(file));
  placeVariables(*module, memory);
  for (const auto &function : module->program->functions) {
    auto code = std::make_unique<Code>();
    code->function = function.get();
    code->program = module->program.get();
    module->code[function->name] = std::move(code);
  }
  for (auto &[name, code] : module->code)
    if (code->function->isDefined)
      decodeFunction(*code, *module);
  return module;
}

} // namespace sinter::ptx
