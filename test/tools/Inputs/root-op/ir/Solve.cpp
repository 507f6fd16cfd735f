static void emitSolve(TriangularSolveOp op);
