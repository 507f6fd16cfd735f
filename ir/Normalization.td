// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites over rows: the row stays in cache while it is reduced and rescaled.

include "ir/Dialect.td"

def SoftmaxOp : Sinter_Composite<"softmax"> {
  let summary = "exp(x - max) / sum over one axis, or its logarithm";
  let arguments = (ins Sinter_FloatTensor:$operand, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$logarithm);
  let results = (outs Sinter_FloatTensor:$result);
}

def LayerNormOp : Sinter_Composite<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over the axes from `axis` on, times scale, plus bias";
  let description = [{
    Also returns mean and 1 / sqrt(variance + epsilon), with the normalized axes of size 1. `scale` and `bias` have the
    shape of the normalized axes. With `center` false (RMS norm) the mean is taken as 0.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Optional<Sinter_FloatTensor>:$scale, Optional<Sinter_FloatTensor>:$bias,
                       I64Attr:$axis, F64Attr:$epsilon, DefaultValuedAttr<BoolAttr, "true">:$center);
  let results = (outs Sinter_FloatTensor:$result, Sinter_FloatTensor:$mean, Sinter_FloatTensor:$inverse_deviation);
  let assemblyFormat = [{
    $operand (`scale` `(` $scale^ `)`)? (`bias` `(` $bias^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def BatchNormOp : Sinter_Composite<"batch_norm"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, per channel, with given statistics";
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$bias,
                       Sinter_FloatTensor:$mean, Sinter_FloatTensor:$variance, I64Attr:$axis, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
}

def GroupNormOp : Sinter_Composite<"group_norm"> {
  let summary = "normalizes each group of channels of each sample over channels and space (groups = channels: instance norm)";
  let description = [{ `operand` [N, C, ...]; `scale`, `bias` [C]. }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_FloatTensor:$scale, Sinter_FloatTensor:$bias, I64Attr:$groups, F64Attr:$epsilon);
  let results = (outs Sinter_FloatTensor:$result);
}

def AttentionOp : Sinter_Composite<"attention"> {
  let summary = "softmax(scale * q k^T + bias) v";
  let description = [{
    q [..., m, d], k [..., n, d], v [..., n, e], bias (optional) of shape [..., m, n] with the same leading axes
    or size 1 in any of its axes. Result [..., m, e].
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Optional<Sinter_FloatTensor>:$bias, F64Attr:$scale);
  let results = (outs Sinter_FloatTensor:$result);
}
