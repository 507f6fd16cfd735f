// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From statements to what the machine runs. Each family of instructions has a table of names (Families.h); its routine
// takes the modifiers and operands that it knows, and what is left over is an error.
#pragma once

#include "Code.h"
#include "Machine.h"

#include <algorithm>

namespace sinter::ptx {

class Decoder {
public:
  Decoder(Code &code, const Module &module, const Statement &statement);

  /// Removes `word` from the modifiers; whether it was there.
  bool flag(std::string_view word);
  /// Removes the first modifier that begins so; empty if none does.
  std::string takePrefix(std::string_view prefix);
  /// Removes the first modifier that is one of `words`; its place there, or -1.
  int oneOf(std::initializer_list<std::string_view> words);
  /// Removes the first modifier that names a type.
  Type type();
  bool typeIf(Type &type);
  /// The modifiers that are not yet taken.
  std::vector<std::string> words;

  const std::string &name() const { return statement.words[0]; }
  size_t count() const { return statement.operands.size(); }
  const Operand &operand(size_t n);
  void expectCount(size_t least, size_t most);

  // Operands; each returns its number among results or operands.
  unsigned out(const Operand &operand, Type type);
  unsigned in(const Operand &operand, Type type);
  unsigned outPredicate(const Operand &operand);
  unsigned inPredicate(const Operand &operand); // !p sets its bit in aux2
  /// A result or operand of any width (ld, st, cvt); the width in bytes.
  unsigned outAny(const Operand &operand);
  unsigned inAny(const Operand &operand, Type type);
  /// A constant in all lanes.
  unsigned inConstant(uint64_t value, Type type);
  unsigned operandCount() const { return unsigned(ins.size()); }
  /// The base of an address; its offset goes to imm. `space` becomes that of a variable if it was generic.
  void address(const Operand &operand, Space &space, bool &frameLocal);
  Type typeOf(const Operand &operand) const; // of a register

  void emit(Handler handler) { inst.run = handler; }
  template <class T> const T *keep(T value) {
    auto owned = std::make_shared<T>(std::move(value));
    const T *raw = owned.get();
    code.extras.push_back(std::move(owned));
    return raw;
  }
  [[noreturn]] void fail(const std::string &what) const;
  [[noreturn]] void unsupported() const;
  Inst finish();

  Code &code;
  const Module &module;
  const Statement &statement;
  Inst inst;

private:
  Ref registerRef(uint32_t reg) const { return {code.registerOffsets[reg], reg}; }
  Ref special(const std::string &name, unsigned bytes);
  uint64_t addressOf(const Operand &symbol) const;
  std::vector<Ref> outs, ins;
};

struct Instruction {
  std::string_view name;
  void (*decode)(Decoder &);
  std::string_view forms; // what is supported, for the table in README.md
};

/// All instructions of the machine.
const std::map<std::string_view, Instruction> &instructions();

/// A temporary that is written: a place for `_`.
uint32_t addRegister(Code &code, unsigned bytes);

/// The scope of word n of cta, cluster and wider ones; that of the device where none is given.
inline Scope scopeOf(int n) { return n == 0 ? Scope::Block : n == 1 ? Scope::Cluster : Scope::Device; }

inline Mask predicate(Warp &w, const Inst &i, unsigned n) {
  Mask value = *w.in<Mask>(i, n);
  return i.aux2 >> n & 1 ? ~value : value;
}
inline void setPredicate(Warp &w, const Inst &i, unsigned n, Mask lanes, Mask value) {
  Mask &to = *w.out<Mask>(i, n);
  to = (to & ~lanes) | (value & lanes);
}

/// The routine for an integer type: f(uint32_t{}) and so on.
template <class F> Handler forInteger(Type type, F f) {
  bool isSigned = type.kind == Kind::Signed;
  switch (type.bits) {
  case 16:
    return isSigned ? f(int16_t{}) : f(uint16_t{});
  case 32:
    return isSigned ? f(int32_t{}) : f(uint32_t{});
  case 64:
    return isSigned ? f(int64_t{}) : f(uint64_t{});
  }
  return nullptr;
}
template <class F> Handler forUnsigned(Type type, F f) {
  switch (type.bits) {
  case 16:
    return f(uint16_t{});
  case 32:
    return f(uint32_t{});
  case 64:
    return f(uint64_t{});
  }
  return nullptr;
}

} // namespace sinter::ptx
