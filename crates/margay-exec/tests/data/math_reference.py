#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes math_reference.bin.zst: correctly rounded values of the functions of the CUDA guide's tables
that no other library in the test gives (see tests/math_tables.rs).

Needs mpmath (with gmpy2 it is quick) and zstd. math_reference.txt has a line for each function: its
name, how many samples, and how each argument is drawn, in words that mean the same here and in the
test: `u:LOW:HIGH` evenly, `m:FROM:TO` and `s:FROM:TO` all magnitudes of 2^FROM up to 2^(TO+1), the
latter with both signs, `i:N` the integer N. Arguments of functions that end in `f` are then rounded
to float. For each sample the file has eight bytes, the double nearest to the exact value.

    python3 math_reference.py | zstd -19 > math_reference.bin.zst
"""
import os
import struct
import sys

import mpmath as mp

mp.mp.prec = 400
MASK = (1 << 64) - 1


def mix(state):
    z = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


def seed(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def draw(spec, r):
    kind, *numbers = spec.split(":")
    if kind == "i":
        return int(numbers[0])
    if kind == "u":
        low, high = map(float, numbers)
        return low + (high - low) * ((r >> 11) * 2.0**-53)
    low, high = map(int, numbers)
    exponent = low + (r >> 53) % (high - low + 1)
    sign = (r >> 52 & 1) if kind == "s" else 0
    return struct.unpack("<d", struct.pack("<Q", sign << 63 | (exponent + 1023) << 52 | r & (1 << 52) - 1))[0]


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def erfcinv(p):
    """Newton's steps on log erfc from a double's worth of it."""
    p = mp.mpf(p)
    if p > 1:
        return -erfcinv(2 - p)
    if p == 1:
        return mp.mpf(0)
    t = mp.sqrt(-2 * mp.log(p / 2)) if p < 0.9 else mp.mpf(1) - p
    x = t / mp.sqrt(2) if p < 0.9 else t * mp.sqrt(mp.pi) / 2
    for _ in range(60):
        e = mp.erfc(x)
        step = (mp.log(e) - mp.log(p)) * e * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < abs(x) * mp.mpf(2) ** -200:
            return x
    raise ValueError(p)


def order(f):
    return lambda n, x: f(n, mp.mpf(x))


def norm(*v):
    return mp.sqrt(sum(mp.mpf(x) ** 2 for x in v))


def one(f):
    return lambda x: f(mp.mpf(x))


def root(x):
    return mp.cbrt(x) if x > 0 else -mp.cbrt(-x)


F = {
    "rsqrt": one(lambda x: 1 / mp.sqrt(x)),
    "cbrt": one(root),
    "rcbrt": one(lambda x: 1 / root(x)),
    "hypot": norm,
    "rhypot": lambda *v: 1 / norm(*v),
    "norm3d": norm,
    "rnorm3d": lambda *v: 1 / norm(*v),
    "norm4d": norm,
    "rnorm4d": lambda *v: 1 / norm(*v),
    "exp": one(mp.exp),
    "exp2": one(lambda x: mp.mpf(2) ** x),
    "exp10": one(lambda x: mp.mpf(10) ** x),
    "expm1": one(mp.expm1),
    "log": one(mp.log),
    "log2": one(lambda x: mp.log(x) / mp.log(2)),
    "log10": one(lambda x: mp.log(x) / mp.log(10)),
    "log1p": one(mp.log1p),
    "sin": one(mp.sin),
    "cos": one(mp.cos),
    "tan": one(mp.tan),
    "sinpi": one(mp.sinpi),
    "cospi": one(mp.cospi),
    "asin": one(mp.asin),
    "acos": one(mp.acos),
    "atan": one(mp.atan),
    "atan2": lambda y, x: mp.atan2(mp.mpf(y), mp.mpf(x)),
    "sinh": one(mp.sinh),
    "cosh": one(mp.cosh),
    "tanh": one(mp.tanh),
    "asinh": one(mp.asinh),
    "acosh": one(mp.acosh),
    "atanh": one(mp.atanh),
    "pow": lambda x, y: mp.mpf(x) ** mp.mpf(y),
    "erf": one(mp.erf),
    "erfc": one(mp.erfc),
    "erfinv": one(lambda x: mp.sign(x) * erfcinv(1 - abs(x))),
    "erfcinv": one(erfcinv),
    "erfcx": one(lambda x: mp.exp(x * x) * mp.erfc(x)),
    "normcdf": one(lambda x: mp.erfc(-x / mp.sqrt(2)) / 2),
    "normcdfinv": one(lambda p: -mp.sqrt(2) * erfcinv(2 * p)),
    "lgamma": one(lambda x: mp.loggamma(x) if x > 0 else mp.log(abs(mp.gamma(x)))),
    "tgamma": one(mp.gamma),
    "j0": one(lambda x: mp.besselj(0, x)),
    "j1": one(lambda x: mp.besselj(1, x)),
    "y0": one(lambda x: mp.bessely(0, x)),
    "y1": one(lambda x: mp.bessely(1, x)),
    "jn": order(mp.besselj),
    "yn": order(mp.bessely),
    "cyl_bessel_i0": one(lambda x: mp.besseli(0, x)),
    "cyl_bessel_i1": one(lambda x: mp.besseli(1, x)),
}


def nearest(value):
    """The nearest double, ties to even, of a value that may be subnormal or too large."""
    if value == 0:
        return 0.0
    exponent = max(int(mp.floor(mp.log(abs(value), 2))) - 52, -1074)
    # The logarithm may be one off at a power of 2.
    if exponent > -1074 and abs(value) >= mp.ldexp(1, exponent + 53):
        exponent += 1
    scaled = mp.ldexp(value, -exponent)
    whole = int(mp.nint(scaled))
    try:
        return float(whole) * 2.0**exponent if exponent > -1000 else float(mp.ldexp(whole, exponent))
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    only = sys.argv[1:]
    for line in open(os.path.join(here, "math_reference.txt")):
        if line.startswith("#"):
            continue
        name, count, *specs = line.split()
        base = name[:-1] if name not in F else name
        if only and name not in only:
            continue
        state = seed(name)
        for _ in range(int(count)):
            args = []
            for spec in specs:
                state = (state + 1) & MASK
                x = draw(spec, mix(state))
                args.append(single(x) if name != base and not spec.startswith("i") else x)
            sys.stdout.buffer.write(struct.pack("<d", nearest(F[base](*args))))
        print(name, file=sys.stderr)


main()
