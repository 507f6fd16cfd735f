// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic and math, one element at a time.

include "ir/Dialect.td"

class Sinter_UnaryOp<string mnemonic, Type type, string what> : Sinter_PointwiseOp<mnemonic> {
  let summary = what;
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let hasFolder = 0;
}
class Sinter_BinaryOp<string mnemonic, Type type, string what, list<Trait> traits = []> : Sinter_PointwiseOp<mnemonic, traits> {
  let summary = what;
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
}

def AbsOp : Sinter_UnaryOp<"abs", Sinter_NumberTensor, "absolute value; the least signed integer stays"> ;
def NegOp : Sinter_UnaryOp<"neg", Sinter_NumberTensor, "negation; integers wrap">;
def SignOp : Sinter_UnaryOp<"sign", Sinter_NumberTensor, "-1, 0 or 1; NaN stays, -0 stays">;
def CeilOp : Sinter_UnaryOp<"ceil", Sinter_FloatTensor, "least integer not below">;
def FloorOp : Sinter_UnaryOp<"floor", Sinter_FloatTensor, "greatest integer not above">;
def RoundOp : Sinter_UnaryOp<"round", Sinter_FloatTensor, "nearest integer, ties to even">;
def SqrtOp : Sinter_UnaryOp<"sqrt", Sinter_FloatTensor, "square root, correctly rounded">;
def RsqrtOp : Sinter_UnaryOp<"rsqrt", Sinter_FloatTensor, "1 / sqrt(x)">;
def ExpOp : Sinter_UnaryOp<"exp", Sinter_FloatTensor, "e^x">;
def Expm1Op : Sinter_UnaryOp<"expm1", Sinter_FloatTensor, "e^x - 1">;
def LogOp : Sinter_UnaryOp<"log", Sinter_FloatTensor, "natural logarithm">;
def Log1pOp : Sinter_UnaryOp<"log1p", Sinter_FloatTensor, "log(1 + x)">;
def SinOp : Sinter_UnaryOp<"sin", Sinter_FloatTensor, "sine">;
def CosOp : Sinter_UnaryOp<"cos", Sinter_FloatTensor, "cosine">;
def TanOp : Sinter_UnaryOp<"tan", Sinter_FloatTensor, "tangent">;
def AsinOp : Sinter_UnaryOp<"asin", Sinter_FloatTensor, "arc sine">;
def AcosOp : Sinter_UnaryOp<"acos", Sinter_FloatTensor, "arc cosine">;
def AtanOp : Sinter_UnaryOp<"atan", Sinter_FloatTensor, "arc tangent">;
def SinhOp : Sinter_UnaryOp<"sinh", Sinter_FloatTensor, "hyperbolic sine">;
def CoshOp : Sinter_UnaryOp<"cosh", Sinter_FloatTensor, "hyperbolic cosine">;
def TanhOp : Sinter_UnaryOp<"tanh", Sinter_FloatTensor, "hyperbolic tangent">;
def AsinhOp : Sinter_UnaryOp<"asinh", Sinter_FloatTensor, "inverse hyperbolic sine">;
def AcoshOp : Sinter_UnaryOp<"acosh", Sinter_FloatTensor, "inverse hyperbolic cosine">;
def AtanhOp : Sinter_UnaryOp<"atanh", Sinter_FloatTensor, "inverse hyperbolic tangent">;
def ErfOp : Sinter_UnaryOp<"erf", Sinter_FloatTensor, "error function">;
def LogisticOp : Sinter_UnaryOp<"logistic", Sinter_FloatTensor, "1 / (1 + e^-x)">;
def NotOp : Sinter_UnaryOp<"not", Sinter_IntOrBoolTensor, "complement of every bit; of booleans, logical">;

class Sinter_PredicateOp<string mnemonic, string what> : Sinter_PointwiseOp<mnemonic> {
  let summary = what;
  let arguments = (ins Sinter_FloatTensor:$operand);
  let results = (outs Sinter_BoolTensor:$result);
}
def IsNanOp : Sinter_PredicateOp<"is_nan", "true where not a number">;
def IsInfOp : Sinter_PredicateOp<"is_inf", "true where infinite, either sign">;

def AddOp : Sinter_BinaryOp<"add", Sinter_NumberTensor, "sum; integers wrap", [Commutative]> { let hasFolder = 1; }
def SubOp : Sinter_BinaryOp<"sub", Sinter_NumberTensor, "difference; integers wrap"> { let hasFolder = 1; }
def MulOp : Sinter_BinaryOp<"mul", Sinter_NumberTensor, "product; integers wrap", [Commutative]> { let hasFolder = 1; }
def DivOp : Sinter_BinaryOp<"div", Sinter_NumberTensor,
    "quotient; integers truncate toward zero, x / 0 is -1 (all bits set), least / -1 wraps"> { let hasFolder = 1; }
def RemOp : Sinter_BinaryOp<"rem", Sinter_NumberTensor,
    "remainder with the sign of lhs (C's fmod); integer x rem 0 is x">;
def PowOp : Sinter_BinaryOp<"pow", Sinter_NumberTensor,
    "lhs to the power rhs; integers by repeated multiplication, negative exponents truncate (1 and -1 stay units, 0 gives -1)">
    { let hasCanonicalizer = 1; }
def MaxOp : Sinter_BinaryOp<"max", Sinter_Tensor, "greater of the two; NaN propagates; booleans: or", [Commutative]> { let hasFolder = 1; }
def MinOp : Sinter_BinaryOp<"min", Sinter_Tensor, "lesser of the two; NaN propagates; booleans: and", [Commutative]> { let hasFolder = 1; }
def Atan2Op : Sinter_BinaryOp<"atan2", Sinter_FloatTensor, "angle of the point (rhs, lhs)">;
def AndOp : Sinter_BinaryOp<"and", Sinter_IntOrBoolTensor, "bitwise and", [Commutative]> { let hasFolder = 1; }
def OrOp : Sinter_BinaryOp<"or", Sinter_IntOrBoolTensor, "bitwise or", [Commutative]> { let hasFolder = 1; }
def XorOp : Sinter_BinaryOp<"xor", Sinter_IntOrBoolTensor, "bitwise exclusive or", [Commutative]>;
def ShiftLeftOp : Sinter_BinaryOp<"shift_left", Sinter_IntTensor, "lhs * 2^rhs; 0 when rhs is not in [0, width)">;
def ShiftRightOp : Sinter_BinaryOp<"shift_right", Sinter_IntTensor,
    "arithmetic for signed, logical for unsigned types; past the width the sign or 0">;

def CompareOp : Sinter_PointwiseOp<"compare"> {
  let summary = "lhs KIND rhs, one boolean an element";
  let arguments = (ins Sinter_Tensor:$lhs, Sinter_Tensor:$rhs, Sinter_CompareKindAttr:$kind);
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
