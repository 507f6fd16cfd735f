// Factors and triangular systems as version 1 of graph files has them. Not to be changed: version1-linear.sinter was made of it.
module {
  func.func @main(%a: tensor<?x3x3xf64> {sinter.name = "a", sinter.dims = ["batch", 3, 3]},
                  %b: tensor<?x3x2xf64> {sinter.name = "b", sinter.dims = ["batch", 3, 2]})
      -> (tensor<?x3x2xf64> {sinter.name = "x"}, tensor<?x3x3xf64> {sinter.name = "u"}) {
    %l = sinter.cholesky %a : (tensor<?x3x3xf64>) -> tensor<?x3x3xf64>
    %u = sinter.cholesky %a {lower = false} : (tensor<?x3x3xf64>) -> tensor<?x3x3xf64>
    %y = sinter.triangular_solve %l, %b : (tensor<?x3x3xf64>, tensor<?x3x2xf64>) -> tensor<?x3x2xf64>
    %x = sinter.triangular_solve %l, %y {transpose = true} : (tensor<?x3x3xf64>, tensor<?x3x2xf64>) -> tensor<?x3x2xf64>
    %z = sinter.triangular_solve %u, %x {lower = false, unit_diagonal = true} : (tensor<?x3x3xf64>, tensor<?x3x2xf64>) -> tensor<?x3x2xf64>
    return %z, %u : tensor<?x3x2xf64>, tensor<?x3x3xf64>
  }
}
