# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes two seconds of a sung vowel, 16-bit PCM at 48 kHz: write_vowel.py FILE.wav"""
import sys
import wave

import numpy as np

import sample_inputs

sound = sample_inputs.vowel(2.0, rate=48000)
with wave.open(sys.argv[1], "wb") as f:
    f.setnchannels(1)
    f.setsampwidth(2)
    f.setframerate(48000)
    f.writeframes((sound * 32767).astype("<i2").tobytes())
