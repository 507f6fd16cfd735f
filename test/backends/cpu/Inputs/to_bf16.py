# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""to_bf16.py SINTER FOLDER TARGET...: f32 to bf16 by code for each target against ml_dtypes: every exponent with both signs,
ties and their neighbours, denormals, infinities, NaNs with and without payload."""
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np

warnings.simplefilter("ignore")  # of numbers that become infinities
COUNT = 65536


def main():
    sinter, folder, *targets = sys.argv[1:]
    ends = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    ties = ((np.arange(0, 0x10000, 9, dtype=np.uint32) << 16)[:, None] | ends[None, :]).reshape(-1)
    random = np.random.default_rng(5).integers(0, 2**32, COUNT - ties.size, dtype=np.uint64).astype(np.uint32)
    x = np.concatenate([ties, random]).view(np.float32)
    x.tofile(f"{folder}/a.raw")
    wanted = x.astype(ml_dtypes.bfloat16)
    for target in targets:
        subprocess.run([sinter, "run", f"{folder}/to_bf16.mlir", "--target", target, "--input", f"a=@{folder}/a.raw",
                        "--output", f"y=@{folder}/y.npy"], check=True)
        got = np.load(f"{folder}/y.npy").view(ml_dtypes.bfloat16)
        isNan = np.isnan(wanted)
        same = np.where(isNan, np.isnan(got), wanted.view(np.uint16) == got.view(np.uint16))
        print(f"{target}: {same.sum()} of {COUNT} right, {isNan.sum() > 100 and 'with NaNs'}")


main()
