// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables, their first contents, and constant expressions.
#include "Parser.h"

#include <bit>
#include <cstring>

namespace sinter::ptx {

std::unique_ptr<Variable> Parser::parseVariableHead(Space space) {
  auto variable = std::make_unique<Variable>();
  variable->space = space;
  bool haveType = false, haveAlign = false;
  while (peek().form == Token::Word) {
    if (acceptWord("align")) {
      variable->align = parseConstant();
      haveAlign = true;
      if (!variable->align || (variable->align & (variable->align - 1)))
        fail(".align requires a power of two, got " + std::to_string(variable->align));
    } else if (acceptWord("ptr")) {
      while (acceptWord("global") || acceptWord("shared") || acceptWord("const") || acceptWord("local"))
        ;
      if (acceptWord("align")) // of what is pointed to
        parseConstant();
    } else if (acceptWord("attribute"))
      fail(".attribute is not supported");
    else if (acceptWord("v2") || acceptWord("v4"))
      fail("variables of vector types are not supported");
    else if (parseType(peek().text, variable->type)) {
      haveType = true;
      next();
    } else
      fail("expected a type, got '." + peek().text + "'");
  }
  variable->line = peek().line;
  variable->name = expectName("a variable's name");
  if (!haveType || variable->type.kind == Kind::Pred)
    fail(variable->line, "variable " + variable->name + " requires a type of whole bytes");
  if (!haveAlign)
    variable->align = variable->type.bytes();
  return variable;
}

void Parser::parseVariableTail(Variable &variable) {
  uint64_t count = 1;
  bool open = false;
  while (accept('[')) {
    if (accept(']')) {
      open = true;
      continue;
    }
    int64_t extent = parseConstant();
    if (extent < 0 || uint64_t(extent) > (uint64_t(1) << 40) / count)
      fail("an array of " + std::to_string(extent) + " elements is too large");
    count *= extent;
    expect(']');
  }
  variable.size = open ? 0 : count * variable.type.bytes();
  if (accept('='))
    parseInitializer(variable);
}

void Parser::parseInitializer(Variable &variable) {
  if (variable.space != Space::Global && variable.space != Space::Const)
    fail("only .global and .const variables may be initialized");
  uint64_t offset = 0;
  bool open = !variable.size;
  if (open)
    variable.size = uint64_t(1) << 40;
  parseInitialValues(variable, offset);
  if (open)
    variable.size = offset;
  variable.init.resize(variable.size); // the rest is zero
}

void Parser::parseInitialValues(Variable &variable, uint64_t &offset) {
  if (accept('{')) {
    if (accept('}'))
      return;
    do
      parseInitialValues(variable, offset);
    while (accept(','));
    return expect('}');
  }
  unsigned bytes = variable.type.bytes();
  if (offset + bytes > variable.size)
    fail("variable " + variable.name + " has more initial values than elements");
  uint64_t bits = 0;
  bool minus = peek().is('-') && peek(1).form == Token::Float;
  if (minus)
    next();
  if (peek().form == Token::Float) {
    const Token &token = next();
    if (!variable.type.isFloat() || bytes < 4)
      fail("variable " + variable.name + " requires integers, got a floating-point value");
    double value =
        token.floatBits == 32 ? std::bit_cast<float>(uint32_t(token.bits)) : std::bit_cast<double>(token.bits);
    value = minus ? -value : value;
    bits = bytes == 8 ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(float(value));
  } else if (peek().form == Token::Name) {
    std::string name = next().text;
    bool generic = name == "generic";
    if (generic) {
      expect('(');
      name = expectName("a variable");
      expect(')');
    }
    int64_t addend = peek().is('+') || peek().is('-') ? parseConstant() : 0;
    if (!globals.contains(name))
      fail("unknown variable " + name);
    if (bytes != 8)
      fail("an address requires 8 bytes");
    variable.relocations.push_back({offset, bytes, name, addend, generic});
  } else
    bits = parseConstant();
  if (variable.init.size() < offset + bytes)
    variable.init.resize(offset + bytes);
  std::memcpy(variable.init.data() + offset, &bits, std::min(bytes, 8u));
  offset += bytes;
}

// Binary operators by level, the loosest first.
int64_t Parser::parseConstant(int level) {
  static constexpr std::string_view levels[] = {"|", "^", "&", "<>", "+-", "*/%"};
  if (level == 6)
    return parseConstantPrimary();
  int64_t left = parseConstant(level + 1);
  while (peek().form == Token::Mark && levels[level].find(peek().text[0]) != std::string_view::npos) {
    char op = next().text[0];
    if (op == '<' || op == '>')
      expect(op);
    int64_t right = parseConstant(level + 1);
    if ((op == '/' || op == '%') && !right)
      fail("a constant is divided by zero");
    uint64_t a = left, b = right;
    switch (op) {
    case '|':
      a |= b;
      break;
    case '^':
      a ^= b;
      break;
    case '&':
      a &= b;
      break;
    case '<':
      a = b < 64 ? a << b : 0;
      break;
    case '>':
      a = b < 64 ? a >> b : 0;
      break;
    case '+':
      a += b;
      break;
    case '-':
      a -= b;
      break;
    case '*':
      a *= b;
      break;
    case '/':
      a = right == -1 ? -a : uint64_t(left / right);
      break;
    case '%':
      a = right == -1 ? 0 : uint64_t(left % right);
      break;
    }
    left = a;
  }
  return left;
}

int64_t Parser::parseConstantPrimary() {
  if (accept('-'))
    return -uint64_t(parseConstantPrimary());
  if (accept('+'))
    return parseConstantPrimary();
  if (accept('~'))
    return ~parseConstantPrimary();
  if (accept('!'))
    return !parseConstantPrimary();
  if (accept('(')) {
    int64_t value = parseConstant();
    expect(')');
    return value;
  }
  if (peek().form == Token::Name && peek().text == "WARP_SZ") {
    next();
    return 32;
  }
  if (peek().form != Token::Integer)
    fail("expected an operand, got " + describe(peek()));
  return next().bits;
}

} // namespace sinter::ptx
