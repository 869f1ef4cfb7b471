// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kernels whose result does not depend on any schedule: threads share memory only through
//! barriers, or through sums that any order gives alike; loops are bounded; where lanes exchange
//! values, all that the mask names are there.

use super::kernel::{Kernel, Stmt};
use super::palette::{Class, Operand, Palette};
use super::random::Random;

/// Words of the read-only buffer.
pub const INPUT_WORDS: u32 = 4096;
/// Bytes of the output that each thread has for itself.
pub const SLOT: u32 = 512;
/// Bytes of `SLOT` that hold registers at the end.
pub const REGISTERS_AT: u32 = 256;
/// Bytes of shared memory: each thread's own, then a part in which anyone may read between
/// barriers, then sums.
pub const SHARED_OWN: u32 = 16;

/// Where a statement stands.
#[derive(Clone)]
pub struct Place {
    /// All threads of the block are here together: barriers are allowed.
    pub block: bool,
    /// The lanes that are here, if they are known.
    pub mask: Option<String>,
    pub depth: u32,
    /// Inside a loop, and in one which some lanes may leave earlier.
    pub looped: bool,
    pub may_leave: bool,
    /// In a device function.
    pub function: bool,
}

pub struct Gen<'a> {
    pub random: Random,
    palette: &'a mut Palette,
    /// Registers in sight, by class: p, h, r, d.
    sight: [Vec<String>; 4],
    /// Registers that all threads of the block have alike.
    pub uniform: Vec<String>,
    next: [usize; 4],
    counters: usize,
    pub kernel: Kernel,
    /// Statements that may still be made.
    budget: i32,
    /// Lane-wise ops come in long stretches.
    long: bool,
    /// 64-bit values are cut to 32, as compilers of OpenCL do.
    pub narrows: bool,
    /// Some thread may have ended, or was never there.
    pub gaps: bool,
    fault: bool,
}

fn index(class: Class) -> usize {
    match class {
        'p' => 0,
        'h' => 1,
        'r' => 2,
        _ => 3,
    }
}

const BLOCKS: &[[u32; 3]] = &[
    [32, 1, 1],
    [64, 1, 1],
    [96, 1, 1],
    [33, 1, 1],
    [7, 1, 1],
    [50, 1, 1],
    [16, 4, 1],
    [8, 8, 1],
    [8, 2, 4],
    [32, 3, 1],
    [64, 2, 1],
    [20, 3, 1],
    [4, 4, 4],
    [2, 32, 1],
    [1, 40, 1],
    [12, 2, 2],
    [16, 2, 3],
    [128, 1, 1],
];
/// Where each kernel has numbers of its thread and block.
const INDICES: [&str; 7] = ["%r0", "%r1", "%r2", "%r3", "%r4", "%r5", "%r6"];
const GRIDS: &[[u32; 3]] = &[[1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1], [1, 3, 1]];

/// Makes the kernel of a seed.
pub fn kernel(seed: u64, palette: &mut Palette) -> Kernel {
    let mut random = Random::new(seed);
    let (block, grid) = (*random.pick(BLOCKS), *random.pick(GRIDS));
    let sm = if random.chance(15) { 60 } else { 90 };
    let threads: u32 = block.iter().product();
    let all = threads * grid.iter().product::<u32>();
    let words = |random: &mut Random, n: u32| -> Vec<u32> {
        (0..n.div_ceil(2))
            .flat_map(|_| {
                let v = random.pattern();
                [v as u32, (v >> 32) as u32]
            })
            .collect()
    };
    let input = words(&mut random, INPUT_WORDS);
    let constants = words(&mut random, 64);
    let wide = random.pattern();
    let number = if random.chance(50) { random.below(64) as u32 } else { random.bits() as u32 };
    let kernel = Kernel {
        seed,
        grid,
        block,
        sm,
        functions: Vec::new(),
        prologue: Vec::new(),
        body: Vec::new(),
        epilogue: Vec::new(),
        shared_bytes: threads * SHARED_OWN * 2 + 512,
        local_bytes: 128,
        constants,
        input,
        out_bytes: all * SLOT,
        sums_bytes: 512,
        number,
        wide,
    };
    let mut g = Gen {
        random,
        palette,
        sight: Default::default(),
        uniform: Vec::new(),
        next: [0; 4],
        counters: 0,
        kernel,
        budget: 0,
        long: seed % 8 == 5,
        // The seeds in `differential.rs` are none of these.
        narrows: seed % 4 >= 2,
        gaps: !threads.is_multiple_of(32),
        fault: false,
    };
    for _ in 0..g.random.below(5).saturating_sub(2) {
        let f = g.function();
        g.kernel.functions.push(f);
    }
    g.prologue();
    // Compiling takes most of the time, so most kernels are small.
    let most = if g.random.chance(75) { 12 } else { 45 };
    g.budget = 3 + g.random.below(most) as i32;
    let place = Place {
        block: true,
        mask: Some("0xffffffff".to_owned()),
        depth: 0,
        looped: false,
        may_leave: false,
        function: false,
    };
    let mut body = Vec::new();
    // Some of a block's threads end early, in every third kernel, and often before any store.
    let ends_at = match g.random.below(6) {
        0 => g.budget,
        1 => g.random.below(g.budget as usize) as i32 + 1,
        _ => 0,
    };
    let mut ended = false;
    while g.budget > 0 {
        if !ended && g.budget <= ends_at {
            ended = true;
            let s = g.leaving(&place);
            body.extend(s);
        }
        let s = g.stmt(&place);
        body.extend(s);
    }
    g.kernel.body = body;
    g.epilogue();
    g.kernel
}

impl Gen<'_> {
    /// A register that nothing names yet, and that later statements do not see.
    pub fn scratch(&mut self, class: Class) -> String {
        let n = &mut self.next[index(class)];
        *n += 1;
        format!("%{class}{}", *n - 1)
    }

    /// A register that later statements see.
    pub fn show(&mut self, class: Class, name: String) {
        self.sight[index(class)].push(name);
    }

    /// A register for a result: nearly always a new one, as compilers have it.
    pub fn result(&mut self, class: Class) -> String {
        let i = index(class);
        if self.random.chance(20) && !self.sight[i].is_empty() {
            let old = self.random.pick(&self.sight[i]).clone();
            // The indices at the beginning are to stay what they are.
            let index = class == 'r' && old[2..].parse::<u32>().is_ok_and(|n| n < 7);
            if !index && !self.uniform.contains(&old) && !old.starts_with("%c") {
                return old;
            }
        }
        let new = self.scratch(class);
        self.show(class, new.clone());
        new
    }

    /// A register to read, of those written last more often.
    pub fn register(&mut self, class: Class) -> String {
        let of = &self.sight[index(class)];
        if of.is_empty() {
            return self.scratch(class);
        }
        let n = if self.random.chance(50) {
            let recent = of.len().min(6);
            of.len() - 1 - self.random.below(recent)
        } else {
            self.random.below(of.len())
        };
        of[n].clone()
    }

    /// A register or a constant.
    pub fn operand(&mut self, class: Class) -> String {
        if class != 'p' && self.random.chance(20) {
            let v = self.random.pattern();
            return match class {
                'h' => format!("{:#x}", v & 0xffff),
                'r' => format!("{:#x}", v & 0xffff_ffff),
                _ => format!("{v:#x}"),
            };
        }
        self.register(class)
    }

    /// A register, or a constant as the types of the instruction want it written.
    fn typed_operand(&mut self, class: Class, opcode: &str) -> String {
        let is_float = |w: &str| w.starts_with('f') || w.starts_with("bf") || w.starts_with("tf");
        let types: Vec<&str> = opcode
            .split('.')
            .skip(1)
            .filter(|w| w.ends_with(|c: char| c.is_ascii_digit()) && !w.starts_with("sh"))
            .collect();
        if types.iter().all(|w| !is_float(w)) {
            return self.operand(class);
        }
        let v = self.random.pattern();
        match types.as_slice() {
            ["f32"] if class == 'r' && self.random.chance(20) => format!("0f{:08X}", v as u32),
            ["f64"] if class == 'd' && self.random.chance(20) => format!("0d{v:016X}"),
            _ => self.register(class),
        }
    }

    /// `%p1` or `!%p1`.
    pub fn condition(&mut self) -> String {
        let p = self.register('p');
        if self.random.chance(50) { format!("!{p}") } else { p }
    }

    /// Guards an instruction now and then.
    pub fn guarded(&mut self, line: String) -> String {
        if self.random.chance(15) {
            let c = self.condition();
            return format!("@{c} {line}");
        }
        line
    }

    /// A lane-wise instruction.
    pub fn lane_wise(&mut self) -> Stmt {
        let template = self.palette.template(&mut self.random);
        // What is read first, so that nothing reads its own result as if it had been there.
        let sources: Vec<String> = template
            .operands
            .iter()
            .map(|o| match o {
                Operand::Use(c) => self.typed_operand(*c, &template.opcode),
                Operand::UsePart(minus, part) => {
                    let r = self.register('r');
                    format!("{}{r}{part}", if *minus { "-" } else { "" })
                }
                Operand::UsePredicate(not) => {
                    let p = self.register('p');
                    if *not { format!("!{p}") } else { p }
                }
                Operand::Constant(most) => self.random.below(*most as usize).to_string(),
                Operand::Def(_) | Operand::DefPair(_) | Operand::DefPart(_) => String::new(),
            })
            .collect();
        let mut texts = Vec::new();
        for (o, source) in template.operands.iter().zip(sources) {
            texts.push(match o {
                Operand::Def(c) => self.result(*c),
                Operand::DefPair(c) => {
                    let a = self.result(*c);
                    let mut b = self.result('p');
                    if a == b {
                        b = self.scratch('p');
                    }
                    format!("{a}|{b}")
                }
                Operand::DefPart(part) => format!("{}{part}", self.result('r')),
                Operand::Use(_)
                | Operand::UsePart(..)
                | Operand::UsePredicate(_)
                | Operand::Constant(_) => source,
            });
        }
        let mut lines = Vec::new();
        let words: Vec<&str> = template.opcode.split('.').collect();
        if matches!(words[0], "fma" | "mad") && words.contains(&"f64") {
            // Which of two NaNs wins there is where the engines differ, and a program hardly sees it.
            let (p, number) = (self.scratch('p'), self.scratch('d'));
            lines.push(format!("testp.notanumber.f64 {p}, {};", texts[3]));
            lines.push(format!("selp.b64 {number}, 0, {}, {p};", texts[3]));
            texts[3] = number;
        }
        let line = format!("{} {};", template.opcode, texts.join(", "));
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    /// What address arithmetic is made of: sums and products of indices that the code generator
    /// follows, rather than any numbers.
    fn index_arithmetic(&mut self) -> Stmt {
        if self.narrows && self.random.chance(15) {
            return self.cut_index();
        }
        let base = if self.random.chance(60) {
            (*self.random.pick(&INDICES)).to_owned()
        } else {
            self.register('r')
        };
        let n = *self.random.pick(&[
            1,
            2,
            3,
            4,
            5,
            8,
            12,
            16,
            31,
            32,
            33,
            64,
            0xffff_ffff_u32,
            0xffff_fffc,
        ]);
        let other = if self.random.chance(50) {
            n.to_string()
        } else if self.random.chance(50) {
            self.random.pick(&self.uniform).clone()
        } else {
            self.register('r')
        };
        let small = self.random.below(34);
        let all_ones = (1u64 << self.random.below(33)) - 1;
        let bits = match self.random.below(3) {
            0 => all_ones,
            1 => !all_ones & 0xffff_ffff,
            _ => self.random.pattern() & 0xffff_ffff,
        };
        let long = self.register('d');
        let line = match self.random.below(22) {
            0 => format!("add.s32 {}, {base}, {other};", self.result('r')),
            1 => format!("sub.s32 {}, {base}, {other};", self.result('r')),
            2 => format!("sub.s32 {}, {other}, {base};", self.result('r')),
            3 => format!("mul.lo.s32 {}, {base}, {other};", self.result('r')),
            4 => {
                let c = self.register('r');
                format!("mad.lo.s32 {}, {base}, {other}, {c};", self.result('r'))
            }
            5 => format!("shl.b32 {}, {base}, {small};", self.result('r')),
            6 => format!("shr.u32 {}, {base}, {small};", self.result('r')),
            7 => format!("shr.s32 {}, {base}, {small};", self.result('r')),
            8 => format!("and.b32 {}, {base}, {bits:#x};", self.result('r')),
            9 => format!("or.b32 {}, {base}, {bits:#x};", self.result('r')),
            10 => format!("xor.b32 {}, {base}, {bits:#x};", self.result('r')),
            11 => format!("mul.wide.s32 {}, {base}, {other};", self.result('d')),
            12 => format!("mul.wide.u32 {}, {base}, {other};", self.result('d')),
            13 => format!("mad.wide.s32 {}, {base}, {other}, {long};", self.result('d')),
            14 => format!("cvt.s64.s32 {}, {base};", self.result('d')),
            15 => format!("cvt.u64.u32 {}, {base};", self.result('d')),
            16 => format!("shl.b64 {}, {long}, {small};", self.result('d')),
            17 => {
                let more = self.register('d');
                let op =
                    *self.random.pick(&["add.s64", "sub.s64", "mul.lo.s64", "and.b64", "or.b64"]);
                format!("{op} {}, {long}, {more};", self.result('d'))
            }
            18 => format!("cvt.u32.u64 {}, {long};", self.result('r')),
            19 => {
                let (op, sign) =
                    (*self.random.pick(&["div", "rem"]), *self.random.pick(&["s32", "u32"]));
                format!("{op}.{sign} {}, {base}, {other};", self.result('r'))
            }
            20 => {
                let op = *self.random.pick(&["shr.s64", "shr.u64"]);
                format!("{op} {}, {long}, {};", self.result('d'), self.random.below(66))
            }
            _ => format!("neg.s32 {}, {base};", self.result('r')),
        };
        Stmt::Lines(vec![self.guarded(line)])
    }

    /// Lines that keep 32 bits of a 64-bit number, signed and not.
    pub fn cut(&mut self, long: &str, scale: u64, signed: bool) -> (Vec<String>, String) {
        let (a, b) = (self.scratch('d'), self.scratch('d'));
        let lines = match signed {
            true => {
                vec![
                    format!("shl.b64 {a}, {long}, 32;"),
                    format!("shr.s64 {b}, {a}, {};", 32 - scale),
                ]
            }
            false => vec![
                format!("and.b64 {a}, {long}, 0xffffffff;"),
                format!("shl.b64 {b}, {a}, {scale};"),
            ],
        };
        (lines, b)
    }

    /// A thread's number in 64 bits with a multiple of another one, near where 32 bits wrap or not, and what 32 bits keep.
    fn cut_index(&mut self) -> Stmt {
        let (base, other) = (*self.random.pick(&INDICES), *self.random.pick(&INDICES));
        let step = *self.random.pick(&[0, 1, 1, 2, 7, 64, 1 << 21]);
        let from = *self.random.pick(&[
            0,
            0,
            100,
            -1,
            -20,
            0x7fff_fff8,
            0xffff_fff0,
            0x5_0000_0000,
            i64::MAX - 9,
        ]);
        let (a, b, c) = (self.scratch('d'), self.scratch('d'), self.scratch('d'));
        let mut lines = vec![
            format!("cvt.u64.u32 {a}, {base};"),
            format!("mul.wide.u32 {b}, {other}, {step};"),
            format!("add.s64 {c}, {a}, {b};"),
            format!("add.s64 {c}, {c}, {from};"),
        ];
        let (scale, signed) = (self.random.below(4) as u64, self.random.chance(50));
        let (cut, result) = self.cut(&c, scale, signed);
        lines.extend(cut);
        self.show('d', result);
        Stmt::Lines(lines)
    }

    /// A number that every thread of the block has alike.
    fn uniform_value(&mut self) -> Stmt {
        let (a, b) =
            (self.random.pick(&self.uniform).clone(), self.random.pick(&self.uniform).clone());
        let k = self.random.below(40);
        let new = self.scratch('r');
        let line = match self.random.below(5) {
            0 => format!("add.s32 {new}, {a}, {b};"),
            1 => format!("mul.lo.s32 {new}, {a}, {b};"),
            2 => format!("add.s32 {new}, {a}, {k};"),
            3 => format!("xor.b32 {new}, {a}, {k};"),
            _ => format!("shr.u32 {new}, {a}, {};", k % 32),
        };
        self.show('r', new.clone());
        self.uniform.push(new);
        Stmt::Lines(vec![line])
    }

    /// A predicate: compared indices more often than compared numbers.
    pub fn comparison(&mut self, uniform: bool) -> (Stmt, String) {
        let p = self.scratch('p');
        let cmp = *self.random.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
        let ty = *self.random.pick(&["u32", "s32"]);
        let a = if uniform {
            self.random.pick(&self.uniform).clone()
        } else if self.random.chance(50) {
            (*self.random.pick(&["%r0", "%r1", "%r2", "%r3"])).to_owned()
        } else {
            self.register('r')
        };
        let b = if self.random.chance(60) {
            self.random.below(40).to_string()
        } else if uniform {
            self.random.pick(&self.uniform).clone()
        } else {
            self.register('r')
        };
        let line = format!("setp.{cmp}.{ty} {p}, {a}, {b};");
        if !uniform {
            self.show('p', p.clone());
        }
        (Stmt::Lines(vec![line]), p)
    }

    /// Packing and unpacking.
    fn moves(&mut self) -> Stmt {
        let line = match self.random.below(7) {
            0 => {
                let (a, b) = (self.operand('r'), self.operand('r'));
                format!("mov.b64 {}, {{{a}, {b}}};", self.result('d'))
            }
            1 => {
                let d = self.register('d');
                let (a, b) = (self.scratch('r'), self.scratch('r'));
                self.show('r', a.clone());
                self.show('r', b.clone());
                format!("mov.b64 {{{a}, {b}}}, {d};")
            }
            2 => {
                let (a, b) = (self.register('h'), self.register('h'));
                format!("mov.b32 {}, {{{a}, {b}}};", self.result('r'))
            }
            3 => {
                let r = self.register('r');
                let (a, b) = (self.scratch('h'), self.scratch('h'));
                self.show('h', a.clone());
                self.show('h', b.clone());
                format!("mov.b32 {{{a}, {b}}}, {r};")
            }
            4 => {
                let p = self.register('p');
                format!("mov.pred {}, {p};", self.result('p'))
            }
            5 => {
                let s = *self.random.pick(&[
                    "%laneid",
                    "%tid.x",
                    "%tid.y",
                    "%ntid.x",
                    "%ctaid.x",
                    "%nctaid.x",
                    "%warpid",
                    "%lanemask_lt",
                    "%lanemask_ge",
                    "%lanemask_eq",
                    "%nwarpid",
                    "%tid.z",
                    "%ntid.y",
                ]);
                format!("mov.u32 {}, {s};", self.result('r'))
            }
            _ => {
                let a = self.operand('r');
                format!("mov.b32 {}, {a};", self.result('r'))
            }
        };
        Stmt::Lines(vec![self.guarded(line)])
    }

    /// Ops that work lane by lane, so many that they are compiled as strips.
    fn stretch(&mut self) -> Vec<Stmt> {
        (0..8 + self.random.below(40))
            .map(|_| match self.random.below(16) {
                0 => self.comparison(false).0,
                1 => self.moves(),
                2 => self.index_arithmetic(),
                _ => self.lane_wise(),
            })
            .collect()
    }

    /// A statement, perhaps of many.
    fn stmt(&mut self, place: &Place) -> Vec<Stmt> {
        self.budget -= 1;
        let deep = place.depth >= 3;
        match self.random.below(100) {
            0..=33 if self.long => self.stretch(),
            0..=33 => vec![self.lane_wise()],
            34..=49 => vec![self.index_arithmetic()],
            50..=52 => vec![self.uniform_value()],
            53..=56 => vec![self.moves()],
            57..=60 => vec![self.comparison(false).0],
            61..=75 if !place.function => self.memory(place),
            76..=80 if !place.function => self.lanes(place),
            81..=83 if !place.function && !self.kernel.functions.is_empty() => vec![self.call()],
            84..=89 if !deep => self.branch(place),
            90..=95 if !deep => self.repeat(place),
            96 if !deep => self.switch(place),
            97 if place.may_leave => {
                let c = self.condition();
                let to = *self.random.pick(&["{break}", "{continue}"]);
                vec![Stmt::Lines(vec![format!("@{c} bra {to};")])]
            }
            98 if place.block && self.may_end(place) => self.leaving(place),
            98 if !place.function && !place.block && self.may_end(place) && place.depth > 0 => {
                self.gaps = true;
                let c = self.condition();
                let how = *self.random.pick(&["ret", "exit"]);
                vec![Stmt::Lines(vec![format!("@{c} {how};")])]
            }
            99 if !self.fault && !place.function && self.random.chance(30) => {
                self.fault = true;
                self.faulting()
            }
            _ => vec![self.lane_wise()],
        }
    }

    /// Threads may end here. In a loop only if nothing in it counts on them in a later pass.
    fn may_end(&self, place: &Place) -> bool {
        !place.function && (!place.looped || self.gaps)
    }

    fn some(&mut self, place: &Place, most: usize) -> Vec<Stmt> {
        let before: Vec<usize> = self.sight.iter().map(Vec::len).collect();
        let uniform = self.uniform.len();
        let mut stmts = Vec::new();
        for _ in 0..=self.random.below(most) {
            if self.budget > -20 {
                stmts.extend(self.stmt(place));
            }
        }
        // What was written in here is seldom read outside, and then may be what was there before.
        if self.random.chance(70) {
            for (sight, n) in self.sight.iter_mut().zip(before) {
                sight.truncate(n.max(1));
            }
        }
        // Not all threads went this way.
        self.uniform.truncate(uniform);
        stmts
    }

    fn branch(&mut self, place: &Place) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let uniform = self.random.chance(30);
        let (compare, mut pred) = self.comparison(uniform);
        if uniform || self.random.chance(60) {
            stmts.push(compare);
        } else {
            pred = self.register('p');
        }
        if self.random.chance(30) {
            pred = format!("!{pred}");
        }
        let mut inner = Place { depth: place.depth + 1, ..place.clone() };
        let mut other = inner.clone();
        if !uniform {
            inner.block = false;
            (other.block, other.mask) = (false, None);
            // The lanes that go in, told before they part.
            inner.mask = match &place.mask {
                Some(mask) if self.random.chance(50) => {
                    let (m, rest) = (self.scratch('r'), self.scratch('r'));
                    stmts.push(Stmt::Lines(vec![
                        format!("vote.sync.ballot.b32 {m}, {pred}, {mask};"),
                        format!("xor.b32 {rest}, {m}, {mask};"),
                    ]));
                    other.mask = Some(rest);
                    Some(m)
                }
                _ => None,
            };
        }
        let then = self.some(&inner, 6);
        let els = if self.random.chance(50) { self.some(&other, 5) } else { Vec::new() };
        stmts.push(Stmt::If { pred, then, els });
        stmts
    }

    fn repeat(&mut self, place: &Place) -> Vec<Stmt> {
        let counter = format!("%c{}", self.counters);
        self.counters += 1;
        let uniform = self.random.chance(45);
        let from = if uniform {
            self.random.pick(&self.uniform).clone()
        } else if self.random.chance(50) {
            (*self.random.pick(&["%r0", "%r1", "%r3"])).to_owned()
        } else {
            self.register('r')
        };
        let most = *self.random.pick(&[1, 3, 3, 7, 7, 15]);
        let init = vec![format!("and.b32 {counter}, {from}, {most};")];
        let may_leave = self.random.chance(35);
        let side_entry = (!uniform && self.random.chance(15)).then(|| self.condition());
        let together = uniform && !may_leave;
        let inner = Place {
            block: place.block && together,
            mask: place.mask.clone().filter(|_| together),
            depth: place.depth + 1,
            looped: true,
            may_leave,
            function: place.function,
        };
        let test_first = self.random.chance(60);
        // Its value in each pass may be read, and in the last one.
        self.show('r', counter.clone());
        // Known before the body is made, which is then right for any that are left.
        let ends = inner.block && !place.looped && self.random.chance(20);
        self.gaps |= ends;
        let mut body = self.some(&inner, 7);
        if ends {
            body.extend(self.leaving(&inner));
        }
        self.sight[2].retain(|r| *r != counter);
        vec![Stmt::Loop { init, counter, test_first, side_entry, body }]
    }

    fn switch(&mut self, place: &Place) -> Vec<Stmt> {
        let n = 2 + self.random.below(3);
        let index = self.scratch('r');
        let uniform = self.random.chance(30);
        let from =
            if uniform { self.random.pick(&self.uniform).clone() } else { self.register('r') };
        let choose = Stmt::Lines(vec![format!("rem.u32 {index}, {from}, {n};")]);
        let mut inner = Place { depth: place.depth + 1, ..place.clone() };
        if !uniform {
            (inner.block, inner.mask) = (false, None);
        }
        let arms = (0..n).map(|_| self.some(&inner, 4)).collect();
        vec![choose, Stmt::Switch { index, arms }]
    }

    fn call(&mut self) -> Stmt {
        let n = self.random.below(self.kernel.functions.len());
        let (a, b) = (self.operand('r'), self.operand('d'));
        let r = self.result('r');
        let mut lines = vec!["{".to_owned()];
        lines.push(".param .b32 x; .param .b64 y; .param .b32 z;".to_owned());
        lines.push(format!("st.param.b32 [x], {a};"));
        lines.push(format!("st.param.b64 [y], {b};"));
        let guard =
            if self.random.chance(15) { format!("@{} ", self.condition()) } else { String::new() };
        match self.random.chance(40) {
            true => {
                let (handle, other) = (self.scratch('d'), self.scratch('d'));
                let (m, p) = (self.random.below(self.kernel.functions.len()), self.register('p'));
                lines.push(format!("mov.u64 {handle}, f{n};"));
                lines.push(format!("mov.u64 {other}, f{m};"));
                lines.push(format!("selp.b64 {handle}, {handle}, {other}, {p};"));
                let form = format!("FORM{}", &handle[2..]);
                lines.push(format!(
                    "{form}: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);"
                ));
                lines.push(format!("{guard}call (z), {handle}, (x, y), {form};"));
            }
            false => lines.push(format!("{guard}call (z), f{n}, (x, y);")),
        }
        lines.push(format!("ld.param.b32 {r}, [z];"));
        lines.push("}".to_owned());
        Stmt::Lines(lines)
    }

    /// The body of a device function.
    fn function(&mut self) -> Vec<Stmt> {
        let place = Place {
            block: false,
            mask: None,
            depth: 1,
            looped: false,
            may_leave: false,
            function: true,
        };
        self.next = [1; 4];
        self.sight =
            [vec!["%p0".into()], vec!["%h0".into()], vec!["%r0".into()], vec!["%d0".into()]];
        self.uniform = vec!["%r0".to_owned()];
        self.budget = 10;
        let rounds = self.scratch('d');
        let mut body = vec![Stmt::Lines(vec![format!("and.b64 {rounds}, %d0, 7;")])];
        while self.budget > 0 {
            let s = self.stmt(&place);
            body.extend(s);
        }
        let last = self.register('r');
        body.push(Stmt::Lines(vec![format!("xor.b32 %r0, %r0, {last};")]));
        if self.random.chance(40) {
            body.extend(self.again(&rounds));
        }
        self.sight = Default::default();
        (self.next, self.counters) = ([0; 4], 0);
        self.uniform.clear();
        body
    }

    /// A function calls itself as long as there are rounds left.
    fn again(&mut self, rounds: &str) -> Vec<Stmt> {
        let n = self.kernel.functions.len();
        let (p, more) = (self.scratch('p'), self.scratch('r'));
        let call = [
            "{",
            ".param .b32 x; .param .b64 y; .param .b32 z;",
            "st.param.b32 [x], %r0;",
            &format!("sub.s64 {rounds}, {rounds}, 1;"),
            &format!("st.param.b64 [y], {rounds};"),
            &format!("call (z), f{n}, (x, y);"),
            &format!("ld.param.b32 {more}, [z];"),
            "}",
            &format!("mad.lo.u32 %r0, %r0, 3, {more};"),
        ];
        let then = vec![Stmt::Lines(call.map(str::to_owned).to_vec())];
        let ask = Stmt::Lines(vec![format!("setp.ne.u64 {p}, {rounds}, 0;")]);
        vec![ask, Stmt::If { pred: p, then, els: Vec::new() }]
    }

    /// What every kernel begins with: its indices, its addresses, some numbers.
    fn prologue(&mut self) {
        let threads = self.kernel.threads();
        let mut lines: Vec<String> = [
            "mov.u32 %r0, %tid.x;",
            "mov.u32 %r1, %laneid;",
            "mov.u32 %r7, %tid.y;",
            "mov.u32 %r8, %tid.z;",
            "mov.u32 %r9, %ntid.x;",
            "mov.u32 %r10, %ntid.y;",
            "mad.lo.u32 %r8, %r8, %r10, %r7;",
            "mad.lo.u32 %r2, %r8, %r9, %r0;",
            "mov.u32 %r4, %ctaid.x;",
            "mov.u32 %r7, %ctaid.y;",
            "mov.u32 %r8, %nctaid.x;",
            "mad.lo.u32 %r5, %r7, %r8, %r4;",
        ]
        .map(str::to_owned)
        .to_vec();
        // r0 tid.x, r1 laneid, r2 thread in the block, r3 thread in the grid, r4 ctaid.x, r5 block.
        lines.push(format!("mad.lo.u32 %r3, %r5, {threads}, %r2;"));
        lines.extend(
            [
                "ld.param.u32 %r6, [number];",
                "ld.param.u64 %d0, [inp];",
                "cvta.to.global.u64 %d0, %d0;",
                "ld.param.u64 %d1, [out];",
                "cvta.to.global.u64 %d1, %d1;",
                "ld.param.u64 %d2, [sums];",
                "cvta.to.global.u64 %d2, %d2;",
                "mad.wide.u32 %d3, %r3, 512, %d1;",
                "mov.u64 %d4, block;",
                "mad.wide.u32 %d5, %r2, 16, %d4;",
                "mov.u64 %d6, own;",
                "ld.param.u64 %d7, [wide];",
            ]
            .map(str::to_owned),
        );
        self.next = [1, 1, 11, 8];
        for r in ["%r0", "%r1", "%r2", "%r3", "%r4", "%r5", "%r6"] {
            self.show('r', r.to_owned());
        }
        self.uniform = vec!["%r4".into(), "%r5".into(), "%r6".into()];
        self.show('d', "%d7".to_owned());
        // p0 marks the threads that fault, if any does.
        let block = self.random.below(self.kernel.grid.iter().product::<u32>() as usize);
        let victim = block as u32 * threads + self.random.below(threads as usize) as u32;
        if self.random.chance(50) {
            lines.push(format!("setp.eq.u32 %p0, %r3, {victim};"));
        } else {
            let thread = victim % threads;
            lines.push("shr.u32 %r7, %r2, 5;".to_owned());
            lines.push(format!("setp.eq.u32 %p0, %r7, {};", thread / 32));
            lines.push(format!("setp.eq.and.u32 %p0, %r5, {block}, %p0;"));
            lines.push(format!("setp.ge.and.u32 %p0, %r2, {thread}, %p0;"));
        }
        // Values to begin with.
        for (n, (class, load)) in [
            ('r', "ld.global.b32"),
            ('r', "ld.global.b32"),
            ('d', "ld.global.b64"),
            ('d', "ld.global.b64"),
            ('h', "ld.global.b16"),
            ('h', "ld.global.b16"),
        ]
        .into_iter()
        .enumerate()
        {
            let (x, at) = (self.scratch(class), self.scratch('d'));
            lines.push(format!("mad.wide.u32 {at}, %r3, 8, %d0;"));
            lines.push(format!("{load} {x}, [{at}+{}];", n * 64));
            self.show(class, x);
        }
        let p = self.scratch('p');
        let r = self.register('r');
        lines.push(format!("setp.lt.s32 {p}, {r}, 0;"));
        self.show('p', p);
        self.kernel.prologue = lines;
    }

    /// Stores what is in sight.
    fn epilogue(&mut self) {
        let mut at = REGISTERS_AT;
        // Sums in shared memory, which are whole behind a barrier.
        let (word, place) = (self.scratch('r'), self.scratch('d'));
        let mut stmts = vec![Stmt::Lines(vec![
            "bar.sync 0;".to_owned(),
            format!("and.b32 {word}, %r2, 127;"),
            format!("mad.wide.u32 {place}, {word}, 4, %d4;"),
            format!("ld.shared.b32 {word}, [{place}+{}];", self.kernel.threads() * SHARED_OWN * 2),
            format!("st.global.b32 [%d3+{}], {word};", REGISTERS_AT - 8),
        ])];
        for (class, size, ty) in
            [('d', 8, "b64"), ('r', 4, "b32"), ('p', 4, "u32"), ('h', 2, "b16")]
        {
            let mut names: Vec<String> = self.sight[index(class)].clone();
            names.dedup();
            let from = names.len().saturating_sub(if class == 'r' { 24 } else { 10 });
            for name in names.split_off(from) {
                if at + size > SLOT {
                    break;
                }
                let mut lines = Vec::new();
                let mut stored = name.clone();
                if class == 'p' {
                    stored = self.scratch('r');
                    lines.push(format!("selp.u32 {stored}, 1, 0, {name};"));
                }
                lines.push(format!("st.global.{ty} [%d3+{at}], {stored};"));
                stmts.push(Stmt::Lines(lines));
                at += size;
            }
        }
        self.kernel.epilogue = stmts;
    }
}
