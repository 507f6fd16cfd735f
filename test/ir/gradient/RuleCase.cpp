// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RuleCase.h"
#include "compiler/Register.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>
#include <regex>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

MLIRContext &sinter::test::context() {
  static MLIRContext *shared = [] {
    DialectRegistry registry;
    registerDialects(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *shared;
}

namespace {
struct OperandSpec {
  bool isConstant = false;
  std::string type;
  SmallVector<int64_t> shape;
  std::vector<double> values;
  double low = -1, high = 1;
};

} // namespace

static std::string elementName(char prefix) {
  return prefix == 'i'   ? "i64"
         : prefix == 'j' ? "i32"
         : prefix == 'b' ? "i1"
         : prefix == 'g' ? "f32"
         : prefix == 'u' ? "ui8"
                         : "f64";
}

/// `ci3=1,2,3`, `?x4@3x4:0.5..2` and the like.
static OperandSpec parseSpec(StringRef text) {
  OperandSpec spec;
  spec.isConstant = text.consume_front("c");
  char prefix = StringRef("ijbgu").contains(text.front()) ? text.front() : 'f';
  if (prefix != 'f')
    text = text.drop_front();
  auto [shapes, rest] = std::pair(text.take_until([](char c) { return c == '=' || c == ':'; }), StringRef());
  rest = text.drop_front(shapes.size());
  auto [symbolic, actual] = shapes.split('@');
  spec.type = "tensor<" + (symbolic == "s" ? "" : symbolic.str() + "x") + elementName(prefix) + ">";
  SmallVector<StringRef> sizes;
  (actual.empty() ? symbolic : actual).split(sizes, 'x');
  for (StringRef size : sizes)
    if (size != "s" && size != "?")
      spec.shape.push_back(std::stoll(size.str()));
  if (rest.consume_front("=")) {
    SmallVector<StringRef> values;
    rest.split(values, ',', -1, /*KeepEmpty=*/false);
    for (StringRef value : values)
      spec.values.push_back(std::stod(value.str()));
  } else if (rest.consume_front(":")) {
    spec.low = std::stod(rest.split("..").first.str());
    spec.high = std::stod(rest.split("..").second.str());
  }
  return spec;
}

static std::string expandAttributes(StringRef attributes) {
  std::string text = attributes.str();
  text = std::regex_replace(text, std::regex(R"(\[\])"), "array<i64>");
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\])"), "array<i64: $1>");
  text = std::regex_replace(text, std::regex(R"(#(\w+) (\w+))"), "#sinter<$1 $2>");
  text = std::regex_replace(text, std::regex(R"(= (-?\d+\.\d+)(,|$))"), "= $1 : f64$2");
  return std::regex_replace(text, std::regex(R"(= (-?\d+)(,|$))"), "= $1 : i64$2");
}

Case::Case(const RuleRow &row) {
  auto [from, to] = StringRef(row.types).split(" -> ");
  SmallVector<StringRef> words, results;
  from.split(words, ' ', -1, false);
  to.split(results, ' ', -1, false);
  std::mt19937 random(17);
  std::string arguments, body, operands, types, resultTypes;
  for (auto [i, word] : llvm::enumerate(words)) {
    OperandSpec spec = parseSpec(word);
    std::string name = "%a" + std::to_string(i);
    operands += (i ? ", " : "") + name;
    types += (i ? ", " : "") + spec.type;
    auto type = cast<RankedTensorType>(parseType(spec.type, &context()));
    HostTensor tensor(type.getElementType(), spec.shape);
    std::uniform_real_distribution<double> draw(spec.low, spec.high);
    std::vector<double> values(static_cast<size_t>(tensor.numElements()));
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = spec.values.empty() ? draw(random) : spec.values[k % spec.values.size()];
    tensor.assignFloats(values);
    if (spec.isConstant) {
      std::string text;
      llvm::raw_string_ostream(text) << tensor.toAttr();
      body += "  " + name + " = sinter.constant " + text + "\n";
    } else {
      arguments += (arguments.empty() ? "" : ", ") + name + ": " + spec.type;
      inputs.push_back(tensor);
    }
  }
  for (auto [i, word] : llvm::enumerate(results))
    resultTypes += (i ? ", " : "") + parseSpec(word).type;
  std::string attributes = expandAttributes(row.attributes), count = std::to_string(results.size());
  if (!attributes.empty())
    attributes = " <{" + attributes + "}>";
  std::string returned = "%r#0";
  for (size_t i = 1; i < results.size(); ++i)
    returned += ", %r#" + std::to_string(i);
  std::string text = "func.func @f(" + arguments + ") -> (" + resultTypes + ") {\n" + body + "  %r:" + count +
                     " = \"sinter." + row.op + "\"(" + operands + ")" + attributes + " : (" + types + ") -> (" +
                     resultTypes + ")\n  return " + returned + " : " + resultTypes + "\n}\n";
  module = parseSourceString<ModuleOp>(text, &context());
  EXPECT_TRUE(module) << text;
  if (module)
    function = *module->getOps<func::FuncOp>().begin();
}

const std::vector<RuleRow> &sinter::test::allRows() {
  static std::vector<RuleRow> rows = [] {
    static std::vector<std::string> texts;
    texts.reserve(1000);
    std::vector<RuleRow> made;
    for (const RuleRow &row : pointwiseRules())
      for (const char *shape : {"s", "4", "2x3", "0x2", "1x1x2", "?x2@3x2"}) {
        std::string plain = StringRef(shape).split('@').first.str();
        std::string types = row.types;
        size_t arrow = types.find("->");
        std::string operands = std::regex_replace(types.substr(0, arrow), std::regex(R"(\$)"), shape);
        texts.push_back(operands + std::regex_replace(types.substr(arrow), std::regex(R"(\$)"), plain));
        made.push_back({row.op, row.attributes, texts.back().c_str()});
      }
    for (const RuleRow &row : otherRules())
      made.push_back(row);
    return made;
  }();
  return rows;
}

std::string sinter::test::rowName(size_t row) {
  std::string name = allRows()[row].op;
  size_t first = row;
  while (first > 0 && StringRef(allRows()[first - 1].op) == name)
    --first;
  return name + "_" + std::to_string(row - first);
}
