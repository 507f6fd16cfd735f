# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which labels count in a cross entropy, and what a step says of those that cannot be one.

usage: labels.py LIBRARY FOLDER (with plain, ignore, zero and square.smod)"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../models"))
from sinter_runtime import Error, Runtime


def refuse(session, inputs):
    """Prints why a step fails; it changes nothing, and the next one works."""
    before = session.state("w")
    try:
        session.run(inputs)
        print("the step takes", inputs["labels"])
    except Error as error:
        print(error)
    assert np.array_equal(before, session.state("w")), "a step that fails changes nothing"
    session.run({**inputs, "labels": np.zeros_like(inputs["labels"])})
    assert not np.array_equal(before, session.state("w")), "the next step trains"


def main(library, folder):
    runtime = Runtime(library)

    def session(name):
        return runtime.session(os.path.join(folder, name + ".smod"))

    plain, ignore, square = session("plain"), session("ignore"), session("square")
    x = np.random.default_rng(3).standard_normal((4, 2)).astype(np.float32)
    first, zero = session("plain"), session("zero")
    kept = first.run({"x": x[1:], "labels": np.array([2, 1, 1])})["loss"]
    ignored = zero.run({"x": x, "labels": np.array([0, 2, 1, 1])})["loss"]
    assert abs(kept - ignored) < 1e-6 and np.allclose(first.state("w"), zero.state("w"), atol=1e-6), "a class is ignored"
    kept = plain.run({"x": x[:2], "labels": np.array([2, 0])})["loss"]
    ignored = ignore.run({"x": x, "labels": np.array([2, 0, 255, 255], np.uint8)})["loss"]
    assert abs(kept - ignored) < 1e-6 and np.allclose(plain.state("w"), ignore.state("w"), atol=1e-6), (kept, ignored)
    negative = plain.run({"x": x, "labels": np.array([-100, 1, -1, 2])})["loss"]
    again = ignore.run({"x": x, "labels": np.array([255, 1, 255, 2], np.uint8)})["loss"]
    assert abs(negative - again) < 1e-6, (negative, again)
    print("some labels do not count")
    refuse(plain, {"x": x, "labels": np.array([1, 2, 3, 0])})
    refuse(plain, {"x": x, "labels": np.array([1, 255, 3, 0])})
    refuse(ignore, {"x": x, "labels": np.array([255, 254, 3, 0], np.uint8)})
    refuse(square, {"x": x[:2], "labels": np.array([2, 0])})
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "from_one.npy"), np.array([1, 2, 3, 1]))


main(*sys.argv[1:])
