// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types of the dialect, its enumerations, and the base classes of its ops.

#ifndef SINTER_IR_DIALECT
#define SINTER_IR_DIALECT

include "ir/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/Interfaces.td"

//===- types ---------------------------------------------------------------------------------===//

def Sinter_Float : AnyTypeOf<[F64, F32, F16, BF16]>;
def Sinter_SInt : AnyTypeOf<[I8, I16, I32, I64]>;
def Sinter_UInt : AnyTypeOf<[UI8, UI16, UI32, UI64]>;
def Sinter_Int : AnyTypeOf<[I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Sinter_Bool : TypeAlias<I1, "boolean">;
/// Types that tensors are kept in but not computed in: what `convert` and ops that move elements take.
def Sinter_I4 : I<4>;
def Sinter_UI4 : UI<4>;
def Sinter_Element : AnyTypeOf<[F64, F32, F16, BF16, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64, Sinter_I4, Sinter_UI4,
                                F8E4M3FN, F8E5M2]>;
def Sinter_Computed : AnyTypeOf<[F64, F32, F16, BF16, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Sinter_Number : AnyTypeOf<[F64, F32, F16, BF16, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Sinter_IntOrBool : AnyTypeOf<[I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;

def Sinter_Tensor : RankedTensorOf<[Sinter_Element]>;
def Sinter_ComputedTensor : RankedTensorOf<[Sinter_Computed]>;
def Sinter_NumberTensor : RankedTensorOf<[Sinter_Number]>;
def Sinter_FloatTensor : RankedTensorOf<[Sinter_Float]>;
def Sinter_IntTensor : RankedTensorOf<[Sinter_Int]>;
def Sinter_IntOrBoolTensor : RankedTensorOf<[Sinter_IntOrBool]>;
def Sinter_BoolTensor : RankedTensorOf<[Sinter_Bool]>;
def Sinter_BoolScalar : 0DTensorOf<[Sinter_Bool]>;
def Sinter_IndexScalar : 0DTensorOf<[I64]>;
/// Sizes, starts, paddings: signed 64-bit, one per axis.
def Sinter_SizesTensor : 1DTensorOf<[I64]>;
/// Positions in an axis, as used by gather and scatter.
def Sinter_PositionTensor : RankedTensorOf<[I32, I64]>;

//===- enumerations --------------------------------------------------------------------------===//

class Sinter_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::sinter";
}
class Sinter_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Sinter_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Sinter_CompareKind : Sinter_Enum<"CompareKind", "comparison; with NaN all but ne are false", [
  I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
  I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]>;
def Sinter_CompareKindAttr : Sinter_EnumAttr<Sinter_CompareKind, "compare_kind">;

def Sinter_Combiner : Sinter_Enum<"Combiner", "how two elements become one", [
  I32EnumAttrCase<"add", 0>, I32EnumAttrCase<"mul", 1>, I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>,
  I32EnumAttrCase<"logical_and", 4, "and">, I32EnumAttrCase<"logical_or", 5, "or">, I32EnumAttrCase<"set", 6>]>;
def Sinter_CombinerAttr : Sinter_EnumAttr<Sinter_Combiner, "combiner">;

def Sinter_PadMode : Sinter_Enum<"PadMode", "what lies outside the operand", [
  I32EnumAttrCase<"constant", 0>, I32EnumAttrCase<"reflect", 1>, I32EnumAttrCase<"edge", 2>, I32EnumAttrCase<"wrap", 3>]>;
def Sinter_PadModeAttr : Sinter_EnumAttr<Sinter_PadMode, "pad_mode">;

def Sinter_ResizeMode : Sinter_Enum<"ResizeMode", "interpolation", [
  I32EnumAttrCase<"nearest", 0>, I32EnumAttrCase<"linear", 1>, I32EnumAttrCase<"cubic", 2>]>;
def Sinter_ResizeModeAttr : Sinter_EnumAttr<Sinter_ResizeMode, "resize_mode">;

def Sinter_CoordinateMode : Sinter_Enum<"CoordinateMode", "output position to input position (ONNX Resize)", [
  I32EnumAttrCase<"half_pixel", 0>, I32EnumAttrCase<"pytorch_half_pixel", 1>, I32EnumAttrCase<"align_corners", 2>,
  I32EnumAttrCase<"asymmetric", 3>, I32EnumAttrCase<"tf_crop_and_resize", 4>,
  I32EnumAttrCase<"tf_half_pixel_for_nn", 5>, I32EnumAttrCase<"half_pixel_symmetric", 6>]>;
def Sinter_CoordinateModeAttr : Sinter_EnumAttr<Sinter_CoordinateMode, "coordinate_mode">;

def Sinter_NearestMode : Sinter_Enum<"NearestMode", "rounding of a position to the nearest element", [
  I32EnumAttrCase<"round_prefer_floor", 0>, I32EnumAttrCase<"round_prefer_ceil", 1>,
  I32EnumAttrCase<"floor", 2>, I32EnumAttrCase<"ceil", 3>]>;
def Sinter_NearestModeAttr : Sinter_EnumAttr<Sinter_NearestMode, "nearest_mode">;

def Sinter_Direction : Sinter_Enum<"Direction", "order in which a recurrent op reads its sequence", [
  I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"reverse", 1>]>;
def Sinter_DirectionAttr : Sinter_EnumAttr<Sinter_Direction, "direction">;

def Sinter_Activation : Sinter_Enum<"Activation", "nonlinearity of a recurrent cell", [
  I32EnumAttrCase<"sigmoid", 0>, I32EnumAttrCase<"tanh", 1>, I32EnumAttrCase<"relu", 2>]>;
def Sinter_ActivationAttr : Sinter_EnumAttr<Sinter_Activation, "activation">;

def Sinter_LimitPolicy : Sinter_Enum<"LimitPolicy", "what happens when max_trip is reached", [
  I32EnumAttrCase<"stop", 0>, I32EnumAttrCase<"trap", 1>]>;
def Sinter_LimitPolicyAttr : Sinter_EnumAttr<Sinter_LimitPolicy, "limit_policy">;

def Sinter_ConvLayout : Sinter_Enum<"ConvLayout", "order of axes of a convolution or pooling operand and result", [
  I32EnumAttrCase<"channels_first", 0>, I32EnumAttrCase<"channels_last", 1>]>;
def Sinter_ConvLayoutAttr : Sinter_EnumAttr<Sinter_ConvLayout, "conv_layout">;

def Sinter_KernelTemplate : Sinter_Enum<"KernelTemplate", "which loop nest a kernel becomes", [
  I32EnumAttrCase<"map", 0>, I32EnumAttrCase<"reduce", 1>, I32EnumAttrCase<"row", 2>, I32EnumAttrCase<"contraction", 3>,
  I32EnumAttrCase<"convolution", 4>, I32EnumAttrCase<"window", 5>, I32EnumAttrCase<"recurrent", 6>, I32EnumAttrCase<"attention", 7>,
  I32EnumAttrCase<"single", 8>]>;
def Sinter_KernelTemplateAttr : Sinter_EnumAttr<Sinter_KernelTemplate, "kernel_template">;

//===- op bases ------------------------------------------------------------------------------===//

/// Any op of the dialect that is not control flow: pure, evaluable, with a shape rule that both the
/// builders and the verifier use. A declared result type may be a refinement of the inferred one
/// (or the other way round): `?` agrees with any size.
class Sinter_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sinter_Dialect, mnemonic, !listconcat([Pure, InferTypeOpAdaptor,
                                                DeclareOpInterfaceMethods<Evaluable>], traits)> {
  code declarations = "";
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared) {
      return ::sinter::agree(inferred, declared);
    }
  }] # declarations;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// result[i] = f(operands[i]): all shapes agree, no broadcasting. (Upstream's Elementwise trait would verify the same first,
/// with a message that names no shape.)
class Sinter_PointwiseOp<string mnemonic, list<Trait> traits = []>
    : Sinter_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<Pointwise>], traits)>;

/// Written in primitives by its decomposition; back ends may know better.
class Sinter_Composite<string mnemonic, list<Trait> traits = []> : Sinter_Op<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<Decomposable>, DeclareOpInterfaceMethods<SymbolicShape>], traits)>;

#endif
