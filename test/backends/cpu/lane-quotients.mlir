// Vectors of x86 divide floats and no integers: quotients of 32 bits are those of f64. A constant divisor is a product,
// and 64 bits are divided one by one.
// RUN: sinter compile %s --target=x86-64-v3 --emit=asm -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=asm -o - | FileCheck %s
// RUN: sinter compile %s --target=aarch64 --emit=asm -o - | FileCheck --check-prefix=ARM %s
// RUN: sinter check %s

// The last kernel is a part of the function that launches the others.
// CHECK: run_main:
// CHECK-NOT: vdivpd
// CHECK: idivq
// CHECK: k0_map{{.*}}:
// CHECK: vdivpd
// CHECK-NOT: {{idivl|idivq}}
// CHECK: k1_map{{.*}}:
// CHECK-NOT: {{vdivpd|idivl}}
// CHECK: .Lfunc_end
// ARM: k0_map{{.*}}:
// ARM: sdiv
func.func @main(%x: tensor<4096xi32>, %y: tensor<4096xi32>, %z: tensor<3072xi32>, %l: tensor<1024xi64>, %m: tensor<1024xi64>) -> (tensor<4096xi32>, tensor<3072xi32>, tensor<1024xi64>) {
  %q = sinter.div %x, %y : (tensor<4096xi32>, tensor<4096xi32>) -> tensor<4096xi32>
  %s = sinter.constant dense<7> : tensor<3072xi32>
  %c = sinter.div %z, %s : (tensor<3072xi32>, tensor<3072xi32>) -> tensor<3072xi32>
  %r = sinter.rem %l, %m : (tensor<1024xi64>, tensor<1024xi64>) -> tensor<1024xi64>
  return %q, %c, %r : tensor<4096xi32>, tensor<3072xi32>, tensor<1024xi64>
}
