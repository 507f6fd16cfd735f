// What the module's target offers decides how matrices are laid out: panels of half the usual width, lines that rows fill.
// RUN: sinter-opt %s --sinter-pack-invariants --sinter-align-matrices | FileCheck %s

module attributes {sinter.target = #sinter.target<"other", vector_bits = 256, registers = 16, l1 = 32768 x 8, l2 = 524288, l3 = 16777216, line = 16, panel = 64>} {
// CHECK-LABEL: @panels
// CHECK: sinter.kernel map({{.*}}) : {{.*}} -> tensor<8x64x16xf32>
func.func @panels(%h: tensor<8x64xf32>, %xs: tensor<10x8x128xf32>, %w: tensor<128x64xf32>) -> tensor<8x64xf32> {
  %r = sinter.scan (%h) over(%xs) captures(%w) {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>} : (tensor<8x64xf32>, tensor<10x8x128xf32>, tensor<128x64xf32>) -> tensor<8x64xf32> body {
  ^bb0(%c: tensor<8x64xf32>, %x: tensor<8x128xf32>, %m: tensor<128x64xf32>):
    %p = sinter.kernel contraction(%c, %m, %x) : (tensor<8x64xf32>, tensor<128x64xf32>, tensor<8x128xf32>) -> tensor<8x128xf32> {
    ^bb0(%a: tensor<8x64xf32>, %b: tensor<128x64xf32>, %y: tensor<8x128xf32>):
      %d = sinter.dot_general %a, %b {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<8x64xf32>, tensor<128x64xf32>) -> tensor<8x128xf32>
      %s = sinter.add %d, %y : (tensor<8x128xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
      sinter.yield(%s) : tensor<8x128xf32>
    }
    %n = sinter.kernel map(%p) : (tensor<8x128xf32>) -> tensor<8x64xf32> {
    ^bb0(%a: tensor<8x128xf32>):
      %l = sinter.slice %a {starts = array<i64: 0, 0>, limits = array<i64: 8, 64>, steps = array<i64: 1, 1>} : (tensor<8x128xf32>) -> tensor<8x64xf32>
      sinter.yield(%l) : tensor<8x64xf32>
    }
    sinter.yield(%n) : tensor<8x64xf32>
  }
  return %r : tensor<8x64xf32>
}

// CHECK-LABEL: @lines
// CHECK-NOT: sinter.pad
// CHECK: return
func.func @lines(%n: tensor<i64>, %a: tensor<60x60xf32>, %x0: tensor<60xf32>) -> tensor<60xf32> {
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %0 = sinter.for %zero to %n step %one(%x0) captures(%a) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<60xf32>, tensor<60x60xf32>) -> tensor<60xf32> body {
  ^bb0(%i: tensor<i64>, %x: tensor<60xf32>, %m: tensor<60x60xf32>):
    %1 = sinter.dot_general %m, %x {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<60x60xf32>, tensor<60xf32>) -> tensor<60xf32>
    sinter.yield(%1) : tensor<60xf32>
  }
  return %0 : tensor<60xf32>
}
}
