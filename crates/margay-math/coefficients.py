#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the polynomials of margay-math, highest power first, as they are in its sources.

    python3 coefficients.py [name part]

Needs Sollya (its `fpminimax` fits with coefficients of the format's own precision), and mpmath and
numpy for the functions that Sollya lacks: inverse error functions, gamma and Bessel functions. Each
line has the worst error of the polynomial alone; what rounding adds is measured by the crate's
tests. Tables are printed as they are in `src/double/tables.rs` and `src/single/tables.rs`.
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
interpolate("erfinv middle", lambda s: inverse(s * s), lambda s: s, 1.86, 4.01, 11, 2.8)
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


# Gamma and Bessel functions: polynomials through the function at Chebyshev's nodes, in double
# precision for single-precision functions too.
def chebyshev(low, high, count):
    low, high = mp.mpf(low), mp.mpf(high)
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def through(f, low, high, count, variable=lambda x: x):
    """Coefficients of `variable(x)`, lowest power first, and the worst relative error."""
    a, b = mp.matrix(count, count), mp.matrix(count, 1)
    for i, x in enumerate(chebyshev(low, high, count)):
        y = f(x)
        for j in range(count):
            a[i, j] = variable(x) ** j / y
        b[i] = 1
    c = [float(v) for v in mp.lu_solve(a, b)]
    worst = mp.mpf(0)
    for x in chebyshev(low, high, 60):
        worst = max(worst, abs(mp.polyval([mp.mpf(v) for v in c[::-1]], variable(x)) / f(x) - 1))
    return c, float(mp.log(worst, 2))


def collocate(name, f, low, high, count, variable=lambda x: x):
    if WANTED in name:
        c, error = through(f, low, high, count, variable)
        show(name, "%.2f" % error, dict(enumerate(c)), "double")


def table(name, title, rows, error):
    """A table of Rust's, a row for each interval."""
    print(f"/// {title}: the polynomials alone are within 2^{error:.1f}.")
    print(f"#[rustfmt::skip]\npub static {name}: [f64; {sum(map(len, rows))}] = [")
    for row in rows:
        words = [repr(float(v)) + "," for v in row]
        for i in range(0, len(words), 4):
            print("    " + " ".join(words[i : i + 4]))
    print("];")


def quarters(first, last):
    """Quarters of the octaves from 2^first to 2^last."""
    return [mp.mpf(2) ** e * (1 + mp.mpf(i) / 4) for e in range(first, last) for i in range(4)] + [mp.mpf(2) ** last]


def pieces(name, title, f, zeros, borders, count):
    """Rows of a centre, in two parts, and coefficients of powers of the distance to it. Near a zero
    that is the centre, and there is no constant term."""
    if WANTED not in name:
        return
    rows, worst = [], -99.0
    for low, high in zip(borders, borders[1:]):
        reach = (high - low) * mp.mpf("0.34")
        near = [z for z in zeros if low - reach < z < high + reach]
        centre = near[0] if near else (low + high) / 2
        distance = lambda x: x - centre
        if near:
            # The nodes are never the zero itself.
            c, error = through(lambda x: f(x) / (x - centre), low, high, count - 1, distance)
            c.insert(0, 0.0)
        else:
            c, error = through(f, low, high, count, distance)
        rows.append([float(centre), float(centre - float(centre))] + c)
        worst = max(worst, error)
    table(name, title, rows, worst)


def log_gamma(x):
    return mp.log(abs(mp.gamma(x)))


def between_zeros(x):
    """ln Γ(x) / ((x - 1) (x - 2)), which has no zero above 0."""
    return log_gamma(x) / ((x - 1) * (x - 2))


def smooth_pieces(name, title, f, count):
    """Rows of a centre and coefficients."""
    if WANTED not in name:
        return
    borders = quarters(-1, 2)
    rows, worst = [], -99.0
    for low, high in zip(borders, borders[1:]):
        centre = (low + high) / 2
        c, error = through(f, low, high, count, lambda x: x - centre)
        rows.append([centre] + c)
        worst = max(worst, error)
    table(name, title, rows, worst)


def lanczos(name, count, g):
    """Γ(x) = w^(x - ½) e^-w P(x) / (x (x + 1) ... (x + count - 2)) for w = x + g - ½."""
    if WANTED not in name:
        return
    half = mp.mpf("0.5")
    f = lambda x: mp.gamma(x) * mp.exp(x + g - half) / (x + g - half) ** (x - half)
    points = [g * (1 + u) / (1 - u) for u in chebyshev(-1, 1, count)]
    a, b = mp.matrix(count, count), mp.matrix(count, 1)
    for i, x in enumerate(points):
        for k in range(count):
            a[i, k] = (1 if k == 0 else 1 / (x + k - 1)) / f(x)
        b[i] = 1
    c = mp.lu_solve(a, b)

    def poly_of(roots):
        p = [mp.mpf(1)]  # Lowest power first.
        for r in roots:
            p = [(p[i] * r if i < len(p) else 0) + (p[i - 1] if i else 0) for i in range(len(p) + 1)]
        return p

    numerator = [mp.mpf(0)] * count
    for k in range(count):
        for i, v in enumerate(poly_of([r for r in range(count - 1) if r != k - 1])):
            numerator[i] += c[k] * v
    worst = mp.mpf(0)
    for u in chebyshev(-1, 1, 90):
        x = g * (1 + u) / (1 - u)
        p = mp.polyval([mp.mpf(float(v)) for v in numerator[::-1]], x)
        q = mp.polyval(poly_of(range(count - 1))[::-1], x)
        worst = max(worst, abs(p / q / f(x) - 1))
    show(name, "%.2f" % float(mp.log(worst, 2)), dict(enumerate(map(float, numerator))), "double")
    print("    over", [float(v) for v in poly_of(range(1, count - 1))[::-1]])


def stirling(z):
    """(ln Γ(x) - ((x - ½) ln x - x + ½ ln 2π)) x where z is 1/x²."""
    x = 1 / mp.sqrt(z)
    return (log_gamma(x) - (x - mp.mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def half_turn(s):
    """sin(πx) / x where s is x²."""
    return mp.sin(mp.pi * mp.sqrt(s)) / mp.sqrt(s)


def hankel(order, which):
    """The two factors of Hankel's form, where z is 1/x²: P, and x Q."""

    def f(z):
        x = 1 / mp.sqrt(z)
        phase = x - (2 * order + 1) * mp.pi / 4
        s, c, j, y = mp.sin(phase), mp.cos(phase), mp.besselj(order, x), mp.bessely(order, x)
        return mp.sqrt(mp.pi * x / 2) * (j * c + y * s if which == 0 else (y * c - j * s) * x)

    return f


def near_0(order):
    """What (2/π) ln(x) J(x) lacks of Y(x) for order 0, by x² (order 1: and -2/(πx), over x)."""

    def f(s):
        x = mp.sqrt(s)
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x

    return f


fit("double sin of half a turn", "sin(pi*x)", powers(3, 17, 2), "double", "2^-40", 0.5, "pi*x")
fit("wide sin of half a turn", "sin(pi*x)", powers(1, 11, 2), "double", "2^-40", 0.5)
fit("wide sin", "sin(x)", powers(3, 9, 2), "double", "2^-40", 0.7854, "x")
fit("wide cos", "cos(x)", powers(2, 10, 2), "double", -0.7854, 0.7854, "1")
lanczos("wide tgamma", 6, mp.mpf("5.5"))
collocate("double lgamma from 4", stirling, "1e-9", mp.mpf(1) / 16, 10)
for order in (0, 1):
    over = lambda s: mp.besseli(order, mp.sqrt(s)) / mp.sqrt(s) ** order
    far = lambda z: mp.besseli(order, 1 / z) * mp.exp(-1 / z) / mp.sqrt(z)
    small = lambda s: mp.besselj(order, mp.sqrt(s)) / mp.sqrt(s) ** order
    collocate(f"double i{order} from 8 to 16", far, mp.mpf(1) / 16, mp.mpf(1) / 8, 14)
    collocate(f"double i{order} from 16", far, mp.mpf(1) / 800, mp.mpf(1) / 16, 14)
    collocate(f"wide i{order} to 8", over, "1e-9", 64, 13 - order)
    collocate(f"wide i{order} from 8", far, mp.mpf(1) / 93, mp.mpf(1) / 8, 9)
    collocate(f"double P of order {order}", hankel(order, 0), "1e-7", mp.mpf(1) / 64, 12)
    collocate(f"double Q of order {order}", hankel(order, 1), "1e-7", mp.mpf(1) / 64, 11)
    collocate(f"wide P of order {order}", hankel(order, 0), "1e-7", mp.mpf(1) / 64, 5)
    collocate(f"wide Q of order {order}", hankel(order, 1), "1e-7", mp.mpf(1) / 64, 4)
    collocate(f"double j{order} to 1/2", small, "1e-12", "0.25", 7)
    collocate(f"double y{order} to 1/2", near_0(order), "1e-12", "0.25", 7)
    collocate(f"wide j{order} to 1/2", small, "1e-12", "0.25", 4)
    collocate(f"wide y{order} to 1/2", near_0(order), "1e-12", "0.25", 4)
smooth_pieces("GAMMA", "Γ", mp.gamma, 14)
smooth_pieces("LOG_GAMMA", "ln Γ(x) / ((x - 1) (x - 2))", between_zeros, 13)
for suffix, count in (("", 13), ("_WIDE", 9)):
    J, Y = [mp.mpf(i) for i in range(9)], quarters(-1, 3)
    zeros = lambda of, order: [of(order, k) for k in (1, 2, 3)]
    if not suffix:
        pieces("I0", "I0", lambda x: mp.besseli(0, x), [], J, count)
        pieces("I1", "I1", lambda x: mp.besseli(1, x), [mp.mpf(0)], J, count)
    pieces(f"J0{suffix}", "J0", lambda x: mp.besselj(0, x), zeros(mp.besseljzero, 0), J, count)
    pieces(f"J1{suffix}", "J1", lambda x: mp.besselj(1, x), [mp.mpf(0)] + zeros(mp.besseljzero, 1), J, count)
    pieces(f"Y0{suffix}", "Y0", lambda x: mp.bessely(0, x), zeros(mp.besselyzero, 0), Y, count + (suffix == ""))
    pieces(f"Y1{suffix}", "Y1", lambda x: mp.bessely(1, x), zeros(mp.besselyzero, 1), Y, count + (suffix == ""))
