// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: schedule.function @every_op inputs 1 outputs 1
schedule.function @every_op inputs 1 outputs 1 {
  // CHECK: %[[X:.*]] = schedule.input 0
  %x = schedule.input 0
  // CHECK: %[[N:.*]] = schedule.input_size 0 axis 1
  %n = schedule.input_size 0 axis 1
  %four = arith.constant 4 : i64
  // CHECK: schedule.size ceil_div %[[N]], %{{.*}}
  %blocks = schedule.size ceil_div %n, %four
  // CHECK: %[[BYTES:.*]] = schedule.product %[[N]], %{{.*}}
  %bytes = schedule.product %n, %four
  // CHECK: %[[A:.*]]:2 = schedule.arena(%[[BYTES]], %{{.*}}) lives [0, 3, 2, 2] : !schedule.buffer, !schedule.buffer
  %a:2 = schedule.arena(%bytes, %four) lives [0, 3, 2, 2] : !schedule.buffer, !schedule.buffer
  // CHECK: schedule.local 64
  %local = schedule.local 64
  // CHECK: schedule.weight 128
  %w = schedule.weight 128
  // CHECK: schedule.acquire %[[BYTES]]
  %own = schedule.acquire %bytes
  // CHECK: %[[LARGER:.*]], %{{.*}} = schedule.grow %{{.*}} of %[[BYTES]] to %{{.*}}
  %larger, %capacity = schedule.grow %own of %bytes to %n
  // CHECK: schedule.view %[[X]] at %{{.*}}
  %part = schedule.view %x at %four
  // CHECK: %[[ELEMENT:.*]] = schedule.load %{{.*}} at 8 : f32
  %element = schedule.load %part at 8 : f32
  // CHECK: schedule.store %[[ELEMENT]] to %{{.*}} : f32
  schedule.store %element to %local : f32
  // CHECK: schedule.copy %[[X]] to %[[A]]#0 bytes %[[BYTES]]
  schedule.copy %x to %a#0 bytes %bytes
  // CHECK: schedule.copy_pieces %[[X]] step %{{.*}} to %[[A]]#1 step %{{.*}} bytes %{{.*}} count %[[N]]
  schedule.copy_pieces %x step %n to %a#1 step %four bytes %four count %n
  // CHECK: schedule.clear %[[LARGER]] bytes %{{.*}}
  schedule.clear %larger bytes %capacity
  // CHECK: schedule.launch @kernel(%[[X]], %{{.*}}, %[[A]]#0, %[[N]]) writes [2] chunks %{{.*}} : !schedule.buffer, !schedule.buffer, !schedule.buffer, i64
  schedule.launch @kernel(%x, %w, %a#0, %n) writes [2] chunks %blocks : !schedule.buffer, !schedule.buffer, !schedule.buffer, i64
  // CHECK: schedule.launch inline @small(%[[A]]#0) writes [0] chunks
  schedule.launch inline @small(%a#0) writes [0] chunks %four : !schedule.buffer
  %fits = arith.cmpi sle, %n, %four : i64
  // CHECK: schedule.require %{{.*}} else 7 "at most {} elements, got {}"(%{{.*}}, %[[N]])
  schedule.require %fits else 7 "at most {} elements, got {}"(%four, %n)
  // CHECK: schedule.poll %[[N]] every 256
  schedule.poll %n every 256
  // CHECK: schedule.poll %[[N]]{{$}}
  schedule.poll %n
  // CHECK: schedule.commit
  schedule.commit
  // CHECK: schedule.output 0[%[[N]], %{{.*}}]
  %y = schedule.output 0[%n, %four]
  // CHECK: schedule.release %[[LARGER]]
  schedule.release %larger
  // CHECK: schedule.return
  schedule.return
}

// A kernel that launches run: what the function around knows of sizes stands beside it.
// CHECK-LABEL: schedule.kernel @fill for "cpu" sizes ["s0 4", "2"] elements ["", "s0 -1"] constants [1] {
// CHECK: ^bb0(%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<2xi64>):
// CHECK: sinter.kernel map
schedule.kernel @fill for "cpu" sizes ["s0 4", "2"] elements ["", "s0 -1"] constants [1] {
^bb0(%x: tensor<?x4xf32>, %shape: tensor<2xi64>):
  %y = sinter.kernel map(%x, %shape) : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>, %s: tensor<2xi64>):
    %n = sinter.neg %a : (tensor<?x4xf32>) -> tensor<?x4xf32>
    sinter.yield(%n) : tensor<?x4xf32>
  }
}
