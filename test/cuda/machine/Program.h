// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the reader makes of PTX text: declarations, and statements whose registers are numbered. Decode.h turns
// statements into what the machine runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::ptx {

/// A mistake in PTX text, or PTX that the machine does not know; the message begins with `FILE:LINE: `.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How a type is read; its width is apart.
enum class Kind : uint8_t { Pred, Bits, Unsigned, Signed, Float, BFloat };

/// A fundamental type (`.u32`) or a packed one (`.f16x2`: 32 bits, 2 lanes).
struct Type {
  Kind kind = Kind::Bits;
  uint8_t bits = 32;
  uint8_t packed = 1;
  unsigned bytes() const { return bits / 8; }
  bool isFloat() const { return kind == Kind::Float || kind == Kind::BFloat; }
  bool operator==(const Type &) const = default;
};

/// The type that a word like "u32" or "bf16x2" names; false if it names none.
bool parseType(std::string_view word, Type &type);
std::string toString(Type type);

/// Shared is the block's own shared memory, SharedCluster that of any block of its cluster.
enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param, Register, SharedCluster };

/// A variable in memory, with its first contents.
struct Variable {
  /// `bytes[offset]` holds the address of `symbol` + `addend`, as a generic address if asked.
  struct Relocation {
    uint64_t offset;
    unsigned bytes;
    std::string symbol;
    int64_t addend;
    bool generic;
  };
  std::string name;
  Space space = Space::Global;
  Type type;
  uint64_t align = 1;
  uint64_t size = 0;         // bytes; 0 for `extern .shared x[]`
  uint64_t offset = 0;       // in the parameter, local or shared space of its function
  std::vector<uint8_t> init; // empty if it has none
  std::vector<Relocation> relocations;
  bool isExtern = false;
  bool isRegister = false; // a parameter of a function in a register
  unsigned line = 0;
};

/// One operand as written.
struct Operand {
  enum Form : uint8_t {
    Register, // number in `reg`
    Integer,  // `bits`
    Float,    // `bits` holds a double, or exact bits of `floatBits` wide
    Symbol,   // address of `name` + `bits`
    Special,  // `name` is a special register, %tid.x
    Address,  // [parts[0] + bits]; parts[0] is a Register, Symbol or Integer; parts[1] a Vector for tensors
    Vector,   // {parts...}
    Pair,     // parts[0] | parts[1]
    List,     // (parts...) of a call
    Sink,     // _
    Label,    // a label, `bits` its statement once resolved
  };
  Form form = Integer;
  bool negated = false; // !p
  uint32_t reg = 0;
  uint64_t bits = 0;
  unsigned floatBits = 0; // 0: a decimal literal
  std::string name = {};
  const Variable *variable = nullptr;
  std::vector<Operand> parts = {};
};

struct Statement {
  unsigned line = 0;
  int guard = -1; // a predicate register
  bool guardNegated = false;
  std::vector<std::string> words = {}; // "add", "s32"
  std::vector<Operand> operands = {};
  std::string text() const; // the opcode: add.s32
  unsigned scope = 0;
};

struct RegisterDecl {
  Type type;
  std::string name;
};

struct Function {
  std::string name;
  std::string file;
  bool isEntry = false;
  bool isDefined = false;
  unsigned line = 0;
  std::vector<std::unique_ptr<Variable>> params, results,
      variables;                // variables: .local, .shared and .param of the body
  uint64_t paramBytes = 0;      // formal parameters, of an entry as the driver passes them
  uint64_t resultBytes = 0;     // results lie before them
  uint64_t frameParamBytes = 0; // with the .param variables of the body
  uint64_t localBytes = 0;
  uint64_t staticShared = 0; // as the driver counts it
  std::vector<RegisterDecl> registers;
  std::vector<Statement> body;
  unsigned maxThreads[3] = {0, 0, 0}, requiredThreads[3] = {0, 0, 0}, requiredCluster[3] = {0, 0, 0};
  unsigned minBlocks = 0, maxRegisters = 0;
  bool explicitCluster = false;
};

struct Program {
  std::string file;
  unsigned version = 0; // 80 for 8.0
  std::string target;   // sm_80
  unsigned addressBits = 64;
  std::vector<std::unique_ptr<Variable>> variables;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::string> lines; // the text, for reports
  const Function *find(std::string_view name) const;
};

/// The program that `text` holds; throws ParseError. `file` names it in messages.
std::unique_ptr<Program> parse(std::string_view text, std::string file);

} // namespace sinter::ptx
