// Attributes of targets and schedules: what is printed is parsed, and what they require.
// RUN: sinter-opt --split-input-file --verify-diagnostics %s | FileCheck %s

// CHECK: sinter.target = #sinter.target<"x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64", features = "+avx2,+fma", requires = "x86-64-v3", capabilities = [fma, masked_memory], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64, panel = 128>
module attributes {sinter.target = #sinter.target<"x86-64-v3", panel = 128, cpu = "x86-64", features = "+avx2,+fma", requires = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", capabilities = [fma, masked_memory], vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 64>} {}

// -----

// CHECK: a = #sinter.schedule<contraction, lanes = 16, tile = [14, 2], chunk = 2097152, packing = [1], zeros = [0, 2]>
// CHECK-SAME: b = #sinter.schedule<general>
module attributes {sinter.a = #sinter.schedule<contraction, packing = [1], zeros = [0, 2], chunk = 2097152, tile = [14, 2], lanes = 16>, sinter.b = #sinter.schedule<general>} {}

// -----

// expected-error @+1 {{a target requires a power of two from 128 to 4096 for vector_bits, got 100}}
module attributes {sinter.target = #sinter.target<"odd", vector_bits = 100, registers = 16, l1 = 1 x 1, l2 = 1, l3 = 1, line = 64, panel = 128>} {}

// -----

// expected-error @+1 {{a target requires a number from 8 to 256 for registers, got 0}}
module attributes {sinter.target = #sinter.target<"few", vector_bits = 128, l1 = 1 x 1, l2 = 1, l3 = 1, line = 64, panel = 128>} {}

// -----

// expected-error @+1 {{a target requires a power of two from 64 to 4096 for panel, got 32}}
module attributes {sinter.target = #sinter.target<"narrow", vector_bits = 512, registers = 32, l1 = 1 x 1, l2 = 1, l3 = 1, line = 64, panel = 32>} {}

// -----

// expected-error @+1 {{a target requires capabilities of bfloat_dots, bfloat_rounding, bfloat_tiles, byte_pairs, byte_tiles, equal_byte_dots, fma, half_conversion, half_units, masked_memory, mixed_byte_dots, rounding, scaling, short_dots, got 'teleport'}}
module attributes {sinter.target = #sinter.target<"able", capabilities = [teleport], vector_bits = 128, registers = 16, l1 = 1 x 1, l2 = 1, l3 = 1, line = 64, panel = 128>} {}

// -----

// expected-error @+1 {{a target has no field 'color'}}
module attributes {sinter.target = #sinter.target<"red", color = 3>} {}

// -----

// expected-error @+1 {{requires each field once, got 'lanes' again}}
module attributes {sinter.a = #sinter.schedule<map, lanes = 4, lanes = 8>} {}

// -----

// expected-error @+1 {{a schedule requires a positive number for lanes, got 0}}
module attributes {sinter.a = #sinter.schedule<map, lanes = 0>} {}

// -----

// expected-error @+1 {{a schedule requires positive numbers for tile, got 4, 0}}
module attributes {sinter.a = #sinter.schedule<contraction, tile = [4, 0]>} {}

// -----

// expected-error @+1 {{a schedule requires numbers of inputs for packing, ascending, got 1, 1}}
module attributes {sinter.a = #sinter.schedule<contraction, packing = [1, 1]>} {}

// -----

// expected-error @+1 {{a schedule has lanes, tile, chunk, packing and zeros, got 'unroll'}}
module attributes {sinter.a = #sinter.schedule<map, unroll = 4>} {}
