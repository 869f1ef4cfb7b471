#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the polynomials of margay-math, highest power first, as they are in its sources.

    python3 coefficients.py [name part]

Needs Sollya (its `fpminimax` fits with coefficients of the format's own precision), and mpmath and
numpy for inverse error functions, which Sollya lacks. Each line has the worst error of the
polynomial alone; what rounding adds is measured by the crate's tests.
"""
import subprocess
import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 40
WANTED = sys.argv[1] if len(sys.argv) > 1 else ""


def powers(first, last, step=1):
    return "[|" + ",".join(str(i) for i in range(first, last + 1, step)) + "|]"


def fit(name, f, exponents, precision, low, high, fixed="0", mode="relative"):
    """A minimax polynomial of `f` on [low, high]; the part `fixed` of it is given."""
    if WANTED not in name:
        return
    given = "" if fixed == "0" else "," + fixed
    error = "p/f-1" if mode == "relative" else "p-f"
    script = f"""prec=250!; f={f}; I=[{low};{high}];
p=fpminimax(f,{exponents},[|{precision}...|],I,{mode},floating{given});
e=dirtyinfnorm({error},I);
display=decimal!; print("error", round(log2(e),12,RN)); display=hexadecimal!;
for i from 0 to degree(p) do {{ print(i, coeff(p,i)); }};
quit;
"""
    out = subprocess.run(["sollya"], input=script, capture_output=True, text=True, check=True).stdout
    coefficients, error = {}, None
    for line in out.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "error":
            error = words[1]
        elif len(words) == 2:
            try:
                coefficients[int(float.fromhex(words[0]))] = float.fromhex(words[1])
            except ValueError:
                pass  # The fixed part's own symbols, such as pi.
    show(name, error, coefficients, precision)


def show(name, error, coefficients, precision):
    literal = (lambda v: str(np.float32(v))) if precision == "single" else repr
    terms = [f"x^{k}: {literal(v)}" for k, v in sorted(coefficients.items(), reverse=True) if v]
    print(f"{name} ({precision}, error 2^{error})\n    " + "\n    ".join(terms))


def interpolate(name, f, base, low, high, degree, shift=0, divisor=lambda x: 1, scale=lambda x: 1):
    """A polynomial through f at Chebyshev's nodes: f = base + divisor * p(x - shift)."""
    if WANTED not in name:
        return
    low, high = mp.mpf(low), mp.mpf(high)
    n = degree
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n + 2)) for k in range(n + 1)]
    a, b = mp.matrix(n + 1, n + 1), mp.matrix(n + 1, 1)
    for i, x in enumerate(nodes):
        weight = divisor(x) / f(x)
        for j in range(n + 1):
            a[i, j] = (x - shift) ** j * weight
        b[i] = (f(x) - base(x)) / f(x)
    c = [float(np.float32(float(v))) for v in mp.lu_solve(a, b)]
    worst = mp.mpf(0)
    for k in range(1, 150):
        x = low + (high - low) * k / 149
        p = sum(mp.mpf(v) * (x - shift) ** j for j, v in enumerate(c))
        worst = max(worst, abs((base(x) + divisor(x) * p) / f(x) - 1))
    show(name, "%.2f" % float(mp.log(worst, 2)), dict(enumerate(c)), "single")


def erfcinv(y):
    if y > mp.mpf("0.3"):
        return mp.erfinv(1 - y)
    x = mp.sqrt(-mp.log(y))
    x = mp.sqrt(-mp.log(y * mp.sqrt(mp.pi) * x)) if y < 0.1 else x
    for _ in range(60):
        slope = -2 / mp.sqrt(mp.pi) * mp.exp(-x * x) / mp.erfc(x)
        step = (mp.log(mp.erfc(x)) - mp.log(y)) / slope
        x -= step
        if abs(step) < mp.mpf(10) ** -34:
            break
    return x


def inverse(w):
    """erfinv(x) / x where 1 - x² is e^-w."""
    if w == 0:
        return mp.sqrt(mp.pi) / 2
    t = mp.exp(-w)
    x = mp.sqrt(1 - t)
    return erfcinv(t / (1 + x)) / x


# Single precision.
fit("exp", "exp(x)", powers(1, 6), "single", -0.3467, 0.3467, "1")
fit("exp2", "2^x", powers(1, 6), "single", -0.5, 0.5, "1")
fit("exp10", "10^x", powers(1, 6), "single", -0.1506, 0.1506, "1")
fit("expm1", "exp(x)-1", powers(2, 7), "single", -0.3467, 0.3467, "x")
fit("log1p", "log(1+x)", powers(3, 10), "single", "-1/3", "1/3", "x-x^2/2")
fit("sin", "sin(x)", powers(3, 9, 2), "single", -0.7854, 0.7854, "x")
fit("cos", "cos(x)", powers(4, 8, 2), "single", -0.7854, 0.7854, "1-x^2/2")
fit("sin of turns", "sin(2*pi*x)", powers(1, 9, 2), "single", "2^-30", 0.25)
fit("sinpi", "sin(pi*x)", powers(3, 9, 2), "single", "2^-40", 0.25, "pi*x")
fit("cospi", "cos(pi*x)", powers(2, 8, 2), "single", -0.25, 0.25, "1")
fit("atan", "atan(x)", powers(3, 17, 2), "single", "2^-40", 1, "x")
fit("asin", "asin(x)", powers(3, 13, 2), "single", "2^-40", 0.5626, "x")
fit("sinh", "sinh(x)", powers(3, 9, 2), "single", "2^-40", 1, "x")
fit("tanh", "tanh(x)", powers(3, 11, 2), "single", "2^-40", 0.55, "x")
fit("erf near 0", "erf(x)", powers(1, 11, 2), "single", "2^-40", 0.95)
fit("-ln(erfc)", "-log(erfc(x))", powers(0, 8), "single", 0.9, 4.0, mode="absolute")
K = "2*(1+x)/(1-x)"
fit("erfcx", f"(1+2*({K}))*exp(({K})^2)*erfc({K})/2", powers(0, 12), "single", -1, 0.999)
interpolate("erfcx near 0", lambda x: mp.exp(x * x) * mp.erfc(x), lambda x: 1, "1e-6", 0.5, 8, divisor=lambda x: x)
interpolate("erfinv near", inverse, lambda w: mp.sqrt(mp.pi) / 2, "1e-6", 5, 9, divisor=lambda w: w)
interpolate("erfinv middle", lambda s: inverse(s * s), lambda s: s, 2.236, 4.01, 9, 3)
interpolate("erfinv far", lambda s: inverse(s * s), lambda s: s, 4, 10.2, 9, 6)
LN = "log((1+sqrt(x))/(1-sqrt(x)))/sqrt(x)"
fit("log2 of powf", f"{LN}/log(2)", powers(0, 4), "double", "2^-60", 0.02944)
fit("exp2 of powf", "2^x", powers(1, 6), "double", -0.5, 0.5, "1")

# Double precision.
fit("double exp", "exp(x)", powers(1, 11), "double", -0.3467, 0.3467, "1")
fit("double exp2", "2^x", powers(1, 11), "double", -0.5, 0.5, "1")
fit("double exp10", "10^x", powers(1, 11), "double", -0.1506, 0.1506, "1")
fit("double expm1", "exp(x)-1", powers(3, 12), "double", -0.3467, 0.3467, "x+x^2/2")
fit("double log", f"({LN}-2)/x", powers(0, 7), "double", "2^-60", 0.02944)
fit("double log of pow", f"(({LN}-2)/x-2/3)/x", powers(0, 7), "double", "2^-60", 0.02944)
fit("double sin", "sin(x)", powers(3, 13, 2), "double", "2^-40", 0.7854, "x")
fit("double cos", "cos(x)", powers(4, 14, 2), "double", -0.7854, 0.7854, "1-x^2/2")
fit("double sinpi", "sin(pi*x)", powers(3, 15, 2), "double", "2^-40", 0.25, "pi*x")
fit("double cospi", "cos(pi*x)", powers(2, 14, 2), "double", "2^-30", 0.25, "1")
fit("double asin", "asin(x)", powers(3, 27, 2), "double", "2^-40", 0.5626, "x")
fit("double atan", "atan(x)", powers(3, 25, 2), "double", "2^-40", 0.4143, "x")
fit("double sinh", "sinh(x)", powers(3, 17, 2), "double", "2^-40", 1, "x")
fit("double tanh", "tanh(x)", powers(3, 23, 2), "double", "2^-40", 0.55, "x")
fit("double erf near 0", "erf(x)", powers(1, 21, 2), "double", "2^-40", 0.85)
K = "4*(1+x)/(1-x)"
fit("double erfcx", f"(1+2*({K}))*exp(({K})^2)*erfc({K})/2", powers(0, 24), "double", -1, 0.9)
