func.func @rows_with_rows(%x: tensor<600x700xf32>, %y: tensor<512x700xf32>) -> tensor<600x512xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>, element_type = f32} : (tensor<600x700xf32>, tensor<512x700xf32>) -> tensor<600x512xf32>
  return %p : tensor<600x512xf32>
}
func.func @turned(%x: tensor<700x600xf32>, %y: tensor<700x512xf32>) -> tensor<600x512xf32> {
  %p = sinter.dot_general %x, %y {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 0>, rhs_contract = array<i64: 0>, element_type = f32} : (tensor<700x600xf32>, tensor<700x512xf32>) -> tensor<600x512xf32>
  return %p : tensor<600x512xf32>
}
