// Rows that lie along the columns of memory, as those of x^T y, are turned before tiles read them: a first step of the
// launch copies both operands whole, each part once whatever the number of threads, and a second one multiplies them.
// Where few columns read the rows, or zeros are looked for, or there are several products, they are read where they lie.
// So the strips of columns are copied, each once, where rows are so many that they do not stay in cache from one strip
// to the next: blocks of them do, which all strips pass.
// RUN: sinter compile %s --target=x86-64-v4 --emit=schedule -o - | FileCheck %s
// RUN: sinter compile %s --target=x86-64-v4 --emit=loops -o - | FileCheck --check-prefix=LOOPS %s

// LOOPS-LABEL: func.func @{{.*}}k0_contraction(
// LOOPS-SAME: %[[STEP:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index) -> i32
// LOOPS: %[[FIRST:.*]] = arith.cmpi eq, %[[STEP]],
// LOOPS: scf.if %[[FIRST]]
// LOOPS: vector.shuffle
// LOOPS: } else {
// LOOPS-NOT: vector.shuffle
// LOOPS: vector.fma
// LOOPS-LABEL: func.func @{{.*}}k1_contraction(

// CHECK-LABEL: schedule.function @{{.*}}many_columns
// CHECK: schedule.launch @{{.*}}k0_contraction({{.*}} chunks %{{[^ ]+}} steps %
func.func @many_columns(%x: tensor<256x1024xf32>, %y: tensor<256x512xf32>) -> tensor<1024x512xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<256x1024xf32>, tensor<256x512xf32>) -> tensor<1024x512xf32>
  return %p : tensor<1024x512xf32>
}

// CHECK-LABEL: schedule.function @{{.*}}few_columns
// CHECK: schedule.launch
// CHECK-NOT: steps
func.func @few_columns(%x: tensor<256x1024xf32>, %y: tensor<256x256xf32>) -> tensor<1024x256xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<256x1024xf32>, tensor<256x256xf32>) -> tensor<1024x256xf32>
  return %p : tensor<1024x256xf32>
}

// CHECK-LABEL: schedule.function @{{.*}}batch
// CHECK: schedule.launch
// CHECK-NOT: steps
func.func @batch(%x: tensor<2x256x1024xf32>, %y: tensor<2x256x512xf32>) -> tensor<2x1024x512xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<2x256x1024xf32>, tensor<2x256x512xf32>) -> tensor<2x1024x512xf32>
  return %p : tensor<2x1024x512xf32>
}

// 48 MiB would be copied.
// CHECK-LABEL: schedule.function @{{.*}}large
// CHECK: schedule.launch
// CHECK-NOT: steps
func.func @large(%x: tensor<2048x4096xf32>, %y: tensor<2048x2048xf32>) -> tensor<4096x2048xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<2048x4096xf32>, tensor<2048x2048xf32>) -> tensor<4096x2048xf32>
  return %p : tensor<4096x2048xf32>
}

// CHECK-LABEL: schedule.function @{{.*}}many_rows
// CHECK: schedule.launch @{{.*}}_contraction({{.*}} chunks %{{[^ ]+}} steps %
// LOOPS-LABEL: func.func @{{.*}}k4_contraction(
// LOOPS-SAME: %[[STEP:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index) -> i32
// LOOPS: %[[FIRST:.*]] = arith.cmpi eq, %[[STEP]],
// LOOPS: scf.if %[[FIRST]]
// LOOPS: vector.shuffle
// LOOPS: } else {
// LOOPS-NOT: vector.shuffle
// LOOPS: vector.fma
// LOOPS-LABEL: func.func @{{.*}}k5_contraction(
func.func @many_rows(%x: tensor<4096x384xf32>, %y: tensor<1536x384xf32>) -> tensor<4096x1536xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<4096x384xf32>, tensor<1536x384xf32>) -> tensor<4096x1536xf32>
  return %p : tensor<4096x1536xf32>
}

// CHECK-LABEL: schedule.function @{{.*}}few_rows
// CHECK: schedule.launch
// CHECK-NOT: steps
func.func @few_rows(%x: tensor<256x384xf32>, %y: tensor<1536x384xf32>) -> tensor<256x1536xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<256x384xf32>, tensor<1536x384xf32>) -> tensor<256x1536xf32>
  return %p : tensor<256x1536xf32>
}
