#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spoken words for train_keywords.cpp, by Debian's espeak-ng.

    speak_words.py FOLDER [--words yes,no,...] [--voices 48] [--takes 4]

Each voice says each word `--takes` times, each time with another accent of English, speed and pitch, into FOLDER/train/WORD/VOICE-TAKE.wav
(mono, 16 bits, 22,050 Hz). Every fourth voice says them into FOLDER/held_out instead: no sound of it is trained on."""
import argparse
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys

WORDS = "yes,no,up,down,left,right,on,off,stop,go"
ACCENTS = ["en-us", "en-gb", "en-gb-scotland", "en-gb-x-gbclan", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029", "en-us-nyc"]
# Variants of espeak-ng 1.51 whose spectra differ by more than those of siblings do. Every fourth is held out.
VOICES = """m1 f1 m2 Alicia  m3 f2 Andy Lee  m5 f3 Alex Annie  m7 f4 adam paul  m8 f5 Denis linda  Diogo anika Gene Marco
Jacky belinda antonio steph  boris grandma ed sandro  iven2 aunty marcelo john  norbert Andrea pablo shelby
pedro Mario iven kaukovalta  david rob zac travis""".split()


def say(espeak, voice, accent, speed, pitch, word, path):
    subprocess.run([espeak, "-v", f"{accent}+{voice}", "-s", str(speed), "-p", str(pitch), "-w", path, word], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--words", default=WORDS, help="separated by commas")
    parser.add_argument("--voices", type=int, default=len(VOICES), help=f"at most {len(VOICES)}, which is the default")
    parser.add_argument("--takes", type=int, default=4, help="of each word by each voice")
    options = parser.parse_args()
    if not 4 <= options.voices <= len(VOICES):
        parser.error(f"--voices requires 4 to {len(VOICES)}, got {options.voices}")
    espeak = shutil.which("espeak-ng")
    if not espeak:
        sys.exit("speak_words.py requires espeak-ng on the path (Debian's package espeak-ng)")
    # espeak-ng itself takes its plain voice in silence for one that it does not know.
    listed = subprocess.run([espeak, "--voices=variant"], check=True, capture_output=True, text=True).stdout
    voices = VOICES[: options.voices]
    missing = [voice for voice in voices if f"!v/{voice}" not in listed.split()]
    if missing:
        sys.exit(f"speak_words.py requires an espeak-ng that has the voices {', '.join(missing)}")
    draw = random.Random(1)
    said = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for number, voice in enumerate(voices):
            part = "held_out" if number % 4 == 3 else "train"
            for word in options.words.split(","):
                folder = os.path.join(options.folder, part, word)
                os.makedirs(folder, exist_ok=True)
                for take in range(options.takes):
                    manner = draw.choice(ACCENTS), draw.randint(120, 220), draw.randint(20, 80)
                    path = os.path.join(folder, f"{voice}-{take}.wav")
                    said.append(threads.submit(say, espeak, voice, *manner, word, path))
        for sound in said:
            sound.result()
    print(f"{len(said)} sounds of {len(voices)} voices")


main()
