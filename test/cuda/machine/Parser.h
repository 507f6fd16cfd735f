// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader of PTX in three parts: declarations (Parser.cpp), variables and their contents (Variables.cpp), and the
// bodies of functions (Statements.cpp).
#pragma once

#include "Lexer.h"
#include "Program.h"

namespace sinter::ptx {

class Parser {
public:
  Parser(std::string_view text, std::string file);
  std::unique_ptr<Program> run();

private:
  struct Scope {
    unsigned parent;
    std::map<std::string, uint32_t, std::less<>> registers = {};                   // %a, or the prefix of %r<8>
    std::map<std::string, std::pair<uint32_t, uint32_t>, std::less<>> ranges = {}; // prefix: first register, count
    std::map<std::string, const Variable *, std::less<>> variables = {};
    std::map<std::string, uint64_t, std::less<>> labels = {};
  };

  // tokens
  const Token &peek(unsigned ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  const Token &next() { return tokens[at < tokens.size() - 1 ? at++ : at]; }
  bool accept(char mark);
  bool acceptWord(std::string_view word);
  void expect(char mark);
  std::string expectName(const char *what);
  [[noreturn]] void fail(const std::string &what) const { fail(peek().line, what); }
  [[noreturn]] void fail(unsigned line, const std::string &what) const;
  void skipLine();
  void skipBraces();

  // declarations
  void parseModuleDirective();
  void parseFunction(bool isEntry);
  void parseFormals(std::vector<std::unique_ptr<Variable>> &into, uint64_t &bytes);
  void parseLimits(unsigned (&into)[3]);

  // variables and constant expressions
  std::unique_ptr<Variable> parseVariableHead(Space space);
  void parseVariableTail(Variable &variable);
  void parseInitializer(Variable &variable);
  void parseInitialValues(Variable &variable, uint64_t &offset);
  int64_t parseConstant(int level = 0);
  int64_t parseConstantPrimary();

  // bodies
  void parseBody();
  void parseRegisters();
  void parseLocalVariable(Space space);
  void parseStatement();
  Operand parseOperand();
  Operand parsePrimary();
  Operand parseNamed();
  Operand parseAddress();
  Operand parseList(char close, Operand::Form form);
  void resolveLabels();
  template <class Find> bool inScopes(unsigned scope, Find find) const;

  std::vector<Token> tokens;
  size_t at = 0;
  std::unique_ptr<Program> program;
  Function *function = nullptr; // whose body is read
  std::vector<Scope> scopes;    // of the function; 0 is its outermost
  unsigned scope = 0;
  std::map<std::string, Variable *, std::less<>> globals;
  std::map<std::string, Function *, std::less<>> functions;
};

} // namespace sinter::ptx
