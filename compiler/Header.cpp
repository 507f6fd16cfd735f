// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Header.h"
#include "backends/schedule/Signature.h"
#include "runtime/abi.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sinter;

static StringRef typeInC(Type elementType) {
  switch (schedule::dtypeOf(elementType)) {
  case SINTER_F64:
    return "double";
  case SINTER_F32:
    return "float";
  case SINTER_F16:
  case SINTER_BF16:
  case SINTER_U16:
    return "uint16_t";
  case SINTER_I8:
    return "int8_t";
  case SINTER_I16:
    return "int16_t";
  case SINTER_I32:
    return "int32_t";
  case SINTER_I64:
    return "int64_t";
  case SINTER_U32:
    return "uint32_t";
  case SINTER_U64:
    return "uint64_t";
  default:
    return "uint8_t"; // ui8, and i1: bytes 0 or 1
  }
}

bool sinter::isReservedInC(StringRef name) {
  static const llvm::StringSet<> words = {"alignas",     "alignof",      "and",       "and_eq",
                                          "asm",         "auto",         "bitand",    "bitor",
                                          "bool",        "break",        "case",      "catch",
                                          "char",        "char16_t",     "char32_t",  "char8_t",
                                          "class",       "co_await",     "co_return", "co_yield",
                                          "compl",       "concept",      "const",     "const_cast",
                                          "consteval",   "constexpr",    "constinit", "continue",
                                          "decltype",    "default",      "delete",    "do",
                                          "double",      "dynamic_cast", "else",      "enum",
                                          "explicit",    "export",       "extern",    "false",
                                          "float",       "for",          "friend",    "goto",
                                          "if",          "inline",       "int",       "long",
                                          "main",        "mutable",      "namespace", "new",
                                          "noexcept",    "not",          "not_eq",    "nullptr",
                                          "operator",    "or",           "or_eq",     "private",
                                          "protected",   "public",       "register",  "reinterpret_cast",
                                          "requires",    "restrict",     "return",    "short",
                                          "signed",      "sizeof",       "static",    "static_assert",
                                          "static_cast", "struct",       "switch",    "template",
                                          "this",        "thread_local", "throw",     "true",
                                          "try",         "typedef",      "typeid",    "typename",
                                          "typeof",      "union",        "unsigned",  "using",
                                          "virtual",     "void",         "volatile",  "wchar_t",
                                          "while",       "xor",          "xor_eq"};
  return words.contains(name);
}

namespace {
/// Names of arguments: valid in C and distinct.
class ArgumentNames {
public:
  std::string make(StringRef text) {
    std::string name = schedule::symbolName(text);
    if (name.empty() || llvm::isDigit(name.front()) || name == "self" || isReservedInC(name))
      name = "_" + name;
    while (!used.insert(name).second)
      name += "_";
    return name;
  }

private:
  llvm::StringSet<> used;
};
} // namespace

static std::string printDims(const schedule::Signature::Tensor &tensor, const std::vector<std::string> &symbols) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(tensor.dims, os, [&](int64_t size) {
    if (size == ShapedType::kDynamic)
      os << '?';
    else if (size < 0)
      os << symbols[-1 - size];
    else
      os << size;
  });
  os << ']';
  return text;
}

/// Declares `int32_t NAME(OBJECT *self, symbols..., inputs..., outputs...)` with a line for each tensor. States are not
/// passed.
static void printRun(llvm::raw_ostream &os, const schedule::Signature &function, StringRef name, StringRef object) {
  ArgumentNames names;
  std::vector<std::string> symbols, arguments = {(object + " *self").str()};
  for (const std::string &symbol : function.symbols) {
    symbols.push_back(names.make(symbol));
    arguments.push_back("int64_t " + symbols.back());
  }
  SmallVector<bool> stateInputs = schedule::statePlaces(function, false),
                    stateOutputs = schedule::statePlaces(function, true);
  os << "/// Runs '" << function.name << "'.\n";
  for (auto [input, isState] : llvm::zip(function.inputs, stateInputs)) {
    if (isState)
      continue;
    std::string argument = names.make(input.name);
    arguments.push_back(("const " + typeInC(input.elementType) + " *" + argument).str());
    os << "///   " << argument << ": " << printDims(input, symbols) << "\n";
  }
  for (auto [output, isState] : llvm::zip(function.outputs, stateOutputs)) {
    if (isState)
      continue;
    std::string argument = names.make(output.name);
    bool unknown = llvm::is_contained(output.dims, ShapedType::kDynamic);
    os << "///   " << argument << ": " << printDims(output, symbols);
    if (unknown) {
      std::string dims = names.make(argument + "_dims");
      arguments.push_back(("const " + typeInC(output.elementType) + " **" + argument).str());
      arguments.push_back("int64_t *" + dims);
      os << ", a view that is valid until the next call; its sizes are written to " << dims << "\n";
    } else {
      arguments.push_back((typeInC(output.elementType) + " *" + argument).str());
      os << ", written\n";
    }
  }
  os << "int32_t " << name << "(" << llvm::join(arguments, ", ") << ");\n";
}

/// One object whose functions share its states.
static void printObject(llvm::raw_ostream &os, ArrayRef<schedule::Signature> functions, StringRef stem) {
  os << "\ntypedef struct " << stem << " " << stem << ";\n\n"
     << "/// An object with the first values of all states, or null. `threads` counts the calling one; 0: all cores.\n"
     << stem << " *" << stem << "_init(int32_t threads);\n"
     << "void " << stem << "_free(" << stem << " *self);\n"
     << "/// The message of the last failure on this thread.\n"
     << "const char *" << stem << "_error(void);\n"
     << "/// All states to a safetensors file, and back: all or none.\n"
     << "int32_t " << stem << "_save(const " << stem << " *self, const char *path);\n"
     << "int32_t " << stem << "_load(" << stem << " *self, const char *path);\n";
  if (schedule::hasSeed(functions))
    os << "/// The seed of all random numbers, part of the states.\n"
       << "int32_t " << stem << "_seed(" << stem << " *self, int64_t seed);\n";
  for (const schedule::Signature &function : functions) {
    os << "\n";
    printRun(os, function, (stem + "_" + schedule::symbolName(function.name)).str(), stem);
  }
}

std::string sinter::printHeader(ArrayRef<schedule::Signature> functions, StringRef stem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string guard = StringRef(schedule::symbolName(stem)).upper() + "_H";
  os << "// Made by sinter. All tensors are row-major; f16, bf16 are passed as bits, booleans as bytes 0 or 1.\n"
     << "// Functions return 0, or a status code with a message in NAME_error(). A session belongs to one thread at a "
        "time.\n\n"
     << "#ifndef " << guard << "\n#define " << guard
     << "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  if (schedule::hasStates(functions)) {
    printObject(os, functions, stem);
    functions = {};
  }
  for (auto [i, function] : llvm::enumerate(functions)) {
    std::string name = schedule::plainName(functions, i, stem);
    os << "\ntypedef struct " << name << " " << name << ";\n\n"
       << "/// A session, or null. `threads` counts the calling one; 0: all cores.\n"
       << name << " *" << name << "_init(int32_t threads);\n"
       << "void " << name << "_free(" << name << " *self);\n"
       << "/// The message of the last failure on this thread.\n"
       << "const char *" << name << "_error(void);\n\n";
    printRun(os, function, name + "_run", name);
  }
  os << "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}
