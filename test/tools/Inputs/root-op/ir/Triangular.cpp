LogicalResult TriangularSolveOp::verify();
