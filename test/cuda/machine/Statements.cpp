// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bodies of functions: registers, variables, labels, statements.
#include "Parser.h"

#include <algorithm>
#include <bit>

namespace sinter::ptx {

static uint64_t alignTo(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

template <class Find> bool Parser::inScopes(unsigned from, Find find) const {
  for (unsigned at = from;; at = scopes[at].parent) {
    if (find(scopes[at]))
      return true;
    if (at == 0)
      return false;
  }
}

void Parser::parseBody() {
  expect('{');
  for (unsigned depth = 1;;) {
    if (peek().form == Token::End)
      fail("function " + function->name + " does not end");
    if (accept('{')) {
      scopes.push_back({.parent = scope});
      scope = scopes.size() - 1;
      ++depth;
    } else if (accept('}')) {
      if (--depth == 0)
        break;
      scope = scopes[scope].parent;
    } else if (accept(';'))
      continue;
    else if (acceptWord("reg"))
      parseRegisters();
    else if (acceptWord("local"))
      parseLocalVariable(Space::Local);
    else if (acceptWord("shared"))
      parseLocalVariable(Space::Shared);
    else if (acceptWord("param"))
      parseLocalVariable(Space::Param);
    else if (peek().isWord("loc") || peek().isWord("pragma"))
      skipLine();
    else if (peek().form == Token::Word)
      fail("unknown directive '." + peek().text + "'");
    else
      parseStatement();
  }
  Statement end{.line = peek().line, .words = {"ret"}, .scope = 0};
  function->body.push_back(end); // what a function without `ret` ends in
  resolveLabels();
}

void Parser::parseRegisters() {
  Type type;
  if (peek().form != Token::Word || !parseType(peek().text, type))
    fail("expected the type of registers");
  next();
  do {
    std::string name = expectName("a register's name");
    auto add = [&](std::string full) {
      function->registers.push_back({type, std::move(full)});
      if (function->registers.size() > 1000000)
        fail("function " + function->name + " has more than 1000000 registers");
    };
    if (accept('<')) {
      int64_t count = parseConstant(4);
      expect('>');
      if (count < 0 || count > 1000000)
        fail("a range of " + std::to_string(count) + " registers is too large");
      scopes[scope].ranges[name] = {uint32_t(function->registers.size()), uint32_t(count)};
      for (int64_t i = 0; i < count; ++i)
        add(name + std::to_string(i));
    } else {
      scopes[scope].registers[name] = function->registers.size();
      add(name);
    }
  } while (accept(','));
  expect(';');
}

void Parser::parseLocalVariable(Space space) {
  auto variable = parseVariableHead(space);
  parseVariableTail(*variable);
  if (!variable->size)
    fail(variable->line, "variable " + variable->name + " requires a size");
  // Parameters of calls lie behind the formal ones.
  uint64_t &bytes = space == Space::Local    ? function->localBytes
                    : space == Space::Shared ? function->staticShared
                                             : function->frameParamBytes;
  if (space == Space::Param)
    bytes = std::max(bytes, function->paramBytes);
  variable->offset = bytes = alignTo(bytes, variable->align);
  bytes += variable->size;
  scopes[scope].variables[variable->name] = variable.get();
  function->variables.push_back(std::move(variable));
  expect(';');
}

void Parser::parseStatement() {
  if (peek().form == Token::Name && peek(1).is(':')) {
    std::string name = next().text;
    if (!scopes[scope].labels.emplace(name, function->body.size()).second)
      fail("label " + name + " is defined twice");
    return expect(':');
  }
  Statement statement{.line = peek().line, .scope = scope};
  if (accept('@')) {
    statement.guardNegated = accept('!');
    Operand guard = parsePrimary();
    if (guard.form != Operand::Register || function->registers[guard.reg].type.kind != Kind::Pred)
      fail(statement.line, "a guard requires a predicate register");
    statement.guard = guard.reg;
  }
  statement.words.push_back(expectName("an instruction"));
  while (peek().form == Token::Word)
    statement.words.push_back(next().text);
  while (!peek().is(';')) {
    statement.operands.push_back(parseOperand());
    if (!accept(','))
      break;
  }
  expect(';');
  function->body.push_back(std::move(statement));
}

Operand Parser::parseOperand() {
  Operand first = parsePrimary();
  if (!accept('|'))
    return first;
  Operand pair{.form = Operand::Pair};
  pair.parts.push_back(std::move(first));
  pair.parts.push_back(parsePrimary());
  return pair;
}

Operand Parser::parseList(char close, Operand::Form form) {
  Operand list{.form = form};
  while (!peek().is(close)) {
    list.parts.push_back(parsePrimary());
    if (!accept(','))
      break;
  }
  expect(close);
  return list;
}

Operand Parser::parsePrimary() {
  if (accept('{'))
    return parseList('}', Operand::Vector);
  if (accept('['))
    return parseAddress();
  if (accept('('))
    return parseList(')', Operand::List);
  if (peek().is('!')) {
    next();
    Operand operand = parsePrimary();
    operand.negated = true;
    return operand;
  }
  if (peek().form == Token::Name)
    return parseNamed();
  bool minus = peek().is('-') && peek(1).form == Token::Float;
  if (minus)
    next();
  if (peek().form == Token::Float) {
    const Token &token = next();
    Operand operand{.form = Operand::Float, .bits = token.bits, .floatBits = token.floatBits};
    if (minus)
      operand.bits ^= uint64_t(1) << (token.floatBits ? token.floatBits - 1 : 63);
    return operand;
  }
  return {.form = Operand::Integer, .bits = uint64_t(parseConstant(4))};
}

Operand Parser::parseNamed() {
  unsigned line = peek().line;
  std::string name = next().text;
  if (name == "_")
    return {.form = Operand::Sink};
  if (name == "WARP_SZ")
    return {.form = Operand::Integer, .bits = 32};
  Operand operand;
  size_t digits = name.size();
  while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  bool found = inScopes(scope, [&](const Scope &in) {
    if (auto it = in.registers.find(name); it != in.registers.end()) {
      operand = {.form = Operand::Register, .reg = it->second};
      return true;
    }
    if (auto it = in.variables.find(name); it != in.variables.end()) {
      operand = {.form = Operand::Symbol, .name = name, .variable = it->second};
      return true;
    }
    // %r12 of %r<20>, but also %r1<2>: each split of the digits
    for (size_t at = digits; at < name.size() && name.size() - at < 8; ++at) {
      auto it = in.ranges.find(std::string_view(name).substr(0, at));
      if (it == in.ranges.end() || (name[at] == '0' && at + 1 < name.size()))
        continue;
      uint32_t index = std::stoul(name.substr(at));
      if (index >= it->second.second)
        continue;
      operand = {.form = Operand::Register, .reg = it->second.first + index};
      return true;
    }
    return false;
  });
  if (found) {
    if (operand.form == Operand::Symbol && (peek().is('+') || peek().is('-')))
      operand.bits = parseConstant(4);
    if (peek().form == Token::Word)
      fail(line, "registers of vector types are not supported");
    return operand;
  }
  if (name[0] == '%') {
    operand = {.form = Operand::Special, .name = name};
    if (peek().form == Token::Word)
      operand.name += "." + next().text;
    return operand;
  }
  operand = {.form = Operand::Symbol, .name = name};
  if (auto it = globals.find(name); it != globals.end())
    operand.variable = it->second;
  if (operand.variable && (peek().is('+') || peek().is('-')))
    operand.bits = parseConstant(4);
  return operand;
}

Operand Parser::parseAddress() {
  Operand address{.form = Operand::Address};
  address.parts.push_back(parsePrimary());
  Operand &base = address.parts[0];
  if (base.form == Operand::Symbol || base.form == Operand::Integer)
    std::swap(address.bits, base.bits);
  else if (base.form != Operand::Register)
    fail("an address requires a register, a variable or an integer");
  if (base.form == Operand::Symbol && !base.variable)
    fail("unknown variable " + base.name);
  if (base.form == Operand::Register && (peek().is('+') || peek().is('-'))) {
    accept('+');
    address.bits = parseConstant(4);
  }
  while (accept(','))
    address.parts.push_back(parsePrimary());
  expect(']');
  return address;
}

void Parser::resolveLabels() {
  for (Statement &statement : function->body)
    if (statement.words[0] == "bra")
      for (Operand &operand : statement.operands) {
        if (operand.form != Operand::Symbol || operand.variable)
          fail(statement.line, "bra requires a label");
        bool found = inScopes(statement.scope, [&](const Scope &in) {
          auto it = in.labels.find(operand.name);
          if (it == in.labels.end())
            return false;
          operand.form = Operand::Label;
          operand.bits = it->second;
          return true;
        });
        if (!found)
          fail(statement.line, "unknown label " + operand.name);
      }
}

} // namespace sinter::ptx
