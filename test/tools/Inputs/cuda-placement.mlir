func.func @f(%x: tensor<60xf32>) -> tensor<?xf32> {
  %a = sinter.exp %x : (tensor<60xf32>) -> tensor<60xf32>
  %u, %p, %i, %n = sinter.unique %a {axis = 0} : (tensor<60xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<60xi64>, tensor<?xi64>)
  %y = sinter.exp %u : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
