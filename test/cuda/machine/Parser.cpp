// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Parser.h"

#include <algorithm>

namespace sinter::ptx {

bool parseType(std::string_view word, Type &type) {
  static const std::map<std::string_view, Type> types = {
      {"pred", {Kind::Pred, 1}},       {"b8", {Kind::Bits, 8}},           {"b16", {Kind::Bits, 16}},
      {"b32", {Kind::Bits, 32}},       {"b64", {Kind::Bits, 64}},         {"b128", {Kind::Bits, 128}},
      {"u8", {Kind::Unsigned, 8}},     {"u16", {Kind::Unsigned, 16}},     {"u32", {Kind::Unsigned, 32}},
      {"u64", {Kind::Unsigned, 64}},   {"s8", {Kind::Signed, 8}},         {"s16", {Kind::Signed, 16}},
      {"s32", {Kind::Signed, 32}},     {"s64", {Kind::Signed, 64}},       {"f16", {Kind::Float, 16}},
      {"f16x2", {Kind::Float, 32, 2}}, {"f32", {Kind::Float, 32}},        {"f64", {Kind::Float, 64}},
      {"bf16", {Kind::BFloat, 16}},    {"bf16x2", {Kind::BFloat, 32, 2}}, {"u16x2", {Kind::Unsigned, 32, 2}},
      {"s16x2", {Kind::Signed, 32, 2}}};
  auto found = types.find(word);
  if (found == types.end())
    return false;
  type = found->second;
  return true;
}

std::string toString(Type type) {
  if (type.kind == Kind::Pred)
    return "pred";
  static const char *letters[] = {"pred", "b", "u", "s", "f", "bf"};
  return letters[int(type.kind)] + std::to_string(type.bits / type.packed) + (type.packed == 2 ? "x2" : "");
}

std::string Statement::text() const {
  std::string out;
  for (const std::string &word : words)
    out += (out.empty() ? "" : ".") + word;
  return out;
}

const Function *Program::find(std::string_view name) const {
  for (const auto &function : functions)
    if (function->name == name)
      return function.get();
  return nullptr;
}

Parser::Parser(std::string_view text, std::string file) : program(std::make_unique<Program>()) {
  program->file = std::move(file);
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    program->lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  tokens = lex(text, program->file);
}

void Parser::fail(unsigned line, const std::string &what) const {
  throw ParseError(program->file + ":" + std::to_string(line) + ": " + what);
}

bool Parser::accept(char mark) {
  if (!peek().is(mark))
    return false;
  next();
  return true;
}

bool Parser::acceptWord(std::string_view word) {
  if (!peek().isWord(word))
    return false;
  next();
  return true;
}

std::string describe(const Token &token) {
  switch (token.form) {
  case Token::End:
    return "the end of the file";
  case Token::Word:
    return "'." + token.text + "'";
  case Token::Name:
  case Token::Mark:
    return "'" + token.text + "'";
  case Token::String:
    return "a string";
  default:
    return "a number";
  }
}

void Parser::expect(char mark) {
  if (!accept(mark))
    fail(std::string("expected '") + mark + "', got " + describe(peek()));
}

std::string Parser::expectName(const char *what) {
  if (peek().form != Token::Name)
    fail(std::string("expected ") + what + ", got " + describe(peek()));
  return next().text;
}

void Parser::skipLine() {
  for (unsigned line = peek().line; peek().form != Token::End && peek().line == line;)
    next();
}

void Parser::skipBraces() {
  expect('{');
  for (int depth = 1; depth;) {
    if (peek().form == Token::End)
      fail("a brace is not closed");
    depth += peek().is('{') - peek().is('}');
    next();
  }
}

std::unique_ptr<Program> Parser::run() {
  while (peek().form != Token::End)
    parseModuleDirective();
  if (!program->version)
    fail(1, "a module requires .version");
  if (program->target.empty())
    fail(1, "a module requires .target");
  return std::move(program);
}

void Parser::parseModuleDirective() {
  if (accept(';'))
    return;
  if (peek().form != Token::Word)
    fail("expected a directive, got " + describe(peek()));
  if (acceptWord("version")) {
    if (peek().form != Token::Float)
      fail("expected a version like 8.0, got " + describe(peek()));
    double value = 0;
    static_assert(sizeof value == sizeof(uint64_t));
    uint64_t bits = next().bits;
    std::copy_n(reinterpret_cast<char *>(&bits), sizeof value, reinterpret_cast<char *>(&value));
    program->version = unsigned(value * 10 + 0.5);
    return;
  }
  if (acceptWord("target")) {
    program->target = expectName("a target");
    while (accept(','))
      expectName("a target");
    if (!program->target.starts_with("sm_"))
      fail("expected a target sm_N, got '" + program->target + "'");
    return;
  }
  if (acceptWord("address_size")) {
    program->addressBits = parseConstant();
    if (program->addressBits != 64)
      fail("address_size requires 64, got " + std::to_string(program->addressBits));
    return;
  }
  if (peek().isWord("file") || peek().isWord("pragma") || peek().isWord("loc"))
    return skipLine();
  if (acceptWord("section")) {
    next();
    return skipBraces();
  }
  bool isExtern = false;
  for (;;) {
    if (acceptWord("extern"))
      isExtern = true;
    else if (!acceptWord("visible") && !acceptWord("weak") && !acceptWord("common"))
      break;
  }
  if (acceptWord("entry"))
    return parseFunction(true);
  if (acceptWord("func"))
    return parseFunction(false);
  Space space;
  if (acceptWord("global"))
    space = Space::Global;
  else if (acceptWord("const"))
    space = Space::Const;
  else if (acceptWord("shared"))
    space = Space::Shared;
  else
    fail("unknown directive " + describe(peek()));
  auto variable = parseVariableHead(space);
  variable->isExtern = isExtern;
  parseVariableTail(*variable);
  if (!variable->size && !(isExtern && space == Space::Shared))
    fail(variable->line, "variable " + variable->name + " requires a size");
  Variable *&slot = globals[variable->name];
  if (slot && !slot->isExtern)
    fail(variable->line, "variable " + variable->name + " is declared twice");
  slot = variable.get();
  program->variables.push_back(std::move(variable));
  expect(';');
}

void Parser::parseLimits(unsigned (&into)[3]) {
  into[0] = into[1] = into[2] = 1;
  for (unsigned &limit : into) {
    limit = parseConstant();
    if (!accept(','))
      break;
  }
}

void Parser::parseFormals(std::vector<std::unique_ptr<Variable>> &into, uint64_t &bytes) {
  expect('(');
  if (accept(')'))
    return;
  do {
    std::unique_ptr<Variable> formal;
    if (acceptWord("reg"))
      fail("parameters in registers are not supported; use .param");
    if (!acceptWord("param"))
      fail("expected .param, got " + describe(peek()));
    formal = parseVariableHead(Space::Param);
    parseVariableTail(*formal);
    bytes = (bytes + formal->align - 1) / formal->align * formal->align;
    formal->offset = bytes;
    bytes += formal->size;
    scopes[0].variables[formal->name] = formal.get();
    into.push_back(std::move(formal));
  } while (accept(','));
  expect(')');
}

void Parser::parseFunction(bool isEntry) {
  auto owned = std::make_unique<Function>();
  function = owned.get();
  function->isEntry = isEntry;
  function->file = program->file;
  scopes.assign(1, Scope{});
  scope = 0;
  // Results lie before the parameters in the frame of a call.
  if (!isEntry && peek().is('('))
    parseFormals(function->results, function->resultBytes);
  function->line = peek().line;
  function->name = expectName("a function's name");
  function->paramBytes = function->resultBytes;
  if (peek().is('('))
    parseFormals(function->params, function->paramBytes);
  for (;;) {
    if (acceptWord("maxntid"))
      parseLimits(function->maxThreads);
    else if (acceptWord("reqntid"))
      parseLimits(function->requiredThreads);
    else if (acceptWord("reqnctapercluster"))
      parseLimits(function->requiredCluster);
    else if (acceptWord("minnctapersm"))
      function->minBlocks = parseConstant();
    else if (acceptWord("maxnreg"))
      function->maxRegisters = parseConstant();
    else if (acceptWord("maxclusterrank"))
      parseConstant();
    else if (acceptWord("explicitcluster"))
      function->explicitCluster = true;
    else if (!acceptWord("noreturn")) {
      if (peek().isWord("pragma"))
        skipLine();
      else
        break;
    }
  }
  Function *&slot = functions[function->name];
  if (peek().is('{')) {
    if (slot && slot->isDefined)
      fail("function " + function->name + " is defined twice");
    function->isDefined = true;
    parseBody();
  } else {
    expect(';');
    if (slot) { // declared before
      function = nullptr;
      return;
    }
  }
  if (slot) // a declaration before: its place is taken
    for (auto &other : program->functions)
      if (other.get() == slot) {
        slot = owned.get();
        other = std::move(owned);
        function = nullptr;
        return;
      }
  slot = owned.get();
  program->functions.push_back(std::move(owned));
  function = nullptr;
}

std::unique_ptr<Program> parse(std::string_view text, std::string file) { return Parser(text, std::move(file)).run(); }

} // namespace sinter::ptx
