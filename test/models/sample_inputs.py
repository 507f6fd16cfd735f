# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the real models: for each a few cases, each a list of calls in a row.

A case is (label, calls, feedback): `calls` are dictionaries of arrays; `feedback` maps an output to the input
that it becomes in the next call. The first case has the shapes that the model is meant for.
"""
import numpy as np


def vowel(seconds, rate=16000):
    """A sung vowel: the harmonics of a wavering 120 Hz under three formants, in syllables."""
    t = np.arange(int(seconds * rate)) / rate
    phase = 2 * np.pi * (120 * t + 2.5 * np.sin(2 * np.pi * 3 * t))
    y = np.zeros_like(t)
    for h in range(1, 40):
        gain = sum(a / (1 + ((120 * h - f) / w) ** 2) for f, w, a in ((700, 90, 1), (1200, 110, 0.6), (2600, 160, 0.3)))
        y += gain * np.sin(h * phase)
    y *= np.clip(np.sin(2 * np.pi * 2 * t) + 0.6, 0, 1)
    return (0.3 * y / np.abs(y).max()).astype(np.float32)


def silero_vad(r):
    def calls(sound, count):
        state, found = np.zeros((2, 1, 128), np.float32), []
        padded = np.concatenate([np.zeros(64, np.float32), sound])
        for i in range(count):
            window = padded[None, 512 * i : 512 * i + 576]
            found.append({"input": np.ascontiguousarray(window), "state": state, "sr": np.array(16000, np.int64)})
        return found

    feedback = {"stateN": "state"}
    noise = (0.05 * r.standard_normal(512 * 4)).astype(np.float32)
    yield "1x576, 12 in a row", calls(vowel(1.0), 12), feedback
    yield "noise", calls(noise, 4), feedback
    slow = {"input": 0.1 * r.standard_normal((3, 288)), "state": np.zeros((2, 3, 128)), "sr": np.array(8000, np.int64)}
    yield "8 kHz, batch of 3", [{k: v if k == "sr" else v.astype(np.float32) for k, v in slow.items()}] * 3, feedback


def magika(r):
    text = np.frombuffer((b"#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n" * 50)[:2048], np.uint8)
    yield "1x2048 text", [{"bytes": text.astype(np.int32)[None]}], {}
    yield "1x2048 random", [{"bytes": r.integers(0, 257, (1, 2048), np.int32)}], {}
    yield "5x2048", [{"bytes": r.integers(0, 257, (5, 2048), np.int32)}], {}


def image(r, name, *shapes):
    for shape in shapes:
        smooth = np.cumsum(r.standard_normal(shape), axis=-1)
        x = (smooth / np.abs(smooth).max() + 0.2 * r.standard_normal(shape)).clip(-1, 1).astype(np.float32)
        yield "x".join(map(str, shape)), [{name: x}], {}


def words(r, *shapes):
    for shape in shapes:
        mask = np.ones(shape, np.int64)
        mask[-1, shape[1] * 3 // 4 :] = 0
        kinds = np.zeros(shape, np.int64)
        kinds[:, shape[1] // 2 :] = 1
        ids = r.integers(0, 30522, shape)
        yield "x".join(map(str, shape)), [{"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}], {}


CASES = {
    "silero_vad": silero_vad,
    "magika": magika,
    "pp_ocrv4_rec": lambda r: image(r, "x", (1, 3, 48, 320), (2, 3, 48, 203)),
    "pp_ocrv4_det": lambda r: image(r, "x", (1, 3, 640, 640)),
    "ppocr_cls": lambda r: image(r, "x", (1, 3, 48, 192), (3, 3, 48, 192)),
    "mobilenetv2": lambda r: image(r, "input", (1, 3, 224, 224)),
    "resnet50": lambda r: image(r, "input", (1, 3, 224, 224)),
    "minilm": lambda r: words(r, (1, 128), (2, 77)),
    "bert": lambda r: words(r, (1, 128)),
}


def cases(name):
    return list(CASES[name](np.random.default_rng(7)))
