#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a new op, root op or pass: definition, rules, emitter, test and registration, ready to be filled in.

    tools/new.py op FAMILY NAME       for example: op Elementwise cbrt
    tools/new.py root FAMILY NAME     for example: root Contraction qr; an op with an emitter of its own
    tools/new.py pass NAME            for example: pass FuseElementwise

What it writes compiles, and its test fails until the op or pass does what it says.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPDX = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"

OP_DEFINITION = """
def {cpp}Op : Sinter_Op<"{op}"> {{
  let summary = "what it computes, in one line";
  let description = [{{
    `result[i] = operand[i]`. Special cases: empty, NaN, overflow.

    * (C1) the first thing that ODS cannot say.
  }}];
  let arguments = (ins Sinter_NumberTensor:$operand);
  let results = (outs Sinter_NumberTensor:$result);
}}
"""

ENTRY_DEFINITION = """
def {cpp}Op : Sinter_Function<"{op}", "what it computes, in one line"> {{
  let body = "x[0]";
  let floats = "x";
  let partial = "Partial::One";
}}
"""

ENTRY_TEST = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-fold-constants | FileCheck %s

// CHECK-LABEL: @{op}_of_one
// CHECK: what it computes
func.func @{op}_of_one() -> tensor<f32> {{
  %x = sinter.constant dense<1.0> : tensor<f32>
  %y = sinter.{op} %x : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}}
"""

OP_RULES = """
//===- {op} {rule}===//

LogicalResult {cpp}Op::inferReturnTypes(MLIRContext *, std::optional<Location> loc, {cpp}Op::Adaptor adaptor,
{indent}SmallVectorImpl<Type> &inferred) {{
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  if (operand.getRank() != 1) // C1
    return emitOptionalError(loc, "{op} requires an operand of rank 1, got ", operand.getRank());
  inferred.push_back(operand);
  return success();
}}

FailureOr<SmallVector<HostTensor>> {cpp}Op::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {{
  return emitOpError("has no reference yet");
}}
"""

EMITTER_SOURCE = SPDX + """//
// What {op} computes, and how its loops go.

#include "backends/cpu/emit/Single.h"
#include "ir/{family}.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

Plan sinter::cpu::plan{cpp}(KernelSpec &spec, ScheduleAttr) {{
  if (!isa_and_nonnull<{cpp}Op>(singleRoot(spec)))
    return Plan::refuse("it is no {op} alone");
  Plan plan;
  plan.setLanes(1);
  return plan;
}}

EmittedKernel sinter::cpu::emit{cpp}(KernelSpec &spec, ModuleOp module, StringRef name) {{
  SingleKernel k(spec, module, name, singleRoot(spec));
  spec.kernel.emitError("{op} has no loops yet");
  return k.finish();
}}
"""

EMITTER_ROW = "SINTER_EMITTER({op}, {cpp}, std::nullopt, false)\n"

OP_TEST = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --split-input-file --verify-diagnostics

func.func @{op}_c1_operand_of_rank_2(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  // expected-error @+1 {{{{{op} requires an operand of rank 1, got 2}}}}
  %y = sinter.{op} %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}}
"""

PASS_DEFINITION = """
def {cpp} : Pass<"sinter-{flag}"> {{
  let summary = "what it does, in one line";
  let description = [{{
    Requires: what must hold before.  Ensures: what holds after.
    (* example test/passes/{flag}.mlir *)
  }}];
}}
"""

PASS_SOURCE = SPDX + """
#include "ir/Ops.h"
#include "passes/Passes.h"

namespace sinter {{
#define GEN_PASS_DEF_{upper}
#include "passes/Passes.h.inc"
}} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {{
struct {cpp} : sinter::impl::{cpp}Base<{cpp}> {{
  using {cpp}Base::{cpp}Base;

  void runOnOperation() override {{
    getOperation()->emitError("sinter-{flag} does nothing yet");
    signalPassFailure();
  }}
}};
}} // namespace
"""

PASS_TEST = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: sinter-opt %s --sinter-{flag} | FileCheck %s

// CHECK-LABEL: @the_claim_of_this_test
func.func @the_claim_of_this_test(%x: tensor<4xf32>) -> tensor<4xf32> {{
  return %x : tensor<4xf32>
}}
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def write(path, text, new=False):
    full = os.path.join(ROOT, path)
    if new and os.path.exists(full):
        sys.exit(f"new: {path} exists already")
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)
    print("wrote" if new else "changed", path)


def append(path, text):
    """At the end of the file, before the `#endif` of an include guard."""
    old = read(path).rstrip("\n")
    guard = re.search(r"\n+#endif[^\n]*$", old)
    body, tail = (old[: guard.start()], old[guard.start() :]) if guard else (old, "")
    write(path, body + "\n" + text + tail.rstrip("\n") + ("\n" if tail else ""))


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def dashed(name, by):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", by, name).lower()


def new_root(family, op):
    """An op, its emitter, and the emitter's row, before that of the general one."""
    if family == "Elementwise":
        sys.exit("new: an op that shapes a loop nest is required, got a family of pointwise ops; say `op Elementwise ...`")
    names = new_op(family, op)
    rows = "backends/cpu/emit/Emitters.def"
    text, last = read(rows), "SINTER_EMITTER(general,"
    if last not in text:
        sys.exit(f"new: {rows} has no row of the general emitter; add {op} by hand")
    write(f"backends/cpu/emit/{names['cpp']}.cpp", EMITTER_SOURCE.format(**names), new=True)
    write(rows, text.replace(last, EMITTER_ROW.format(**names) + last))


def new_op(family, op):
    if not re.fullmatch(r"[a-z][a-z0-9_]*", op):
        sys.exit(f"new: an op name in lower case with underscores is required, got '{op}'")
    if not os.path.exists(os.path.join(ROOT, "ir", family + ".td")):
        sys.exit(f"new: an op family is required: ir/{family}.td does not exist")
    if f'<"{op}"' in read(f"ir/{family}.td"):
        sys.exit(f"new: sinter.{op} exists already in ir/{family}.td")
    names = {"op": op, "cpp": camel(op), "family": family}
    names["indent"] = " " * len(f"LogicalResult {names['cpp']}Op::inferReturnTypes(")
    names["rule"] = "-" * max(3, 90 - len(op))
    test = f"test/ir/{dashed(family, '_')}/{op.replace('_', '-')}.mlir"
    if family == "Elementwise":  # one entry says all
        write(test, ENTRY_TEST.format(**names), new=True)
        append("ir/Elementwise.td", ENTRY_DEFINITION.format(**names))
        return names
    write(test, OP_TEST.format(**names), new=True)
    append(f"ir/{family}.td", OP_DEFINITION.format(**names))
    append(f"ir/{family}.cpp", OP_RULES.format(**names))
    return names


def new_pass(name):
    if not re.fullmatch(r"([A-Z][a-z0-9]+)+", name):
        sys.exit(f"new: a pass name like FuseElementwise is required, got '{name}'")
    names = {"cpp": name, "upper": name.upper(), "flag": dashed(name, "-")}
    write(f"passes/{name}.cpp", PASS_SOURCE.format(**names), new=True)
    write(f"test/passes/{names['flag']}.mlir", PASS_TEST.format(**names), new=True)
    append("passes/Passes.td", PASS_DEFINITION.format(**names))
    lists = read("passes/CMakeLists.txt")
    changed = re.sub(r"(SOURCES\s+)", rf"\g<1>{name}.cpp ", lists, count=1)
    if changed == lists:
        sys.exit(f"new: passes/CMakeLists.txt has no SOURCES list; add {name}.cpp by hand")
    write("passes/CMakeLists.txt", changed)


def main():
    match sys.argv[1:]:
        case ["op", family, name]:
            new_op(family, name)
        case ["root", family, name]:
            new_root(family, name)
        case ["pass", name]:
            new_pass(name)
        case _:
            sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
