// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the entries of ir/Elementwise.td say (Sinter_Entry), as C++: one file with a part for each place, which defines
// the part's name and includes it. `-gen-pointwise` writes that, `-gen-functions` the declarations that programs see.
// It is the build's own program, linked with LLVM's archives, and shares no process with libLLVM.

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

namespace {
struct Entry {
  explicit Entry(const Record *record)
      : op(record->getName()), name(record->getValueAsString("opName")),
        operands(record->getValueAsDag("arguments")->getNumArgs()), since(record->getValueAsInt("since")),
        record(record) {}
  StringRef operator[](StringRef field) const { return record->getValueAsString(field); }

  StringRef op, name; // AddOp, add
  unsigned operands;
  int64_t since;
  const Record *record;
};
} // namespace

static std::vector<Entry> entriesOf(const RecordKeeper &records) {
  std::vector<Entry> entries;
  for (const Record *record : records.getAllDerivedDefinitions("Sinter_Entry"))
    entries.emplace_back(record);
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.record->getID() < b.record->getID(); });
  return entries;
}

/// The part that `#define GET_<part>` selects.
static void emitPart(raw_ostream &os, StringRef part, ArrayRef<Entry> entries,
                     function_ref<void(const Entry &)> emitEntry) {
  os << "#ifdef GET_" << part << "\n#undef GET_" << part << "\n";
  for_each(entries, emitEntry);
  os << "#endif\n\n";
}

/// `[&](double x) -> double { return BODY; }`, or what stands for a reference that the op does not have.
static std::string lambdaOf(const Entry &entry, StringRef type, StringRef body, StringRef none) {
  if (body.empty())
    return (none + (entry.operands == 1 ? "" : "s")).str();
  std::string parameters = (entry.operands == 1 ? type + " x" : type + " a, " + type + " b").str();
  return ("[&](" + parameters + ") -> " + type + " { return " + body + "; }").str();
}

static void emitPointwise(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Pointwise ops", os);
  std::vector<Entry> entries = entriesOf(records);
  emitPart(os, "POINTWISE_TYPES", entries, [&](const Entry &e) {
    if (!e.record->isSubClassOf("Sinter_PredicateOp"))
      os << "SAME_TYPE(" << e.op << ")\n";
  });
  emitPart(os, "POINTWISE_BODIES", entries,
           [&](const Entry &e) { os << "BODY(" << e.op << ", (" << e["body"] << "))\n"; });
  emitPart(os, "POINTWISE_REFERENCES", entries, [&](const Entry &e) {
    os << "Tensors " << e.op << "::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {\n"
       << "  [[maybe_unused]] Type type = operands[0].elementType();\n"
       << "  return evaluate" << (e.operands == 1 ? "Unary" : "Binary") << "(*this, operands, "
       << lambdaOf(e, "double", e["floats"], "noFloat") << ",\n      " << lambdaOf(e, "int64_t", e["ints"], "noInt")
       << ");\n}\n";
  });
  emitPart(os, "POINTWISE_PARTIALS", entries, [&](const Entry &e) {
    if (!e["partial"].empty())
      os << "static Partial partialOf" << e.op << "([[maybe_unused]] const Point &p, [[maybe_unused]] unsigned i) {\n"
         << "  return " << e["partial"] << ";\n}\n";
  });
  emitPart(os, "POINTWISE_GRADIENTS", entries, [&](const Entry &e) {
    if (e["partial"].empty())
      os << "attachNoGradient<Discrete::Values, " << e.op << ">(context);\n";
    else
      os << "attachPartial<" << e.op << ", partialOf" << e.op << ">(context);\n";
  });
  emitPart(os, "POINTWISE_READERS", entries, [&](const Entry &e) {
    if (e.since)
      os << "r.add(\"" << e["onnx"] << "\", " << e.since << ", " << e.operands << ", import"
         << (e.operands == 1 ? "Unary<" : "Binary<") << e.op << ">);\n";
  });
  emitPart(os, "POINTWISE_WRITERS", entries, [&](const Entry &e) {
    if (!e["write"].empty())
      os << "t.add<" << e.op << ">(+[](" << e.op << " op, OpExport &n) -> LogicalResult {\n  (void)op;\n  return "
         << e["write"] << ";\n});\n";
    else if (!e["onnx"].empty())
      os << "t.addNode<" << e.op << ">(\"" << e["onnx"] << "\");\n";
  });
  emitPart(os, "POINTWISE_FUNCTIONS", entries, [&](const Entry &e) {
    if (StringRef name = e["function"]; !name.empty())
      os << "Tensor " << name << "(const Operand &x) { return detail::math(\"" << name << "\", \"" << e.name
         << "\", x); }\n";
  });
}

static void emitFunctions(const RecordKeeper &records, raw_ostream &os) {
  os << "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n//\n"
     << "// Functions of floats, one element at a time. Made from ir/Elementwise.td.\n\n"
     << "#ifndef SINTER_TRACE_FUNCTIONS_HPP\n#define SINTER_TRACE_FUNCTIONS_HPP\n\n#include \"axes.hpp\"\n\n"
     << "namespace sinter::inline SINTER_HOST {\n\n";
  for (const Entry &entry : entriesOf(records))
    if (StringRef name = entry["function"]; !name.empty())
      os << "/// " << entry["summary"] << "\nTensor " << name << "(const Operand &x);\n";
  os << "\n} // namespace sinter::inline SINTER_HOST\n\n#endif\n";
}

static TableGen::Emitter::Opt pointwise("gen-pointwise", emitPointwise, "pointwise ops, a part for each place");
static TableGen::Emitter::Opt functions("gen-functions", emitFunctions, "declarations of functions of floats");

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  MultiFileTableGenMainFn unused = nullptr;
  return TableGenMain(argv[0], unused);
}
