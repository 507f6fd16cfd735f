// What is computed from one byte and is a byte again is looked up: in registers where an instruction permutes bytes of
// two of them, else in memory. Chains of few ops stay what they are, and so do those of two values.
// RUN: sinter compile %s --target=icelake-server --emit=asm -o - | FileCheck --check-prefixes=CHECK,REGISTERS %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=asm -o - | FileCheck --check-prefixes=CHECK,GATHER %s
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o - | FileCheck --check-prefixes=CHECK,LOADS %s
// RUN: sinter compile %s --target=neoverse-v2 --emit=asm -o - | FileCheck --check-prefixes=CHECK,LOADS %s
// RUN: sinter check %s
// Threads of a GPU keep no tables of their own.
// RUN: sinter compile %s --target=cpu+cuda --emit=ptx -o - | FileCheck --check-prefix=PTX %s
// PTX: .entry {{.*}}map
// PTX-NOT: .local

// CHECK: {{k[0-9]+_map}}:
// CHECK-NOT: vfmadd
// REGISTERS-COUNT-2: vperm{{[it]}}2b
// GATHER: vpgatherdd
// LOADS-NOT: {{vfmadd|fmla|fdiv|vdivps}}
// CHECK-NOT: vfmadd
// CHECK: .Lfunc_end
func.func @table(%x: tensor<40x1000xui8>) -> tensor<40x1000xui8> {
  %zero = sinter.constant dense<127> : tensor<40x1000xi32>
  %scale = sinter.constant dense<0.0625> : tensor<40x1000xf32>
  %wide = sinter.convert %x {element_type = i32} : (tensor<40x1000xui8>) -> tensor<40x1000xi32>
  %sub = sinter.sub %wide, %zero : (tensor<40x1000xi32>, tensor<40x1000xi32>) -> tensor<40x1000xi32>
  %number = sinter.convert %sub {element_type = f32} : (tensor<40x1000xi32>) -> tensor<40x1000xf32>
  %scaled = sinter.mul %number, %scale : (tensor<40x1000xf32>, tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %share = sinter.logistic %scaled : (tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %swish = sinter.mul %share, %scaled : (tensor<40x1000xf32>, tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %inverse = sinter.constant dense<32.0> : tensor<40x1000xf32>
  %steps = sinter.mul %swish, %inverse : (tensor<40x1000xf32>, tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %round = sinter.round %steps : (tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %y = sinter.convert %round {element_type = ui8} : (tensor<40x1000xf32>) -> tensor<40x1000xui8>
  return %y : tensor<40x1000xui8>
}

// CHECK: {{k[0-9]+_map}}:
// CHECK-NOT: {{vperm[it]2b|vpgather}}
// CHECK: .Lfunc_end
func.func @two(%x: tensor<40x1000xui8>, %y: tensor<40x1000xui8>) -> tensor<40x1000xui8> {
  %scale = sinter.constant dense<0.0625> : tensor<40x1000xf32>
  %a = sinter.convert %x {element_type = f32} : (tensor<40x1000xui8>) -> tensor<40x1000xf32>
  %b = sinter.convert %y {element_type = f32} : (tensor<40x1000xui8>) -> tensor<40x1000xf32>
  %scaled = sinter.mul %a, %scale : (tensor<40x1000xf32>, tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %share = sinter.logistic %scaled : (tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %product = sinter.mul %share, %b : (tensor<40x1000xf32>, tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %round = sinter.round %product : (tensor<40x1000xf32>) -> tensor<40x1000xf32>
  %z = sinter.convert %round {element_type = ui8} : (tensor<40x1000xf32>) -> tensor<40x1000xui8>
  return %z : tensor<40x1000xui8>
}

// CHECK: {{k[0-9]+_map}}:
// CHECK-NOT: {{vperm[it]2b|vpgather}}
// CHECK: .Lfunc_end
func.func @few(%x: tensor<40x1000xui8>) -> tensor<40x1000xi8> {
  %zero = sinter.constant dense<7> : tensor<40x1000xui8>
  %sum = sinter.add %x, %zero : (tensor<40x1000xui8>, tensor<40x1000xui8>) -> tensor<40x1000xui8>
  %y = sinter.convert %sum {element_type = i8} : (tensor<40x1000xui8>) -> tensor<40x1000xi8>
  return %y : tensor<40x1000xi8>
}
