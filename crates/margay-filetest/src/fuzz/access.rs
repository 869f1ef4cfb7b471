// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random statements that touch memory, and those in which the lanes of a warp exchange values.

use super::generate::{Gen, INPUT_WORDS, Place, SHARED_OWN};
use super::kernel::Stmt;
use super::palette::Class;

/// Types of an access, their bytes, and the classes of register that take them.
const TYPES: &[(&str, u32, &[Class])] = &[
    ("u8", 1, &['h', 'r', 'd']),
    ("s8", 1, &['h', 'r', 'd']),
    ("b8", 1, &['h', 'r']),
    ("u16", 2, &['h', 'r', 'd']),
    ("s16", 2, &['h', 'r', 'd']),
    ("b16", 2, &['h']),
    ("u32", 4, &['r', 'd']),
    ("s32", 4, &['r', 'd']),
    ("b32", 4, &['r']),
    ("f32", 4, &['r']),
    ("b32", 4, &['r']),
    ("u64", 8, &['d']),
    ("b64", 8, &['d']),
    ("f64", 8, &['d']),
];

impl Gen<'_> {
    /// Destinations and the vector part of a load, or sources of a store.
    fn elements(&mut self, class: Class, count: usize, load: bool) -> String {
        let mut names: Vec<String> = Vec::new();
        for _ in 0..count {
            let name = match load {
                true if count > 1 => self.scratch(class),
                true => self.result(class),
                false => self.register(class),
            };
            names.push(name);
        }
        if load && count > 1 {
            names.iter().for_each(|n| self.show(class, n.clone()));
        }
        match count {
            1 => names.remove(0),
            _ => format!("{{{}}}", names.join(", ")),
        }
    }

    /// A type, a class, a number of elements, and all bytes.
    fn shape(&mut self, most: u32) -> (&'static str, Class, usize, u32) {
        loop {
            let &(ty, bytes, classes) = self.random.pick(TYPES);
            let class = *self.random.pick(classes);
            let count = *self.random.pick(&[1, 1, 1, 1, 1, 2, 2, 4]);
            let all = bytes * count as u32;
            if all <= most.min(16) {
                return (ty, class, count, all);
            }
        }
    }

    fn vector(count: usize) -> &'static str {
        match count {
            1 => "",
            2 => ".v2",
            _ => ".v4",
        }
    }

    /// Lines that make an index below `most`, and its register.
    fn index_below(&mut self, most: u32, lines: &mut Vec<String>) -> String {
        let i = self.scratch('r');
        let (threads, all) = (self.kernel.threads(), self.kernel.all_threads());
        match self.random.below(5) {
            // Steps between lanes, up or down.
            0 | 1 => {
                let &(of, n) = self.random.pick(&[
                    ("%r0", self.kernel.block[0]),
                    ("%r1", 32),
                    ("%r2", threads),
                    ("%r3", all),
                    ("%r4", self.kernel.grid[0]),
                ]);
                let room = (most / n).max(1);
                let step = 1 + self.random.below(room.min(6) as usize) as u32;
                if step * n > most {
                    lines.push(format!("and.b32 {i}, {of}, {};", most.next_power_of_two() / 2 - 1));
                    return i;
                }
                let rest = self.random.below((most - step * (n - 1)) as usize) as u32;
                if self.random.chance(30) {
                    let from = rest + step * (n - 1);
                    lines.push(format!("mul.lo.s32 {i}, {of}, {step};"));
                    lines.push(format!("sub.s32 {i}, {from}, {i};"));
                } else {
                    lines.push(format!("mad.lo.s32 {i}, {of}, {step}, {rest};"));
                }
            }
            2 => {
                let u = self.random.pick(&self.uniform).clone();
                lines
                    .push(format!("and.b32 {i}, {u}, {};", most.next_power_of_two().min(most) - 1));
            }
            3 => {
                let r = self.register('r');
                lines.push(format!("rem.u32 {i}, {r}, {most};"));
            }
            _ => {
                let r = self.register('r');
                let ones = (most + 1).next_power_of_two() / 2 - 1;
                lines.push(format!("and.b32 {i}, {r}, {ones};"));
            }
        }
        i
    }

    /// Lines that add an index of so many bytes to a base, and the address.
    fn address(&mut self, base: &str, index: &str, bytes: u32, lines: &mut Vec<String>) -> String {
        let (a, b) = (self.scratch('d'), self.scratch('d'));
        if self.narrows && self.random.chance(25) {
            // What is above 32 bits goes again.
            lines.push(format!("cvt.u64.u32 {b}, {index};"));
            let above = *self.random.pick(&[0u64, 0, 1 << 32, 9 << 40]);
            lines.push(format!("add.s64 {b}, {b}, {above};"));
            let signed = self.random.chance(50);
            let (cut, b) = self.cut(&b, u64::from(bytes.trailing_zeros()), signed);
            lines.extend(cut);
            lines.push(format!("add.s64 {a}, {base}, {b};"));
            return a;
        }
        match self.random.below(6) {
            0 => lines.push(format!("mad.wide.u32 {a}, {index}, {bytes}, {base};")),
            1 => lines.push(format!("mad.wide.s32 {a}, {index}, {bytes}, {base};")),
            2 => {
                lines.push(format!("mul.wide.s32 {b}, {index}, {bytes};"));
                lines.push(format!("add.s64 {a}, {base}, {b};"));
            }
            3 => {
                lines.push(format!("cvt.u64.u32 {b}, {index};"));
                lines.push(format!("shl.b64 {b}, {b}, {};", bytes.trailing_zeros()));
                lines.push(format!("add.s64 {a}, {b}, {base};"));
            }
            4 => {
                lines.push(format!("cvt.s64.s32 {b}, {index};"));
                lines.push(format!("mad.lo.s64 {a}, {b}, {bytes}, {base};"));
            }
            _ => {
                let r = self.scratch('r');
                lines.push(format!("shl.b32 {r}, {index}, {};", bytes.trailing_zeros()));
                lines.push(format!("cvt.u64.u32 {b}, {r};"));
                lines.push(format!("add.s64 {a}, {base}, {b};"));
            }
        }
        a
    }

    pub fn memory(&mut self, place: &Place) -> Vec<Stmt> {
        match self.random.below(20) {
            0..=4 => vec![self.load_input()],
            5 => vec![self.load_neighbours()],
            6..=8 => vec![self.own_output()],
            9 | 10 => vec![self.own_local()],
            11 => vec![self.constant()],
            12 | 13 => vec![self.own_shared()],
            14 | 15 if place.block => vec![self.exchange()],
            16 => vec![self.sum()],
            17 => vec![self.own_atomic()],
            18 if place.block => vec![self.barrier()],
            19 => vec![self.odds_and_ends()],
            _ => vec![self.load_input()],
        }
    }

    fn load_input(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (ty, class, count, bytes) = self.shape(16);
        let offset = bytes * self.random.below(8) as u32;
        let index = self.index_below((INPUT_WORDS * 4 - offset) / bytes, &mut lines);
        let at = self.address("%d0", &index, bytes, &mut lines);
        let path = *self.random.pick(&[
            "ld.global",
            "ld.global",
            "ld.global",
            "ld.global.nc",
            "ld.global.ca",
            "ld",
            "ld.volatile.global",
            "ld.relaxed.gpu.global",
        ]);
        let to = self.elements(class, count, true);
        let line = format!("{path}{}.{ty} {to}, [{at}+{offset}];", Self::vector(count));
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    /// Words side by side, or nearly, through one pointer.
    fn load_neighbours(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let index = self.index_below(INPUT_WORDS - 16, &mut lines);
        let at = self.address("%d0", &index, 4, &mut lines);
        for _ in 0..2 + self.random.below(5) {
            let (to, word) = (self.result('r'), self.random.below(9));
            let ty = *self.random.pick(&["u32", "f32", "b32"]);
            let path = if self.random.chance(15) { "ld.volatile.global" } else { "ld.global" };
            let line = format!("{path}.{ty} {to}, [{at}+{}];", 4 * word);
            lines.push(if self.random.chance(20) { self.guarded(line) } else { line });
            if self.random.chance(10) {
                lines.push(format!("st.global.b32 [%d3+{}], {to};", 4 * self.random.below(60)));
            }
        }
        Stmt::Lines(lines)
    }

    /// Stores to the thread's own part of the output, and perhaps a load from there.
    pub fn own_output(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (ty, class, count, bytes) = self.shape(16);
        let (mut at, mut offset) =
            ("%d3".to_owned(), bytes * self.random.below((240 / bytes) as usize) as u32);
        if self.random.chance(40) {
            let index = self.index_below(128 / bytes, &mut lines);
            at = self.address("%d3", &index, bytes, &mut lines);
            offset = 0;
        }
        let (store, load) = *self.random.pick(&[
            ("st.global", "ld.global"),
            ("st.global", "ld.global"),
            ("st", "ld"),
            ("st.global", "ld.volatile.global"),
            ("st.volatile.global", "ld.global"),
            ("st.volatile", "ld.volatile"),
            ("st.release.gpu.global", "ld.acquire.sys.global"),
        ]);
        let v = Self::vector(count);
        let from = self.elements(class, count, false);
        let line = format!("{store}{v}.{ty} [{at}+{offset}], {from};");
        lines.push(self.guarded(line));
        if self.random.chance(40) {
            let to = self.elements(class, count, true);
            lines.push(format!("{load}{v}.{ty} {to}, [{at}+{offset}];"));
        }
        Stmt::Lines(lines)
    }

    fn own_local(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (ty, class, count, bytes) = self.shape(16);
        let index = self.index_below(self.kernel.local_bytes / bytes, &mut lines);
        let mut base = "%d6".to_owned();
        let mut space = ".local";
        if self.random.chance(30) {
            base = self.scratch('d');
            lines.push(format!("cvta.local.u64 {base}, %d6;"));
            space = "";
        }
        let at = self.address(&base, &index, bytes, &mut lines);
        let v = Self::vector(count);
        if self.random.chance(60) {
            let from = self.elements(class, count, false);
            let line = format!("st{space}{v}.{ty} [{at}], {from};");
            lines.push(self.guarded(line));
        }
        let to = self.elements(class, count, true);
        let line = format!("ld{space}{v}.{ty} {to}, [{at}];");
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    fn constant(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (ty, class, count, bytes) = self.shape(16);
        let index = self.index_below(256 / bytes, &mut lines);
        let base = self.scratch('d');
        lines.push(format!("mov.u64 {base}, table;"));
        let mut space = ".const";
        if self.random.chance(20) {
            lines.push(format!("cvta.const.u64 {base}, {base};"));
            space = "";
        }
        let at = self.address(&base, &index, bytes, &mut lines);
        let to = self.elements(class, count, true);
        let line = format!("ld{space}{}.{ty} {to}, [{at}];", Self::vector(count));
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    /// The thread's own bytes of shared memory.
    fn own_shared(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (ty, class, count, bytes) = self.shape(SHARED_OWN);
        let offset = bytes * self.random.below((SHARED_OWN / bytes) as usize) as u32;
        let mut at = "%d5".to_owned();
        let mut space = *self.random.pick(&[".shared", ".shared", ".volatile.shared"]);
        if self.random.chance(30) {
            at = self.scratch('d');
            lines.push(format!("cvta.shared.u64 {at}, %d5;"));
            space = "";
        }
        let v = Self::vector(count);
        let from = self.elements(class, count, false);
        let line = format!("st{space}{v}.{ty} [{at}+{offset}], {from};");
        lines.push(self.guarded(line));
        let to = self.elements(class, count, true);
        let line = format!("ld{space}{v}.{ty} {to}, [{at}+{offset}];");
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    /// Every thread writes its place and, after a barrier, reads any.
    pub fn exchange(&mut self) -> Stmt {
        let threads = self.kernel.threads();
        let base = threads * SHARED_OWN;
        let bytes = *self.random.pick(&[1u32, 2, 4, 4, 4, 8, 16]);
        let (ty, class, count) = match bytes {
            1 => ("u8", 'r', 1),
            2 => ("u16", 'h', 1),
            4 => ("b32", 'r', 1),
            8 => ("b64", 'd', 1),
            _ => ("b32", 'r', 4),
        };
        let v = Self::vector(count);
        let mut lines = Vec::new();
        // A place of its own for each thread, in some order.
        let own = self.scratch('r');
        match self.random.below(3) {
            0 => lines.push(format!("mov.u32 {own}, %r2;")),
            1 => lines.push(format!("sub.s32 {own}, {}, %r2;", threads - 1)),
            _ => {
                let by = self.random.below(threads as usize);
                lines.push(format!("add.s32 {own}, %r2, {by};"));
                lines.push(format!("rem.u32 {own}, {own}, {threads};"));
            }
        }
        let barrier = self.a_barrier();
        let at = self.address("%d4", &own, bytes, &mut lines);
        let from = self.elements(class, count, false);
        let strong = *self.random.pick(&["", "", ".volatile", ".relaxed.cta"]);
        lines.push(format!("st{strong}.shared{v}.{ty} [{at}+{base}], {from};"));
        lines.push(barrier);
        for _ in 0..=self.random.below(3) {
            let index = self.index_below(threads, &mut lines);
            let at = self.address("%d4", &index, bytes, &mut lines);
            let to = self.elements(class, count, true);
            lines.push(format!("ld{strong}.shared{v}.{ty} {to}, [{at}+{base}];"));
        }
        let again = self.a_barrier();
        lines.push(again);
        Stmt::Lines(lines)
    }

    /// A barrier for all threads of the block that live.
    fn a_barrier(&mut self) -> String {
        let number = *self.random.pick(&[0, 0, 0, 1, 7]);
        let count = self.kernel.threads().next_multiple_of(32);
        match self.random.below(8) {
            0 => format!("barrier.sync {number};"),
            // A count speaks of warps, whole ones.
            1 if !self.gaps => format!("bar.sync {number}, {count};"),
            _ => format!("bar.sync {number};"),
        }
    }

    pub fn barrier(&mut self) -> Stmt {
        let c = self.register('p');
        let line = match self.random.below(5) {
            0 => format!("bar.red.popc.u32 {}, 0, {c};", self.result('r')),
            1 => format!("bar.red.and.pred {}, 1, {c};", self.result('p')),
            2 => format!("bar.red.or.pred {}, 0, !{c};", self.result('p')),
            _ => self.a_barrier(),
        };
        Stmt::Lines(vec![line])
    }

    /// A sum to which any order of the threads gives the same, and that nobody reads here.
    fn sum(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (n, &(op, class, bytes)) = {
            let of = [
                ("add.u32", 'r', 4u32),
                ("min.s32", 'r', 4),
                ("max.u32", 'r', 4),
                ("and.b32", 'r', 4),
                ("or.b32", 'r', 4),
                ("xor.b32", 'r', 4),
                ("add.u64", 'd', 8),
                ("max.s64", 'd', 8),
                ("xor.b64", 'd', 8),
                ("min.u32", 'r', 4),
                ("max.s32", 'r', 4),
                ("add.s32", 'r', 4),
                ("add.f32", 'r', 4),
            ];
            let n = self.random.below(of.len());
            (n as u32, &{ of }[n])
        };
        let mut value = self.operand(class);
        if op == "add.f32" {
            // Small whole numbers, whose sums are exact.
            let (a, b) = (self.scratch('r'), self.scratch('r'));
            let from = self.register('r');
            lines.push(format!("and.b32 {a}, {from}, 255;"));
            lines.push(format!("cvt.rn.f32.u32 {b}, {a};"));
            value = b;
        }
        // Each operation has 32 bytes for itself; shared sums are shown by the one after.
        let index = self.index_below(32 / bytes, &mut lines);
        let shared = self.random.chance(50) && op != "add.f32";
        let (base, offset) = match shared {
            true => ("%d4", self.kernel.threads() * SHARED_OWN * 2 + n * 32),
            false => ("%d2", n * 32),
        };
        let at = self.address(base, &index, bytes, &mut lines);
        let space = if shared { "shared" } else { "global" };
        let line = match self.random.below(3) {
            0 => format!("atom.{space}.{op} {}, [{at}+{offset}], {value};", self.scratch(class)),
            1 => format!("red.relaxed.gpu.{space}.{op} [{at}+{offset}], {value};"),
            _ => format!("red.{space}.{op} [{at}+{offset}], {value};"),
        };
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    /// An atomic on what belongs to the thread: its result is settled too.
    fn own_atomic(&mut self) -> Stmt {
        let mut lines = Vec::new();
        let (op, class) = *self.random.pick(&[
            ("add.u32", 'r'),
            ("exch.b32", 'r'),
            ("cas.b32", 'r'),
            ("inc.u32", 'r'),
            ("dec.u32", 'r'),
            ("min.s32", 'r'),
            ("max.s32", 'r'),
            ("and.b32", 'r'),
            ("xor.b32", 'r'),
            ("add.f32", 'r'),
            ("add.u64", 'd'),
            ("cas.b64", 'd'),
            ("exch.b64", 'd'),
            ("min.u64", 'd'),
            ("add.f64", 'd'),
            ("add.noftz.f16x2", 'r'),
        ]);
        let bytes = if class == 'd' { 8 } else { 4 };
        let (space, at, room) =
            *self.random.pick(&[("global", "%d3", 240), ("shared", "%d5", SHARED_OWN)]);
        let offset = bytes * self.random.below((room / bytes) as usize) as u32;
        // Constants of floats are written otherwise.
        let float = op.contains(".f") || op.contains("noftz");
        let mut values = if float { self.register(class) } else { self.operand(class) };
        if op.starts_with("cas") {
            let more = self.operand(class);
            values = format!("{values}, {more}");
        }
        let to = self.result(class);
        let line = format!("atom.{space}.{op} {to}, [{at}+{offset}], {values};");
        lines.push(self.guarded(line));
        Stmt::Lines(lines)
    }

    fn odds_and_ends(&mut self) -> Stmt {
        let (p, d, r) = (self.result('p'), self.register('d'), self.result('r'));
        let line = match self.random.below(8) {
            0 => "membar.gl;".to_owned(),
            1 => "fence.acq_rel.gpu;".to_owned(),
            2 => "prefetch.global.L1 [%d0];".to_owned(),
            3 => format!("isspacep.shared {p}, {d};"),
            4 => format!("isspacep.global {p}, %d0;"),
            5 => format!("ld.param.u32 {r}, [wide+4];"),
            6 => format!("ld.param.u8 {r}, [wide+3];"),
            _ => "nanosleep.u32 5;".to_owned(),
        };
        let mut lines = vec![line];
        if self.random.chance(30) {
            let offset = 4 * self.random.below(4) as u32;
            let more = 4 * self.random.below(64) as u32;
            let to = self.result('r');
            lines = vec![
                format!("cp.async.ca.shared.global [%d5+{offset}], [%d0+{more}], 4;"),
                "cp.async.commit_group;".to_owned(),
                "cp.async.wait_all;".to_owned(),
                format!("ld.shared.b32 {to}, [%d5+{offset}];"),
            ];
        }
        Stmt::Lines(lines)
    }

    /// Values go from lane to lane, where it is known which are there.
    pub fn lanes(&mut self, place: &Place) -> Vec<Stmt> {
        let Some(mask) = place.mask.clone() else { return vec![self.lane_wise()] };
        let whole = mask == "0xffffffff";
        let c = self.condition();
        let v = self.operand('r');
        let mut lines = Vec::new();
        let any_lane = whole && !self.gaps;
        let line = match self.random.below(14) {
            0 => format!("vote.sync.all.pred {}, {c}, {mask};", self.result('p')),
            1 => format!("vote.sync.any.pred {}, {c}, {mask};", self.result('p')),
            2 => format!("vote.sync.uni.pred {}, {c}, {mask};", self.result('p')),
            3 => format!("vote.sync.ballot.b32 {}, {c}, {mask};", self.result('r')),
            4 => format!("match.any.sync.b32 {}, {v}, {mask};", self.result('r')),
            5 => {
                let (a, b) = (self.scratch('r'), self.scratch('p'));
                self.show('r', a.clone());
                self.show('p', b.clone());
                format!("match.all.sync.b32 {a}|{b}, {v}, {mask};")
            }
            6 => {
                let op = *self
                    .random
                    .pick(&["add.u32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32"]);
                format!("redux.sync.{op} {}, {v}, {mask};", self.result('r'))
            }
            7 => format!("bar.warp.sync {mask};"),
            // From a lane that is there: the highest of the mask.
            8 if !self.gaps => {
                let l = self.scratch('r');
                lines.push(format!("mov.u32 {l}, {mask};"));
                lines.push(format!("bfind.u32 {l}, {l};"));
                format!("shfl.sync.idx.b32 {}, {v}, {l}, 31, {mask};", self.result('r'))
            }
            _ if any_lane => {
                let mode = *self.random.pick(&["up", "down", "bfly", "idx"]);
                let clamp = if mode == "up" { "0" } else { "31" };
                let clamp = match self.random.below(4) {
                    0 => *self.random.pick(&["0x181f", "0x1c1f", "0x1000", "0x0810"]),
                    _ => clamp,
                };
                let amount = match self.random.below(4) {
                    0 => self.register('r'),
                    1 => self.random.pick(&self.uniform).clone(),
                    _ => self.random.below(33).to_string(),
                };
                let (a, b) = (self.scratch('r'), self.scratch('p'));
                self.show('r', a.clone());
                self.show('p', b.clone());
                let to = if self.random.chance(50) { format!("{a}|{b}") } else { a };
                format!("shfl.sync.{mode}.b32 {to}, {v}, {amount}, {clamp}, {mask};")
            }
            _ => format!("vote.sync.ballot.b32 {}, {c}, {mask};", self.result('r')),
        };
        lines.push(line);
        vec![Stmt::Lines(lines)]
    }

    /// Something that only the threads marked by p0 do, and that none may.
    pub fn faulting(&mut self) -> Vec<Stmt> {
        let end = INPUT_WORDS * 4;
        let r = self.scratch('r');
        let d = self.scratch('d');
        let shared = self.kernel.shared_bytes;
        let line = match self.random.below(16) {
            0 => "trap;".to_owned(),
            1 => format!("ld.global.u32 {r}, [%d0+{end}];"),
            2 => format!("st.global.u32 [%d0+{end}], %r3;"),
            3 => format!("ld.global.u32 {r}, [%d0+2];"),
            4 => format!("ld.global.v2.u32 {{{r}, {r}}}, [%d0+4];"),
            5 => format!("ld.shared.u32 {r}, [%d4+{shared}];"),
            6 => format!("st.shared.u32 [%d5+1], {r};"),
            7 => format!("st.local.u32 [%d6+{}], {r};", 1 << 20),
            8 => format!("ld.global.u32 {r}, [0];"),
            9 => format!("atom.global.add.u32 {r}, [%d2+514], %r3;"),
            10 => format!("red.shared.add.u32 [%d4+{shared}], 1;"),
            11 => format!("st.u32 [{d}], %r3;"),
            12 => format!("ld.const.u32 {r}, [{d}+65536];"),
            // Neighbours of which the later ones lie beyond the end, in some lanes.
            13 | 14 => {
                let (i, at, more) = (self.scratch('r'), self.scratch('d'), self.register('r'));
                let mut then = vec![
                    format!("and.b32 {i}, {more}, 3;"),
                    format!("sub.u32 {i}, {}, {i};", INPUT_WORDS - 1),
                    format!("mad.wide.u32 {at}, {i}, 4, %d0;"),
                ];
                for n in 0..2 + self.random.below(3) {
                    let to = self.scratch('r');
                    then.push(format!("ld.global.u32 {to}, [{at}+{}];", 4 * n));
                    then.push(format!("st.global.u32 [%d3+{}], {to};", 4 * n));
                }
                if self.random.chance(50) {
                    then.retain(|line| !line.starts_with("st"));
                }
                return vec![Stmt::If {
                    pred: "%p0".to_owned(),
                    then: vec![Stmt::Lines(then)],
                    els: Vec::new(),
                }];
            }
            // Steps over the end, from some lane on.
            _ => {
                let at = self.scratch('d');
                let back = 4 * self.random.below(8);
                return vec![Stmt::If {
                    pred: "%p0".to_owned(),
                    then: vec![Stmt::Lines(vec![
                        format!("mad.wide.u32 {at}, %r1, 4, %d0;"),
                        format!("ld.global.u32 {r}, [{at}+{}];", end as usize - back),
                    ])],
                    els: Vec::new(),
                }];
            }
        };
        if self.random.chance(50) {
            return vec![Stmt::Lines(vec![format!("@%p0 {line}")])];
        }
        vec![Stmt::If {
            pred: "%p0".to_owned(),
            then: vec![Stmt::Lines(vec![line])],
            els: Vec::new(),
        }]
    }
}
