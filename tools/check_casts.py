#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts where passes name op classes instead of asking interfaces (ir/Interfaces.td).

    check_casts.py [--list] [--ceiling N] [ROOT]

A cast, a test or a search by op class counts once for each class that it names. A pass may name the classes that
NAMED lists for its file, with the reason; a class that is listed and not named any more is taken off the list. There may
be no more names than CEILING: fewer ask for a lower one, so that no later change takes up the room again, and only a new
pass that reads a form written in primitives (MultiplyIntegers does) raises it, in the commit that adds the pass.
"""
import argparse
import collections
import os
import re
import sys

CEILING = 246
CAST = re.compile(r"\b(?:(?:dyn_)?cast(?:_or_null|_if_present)?|isa(?:_and_nonnull|_and_present)?|getDefiningOp|getParentOfType|getOps|Case)"
                  r"<((?:[\w:]|,\s*)*)>")
# The form of control flow is what these rewrite; what it captures and carries they ask (ir/ControlFlow.h).
LOOPS = "it turns one form of control flow into another"
NAMED = {
    "AssignLayout.cpp": ("TransposeOp ConvolutionOp BroadcastOp",
                         "it rewrites the axes that each of these names in attributes of its own"),
    "BlockProducts.cpp": ("TransposeOp MulOp ConvertOp SubOp", "it reads scales and zero points written in primitives"),
    "CachePages.cpp": ("AttentionOp GatherOp ReshapeOp TransposeOp", "it finds pages of a cache that attention reads, one idiom"),
    "ChunkRowUpdates.cpp": ("ScatterNdOp GatherOp BagSumOp BroadcastOp ReshapeOp", "it finds the update of a table's rows, one idiom"),
    "DropDenormals.cpp": ("BroadcastOp ConvolutionOp DotGeneralOp", "it finds a constant that is added to a product, one idiom"),
    "FlattenDepth.cpp": ("ConvolutionOp", "it is a form of convolutions"),
    "Float8Products.cpp": ("ConvertOp DecodeFloat8Op MulOp TransposeOp", "it finds products of 8-bit floats with scales, one idiom"),
    "FoldBatchNorm.cpp": ("BroadcastOp ConvolutionOp DotGeneralOp AddOp", "it finds a norm behind a filter, one idiom"),
    "FoldConstants.cpp": ("BroadcastOp ReshapeOp TransposeOp SliceOp TileOp ConvertOp DotGeneralOp DecodeFloat8Op",
                          "these are cheaper to do again than to keep as constants; products read bytes as they are"),
    "FormKernels.cpp": ("DotGeneralOp MulOp ConvolutionOp ConcatenateOp ScatterElementsOp ScatterNdOp DynamicUpdateSliceOp",
                        "operands of these are packed, split or written in place before kernels are formed"),
    "FusionPlan.cpp": ("RequireOp ReduceOp ArgReduceOp SoftmaxOp LayerNormOp GroupNormOp DotGeneralOp BlockDotOp ConvolutionOp ReduceWindowOp "
                       "ArgReduceWindowOp LstmOp GruOp RnnOp SliceOp IotaOp ResizeOp GridSampleOp ConcatenateOp TransposeOp "
                       "BroadcastOp PadOp DynamicPadOp DynamicUpdateSliceOp ConvertOp DecodeFloat8Op",
                       "it gives each root the template of its loop nest, and knows which reads cost more than one load"),
    "HoistInvariants.cpp": ("BroadcastOp IotaOp", "these are cheaper to do again in each trip than to read"),
    "HoistPointwise.cpp": ("BroadcastOp", "it puts what follows a convolution in front of a move, where a bias runs along another axis"),
    "HoistProducts.cpp": ("DotGeneralOp WhileOp ScanOp", "it makes one product of one a trip"),
    "IndexPolicy.cpp": ("GroupRowsOp GradientRowsOp CheckPositionsOp RequireOp GatherOp GatherElementsOp ScatterElementsOp",
                        "it checks the operand that each of these takes as positions"),
    "MultiplyIntegers.cpp": ("AddOp BroadcastOp ConcatenateOp ConvertOp ConvolutionOp DotGeneralOp GatherOp MaxOp MulOp", "it rewrites products of bytes, what is rounded to bytes, and scales of sums"),
    "NarrowActivations.cpp": ("AddOp BroadcastOp ConvolutionOp ReduceOp", "kernels of these convert what they read; sums of two tensors stay exact, of convolutions but one"),
    "NumberRewrites.cpp": ("ConvertOp", "a rewrite across the conversion"),
    "PackInvariants.cpp": ("ScanOp DotGeneralOp", "it packs what a product in a loop reads"),
    "Producers.h": ("BroadcastOp ReshapeOp", "rewrites look through these"),
    "ProductOperands.cpp": ("ConvolutionOp DecodeFloat8Op DotGeneralOp", "products round what they read, and numbers of 8-bit floats are exact in each type"),
    "ProjectRecurrent.cpp": ("LstmOp GruOp RnnOp", "it takes the product of the inputs out of a recurrent cell"),
    "Quantized.cpp": ("BroadcastOp ReshapeOp ConvertOp MulOp SubOp ConcatenateOp PadOp ReduceWindowOp RoundOp DivOp", "it reads scales and zero points written in primitives"),
    "RecognizeComposites.cpp": ("BroadcastOp ReshapeOp ReduceOp ExpOp SubOp MulOp PowOp LayerNormOp", "it reads composites written in primitives"),
    "RefineShapes.cpp": ("ReshapeOp BroadcastOp", "their result's type says sizes that no operand has"),
    "SimplifyAlgebra.cpp": ("BroadcastOp TransposeOp DotGeneralOp AddOp PadOp SelectOp CompareOp IotaOp ShapeOp",
                            "rewrites across two ops name both"),
    "SimplifyControl.cpp": ("SwitchOp", LOOPS),
    "SinkMoves.cpp": ("ReshapeOp TransposeOp", "it finds a convolution of pixels that were moved, one idiom"),
    "SinkResizes.cpp": ("ResizeOp ConcatenateOp", "it finds what a convolution reads resized and joined, one idiom"),
    "SizeUses.h": ("DimOp ShapeOp BroadcastOp", "these read the sizes of an operand and not its elements"),
    "SplitResizes.cpp": ("ResizeOp", "it moves transposes of that op before it"),
    "UnrollLoops.cpp": ("ForOp ScanOp", LOOPS),
    "ZeroBlocks.cpp": ("BroadcastOp ReshapeOp ConvertOp SliceOp SelectOp AddOp SoftmaxOp MulOp SubOp NegOp", "it follows a mask's zeros through these"),
    "gradient/Activity.cpp": ("StopGradientOp CondOp SwitchOp CheckpointOp", "regions hand activity on in different ways"),
    "gradient/BuildGradient.cpp": ("CustomVjpOp CheckpointOp WhileOp", "ops that state their gradient or its memory themselves"),
    "gradient/ExpandCheckpoints.cpp": ("ForOp ScanOp", LOOPS),
    "gradient/Forward.cpp": ("CondOp SwitchOp CustomVjpOp WhileOp ForOp", LOOPS),
    "gradient/LoopPair.cpp": ("ScanOp", LOOPS),
    "gradient/LoopView.cpp": ("WhileOp ForOp ScanOp", LOOPS),
    "gradient/LoopView.h": ("ScanOp", LOOPS),
    "gradient/PairExpansion.cpp": ("ForOp ScanOp", LOOPS),
    "gradient/PairExpansion.h": ("WhileOp", LOOPS),
    "gradient/Reverse.cpp": ("WhileOp CondOp SwitchOp CheckpointOp CustomVjpOp", LOOPS),
    "gradient/ReverseLoops.cpp": ("TransposeOp DotGeneralOp ForOp WhileOp", LOOPS),
    "gradient/SteppedLoop.cpp": ("ForOp ScanOp", LOOPS),
}
# Not what an op means, but where text stands.
NEUTRAL = {"FuncOp", "ModuleOp", "KernelOp", "ConstantOp"}


def casts(root):
    """(file, line, class) for each class that a cast in passes/ names."""
    found = []
    for folder, _, names in sorted(os.walk(os.path.join(root, "passes"))):
        for name in sorted(names):
            if not name.endswith((".cpp", ".h")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for match in CAST.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                for word in match[1].split(","):
                    op = word.strip().split("::")[-1]
                    if op.endswith("Op") and op != "Op" and op not in NEUTRAL:
                        found.append((os.path.relpath(path, root), line, op))
    return found


def unlisted(found, named):
    """One line for each class that a file names and NAMED does not list for it, or lists in vain."""
    used = {(os.path.relpath(path, "passes"), op) for path, _, op in found}
    listed = {(path, op) for path, (classes, _) in named.items() for op in classes.split()}
    first = {(os.path.relpath(path, "passes"), op): line for path, line, op in reversed(found)}
    for path, op in sorted(used - listed):
        yield f"passes/{path}:{first[path, op]}: names {op}, which tools/check_casts.py does not list there with a reason"
    for path, op in sorted(listed - used):
        yield f"passes/{path} does not name {op} any more: take it off the list in tools/check_casts.py"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--ceiling", type=int, default=CEILING)
    parser.add_argument("--named", action="append", metavar="FILE:CLASS,CLASS", help="a list in the place of NAMED; may be repeated")
    parser.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = parser.parse_args()
    found, ceiling = casts(arguments.root), arguments.ceiling
    if arguments.list:
        for path, line, op in found:
            print(f"{path}:{line}: {op}")
    named = NAMED
    if arguments.named:
        named = {path: (classes.replace(",", " "), "") for path, _, classes in (text.partition(":") for text in arguments.named)}
    complaints = list(unlisted(found, named))
    if complaints:
        print("\n".join(complaints))
        return 1
    if len(found) == ceiling:
        return 0
    if len(found) < ceiling:
        print(f"passes/ names op classes {len(found)} times: lower the ceiling of {ceiling} in tools/check_casts.py")
        return 1
    for path, count in collections.Counter(path for path, _, _ in found).most_common(5):
        print(f"{path}: {count}")
    print(f"passes/ requires at most {ceiling} names of op classes, got {len(found)}: ask an interface (ir/Interfaces.td)")
    return 1


if __name__ == "__main__":
    sys.exit(main())
