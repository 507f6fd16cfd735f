# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizers against Hugging Face's, whose results are in tokenizer_gold.json; with `tokenizers` installed, files written here are read
by it, too.

    tokens.py DUMP FOLDER
"""
import json
import os
import random
import subprocess
import sys

dump, folder = sys.argv[1], sys.argv[2]
os.makedirs(folder, exist_ok=True)
failures = 0
with open(os.path.join(os.path.dirname(__file__), "tokenizer_gold.json")) as f:
    gold = json.load(f)


def path(name, content=None):
    name = os.path.join(folder, name)
    if content is not None:
        with open(name, "w", encoding="utf-8") as f:
            f.write(content)
    return name


def run(*arguments, lines=()):
    done = subprocess.run([dump, *arguments], capture_output=True, text=True, input="".join(line.hex() + "\n" for line in lines))
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else [f"ended with {done.returncode}: {done.stderr[-200:]}"]


def expect(name, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{name}:\n  required {str(wanted)[:300]}\n  got      {str(got)[:300]}")


def model(**changes):
    json_ = {
        "added_tokens": [{"id": i, "content": t, "special": True} for i, t in enumerate(gold["specials"])],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": gold["vocab"], "merges": gold["merges"]},
    }
    for name, value in changes.items():
        (json_["model"] if name in ("vocab", "merges", "byte_fallback", "unk_token", "ignore_merges") else json_)[name] = value
    return path("tokenizer.json", json.dumps(json_))


texts = [text.encode() for text, _ in gold["samples"]]
wanted = [" ".join(map(str, ids)) for _, ids in gold["samples"]]
expect("encode", run("tokenize", model(), lines=texts), wanted)
expect("merges as text", run("tokenize", model(merges=[" ".join(m) for m in gold["merges"]]), lines=texts), wanted)

# The same merges from the same text.
trained = path("trained.json")
run("traintokens", str(gold["size"]), *gold["specials"], trained, lines=[line.encode() for line in gold["corpus"]])
with open(trained, encoding="utf-8") as f:
    made = json.load(f)["model"]
expect("trained merges", made["merges"], gold["merges"])
expect("trained vocabulary", made["vocab"], gold["vocab"])
expect("trained encode", run("tokenize", trained, lines=texts), wanted)

# GPT-2's two files, without the special tokens.
path("vocab.json", json.dumps({t: i for t, i in gold["vocab"].items() if t not in gold["specials"]}, ensure_ascii=False))
path("merges.txt", "#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in gold["merges"]))
plain = [i for i, (text, _) in enumerate(gold["samples"]) if "<pad>" not in text]
expect("gpt2", run("tokenize", path("vocab.json"), lines=[texts[i] for i in plain]), [wanted[i] for i in plain])

# Any bytes come back (the dump decodes what it encoded and says so where it differs), however long the word.
choice = random.Random(7)
mess = [bytes(choice.choice((choice.randrange(256), choice.choice(b" aeint\n'"))) for _ in range(choice.randrange(200))) for _ in range(500)]
for name in "bytes", trained:
    expect("any bytes " + name, [line for line in run("tokenize", name, lines=mess) if "differ" in line or "error" in line], [])
expect("bytes", run("tokenize", "bytes", lines=[b"\0\xffa"]), ["0 255 97"])
long = run("tokenize", trained, lines=[b"in" * 500000])
expect("long word", "differ" in long[0] or len(long), 1)

# What is not here is told.
for changes, message in (
    ({"normalizer": {"type": "NFC"}}, "the member 'normalizer' requires null, got NFC"),
    ({"post_processor": {"type": "TemplateProcessing"}}, "the member 'post_processor' requires null or ByteLevel, got TemplateProcessing"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "the member 'pre_tokenizer' requires ByteLevel, got Whitespace"),
    ({"pre_tokenizer": None}, "the member 'pre_tokenizer' requires ByteLevel, got none"),
    ({"model": {"type": "Unigram"}}, "the member 'model' requires type BPE with vocab and merges"),
    ({"byte_fallback": True}, "the model's member 'byte_fallback' requires false"),
    ({"unk_token": "?"}, "the member 'unk_token' requires null, got another"),
    ({"vocab": {"a": 0}, "merges": [], "added_tokens": []}, "a byte-level tokenizer requires a token for each byte, none is for byte 0"),
    ({"merges": ["x"]}, "a merge requires two tokens with a blank between them, got 'x'"),
    ({"merges": [["x", "nothere"]]}, "merge 'x nothere' requires three tokens of the vocabulary"),
    ({"merges": [1]}, "a merge requires two tokens"),
    ({"merges": 1}, "merges require an array"),
    ({"vocab": 1}, "a vocabulary requires an object"),
    ({"vocab": {"a": -1}}, "a token requires a number from 0 to 16777215"),
    ({"vocab": {"\u4e00": 5}}, "token '\u4e00' requires characters that stand for bytes"),
    ({"vocab": {"a": 5, "b": 5}}, "token 5 requires one text, got two"),
    ({"added_tokens": 1}, "the member 'added_tokens' requires an array"),
    ({"added_tokens": [{"id": 1, "content": ""}]}, "an added token requires a text"),
    ({"added_tokens": [{"id": 1, "content": "x", "lstrip": True}]}, "added token 'x' requires lstrip to be false"),
):
    got = run("tokenize", model(**changes), lines=[b"a"])
    expect(str(changes)[:60], got, [f"error '{path('tokenizer.json')}': {message}"])
expect("no JSON", run("tokenize", path("bad.json", "[1"), lines=[b"a"]), [f"error '{path('bad.json')}': a tokenizer requires an object of JSON"])
expect("few", run("traintokens", "100", path("few.json"), lines=[b"a"]), ["error a tokenizer requires 256 to 16777216 tokens, got 100"])
expect("twice", run("traintokens", "300", "x", "x", path("few.json"), lines=[b"a"]), ["error special tokens require texts of their own, got 'x'"])
try:
    import tokenizers

    theirs = tokenizers.Tokenizer.from_file(trained)
    expect("read by tokenizers", [" ".join(map(str, theirs.encode(text).ids)) for text, _ in gold["samples"]], wanted)
except ImportError:
    pass
print(f"{len(texts)} texts, {failures} failures")
