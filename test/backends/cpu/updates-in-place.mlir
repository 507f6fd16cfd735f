// The kernel of a product writes a weight's next value over the old one, element by element: its last tile has the rows
// that are left rather than reaching back. It runs after what else reads the old value, whatever the order in the text.
// RUN: sinter compile %s --target=x86-64-v4 --emit=schedule -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=loops -o - | FileCheck --check-prefix=LOOPS %s

// CHECK-LABEL: schedule.function {{.*}}_step
// CHECK: %[[W:.*]] = schedule.input 0
// CHECK: schedule.launch @{{.*}}_k1_contraction(%{{.*}}, %[[W]], %{{.*}}) writes [2, 3]
// CHECK: schedule.commit
// CHECK-NEXT: %[[NEXT:.*]] = schedule.output 1
// CHECK-NEXT: schedule.launch @{{.*}}_k0_contraction(%{{.*}}, %{{.*}}, %[[W]], %[[NEXT]]) writes [3]

// Rows 0 to 90 are seven tiles.
// LOOPS-LABEL: func.func @{{.*}}_k0_contraction
// LOOPS: %[[WHOLE:.*]] = arith.minsi %[[END:.*]], %c91 : index
// LOOPS: scf.for %{{.*}} = %{{.*}} to %[[WHOLE]] step %c13
// LOOPS: %[[LEFT:.*]] = arith.cmpi sgt, %[[END]], %c91
// LOOPS: scf.if %[[LEFT]]
func.func @step(%w: tensor<103x64xf32> {sinter.state = "w"}, %x: tensor<32x103xf32>, %y: tensor<32x64xf32>) -> (tensor<32x103xf32>, tensor<103x64xf32> {sinter.state = "w"}) {
  %g = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<32x103xf32>, tensor<32x64xf32>) -> tensor<103x64xf32>
  %w1 = sinter.sub %w, %g : (tensor<103x64xf32>, tensor<103x64xf32>) -> tensor<103x64xf32>
  %b = sinter.dot_general %y, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<32x64xf32>, tensor<103x64xf32>) -> tensor<32x103xf32>
  return %b, %w1 : tensor<32x103xf32>, tensor<103x64xf32>
}
