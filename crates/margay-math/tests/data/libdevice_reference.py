#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes libdevice_reference.txt: device-library functions at sampled arguments, in 40 digits.

Needs mpmath. A row is `name argument... value...`, arguments and values as hexadecimal bit
patterns of doubles; a value is two doubles, the nearest one and what it lacks, so that errors are
measured in fractions of a unit in the last place. Run it again to change the samples:

    python3 libdevice_reference.py > libdevice_reference.txt
"""
import random
import struct
import sys

import mpmath as mp

mp.mp.dps = 60
random.seed(20)


def bits(x):
    return "%016x" % struct.unpack("<Q", struct.pack("<d", x))[0]


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def log_uniform(lo, hi, signed):
    """Doubles of all magnitudes from 2^lo to 2^hi."""
    x = 2.0 ** random.uniform(lo, hi)
    return -x if signed and random.random() < 0.5 else x


def between(lo, hi):
    return random.uniform(lo, hi)


def both(lo, hi, elo, ehi, signed=True):
    """Half evenly between lo and hi, half of all magnitudes."""
    return lambda: between(lo, hi) if random.random() < 0.5 else log_uniform(elo, ehi, signed)


def m(x):
    return mp.mpf(x)


def erfcinv(p):
    p = m(p)
    if p > mp.mpf("0.01") and p < 1.99:
        return mp.erfinv(1 - p)
    s = 1
    if p > 1:
        return -erfcinv_small(2 - p)
    return erfcinv_small(p)


def erfcinv_small(p):
    # Newton on log erfc, from the asymptotic form.
    t = mp.sqrt(-2 * mp.log(p / 2))
    x = t / mp.sqrt(2)
    x = mp.sqrt(mp.log(2 / (p * mp.sqrt(mp.pi) * x)) if x > 0 else 1)
    for _ in range(12):
        e = mp.erfc(x)
        d = -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)
        step = (mp.log(e) - mp.log(p)) * e / d
        x = x - step
        if abs(step) < mp.mpf(10) ** -55:
            break
    return x


def norm(*v):
    return mp.sqrt(sum(m(x) ** 2 for x in v))


unit = lambda: between(-1, 1)
anyx = both(-10, 10, -60, 60)
F = {
    # name: (function, samplers)
    "sin": (lambda x: mp.sin(m(x)), [both(-7, 7, -30, 200)]),
    "cos": (lambda x: mp.cos(m(x)), [both(-7, 7, -30, 200)]),
    "tan": (lambda x: mp.tan(m(x)), [both(-7, 7, -30, 200)]),
    "sinpi": (lambda x: mp.sin(mp.pi * m(x)), [both(-3, 3, -30, 40)]),
    "cospi": (lambda x: mp.cos(mp.pi * m(x)), [both(-3, 3, -30, 40)]),
    "asin": (lambda x: mp.asin(m(x)), [both(-1, 1, -40, -0.01)]),
    "acos": (lambda x: mp.acos(m(x)), [both(-1, 1, -40, -0.01)]),
    "atan": (lambda x: mp.atan(m(x)), [anyx]),
    "atan2": (lambda y, x: mp.atan2(m(y), m(x)), [anyx, anyx]),
    "sinh": (lambda x: mp.sinh(m(x)), [both(-50, 50, -30, 9.4)]),
    "cosh": (lambda x: mp.cosh(m(x)), [both(-50, 50, -30, 9.4)]),
    "tanh": (lambda x: mp.tanh(m(x)), [both(-8, 8, -30, 5)]),
    "asinh": (lambda x: mp.asinh(m(x)), [anyx]),
    "acosh": (lambda x: mp.acosh(m(x)), [lambda: 1 + log_uniform(-40, 100, False)]),
    "atanh": (lambda x: mp.atanh(m(x)), [both(-1, 1, -40, -0.01)]),
    "exp": (lambda x: mp.exp(m(x)), [both(-700, 700, -40, 9.4)]),
    "exp2": (lambda x: mp.mpf(2) ** m(x), [both(-1000, 1000, -40, 9.9)]),
    "exp10": (lambda x: mp.mpf(10) ** m(x), [both(-300, 300, -40, 8.2)]),
    "expm1": (lambda x: mp.expm1(m(x)), [both(-30, 30, -40, 9.4)]),
    "log": (lambda x: mp.log(m(x)), [both(0.1, 3, -1020, 1020, False)]),
    "log2": (lambda x: mp.log(m(x)) / mp.log(2), [both(0.1, 3, -1020, 1020, False)]),
    "log10": (lambda x: mp.log10(m(x)), [both(0.1, 3, -1020, 1020, False)]),
    "log1p": (lambda x: mp.log1p(m(x)), [both(-0.9, 3, -40, 200, False)]),
    "pow": (lambda x, y: m(x) ** m(y), [lambda: log_uniform(-8, 8, False), lambda: between(-100, 100)]),
    "cbrt": (lambda x: mp.cbrt(m(x)) if x > 0 else -mp.cbrt(-m(x)), [both(-9, 9, -1000, 1000)]),
    "rcbrt": (lambda x: 1 / mp.cbrt(m(x)) if x > 0 else -1 / mp.cbrt(-m(x)), [both(-9, 9, -1000, 1000)]),
    "rsqrt": (lambda x: 1 / mp.sqrt(m(x)), [both(0.1, 9, -1060, 1000, False)]),
    "hypot": (norm, [anyx, anyx]),
    "rhypot": (lambda *v: 1 / norm(*v), [anyx, anyx]),
    "norm3d": (norm, [anyx] * 3),
    "rnorm3d": (lambda *v: 1 / norm(*v), [anyx] * 3),
    "norm4d": (norm, [anyx] * 4),
    "rnorm4d": (lambda *v: 1 / norm(*v), [anyx] * 4),
    "erf": (lambda x: mp.erf(m(x)), [both(-6, 6, -40, 3)]),
    "erfc": (lambda x: mp.erfc(m(x)), [both(-6, 26, -40, 4.5)]),
    "erfcx": (lambda x: mp.exp(m(x) ** 2) * mp.erfc(m(x)), [both(-20, 30, -40, 6)]),
    "erfinv": (lambda x: mp.erfinv(m(x)), [both(-1, 1, -40, -0.01)]),
    "erfcinv": (erfcinv, [lambda: random.choice([between(0, 2), 2.0 ** random.uniform(-1000, 0)])]),
    "normcdf": (lambda x: mp.erfc(-m(x) / mp.sqrt(2)) / 2, [both(-37, 8, -40, 3)]),
    "normcdfinv": (lambda p: -mp.sqrt(2) * erfcinv(2 * m(p)), [lambda: random.choice([between(0, 1), 2.0 ** random.uniform(-1000, -1)])]),
    "tgamma": (lambda x: mp.gamma(m(x)), [both(-20, 170, -40, 7.4, False)]),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(m(x)))), [both(0.01, 100, -40, 60, False)]),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, m(x)), [both(-30, 30, -30, 9)]),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, m(x)), [both(-30, 30, -30, 9)]),
    "j0": (lambda x: mp.besselj(0, m(x)), [both(-8, 8, -30, 12)]),
    "j1": (lambda x: mp.besselj(1, m(x)), [both(-8, 8, -30, 12)]),
    "y0": (lambda x: mp.bessely(0, m(x)), [both(0.01, 8, -30, 12, False)]),
    "y1": (lambda x: mp.bessely(1, m(x)), [both(0.01, 8, -30, 12, False)]),
}
SAMPLES = 120


def row(name, f, args):
    value = f(*args)
    hi = float(value)
    if hi != hi or abs(hi) == float("inf") or abs(hi) < 2.0**-960:
        return None
    return " ".join([name] + [bits(a) for a in args] + [bits(hi), bits(float(value - hi))])


def main():
    for name, (f, samplers) in F.items():
        for narrow in (False, True):
            done = 0
            tries = 0
            while done < SAMPLES and tries < 20 * SAMPLES:
                tries += 1
                args = [s() for s in samplers]
                if narrow:
                    try:
                        args = [single(a) for a in args]
                    except OverflowError:
                        continue
                    if any(a == 0 for a in args):
                        continue
                try:
                    line = row(name + ("f" if narrow else ""), f, args)
                except (ValueError, ZeroDivisionError, OverflowError):
                    continue
                if line:
                    print(line)
                    done += 1
            print(name, narrow, done, file=sys.stderr)


main()
