static void emitSolve();
