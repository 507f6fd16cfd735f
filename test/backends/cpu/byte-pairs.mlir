// Products of bytes without VNNI: two neighbouring products are added in 16 bits (pmaddubsw) where they surely hold the sum,
// as weights of seven bits lie, others in an order of each panel and with what no order holds in words of its own.
// Weights without such orders take pairs of i16, and targets with better instructions take these.
// RUN: sinter compile %s --target=x86-64-v3 --emit=fused -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v3,+avxvnni --emit=fused -o - | FileCheck --check-prefix=NONE %s
// RUN: sinter compile %s --target=neoverse-n1 --emit=fused -o - | FileCheck --check-prefix=NONE %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o %t.s
// RUN: FileCheck --check-prefix=ASM %s < %t.s
// RUN: python3 %source/tools/check_spills.py %t.s 12 pmaddubsw | FileCheck --check-prefix=TILE %s
// RUN: sinter compile %s --target=x86-64-v2 --emit=asm -o - | FileCheck --check-prefix=SSE %s
// RUN: sinter compile %s --target=skylake-avx512 --emit=asm -o - | FileCheck --check-prefix=WIDE %s
// RUN: sinter check %s
// NONE-NOT: sinter.pairs
// ASM: vpshufb
// ASM: vpmaddubsw
// ASM: vpmaddubsw {{.*}}%ymm
// TILE: FMAs in
// SSE: pshufb {{.*}}%xmm
// SSE: pmaddubsw {{.*}}%xmm
// WIDE: vpmaddubsw {{.*}}%zmm

// CHECK-LABEL: @seven_bits
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 0, 0, 0>
func.func @seven_bits(%x: tensor<30x96xui8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<64> : tensor<96x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// Rows of signed bytes are copied with their signs flipped.
// CHECK-LABEL: @signed_rows
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 0, 0, 0>
func.func @signed_rows(%x: tensor<30x96xi8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<-64> : tensor<96x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xi8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// CHECK-LABEL: @unsigned_weights
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 0, 0, 0>
func.func @unsigned_weights(%x: tensor<30x96xi8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<64> : tensor<96x32xui8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xi8>, tensor<96x32xui8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// The greatest weights are neighbours, of which each goes with one of the others.
// CHECK-LABEL: @ordered
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 16, 1, 0>
func.func @ordered(%x: tensor<30x32xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[127], [127], [127], [127], [127], [127], [127], [127], [1], [1], [1], [1], [1], [1], [1], [1], [127], [127], [127], [127], [127], [127], [127], [127], [1], [1], [1], [1], [1], [1], [1], [1]]> : tensor<32x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x32xui8>, tensor<32x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// Groups of eight are the largest that fill the sum.
// CHECK-LABEL: @groups_of_eight
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 8, 1, 0>
func.func @groups_of_eight(%x: tensor<30x24xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[-127], [-127], [-127], [-127], [-1], [-1], [-1], [-1], [-127], [-127], [-127], [-127], [-1], [-1], [-1], [-1], [-127], [-127], [-127], [-127], [-1], [-1], [-1], [-1]]> : tensor<24x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x24xui8>, tensor<24x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// Nine great weights of a group: two are neighbours, and what exceeds 16 bits is multiplied by itself.
// CHECK-LABEL: @extra_word
// CHECK: dot_general{{.*}}sinter.pairs = array<i64: 1, 16, 1, 1>
func.func @extra_word(%x: tensor<30x96xui8>) -> tensor<30x1xi32> {
  %w = sinter.constant dense<[[127], [127], [127], [127], [127], [127], [127], [127], [127], [1], [1], [1], [1], [1], [1], [1], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64], [64]]> : tensor<96x1xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x1xi8>) -> tensor<30x1xi32>
  return %p : tensor<30x1xi32>
}

// CHECK-LABEL: @without_pairs
// CHECK-NOT: sinter.pairs
func.func @without_pairs(%x: tensor<30x96xui8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<127> : tensor<96x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// Unsigned weights of eight bits are no signed bytes.
// CHECK-LABEL: @eight_bits
// CHECK-NOT: sinter.pairs
func.func @eight_bits(%x: tensor<30x96xi8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<128> : tensor<96x32xui8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xi8>, tensor<96x32xui8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// CHECK-LABEL: @operand
// CHECK-NOT: sinter.pairs
func.func @operand(%x: tensor<30x96xui8>, %w: tensor<96x32xi8>) -> tensor<30x32xi32> {
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32} : (tensor<30x96xui8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// What a text says of weights is found anew.
// CHECK-LABEL: @false_note
// CHECK-NOT: sinter.pairs
func.func @false_note(%x: tensor<30x96xui8>) -> tensor<30x32xi32> {
  %w = sinter.constant dense<127> : tensor<96x32xi8>
  %p = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>, element_type = i32, sinter.pairs = array<i64: 1, 0, 0, 0>} : (tensor<30x96xui8>, tensor<96x32xi8>) -> tensor<30x32xi32>
  return %p : tensor<30x32xi32>
}

// CHECK-LABEL: @filter
// CHECK: convolution{{.*}}sinter.pairs = array<i64: 1, 0, 0, 0>
func.func @filter(%x: tensor<1x14x14x64xui8>) -> tensor<1x14x14x32xi32> {
  %w = sinter.constant dense<-64> : tensor<32x3x3x64xi8>
  %p = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = 1 : i64, layout = #sinter<conv_layout channels_last>, element_type = i32} : (tensor<1x14x14x64xui8>, tensor<32x3x3x64xi8>) -> tensor<1x14x14x32xi32>
  return %p : tensor<1x14x14x32xi32>
}
