# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a training step does with words that the table does not have.

usage: index_states.py LIBRARY STEP"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Error, Runtime


def main(library, path):
    step = Runtime(library).session(path, threads=2)
    target = next(name for name in step.inputs if name != "words" and name not in step.states)

    def train(words):
        return step.run({"words": np.array(words), target: np.zeros(2, np.float32)})

    train([0, 1, -1, -5])
    before = {name: step.state(name) for name in step.states}
    for words in ([0, 1, 2, 7], [0, -6, 2, 3]):
        try:
            train(words)
            print("the step takes", words)
        except Error as error:
            print(error)
    assert all(np.array_equal(before[name], step.state(name)) for name in step.states), "all or nothing"
    print("a step that fails changes nothing")
    train([0, 1, -1, -5])
    assert not np.array_equal(before["table"], step.state("table")), "the next step trains"


main(*sys.argv[1:])
