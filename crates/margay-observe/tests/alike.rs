// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks that are told by one of them leave the profile that they leave where each is watched.
//!
//! Random kernels whose ways and addresses follow from the numbers of blocks and threads: sums, shifts, masks, quotients, the
//! smaller of two, choices, comparisons by sign and without, loops, barriers, several buffers in one allocation. In every second
//! one data decide a part: which lanes load, how often, and from where. Interpreted, every block is watched. `MARGAY_FUZZ_SECONDS` and `MARGAY_FUZZ_SEED` are as in `random_kernels.rs`.

mod common;

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::{Bench, folded, forget_unkept, nothing_compiles};
use margay_exec::jit::{Engine, counts, rehearse_always};

/// Bytes of each of a kernel's buffers.
const BYTES: u32 = 1 << 21;

/// What a process has not watched is counted for all tests together.
static TURNS: Mutex<()> = Mutex::new(());

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u32) as usize]
    }
}

/// A kernel under construction: its text, and its 32-bit registers that have values.
struct Kernel {
    random: Random,
    text: String,
    numbers: u32,
    addresses: u32,
    /// Labels and loop counters so far.
    marks: u32,
    /// Data decide some of it.
    by_data: bool,
}

impl Kernel {
    /// Whether data decide what is written next: so often.
    fn by_data(&mut self, one_in: u32) -> bool {
        self.by_data && self.random.below(one_in) == 0
    }

    /// A register, mostly one of the last.
    fn any(&mut self) -> String {
        let back = if self.random.below(2) == 0 { self.numbers } else { self.numbers.min(6) };
        format!("%r{}", self.numbers - 1 - self.random.below(back))
    }

    /// Numbers of so many new registers for addresses.
    fn fresh(&mut self, n: u32) -> u32 {
        self.addresses += n;
        self.addresses - n
    }

    /// A new register.
    fn next(&mut self) -> String {
        self.numbers += 1;
        format!("%r{}", self.numbers - 1)
    }

    fn compute(&mut self) {
        let (a, b) = (self.any(), self.any());
        let (small, factor) = (self.random.below(7), self.random.of(&[2, 3, 4, 16, 32, 64, 100]));
        let mask = self.random.of(&[1u32, 3, 7, 31, 255, 0xffff_fff0]);
        let to = self.next();
        let line = match self.random.below(20) {
            0 | 1 => format!("add.u32 {to}, {a}, {b};"),
            2 => format!("sub.u32 {to}, {a}, {b};"),
            3 | 4 => format!("mul.lo.u32 {to}, {a}, {factor};"),
            5 => format!("mad.lo.u32 {to}, {a}, {factor}, {b};"),
            6 => format!("shl.b32 {to}, {a}, {small};"),
            7 => format!("shr.u32 {to}, {a}, {small};"),
            8 => format!("shr.s32 {to}, {a}, {small};"),
            9 => format!("and.b32 {to}, {a}, {mask};"),
            10 => format!("or.b32 {to}, {a}, {small};"),
            11 => format!("or.b32 {to}, {a}, {b};"),
            12 => format!("xor.b32 {to}, {a}, {small};"),
            13 => format!("min.s32 {to}, {a}, {b};"),
            14 => format!("max.s32 {to}, {a}, {b};"),
            15 => format!("min.u32 {to}, {a}, {b};"),
            16 => format!("div.u32 {to}, {a}, {factor};"),
            17 => format!("rem.s32 {to}, {a}, {factor};"),
            18 => format!("add.u32 {to}, {a}, {};", self.random.below(1 << 12)),
            _ => {
                let c = self.any();
                self.compare();
                format!("selp.b32 {to}, {a}, {c}, %p0;")
            }
        };
        writeln!(self.text, "{line}").unwrap();
    }

    /// A predicate in `%p0`.
    fn compare(&mut self) {
        let cmp = self.random.of(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let ty = self.random.of(&["s32", "u32"]);
        let a = self.any();
        let b = match self.random.below(3) {
            0 => self.any(),
            1 => format!("{}", self.random.below(64)),
            _ => format!("{}", self.random.below(20_000)),
        };
        writeln!(self.text, "setp.{cmp}.{ty} %p0, {a}, {b};").unwrap();
    }

    /// An access at a place within its buffer.
    fn access(&mut self) {
        let coefficient = |random: &mut Random| random.of(&[0u32, 1, 1, 2, 4, 8, 16, 31, 32, 64]);
        // Blocks are mostly whole lines apart.
        let of_blocks = |random: &mut Random| random.of(&[0u32, 0, 32, 32, 64, 96, 128, 16, 1]);
        let own: [u32; 5] = std::array::from_fn(|n| match n {
            0 | 1 => of_blocks(&mut self.random),
            _ => coefficient(&mut self.random),
        });
        // As compilers write it each register is written once.
        let first = self.fresh(8);
        writeln!(self.text, "mov.u32 %a{first}, {};", self.random.below(64)).unwrap();
        for (n, (number, own)) in
            ["%bx", "%by", "%tx", "%ty", "%k"].into_iter().zip(own).enumerate()
        {
            let (from, to) = (first + n as u32, first + n as u32 + 1);
            writeln!(self.text, "mad.lo.u32 %a{to}, {number}, {own}, %a{from};").unwrap();
        }
        let (mut index, at) = (first + 5, format!("%d{first}"));
        if self.by_data(4) {
            let (from, to) = (self.random.below(2), first + 7);
            let last = first + 6;
            writeln!(
                self.text,
                "and.b32 %a{last}, %v{from}, 1020; add.u32 %a{to}, %a{index}, %a{last};"
            )
            .unwrap();
            index = to;
        }
        let wide = match self.random.below(2) {
            0 => format!("cvt.u64.u32 %e{first}, %a{index}; shl.b64 %f{first}, %e{first}, 2;"),
            _ => format!("mul.wide.s32 %f{first}, %a{index}, 4;"),
        };
        let buffer = self.random.below(3);
        writeln!(self.text, "{wide} add.u64 {at}, %b{buffer}, %f{first};").unwrap();
        if self.random.below(3) == 0 {
            if self.by_data(2) {
                let (from, bound) = (self.random.below(2), self.random.below(64));
                let mark = self.fresh(1);
                writeln!(
                    self.text,
                    "and.b32 %a{mark}, %v{from}, 63; setp.lt.u32 %p0, %a{mark}, {bound};"
                )
                .unwrap();
            } else {
                self.compare();
            }
            self.marks += 1;
            let label = format!("SKIP{}", self.marks);
            writeln!(self.text, "@%p0 bra {label};").unwrap();
            self.touch(&at);
            writeln!(self.text, "{label}:").unwrap();
        } else {
            self.touch(&at);
        }
    }

    fn touch(&mut self, at: &str) {
        let value = self.any();
        if self.by_data(6) {
            let first = self.fresh(2);
            let last = first + 1;
            // Where no thread stores, and none loads.
            let to = match self.random.below(3) {
                0 => format!(
                    "cvt.u64.u32 %e{first}, %a{last}; add.u64 %f{first}, %own0, %e{first}; \
                     red.global.add.u32 [%f{first}+2031616], 1;"
                ),
                1 => format!("red.shared.add.u32 [%a{last}], 1;"),
                _ => format!("@%p1 red.global.add.u32 [%own2], %a{last};"),
            };
            writeln!(self.text, "and.b32 %a{last}, %v0, 4092; {to}").unwrap();
        }
        let line = match self.random.below(5) {
            // Where no other thread loads or stores.
            0 => format!("st.global.u32 [%own2], {value};"),
            1 => "st.u32 [%own2+4], %v1;".to_owned(),
            2 => format!("ld.u32 %v0, [{at}]; add.u32 %v1, %v1, %v0;"),
            _ => format!("ld.global.u32 %v0, [{at}]; add.u32 %v1, %v1, %v0;"),
        };
        writeln!(self.text, "{line}").unwrap();
    }

    fn shared(&mut self) {
        let first = self.fresh(2);
        let (a, b) = (format!("%a{first}"), format!("%a{}", first + 1));
        let line = match self.random.below(2) {
            0 => format!(
                "shl.b32 {a}, %tx, 2; st.shared.u32 [{a}], %v1; bar.sync 0; ld.shared.u32 %v0, [{a}];"
            ),
            _ => format!(
                "shl.b32 {a}, %tx, 7; and.b32 {b}, {a}, 4092; st.shared.u32 [{b}], %v1; bar.sync 0;"
            ),
        };
        writeln!(self.text, "{line}").unwrap();
    }

    /// A loop of a few turns, as a number decides, or thread by thread.
    fn turns(&mut self) {
        self.marks += 1;
        let (label, counter) = (format!("LOOP{}", self.marks), self.marks);
        let step = self.random.of(&["1", "2", "%tx", "64"]);
        let (from, to) = (self.any(), self.random.below(300) + 1);
        let from = match self.by_data(3) {
            true => "%v0".to_owned(),
            false if self.random.below(2) == 0 => "0".to_owned(),
            false => from,
        };
        // An end that may be far off is cut.
        writeln!(self.text, "mov.u32 %k, 0; mov.u32 %l{counter}, {from};\n{label}:").unwrap();
        for _ in 0..1 + self.random.below(2) {
            self.access();
        }
        writeln!(
            self.text,
            "add.u32 %k, %k, 1; add.u32 %l{counter}, %l{counter}, {step};\n\
             setp.lt.s32 %p1, %l{counter}, {to}; setp.lt.u32 %p2, %k, 8; and.pred %p1, %p1, %p2;\n\
             @%p1 bra {label};"
        )
        .unwrap();
    }

    fn new_of(seed: u64) -> String {
        let mut kernel = Kernel {
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            text: String::new(),
            numbers: 8,
            addresses: 0,
            marks: 0,
            by_data: seed / 4 % 2 == 1,
        };
        for _ in 0..4 + kernel.random.below(10) {
            match kernel.random.below(12) {
                0..6 => kernel.compute(),
                6..9 => kernel.access(),
                9 | 10 => kernel.turns(),
                _ => kernel.shared(),
            }
        }
        kernel.access();
        format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 tile[4096];\n\
             .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o, .param .u32 n, .param .u32 m) {{\n\
             .reg .b32 %r<{}>, %a<{n}>, %v<2>, %l<{}>, %o<9>, %bx, %by, %tx, %ty, %k; .reg .b64 %d<{n}>, %e<{n}>, %f<{n}>, %b<3>, %own<3>;\n\
             .reg .pred %p<3>;\n\
             ld.param.u64 %b0, [a]; ld.param.u64 %b1, [b]; ld.param.u64 %b2, [c];\n\
             ld.param.u32 %r0, [n]; ld.param.u32 %r1, [m];\n\
             mov.u32 %bx, %ctaid.x; mov.u32 %by, %ctaid.y; mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y;\n\
             mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %bx, %r2, %tx; mad.lo.u32 %r4, %by, 8, %ty;\n\
             mov.u32 %r5, %bx; mov.u32 %r6, %tx; mov.u32 %r7, %by; mov.u32 %k, 0; mov.u32 %v0, 0; mov.u32 %v1, tile; setp.eq.u32 %p1, %k, 0;\n\
             ld.param.u64 %own0, [o]; mov.u32 %o0, %nctaid.x; mov.u32 %o1, %ctaid.z; mov.u32 %o2, %nctaid.y;\n\
             mad.lo.u32 %o3, %o1, %o2, %by; mad.lo.u32 %o4, %o3, %o0, %bx; mov.u32 %o5, %ntid.y; mul.lo.u32 %o6, %o4, %o5;\n\
             add.u32 %o7, %o6, %ty; mad.lo.u32 %o8, %o7, %r2, %tx; mul.wide.u32 %own1, %o8, 8; add.u64 %own2, %own0, %own1;\n\
             {}ret;\n}}\n",
            kernel.numbers,
            kernel.marks + 1,
            kernel.text,
            n = kernel.addresses
        )
    }
}

/// Runs a random kernel on both engines; how many blocks were not watched, and how many partly.
fn compare(seed: u64, gpus: &[&str]) -> [u64; 2] {
    let mut random = Random(seed | 1);
    let text = Kernel::new_of(seed);
    let grid =
        random.of(&[[300, 1, 1], [150, 1, 1], [33, 17, 1], [8, 40, 1], [600, 1, 1], [5, 7, 9]]);
    let block = random.of(&[[64, 1, 1], [32, 4, 1], [16, 8, 1], [256, 1, 1], [33, 2, 1]]);
    let (n, m) = (random.below(20_000), random.below(300));
    compare_text(&format!("seed {seed}"), &text, (grid, block), (n, m), gpus)
}

/// The same of any kernel of the random ones' parameters.
fn compare_text(
    name: &str,
    text: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    (n, m): (u32, u32),
    gpus: &[&str],
) -> [u64; 2] {
    let mut bench = Bench::new(gpus);
    bench.seed = None;
    let module = bench.load_text(text);
    let bytes: Vec<u8> = (0..BYTES).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
    let first = bench.buffer(&bytes);
    let second = bench.buffer(&bytes);
    // Two arguments that point into one allocation.
    let out = bench.buffer(&bytes);
    let values = [first, second, second + u64::from(BYTES) / 2 + 32, out, n.into(), m.into()];
    let before = counts();
    let [(interpreted, one), (compiled, two)] = [Engine::Interp, Engine::Jit].map(|engine| {
        bench.forget(gpus);
        bench.engine = Some(engine);
        let mut held = Vec::new();
        for at in [first, second, out] {
            // SAFETY: the buffers were made with this size.
            unsafe { (at as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        let ended = bench.try_launch(&module, "k", grid, block, &values);
        for at in [first, second, out] {
            // SAFETY: as above.
            held.extend_from_slice(unsafe {
                std::slice::from_raw_parts(at as *const u8, bytes.len())
            });
        }
        // What is counted of a launch that fails is what had run.
        ((ended, folded(bench.raw())), held)
    });
    let ((interpreted, mut own), (compiled, mut other)) = (interpreted, compiled);
    if !interpreted || !compiled {
        assert_eq!(interpreted, compiled, "{name}: one fails\n{text}");
        return [0; 2];
    }
    forget_unkept(&mut own, &mut other);
    let [interpreted, compiled] =
        [own, other].map(|profile| serde_json::to_string_pretty(&profile).unwrap());
    let lines = || interpreted.lines().zip(compiled.lines());
    let at = lines().position(|(a, b)| a != b);
    assert!(
        interpreted == compiled,
        "{name}, {grid:?} of {block:?}, {n} {m}: from line {at:?}: {:?}\n{text}",
        at.map(|at| lines().skip(at.saturating_sub(3)).take(8).collect::<Vec<_>>()),
    );
    assert!(one == two, "{name}: results differ\n{text}");
    let now = counts();
    [now.unwatched - before.unwatched, now.partly_watched - before.partly_watched]
}

/// Blocks that differ by more than their numbers: data choose what is added to an address, or whether a lane is counted.
const DATA: &str = ".version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o, .param .u32 n, .param .u32 m) {
.reg .b32 %r<16>; .reg .b64 %d<10>; .reg .pred %p<3>;
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [o];
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 64, %r1;
mul.wide.u32 %d3, %r2, 4; add.u64 %d4, %d0, %d3; ld.global.u32 %r3, [%d4];
and.b32 %r4, %r3, 4; setp.ne.u32 %p0, %r4, 0; mov.u32 %r5, 0;
WRITE
and.b32 %r6, %r5, 1024; mul.wide.u32 %d5, %r6, 4; add.u64 %d6, %d1, %d5; add.u64 %d7, %d6, %d3;
ld.global.u32 %r7, [%d7];
add.u64 %d8, %d2, %d3; st.global.u32 [%d8], %r7;
ret;
}
";

#[test]
fn what_data_write_is_no_number() {
    if nothing_compiles() {
        return;
    }
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    rehearse_always();
    let shape = ([300, 1, 1], [64, 1, 1]);
    for (write, alike) in [
        ("@%p0 activemask.b32 %r5;", false),
        ("@%p0 mov.u32 %r5, %laneid;", false),
        ("@%p0 mov.u32 %r5, 1024;", false),
        ("selp.b32 %r5, 1024, 0, %p0;", false),
        ("vote.sync.ballot.b32 %r5, %p0, 0xffffffff;", false),
        // The same kernel where it is one.
        ("activemask.b32 %r5;", true),
        ("mov.u32 %r5, %laneid;", true),
    ] {
        let text = DATA.replace("WRITE", write);
        let [unwatched, partly] = compare_text(write, &text, shape, (1, 1), &["h200"]);
        assert_eq!(unwatched > 0, alike, "{write}: {unwatched} blocks were not watched");
        assert_eq!(partly > 0, !alike, "{write}: {partly} blocks were partly watched");
    }
}

/// Each block leaves its code at a load whose place data decide; what comes then is interpreted, and told by another but for that.
/// Of blocks that are watched wholly a handler tells of the load under a guard.
const LEAVES: &str = ".version 8.3
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o, .param .u32 n, .param .u32 m) {
.reg .b32 %r<8>; .reg .b64 %d<13>; .reg .pred %p<2>; .shared .align 4 .b8 own[256];
ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [o];
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 64, %r1; mul.wide.u32 %d3, %r2, 4;
mul.wide.u32 %d11, %r1, 4; mov.u64 %d6, own; add.u64 %d12, %d6, %d11; st.shared.u32 [%d12], %r1; bar.sync 0;
add.u64 %d4, %d0, %d3; ld.global.u32 %r3, [%d4];
and.b32 %r4, %r3, 252; cvt.u64.u32 %d5, %r4; cvta.shared.u64 %d7, %d6; add.u64 %d8, %d7, %d5; ld.u32 %r5, [%d8];
setp.lt.u32 %p0, %r1, 40; add.u64 %d9, %d1, %d3; mov.u32 %r6, 0;
@%p0 ld.global.u32 %r6, [%d9];
add.u32 %r7, %r5, %r6; add.u64 %d10, %d2, %d3; st.global.u32 [%d10], %r7;
ret;
}
";

#[test]
fn blocks_after_one_that_left_its_code_are_told() {
    if nothing_compiles() {
        return;
    }
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    rehearse_always();
    let shape = ([600, 1, 1], [64, 1, 1]);
    let [_, partly] = compare_text("leaves", LEAVES, shape, (1, 1), &["h200"]);
    assert!(partly > 0);
}

#[test]
fn blocks_that_are_told_by_others_leave_the_same_profile() {
    if nothing_compiles() {
        return;
    }
    let _turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    rehearse_always();
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(seed) = number("MARGAY_FUZZ_ONLY") {
        println!("{:?} blocks were not watched, or partly", compare(seed, &["h200"]));
        return;
    }
    let end = Instant::now() + Duration::from_secs(number("MARGAY_FUZZ_SECONDS").unwrap_or(5));
    let first = number("MARGAY_FUZZ_SEED").unwrap_or(1) * 1_000_000;
    let (mut kernels, mut told, mut blocks) = (0, [0; 2], [0; 2]);
    while kernels < 40 || Instant::now() < end {
        let gpus: &[&str] = match kernels % 4 {
            2 => &["h200", "8800gtx"],
            3 => &["h200", "gtx680"],
            _ => &["h200"],
        };
        let own = compare(first + kernels, gpus);
        kernels += 1;
        for (n, own) in own.into_iter().enumerate() {
            blocks[n] += own;
            told[n] += u64::from(own > 0);
        }
    }
    println!("{kernels} kernels, {told:?} of them with {blocks:?} blocks not watched, or partly");
    for told in told {
        assert!(told * 12 > kernels, "{told} of {kernels} kernels have blocks that are alike");
    }
}
