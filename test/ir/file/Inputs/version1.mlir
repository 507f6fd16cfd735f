// Every kind of record that version 1 of graph files has. Not to be changed: version1.sinter was made of it.
module @every_record attributes {test.kind = "golden"} {
  func.func private @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = sinter.add %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func @main(%x: tensor<?x3xf32> {sinter.name = "x", sinter.dims = ["batch", 3]},
                  %w: tensor<3x2xf32> {sinter.name = "w", sinter.state = "weight"}, %p: tensor<i1>)
      -> (tensor<?x2xf32> {sinter.name = "y"}, tensor<3x2xf32> {sinter.name = "next"}, tensor<2x3xf32>, tensor<i64>, tensor<?xf32>)
      attributes {test.note = "kept"} {
    %y = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>,
        element_type = f32} : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32> loc(callsite("product"("graph.py":1:2) at "layer"))
    %inline = sinter.constant dense<[[1.0, -0.0], [0x7FC00001, 4.0], [5.0e-1, 6.0]]> : tensor<3x2xf32> loc(fused["a", "b"])
    %splat = sinter.constant dense<2.5> : tensor<2x3xf32> loc(fused<"why">["a", "c"])
    %large = sinter.constant dense_resource<weights> : tensor<2x3xf32>
    %same = sinter.constant dense_resource<weights_again> : tensor<2x3xf32> loc("range.py":1:2 to 3:4)
    %booleans = sinter.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
    %twice = func.call @twice(%large) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %picked = sinter.select %booleans, %twice, %same {test.unit, test.i1 = true, test.i8 = -3 : i8, test.i16 = 300 : i16, test.i32 = -70000 : i32,
        test.i64 = -9223372036854775808 : i64, test.ui8 = 255 : ui8, test.ui64 = 18446744073709551615 : ui64, test.index = 7 : index,
        test.f64 = 0x7FF0000000000001 : f64, test.f32 = -0.0 : f32, test.f16 = 1.5 : f16, test.bf16 = 0xFF80 : bf16, test.text = "a\00\FFb",
        test.symbol = @twice, test.element = ui16, test.type = tensor<?x4xbf16>, test.integers = array<i64: 1, -2>,
        test.small = array<i32: -5>, test.smaller = array<i16: -300, 4>, test.smallest = array<i8: -1, 127>,
        test.booleans = array<i1: true, false>, test.floats = array<f64: 1.0, 0x7FF8000000000001>, test.nothing = array<i64>,
        test.case = #sinter<combiner and>, test.list = [1, "two", [3.0]], test.entries = {b = 1 : i64, a = {}},
        test.tensor = dense<[1, 2]> : tensor<2xi64>, test.none = dense<> : tensor<0x3xf16>}
      : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %sum = sinter.add %picked, %splat : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %zero = sinter.constant dense<0> : tensor<i64>
    %trips, %last, %stack = sinter.while (%zero) captures(%p) {max_trip = 4 : i64, on_limit = #sinter<limit_policy trap>}
      : (tensor<i64>, tensor<i1>) -> (tensor<i64>, tensor<i64>, tensor<?xf32>) cond {
    ^bb0(%i: tensor<i64>, %q: tensor<i1>):
      sinter.yield(%q) : tensor<i1>
    } body {
    ^bb0(%i: tensor<i64>, %q: tensor<i1>):
      %f = sinter.cond %q(%i) : (tensor<i1>, tensor<i64>) -> tensor<f32> then {
      ^bb0(%j: tensor<i64>):
        %c = sinter.convert %j {element_type = f32} : (tensor<i64>) -> tensor<f32>
        sinter.yield(%c) : tensor<f32>
      } else {
      ^bb0(%j: tensor<i64>):
        %c = sinter.constant dense<1.0> : tensor<f32>
        sinter.yield(%c) : tensor<f32>
      }
      %next = sinter.add %i, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
      sinter.yield(%next, %f) : tensor<i64>, tensor<f32>
    }
    return %y, %inline, %sum, %trips, %stack : tensor<?x2xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<i64>, tensor<?xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803f00000040000040400000804000a0a0400000c040",
      weights_again: "0x040000000000803f00000040000040400000804000a0a0400000c040"
    }
  }
#-}
