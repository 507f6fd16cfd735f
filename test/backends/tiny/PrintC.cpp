// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PrintC.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

const char *const sinter::tiny::kPrelude = R"(#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define MAXIMUM(T, name) static T name(T x, T y) { return x != x ? x : y != y ? y : x == y ? (signbit(x) ? y : x) : x > y ? x : y; }
#define MINIMUM(T, name) static T name(T x, T y) { return x != x ? x : y != y ? y : x == y ? (signbit(x) ? x : y) : x < y ? x : y; }
MAXIMUM(float, maximumf_) MINIMUM(float, minimumf_) MAXIMUM(double, maximum_) MINIMUM(double, minimum_)
#define BITS(name, F, T) static T name(F x) { T y; memcpy(&y, &x, sizeof y); return y; }
BITS(int_to_float, int32_t, float) BITS(float_to_int, float, int32_t) BITS(long_to_double, int64_t, double) BITS(double_to_long, double, int64_t)
)";

namespace {
class Printer {
public:
  explicit Printer(std::string &text) : os(text) {}

  bool print(func::FuncOp function) {
    os << "int32_t " << function.getName() << "(const int64_t *words) {\n";
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      if (auto buffer = dyn_cast<MemRefType>(argument.getType())) {
        std::string type = typeOf(buffer.getElementType());
        os << type << " *" << name(argument) << " = (" << type << " *)words[" << i << "];\n";
      } else {
        os << "int64_t " << name(argument) << " = words[" << i << "];\n";
      }
    }
    printBlock(function.getBody().front());
    os << "}\n";
    return unknown.empty();
  }

  std::string unknown;

private:
  std::string typeOf(Type type) {
    if (type.isIndex())
      return "int64_t";
    if (type.isF32() || type.isF64())
      return type.isF32() ? "float" : "double";
    if (type.isInteger(1))
      return "bool";
    for (unsigned width : {8, 16, 32, 64})
      if (type.isInteger(width))
        return "int" + std::to_string(width) + "_t";
    llvm::raw_string_ostream(unknown) << type;
    return "void";
  }
  std::string unsignedOf(Type type) { return type.isInteger(1) ? "bool" : "u" + typeOf(type); }
  std::string name(Value value) {
    auto [it, isNew] = names.try_emplace(value);
    if (isNew)
      it->second = "v" + std::to_string(names.size());
    return it->second;
  }
  void declare(Value value) { os << typeOf(value.getType()) << " " << name(value) << ";\n"; }
  void assign(Value value, const std::string &text) {
    os << typeOf(value.getType()) << " " << name(value) << " = " << text << ";\n";
  }

  /// %0, %1 are operands as they are, $0, $1 without their sign, T and U the result's type and that without sign; an F
  /// is "f" for functions of floats.
  std::string fill(StringRef form, Operation *op) {
    std::string text;
    for (size_t i = 0; i < form.size(); ++i) {
      char c = form[i];
      if ((c == '%' || c == '$') && i + 1 < form.size() && llvm::isDigit(form[i + 1])) {
        Value operand = op->getOperand(form[++i] - '0');
        text += c == '$' ? "(" + unsignedOf(operand.getType()) + ")" + name(operand) : name(operand);
      } else if (c == 'T' || c == 'U') {
        Type type = op->getResult(0).getType();
        text += c == 'T' ? typeOf(type) : unsignedOf(type);
      } else if (c == 'F') {
        text += op->getOperand(0).getType().isF32() ? "f" : "";
      } else {
        text += c;
      }
    }
    return text;
  }

  static const llvm::StringMap<std::string> &forms() {
    static const llvm::StringMap<std::string> table = [] {
      llvm::StringMap<std::string> t = {{"arith.addi", "(T)($0 + $1)"},
                                        {"arith.subi", "(T)($0 - $1)"},
                                        {"arith.muli", "(T)((uint64_t)$0 * (uint64_t)$1)"},
                                        {"arith.andi", "%0 & %1"},
                                        {"arith.ori", "%0 | %1"},
                                        {"arith.xori", "%0 ^ %1"},
                                        {"arith.shli", "(T)($0 << %1)"},
                                        {"arith.shrui", "(T)($0 >> %1)"},
                                        {"arith.shrsi", "%0 >> %1"},
                                        {"arith.divsi", "%0 / %1"},
                                        {"arith.divui", "(T)($0 / $1)"},
                                        {"arith.remsi", "%0 % %1"},
                                        {"arith.remui", "(T)($0 % $1)"},
                                        {"arith.floordivsi", "%0 / %1 - (%0 % %1 != 0 && (%0 % %1 < 0) != (%1 < 0))"},
                                        {"arith.ceildivsi", "%0 / %1 + (%0 % %1 != 0 && (%0 % %1 < 0) == (%1 < 0))"},
                                        {"arith.maxsi", "%0 > %1 ? %0 : %1"},
                                        {"arith.minsi", "%0 < %1 ? %0 : %1"},
                                        {"arith.maxui", "$0 > $1 ? %0 : %1"},
                                        {"arith.minui", "$0 < $1 ? %0 : %1"},
                                        {"arith.addf", "%0 + %1"},
                                        {"arith.subf", "%0 - %1"},
                                        {"arith.mulf", "%0 * %1"},
                                        {"arith.divf", "%0 / %1"},
                                        {"arith.remf", "fmodF(%0, %1)"},
                                        {"arith.negf", "-%0"},
                                        {"arith.maximumf", "maximumF_(%0, %1)"},
                                        {"arith.minimumf", "minimumF_(%0, %1)"},
                                        {"arith.maxnumf", "fmaxF(%0, %1)"},
                                        {"arith.minnumf", "fminF(%0, %1)"},
                                        {"arith.select", "%0 ? %1 : %2"},
                                        {"arith.extsi", "(T)%0"},
                                        {"arith.extui", "(T)$0"},
                                        {"arith.trunci", "(T)%0"},
                                        {"arith.index_cast", "(T)%0"},
                                        {"arith.index_castui", "(T)$0"},
                                        {"arith.sitofp", "(T)%0"},
                                        {"arith.uitofp", "(T)$0"},
                                        {"arith.fptosi", "(T)%0"},
                                        {"arith.fptoui", "(T)(U)%0"},
                                        {"arith.extf", "(T)%0"},
                                        {"arith.truncf", "(T)%0"},
                                        {"math.absi", "%0 < 0 ? (T)(0 - $0) : %0"},
                                        {"math.fma", "fmaF(%0, %1, %2)"},
                                        {"math.rsqrt", "1 / sqrtF(%0)"},
                                        {"math.powf", "powF(%0, %1)"},
                                        {"math.atan2", "atan2F(%0, %1)"},
                                        {"math.copysign", "copysignF(%0, %1)"},
                                        {"math.absf", "fabsF(%0)"},
                                        {"math.isnan", "%0 != %0"},
                                        {"math.isinf", "(bool)isinf(%0)"},
                                        {"math.isfinite", "(bool)isfinite(%0)"},
                                        {"math.roundeven", "rintF(%0)"}};
      for (const char *function : {"exp",   "exp2", "expm1", "log",  "log2", "log10", "log1p", "sin",   "cos",
                                   "tan",   "asin", "acos",  "atan", "sinh", "cosh",  "tanh",  "asinh", "acosh",
                                   "atanh", "erf",  "erfc",  "sqrt", "cbrt", "ceil",  "floor", "round", "trunc"})
        t[std::string("math.") + function] = std::string(function) + "F(%0)";
      return t;
    }();
    return table;
  }

  static std::string predicate(arith::CmpIPredicate predicate) {
    using P = arith::CmpIPredicate;
    switch (predicate) {
    case P::eq:
      return "%0 == %1";
    case P::ne:
      return "%0 != %1";
    case P::slt:
      return "%0 < %1";
    case P::sle:
      return "%0 <= %1";
    case P::sgt:
      return "%0 > %1";
    case P::sge:
      return "%0 >= %1";
    case P::ult:
      return "$0 < $1";
    case P::ule:
      return "$0 <= $1";
    case P::ugt:
      return "$0 > $1";
    case P::uge:
      return "$0 >= $1";
    }
    return "";
  }

  static std::string predicate(arith::CmpFPredicate predicate) {
    using P = arith::CmpFPredicate;
    switch (predicate) {
    case P::OEQ:
      return "%0 == %1";
    case P::OGT:
      return "%0 > %1";
    case P::OGE:
      return "%0 >= %1";
    case P::OLT:
      return "%0 < %1";
    case P::OLE:
      return "%0 <= %1";
    case P::ONE:
      return "%0 < %1 || %0 > %1";
    case P::ORD:
      return "%0 == %0 && %1 == %1";
    case P::UNO:
      return "%0 != %0 || %1 != %1";
    case P::UEQ:
      return "!(%0 < %1 || %0 > %1)";
    case P::UGT:
      return "!(%0 <= %1)";
    case P::UGE:
      return "!(%0 < %1)";
    case P::ULT:
      return "!(%0 >= %1)";
    case P::ULE:
      return "!(%0 > %1)";
    case P::UNE:
      return "%0 != %1";
    case P::AlwaysFalse:
      return "0";
    case P::AlwaysTrue:
      return "1";
    }
    return "";
  }

  std::string number(TypedAttr value) {
    std::string text;
    llvm::raw_string_ostream out(text);
    if (auto integer = dyn_cast<IntegerAttr>(value)) {
      if (integer.getType().isInteger(1))
        return integer.getValue().isZero() ? "0" : "1";
      out << "(" << typeOf(integer.getType()) << ")" << integer.getValue().getZExtValue() << "ull";
      return text;
    }
    llvm::APInt bits = cast<FloatAttr>(value).getValue().bitcastToAPInt();
    bool isSingle = value.getType().isF32();
    out << (isSingle ? "int_to_float((int32_t)" : "long_to_double((int64_t)") << bits.getZExtValue() << "ull)";
    return text;
  }

  void yieldTo(ValueRange targets, ValueRange values) { // all are read before one is written
    for (auto [i, value] : llvm::enumerate(values))
      os << typeOf(value.getType()) << " y" << i << " = " << name(value) << ";\n";
    for (auto [i, target] : llvm::enumerate(targets))
      os << name(target) << " = y" << i << ";\n";
  }

  void printOp(Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (isa<FloatAttr>(constant.getValue()) && !op.getResult(0).getType().isF32() &&
          !op.getResult(0).getType().isF64())
        unknown = "a number of 16 bits";
      else
        assign(constant, number(constant.getValue()));
    } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      assign(compare, fill(predicate(compare.getPredicate()), &op));
    } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      assign(compare, fill(predicate(compare.getPredicate()), &op));
    } else if (isa<arith::BitcastOp>(op)) {
      Type from = op.getOperand(0).getType();
      assign(op.getResult(0), fill(from.isF32()         ? "float_to_int(%0)"
                                   : from.isF64()       ? "double_to_long(%0)"
                                   : from.isInteger(32) ? "int_to_float(%0)"
                                                        : "long_to_double(%0)",
                                   &op));
    } else if (auto product = dyn_cast<arith::MulSIExtendedOp>(op)) {
      assign(product.getLow(), fill("(T)((uint64_t)$0 * (uint64_t)$1)", &op));
      assign(product.getHigh(), fill("(T)(((__int128)%0 * %1) >> (8 * sizeof(T)))", &op));
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      assign(load, name(load.getMemRef()) + "[" + name(load.getIndices()[0]) + "]");
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      os << name(store.getMemRef()) << "[" << name(store.getIndices()[0]) << "] = " << name(store.getValue()) << ";\n";
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Value result : branch.getResults())
        declare(result);
      os << "if (" << name(branch.getCondition()) << ") {\n";
      printBlock(*branch.thenBlock());
      os << "} else {\n";
      if (branch.elseBlock())
        printBlock(*branch.elseBlock());
      os << "}\n";
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [result, argument, init] : llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs())) {
        names[argument] = name(result);
        declare(result);
        os << name(result) << " = " << name(init) << ";\n";
      }
      std::string i = name(loop.getInductionVar());
      os << "for (int64_t " << i << " = " << name(loop.getLowerBound()) << "; " << i << " < "
         << name(loop.getUpperBound()) << "; " << i << " += " << name(loop.getStep()) << ") {\n";
      printBlock(*loop.getBody());
      os << "}\n";
    } else if (isa<scf::YieldOp>(op)) {
      yieldTo(op.getParentOp()->getResults(), op.getOperands());
    } else if (isa<func::ReturnOp>(op)) {
      os << "return 0;\n";
    } else if (auto form = forms().find(op.getName().getStringRef()); form != forms().end()) {
      assign(op.getResult(0), fill(form->second, &op));
    } else {
      unknown = op.getName().getStringRef().str();
    }
  }

  void printBlock(Block &block) {
    for (Operation &op : block)
      if (unknown.empty())
        printOp(op);
  }

  llvm::raw_string_ostream os;
  llvm::DenseMap<Value, std::string> names;
};
} // namespace

std::optional<std::string> sinter::tiny::printC(func::FuncOp function, std::string &unknown) {
  std::string text;
  Printer printer(text);
  if (printer.print(function))
    return text;
  unknown = printer.unknown;
  return std::nullopt;
}
