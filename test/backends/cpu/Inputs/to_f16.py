# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""to_f16.py SINTER FOLDER TARGET...: f32 to f16 and all numbers of f16 to f32 by code for each target against NumPy: every exponent with both signs, ties and
their neighbours, denormals, what is just infinite, infinities, NaNs with and without payload."""
import subprocess
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")  # of numbers that become infinities
COUNT = 65536
sinter, folder, *targets = sys.argv[1:]
every = np.arange(COUNT, dtype=np.uint16).view(np.float16)
ends = np.array([-1, 0, 1], np.int64)  # ties between neighbours, and what is beside a tie
finite = np.sort(np.abs(every[np.isfinite(every)]).astype(np.float64))[::3]
ties = ((finite + np.nextafter(finite.astype(np.float16), np.float16(np.inf)).astype(np.float64)) / 2).astype(np.float32).view(np.uint32)
near = (ties.astype(np.int64)[:, None] + ends).reshape(-1).astype(np.uint32)
near = np.concatenate([near[: COUNT // 4], near[: COUNT // 4] | np.uint32(1 << 31)])
special = np.array([0, 1 << 31, 1, 0x7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC01234, 0xFFFFFFFF, 0x477FEFFF, 0x477FF000, 0x47800000, 0x7F7FFFFF, 0x33000000,
                    0x33000001, 0x38800000, 0x387FFFFF, 0x387FE000, 0x387FF000], np.uint32)
random = np.random.default_rng(5).integers(0, 2**32, COUNT - near.size - special.size, dtype=np.uint64).astype(np.uint32)
a = np.concatenate([near, special, random]).view(np.float32)
a.tofile(f"{folder}/a.raw")
every.tofile(f"{folder}/b.raw")


def same(got, wanted):
    bits = {2: np.uint16, 4: np.uint32}[got.itemsize]
    return np.where(np.isnan(wanted), np.isnan(got), got.view(bits) == wanted.view(bits)).sum()


for target in targets:
    subprocess.run([sinter, "run", f"{folder}/to_f16.mlir", "--target", target, "--input", f"a=@{folder}/a.raw", "--input", f"b=@{folder}/b.raw", "--output",
                    f"x=@{folder}/x.npy", "--output", f"y=@{folder}/y.npy", "--output", f"z=@{folder}/z.npy"], check=True, stdout=subprocess.DEVNULL)
    x, y, z = (np.load(f"{folder}/{n}.npy") for n in "xyz")
    wanted = a.astype(np.float16)
    print(f"{target}: {same(x, wanted)} of {COUNT} rounded right, {same(z, wanted.astype(np.float32))} of {COUNT} and widened at once, {same(y, every.astype(np.float32))} of {COUNT} widened")
