# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""refusals.py TRANSLATE FOLDER: imports models of one node that cannot be; each must fail with its message.

A case is inputs, constants, the node, and what is said of it; the operator set is 17 unless the node's line begins with another."""
import subprocess
import sys

import onnx.parser

BODY = "<body = b ({}) => ({}) {{ {} }}>"
STEP = "int64 i, bool c, float[4] s"
CASES = [
    # Movement
    ("float[3, 4] x", "", "z = Transpose<perm = [0]>(x)", "requires a permutation of 2 axes, found 1"),
    ("float[4] x", "int64[2] s = {1, 3}", "z = Split(x, s)", "requires one length an output, found 2"),
    ("float[4] x, int64[2] s", "", "z = Split(x, s)", "requires one length an output, found shape 2"),
    ("float[5] x", "", "z, y = Split(x)", "requires parts of one size, found 5 elements for 2"),
    ("float[N] x", "", "z, y = Split(x)", "equal parts of a size known only at run time is not supported"),
    ("float[4] x", "", "18: z = Split<num_outputs = 0>(x)", "requires at least one part, found 0"),
    ("float[4] x", "int64[1] s = {5}", "z = Split(x, s)", "requires parts that add up to 4, found more"),
    ("float[4] x", "int64[1] s = {0}, int64[1] e = {4}, int64[1] a = {0}, int64[1] t = {0}", "z = Slice(x, s, e, a, t)",
     "requires steps other than 0, found 0"),
    ("float[4] x, int64[N] s", "", "z = Slice(x, s, s)", "starts of unknown length is not supported"),
    ("float[4] x", "int64[1] s = {0}, int64[2] e = {4, 4}", "z = Slice(x, s, e)",
     "requires starts, ends, axes and steps of one length, found 1 and 2"),
    ("float[4] x", "", "9: z = Slice(x)", "requires the attribute 'ends', found none"),
    ("float[4] x", "", "1: z = Pad(x)", "requires the attribute 'paddings', found none"),
    ("float[4] x", "int64[2] p = {1, 1}", "z = Pad<mode = \"odd\">(x, p)", "mode 'odd' is not supported"),
    ("float[4] x, int64[N] p", "", "z = Pad(x, p)", "pads of unknown length is not supported"),
    ("float[4] x", "int64[3] p = {1, 1, 1}", "z = Pad(x, p)", "requires two pads an axis, found 3 for rank 1"),
    ("float[4] x", "int64[2] r = {1, 2}", "z = Tile(x, r)", "requires one repeat an axis, found 2 for rank 1"),
    ("float[4] x", "int64[2] s = {2, 2}", "18: z = CenterCropPad(x, s)", "requires one size an axis, found 2"),
    ("float[4] x", "", "z = DepthToSpace<blocksize = 2>(x)", "requires rank 4 and a positive blocksize, found 4 and 2"),
    ("float[1, 4, 2, 2] x", "", "z = SpaceToDepth<blocksize = 0>(x)", "requires rank 4 and a positive blocksize, found 1x4x2x2 and 0"),
    ("float[2, 4] x, int64[2, 1] i", "", "z = GatherND<batch_dims = 9223372036854775807>(x, i)", "gather_nd requires batch_axes in [0, 2), got 9223372036854775807"),
    # Attention and losses
    ("float[4, 2, 2, 2] x, float c, float[3] s", "int64[1] p = {2}", "23: z = RotaryEmbedding(x, c, s, p)", "requires caches of rank 2, found rank 0"),
    ("float[4, 2, 2, 2] x, float[4, 2, 1] c, float[4] s", "", "23: z = RotaryEmbedding(x, c, s)", "requires caches of rank 3, found 4"),
    ("float[4] x, int64[4] t", "", "13: z = NegativeLogLikelihoodLoss(x, t)", "requires targets of rank 0, found 4"),
    # Products of integers
    ("float8e5m2[2, 4] x, float8e5m2[4, 2] w, uint8 u", "float s = {1}, float8e5m2 f = {0}", "21: z = QLinearMatMul(x, s, f, w, s, f, s, u)",
     "a quantized product of float8e5m2 is not supported"),
    # Shape
    ("float[4] x", "", "z = Constant()", "requires an attribute 'value', found none"),
    ("int64[N] s", "", "z = ConstantOfShape(s)", "a shape operand of unknown length is not supported"),
    ("float[4] x", "int64[1] s = {-1}", "z = ConstantOfShape(s)", "requires sizes of at least 0, found -1"),
    ("float[4] x", "double a = {0}, double b = {1e30}, double c = {1}", "z = Range(a, b, c)", "requires fewer than 2^40 elements, found more"),
    ("float[4] x", "", "z = EyeLike(x)", "requires an operand of rank 2, found 4"),
    ("float[4] x", "", "z = Trilu(x)", "requires an operand of rank 2 at least, found 4"),
    ("float[4] x", "int64[2] s = {-1, 3}", "z = Reshape(x, s)", "requires a shape that 4 elements fit in, found -1x3"),
    ("float[4] x", "int64[1] s = {3}", "z = Reshape(x, s)", "reshape requires as many elements as its operand has, got 3 (3) and 4 (4)"),
    ("float[4] x", "int64[2] s = {-1, -1}", "z = Reshape(x, s)", "requires at most one size of -1, found two"),
    ("float[4] x", "int64[2] s = {4, 0}", "z = Reshape(x, s)", "requires an axis 1 to copy the size of, found 4"),
    ("float[4] x", "int64[1] s = {-2}", "z = Reshape(x, s)", "requires sizes of at least -1, found -2"),
    ("float[4] x, int64[N] s", "", "z = Reshape(x, s)", "a shape operand of unknown length is not supported"),
    ("float[4] x", "", "z = Flatten<axis = 2>(x)", "requires an axis in [-1, 1], found 2"),
    ("float[1, N] x", "", "z = Squeeze(x)", "an absent list of axes with a size known only at run time is not supported"),
    ("float[4] x", "", "11: z = Unsqueeze(x)", "requires the attribute 'axes', found none"),
    # Elementwise
    ("float[2, 3] x, float[2, 3, 4] y", "", "6: z = Add<axis = 0, broadcast = 1>(x, y)",
     "requires a second operand that fits at axis 0, found rank 3"),
    ("float[4] x", "", "z = Mod(x, x)", "requires fmod = 1 for floats, found 0"),
    ("float[4] x, float[2] y", "", "z = Clip(x, y)", "requires bounds of rank 0, found 2"),
    ("uint8[4] x", "", "z = BitShift<direction = \"UP\">(x, x)", "requires direction LEFT or RIGHT, found 'UP'"),
    # Products
    ("float[4] x", "", "z = Gemm(x, x)", "requires matrices, found 4 and 4"),
    ("float[4] x", "", "z = Einsum<equation = \"i,j->ij\">(x)", "requires one term an input, found equation 'i,j->ij'"),
    ("float[4] x", "", "z = Einsum<equation = \"ij->i\">(x)", "requires a term of 1 labels, found 'ij'"),
    ("float[4] x", "", "z = Einsum<equation = \"i->j\">(x)", "requires output labels that occur in an input, each once, found equation 'i->j'"),
    ("float[4] x", "", "z = Einsum<equation = \"1->1\">(x)", "requires labels that are letters, found '1'"),
    # Convolution and pooling
    ("float[4, 4] x", "", "z = MaxPool<kernel_shape = [2]>(x)", "requires an operand of rank 3 at least, found 4x4"),
    ("float[1, 1, 4] x", "", "z = MaxPool(x)", "requires the attribute 'kernel_shape', found none"),
    ("float[1, 1, 4] x", "", "z = MaxPool<kernel_shape = [2, 2]>(x)", "requires 1 kernel_shape, found 2"),
    ("float[1, 1, 4] x", "", "z = MaxPool<kernel_shape = [2], strides = [0]>(x)", "requires positive strides of at most 1073741824, found 0"),
    ("float[1, 1, 4] x", "", "z = MaxPool<kernel_shape = [2], pads = [1]>(x)", "requires 2 pads, found 1"),
    ("float[1, 1, 4] x", "", "z = MaxPool<kernel_shape = [2], pads = [-1, 0]>(x)", "requires pads from 0 to 1073741824, found -1"),
    ("float[1, 1, 4] x", "", "z = MaxPool<kernel_shape = [2], auto_pad = \"SOME\">(x)",
     "requires auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found 'SOME'"),
    ("float[1, 1, 8] x", "", "z, y = MaxPool<kernel_shape = [2], storage_order = 1>(x)", "storage_order 1 for other ranks than 4 is not supported"),
    ("float[1, 1, 8] x, float[1, 1, 3] w", "", "z = Conv<kernel_shape = [2]>(x, w)", "requires kernel_shape 3, found 2"),
    ("float[1, 1, 8] x, float[1, 3] w", "", "z = Conv(x, w)", "requires a filter of rank 3, found 1x3"),
    ("float[1, 1, 8] x, float[1, 1, N] w", "", "z = Conv(x, w)", "a filter whose shape is known only at run time is not supported"),
    ("float[1, 8] x", "", "z = ConvTranspose(x, x)", "requires operands of one rank of at least 3, found 1x8 and 1x8"),
    ("float[1, 3, 8] x, float[3, 1, 3] w", "", "z = ConvTranspose<group = 2>(x, w)", "requires channels in 2 groups, found 3"),
    ("float[1, 3, 8] x, float[3, 1, 3] w", "", "z = ConvTranspose<pads = [1]>(x, w)",
     "requires output_padding, pads and output_shape for 1 spatial axes"),
    ("float[1, 1, 4] x, float[1, 1, 4294967296] w", "", "z = Conv<dilations = [1073741824]>(x, w)", "requires a filter of sizes from 0 to 1073741824, found 4294967296"),
    ("float[1, 3, 8] x, float[3, 1, 3] w", "", "z = ConvTranspose<pads = [-9223372036854775808, 0]>(x, w)",
     "requires pads of sizes from -1073741824 to 1073741824, found -9223372036854775808"),
    ("float[1, 3, 8] x, float[3, 1, 3] w", "", "z = ConvTranspose<output_shape = [9223372036854775807]>(x, w)",
     "requires an output_shape of sizes from -1073741824 to 1073741824, found 9223372036854775807"),
    ("float[1, 3, 8] x, float[3, 1, 3] w", "", "z = ConvTranspose<group = 4294967296>(x, w)", "requires channels in 4294967296 groups, found 3"),
    ("uint8[1, 3] x, uint8[1, 3] w", "", "z = ConvInteger(x, w)", "requires a filter of rank 3 at least, found 1x3"),
    ("float[4] x", "", "z = Min(x, , x)", "requires all inputs of a list, found input 1 left out"),
    # Normalization and losses
    ("float[4] x", "", "z = BatchNormalization(x, x, x, x, x)", "requires an operand of rank 2 at least, found 4"),
    ("float[4] x", "", "z = LRN<size = 3>(x)", "requires a positive size and rank 2 at least, found 3 and 4"),
    ("float[4] x", "", "z = LpNormalization<p = 3>(x)", "requires p = 1 or p = 2, found 3"),
    ("float[1, 3, 4] x, float[3] w", "", "21: z = GroupNormalization<num_groups = 2>(x, w, w)",
     "requires channels in groups, found 3 channels and 2 groups"),
    ("float[2, 3] x, int64[2] t", "", "z = NegativeLogLikelihoodLoss<reduction = \"most\">(x, t)", "requires reduction mean, sum or none, found 'most'"),
    ("float[2, 3] x, int64[2, 3] t", "", "z = NegativeLogLikelihoodLoss(x, t)", "requires targets of rank 1, found 2x3"),
    ("float[2] x, int64[2] t", "", "z = SoftmaxCrossEntropyLoss(x, t)", "requires scores of rank 2 at least, found 2"),
    # Reductions, positions
    ("float[2, 3] x, int64[2] a", "", "18: z = ReduceMax(x, a)", "more than one axis that is known only at run time is not supported"),
    ("float[2, 3] x", "int64[2] a = {0, 1}", "z = CumSum(x, a)", "requires one axis, found 2"),
    ("int64[4] x", "int64 d = {-1}, float[2] v = {0, 1}", "z = OneHot(x, d, v)", "requires a depth of at least 0, found another"),
    # Resize
    ("float[1, 1, 4, 4] x", "", "z = Resize(x)", "requires one of scales and sizes, found none"),
    ("float[4] x", "float[1] s = {2.0}", "z = Resize<mode = \"best\">(x, , s)", "mode 'best' is not supported"),
    ("float[4] x", "float[1] s = {2.0}", "z = Resize<coordinate_transformation_mode = \"round\">(x, , s)",
     "coordinate_transformation_mode 'round' is not supported"),
    ("float[4] x", "float[2] s = {2.0, 2.0}", "z = Resize(x, , s)", "requires one scale or size an axis, found 2"),
    ("float[4] x", "float[1] s = {2.0}", "19: z = Resize<antialias = 1>(x, , s)", "antialias of mode 'nearest' is not supported"),
    ("float[0, 4] x", "int64[2] s = {2, 2}", "19: z = Resize<antialias = 1, mode = \"linear\">(x, , , s)", "requires an operand with elements, found 0x4"),
    ("float[1, 2, 3] x, int64[N] s", "", "20: z = AffineGrid(x, s)", "requires 4 or 5 sizes, found ?"),
    ("float[1, 2, 3] x, int64 s", "", "20: z = AffineGrid(x, s)", "requires 4 or 5 sizes, found rank 0"),
    ("float[1, 4] x", "", "z = GridSample(x, x)", "grid sampling of rank 2 is not supported"),
    ("float[4] x, int64[1] b", "", "z = RoiAlign<sampling_ratio = 1>(x, x, b)", "requires rank 4 and regions of rank 2, found 4 and 4"),
    ("float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b", "", "z = RoiAlign(x, r, b)",
     "a sampling_ratio that follows from each region's size is not supported"),
    # Whole numbers near the end of their range
    ("float[4] x", "int64[1] s = {-9223372036854775808}", "18: z = CenterCropPad(x, s)", "requires sizes of at least 0, found -9223372036854775808"),
    ("float[5, 1, 2] x, float[1, 3, 2] w", "", "z = RNN<hidden_size = 9223372036854775807>(x, w, w)",
     "requires a hidden_size of at most 1073741824, found 9223372036854775807"),
    ("float[3, 2] x", "", "z = Scan<num_scan_inputs = -9223372036854775808, body = b (float[2] s) => (float[2] t) { t = Neg(s) }>(x)",
     "requires a body of as many inputs as the node has, found 1"),
    # Attention
    ("float[1, N, 3, 8] x", "", "23: z = Attention(x, x, x)", "a number of heads known only at run time is not supported"),
    ("float[1, 3, 2, 8] x, float[1, 2, 2, 8] y", "", "23: z = Attention(x, y, y)",
     "requires a number of query heads that is a multiple of the others, found 3 and 2"),
    ("float[1, 2, 3, 4] x, float[1, 3, 2] c", "", "23: z = RotaryEmbedding<rotary_embedding_dim = -2>(x, c, c)",
     "requires an even rotary_embedding_dim of at most 4, found -2"),
    # Recurrent cells
    ("float[5, 2] x", "", "z = RNN<hidden_size = 3>(x, x, x)", "requires operands of rank 3 and a hidden_size, found 5x2, 5x2 and 5x2"),
    ("float[5, 1, 2] x, float[1, 3, 2] w, float[1, 3, 3] r", "", "z = RNN<hidden_size = 3, direction = \"up\">(x, w, r)",
     "requires direction forward, reverse or bidirectional, found 'up'"),
    ("float[5, 1, 2] x, float[1, 4, 2] w, float[1, 3, 3] r", "", "z = RNN<hidden_size = 3>(x, w, r)",
     "requires weights [1, 3, ...], found 1x4x2"),
    ("float[5, 1, 2] x, float[1, 3, 2] w, float[1, 3, 3] r", "", "z = RNN<hidden_size = 3, activations = [\"Tanh\", \"Tanh\"]>(x, w, r)",
     "requires 1 activations, found 2"),
    ("float[5, 1, 2] x, float[1, 3, 2] w, float[1, 3, 3] r", "", "z = RNN<hidden_size = 3, activations = [\"Elu\"]>(x, w, r)",
     "activation 'Elu' is not supported"),
    ("float[5, 1, 2] x, float[1, 3, 2] w, float[1, 3, N] r", "", "z = RNN<hidden_size = 3>(x, w, r)",
     "a number of hidden units that is known only at run time is not supported"),
    # onnxruntime's domain
    ("float[2, 3] x, double[3, 4] y", "", "z = com.microsoft.FusedMatMul(x, y)", "requires inputs of one type of floats, found f32 and f64"),
    ("float[1, 2, 9, 9] x, float[4, 2, 3, 3] w", "", "z = com.microsoft.FusedConv<activation = \"Elu\">(x, w)", "activation 'Elu' with 0 parameters is not supported"),
    ("int32[2, 5] ids", "", "z = com.microsoft.EmbedLayerNormalization(ids)", "requires ids of rank 2, tables and a scale, found ids 2x5"),
    ("float s", "", "z = com.microsoft.SkipLayerNormalization(s, s, s)", "requires operands of rank 1 at least, found rank 0"),
    ("float[1, 5, 16] x, float[8, 2] c, int64[1] p", "", "z = com.microsoft.RotaryEmbedding<scale = 2.0>(x, p, c, c)", "scaled angles and packed sequences is not supported"),
    ("float[1, 5, 16] x, float[8, 2] c, int64[1] p", "", "z = com.microsoft.RotaryEmbedding<num_heads = 4, rotary_embedding_dim = 6>(x, p, c, c)",
     "requires an even rotary_embedding_dim within heads and caches, found 6 for 1x5x4x4 and 8x2"),
    ("float[1, 5, 16] x, float[16, 40] w", "", "z = com.microsoft.Attention<num_heads = 4>(x, w)", "requires three widths that are multiples of 4 heads in 40 columns"),
    ("float[1, 5, 16] x, int32[3] m", "", "z = com.microsoft.MultiHeadAttention<num_heads = 4>(x, x, x, , m)", "a mask of 3 for 1 sequences is not supported"),
    ("float[1, 5, 16] x, float[1, 2, 4, 4] p", "", "z = com.microsoft.MultiHeadAttention<num_heads = 4>(x, x, x, , , , p)", "requires past_key and past_value together, found one"),
    ("float[1, 5, 16] x", "", "z = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(x, x, x)", "requires seqlens_k and total_sequence_length"),
    ("float[1, 1, 16] x, float[1, 1, 8] k, float[1, 2, 3, 5] p, int32[1] l, int32 t", "",
     "z = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(x, k, k, p, p, l, t)", "requires heads of one size, found 1x1x2x4 and 1x2x3x5"),
    ("float[1, 1, 16] x, float[1, 1, 8] k, float[2, 2, 3, 4] p, int32[1] l, int32 t", "",
     "z = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>(x, k, k, p, p, l, t)",
     "requires a past of as many sequences, heads and rows for keys and values, found 2x2x3x4"),
    ("uint8[8, 16] c, int64[2] i, float[8, 2] s", "", "z = com.microsoft.GatherBlockQuantized<bits = 2>(c, i, s)", "codes of 2 bits is not supported"),
    ("uint8[8, 16] c, int64[2] i, float[8, 3] s", "", "z = com.microsoft.GatherBlockQuantized<block_size = 16, bits = 8>(c, i, s)",
     "requires a scale for each block of 16 codes, found 3 for 16"),
    ("float[5, 1, 2] x, int8[1, 2, 12] w, int8[1, 3, 12] r", "", "z = com.microsoft.DynamicQuantizeLSTM<hidden_size = 3>(x, w, r)",
     "requires a scale of each matrix of weights, found none"),
    ("double[2, 4] x, int8[4, 3] w, float s", "", "z = com.microsoft.DynamicQuantizeMatMul(x, w, s)", "requires a first operand of f32"),
    ("float[2, 4] x, int16[4, 3] w, float s", "", "z = com.microsoft.DynamicQuantizeMatMul(x, w, s)", "a quantized product of int16 is not supported"),
    ("uint8[2, 4] x, int8[4, 3] w, float[4] t, float s", "", "z = com.microsoft.MatMulIntegerToFloat(x, w, t, s)",
     "a scale or zero point for each row of the first operand is not supported"),
    ("uint8[2, 4] x, int8[4, 3] w, float s, float16[3] b", "", "z = com.microsoft.MatMulIntegerToFloat(x, w, s, s, , , b)", "requires scales and a bias of one type of floats"),
    ("uint8[2, 4] x, int8[2, 4, 3] w, float s, float[1, 3] t", "", "z = com.microsoft.MatMulIntegerToFloat(x, w, s, t)",
     "requires parameters of rank 0, 1 or 3 for the second operand, found 1x3"),
    ("uint8[1, 5, 16] x, int8[16, 40] w, float[40] b, float s", "", "z = com.microsoft.QAttention<num_heads = 4>(x, w, b, s, s)",
     "requires three widths that are multiples of 4 heads in 40 columns"),
    ("float[2, 32] x, uint8[8, 1, 12] w, float[8, 1] s", "", "z = com.microsoft.MatMulNBits<K = 32, N = 8, bits = 3, block_size = 32>(x, w, s)", "weights of 3 bits is not supported"),
    ("float[2, 32] x, uint8[8, 1, 8] w, float[8, 1] s, int32[8] g", "", "z = com.microsoft.MatMulNBits<K = 32, N = 8, bits = 2, block_size = 32>(x, w, s, , g)",
     "requires the block of each of 32 rows, found 8"),
    ("float[2, 3] x, int64 a", "", "z = com.microsoft.ExpandDims(x, a)", "an axis that is known only at run time is not supported"),
    ("float[2, 3] x", "int32 a = {4}", "z = com.microsoft.ExpandDims(x, a)", "requires axes in [-3, 3), found 4"),
    ("uint8[2, 3] x", "", "z = com.microsoft.NhwcMaxPool<kernel_shape = [2]>(x)", "requires an operand of rank 3 at least, found 2x3"),
    ("float[2, 4, 4, 6] x, float[6] s", "", "z = com.microsoft.GroupNorm<groups = 4>(x, s, s)", "requires channels in groups, found 6 channels and 4 groups"),
    ("float[2, 4, 4, 6] x, float[6] s", "", "z = com.microsoft.GroupNorm<groups = 2, activation = 2>(x, s, s)", "activation 2 is not supported"),
    ("float[2, 7] x, float[7] b", "", "z = com.microsoft.BiasSplitGelu(x, b)", "requires rows of an even number of elements, found 2x7"),
    ("float[2, 7] x", "", "z = com.microsoft.CDist<metric = \"cosine\">(x, x)", "metric 'cosine' is not supported"),
    ("float[32, 4] t, int64 n", "", "z = com.microsoft.RelativePositionBias<max_distance = 16>(t, n, n)", "requires a max_distance above 16 for 32 buckets, found 16"),
    ("int32[2, 5] i, uint8[9, 8] w, uint8[8] g", "", "z = com.microsoft.QEmbedLayerNormalization(i, , w, w, , g, g)", "requires a scale of input 2, found none"),
    # Signals
    ("float[1, 8, 3] x", "", "z = DFT(x)", "requires a last axis of size 1 or 2, found 1x8x3"),
    ("float[1, 8, 2] x", "", "z = DFT<axis = 2>(x)", "requires an axis of the signal, found 2"),
    ("float[1, 8, 2] x", "", "z = DFT<onesided = 1, inverse = 1>(x)", "a one-sided inverse transform is not supported"),
    ("float[8] x", "int64 s = {2}", "z = STFT(x, s)", "requires a signal of rank 3, found 8"),
    ("float[1, 8, 1] x", "int64 s = {2}", "z = STFT(x, s)", "requires a window or a frame length, found none"),
    # Control flow
    ("float p, float[4] x", "", "z = If<then_branch = t () => (float[4] a) { a = Neg(x) }, else_branch = e () => (float[4] b) { b = Abs(x) }>(p)",
     "requires an input 0 of type bool, found float"),
    ("bool p, float[4] x", "", "z = If<then_branch = t () => (float[4] a) { a = Neg(x) }>(p)",
     "requires the attribute 'else_branch', found none"),
    ("bool p, float[4] x",  "", "z = If<then_branch = t () => (float[4] a) { a = Neg(x) }, else_branch = e () => (float b) { b = ReduceMax<keepdims = 0>(x) }>(p)",
     "a pair of branches whose outputs differ in rank or element type is not supported"),
    ("int64 m, bool p, float[4] x", "", "z = Loop(m, p, x)", "requires the attribute 'body', found none"),
    ("int64 m, bool p, float[4] x", "", "z = Loop" + BODY.format("int64 i, bool c", "bool c2", "c2 = Identity(c)") + "(m, p, x)",
     "requires a body of 3 inputs and at least 2 outputs, found 2 and 1"),
    ("int64 m, bool p, float[4] x", "", "z = Loop" + BODY.format(STEP, "bool c2, float t", "c2 = Identity(c) t = ReduceMax<keepdims = 0>(s)") + "(m, p, x)",
     "a carried value that changes its rank or element type is not supported"),
    ("float[4] x", "", "z = Scan<num_scan_inputs = 1>(x)", "requires the attribute 'body', found none"),
    ("float[4] x", "", "z = Scan<num_scan_inputs = 2, body = b (float a) => (float c) { c = Neg(a) }>(x)",
     "requires a body of as many inputs as the node has, found 1"),
    ("float[4] x", "", "z = Scan<num_scan_inputs = 1, scan_input_axes = [0, 0], body = b (float a) => (float c) { c = Neg(a) }>(x)",
     "requires one axis and direction a sequence"),
]

translate, folder = sys.argv[1:]
failed = 0
for number, (inputs, constants, node, message) in enumerate(CASES):
    version, _, text = node.rpartition(": ") if node.split(":")[0].isdigit() else ("17", "", node)
    path = f"{folder}/{number}.onnx"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}, "com.microsoft" : 1]> graph ({inputs}) => (float[N] z) '
                                    + (f"<{constants}> " if constants else "") + "{ " + text + " }")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    run = subprocess.run([translate, "--onnx-to-mlir", path], capture_output=True, text=True)
    said = [line for line in run.stderr.splitlines() if "error: " in line]
    if run.returncode == 0 or not said or not said[0].endswith("): " + message):
        failed += 1
        print(f"{node}\n  expected: {message}\n  exit code {run.returncode}: {said[0] if said else run.stderr[:200]}")
print(f"{len(CASES)} models, {failed} not refused as they should be")
sys.exit(failed != 0)
