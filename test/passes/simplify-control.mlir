// RUN: sinter-opt --sinter-simplify-control %s | FileCheck %s

// CHECK-LABEL: @counts_trips
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @counts_trips(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<20x4xf32>) {
  // CHECK-NOT: sinter.for
  // CHECK: %[[ZERO:.*]] = sinter.constant dense<0> : tensor<i64>
  // CHECK: %[[STACK:.*]] = sinter.broadcast {{.*}} -> tensor<20x4xf32>
  // CHECK: %[[N:.*]], %{{.*}}:3 = sinter.while(%[[ZERO]], %[[X]], %[[STACK]])
  // CHECK-SAME: max_trip = 20 : i64
  // CHECK: %[[YES:.*]] = sinter.constant dense<true> : tensor<i1>
  // CHECK: sinter.yield(%[[YES]])
  // CHECK: ^bb0(%[[T:.*]]: tensor<i64>, %[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<20x4xf32>,
  // CHECK: %[[OFFSET:.*]] = sinter.mul %[[T]],
  // CHECK: %[[I:.*]] = sinter.add %{{.*}}, %[[OFFSET]]
  // CHECK: sinter.convert %[[I]]
  // CHECK: sinter.dynamic_update_slice %[[B]],
  %lower = sinter.constant dense<5> : tensor<i64>
  %upper = sinter.constant dense<44> : tensor<i64>
  %step = sinter.constant dense<2> : tensor<i64>
  %c, %s = sinter.for %lower to %upper step %step(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<4xf32>) -> (tensor<4xf32>, tensor<20x4xf32>) body {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %f = sinter.convert %i {element_type = f32} : (tensor<i64>) -> tensor<f32>
    %g = sinter.broadcast %f axes = [] {type = tensor<4xf32>} : (tensor<f32>) -> tensor<4xf32>
    %n = sinter.add %a, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %c, %s : tensor<4xf32>, tensor<20x4xf32>
}

// CHECK-LABEL: @bounds_of_run_time
func.func @bounds_of_run_time(%n: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  // CHECK-NOT: sinter.for
  // CHECK: %[[COUNT:.*]] = sinter.max
  // CHECK: sinter.while({{.*}}) captures({{.*}}%[[COUNT]])
  // CHECK-NOT: max_trip
  // CHECK: sinter.compare {{ ?}}lt
  %zero = sinter.constant dense<0> : tensor<i64>
  %one = sinter.constant dense<1> : tensor<i64>
  %c = sinter.for %zero to %n step %one(%x) captures() : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) -> tensor<f32> body {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>):
    %m = sinter.sin %a : (tensor<f32>) -> tensor<f32>
    sinter.yield(%m) : tensor<f32>
  }
  return %c : tensor<f32>
}

// CHECK-LABEL: @gathers_slices_from_the_end
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<4x20xf32>)
func.func @gathers_slices_from_the_end(%x: tensor<4xf32>, %s: tensor<4x20xf32>) -> (tensor<4xf32>, tensor<4x20xf32>) {
  // CHECK-NOT: sinter.scan
  // CHECK: sinter.while
  // CHECK: ^bb0(%{{.*}}
  // CHECK: ^bb0(%[[T:[a-z0-9]*]]: tensor<i64>,
  // CHECK: %[[PLACE:.*]] = sinter.sub %{{.*}}, %[[T]]
  // CHECK: sinter.gather %{{.*}}, %[[PLACE]] {axis = 1
  // CHECK: sinter.sub %{{.*}}, %[[T]]
  // CHECK: sinter.dynamic_update_slice
  %c, %y = sinter.scan(%x) over(%s) captures() {axes = array<i64: 1>, reverse = array<i1: true>, out_axes = array<i64: 1>, out_reverse = array<i1: true>}
      : (tensor<4xf32>, tensor<4x20xf32>) -> (tensor<4xf32>, tensor<4x20xf32>) body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>):
    %n = sinter.mul %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n, %n) : tensor<4xf32>, tensor<4xf32>
  }
  return %c, %y : tensor<4xf32>, tensor<4x20xf32>
}

// CHECK-LABEL: @a_length_that_only_the_call_tells
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<?x4xf32>)
func.func @a_length_that_only_the_call_tells(%x: tensor<4xf32>, %s: tensor<?x4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: sinter.scan
  // CHECK: %[[COUNT:.*]] = sinter.dim %[[S]]
  // CHECK: sinter.while({{.*}}) captures(%[[S]], %[[COUNT]])
  // CHECK-NOT: max_trip
  // CHECK: sinter.compare {{ ?}}lt
  // CHECK: sinter.gather
  %c = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>}
      : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<4xf32> body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>):
    %n = sinter.mul %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n) : tensor<4xf32>
  }
  return %c : tensor<4xf32>
}

// CHECK-LABEL: @slices_of_a_batch
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<7x?x4xf32>)
func.func @slices_of_a_batch(%x: tensor<4xf32>, %s: tensor<7x?x4xf32>) -> (tensor<4xf32>, tensor<7x?xf32>) {
  // CHECK-NOT: sinter.scan
  // CHECK: %[[ROWS:.*]] = sinter.dim %[[S]] {axis = 1
  // CHECK: sinter.broadcast {{.*}} shape(%{{.*}}) {{.*}} -> tensor<7x?xf32>
  // CHECK: sinter.while
  // CHECK-SAME: max_trip = 7 : i64
  // CHECK: sinter.gather {{.*}} -> tensor<?x4xf32>
  %c, %y = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
      : (tensor<4xf32>, tensor<7x?x4xf32>) -> (tensor<4xf32>, tensor<7x?xf32>) body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<?x4xf32>):
    %r = sinter.reduce add %e axes = [0] : (tensor<?x4xf32>) -> tensor<4xf32>
    %q = sinter.reduce add %e axes = [1] : (tensor<?x4xf32>) -> tensor<?xf32>
    %n = sinter.add %a, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n, %q) : tensor<4xf32>, tensor<?xf32>
  }
  return %c, %y : tensor<4xf32>, tensor<7x?xf32>
}

// A carry keeps its rows, as a sum requires those of the slice.
// CHECK-LABEL: @rows_that_a_sum_requires
func.func @rows_that_a_sum_requires(%x: tensor<?x4xf32>, %s: tensor<7x?x4xf32>) -> tensor<?x4xf32> {
  // CHECK-NOT: sinter.scan
  // CHECK: sinter.while
  %c = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>}
      : (tensor<?x4xf32>, tensor<7x?x4xf32>) -> tensor<?x4xf32> body {
  ^bb0(%a: tensor<?x4xf32>, %e: tensor<?x4xf32>):
    %n = sinter.add %e, %a : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    sinter.yield(%n) : tensor<?x4xf32>
  }
  return %c : tensor<?x4xf32>
}

// CHECK-LABEL: @lengths_that_may_differ_stay
func.func @lengths_that_may_differ_stay(%x: tensor<f32>, %s: tensor<?xf32>, %t: tensor<?xf32>) -> tensor<f32> {
  // CHECK: sinter.scan{{.*}}sinter.counted_by_host = "the lengths of its sequences are compared"
  %c = sinter.scan(%x) over(%s, %t) captures() {axes = array<i64: 0, 0>, reverse = array<i1: false, false>, out_axes = array<i64>, out_reverse = array<i1>}
      : (tensor<f32>, tensor<?xf32>, tensor<?xf32>) -> tensor<f32> body {
  ^bb0(%a: tensor<f32>, %e: tensor<f32>, %g: tensor<f32>):
    %n = sinter.mul %a, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %m = sinter.mul %n, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%m) : tensor<f32>
  }
  return %c : tensor<f32>
}

// CHECK-LABEL: @one_trip_is_that_trip
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<?x4xf32>, %[[S:[a-z0-9]*]]: tensor<1x?x4xf32>)
func.func @one_trip_is_that_trip(%x: tensor<?x4xf32>, %s: tensor<1x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x1x4xf32>) {
  // CHECK-NOT: sinter.scan
  // CHECK-NOT: sinter.while
  // CHECK: %[[E:.*]] = sinter.gather %[[S]]
  // CHECK: %[[N:.*]] = sinter.add %[[E]], %[[X]]
  // CHECK: %[[Y:.*]] = sinter.reshape %[[N]] {{.*}} -> tensor<?x1x4xf32>
  // CHECK: return %[[N]], %[[Y]]
  %c, %y = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64: 1>, out_reverse = array<i1: false>}
      : (tensor<?x4xf32>, tensor<1x?x4xf32>) -> (tensor<?x4xf32>, tensor<?x1x4xf32>) body {
  ^bb0(%a: tensor<?x4xf32>, %e: tensor<?x4xf32>):
    %n = sinter.add %e, %a : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    sinter.yield(%n, %n) : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %c, %y : tensor<?x4xf32>, tensor<?x1x4xf32>
}

// CHECK-LABEL: @sizes_that_grow_stay
func.func @sizes_that_grow_stay(%x: tensor<?xf32>, %s: tensor<?x4xf32>) -> tensor<?xf32> {
  // CHECK: sinter.scan{{.*}}sinter.counted_by_host = "a carry has sizes that are not known"
  %c = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64>, out_reverse = array<i1>}
      : (tensor<?xf32>, tensor<?x4xf32>) -> tensor<?xf32> body {
  ^bb0(%a: tensor<?xf32>, %e: tensor<4xf32>):
    %n = sinter.concatenate %a, %e {axis = 0 : i64} : (tensor<?xf32>, tensor<4xf32>) -> tensor<?xf32>
    sinter.yield(%n) : tensor<?xf32>
  }
  return %c : tensor<?xf32>
}

// CHECK-LABEL: @an_end_that_only_the_call_tells
// CHECK-SAME: %[[S:[a-z0-9]*]]: tensor<?x4xf32>)
func.func @an_end_that_only_the_call_tells(%x: tensor<4xf32>, %s: tensor<?x4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  // CHECK-NOT: sinter.scan
  // CHECK: %[[COUNT:.*]] = sinter.dim %[[S]]
  // CHECK: %[[ROOM:.*]] = sinter.broadcast {{.*}} -> tensor<?x4xf32>
  // CHECK: sinter.while(%{{.*}}, %{{.*}}, %[[ROOM]]) captures(%[[S]], %[[COUNT]])
  // CHECK: ^bb0(%{{.*}}: tensor<i64>,
  // CHECK: ^bb0(%[[T:[a-z0-9]*]]: tensor<i64>, {{.*}}, %[[N:[a-z0-9]*]]: tensor<i64>):
  // CHECK: %[[LAST:.*]] = sinter.sub %[[N]],
  // CHECK: %[[PLACE:.*]] = sinter.sub %[[LAST]], %[[T]]
  // CHECK: sinter.gather %{{.*}}, %[[PLACE]]
  // CHECK: sinter.dynamic_update_slice
  %c, %y = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: true>, out_axes = array<i64: 0>, out_reverse = array<i1: true>}
      : (tensor<4xf32>, tensor<?x4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) body {
  ^bb0(%a: tensor<4xf32>, %e: tensor<4xf32>):
    %n = sinter.mul %a, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%n, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %c, %y : tensor<4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: @a_switch_is_conds
// CHECK-SAME: (%[[K:.*]]: tensor<i64>, %[[X:.*]]: tensor<f32>)
func.func @a_switch_is_conds(%k: tensor<i64>, %x: tensor<f32>) -> tensor<f32> {
  // CHECK-NOT: sinter.switch
  // CHECK: %[[FIRST:.*]] = sinter.compare {{ ?}}eq %[[K]],
  // CHECK: sinter.cond %[[FIRST]](%[[K]], %[[X]])
  // CHECK: sinter.sin
  // CHECK: } else {
  // CHECK: sinter.compare {{ ?}}eq
  // CHECK: sinter.cond
  // CHECK: sinter.cos
  // CHECK: } else {
  // CHECK: sinter.exp
  %r = sinter.switch %k(%x) : (tensor<i64>, tensor<f32>) -> tensor<f32> {
  ^bb0(%y: tensor<f32>):
    %s = sinter.sin %y : (tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  }, {
  ^bb0(%y: tensor<f32>):
    %s = sinter.cos %y : (tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  }, {
  ^bb0(%y: tensor<f32>):
    %s = sinter.exp %y : (tensor<f32>) -> tensor<f32>
    sinter.yield(%s) : tensor<f32>
  }
  return %r : tensor<f32>
}

// CHECK-LABEL: @makes_no_trip
func.func @makes_no_trip(%x: tensor<f32>, %s: tensor<0xf32>) -> (tensor<f32>, tensor<0xf32>) {
  // CHECK: sinter.scan
  // CHECK-SAME: it makes no trip
  %c, %y = sinter.scan(%x) over(%s) captures() {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
      : (tensor<f32>, tensor<0xf32>) -> (tensor<f32>, tensor<0xf32>) body {
  ^bb0(%a: tensor<f32>, %e: tensor<f32>):
    %n = sinter.add %a, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
    sinter.yield(%n, %n) : tensor<f32>, tensor<f32>
  }
  return %c, %y : tensor<f32>, tensor<0xf32>
}

// CHECK-LABEL: @outputs_of_a_limited_while
func.func @outputs_of_a_limited_while(%x: tensor<4xf32>) -> (tensor<i64>, tensor<?x4xf32>) {
  // CHECK: %[[STACK:.*]] = sinter.broadcast {{.*}} -> tensor<9x4xf32>
  // CHECK: %[[N:.*]], %[[R:.*]]:3 = sinter.while(%{{.*}}, %{{.*}}, %[[STACK]])
  // CHECK-SAME: max_trip = 9 : i64
  // CHECK: sinter.dynamic_update_slice
  // CHECK: sinter.range_slice %[[R]]#2
  // CHECK: return %[[N]]
  %n, %c, %s = sinter.while(%x) captures() {max_trip = 9 : i64} : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<?x4xf32>) cond {
  ^bb0(%a: tensor<4xf32>):
    %most = sinter.reduce max %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>):
    %b = sinter.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%b, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %n, %s : tensor<i64>, tensor<?x4xf32>
}

// CHECK-LABEL: @outputs_of_a_while_of_too_many_trips
func.func @outputs_of_a_while_of_too_many_trips(%x: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: sinter.while{{.*}}sinter.counted_by_host = "the memory of its per-trip outputs grows between rounds of trips"
  // CHECK: sinter.min
  // CHECK: sinter.while
  // CHECK-NOT: sinter.while
  // CHECK: return
  %n, %c, %s = sinter.while(%x) captures() {max_trip = 100000000 : i64} : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<?x4xf32>) cond {
  ^bb0(%a: tensor<4xf32>):
    %most = sinter.reduce max %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>):
    %b = sinter.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%b, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %s : tensor<?x4xf32>
}

// CHECK-LABEL: @outputs_of_a_while_without_a_limit
// CHECK-SAME: (%[[X:[a-z0-9]*]]: tensor<4xf32>)
func.func @outputs_of_a_while_without_a_limit(%x: tensor<4xf32>) -> (tensor<i64>, tensor<?x4xf32>) {
  // CHECK: %[[ROOM:.*]] = sinter.broadcast {{.*}} -> tensor<2048x4xf32>
  // CHECK: %{{.*}}, %[[R:.*]]:4 = sinter.while(%[[X]], %{{.*}}, %{{.*}}, %[[ROOM]]) captures()
  // CHECK-SAME: sinter.counted_by_host = "the memory of its per-trip outputs grows between rounds of trips"
  // CHECK: ^bb0({{.*}}, %[[MORE:[a-z0-9]*]]: tensor<i1>, %{{.*}}: tensor<?x4xf32>):
  // CHECK: sinter.yield(%[[MORE]])
  // CHECK: ^bb0(%[[A:[a-z0-9]*]]: tensor<4xf32>, %[[T:[a-z0-9]*]]: tensor<i64>, %{{.*}}: tensor<i1>, %[[Y:[a-z0-9]*]]: tensor<?x4xf32>):
  // CHECK: %[[TWICE:.*]] = sinter.concatenate %[[Y]], %[[Y]]
  // CHECK: %[[PLACES:.*]] = sinter.dim %[[TWICE]]
  // CHECK: %{{.*}}, %[[I:.*]]:3 = sinter.while(%[[A]], %[[T]], %[[TWICE]]) captures(%[[PLACES]])
  // CHECK: sinter.dynamic_update_slice
  // CHECK: %[[FULL:.*]] = sinter.compare {{ ?}}ge %[[I]]#1, %[[PLACES]]
  // CHECK: sinter.yield(%[[I]]#0, %[[I]]#1, %[[FULL]], %[[I]]#2)
  // CHECK: sinter.range_slice %[[R]]#3
  // CHECK: return %[[R]]#1,
  %n, %c, %s = sinter.while(%x) captures() : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<?x4xf32>) cond {
  ^bb0(%a: tensor<4xf32>):
    %most = sinter.reduce max %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>):
    %b = sinter.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%b, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %n, %s : tensor<i64>, tensor<?x4xf32>
}

// A limit that is an error is looked at behind all rounds.
// CHECK-LABEL: @a_limit_behind_rounds
func.func @a_limit_behind_rounds(%x: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: sinter.while{{.*}}sinter.counted_by_host
  // CHECK: sinter.while{{.*}}max_trip = 0 : i64, on_limit = #sinter<limit_policy trap>, sinter.limit_message = "a loop requires at most 100000000 trips, its condition still holds after 100000000"
  // CHECK: sinter.range_slice
  %n, %c, %s = sinter.while(%x) captures() {max_trip = 100000000 : i64, on_limit = #sinter<limit_policy trap>} : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<?x4xf32>) cond {
  ^bb0(%a: tensor<4xf32>):
    %most = sinter.reduce max %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>):
    %b = sinter.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%b, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %s : tensor<?x4xf32>
}

// What the host takes part in gains nothing by rounds.
// CHECK-LABEL: @a_loop_of_the_host_in_it
func.func @a_loop_of_the_host_in_it(%x: tensor<4xf32>, %l: tensor<?xf32>, %m: tensor<?xf32>) -> tensor<?x4xf32> {
  // CHECK: sinter.while
  // CHECK: sinter.scan
  // CHECK-NOT: sinter.dynamic_update_slice
  // CHECK: return
  %n, %c, %s = sinter.while(%x) captures(%l, %m) : (tensor<4xf32>, tensor<?xf32>, tensor<?xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<?x4xf32>) cond {
  ^bb0(%a: tensor<4xf32>, %p: tensor<?xf32>, %q: tensor<?xf32>):
    %most = sinter.reduce max %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>, %p: tensor<?xf32>, %q: tensor<?xf32>):
    %d = sinter.scan(%a) over(%p, %q) captures() {axes = array<i64: 0, 0>, reverse = array<i1: false, false>, out_axes = array<i64>, out_reverse = array<i1>}
        : (tensor<4xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32> body {
    ^bb0(%u: tensor<4xf32>, %e: tensor<f32>, %g: tensor<f32>):
      %k = sinter.mul %e, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %w = sinter.broadcast %k axes = [] {type = tensor<4xf32>} : (tensor<f32>) -> tensor<4xf32>
      %v = sinter.add %u, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      sinter.yield(%v) : tensor<4xf32>
    }
    sinter.yield(%d, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %s : tensor<?x4xf32>
}

// CHECK-LABEL: @a_check_of_the_host_in_it
func.func @a_check_of_the_host_in_it(%x: tensor<4xf32>) -> tensor<?x4xf32> {
  // CHECK: sinter.require
  // CHECK-NOT: sinter.dynamic_update_slice
  // CHECK: return
  %n, %c, %s = sinter.while(%x) captures() : (tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<?x4xf32>) cond {
  ^bb0(%a: tensor<4xf32>):
    %most = sinter.reduce max %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %ten = sinter.constant dense<10.0> : tensor<f32>
    %go = sinter.compare lt %most, %ten : (tensor<f32>, tensor<f32>) -> tensor<i1>
    sinter.yield(%go) : tensor<i1>
  } body {
  ^bb0(%a: tensor<4xf32>):
    %least = sinter.reduce min %a axes = [0] : (tensor<4xf32>) -> tensor<f32>
    %zero = sinter.constant dense<0.0> : tensor<f32>
    %nought = sinter.constant dense<0> : tensor<i64>
    %holds = sinter.compare gt %least, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %p = sinter.require %holds, %a, %nought, %nought {message = "a number is {}, not above {}"} : (tensor<i1>, tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
    %b = sinter.add %p, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    sinter.yield(%b, %a) : tensor<4xf32>, tensor<4xf32>
  }
  return %s : tensor<?x4xf32>
}
