// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrent cells over a sequence, one direction each. Gate order and equations are ONNX's. Without `w` the sequence already holds the
// gates' inputs, x w^T: one matrix product over all steps in place of one a step.

include "ir/Dialect.td"

def LstmOp : Sinter_Composite<"lstm", [AttrSizedOperandSegments]> {
  let summary = "LSTM over the first axis";
  let description = [{
    x [T, B, I], w [4H, I], r [4H, H], bias [4H] (sum of both ONNX biases), h0, c0 [B, H], peephole [3H] (i, o, f), lengths [B]
    (i32; steps past a row's length keep the state and give zero). Gates i, o, f, c. Results: all h [T, B, H], last h, last c.
    `activations`: gates (f), cell input (g), cell output (h). `clip` > 0 clamps the gates' inputs.
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Optional<Sinter_FloatTensor>:$w, Sinter_FloatTensor:$r, Optional<Sinter_FloatTensor>:$bias,
                       Sinter_FloatTensor:$h0, Sinter_FloatTensor:$c0, Optional<Sinter_FloatTensor>:$peephole,
                       Optional<1DTensorOf<[I32]>>:$lengths, DefaultValuedAttr<Sinter_DirectionAttr, "Direction::forward">:$direction,
                       DefaultValuedAttr<Sinter_ActivationAttr, "Activation::sigmoid">:$gate, DefaultValuedAttr<Sinter_ActivationAttr, "Activation::tanh">:$cell,
                       DefaultValuedAttr<Sinter_ActivationAttr, "Activation::tanh">:$hidden, DefaultValuedAttr<F64Attr, "0.0">:$clip,
                       DefaultValuedAttr<BoolAttr, "false">:$couple_forget);
  let results = (outs Sinter_FloatTensor:$y, Sinter_FloatTensor:$h, Sinter_FloatTensor:$c);
  let assemblyFormat = [{
    $x (`input_weights` `(` $w^ `)`)? `,` $r `,` $h0 `,` $c0 (`bias` `(` $bias^ `)`)? (`peephole` `(` $peephole^ `)`)? (`lengths` `(` $lengths^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def GruOp : Sinter_Composite<"gru", [AttrSizedOperandSegments]> {
  let summary = "GRU over the first axis";
  let description = [{
    x [T, B, I], w [3H, I], r [3H, H], input_bias, hidden_bias [3H] (kept apart: `linear_before_reset` applies the reset gate after the
    hidden bias), h0 [B, H], lengths [B]. Gates z, r, h. Results: all h [T, B, H], last h.
  }];
  let arguments = (ins Sinter_FloatTensor:$x, Optional<Sinter_FloatTensor>:$w, Sinter_FloatTensor:$r, Optional<Sinter_FloatTensor>:$input_bias,
                       Optional<Sinter_FloatTensor>:$hidden_bias, Sinter_FloatTensor:$h0, Optional<1DTensorOf<[I32]>>:$lengths,
                       DefaultValuedAttr<Sinter_DirectionAttr, "Direction::forward">:$direction,
                       DefaultValuedAttr<Sinter_ActivationAttr, "Activation::sigmoid">:$gate, DefaultValuedAttr<Sinter_ActivationAttr, "Activation::tanh">:$hidden,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip, DefaultValuedAttr<BoolAttr, "false">:$linear_before_reset);
  let results = (outs Sinter_FloatTensor:$y, Sinter_FloatTensor:$h);
  let assemblyFormat = [{
    $x (`input_weights` `(` $w^ `)`)? `,` $r `,` $h0 (`input_bias` `(` $input_bias^ `)`)? (`hidden_bias` `(` $hidden_bias^ `)`)? (`lengths` `(` $lengths^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def RnnOp : Sinter_Composite<"rnn", [AttrSizedOperandSegments]> {
  let summary = "h = f(x w^T + h r^T + bias) over the first axis";
  let arguments = (ins Sinter_FloatTensor:$x, Optional<Sinter_FloatTensor>:$w, Sinter_FloatTensor:$r, Optional<Sinter_FloatTensor>:$bias,
                       Sinter_FloatTensor:$h0, Optional<1DTensorOf<[I32]>>:$lengths,
                       DefaultValuedAttr<Sinter_DirectionAttr, "Direction::forward">:$direction,
                       DefaultValuedAttr<Sinter_ActivationAttr, "Activation::tanh">:$activation, DefaultValuedAttr<F64Attr, "0.0">:$clip);
  let results = (outs Sinter_FloatTensor:$y, Sinter_FloatTensor:$h);
  let assemblyFormat = [{
    $x (`input_weights` `(` $w^ `)`)? `,` $r `,` $h0 (`bias` `(` $bias^ `)`)? (`lengths` `(` $lengths^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}
