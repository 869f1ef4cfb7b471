#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fits the coefficients of the card's function unit to what function_units.cu recorded.

    function_units.py DIRECTORY > function_units.txt

For each segment it prints C0, C1 and C2 with which the model of README.md gives the card's result for every one of the
segment's arguments, and stops where there are none. Needs numpy."""
import sys

import numpy as np

UNIT = 17  # C0 counts 2^-17 of a result's last place.


def load(name):
    raw = np.fromfile(f"{sys.argv[1]}/{name}.delta", dtype=np.uint8)
    first = int.from_bytes(raw[:4].tobytes(), "little")
    steps = raw[4:].astype(np.int8).astype(np.int64)
    assert (steps != -128).all(), name
    return np.concatenate([[first], first + np.cumsum(steps)])


def square(bits):
    """i * i / 2^(2 bits) in units of 2^-15, without the partial products of lower columns."""
    i = np.arange(1 << bits, dtype=np.int64)
    low = 2 * bits - 15
    total = np.zeros_like(i)
    for a in range(bits):
        one = (i >> a) & 1
        if 2 * a >= low:
            total += one << (2 * a - low)
        for b in range(a + 1, bits):
            if a + b + 1 >= low:
                total += (one & (i >> b)) << (a + b + 1 - low)
    return total


def fit(steps, i, squares, bits, skip, unit):
    a = np.stack([np.ones(len(i)), i / len(i), squares / 2.0**15], 1)
    least = np.linalg.lstsq(a, steps + 0.5, rcond=None)[0]
    grain = unit // 2
    for c2 in (round(least[2] * 4 / unit) + k for k in (0, -1, 1, -2, 2, -3, 3)):
        rest = (steps << UNIT) - unit * c2 * squares
        slope = np.polyfit(i[::7], rest[::7].astype(float), 1)[0] * 2.0 ** (bits - UNIT)
        for c1 in (grain * (round(slope / grain) + k) for k in (0, 1, -1, 2, -2, 3, -3)):
            left = (rest - (c1 * i << UNIT >> bits))[skip:]
            low, high = int(left.max()), int(left.min()) + (1 << UNIT) - 1
            if low <= high:
                return low, c1, c2
    return None


# The unit's places are absolute: a root's last place is twice the others', and then C1 counts one and C2 a half.
for name, high, unit in (
    ("rcp_1", 7, 4), ("rsq_1", 6, 4), ("rsq_2", 6, 4), ("ex2_1", 6, 4), ("lg2_8", 6, 4), ("sqrt_1", 6, 2), ("sqrt_2", 6, 2)
):
    results = load(name)
    bits = 23 - high
    i, squares = np.arange(1 << bits, dtype=np.int64), square(bits)
    base = 0x3F800000 if name == "rcp_1" else int(results[0])
    for segment in range(1 << high):
        steps = results[segment << bits : segment + 1 << bits] - base
        # The reciprocals of 1 itself are 1: of the next exponent.
        skip = int(segment == 0 and name in ("rcp_1", "rsq_1", "sqrt_1", "sqrt_2"))
        found = fit(steps, i, squares, bits, skip, unit)
        if found is None:
            sys.exit(f"{name}: no coefficients for segment {segment}")
        print(name, segment, hex(base), *found)
