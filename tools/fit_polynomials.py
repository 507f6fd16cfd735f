#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Minimax polynomials of backends/cpu/emit/Math*.cpp, by Remez exchange in 60 digits. Needs mpmath.

usage: fit_polynomials.py [NAME...]     prints C++ coefficients, lowest power first, and the greatest error that counts, as a power of two

A fit is a function f of a variable t in [low, high], a number of coefficients, and a weight: the polynomial p makes max |weight (f - p)| least. The error is that of the coefficients
rounded to f64."""
import sys
from dataclasses import dataclass
from typing import Callable

import mpmath as mp

mp.mp.dps = 60


def series(terms, t):
    return mp.fsum(term * t**k for k, term in enumerate(terms))


def root_of(f, series_terms):
    """`f` of sqrt(t), by its series where the closed form has no digits left."""
    return lambda t: series(series_terms, t) if t < mp.mpf("1e-8") else f(mp.sqrt(t))


@dataclass
class Fit:
    what: str
    f: Callable
    low: object
    high: object
    count: int
    weight: Callable
    crowding: object = 1  # by which power of the way to `high` the first points are nearer to `low`


def fact(n):
    return mp.factorial(n)


def rest_of_exp(t):
    return mp.mpf(1) / 6 + t / 24 + t**2 / 120 if abs(t) < mp.mpf("1e-15") else (mp.expm1(t) - t - t * t / 2) / t**3


QUARTER = mp.pi / 4 + mp.mpf("0.001")
FITS = {
    "sin": Fit("sin r = r + r^3 P(r^2)", root_of(lambda r: (mp.sin(r) - r) / r**3, [-1 / fact(3), 1 / fact(5), -1 / fact(7)]), 0, QUARTER**2, 6, lambda t: t),
    "cos": Fit("cos r = 1 - r^2 / 2 + r^4 P(r^2)", root_of(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4, [1 / fact(4), -1 / fact(6), 1 / fact(8)]), 0, QUARTER**2, 6,
               lambda t: t**2),
    "atan": Fit("atan t = t + t^3 P(t^2)", root_of(lambda r: (mp.atan(r) - r) / r**3, [-mp.mpf(1) / 3, mp.mpf(1) / 5, -mp.mpf(1) / 7]), 0, mp.mpf("0.4143")**2, 11, lambda t: t),
    "asin": Fit("asin s = s + s^3 P(s^2)", root_of(lambda r: (mp.asin(r) - r) / r**3, [mp.mpf(1) / 6, mp.mpf(3) / 40, mp.mpf(15) / 336]), 0, mp.mpf("0.25"), 13, lambda t: t),
    "sinh": Fit("sinh x = x + x^3 P(x^2)", root_of(lambda r: (mp.sinh(r) - r) / r**3, [1 / fact(3), 1 / fact(5), 1 / fact(7)]), 0, mp.mpf(1), 8, lambda t: t),
    "expm1": Fit("e^r = 1 + r + r^2 / 2 + r^3 P(r)", rest_of_exp, -mp.mpf("0.3467"), mp.mpf("0.3467"), 10, lambda t: max(abs(t), mp.mpf("0.1"))**2),
    "log": Fit("atanh s = s (1 + s^2 / 3 + s^4 P(s^2))", root_of(lambda s: (mp.atanh(s) / s - 1 - s * s / 3) / s**4, [mp.mpf(1) / 5, mp.mpf(1) / 7, mp.mpf(1) / 9]), 0,
               mp.mpf("0.02945"), 8, lambda t: t**2),
    "erf": Fit("erf x = x + x P(x^2)", root_of(lambda x: mp.erf(x) / x - 1, [2 / mp.sqrt(mp.pi) - 1, -2 / (3 * mp.sqrt(mp.pi)), 1 / (5 * mp.sqrt(mp.pi))]), 0, mp.mpf(1), 13, lambda t: 1),
    "erfc": Fit("log(1 - erf x) = P(x - 1)", lambda t: mp.log(mp.erfc(t + 1)), 0, 5, 19, lambda t: mp.erfc(t + 1), mp.mpf(3) / 2),
}


def spread(fit, count):
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    return [low + (high - low) * ((1 - mp.cos(mp.pi * i / (count - 1))) / 2)**fit.crowding for i in range(count)]


def solve(fit, points):
    """The coefficients whose weighted error is the same at all points, with signs in turns."""
    n = len(points)
    matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
    for i, t in enumerate(points):
        w = fit.weight(t)
        for j in range(fit.count):
            matrix[i, j] = w * t**j
        matrix[i, fit.count] = (-1)**i
        right[i] = w * fit.f(t)
    return list(mp.lu_solve(matrix, right))[:-1]


def extrema(fit, coefficients, grid, values):
    """Where the weighted error is greatest in each stretch between its changes of sign, and its greatest magnitude."""
    errors = [fit.weight(t) * (value - series(coefficients, t)) for t, value in zip(grid, values)]
    found = []
    for t, error in zip(grid, errors):
        if not found or (error > 0) != (found[-1][1] > 0):
            found.append((t, error))
        elif abs(error) > abs(found[-1][1]):
            found[-1] = (t, error)
    while len(found) > fit.count + 1:
        found.pop(0 if abs(found[0][1]) < abs(found[-1][1]) else -1)
    return [t for t, _ in found], max(map(abs, errors))


def remez(fit):
    grid = spread(fit, 30 * fit.count)
    values = [fit.f(t) for t in grid]
    points = spread(fit, fit.count + 1)
    width = mp.mpf(fit.high) - fit.low
    if fit.weight(points[0]) == 0:
        points[0] += width / (8 * fit.count**2)
    points = [t if fit.weight(t) else t + width / (4 * fit.count) for t in points]  # where the weight is 0 a point tells nothing
    for _ in range(30):
        coefficients = solve(fit, points)
        found, _ = extrema(fit, coefficients, grid, values)
        if len(found) <= fit.count:
            raise SystemExit(f"{fit.what}: only {len(found)} extrema of {fit.count + 1}")
        moved = max(abs(a - b) for a, b in zip(found, points))
        points = found
        if moved < width * mp.mpf("1e-3"):
            break
    rounded = [mp.mpf(float(c)) for c in coefficients]
    return rounded, extrema(fit, rounded, grid, values)[1]


def main():
    for name in sys.argv[1:] or FITS:
        fit = FITS[name]
        coefficients, worst = remez(fit)
        print(f"{name}: {fit.what}, [{mp.nstr(mp.mpf(fit.low), 5)}, {mp.nstr(mp.mpf(fit.high), 5)}], error 2^{float(mp.log(worst, 2)):.1f}")
        print("  {" + ", ".join(float(c).hex() for c in coefficients) + "}", flush=True)


if __name__ == "__main__":
    main()
