// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer functions, conversions and vector data of every type, against what 128 bits compute here.

use crate::cl;
use crate::common::*;

/// An integer type.
#[derive(Clone, Copy)]
struct Type {
    name: &'static str,
    bits: u32,
    signed: bool,
}

const TYPES: [Type; 8] = [
    Type { name: "char", bits: 8, signed: true },
    Type { name: "uchar", bits: 8, signed: false },
    Type { name: "short", bits: 16, signed: true },
    Type { name: "ushort", bits: 16, signed: false },
    Type { name: "int", bits: 32, signed: true },
    Type { name: "uint", bits: 32, signed: false },
    Type { name: "long", bits: 64, signed: true },
    Type { name: "ulong", bits: 64, signed: false },
];

impl Type {
    fn least(self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn most(self) -> i128 {
        (1 << (self.bits - u32::from(self.signed))) - 1
    }

    fn saturated(self, value: i128) -> i128 {
        value.clamp(self.least(), self.most())
    }

    /// The low bits as a number of the type.
    fn wrapped(self, value: i128) -> i128 {
        let low = value & ((1 << self.bits) - 1);
        if self.signed && low >> (self.bits - 1) != 0 { low - (1 << self.bits) } else { low }
    }

    /// Edges, and numbers in between.
    fn numbers(self) -> Vec<i128> {
        let (least, most) = (self.least(), self.most());
        let mut all = vec![
            0,
            1,
            2,
            3,
            5,
            7,
            100,
            most,
            most - 1,
            most / 2,
            most / 3,
            least,
            least + 1,
            least / 2,
            least / 3,
        ];
        all.extend([-1, -2, -7].map(|n| if self.signed { n } else { self.wrapped(n) }));
        all
    }

    fn bytes(self) -> usize {
        self.bits as usize / 8
    }

    fn store(self, values: &[i128]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(self.bytes())).collect()
    }

    fn load(self, bytes: &[u8]) -> Vec<i128> {
        let number = |b: &[u8]| {
            let mut wide = [0u8; 16];
            wide[..b.len()].copy_from_slice(b);
            self.wrapped(i128::from_le_bytes(wide))
        };
        bytes.chunks(self.bytes()).map(number).collect()
    }
}

type Function = fn(Type, i128, i128, i128) -> i128;

/// The upper half of a product; only two numbers of 64 unsigned bits need all 128.
fn high(t: Type, a: i128, b: i128) -> i128 {
    if t.signed { (a * b) >> t.bits } else { ((a as u128 * b as u128) >> t.bits) as i128 }
}

/// Results as bits of the type.
const FUNCTIONS: &[(&str, Function)] = &[
    ("as_T(abs(a))", |_, a, _, _| a.abs()),
    ("as_T(abs_diff(a, b))", |_, a, b, _| (a - b).abs()),
    ("add_sat(a, b)", |t, a, b, _| t.saturated(a + b)),
    ("sub_sat(a, b)", |t, a, b, _| t.saturated(a - b)),
    ("hadd(a, b)", |_, a, b, _| (a + b) >> 1),
    ("rhadd(a, b)", |_, a, b, _| (a + b + 1) >> 1),
    ("clamp(a, min(b, c), max(b, c))", |_, a, b, c| a.clamp(b.min(c), b.max(c))),
    ("clz(a)", |t, a, _, _| {
        i128::from((a & ((1 << t.bits) - 1)).leading_zeros()) - 128 + i128::from(t.bits)
    }),
    ("ctz(a)", |t, a, _, _| i128::from((a | 1 << t.bits).trailing_zeros())),
    ("popcount(a)", |t, a, _, _| i128::from((a & ((1 << t.bits) - 1)).count_ones())),
    ("max(a, b)", |_, a, b, _| a.max(b)),
    ("min(a, b)", |_, a, b, _| a.min(b)),
    ("mul_hi(a, b)", |t, a, b, _| high(t, a, b)),
    ("mad_hi(a, b, c)", |t, a, b, c| high(t, a, b) + c),
    ("mad_sat(a, b, c)", |t, a, b, c| t.saturated(a.saturating_mul(b).saturating_add(c))),
    ("rotate(a, b)", |t, a, b, _| {
        let (bits, by) = (a & ((1 << t.bits) - 1), (b & i128::from(t.bits - 1)) as u32);
        (bits << by) | (bits >> (t.bits - by))
    }),
    ("a / (b == 0 ? (T)1 : b)", |_, a, b, _| if b == 0 { a } else { a / b }),
    ("a % (b == 0 ? (T)1 : b)", |_, a, b, _| if b == 0 { 0 } else { a % b }),
];

/// Builds a kernel over `a`, `b`, `c` that are vectors of `n`, runs it, and gives what it stores.
fn run(
    setup: &Setup,
    source: &str,
    arguments: &[Vec<u8>],
    results: usize,
    items: usize,
) -> Vec<u8> {
    let kernel = setup.kernel(source, "-cl-std=CL3.0", "f");
    let out = setup.buffer(&vec![0u8; results]);
    let buffers: Vec<cl_mem> = arguments.iter().map(|bytes| setup.buffer(bytes)).collect();
    for (i, buffer) in std::iter::once(&out).chain(&buffers).enumerate() {
        assert_eq!(set(kernel, i as u32, buffer), 0);
    }
    assert_eq!(setup.run(kernel, items, None), 0);
    let bytes = setup.read::<u8>(out, results);
    for mem in buffers.into_iter().chain([out]) {
        cl!(clReleaseMemObject(mem));
    }
    cl!(clReleaseKernel(kernel));
    bytes
}

#[test]
fn every_function_of_every_type() {
    let setup = Setup::new(0);
    let mut wrong = Vec::new();
    for ty in TYPES {
        let numbers = ty.numbers();
        let third = |i: usize, j: usize| numbers[(i * 7 + j * 3 + 1) % numbers.len()];
        let mut triples: Vec<[i128; 3]> = Vec::new();
        for (i, a) in numbers.iter().enumerate() {
            triples.extend(numbers.iter().enumerate().map(|(j, b)| [*a, *b, third(i, j)]));
        }
        // A multiple of every vector's length.
        triples.truncate(triples.len() / 48 * 48);
        let columns =
            [0, 1, 2].map(|k| ty.store(&triples.iter().map(|t| t[k]).collect::<Vec<_>>()));
        // The long vectors take long to compile; a few types stand for all.
        let lengths: &[usize] =
            if matches!(ty.name, "char" | "int" | "ulong") { &[1, 3, 16] } else { &[1, 3] };
        for n in lengths.iter().copied() {
            let vector = if n == 1 { String::new() } else { n.to_string() };
            let name = format!("{}{vector}", ty.name);
            let (load, store) = match n {
                1 => ("p[i]".to_owned(), "o[k * N + i] = v".to_owned()),
                _ => (format!("vload{n}(i, p)"), format!("vstore{n}(v, i, o + k * N)")),
            };
            let mut body = String::new();
            for (k, (expression, _)) in FUNCTIONS.iter().enumerate() {
                let expression = expression
                    .replace("as_T", &format!("as_{name}"))
                    .replace("(T)", &format!("({name})"));
                // In vectors a scalar condition chooses by component.
                let expression = expression
                    .replace("b == 0 ? ", "b == (T)0 ? ")
                    .replace("(T)", &format!("({name})"));
                body += &format!("{{ const int k = {k}; {name} v = {expression}; {store}; }}\n");
            }
            let loads = ["a", "b", "c"]
                .map(|p| format!("{name} {p} = {};", load.replace('p', &format!("p{p}"))));
            let source = format!(
                "#define N {}\nkernel void f(global {1} *o, global {1} *pa, global {1} *pb, global {1} *pc) {{
                    size_t i = get_global_id(0); {2}\n{body} }}",
                triples.len(),
                ty.name,
                loads.join(" ")
            );
            let size = FUNCTIONS.len() * triples.len() * ty.bytes();
            let bytes = run(&setup, &source, &columns, size, triples.len() / n);
            for ((what, function), got) in
                FUNCTIONS.iter().zip(ty.load(&bytes).chunks(triples.len()))
            {
                for ([a, b, c], got) in triples.iter().zip(got) {
                    let expected = ty.wrapped(function(ty, *a, *b, *c));
                    // The least number by -1 is not defined.
                    let defined = !(what.contains(['/', '%']) && *a == ty.least() && *b == -1);
                    if defined && *got != expected {
                        wrong.push(format!(
                            "{name}: {what} of {a}, {b}, {c}: {got}, not {expected}"
                        ));
                        break;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Conversions between integer types, plain and saturating.
#[test]
fn conversions_between_integers() {
    let setup = Setup::new(0);
    for from in TYPES {
        let numbers = from.numbers();
        let mut source = format!(
            "#define N {}\nkernel void f(global uchar *o, global {} *p) {{ size_t i = get_global_id(0);\n",
            numbers.len(),
            from.name
        );
        let mut at = 0;
        for to in TYPES {
            for kind in ["", "_sat"] {
                source +=
                    &format!("((global {0} *)(o + {at}))[i] = convert_{0}{kind}(p[i]);\n", to.name);
                at += numbers.len().next_multiple_of(8) * to.bytes();
            }
        }
        let bytes = run(&setup, &(source + "}"), &[from.store(&numbers)], at, numbers.len());
        let mut at = 0;
        for to in TYPES {
            for saturates in [false, true] {
                let got = to.load(&bytes[at..at + numbers.len() * to.bytes()]);
                let expected: Vec<i128> = numbers
                    .iter()
                    .map(|n| if saturates { to.saturated(*n) } else { to.wrapped(*n) })
                    .collect();
                assert_eq!(got, expected, "{} to {}", from.name, to.name);
                at += numbers.len().next_multiple_of(8) * to.bytes();
            }
        }
    }
}

/// Rounds to an integer: `rte`, `rtz`, `rtp`, `rtn`.
fn rounded(x: f64, mode: &str) -> f64 {
    match mode {
        "_rte" => x.round_ties_even(),
        "_rtp" => x.ceil(),
        "_rtn" => x.floor(),
        _ => x.trunc(),
    }
}

/// Conversions from floating point, with every rounding; what does not fit saturates.
#[test]
fn conversions_from_floating_point() {
    let setup = Setup::new(0);
    let numbers: Vec<f64> =
        [0.0, 0.5, 1.5, 2.5, 2.4999, 99.75, 127.5, 128.0, 255.5, 300.0, 32767.5, 65535.5, 1e6]
            .into_iter()
            .flat_map(|x| [x, -x])
            .chain([f64::INFINITY, -f64::INFINITY, f64::NAN, 1e30, -1e30])
            .collect();
    let modes = ["", "_rte", "_rtz", "_rtp", "_rtn"];
    for (from, size) in [("float", 4), ("double", 8), ("half", 2)] {
        let store = |x: f64| match size {
            2 => half::f16::from_f64(x).to_le_bytes().to_vec(),
            4 => (x as f32).to_le_bytes().to_vec(),
            _ => x.to_le_bytes().to_vec(),
        };
        let exact = |x: f64| match size {
            2 => half::f16::from_f64(x).to_f64(),
            4 => f64::from(x as f32),
            _ => x,
        };
        let mut source = format!(
            "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\nkernel void f(global uchar *o, global {from} *p) {{ size_t i = get_global_id(0);\n"
        );
        let stride = numbers.len().next_multiple_of(8);
        let mut at = 0;
        for to in TYPES {
            for mode in modes {
                source += &format!(
                    "((global {0} *)(o + {at}))[i] = convert_{0}_sat{mode}(p[i]);\n",
                    to.name
                );
                at += stride * to.bytes();
            }
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| store(*x)).collect();
        let bytes = run(&setup, &(source + "}"), &[bytes], at, numbers.len());
        let mut at = 0;
        for to in TYPES {
            for mode in modes {
                let got = to.load(&bytes[at..at + numbers.len() * to.bytes()]);
                // NaN gives 0; `as` saturates at 128 bits, where nothing is lost.
                let expected: Vec<i128> = numbers
                    .iter()
                    .map(|x| to.saturated(rounded(exact(*x), mode) as i128))
                    .collect();
                assert_eq!(got, expected, "{from} to {}{mode}", to.name);
                at += stride * to.bytes();
            }
        }
    }
}

/// Conversions of integers to floating point with every rounding: the nearest below, above, towards zero.
#[test]
fn conversions_to_floating_point() {
    let setup = Setup::new(0);
    let modes = ["", "_rte", "_rtz", "_rtp", "_rtn"];
    for from in &TYPES[4..] {
        let mut numbers = from.numbers();
        numbers
            .extend([16_777_217, 16_777_219, 33_554_435, 2_147_483_583].map(|n| from.saturated(n)));
        if from.signed {
            numbers.extend([-16_777_217, -16_777_219]);
        }
        let mut source = format!(
            "kernel void f(global float *o, global {} *p) {{ size_t i = get_global_id(0);\n",
            from.name
        );
        for (k, mode) in modes.iter().enumerate() {
            source += &format!("o[{} + i] = convert_float{mode}(p[i]);\n", k * numbers.len());
        }
        let size = 4 * modes.len() * numbers.len();
        let bytes = run(&setup, &(source + "}"), &[from.store(&numbers)], size, numbers.len());
        let floats: Vec<f32> = bytes
            .chunks(4)
            .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect();
        for (mode, got) in modes.iter().zip(floats.chunks(numbers.len())) {
            for (n, got) in numbers.iter().zip(got) {
                let nearest = *n as f32;
                let (below, above) = match (nearest as i128).cmp(n) {
                    std::cmp::Ordering::Equal => (nearest, nearest),
                    std::cmp::Ordering::Less => (nearest, nearest.next_up()),
                    std::cmp::Ordering::Greater => (nearest.next_down(), nearest),
                };
                let expected = match *mode {
                    "_rtn" => below,
                    "_rtp" => above,
                    "_rtz" => {
                        if *n < 0 {
                            above
                        } else {
                            below
                        }
                    }
                    _ => nearest,
                };
                assert_eq!(*got, expected, "{} {n} to float{mode}", from.name);
            }
        }
    }
}

#[test]
fn roundings_of_double_to_float() {
    let setup = Setup::new(0);
    let source = "kernel void f(global float *o, global double *p) { double x = p[get_global_id(0)]; size_t i = 4 * get_global_id(0);
        o[i] = convert_float_rte(x); o[i + 1] = convert_float_rtz(x); o[i + 2] = convert_float_rtp(x); o[i + 3] = convert_float_rtn(x); }";
    let numbers = [0.1f64, -0.1, 1e300, -1e300, 1e-320, -1e-320, 3.0];
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let bytes = run(&setup, source, &[bytes], 16 * numbers.len(), numbers.len());
    let floats: Vec<f32> =
        bytes.chunks(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect();
    let tenth = 0.1f32;
    let (most, tiny) = (f32::MAX, f32::from_bits(1));
    let expected = [
        [tenth, tenth.next_down(), tenth, tenth.next_down()],
        [-tenth, -tenth.next_down(), -tenth.next_down(), -tenth],
        [f32::INFINITY, most, f32::INFINITY, most],
        [-f32::INFINITY, -most, -most, -f32::INFINITY],
        [0.0, 0.0, tiny, 0.0],
        [-0.0, -0.0, -0.0, -tiny],
        [3.0; 4],
    ];
    assert_eq!(floats, expected.concat());
}

#[test]
fn functions_of_24_bits_and_upsample() {
    let setup = Setup::new(0);
    let source = "kernel void f(global long *o, global int *p) {
        int a = p[0], b = p[1], c = p[2];
        o[0] = mul24(a, b); o[1] = mad24(a, b, c); o[2] = mul24((uint)8388609, 3u); o[3] = mad24((uint2)(5, 6), (uint2)(7), (uint2)(1)).y;
        o[4] = upsample((char)-2, (uchar)3); o[5] = upsample((uchar)254, (uchar)3); o[6] = upsample((short)-2, (ushort)3);
        o[7] = upsample((int)-2, (uint)3); o[8] = (long)upsample((uint2)(1, 2), (uint2)(3, 4)).y; }";
    let numbers: Vec<u8> = [-8_388_608i32, 255, 9].iter().flat_map(|n| n.to_le_bytes()).collect();
    let bytes = run(&setup, source, &[numbers], 72, 1);
    let got: Vec<i64> =
        bytes.chunks(8).map(|b| i64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
    let product = -8_388_608i64 * 255;
    let expected = [
        product,
        product + 9,
        25_165_827,
        43,
        -509,
        65027,
        -131_069,
        (-2 << 32) + 3,
        (2 << 32) + 4,
    ];
    assert_eq!(got, expected);
}
