# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np

random = np.random.default_rng(0)
x = random.standard_normal((100, 3)).astype(np.float32)
np.save("x.npy", x)
np.save("y.npy", x @ np.array([[1, 2], [0.5, -1], [0, 1]], np.float32))
np.save("short.npy", x[:7, :2])
np.save("labels.npy", np.zeros(100, np.int64))
