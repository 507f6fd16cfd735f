# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of pipelines: what sinter_pipelines gives against what plain Python lists say.

    pipelines.py RUNNER [--count N] [--seed S]

A dataset is a function from an epoch to a list of records, a record an int, or a list of ints with its dims. Each program runs
on the reader's thread and on two threads, each time stopped and gone on with at random places.
"""
import argparse
import random
import subprocess
import sys

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
BAD = object()  # a record that cannot be read


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draw(seed, epoch, position):
    z = mix((seed + GOLDEN) & MASK)
    z = mix((z + GOLDEN * (epoch + 1)) & MASK)
    return mix((z + GOLDEN * (position + 1)) & MASK)


def permutation(count, seed, epoch):
    order = list(range(count))
    for i in range(count, 1, -1):
        k = draw(seed, epoch, i) * i >> 64
        order[i - 1], order[k] = order[k], order[i - 1]
    return order


class Row:
    """A record with dims."""

    def __init__(self, dims, values):
        self.dims, self.values = tuple(dims), tuple(values)

    def text(self):
        return "x".join(map(str, self.dims)) + ":" + ",".join(map(str, self.values))


def as_row(x):
    return x if isinstance(x, Row) else Row((), (x,))


def plain(row):
    return row.values[0] if row.dims == () else row


def text(x):
    return x.text() if isinstance(x, Row) else str(x)


def first(x):
    values = as_row(x).values
    return values[0] if values else 0


def each(x, f):
    row = as_row(x)
    return plain(Row(row.dims, [f(v) for v in row.values]))


def stack(rows):
    rows = [as_row(r) for r in rows]
    dims = [max(r.dims[d] for r in rows) for d in range(len(rows[0].dims))]
    values = []
    for row in rows:
        if not dims:
            values.append(row.values[0])
        elif len(dims) == 1:
            values += list(row.values) + [-7] * (dims[0] - row.dims[0])
        else:
            inner = row.dims[1]
            for i in range(dims[0]):
                for j in range(dims[1]):
                    values.append(row.values[i * inner + j] if i < row.dims[0] and j < inner else -7)
    return Row([len(rows)] + dims, values)


def remainder(a, b):  # of C
    return abs(a) % b * (1 if a >= 0 else -1)


# Each maker returns (program text, model, rank of the records or None for any).
class Generator:
    def __init__(self, rng):
        self.rng = rng

    def dataset(self, depth, flat=False):
        """`flat`: records are scalars."""
        if depth == 0:
            n = self.rng.choice([0, 1, 2, 5, 13, 30, 70, 150])
            return f"range {n}", lambda epoch: list(range(n)), 0
        kinds = ["map", "random", "filter", "fail", "shuffle", "all", "repeat", "take", "skip", "cache", "split", "shard", "prefetch",
                 "concat", "interleave", "zip"]
        if not flat:
            kinds += ["batch", "batch", "bucket", "rows"]
        kinds += ["unbatch"]
        return getattr(self, self.rng.choice(kinds))(depth - 1, flat)

    def map(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        return f"map {t}", lambda e: [each(x, lambda v: 3 * v + 1) for x in f(e)], rank

    def random(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        seed = self.rng.randrange(1000)

        def model(e):
            return [each(x, lambda v, i=i: v + (draw(seed, e, i) * 1000 >> 64)) for i, x in enumerate(f(e))]

        return f"random {seed} {t}", model, rank

    def filter(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        m = self.rng.randrange(2, 6)
        r = self.rng.randrange(m)
        return f"filter {m} {r} {t}", lambda e: [x for x in f(e) if first(x) % m != r], rank

    def fail(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        m = self.rng.randrange(2, 6)
        return f"fail {m} -1 {t}", lambda e: [x for x in f(e) if remainder(first(x), m) != 0], rank

    def shuffle(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        w, seed = self.rng.choice([1, 2, 7, 40, 500]), self.rng.randrange(1000)

        def model(e):
            records, result = f(e), []
            for block, begin in enumerate(range(0, len(records), w)):
                part = records[begin:begin + w]
                result += [part[k] for k in permutation(len(part), draw(seed, e, block), 0)]
            return result

        return f"shuffle {w} {seed} {t}", model, rank

    def all(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        seed = self.rng.randrange(1000)

        def model(e):
            parts = [[] for _ in range(256)]
            for i, x in enumerate(f(e)):
                parts[draw(seed, e, i) >> 56].append(x)
            result = []
            for p, part in enumerate(parts):
                result += [part[k] for k in permutation(len(part), draw(seed, e, -1 - p), 0)]
            return result

        return f"all {seed} {t}", model, rank

    def repeat(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        times = self.rng.choice([0, 1, 2, 3])
        return f"repeat {times} {t}", lambda e: [x for i in range(times) for x in f(e * times + i)], rank

    def take(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        n = self.rng.choice([0, 1, 5, 20, 100])
        return f"take {n} {t}", lambda e: f(e)[:n], rank

    def skip(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        n = self.rng.choice([0, 1, 5, 20, 100])
        return f"skip {n} {t}", lambda e: f(e)[n:], rank

    def cache(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        return f"cache {t}", lambda e: f(0), rank

    def split(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        part, seed = self.rng.randrange(3), self.rng.randrange(1000)
        low, high = [(0, 0.5), (0.5, 0.75), (0.75, 2)][part]

        def model(e):
            return [x for i, x in enumerate(f(e)) if low <= (draw(seed, 0, i) >> 11) * 2.0**-53 < high]

        return f"split {part} {seed} {t}", model, rank

    def shard(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        world = self.rng.randrange(1, 5)
        r = self.rng.randrange(world)
        return f"shard {r} {world} {t}", lambda e: f(e)[r::world], rank

    def prefetch(self, depth, flat):
        t, f, rank = self.dataset(depth, flat)
        return f"prefetch {self.rng.randrange(1, 9)} {t}", f, rank

    def batch(self, depth, flat):
        t, f, rank = self.dataset(depth, True)
        size, whole = self.rng.choice([1, 2, 3, 8]), self.rng.randrange(2)

        def model(e):
            x = f(e)
            return [stack(x[i:i + size]) for i in range(0, len(x), size) if not whole or i + size <= len(x)]

        return f"batch {size} {whole} {t}", model, rank + 1

    def rows(self, depth, flat):
        t, f, _ = self.batch(depth, True)
        window, seed, size, whole = self.rng.choice([0, 1, 2, 7, 40, 500]), self.rng.randrange(1000), self.rng.choice([1, 2, 5, 17]), self.rng.randrange(2)

        def model(e):
            records, shuffled = [v for r in f(e) for v in r.values], []
            for block, begin in enumerate(range(0, len(records), max(window, 1))):
                part = records[begin:begin + max(window, 1)]
                shuffled += [part[k] for k in permutation(len(part), draw(seed, e, block), 0)]
            return [stack(shuffled[i:i + size]) for i in range(0, len(shuffled), size) if not whole or i + size <= len(shuffled)]

        return f"rows {window} {seed} {size} {whole} {t}", model, 1

    def unbatch(self, depth, flat):
        t, f, rank = self.batch(depth, True)
        return f"unbatch {t}", lambda e: [plain(Row(r.dims[1:], [v])) for r in f(e) for v in r.values], 0

    def bucket(self, depth, flat):
        t, f, _ = self.dataset(depth, True)

        def model(e):
            sizes, buckets, result = [2, 3, 4], [[], [], []], []
            for x in f(e):
                n = x % 9
                b = 0 if n < 2 else 1 if n < 5 else 2
                buckets[b].append(Row([n], [x] * n))
                if len(buckets[b]) == sizes[b]:
                    result.append(stack(buckets[b]))
                    buckets[b] = []
            return result + [stack(b) for b in buckets if b]

        return f"bucket {t}", model, 2

    def several(self, depth, count):
        parts = [self.dataset(depth if i == 0 else 0, True) for i in range(count)]
        return parts, " ".join(p[0] for p in parts)

    def concat(self, depth, flat):
        parts, t = self.several(depth, self.rng.randrange(0, 4))
        return f"concat {len(parts)} {t}", lambda e: [x for _, f, _ in parts for x in f(e)], 0

    def interleave(self, depth, flat):
        parts, t = self.several(depth, self.rng.randrange(0, 5))
        cycle, block = self.rng.randrange(1, 4), self.rng.randrange(1, 4)

        def model(e):
            waiting = [iter(f(e)) for _, f, _ in parts]
            slots = [waiting.pop(0) if waiting else None for _ in range(cycle)]
            result, turn, given = [], 0, 0
            while any(s is not None for s in slots):
                x = next(slots[turn], BAD) if slots[turn] is not None else BAD
                if x is not BAD:
                    result.append(x)
                    given += 1
                    if given < block:
                        continue
                elif slots[turn] is not None:
                    slots[turn] = waiting.pop(0) if waiting else None
                    given = 0
                    if slots[turn] is not None:
                        continue
                turn, given = (turn + 1) % cycle, 0
            return result

        return f"interleave {cycle} {block} {len(parts)} {t}", model, 0

    def zip(self, depth, flat):
        parts, t = self.several(depth, 2)
        return f"zip {t}", lambda e: [a + b for a, b in zip(parts[0][1](e), parts[1][1](e))], 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runner")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lines, expected = [], []
    for number in range(options.count):
        rng = random.Random(options.seed * 1000003 + number)
        program, model, _ = Generator(rng).dataset(rng.randrange(1, 6))
        records = model(0)[:4000]
        for threads in 0, 2:
            places = sorted(rng.randrange(len(records) + 1) for _ in range(rng.randrange(4)))
            lines.append(f"{threads} {','.join(map(str, places)) or '-'} {program}")
            expected.append("".join(text(x) + " " for x in records))
    got = subprocess.run([options.runner], input="\n".join(lines) + "\n", capture_output=True, text=True)
    output = got.stdout.split("\n")[:-1]
    bad = 0
    for line, want, have in zip(lines, expected, output + ["no output"] * len(lines)):
        if want != have:
            bad += 1
            if bad <= 5:
                print(f"program {line}\n  required {want[:300]}\n  got      {have[:300]}")
    if got.returncode:
        print(f"{options.runner} ended with {got.returncode}: {got.stderr[-300:]}")
    print(f"{len(lines)} runs, {sum(map(len, expected))} characters, {bad} differ")
    return 1 if bad or got.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
