// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic and math, one element at a time.

include "ir/Dialect.td"

// An entry says all of an op, and sinter-tblgen (tools/sinter-tblgen.cpp) puts it where it is needed:
//
//   body       what native code computes, an expression over `x` (Body, in ElementwiseBodies.cpp)
//   floats     the reference: a double from the doubles `x`, or `a` and `b`; empty where the op takes no floats
//   ints       the reference: an int64_t from such, which wrap when they are stored; `type` is the operands' element type
//   partial    d result / d operand `i`, over `p` (Point, in gradient/ElementwiseGradients.cpp); empty: the results are discrete
//   onnx       the operator that is the same
//   write      where there is none, nodes that are (over `n`, an OpExport); empty: WriterElementwise.cpp has a function, or
//              the writer refuses the op by name
//   since      the operator set from which on the reader takes `onnx` as it is; 0: the reader has a function for it
//   function   the function in C++, of floats; empty: it is in compiler/trace/ops_elementwise.cpp
class Sinter_Entry {
  string body = "";
  string floats = "";
  string ints = "";
  string partial = "";
  string onnx = "";
  string write = "";
  int since = 0;
  string function = "";
}

class Sinter_UnaryOp<string mnemonic, Type type, string what> : Sinter_PointwiseOp<mnemonic>, Sinter_Entry {
  let summary = what;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let hasFolder = 0;
}
class Sinter_BinaryOp<string mnemonic, Type type, string what, list<Trait> traits = []>
    : Sinter_PointwiseOp<mnemonic, traits>, Sinter_Entry {
  let summary = what;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}
/// A function of a float.
class Sinter_Function<string mnemonic, string what> : Sinter_UnaryOp<mnemonic, Sinter_FloatTensor, what> {
  let function = mnemonic;
}
/// One that MLIR's math dialect has.
class Sinter_MathFunction<string mnemonic, string mathOp, string what> : Sinter_Function<mnemonic, what> {
  let body = "x.make<math::" # mathOp # ">(x[0])";
  let floats = "std::" # mnemonic # "(x)";
}

// |x|' = sign(x), 0 at 0
def AbsOp : Sinter_UnaryOp<"abs", Sinter_NumberTensor, "absolute value; the least signed integer stays"> {
  let body = "buildAbs(x)";
  let floats = "std::fabs(x)";
  let ints = "isUnsigned(type) || x >= 0 ? x : negate(x)";
  let partial = "p.x().then<SignOp>()";
  let onnx = "Abs";
}
def NegOp : Sinter_UnaryOp<"neg", Sinter_NumberTensor, "negation; integers wrap"> {
  let body = "buildNeg(x)";
  let floats = "-x";
  let ints = "negate(x)";
  let partial = "Partial::Minus";
}
def SignOp : Sinter_UnaryOp<"sign", Sinter_NumberTensor, "-1, 0 or 1; NaN stays, -0 stays"> {
  let body = "buildSign(x)";
  let floats = "signOf(x)";
  let ints = "x == 0 ? 0 : isUnsigned(type) || x > 0 ? 1 : -1";
  let partial = "Partial::Zero";
  let onnx = "Sign";
}
def CeilOp : Sinter_UnaryOp<"ceil", Sinter_FloatTensor, "least integer not below"> {
  let body = "x.make<math::CeilOp>(x[0])";
  let floats = "std::ceil(x)";
  let partial = "Partial::Zero";
  let onnx = "Ceil";
}
def FloorOp : Sinter_UnaryOp<"floor", Sinter_FloatTensor, "greatest integer not above"> {
  let body = "x.make<math::FloorOp>(x[0])";
  let floats = "std::floor(x)";
  let partial = "Partial::Zero";
  let onnx = "Floor";
}
def RoundOp : Sinter_UnaryOp<"round", Sinter_FloatTensor, "nearest integer, ties to even"> {
  let body = "x.make<math::RoundEvenOp>(x[0])";
  let floats = "std::nearbyint(x)";
  let partial = "Partial::Zero";
  let onnx = "Round";
}
// sqrt(x)' = 1 / (2 sqrt(x))
def SqrtOp : Sinter_MathFunction<"sqrt", "SqrtOp", "square root, correctly rounded"> {
  let partial = "0.5 / p.y()";
  let onnx = "Sqrt";
  let since = 1;
}
// (x^-1/2)' = -y / (2 x)
def RsqrtOp : Sinter_Function<"rsqrt", "1 / sqrt(x)"> {
  let body = "x.make<arith::DivFOp>({x.constant(1.0), x.make<math::SqrtOp>(x[0])})";
  let floats = "1 / std::sqrt(x)";
  let partial = "-0.5 * (p.y() / p.x())";
  let write = [{n.out("Reciprocal", {n.emit("Sqrt", {n.in(0)})})}];
}
def ExpOp : Sinter_MathFunction<"exp", "ExpOp", "e^x"> {
  let partial = "p.y()";
  let onnx = "Exp";
  let since = 1;
}
def Expm1Op : Sinter_MathFunction<"expm1", "ExpM1Op", "e^x - 1"> {
  let partial = "p.y() + 1";
  let write = [{n.out("Sub", {n.emit("Exp", {n.in(0)}), n.scalar(n.elem(op.getOperand()), 1)})}];
}
def LogOp : Sinter_MathFunction<"log", "LogOp", "natural logarithm"> {
  let partial = "1 / p.x()";
  let onnx = "Log";
  let since = 1;
}
def Exp2Op : Sinter_MathFunction<"exp2", "Exp2Op", "2^x"> {
  let partial = "std::numbers::ln2 * p.y()";
  let write = [{n.out("Pow", {n.scalar(n.elem(op.getOperand()), 2), n.in(0)})}];
}
def Log2Op : Sinter_MathFunction<"log2", "Log2Op", "base 2 logarithm"> {
  let partial = "std::numbers::log2e / p.x()";
  let write = [{n.out("Mul", {n.emit("Log", {n.in(0)}), n.scalar(n.elem(op.getOperand()), std::numbers::log2e)})}];
}
def Log1pOp : Sinter_MathFunction<"log1p", "Log1pOp", "log(1 + x)"> {
  let partial = "1 / (p.x() + 1)";
  let write = [{n.out("Log", {n.emit("Add", {n.in(0), n.scalar(n.elem(op.getOperand()), 1)})})}];
}
def SinOp : Sinter_MathFunction<"sin", "SinOp", "sine"> {
  let partial = "p.x().then<CosOp>()";
  let onnx = "Sin";
  let since = 7;
}
def CosOp : Sinter_MathFunction<"cos", "CosOp", "cosine"> {
  let partial = "-p.x().then<SinOp>()";
  let onnx = "Cos";
  let since = 7;
}
def TanOp : Sinter_MathFunction<"tan", "TanOp", "tangent"> {
  let partial = "p.y() * p.y() + 1";
  let onnx = "Tan";
  let since = 7;
}
// 1 / sqrt((1 - x)(1 + x))
def AsinOp : Sinter_MathFunction<"asin", "AsinOp", "arc sine"> {
  let partial = "gradient::rsqrt((1 - p.x()) * (p.x() + 1))";
  let onnx = "Asin";
  let since = 7;
}
def AcosOp : Sinter_MathFunction<"acos", "AcosOp", "arc cosine"> {
  let partial = "-gradient::rsqrt((1 - p.x()) * (p.x() + 1))";
  let onnx = "Acos";
  let since = 7;
}
def AtanOp : Sinter_MathFunction<"atan", "AtanOp", "arc tangent"> {
  let partial = "1 / (p.x() * p.x() + 1)";
  let onnx = "Atan";
  let since = 7;
}
def SinhOp : Sinter_MathFunction<"sinh", "SinhOp", "hyperbolic sine"> {
  let partial = "p.x().then<CoshOp>()";
  let onnx = "Sinh";
  let since = 9;
}
def CoshOp : Sinter_MathFunction<"cosh", "CoshOp", "hyperbolic cosine"> {
  let partial = "p.x().then<SinhOp>()";
  let onnx = "Cosh";
  let since = 9;
}
def TanhOp : Sinter_MathFunction<"tanh", "TanhOp", "hyperbolic tangent"> {
  let partial = "1 - p.y() * p.y()";
  let onnx = "Tanh";
  let since = 1;
}
def AsinhOp : Sinter_MathFunction<"asinh", "AsinhOp", "inverse hyperbolic sine"> {
  let partial = "gradient::rsqrt(p.x() * p.x() + 1)";
  let onnx = "Asinh";
  let since = 9;
}
// sqrt(x^2 - 1) without the difference of large numbers
def AcoshOp : Sinter_MathFunction<"acosh", "AcoshOp", "inverse hyperbolic cosine"> {
  let partial = "gradient::rsqrt((p.x() - 1) * (p.x() + 1))";
  let onnx = "Acosh";
  let since = 9;
}
def AtanhOp : Sinter_MathFunction<"atanh", "AtanhOp", "inverse hyperbolic tangent"> {
  let partial = "1 / ((1 - p.x()) * (p.x() + 1))";
  let onnx = "Atanh";
  let since = 9;
}
def ErfOp : Sinter_MathFunction<"erf", "ErfOp", "error function"> {
  let partial = "2 / std::sqrt(std::numbers::pi) * gradient::exp(-(p.x() * p.x()))";
  let onnx = "Erf";
  let since = 9;
}
// erfinv' = sqrt(pi) / 2 e^(y^2)
def ErfinvOp : Sinter_Function<"erfinv", "inverse of erf; infinite at -1 and 1, NaN beyond"> {
  let body = "buildErfinv(x)";
  let floats = "erfinv(x)";
  let partial = "std::sqrt(std::numbers::pi) / 2 * gradient::exp(p.y() * p.y())";
}
def LogisticOp : Sinter_Function<"logistic", "1 / (1 + e^-x)"> {
  let body = "buildLogistic(x)";
  let floats = "logistic(x)";
  let partial = "p.y() * (1 - p.y())";
  let onnx = "Sigmoid";
  let since = 1;
  let function = "sigmoid";
}
def NotOp : Sinter_UnaryOp<"not", Sinter_IntOrBoolTensor, "complement of every bit; of booleans, logical"> {
  let body = "x.make<arith::XOrIOp>({x[0], x.constant(int64_t(-1))})";
  let ints = "type.isInteger(1) ? x == 0 : ~x";
}

/// A question about a float.
class Sinter_PredicateOp<string mnemonic, string what> : Sinter_PointwiseOp<mnemonic>, Sinter_Entry {
  let summary = what;
  let arguments = (ins Sinter_FloatTensor:$operand);
  let results = (outs Sinter_BoolTensor:$result);
}
def IsNanOp : Sinter_PredicateOp<"is_nan", "true where not a number"> {
  let body = "arith::CmpFOp::create(x.b, arith::CmpFPredicate::UNO, x[0], x[0])";
  let floats = "std::isnan(x)";
  let onnx = "IsNaN";
  let since = 9;
  let function = "isnan";
}
def IsInfOp : Sinter_PredicateOp<"is_inf", "true where infinite, either sign"> {
  let body = "buildIsInf(x)";
  let floats = "std::isinf(x)";
  let onnx = "IsInf";
  let function = "isinf";
}

def AddOp : Sinter_BinaryOp<"add", Sinter_NumberTensor, "sum; integers wrap", [Commutative]> {
  let body = "x.isFloat ? x.make<arith::AddFOp>({x[0], x[1]}) : x.make<arith::AddIOp>({x[0], x[1]})";
  let floats = "a + b";
  let ints = "bits(a) + bits(b)";
  let partial = "Partial::One";
  let onnx = "Add";
  let since = 1;
  let hasFolder = 1;
}
def SubOp : Sinter_BinaryOp<"sub", Sinter_NumberTensor, "difference; integers wrap"> {
  let body = "x.isFloat ? x.make<arith::SubFOp>({x[0], x[1]}) : x.make<arith::SubIOp>({x[0], x[1]})";
  let floats = "a - b";
  let ints = "bits(a) - bits(b)";
  let partial = "i == 0 ? Partial::One : Partial::Minus";
  let onnx = "Sub";
  let since = 1;
  let hasFolder = 1;
}
def MulOp : Sinter_BinaryOp<"mul", Sinter_NumberTensor, "product; integers wrap", [Commutative]> {
  let body = "x.isFloat ? x.make<arith::MulFOp>({x[0], x[1]}) : x.make<arith::MulIOp>({x[0], x[1]})";
  let floats = "a * b";
  let ints = "bits(a) * bits(b)";
  let partial = "p.x(1 - i)";
  let onnx = "Mul";
  let since = 1;
  let hasFolder = 1;
}
// (a / b)' = 1 / b and -y / b
def DivOp : Sinter_BinaryOp<"div", Sinter_NumberTensor,
    "quotient; integers truncate toward zero, x / 0 is -1 (all bits set), least / -1 wraps"> {
  let body = "x.divide(x[0], x[1], /*remainder=*/false)";
  let floats = "a / b";
  let ints = "divide(type, a, b)";
  let partial = "i == 0 ? 1 / p.x(1) : -(p.y() / p.x(1))";
  let onnx = "Div";
  let since = 1;
  let hasFolder = 1;
}
def RemOp : Sinter_BinaryOp<"rem", Sinter_NumberTensor,
    "remainder with the sign of lhs (C's fmod); integer x rem 0 is x"> {
  let body = "x.divide(x[0], x[1], /*remainder=*/true)";
  let floats = "std::fmod(a, b)";
  let ints = "remainder(type, a, b)";
  let partial = "remainderPartial(p, i)";
  let write = [{n.out("Mod", {n.in(0), n.in(1)}, {{"fmod", 1}})}];
}
def PowOp : Sinter_BinaryOp<"pow", Sinter_NumberTensor,
    "lhs to the power rhs; integers by repeated multiplication, negative exponents truncate (1 and -1 stay units, 0 gives -1)"> {
  let body = "x.power(x[0], x[1])";
  let floats = "std::pow(a, b)";
  let ints = "power(type, a, b)";
  let partial = "powerPartial(p, i)";
  let onnx = "Pow";
  let hasCanonicalizer = 1;
}
def MaxOp : Sinter_BinaryOp<"max", Sinter_ComputedTensor, "greater of the two; NaN propagates; booleans: or", [Commutative]> {
  let body = "x.greater(x[0], x[1])";
  let floats = "greater(a, b)";
  let ints = "less(type, a, b) ? b : a";
  let partial = "extremumPartial(p, i, CompareKind::lt)";
  let hasFolder = 1;
}
def MinOp : Sinter_BinaryOp<"min", Sinter_ComputedTensor, "lesser of the two; NaN propagates; booleans: and", [Commutative]> {
  let body = "x.lesser(x[0], x[1])";
  let floats = "lesser(a, b)";
  let ints = "less(type, b, a) ? b : a";
  let partial = "extremumPartial(p, i, CompareKind::gt)";
  let hasFolder = 1;
}
def Atan2Op : Sinter_BinaryOp<"atan2", Sinter_FloatTensor, "angle of the point (rhs, lhs)"> {
  let body = "x.make<math::Atan2Op>({x[0], x[1]})";
  let floats = "std::atan2(a, b)";
  let partial = "atan2Partial(p, i)";
}
def AndOp : Sinter_BinaryOp<"and", Sinter_IntOrBoolTensor, "bitwise and", [Commutative]> {
  let body = "x.make<arith::AndIOp>({x[0], x[1]})";
  let ints = "a & b";
  let hasFolder = 1;
}
def OrOp : Sinter_BinaryOp<"or", Sinter_IntOrBoolTensor, "bitwise or", [Commutative]> {
  let body = "x.make<arith::OrIOp>({x[0], x[1]})";
  let ints = "a | b";
  let hasFolder = 1;
}
def XorOp : Sinter_BinaryOp<"xor", Sinter_IntOrBoolTensor, "bitwise exclusive or", [Commutative]> {
  let body = "x.make<arith::XOrIOp>({x[0], x[1]})";
  let ints = "a ^ b";
}
def ShiftLeftOp : Sinter_BinaryOp<"shift_left", Sinter_IntTensor, "lhs * 2^rhs; 0 when rhs is not in [0, width)"> {
  let body = "buildShiftLeft(x)";
  let ints = "shiftLeft(type, a, b)";
}
def ShiftRightOp : Sinter_BinaryOp<"shift_right", Sinter_IntTensor,
    "arithmetic for signed, logical for unsigned types; past the width the sign or 0"> {
  let body = "buildShiftRight(x)";
  let ints = "shiftRight(type, a, b)";
}

//===- ops with rules of their own, in C++ -----------------------------------------------------------------------===//

def CompareOp : Sinter_PointwiseOp<"compare"> {
  let summary = "lhs KIND rhs, one boolean an element";
  let arguments = (ins Sinter_ComputedTensor:$lhs, Sinter_ComputedTensor:$rhs, Sinter_CompareKindAttr:$kind);
  let results = (outs Sinter_BoolTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

def SelectOp : Sinter_PointwiseOp<"select"> {
  let summary = "on_true where pred, else on_false";
  let arguments = (ins Sinter_BoolTensor:$pred, Sinter_Tensor:$on_true, Sinter_Tensor:$on_false);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
}

def ClampOp : Sinter_PointwiseOp<"clamp"> {
  let summary = "min(max(operand, low), high); NaN propagates";
  let arguments = (ins Sinter_NumberTensor:$low, Sinter_NumberTensor:$operand, Sinter_NumberTensor:$high);
  let results = (outs Sinter_NumberTensor:$result);
}

def ConvertOp : Sinter_PointwiseOp<"convert"> {
  let summary = "value in another element type";
  let description = [{
    Float to integer truncates toward zero and saturates, NaN gives 0. Integer to narrower integer
    wraps. To i1: not equal to zero (NaN is true). Float to narrower float rounds to nearest even.
  }];
  let arguments = (ins Sinter_Tensor:$operand, TypeAttr:$element_type);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def BitcastOp : Sinter_PointwiseOp<"bitcast"> {
  let summary = "same bits in an element type of the same width";
  let arguments = (ins Sinter_Tensor:$operand, TypeAttr:$element_type);
  let results = (outs Sinter_Tensor:$result);
}

def DecodeFloat8Op : Sinter_PointwiseOp<"decode_float8"> {
  let summary = "numbers of bytes that hold 8-bit floats";
  let description = [{
    `format` is f8E4M3FN or f8E5M2, `element_type` f32, f16 or bf16, which hold all their numbers exactly. NaN stays.
    It is what `convert` from such a type becomes where tensors of it are bytes (passes/LowerStorage).
  }];
  let arguments = (ins RankedTensorOf<[UI8]>:$operand, TypeAttr:$format, TypeAttr:$element_type);
  let results = (outs Sinter_FloatTensor:$result);
}
