# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np

random = np.random.default_rng(0)
x = random.standard_normal((100, 3)).astype(np.float32)
np.save("x.npy", x)
np.save("y.npy", x @ np.array([[1, 2], [0.5, -1], [0, 1]], np.float32))
np.save("short.npy", x[:7, :2])
np.save("labels.npy", np.zeros(100, np.int64))
np.save("x64.npy", x.astype(np.float64))
np.save("y64.npy", x.astype(np.float64) @ np.array([[1, 2], [0.5, -1], [0, 1]]) + 0.5)
np.save("shift64.npy", np.float64(0.5))
np.save("x16.npy", x[:16].astype(np.float64))
np.save("y16.npy", (x[:16] @ np.array([[1, 2], [0.5, -1], [0, 1]])).astype(np.float64))
np.save("labels2.npy", np.full(100, -100))
np.save("x_nan.npy", x * np.where(np.arange(100) == 20, np.nan, 1)[:, None].astype(np.float32))
