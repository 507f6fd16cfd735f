// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @main(%w: tensor<?xf32> {sinter.state = "w"}) -> tensor<?xf32> {
  return %w : tensor<?xf32>
}
