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
  let summary = "softmax(scale * q k^T + bias) v over the keys that each row counts";
  let description = [{
    q [..., m, d], k [..., n, d], v [..., n, e], bias (optional) of shape [..., m, n] with the same leading axes
    or size 1 in any of its axes, and of q's element type or f32 where that is shorter. Result [..., m, e].

    Row i counts the keys from i - `before` to i + `after`; without either, all on that side. So `after = 0` is a causal
    mask, `before = w - 1` with it a sliding window of w keys, and `after = p` is causal behind p keys of the past. A row
    that counts no key of several is NaN. A key whose exponential is below 1.5 times the least normal number of the type
    that is computed in, against the greatest of its row, may count as none (a bias of -100 leaves 4e-44 of f32).

    Keys and values may have fewer heads (sizes of the last leading axis): each serves as many heads of q, in order.

    With `log_sums` there is a second result [..., m]: the logarithm of the sum of exp(scale * q k^T + bias) over the
    keys that a row counts, from which attention_gradient computes shares again. It is f32 where q has shorter elements:
    rounded to 8 bits, a logarithm of 8 would change shares by 3 %. Where two ops differ in that alone, the canonical form
    has the one with log_sums.
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Optional<Sinter_FloatTensor>:$bias, F64Attr:$scale, OptionalAttr<I64Attr>:$before,
                       OptionalAttr<I64Attr>:$after, DefaultValuedAttr<BoolAttr, "false">:$log_sums);
  let results = (outs Sinter_FloatTensor:$result, Optional<Sinter_FloatTensor>:$sums);
  let hasCanonicalizer = 1;
}

def AttentionGradientOp : Sinter_Composite<"attention_gradient"> {
  let summary = "what a cotangent of attention's result becomes for q, k and v";
  let description = [{
    `query`, `key`, `value`, `bias` and attributes are those of an `attention`, `cotangent` dy [..., m, e] is that of its
    result, and `row_sums` [..., m] is sum(dy y) of each row, less the cotangent of the second result if there is one, of the
    type of that result.
    With the shares p = softmax(scale * q k^T + bias) and ds = p (dy v^T - row_sums), the results are scale ds k,
    scale ds^T q and p^T dy, of the types of q, k and v. `log_sums` [..., m] has to be the attention's second result:
    back ends may read p = exp(scale * q k^T + bias - log_sums) from it; it is no other input of the function.
    (Dao, FlashAttention-2, 2023.)
  }];
  let arguments = (ins Sinter_FloatTensor:$query, Sinter_FloatTensor:$key, Sinter_FloatTensor:$value,
                       Sinter_FloatTensor:$cotangent, Sinter_FloatTensor:$log_sums, Sinter_FloatTensor:$row_sums,
                       Optional<Sinter_FloatTensor>:$bias, F64Attr:$scale, OptionalAttr<I64Attr>:$before,
                       OptionalAttr<I64Attr>:$after);
  let results = (outs Sinter_FloatTensor:$query_gradient, Sinter_FloatTensor:$key_gradient,
                      Sinter_FloatTensor:$value_gradient);
}
