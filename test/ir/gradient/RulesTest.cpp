// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every gradient rule against the op that it differentiates, in f64 on the reference evaluator: both modes against
// central differences, each other's transpose, the second order (the gradient's own gradient), and what gradients
// consist of.

#include "RuleTable.h"
#include "compiler/Register.h"
#include "ir/Ops.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <regex>

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

namespace {

using Tensors = SmallVector<HostTensor>;

MLIRContext &context() {
  static MLIRContext *shared = [] {
    DialectRegistry registry;
    registerDialects(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *shared;
}

//===- a row as a function -------------------------------------------------------------------===//

struct OperandSpec {
  bool isConstant = false;
  std::string type;
  SmallVector<int64_t> shape;
  std::vector<double> values;
  double low = -1, high = 1;
};

std::string elementName(char prefix) {
  return prefix == 'i' ? "i64" : prefix == 'j' ? "i32" : prefix == 'b' ? "i1" : prefix == 'g' ? "f32" : "f64";
}

/// `ci3=1,2,3`, `?x4@3x4:0.5..2` and the like.
OperandSpec parseSpec(StringRef text) {
  OperandSpec spec;
  spec.isConstant = text.consume_front("c");
  char prefix = StringRef("ijbg").contains(text.front()) ? text.front() : 'f';
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

std::string expandAttributes(StringRef attributes) {
  std::string text = attributes.str();
  text = std::regex_replace(text, std::regex(R"(\[\])"), "array<i64>");
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\])"), "array<i64: $1>");
  text = std::regex_replace(text, std::regex(R"(#(\w+) (\w+))"), "#sinter<$1 $2>");
  text = std::regex_replace(text, std::regex(R"(= (-?\d+\.\d+)(,|$))"), "= $1 : f64$2");
  return std::regex_replace(text, std::regex(R"(= (-?\d+)(,|$))"), "= $1 : i64$2");
}

/// One op with its inputs.
struct Case {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  Tensors inputs;

  explicit Case(const RuleRow &row) {
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
};

//===- checks --------------------------------------------------------------------------------===//

std::vector<RuleRow> &allRows() {
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

double dot(const Tensors &a, const Tensors &b) {
  double sum = 0;
  for (auto [x, y] : llvm::zip(a, b))
    for (int64_t i = 0; i < x.numElements(); ++i)
      sum += x.getFloat(i) * y.getFloat(i);
  return sum;
}

Tensors randomLike(const Tensors &like, std::mt19937 &random) {
  std::uniform_real_distribution<double> draw(-1, 1);
  Tensors made;
  for (const HostTensor &tensor : like) {
    HostTensor copy(tensor.elementType(), tensor.shape());
    std::vector<double> values(static_cast<size_t>(copy.numElements()));
    for (double &value : values)
      value = draw(random);
    copy.assignFloats(values);
    made.push_back(copy);
  }
  return made;
}

/// inputs + h * tangents, on the arguments `wrt`.
Tensors moved(Tensors inputs, ArrayRef<unsigned> wrt, const Tensors &tangents, double h) {
  for (auto [argument, tangent] : llvm::zip(wrt, tangents)) {
    std::vector<double> values = inputs[argument].toFloats();
    for (int64_t i = 0; i < tangent.numElements(); ++i)
      values[i] += h * tangent.getFloat(i);
    inputs[argument].assignFloats(values);
  }
  return inputs;
}

/// The float tensors of `all`.
Tensors floatsOf(const Tensors &all) {
  Tensors floats;
  for (const HostTensor &tensor : all)
    if (tensor.isFloat())
      floats.push_back(tensor);
  return floats;
}

/// Ops that structure a graph: the gradient walks their regions, or they exist only after it.
bool isStructure(StringRef name) {
  static const llvm::StringSet<> names{"sinter.yield",      "sinter.cond",         "sinter.switch", "sinter.while",
                                       "sinter.for",        "sinter.scan",         "sinter.kernel", "sinter.checkpoint",
                                       "sinter.custom_vjp", "sinter.stop_gradient"};
  return names.contains(name);
}

class Checker {
public:
  explicit Checker(const RuleRow &row) : random(29) {
    name = std::string(row.op) + " {" + row.attributes + "} " + row.types;
  }

  /// Checks `function` at `inputs`, and then its gradients `order - 1` times.
  void check(func::FuncOp function, const Tensors &inputs, int order, bool everyElement) {
    SCOPED_TRACE(name + " order " + std::to_string(order));
    SmallVector<unsigned> wrt;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isDifferentiable(type) && cast<RankedTensorType>(type).getElementType().isF64())
        wrt.push_back(i);
    if (wrt.empty())
      return;
    GradientOptions reverse, forward;
    reverse.mode = GradientMode::Vjp;
    reverse.name = (function.getName() + "_vjp").str();
    forward.mode = GradientMode::Jvp;
    forward.name = (function.getName() + "_jvp").str();
    FailureOr<func::FuncOp> vjp = buildGradient(function, wrt, reverse), jvp = buildGradient(function, wrt, forward);
    ASSERT_TRUE(succeeded(vjp) && succeeded(jvp));
    ASSERT_TRUE(succeeded(verify(*vjp)) && succeeded(verify(*jvp)));
    expectClosed(*vjp);
    expectClosed(*jvp);

    FailureOr<Tensors> results = run(function, inputs);
    ASSERT_TRUE(succeeded(results));
    Tensors primal, outputs = floatsOf(*results);
    for (unsigned i : wrt)
      primal.push_back(inputs[i]);
    Tensors cotangents = randomLike(outputs, random), tangents = randomLike(primal, random);

    Tensors reverseInputs = inputs, forwardInputs = inputs;
    reverseInputs.append(cotangents.begin(), cotangents.end());
    forwardInputs.append(tangents.begin(), tangents.end());
    FailureOr<Tensors> reversed = run(*vjp, reverseInputs), pushed = run(*jvp, forwardInputs);
    ASSERT_TRUE(succeeded(reversed) && succeeded(pushed));
    Tensors dx(reversed->end() - static_cast<ptrdiff_t>(wrt.size()), reversed->end());
    Tensors ty(pushed->end() - static_cast<ptrdiff_t>(outputs.size()), pushed->end());
    for (auto [gradient, input] : llvm::zip(dx, primal))
      ASSERT_EQ(gradient.shape(), input.shape());

    // <v, J t> = <J^T v, t>
    double forwardDot = dot(cotangents, ty), reverseDot = dot(dx, tangents);
    double scale = std::max({1.0, std::abs(forwardDot), std::abs(reverseDot)});
    EXPECT_NEAR(forwardDot, reverseDot, 1e-9 * scale) << "transposes";
    EXPECT_NEAR(difference(function, inputs, wrt, tangents, cotangents), reverseDot, 2e-6 * scale) << "differences";
    // Forward mode result by result.
    Tensors ahead = floatsOf(*run(function, moved(inputs, wrt, tangents, step))),
            back = floatsOf(*run(function, moved(inputs, wrt, tangents, -step)));
    for (auto [k, tangent] : llvm::enumerate(ty)) {
      ASSERT_EQ(tangent.shape(), outputs[k].shape());
      for (int64_t i = 0; i < tangent.numElements(); ++i)
        EXPECT_NEAR((ahead[k].getFloat(i) - back[k].getFloat(i)) / (2 * step), tangent.getFloat(i),
                    2e-6 * std::max(1.0, std::abs(tangent.getFloat(i))))
            << "tangent " << i << " of result " << k;
    }
    // Reverse mode element by element.
    if (everyElement)
      for (auto [k, gradient] : llvm::enumerate(dx))
        for (int64_t i = 0; i < gradient.numElements(); ++i) {
          Tensors one;
          for (const HostTensor &tensor : primal)
            one.push_back(HostTensor(tensor.elementType(), tensor.shape()));
          one[k].setFloat(i, 1);
          EXPECT_NEAR(difference(function, inputs, wrt, one, cotangents), gradient.getFloat(i),
                      2e-6 * std::max(1.0, std::abs(gradient.getFloat(i))))
              << "element " << i << " of the cotangent of argument " << wrt[k];
        }
    if (order > 1 && !::testing::Test::HasFailure()) {
      check(*vjp, reverseInputs, order - 1, false);
      check(*jvp, forwardInputs, order - 1, false);
    }
  }

private:
  /// Rules emit only what can be differentiated again.
  static void expectClosed(func::FuncOp gradient) {
    gradient.walk([](Operation *op) {
      if (isa_and_present<SinterDialect>(op->getDialect()))
        EXPECT_TRUE((isa<Differentiable, NonDifferentiable, Decomposable>(op)) ||
                    isStructure(op->getName().getStringRef()))
            << op->getName().getStringRef().str();
    });
  }
  static FailureOr<Tensors> run(func::FuncOp function, const Tensors &inputs) {
    return Evaluator().run(function.getBody(), inputs);
  }
  /// <cotangents, (f(x + h t) - f(x - h t)) / 2h>
  double difference(func::FuncOp function, const Tensors &inputs, ArrayRef<unsigned> wrt, const Tensors &tangents,
                    const Tensors &cotangents) const {
    FailureOr<Tensors> ahead = run(function, moved(inputs, wrt, tangents, step)),
                       back = run(function, moved(inputs, wrt, tangents, -step));
    return (dot(cotangents, floatsOf(*ahead)) - dot(cotangents, floatsOf(*back))) / (2 * step);
  }

  static constexpr double step = 1e-5;
  std::string name;
  std::mt19937 random;
};

class RuleTest : public ::testing::TestWithParam<size_t> {};

TEST_P(RuleTest, AgreesWithDifferences) {
  const RuleRow &row = allRows()[GetParam()];
  Case one(row);
  ASSERT_TRUE(one.function);
  Checker(row).check(one.function, one.inputs, 2, true);
}

std::string rowName(const ::testing::TestParamInfo<size_t> &info) {
  std::string name = allRows()[info.param].op;
  size_t first = info.param;
  while (first > 0 && StringRef(allRows()[first - 1].op) == name)
    --first;
  return name + "_" + std::to_string(info.param - first);
}
INSTANTIATE_TEST_SUITE_P(Table, RuleTest, ::testing::Range(size_t(0), allRows().size()), rowName);

//===- ties, zeros and infinities ------------------------------------------------------------===//

constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

/// The cotangents of the float arguments under cotangents of 1, and that the other mode says the same in sum.
void expectGradient(const RuleRow &row, const std::vector<std::vector<double>> &expected) {
  SCOPED_TRACE(std::string(row.op) + " " + row.types);
  Case one(row);
  ASSERT_TRUE(one.function);
  SmallVector<unsigned> wrt;
  for (auto [i, type] : llvm::enumerate(one.function.getArgumentTypes()))
    if (isDifferentiable(type))
      wrt.push_back(i);
  ASSERT_EQ(wrt.size(), expected.size());
  FailureOr<func::FuncOp> vjp = buildGradient(one.function, wrt);
  ASSERT_TRUE(succeeded(vjp));
  Tensors inputs = one.inputs;
  for (Type type : vjp->getArgumentTypes().drop_front(inputs.size())) {
    HostTensor ones(cast<RankedTensorType>(type).getElementType(), cast<RankedTensorType>(type).getShape());
    ones.assignFloats(std::vector<double>(static_cast<size_t>(ones.numElements()), 1));
    inputs.push_back(ones);
  }
  FailureOr<Tensors> results = Evaluator().run(vjp->getBody(), inputs);
  ASSERT_TRUE(succeeded(results));
  for (auto [k, wanted] : llvm::enumerate(expected)) {
    std::vector<double> actual = (*results)[results->size() - wrt.size() + k].toFloats();
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(actual[i]) : actual[i] == wanted[i])
          << "element " << i << " of cotangent " << k << " is " << actual[i] << " instead of " << wanted[i];
  }
}

TEST(Limits, AbsAndSteps) {
  expectGradient({"abs", "", "4=-2,0,3,-0 -> 4"}, {{-1, 0, 1, 0}});
  expectGradient({"sign", "", "3=-2,0,3 -> 3"}, {{0, 0, 0}});
  expectGradient({"round", "", "2=0.5,1.5 -> 2"}, {{0, 0}});
}

TEST(Limits, TiesOfMaxAndMinAreShared) {
  expectGradient({"max", "", "3=1,2,3 3=2,2,1 -> 3"}, {{0, 0.5, 1}, {1, 0.5, 0}});
  expectGradient({"min", "", "3=1,2,3 3=2,2,1 -> 3"}, {{1, 0.5, 0}, {0, 0.5, 1}});
}

TEST(Limits, AConstantTakesTheTie) { // relu
  expectGradient({"max", "", "3=-1,0,1 c3=0,0,0 -> 3"}, {{0, 0, 1}});
  expectGradient({"min", "", "c3=0,0,0 3=-1,0,1 -> 3"}, {{1, 0, 0}});
}

TEST(Limits, BoundsTakeTheTiesOfClamp) {
  expectGradient({"clamp", "", "3=-1,-1,-1 3=-1,0,1 3=1,1,1 -> 3"}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
  expectGradient({"clamp", "", "1=2 1=0 1=1 -> 1"}, {{0}, {0}, {1}});
}

TEST(Limits, PowersOfZero) {
  expectGradient({"pow", "", "5=0,0,0,0,0 5=2,1,0,0.5,-1 -> 5"}, {{0, 1, 0, inf, -inf}, {0, 0, 0, 0, -inf}});
  expectGradient({"pow", "", "2=-2,-2 2=3,2 -> 2"}, {{12, -4}, {nan, nan}});
  expectGradient({"pow", "", "2=0,-2 c2=2,2 -> 2"}, {{0, -4}});
  expectGradient({"pow", "", "2=0,3 c2=0,0 -> 2"}, {{0, 0}});
}

TEST(Limits, InfiniteSlopes) {
  expectGradient({"sqrt", "", "2=0,4 -> 2"}, {{inf, 0.25}});
  expectGradient({"log", "", "1=0 -> 1"}, {{inf}});
  expectGradient({"div", "", "1=0 1=2 -> 1"}, {{0.5}, {0}});
  expectGradient({"atan2", "", "1=0 1=0 -> 1"}, {{nan}, {nan}});
}

TEST(Limits, ProductsWithZeros) {
  expectGradient({"reduce", "axes = [0], combiner = #combiner mul", "3=2,0,3 -> s"}, {{0, 6, 0}});
  expectGradient({"reduce", "axes = [0], combiner = #combiner mul", "3=0,0,3 -> s"}, {{0, 0, 0}});
  expectGradient({"cumulative", "axis = 0, combiner = #combiner mul", "3=2,0,3 -> 3"}, {{1, 8, 0}});
  expectGradient({"scatter_elements", "axis = 0, combiner = #combiner mul", "2=2,5 i3=0,0,1 3=0,3,0 -> 2"},
                 {{0, 0}, {6, 0, 5}});
}

TEST(Limits, ExtremaOfMany) {
  expectGradient({"reduce", "axes = [0], combiner = #combiner max", "4=2,1,2,0 -> s"}, {{0.5, 0, 0.5, 0}});
  expectGradient({"cumulative", "axis = 0, combiner = #combiner max", "4=2,2,1,3 -> 4"}, {{3, 0, 0, 1}});
  expectGradient({"scatter_elements", "axis = 0, combiner = #combiner max", "2=2,5 i3=0,0,1 3=2,1,0 -> 2"},
                 {{0.5, 1}, {0.5, 0, 0}});
}

TEST(Limits, WindowsTakeTheFirst) {
  expectGradient({"reduce_window",
                  "combiner = #combiner max, window = [2], strides = [2], low = [0], high = [0], dilations = [1]",
                  "4=1,1,2,3 -> 2"},
                 {{1, 0, 0, 1}});
  // The first window lies in the padding.
  expectGradient({"reduce_window",
                  "combiner = #combiner min, window = [2], strides = [2], low = [2], high = [0], dilations = [1]",
                  "2=2,1 -> 2"},
                 {{0, 1}});
}

TEST(Limits, TheLastWriteWins) {
  expectGradient({"scatter_elements", "axis = 0, combiner = #combiner set", "2 i3=0,0,7 3 -> 2"}, {{0, 1}, {0, 1, 0}});
}

TEST(Limits, ReadsOutsideAreThoseOfTheBorder) {
  expectGradient({"gather", "axis = 0", "3 i3=-9,5,-1 -> 3"}, {{1, 0, 2}});
}

TEST(Limits, OrdersAreStable) {
  expectGradient({"sort", "axis = 0", "3=1,1,0 -> 3 i3"}, {{1, 1, 1}});
  expectGradient({"top_k", "axis = 0", "3=1,1,0 cis=1 -> 1 i1"}, {{1, 0, 0}});
}

TEST(Limits, SingularMatricesHaveCofactors) {
  expectGradient({"det", "", "2x2=1,2,2,4 -> s"}, {{4, -2, -2, 1}});
  expectGradient({"det", "", "2x2=0,0,0,0 -> s"}, {{0, 0, 0, 0}});
}

//===- the whole dialect ---------------------------------------------------------------------===//

TEST(Rules, EveryOpHasAGradientOrSaysWhyNot) {
  for (RegisteredOperationName op : context().getRegisteredOperations()) {
    if (!isa<SinterDialect>(&op.getDialect()) || isStructure(op.getStringRef()))
      continue;
    EXPECT_TRUE(op.hasInterface<Differentiable>() || op.hasInterface<NonDifferentiable>() ||
                op.hasInterface<Decomposable>())
        << op.getStringRef().str() << " has neither a gradient rule, a decomposition, nor a reason";
    EXPECT_FALSE(op.hasInterface<Differentiable>() && op.hasInterface<NonDifferentiable>()) << op.getStringRef().str();
  }
}

TEST(Rules, EveryRuleIsTestedInFiveConfigurations) {
  llvm::StringMap<int> rows;
  for (const RuleRow &row : allRows())
    ++rows[("sinter." + StringRef(row.op)).str()];
  for (RegisteredOperationName op : context().getRegisteredOperations()) {
    if (!isa<SinterDialect>(&op.getDialect()) || isStructure(op.getStringRef()) || op.hasInterface<NonDifferentiable>())
      continue;
    EXPECT_GE(rows.lookup(op.getStringRef()), 5) << op.getStringRef().str();
  }
}

} // namespace
