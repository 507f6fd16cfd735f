# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers that tensors begin with in torch_goldens.py and torch_programs.py: by a formula that Goldens.h has, too."""

import math

import torch


def fill(shape, seed, scale=0.6):
    count = math.prod(shape)
    return torch.tensor([(((i + 1) * (37 + 2 * seed)) % 97 / 97 - 0.5) * scale for i in range(count)]).reshape(shape)
