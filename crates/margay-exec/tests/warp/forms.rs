// SPDX-License-Identifier: MIT OR Apache-2.0
//! The forms. A body has the lane's inputs as `%a`–`%d` (64 bits), `%ra`–`%rd`, `%fa`–`%fc`, `%ea`–`%ec`, `%ha`–`%hc` and
//! `%pa`–`%pc`; `%m` is the mask of lanes that take part. Its results are `%x` and `%y`, and memory: 16 bytes of its own
//! at `%own`, and one of four places at `%all`.

use super::{Form, Kind};

pub(super) const INT_TYPES: [&str; 6] = ["u16", "s16", "u32", "s32", "u64", "s64"];

/// The registers of a type's inputs.
pub(super) fn sources(ty: &str) -> [&'static str; 3] {
    match ty {
        "f32" => ["%fa", "%fb", "%fc"],
        "f64" => ["%ea", "%eb", "%ec"],
        _ if ty.ends_with("16") => ["%ha", "%hb", "%hc"],
        _ if ty.ends_with("32") || ty.ends_with("x2") => ["%ra", "%rb", "%rc"],
        _ => ["%a", "%b", "%c"],
    }
}

/// A scratch register of a type, and the way from it to `%x`.
pub(super) fn result(ty: &str) -> (&'static str, &'static str) {
    match ty {
        "f32" => ("%f0", "mov.b32 %r15, %f0; cvt.u64.u32 %x, %r15;"),
        "f64" => ("%e0", "mov.b64 %x, %e0;"),
        _ if ty.ends_with("16") => ("%h0", "cvt.u64.u16 %x, %h0;"),
        _ if ty.ends_with("32") || ty.ends_with("x2") => ("%r0", "cvt.u64.u32 %x, %r0;"),
        _ => ("%w0", "mov.b64 %x, %w0;"),
    }
}

pub(super) struct List(Vec<Form>);

impl List {
    pub(super) fn push(&mut self, name: impl Into<String>, body: impl Into<String>) {
        self.form(name.into(), body.into(), false, false);
    }

    pub(super) fn full(&mut self, name: impl Into<String>, body: impl Into<String>) {
        self.form(name.into(), body.into(), true, false);
    }

    pub(super) fn shared(&mut self, name: impl Into<String>, body: impl Into<String>) {
        self.form(name.into(), body.into(), false, true);
    }

    fn form(&mut self, name: String, body: String, full: bool, shared: bool) {
        self.add(Form { name, body, full, shared, kind: Kind::Plain });
    }

    pub(super) fn add(&mut self, form: Form) {
        self.0.push(form);
    }

    /// An instruction of one result and `n` sources of a type.
    pub(super) fn plain(&mut self, opcode: &str, ty: &str, n: usize) {
        let (to, out) = result(ty);
        let from = sources(ty)[..n].join(", ");
        self.push(opcode, format!("{opcode} {to}, {from}; {out}"));
    }
}

/// The forms of `warp_vectors_2.txt`.
pub fn further() -> Vec<Form> {
    let mut list = List(Vec::new());
    super::further::all(&mut list);
    list.0
}

/// The forms of `warp_vectors.txt`.
pub fn all() -> Vec<Form> {
    let mut list = List(Vec::new());
    comparisons(&mut list);
    choices(&mut list);
    logic(&mut list);
    for space in ["global", "shared"] {
        atomics(&mut list, space);
        vectors(&mut list, space);
    }
    shuffles(&mut list);
    votes(&mut list);
    super::more::all(&mut list);
    list.0
}

fn comparisons(list: &mut List) {
    let flag = "selp.b64 %x, 1, 0, %p;";
    let floats: &[&str] = &[
        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
    ];
    let operators = |ty: &str| -> &[&str] {
        match ty.as_bytes()[0] {
            b'u' => &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
            b's' => &["eq", "ne", "lt", "le", "gt", "ge"],
            b'b' if ty != "bf16" => &["eq", "ne"],
            _ => floats,
        }
    };
    for ty in INT_TYPES.into_iter().chain(["b16", "b32", "b64", "f32", "f64", "f16", "bf16"]) {
        let [a, b, _] = sources(ty);
        for op in operators(ty) {
            for ftz in if matches!(ty, "f32" | "f16") { &["", ".ftz"][..] } else { &[""] } {
                let name = format!("setp.{op}{ftz}.{ty}");
                list.push(&name, format!("{name} %p, {a}, {b}; {flag}"));
            }
            for ty in [ty].into_iter().filter(|t| !t.ends_with("16")) {
                for to in ["u32", "s32", "f32"] {
                    let name = format!("set.{op}.{to}.{ty}");
                    let (r, out) = result(to);
                    list.push(&name, format!("{name} {r}, {a}, {b}; {out}"));
                }
            }
        }
        for logic in ["and", "or", "xor"] {
            let name = format!("setp.{}.{logic}.{ty}", operators(ty)[1]);
            // Halves have one predicate, pairs of them two.
            let (to, both) = match ty {
                "f16" | "bf16" => ("%p", flag.to_owned()),
                _ => ("%p|%q", format!("{flag} selp.b64 %y, 1, 0, %q;")),
            };
            list.push(&name, format!("{name} {to}, {a}, {b}, %pc; {both}"));
            list.push(format!("{name} !"), format!("{name} {to}, {a}, {b}, !%pc; {both}"));
        }
    }
    for (ty, a, b) in [("f16x2", "%ra", "%rb"), ("bf16x2", "%ra", "%rb")] {
        for op in ["lt", "ne", "geu", "nan"] {
            let name = format!("setp.{op}.{ty}");
            list.push(&name, format!("{name} %p|%q, {a}, {b}; {flag} selp.b64 %y, 1, 0, %q;"));
        }
    }
    for ty in ["f32", "f64"] {
        for what in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
            let name = format!("testp.{what}.{ty}");
            list.push(&name, format!("{name} %p, {}; {flag}", sources(ty)[0]));
        }
    }
}

fn choices(list: &mut List) {
    for ty in ["b16", "b32", "b64", "u16", "s32", "u64", "f32", "f64"] {
        let ([a, b, _], (r, out)) = (sources(ty), result(ty));
        list.push(format!("selp.{ty}"), format!("selp.{ty} {r}, {a}, {b}, %pc; {out}"));
        for (by, c) in [("s32", "%rc"), ("f32", "%fc"), ("ftz.f32", "%fc")] {
            let name = match by.strip_prefix("ftz.") {
                Some(by) => format!("slct.ftz.{ty}.{by}"),
                None => format!("slct.{ty}.{by}"),
            };
            list.push(&name, format!("{name} {r}, {a}, {b}, {c}; {out}"));
        }
    }
    for ty in ["f32", "f64"] {
        list.plain(&format!("copysign.{ty}"), ty, 2);
    }
}

fn logic(list: &mut List) {
    for ty in ["b16", "b32", "b64"] {
        for op in ["and", "or", "xor"] {
            list.plain(&format!("{op}.{ty}"), ty, 2);
        }
        for op in ["not", "cnot"] {
            list.plain(&format!("{op}.{ty}"), ty, 1);
        }
        let ([a, ..], (r, out)) = (sources(ty), result(ty));
        for op in ["shl", "shr"] {
            let name = format!("{op}.{ty}");
            list.push(&name, format!("{name} {r}, {a}, %rb; {out}"));
            list.push(
                format!("{name} small"),
                format!("and.b32 %r1, %rb, 63; {name} {r}, {a}, %r1; {out}"),
            );
        }
    }
    for op in ["and", "or", "xor"] {
        list.push(format!("{op}.pred"), format!("{op}.pred %p, %pa, %pb; selp.b64 %x, 1, 0, %p;"));
    }
    list.push("not.pred", "not.pred %p, %pa; selp.b64 %x, 1, 0, %p;");
    for ty in ["b32", "b64"] {
        let a = sources(ty)[0];
        for op in ["popc", "clz"] {
            let name = format!("{op}.{ty}");
            list.push(&name, format!("{name} %r0, {a}; cvt.u64.u32 %x, %r0;"));
        }
        list.plain(&format!("brev.{ty}"), ty, 1);
    }
    for table in [0x00, 0x01, 0x1b, 0x80, 0x96, 0xc0, 0xca, 0xe8, 0xf0, 0xfe, 0xff, 0x6a] {
        let name = format!("lop3.b32 {table:#04x}");
        list.push(&name, format!("lop3.b32 %r0, %ra, %rb, %rc, {table}; cvt.u64.u32 %x, %r0;"));
    }
    for name in
        ["shf.l.wrap.b32", "shf.l.clamp.b32", "shf.r.wrap.b32", "shf.r.clamp.b32", "prmt.b32"]
    {
        list.plain(name, "b32", 3);
    }
}

fn atomics(list: &mut List, space: &str) {
    // In shared memory the manual has no packed or wide forms.
    let add: &[&str] = &[
        "u32",
        "s32",
        "u64",
        "f32",
        "f64",
        "noftz.f16",
        "noftz.bf16",
        "noftz.f16x2",
        "noftz.bf16x2",
    ];
    let operations = add.iter().map(|ty| format!("add.{ty}"));
    let minmax = ["min", "max"].into_iter();
    let minmax = minmax.flat_map(|op| ["u32", "s32", "u64", "s64"].map(|ty| format!("{op}.{ty}")));
    let bits = ["and", "or", "xor", "exch"].into_iter();
    let bits = bits.flat_map(|op| ["b32", "b64"].map(|ty| format!("{op}.{ty}")));
    let steps = ["inc.u32", "dec.u32"].into_iter().map(str::to_owned);
    for op in operations.chain(minmax).chain(bits).chain(steps) {
        let ty = op.rsplit('.').next().unwrap_or_default().to_owned();
        let ([a, ..], (r, out)) = (sources(&ty), result(&ty));
        let name = format!("{space}.{op}");
        // Of a pair in the low half of a 64-bit register this driver's ptxas takes the wrong upper half.
        let (before, a) = match ty.ends_with("x2") {
            true => ("xor.b32 %r1, %ra, %rb; ", "%r1"),
            false => ("", a),
        };
        let atom = format!("{before}atom.{name} {r}, [%own], {a}; {out}");
        let red = format!("{before}red.{name} [%own], {a};");
        // On one place: what comes of it does not depend on the order.
        let alike = !ty.starts_with(['f', 'b'])
            || matches!(op.split('.').next(), Some("and" | "or" | "xor"));
        let alike = alike && !op.starts_with("inc") && !op.starts_with("dec");
        let mut all = vec![(format!("atom.{name}"), atom)];
        if !op.starts_with("exch") {
            all.push((format!("red.{name}"), red));
            if alike {
                all.push((format!("red.{name} together"), format!("red.{name} [%all], {a};")));
                all.push((
                    format!("atom.{name} together"),
                    format!("atom.{name} {r}, [%all], {a};"),
                ));
            }
        }
        for (name, body) in all {
            match space {
                "shared" => list.shared(name, body),
                _ => list.push(name, body),
            }
        }
    }
    for ty in ["b16", "b32", "b64"] {
        let ([a, b, _], (r, out)) = (sources(ty), result(ty));
        // What is expected is there for every other lane.
        let there = format!("ld.{space}.{ty} {r}, [%own]; selp.{ty} {r}, {r}, {a}, %pb;");
        let name = format!("atom.{space}.cas.{ty}");
        let body = format!("{there} {name} {r}, [%own], {r}, {b}; {out}");
        match space {
            "shared" => list.shared(name, body),
            _ => list.push(name, body),
        }
    }
    for order in ["relaxed", "acquire", "release", "acq_rel"] {
        for scope in ["cta", "gpu", "sys"] {
            let name = format!("atom.{order}.{scope}.{space}.add.u32");
            let body = format!("{name} %r0, [%own], %ra; cvt.u64.u32 %x, %r0;");
            match space {
                "shared" => list.shared(name, body),
                _ => list.push(name, body),
            }
        }
    }
    if space == "global" {
        list.push("red.global.add.v2.f32", "red.global.add.v2.f32 [%own], {%fa, %fb};");
        list.push("red.global.add.v4.f32", "red.global.add.v4.f32 [%own], {%fa, %fb, %fc, %fa};");
        list.push(
            "red.global.add.noftz.v2.f16x2",
            "red.global.add.noftz.v2.f16x2 [%own], {%ra, %rb};",
        );
    }
}

fn vectors(list: &mut List, space: &str) {
    let mut push = |name: String, body: String| match space {
        "shared" => list.shared(name, body),
        _ => list.push(name, body),
    };
    for (ty, register) in [
        ("u8", "r"),
        ("s8", "r"),
        ("b8", "r"),
        ("u16", "r"),
        ("s16", "r"),
        ("b32", "r"),
        ("u32", "r"),
        ("f32", "f"),
        ("b64", "w"),
        ("f64", "e"),
    ] {
        let bits: u32 = ty[1..].parse().unwrap_or(8);
        for n in [1u32, 2, 4].into_iter().filter(|n| n * bits <= 128) {
            let vector = if n == 1 { String::new() } else { format!(".v{n}") };
            let registers: Vec<String> = (0..n).map(|i| format!("%{register}{i}")).collect();
            let group = match n {
                1 => registers[0].clone(),
                _ => format!("{{{}}}", registers.join(", ")),
            };
            // All elements count: each is turned by its place.
            let mut mix = String::from("mov.u64 %x, 0;");
            for one in &registers {
                mix += &match register {
                    "r" => format!(" cvt.u64.u32 %v, {one};"),
                    "f" => format!(" mov.b32 %r15, {one}; cvt.u64.u32 %v, %r15;"),
                    _ => format!(" mov.b64 %v, {one};"),
                };
                mix += " mul.lo.u64 %x, %x, 0x100000001b3; xor.b64 %x, %x, %v;";
            }
            let load = format!("ld.{space}{vector}.{ty}");
            push(load.clone(), format!("{load} {group}, [%own]; {mix}"));
            let from: Vec<&str> = (0..n as usize)
                .map(|i| match register {
                    "r" => ["%ra", "%rb", "%rc", "%rd"][i],
                    "f" => ["%fa", "%fb", "%fc", "%fa"][i],
                    "e" => ["%ea", "%eb"][i],
                    _ => ["%a", "%b"][i],
                })
                .collect();
            let group =
                if n == 1 { from[0].to_owned() } else { format!("{{{}}}", from.join(", ")) };
            let store = format!("st.{space}{vector}.{ty}");
            push(store.clone(), format!("{store} [%own], {group};"));
        }
    }
}

fn shuffles(list: &mut List) {
    let both = "cvt.u64.u32 %x, %r0; selp.b64 %y, 1, 0, %p;";
    for mode in ["up", "down", "bfly", "idx"] {
        let name = format!("shfl.sync.{mode}.b32");
        list.full(&name, format!("{name} %r0|%p, %ra, %rb, %rc, 0xffffffff; {both}"));
        // Lanes that take part, and what one reads of another of them.
        let (source, clamp) = match mode {
            "up" => ("sub.s32 %r2, %lane, %r1;", "0"),
            "down" => ("add.s32 %r2, %lane, %r1;", "0x1f"),
            "bfly" => ("xor.b32 %r2, %lane, %r1;", "0x1f"),
            _ => ("mov.b32 %r2, %r1;", "0x1f"),
        };
        list.push(
            format!("{name} of some"),
            format!(
                "and.b32 %r1, %rb, 31; {source} {name} %r0|%p, %ra, %r1, {clamp}, %m; {both}\n\
                 selp.b32 %r2, %r2, %lane, %p; and.b32 %r2, %r2, 31; shr.u32 %r3, %m, %r2; and.b32 %r3, %r3, 1;\n\
                 setp.ne.u32 %q, %r3, 0; selp.b64 %x, %x, 0, %q;"
            ),
        );
    }
}

fn votes(list: &mut List) {
    for mode in ["all", "any", "uni"] {
        let name = format!("vote.sync.{mode}.pred");
        for (more, p) in [("", "%pa"), (" !", "!%pa")] {
            list.push(
                format!("{name}{more}"),
                format!("{name} %q, {p}, %m; selp.b64 %x, 1, 0, %q;"),
            );
        }
        // Alike for all that take part.
        let alike = "setp.ne.u32 %p, %m, 0;";
        list.push(
            format!("{name} alike"),
            format!("{alike} {name} %q, %p, %m; selp.b64 %x, 1, 0, %q;"),
        );
    }
    list.push("vote.sync.ballot.b32", "vote.sync.ballot.b32 %r0, %pa, %m; cvt.u64.u32 %x, %r0;");
    for (ty, few) in
        [("b32", "and.b32 %r1, %ra, 3;"), ("b64", "and.b64 %w1, %a, 0x8000000000000001;")]
    {
        let value = if ty == "b32" { "%r1" } else { "%w1" };
        let name = format!("match.any.sync.{ty}");
        list.push(&name, format!("{few} {name} %r0, {value}, %m; cvt.u64.u32 %x, %r0;"));
        let name = format!("match.all.sync.{ty}");
        let out = "cvt.u64.u32 %x, %r0; selp.b64 %y, 1, 0, %p;";
        list.push(&name, format!("{few} {name} %r0|%p, {value}, %m; {out}"));
        let same = if ty == "b32" { "mov.b32 %r1, %m;" } else { "cvt.u64.u32 %w1, %m;" };
        list.push(format!("{name} alike"), format!("{same} {name} %r0|%p, {value}, %m; {out}"));
    }
    for op in ["add", "min", "max"] {
        for ty in ["u32", "s32"] {
            let name = format!("redux.sync.{op}.{ty}");
            list.push(&name, format!("{name} %r0, %ra, %m; cvt.u64.u32 %x, %r0;"));
        }
    }
    for op in ["and", "or", "xor"] {
        let name = format!("redux.sync.{op}.b32");
        list.push(&name, format!("{name} %r0, %ra, %m; cvt.u64.u32 %x, %r0;"));
    }
    list.full("barrier.red.popc.u32", "barrier.red.popc.u32 %r0, 0, %pa; cvt.u64.u32 %x, %r0;");
    list.full("bar.red.popc.u32 !", "bar.red.popc.u32 %r0, 0, !%pa; cvt.u64.u32 %x, %r0;");
    for op in ["and", "or"] {
        let name = format!("bar.red.{op}.pred");
        list.full(&name, format!("{name} %q, 0, %pa; selp.b64 %x, 1, 0, %q;"));
    }
}
