Tensor inverse(Tensor x) { return triangular_solve(x, eye()); }
