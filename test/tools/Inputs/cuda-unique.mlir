func.func @f(%x: tensor<60xf32>) -> tensor<?xf32> {
  %u, %p, %i, %n = sinter.unique %x {axis = 0} : (tensor<60xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<60xi64>, tensor<?xi64>)
  return %u : tensor<?xf32>
}
