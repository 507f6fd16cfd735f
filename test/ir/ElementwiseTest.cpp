// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of elementwise ops where they are easy to get wrong, and bodies, compiled for lanes, against the values.

#include "ir/Elementwise.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "test/Jit.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

class ElementwiseTest : public ::testing::Test {
protected:
  ElementwiseTest() : context(makeRegistry(), MLIRContext::Threading::DISABLED) { context.loadAllAvailableDialects(); }

  static const DialectRegistry &makeRegistry() {
    static DialectRegistry registry;
    registry.insert<SinterDialect>();
    test::Jit::registerDialects(registry);
    return registry;
  }

  /// `op` of operands of `types` (element types), in a function of `lanes` elements each.
  Operation *parse(const std::string &op, ArrayRef<std::string> types, const std::string &result,
                   const std::string &attrs, int64_t lanes) {
    auto tensor = [&](const std::string &type) { return "tensor<" + std::to_string(lanes) + "x" + type + ">"; };
    std::string args, names, operands;
    for (auto [i, type] : llvm::enumerate(types)) {
      std::string comma = i ? ", " : "", name = "%a" + std::to_string(i);
      args += comma + name + ": " + tensor(type);
      names += comma + name;
      operands += comma + tensor(type);
    }
    module = parseSourceString<ModuleOp>("func.func @f(" + args + ") { %r = sinter." + op + " " + names + " " + attrs +
                                             " : (" + operands + ") -> " + tensor(result) + " return }",
                                         &context);
    if (!module)
      return nullptr;
    return &cast<func::FuncOp>(module->lookupSymbol("f")).getBody().front().front();
  }

  Type elementType(const std::string &text) {
    Type type = mlir::parseType(text, &context);
    return type;
  }

  template <typename T> HostTensor tensor(const std::string &type, ArrayRef<T> values) {
    HostTensor result(elementType(type), {static_cast<int64_t>(values.size())});
    if constexpr (std::is_same_v<T, double>)
      result.assignFloats(values);
    else
      result.assignInts(values);
    return result;
  }

  /// The first result of `op` on rank-1 operands.
  HostTensor evaluate(const std::string &op, ArrayRef<HostTensor> operands, const std::string &result = "",
                      const std::string &attrs = "") {
    SmallVector<std::string> types;
    for (const HostTensor &operand : operands)
      types.push_back(print(operand.elementType()));
    Operation *parsed = parse(op, types, result.empty() ? types.front() : result, attrs, operands[0].numElements());
    EXPECT_TRUE(parsed) << op;
    Evaluator evaluator;
    FailureOr<SmallVector<HostTensor>> results = evaluator.run(parsed, operands);
    EXPECT_TRUE(succeeded(results)) << op;
    return results->front();
  }

  static std::string print(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  void expectFloats(const std::string &op, ArrayRef<double> x, ArrayRef<double> wanted,
                    const std::string &type = "f32") {
    compare(op, evaluate(op, {tensor(type, x)}), wanted);
  }
  void compare(const std::string &op, const HostTensor &got, ArrayRef<double> wanted) {
    ASSERT_EQ(got.numElements(), static_cast<int64_t>(wanted.size())) << op;
    for (int64_t i = 0; i < got.numElements(); ++i) {
      bool same = std::isnan(wanted[i])
                      ? std::isnan(got.getFloat(i))
                      : got.getFloat(i) == wanted[i] && std::signbit(got.getFloat(i)) == std::signbit(wanted[i]);
      EXPECT_TRUE(same) << op << " element " << i << ": got " << got.getFloat(i) << ", wanted " << wanted[i];
    }
  }
  void expectInts(const std::string &op, const std::string &type, ArrayRef<int64_t> x, ArrayRef<int64_t> y,
                  ArrayRef<int64_t> wanted) {
    HostTensor got = evaluate(op, {tensor(type, x), tensor(type, y)});
    EXPECT_EQ(got.toInts(), tensor(type, wanted).toInts()) << op << " of " << type;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ElementwiseTest, SpecialFloats) {
  expectFloats("sign", {kNan, -0.0, 0.0, -3, kInf}, {kNan, -0.0, 0.0, -1, 1});
  expectFloats("round", {0.5, 1.5, -2.5, -0.5}, {0, 2, -2, -0.0});
  expectFloats("rsqrt", {0, kInf, 4, -1}, {kInf, 0, 0.5, kNan});
  expectFloats("logistic", {-kInf, kInf, 0, kNan}, {0, 1, 0.5, kNan});
  expectFloats("log", {0, -1, kInf}, {-kInf, kNan, kInf});
  expectFloats("exp", {1000, -1000, 0}, {kInf, 0, 1}, "f16");
  compare("max", evaluate("max", {tensor<double>("f32", {kNan, 1, 2}), tensor<double>("f32", {1, kNan, 3})}),
          {kNan, kNan, 3});
  compare("rem", evaluate("rem", {tensor<double>("f64", {5, -5, 5}), tensor<double>("f64", {3, 3, -3})}), {2, -2, 2});
}

TEST_F(ElementwiseTest, IntegersWrapAndNeverTrap) {
  expectInts("add", "i8", {127, -128}, {1, -1}, {-128, 127});
  expectInts("mul", "ui8", {200, 16}, {2, 16}, {144, 0});
  expectInts("div", "i8", {7, -7, -128, 5}, {-2, 2, -1, 0}, {-3, -3, -128, -1});
  expectInts("div", "ui8", {7, 200, 5}, {2, 7, 0}, {3, 28, 255});
  expectInts("rem", "i32", {7, -7, std::numeric_limits<int32_t>::min(), 5}, {-2, 2, -1, 0}, {1, -1, 0, 5});
  expectInts("pow", "i32", {3, -1, -1, 1, 2, 0, 2}, {4, -3, -2, -9, -1, -1, 32}, {81, -1, 1, 1, 0, -1, 0});
  expectInts("shift_left", "i8", {1, 1, 1, 1}, {0, 7, 8, -1}, {1, -128, 0, 0});
  expectInts("shift_right", "i8", {-128, -128, 64}, {1, 9, -1}, {-64, -1, 0});
  expectInts("shift_right", "ui8", {128, 128, 255}, {7, 8, 255}, {1, 0, 0});
  expectInts("max", "ui64", {-1}, {1}, {-1});
  expectInts("max", "i1", {0, 1}, {1, 1}, {1, 1});
}

TEST_F(ElementwiseTest, ConversionsSaturateWrapAndRoundOnce) {
  auto convert = [&](const HostTensor &x, const std::string &type) {
    return evaluate("convert", {x}, type, "{element_type = " + type + "}");
  };
  HostTensor floats = tensor<double>("f32", {kNan, kInf, -kInf, -1.9, 300});
  EXPECT_EQ(convert(floats, "i8").toInts(), (std::vector<int64_t>{0, 127, -128, -1, 127}));
  EXPECT_EQ(convert(floats, "ui8").toInts(), (std::vector<int64_t>{0, 255, 0, 0, 255}));
  EXPECT_EQ(convert(floats, "i1").toInts(), (std::vector<int64_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(convert(tensor<int64_t>("i32", {300, -1}), "ui8").toInts(), (std::vector<int64_t>{44, 255}));
  // 2^54 + 2^30 + 1 lies above the middle of two f32 numbers; by way of f64 the 1 would be lost.
  int64_t tie = (int64_t(1) << 54) + (int64_t(1) << 30) + 1;
  EXPECT_EQ(convert(tensor<int64_t>("i64", {tie}), "f32").getFloat(0), 0x1.000002p54);
}

/// Elements that exercise ranges and limits of `type`.
std::vector<double> interestingValues(Type type) {
  if (isa<FloatType>(type))
    return {0.0,   -0.0, 1.0,   -1.0, 0.5, -2.5,   3.0,   7.25, -7.0,         100.0,  -100.0,  kInf,
            -kInf, kNan, 300.0, -300, 1e4, 1.0e-3, 2.0e5, -2e5, 2147483648.0, 1.0e10, -1.0e10, 9.3e18};
  if (type.isInteger(1))
    return {0, 1, 1, 0, 1, 0, 0, 1};
  unsigned width = type.getIntOrFloatBitWidth();
  double most = std::ldexp(1.0, static_cast<int>(width) - (isUnsigned(type) ? 0 : 1)), step = width > 32 ? 4096 : 1;
  std::vector<double> values{0, 1, 2, 3, 5, 7, 8, 31, 33, 100, 127, most - step, most / 2, 64, 17, 6};
  if (isUnsigned(type))
    values.insert(values.end(), {11, 13, 21, 9, 4, 63, 65, 200});
  else
    values.insert(values.end(), {-1, -2, -3, -7, -100, -most, -most + step, -8});
  return values;
}

/// Bodies on lanes in one module, with what they should compute.
class Bodies {
public:
  explicit Bodies(MLIRContext &context)
      : module(ModuleOp::create(UnknownLoc::get(&context))), b(UnknownLoc::get(&context), &context) {}

  /// Adds the body of `op`, whose operands and result have as many elements as there are values.
  void add(const std::string &name, Operation *op, ArrayRef<HostTensor> operands, const HostTensor &wanted) {
    constexpr int64_t lanes = 8;
    int64_t count = wanted.numElements();
    b.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> buffers;
    for (Type type : op->getOperandTypes())
      buffers.push_back(MemRefType::get({count}, storage(getElementTypeOrSelf(type))));
    buffers.push_back(MemRefType::get({count}, storage(wanted.elementType())));
    auto function = func::FuncOp::create(b, "f" + std::to_string(cases.size()), b.getFunctionType(buffers, {}));
    Block *block = function.addEntryBlock();
    b.setInsertionPointToStart(block);
    auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
    auto loop = scf::ForOp::create(b, index(0), index(count), index(lanes));
    func::ReturnOp::create(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> args;
    for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
      auto vector = VectorType::get({lanes}, storage(getElementTypeOrSelf(type)));
      Value value = vector::LoadOp::create(b, vector, block->getArgument(i), loop.getInductionVar());
      if (getElementTypeOrSelf(type).isInteger(1))
        value = arith::TruncIOp::create(b, vector.clone(b.getI1Type()), value);
      args.push_back(value);
    }
    Value result = cast<Pointwise>(op).buildBody(b, b.getLoc(), args);
    auto vector = VectorType::get({lanes}, storage(wanted.elementType()));
    ASSERT_EQ(getElementTypeOrSelf(result.getType()), signless(wanted.elementType())) << name;
    if (wanted.elementType().isInteger(1))
      result = arith::ExtUIOp::create(b, vector, result);
    vector::StoreOp::create(b, result, block->getArguments().back(), loop.getInductionVar());
    cases.push_back({name, SmallVector<HostTensor>(operands), wanted});
  }

  void check() {
    test::Jit jit(*module, [](RewritePatternSet &) {});
    for (auto [i, c] : llvm::enumerate(cases)) {
      HostTensor got(c.wanted.elementType(), c.wanted.shape());
      SmallVector<const void *> pointers(4);
      for (auto [k, operand] : llvm::enumerate(c.operands))
        pointers[k] = std::as_const(operand).data();
      pointers[c.operands.size()] = got.data();
      auto call = jit.lookup<void (*)(const void *, const void *, const void *, const void *)>("f" + std::to_string(i));
      ASSERT_TRUE(call) << c.name;
      call(pointers[0], pointers[1], pointers[2], pointers[3]);
      int reported = 0;
      for (int64_t k = 0; k < got.numElements(); ++k)
        if (!agrees(got, c.wanted, k) && ++reported <= 3) {
          std::string operands;
          for (const HostTensor &operand : c.operands)
            operands += " " + std::to_string(operand.getFloat(k));
          ADD_FAILURE() << c.name << " of" << operands << ": body " << got.getFloat(k) << ", value "
                        << c.wanted.getFloat(k);
        }
    }
  }

private:
  static Type storage(Type type) { return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : signless(type); }
  /// Within two units in the last place; 16-bit floats are rounded twice.
  static bool agrees(const HostTensor &got, const HostTensor &wanted, int64_t k) {
    auto type = dyn_cast<FloatType>(wanted.elementType());
    if (!type)
      return got.getInt(k) == wanted.getInt(k);
    double x = got.getFloat(k), y = wanted.getFloat(k);
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) && std::isnan(y);
    if (x == y)
      return true;
    const llvm::fltSemantics &semantics = type.getFloatSemantics();
    double ulp = std::ldexp(1.0, 1 - static_cast<int>(llvm::APFloat::semanticsPrecision(semantics)));
    double least = llvm::APFloat::getSmallestNormalized(semantics).convertToDouble();
    return std::fabs(x - y) <= 2 * ulp * std::max(std::fabs(y), least);
  }

  struct Case {
    std::string name;
    SmallVector<HostTensor> operands;
    HostTensor wanted;
  };
  OwningOpRef<ModuleOp> module;
  ImplicitLocOpBuilder b;
  std::vector<Case> cases;
};

struct BodyCase {
  const char *op;
  unsigned operands;
  const char *types; // separated by spaces
};

TEST_F(ElementwiseTest, BodiesComputeTheValues) {
  const char *numbers = "f64 f32 f16 bf16 i8 i16 i32 i64 ui8 ui16 ui32 ui64";
  const char *floats = "f64 f32 f16 bf16";
  const char *integers = "i8 i16 i32 i64 ui8 ui16 ui32 ui64";
  const char *logical = "i1 i8 i32 ui16 i64";
  const BodyCase cases[] = {
      {"abs", 1, numbers},         {"neg", 1, numbers},          {"sign", 1, numbers},       {"ceil", 1, floats},
      {"floor", 1, floats},        {"round", 1, floats},         {"sqrt", 1, floats},        {"exp", 1, floats},
      {"log", 1, floats},          {"tanh", 1, floats},          {"erf", 1, floats},         {"logistic", 1, floats},
      {"sin", 1, floats},          {"log1p", 1, floats},         {"rsqrt", 1, floats},       {"not", 1, logical},
      {"is_nan", 1, floats},       {"is_inf", 1, floats},        {"add", 2, numbers},        {"sub", 2, numbers},
      {"mul", 2, numbers},         {"div", 2, numbers},          {"rem", 2, integers},       {"pow", 2, integers},
      {"max", 2, numbers},         {"min", 2, numbers},          {"max", 2, "i1"},           {"min", 2, "i1"},
      {"atan2", 2, floats},        {"and", 2, logical},          {"or", 2, logical},         {"xor", 2, logical},
      {"shift_left", 2, integers}, {"shift_right", 2, integers}, {"clamp", 3, numbers},      {"compare eq", 2, numbers},
      {"compare ne", 2, numbers},  {"compare lt", 2, numbers},   {"compare ge", 2, numbers}, {"pow", 2, "f64 f32"},
  };
  Bodies bodies(context);
  auto add = [&](const std::string &op, unsigned arity, const std::string &from, const std::string &to,
                 const std::string &attrs) {
    Type type = elementType(from);
    std::vector<double> values = interestingValues(type);
    // All pairs; a third operand takes them in yet another order.
    size_t n = values.size(), count = arity == 1 ? n : n * n;
    SmallVector<std::vector<double>, 3> lists(arity, std::vector<double>(count));
    for (size_t i = 0; i < count; ++i)
      for (unsigned k = 0; k < arity; ++k)
        lists[k][i] = values[k == 0 ? i % n : k == 1 ? i / n : (i * 7 + i / n) % n];
    SmallVector<HostTensor> operands;
    for (const std::vector<double> &list : lists)
      operands.push_back(tensor<double>(from, list));
    Operation *parsed = parse(op, SmallVector<std::string>(arity, from), to, attrs, static_cast<int64_t>(count));
    ASSERT_TRUE(parsed) << op << " of " << from;
    Evaluator evaluator;
    FailureOr<SmallVector<HostTensor>> wanted = evaluator.run(parsed, operands);
    ASSERT_TRUE(succeeded(wanted)) << op << " of " << from;
    bodies.add(op + " " + from + " " + to, parsed, operands, wanted->front());
  };
  for (const BodyCase &c : cases) {
    SmallVector<StringRef> types;
    StringRef(c.types).split(types, ' ');
    bool isPredicate = StringRef(c.op).starts_with("compare") || StringRef(c.op).starts_with("is_");
    for (StringRef type : types)
      add(c.op, c.operands, type.str(), isPredicate ? "i1" : type.str(), "");
  }
  const char *elements[] = {"f64", "f32", "f16", "bf16", "i1",   "i8",  "i16",
                            "i32", "i64", "ui8", "ui16", "ui32", "ui64"};
  for (const char *from : elements)
    for (const char *to : elements)
      add("convert", 1, from, to, std::string("{element_type = ") + to + "}");
  bodies.check();
}

} // namespace
