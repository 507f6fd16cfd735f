# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of functions by name in code of all elementary functions, for each target.

    no_libm.py SINTER TARGET..."""

import re
import subprocess
import sys
import tempfile

UNARY = ["exp", "expm1", "exp2", "log", "log1p", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfinv",
         "logistic", "sqrt", "rsqrt", "floor", "ceil", "round"]
BINARY = ["pow", "atan2", "rem"]
# Of x86, two names and a jump at a function's end; of AArch64 bl.
CALL = re.compile(r"^\s+(?:callq?|bl|jmp|b)\s+([A-Za-z_]\w*)", re.M)


def graph(element):
    """Each function of `element`, of inputs and with results of its own, so that each has a kernel."""
    type = f"tensor<1000x{element}>"
    arguments, lines, results = [], [], []
    for name in UNARY + BINARY:
        operands = [f"%{name}_{i}" for i in range(2 if name in BINARY else 1)]
        arguments += [f"{operand}: {type}" for operand in operands]
        lines.append(f"  %{name} = sinter.{name} {', '.join(operands)} : ({', '.join([type] * len(operands))}) -> {type}\n")
        results.append(f"%{name}")
    types = ", ".join([type] * len(results))
    return f"func.func @main({', '.join(arguments)}) -> ({types}) {{\n{''.join(lines)}  return {', '.join(results)} : {types}\n}}\n"


def main():
    sinter, targets = sys.argv[1], sys.argv[2:]
    for target in targets:
        for element in ("f32", "f64"):
            with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
                file.write(graph(element))
                file.flush()
                text = subprocess.run([sinter, "compile", file.name, f"--target={target}", "--emit=asm"], check=True, capture_output=True, text=True).stdout
            assert len(text.splitlines()) > 50 * len(UNARY), "no code"
            calls = set(CALL.findall(text)) - set(re.findall(r"^([A-Za-z_]\w*):", text, re.M))  # but of what is in the file
            print(f"{target} {element}: {len(UNARY) + len(BINARY)} functions call {', '.join(sorted(calls)) or 'nothing'}")


main()
