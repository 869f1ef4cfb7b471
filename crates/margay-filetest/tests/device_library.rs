// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every function of the device library: compiled code gives the interpreter's bits, at special values and at
//! random ones of all magnitudes; and each is vector code.

use std::fmt::Write as _;
use std::sync::Arc;

use margay_exec::jit::{Engine, unavailable};
use margay_filetest::compile::compile;
use margay_filetest::device::{self, Argument, Shape};
use margay_ir::{Attr, Builtin, Ty};
use margay_math::Function;

/// Threads, and so tuples of arguments.
const COUNT: usize = 4096;

/// A kernel that calls the function for each thread: arguments are words of 64 bits in `a`, results in `out`.
fn kernel(builtin: Builtin) -> String {
    let (args, rets) = (builtin.args(), builtin.rets());
    let mut parameters: Vec<String> =
        args.iter().enumerate().map(|(i, t)| format!(".param .b{} x{i}", t.bits())).collect();
    let direct = (rets.len() == 1).then(|| rets[0].bits());
    if direct.is_none() {
        parameters.extend((0..rets.len()).map(|i| format!(".param .b64 p{i}")));
    }
    let head = direct.map_or(String::new(), |bits| format!("(.param .b{bits} r) "));
    let register = |t: &Ty| match t.bits() {
        16 => 'h',
        32 => 'r',
        _ => 'd',
    };
    let mut body = String::new();
    for (i, t) in args.iter().enumerate() {
        let bits = t.bits();
        let _ = writeln!(body, "ld.global.b{bits} %{}{i}, [%d20+{}];", register(t), i * 8);
    }
    body.push_str("{\n");
    for (i, t) in args.iter().enumerate() {
        let (bits, class) = (t.bits(), register(t));
        let _ = writeln!(body, ".param .b{bits} q{i};\nst.param.b{bits} [q{i}], %{class}{i};");
    }
    let mut passed: Vec<String> = (0..args.len()).map(|i| format!("q{i}")).collect();
    match direct {
        Some(bits) => {
            let class = register(&rets[0]);
            let list = passed.join(", ");
            let _ = writeln!(
                body,
                ".param .b{bits} s;\ncall.uni (s), {}, ({list});\nld.param.b{bits} %{class}9, [s];\n\
                 st.global.b{bits} [%d21], %{class}9;",
                builtin.name()
            );
        }
        None => {
            for i in 0..rets.len() {
                let _ = writeln!(
                    body,
                    ".param .b64 t{i};\nadd.u64 %d10, %d21, {};\nst.param.b64 [t{i}], %d10;",
                    i * 8
                );
                passed.push(format!("t{i}"));
            }
            let _ = writeln!(body, "call.uni {}, ({});", builtin.name(), passed.join(", "));
        }
    }
    body.push('}');
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
         .extern .func {head}{}({});\n\
         .visible .entry k(.param .u64 a, .param .u64 out) {{\n\
         .reg .b16 %h<12>; .reg .b32 %r<24>; .reg .b64 %d<24>;\n\
         mov.u32 %r20, %ctaid.x; mov.u32 %r21, %ntid.x; mov.u32 %r22, %tid.x; mad.lo.u32 %r20, %r20, %r21, %r22;\n\
         mul.wide.u32 %d22, %r20, 32;\n\
         ld.param.u64 %d20, [a]; add.u64 %d20, %d20, %d22;\n\
         ld.param.u64 %d21, [out]; add.u64 %d21, %d21, %d22;\n\
         {body}\nret;\n}}\n",
        builtin.name(),
        parameters.join(", ")
    )
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

const SPECIAL: [f64; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    1.5,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e-310,
    -4.9e-324,
    f64::MAX,
    f64::MIN_POSITIVE,
    1e-40,
    1e10,
    -7.0,
];

/// Arguments of these types: special numbers, numbers near 1, of all magnitudes, and any bits.
fn arguments(types: &[Ty], random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in 0..COUNT {
        let kind = random.next() % 8;
        for i in 0..4 {
            let r = random.next();
            let value = match kind {
                0 | 1 => SPECIAL[(n + i * 7 + (r % 3) as usize) % SPECIAL.len()],
                2..=4 => {
                    (r as i64 as f64 / i64::MAX as f64) * [1.0, 10.0, 100.0][(kind - 2) as usize]
                }
                5 => f64::from_bits(r & !(0x7ff << 52) | (960 + r % 128) << 52),
                _ => f64::from_bits(r),
            };
            let bits = match types.get(i) {
                Some(Ty::F32) if kind < 7 => u64::from((value as f32).to_bits()),
                Some(Ty::F64) => value.to_bits(),
                Some(Ty::I32) if kind < 4 => r % 64,
                Some(Ty::I32) if kind < 6 => (r as i32 >> ((r >> 40) % 32)) as u32 as u64,
                _ => r,
            };
            bytes.extend_from_slice(&bits.to_le_bytes());
        }
    }
    bytes
}

fn run(text: &str, engine: Engine, inputs: &[u8]) -> Vec<u8> {
    let module = compile(text).unwrap_or_else(|e| panic!("{}: {text}", e[0].message));
    let buffer = |bytes: Vec<u8>| Argument::Buffer { bytes, label: String::new() };
    let arguments = [buffer(inputs.to_vec()), buffer(vec![0; COUNT * 32])];
    let grid = [COUNT as u32 / 128, 1, 1];
    let shape = Shape { engine: Some(engine), ..Shape::new(grid, [128, 1, 1]) };
    match device::run(Arc::new(module), "k", &arguments, &shape) {
        Ok(outcome) => outcome.buffers[1].clone(),
        Err(why) => panic!("{why}: {text}"),
    }
}

#[test]
fn compiled_code_gives_the_interpreters_bits() {
    if let Some(why) = unavailable() {
        eprintln!("skipped: {why}");
        return;
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for builtin in Builtin::ALL {
        let text = kernel(*builtin);
        let inputs = arguments(builtin.args(), &mut random);
        let [interpreted, compiled] = [Engine::Interp, Engine::Jit].map(|e| run(&text, e, &inputs));
        for (thread, (a, b)) in interpreted.chunks(32).zip(compiled.chunks(32)).enumerate() {
            let given = &inputs[thread * 32..][..builtin.args().len() * 8];
            assert_eq!(a, b, "{} of {given:x?} (thread {thread})", builtin.name());
        }
    }
}

#[test]
fn all_are_vector_code() {
    for builtin in Builtin::ALL {
        let module = compile(&kernel(*builtin)).unwrap_or_else(|e| panic!("{}", e[0].message));
        let insts = module.functions.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.insts);
        for inst in insts {
            if let Attr::Builtin(b) = inst.attr {
                assert!(
                    Function::by_name(b.name()).is_some(),
                    "{} calls {}",
                    builtin.name(),
                    b.name()
                );
            }
        }
    }
}
