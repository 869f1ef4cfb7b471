// SPDX-License-Identifier: MIT OR Apache-2.0
//! Further forms: comparisons of every type with a predicate, `set` to and from halves, vectors of atomics, and what
//! the first list has of some types only.

use super::forms::{INT_TYPES, List, result, sources};

const FLOATS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

fn operators(ty: &str) -> &'static [&'static str] {
    match ty.as_bytes()[0] {
        b'u' => &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
        b's' => &["eq", "ne", "lt", "le", "gt", "ge"],
        b'b' if !ty.starts_with("bf16") => &["eq", "ne"],
        _ => &FLOATS,
    }
}

const LOGIC: [&str; 3] = ["and", "or", "xor"];

pub(super) fn all(list: &mut List) {
    set_predicates(list);
    sets(list);
    choices(list);
    video(list);
    vector_atomics(list);
    warp_wide(list);
    accesses(list);
}

/// `.ftz` too, where a type has it.
fn flushing(ty: &str) -> &'static [&'static str] {
    if matches!(ty, "f32" | "f16" | "f16x2") { &["", ".ftz"] } else { &[""] }
}

fn set_predicates(list: &mut List) {
    let flag = "selp.b64 %x, 1, 0, %p;";
    let other = ["b16", "b32", "b64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"];
    for ty in INT_TYPES.into_iter().chain(other) {
        let [a, b, _] = sources(ty);
        let pair = ty.ends_with("x2");
        for (i, op) in operators(ty).iter().enumerate() {
            for ftz in flushing(ty) {
                let logic = LOGIC[(i + ftz.len()) % 3];
                // The first list has one operator of each type.
                if i != 1 || !ftz.is_empty() || pair {
                    let name = format!("setp.{op}.{logic}{ftz}.{ty}");
                    let (to, both) = match ty {
                        "f16" | "bf16" => ("%p", flag.to_owned()),
                        _ => ("%p|%q", format!("{flag} selp.b64 %y, 1, 0, %q;")),
                    };
                    list.push(&name, format!("{name} {to}, {a}, {b}, %pc; {both}"));
                }
                if pair && (!ftz.is_empty() || !["lt", "ne", "geu", "nan"].contains(op)) {
                    let name = format!("setp.{op}{ftz}.{ty}");
                    let both = format!("{flag} selp.b64 %y, 1, 0, %q;");
                    list.push(&name, format!("{name} %p|%q, {a}, {b}; {both}"));
                }
            }
        }
    }
}

fn sets(list: &mut List) {
    let words = ["u32", "s32", "f32"];
    let wide = INT_TYPES.into_iter().chain(["b16", "b32", "b64", "f32", "f64"]);
    for ty in wide.clone() {
        for (i, op) in operators(ty).iter().enumerate() {
            let to = words[i % 3];
            if ty.ends_with("16") {
                set(list, op, "", "", to, ty);
            }
            for ftz in flushing(ty) {
                set(list, op, LOGIC[i % 3], ftz, words[(i + ftz.len()) % 3], ty);
                if !ftz.is_empty() {
                    set(list, op, "", ftz, to, ty);
                }
            }
        }
    }
    for to in ["f16", "bf16"] {
        for ty in wide.clone().chain(["f16", "bf16"]) {
            if to == "f16" && ty == "bf16" {
                continue;
            }
            for (i, op) in operators(ty).iter().enumerate() {
                set(list, op, "", "", to, ty);
                set(list, op, LOGIC[i % 3], "", to, ty);
                if to == "f16" && i % 5 == 0 && matches!(ty, "f16" | "f32") {
                    set(list, op, "", ".ftz", to, ty);
                    set(list, op, LOGIC[i % 3], ".ftz", to, ty);
                }
            }
        }
    }
    for (ty, targets) in [
        ("f16", &["u16", "s16", "u32", "s32"][..]),
        ("bf16", &["u16", "s16", "u32", "s32"]),
        ("f16x2", &["f16x2", "u32", "s32"]),
        ("bf16x2", &["bf16x2", "u32", "s32"]),
    ] {
        for (i, op) in FLOATS.iter().enumerate() {
            for ftz in flushing(ty) {
                set(list, op, "", ftz, targets[i % targets.len()], ty);
                set(list, op, LOGIC[i % 3], ftz, targets[(i + 1) % targets.len()], ty);
            }
        }
    }
}

fn set(list: &mut List, op: &str, logic: &str, ftz: &str, to: &str, ty: &str) {
    let dot = if logic.is_empty() { "" } else { "." };
    let name = format!("set.{op}{dot}{logic}{ftz}.{to}.{ty}");
    let ([a, b, _], (r, out)) = (sources(ty), result(to));
    let c = if logic.is_empty() { "" } else { ", %pb" };
    list.push(&name, format!("{name} {r}, {a}, {b}{c}; {out}"));
}

fn choices(list: &mut List) {
    for ty in ["u32", "s16", "s64"] {
        let ([a, b, _], (r, out)) = (sources(ty), result(ty));
        list.push(format!("selp.{ty}"), format!("selp.{ty} {r}, {a}, {b}, %pc; {out}"));
        for (ftz, by, c) in [("", "s32", "%rc"), ("", "f32", "%fc"), (".ftz", "f32", "%fc")] {
            let name = format!("slct{ftz}.{ty}.{by}");
            list.push(&name, format!("{name} {r}, {a}, {b}, {c}; {out}"));
        }
    }
    for logic in ["or", "and"] {
        let name = format!("lop3.{logic}.b32");
        let out = "cvt.u64.u32 %x, %r0; selp.b64 %y, 1, 0, %p;";
        list.push(&name, format!("{name} %r0|%p, %ra, %rb, %rc, 0x96, %pc; {out}"));
    }
    for op in ["min", "max"] {
        list.plain(&format!("{op}.s32.relu"), "s32", 2);
        list.plain(&format!("{op}.relu.s16x2"), "s16x2", 2);
    }
}

/// Of the scalar video instructions what `op_vectors` has not.
fn video(list: &mut List) {
    let out = "cvt.u64.u32 %x, %r0;";
    for op in ["vshl", "vshr"] {
        for second in ["min", "max", "add"] {
            let name = format!("{op}.s32.u32.u32.sat.wrap.{second}");
            list.push(&name, format!("{name} %r0, %ra, %rb, %rc; {out}"));
        }
    }
    for compare in ["ne", "le", "gt"] {
        let name = format!("vset.s32.u32.{compare}");
        list.push(&name, format!("{name} %r0, %ra, %rb; {out}"));
        for second in ["min", "max", "add"] {
            let name = format!("{name}.{second}");
            list.push(&name, format!("{name} %r0, %ra, %rb, %rc; {out}"));
        }
    }
}

/// `.v2` to `.v8` in global memory, up to 16 bytes.
fn vector_atomics(list: &mut List) {
    let before = "xor.b32 %r12, %ra, %rb; xor.b32 %r13, %rb, %rc; xor.b32 %r14, %rc, %rd; not.b32 %r15, %r12;";
    for n in [2, 4] {
        let vector = |names: [&str; 4]| format!("{{{}}}", names[..n].join(", "));
        let ins = vector(["%fa", "%fb", "%fc", "%fa"]);
        let name = format!("global.add.v{n}.f32");
        let outs = vector(["%f0", "%f1", "%f2", "%f3"]);
        let sum = match n {
            2 => "mov.b64 %x, {%f0, %f1};",
            _ => "mov.b64 %x, {%f0, %f1}; mov.b64 %y, {%f2, %f3};",
        };
        list.push(format!("atom.{name}"), format!("atom.{name} {outs}, [%own], {ins}; {sum}"));
        for op in ["add", "min", "max"] {
            for ty in ["f16x2", "bf16x2"] {
                let ins = vector(["%r12", "%r13", "%r14", "%r15"]);
                let outs = vector(["%r0", "%r1", "%r2", "%r3"]);
                let got = match n {
                    2 => "mov.b64 %x, {%r0, %r1};",
                    _ => "mov.b64 %x, {%r0, %r1}; mov.b64 %y, {%r2, %r3};",
                };
                let name = format!("global.{op}.noftz.v{n}.{ty}");
                let body = format!("{before} atom.{name} {outs}, [%own], {ins}; {got}");
                list.push(format!("atom.{name}"), body);
                if name != "global.add.noftz.v2.f16x2" {
                    let body = format!("{before} red.{name} [%own], {ins};");
                    list.push(format!("red.{name}"), body);
                }
            }
        }
    }
    for n in [2, 4, 8] {
        let all = ["%ha", "%hb", "%hc", "%hb", "%hc", "%ha", "%hb", "%ha"];
        let ins = format!("{{{}}}", all[..n].join(", "));
        let outs: Vec<String> = (0..n).map(|i| format!("%h{i}")).collect();
        let outs = format!("{{{}}}", outs.join(", "));
        let got = match n {
            2 => "mov.b32 %r0, {%h0, %h1}; cvt.u64.u32 %x, %r0;",
            4 => "mov.b64 %x, {%h0, %h1, %h2, %h3};",
            _ => "mov.b64 %x, {%h0, %h1, %h2, %h3}; mov.b64 %y, {%h4, %h5, %h6, %h7};",
        };
        for op in ["add", "min", "max"] {
            for ty in ["f16", "bf16"] {
                let name = format!("global.{op}.noftz.v{n}.{ty}");
                list.push(
                    format!("atom.{name}"),
                    format!("atom.{name} {outs}, [%own], {ins}; {got}"),
                );
                list.push(format!("red.{name}"), format!("red.{name} [%own], {ins};"));
            }
        }
    }
}

fn warp_wide(list: &mut List) {
    list.push("elect.sync", "elect.sync %r0|%p, %m; cvt.u64.u32 %x, %r0; selp.b64 %y, 1, 0, %p;");
    list.push(
        "activemask.b32",
        "bar.warp.sync %m; activemask.b32 %r0; and.b32 %r0, %r0, %m; cvt.u64.u32 %x, %r0;",
    );
    for (op, more) in [("and", ""), ("or", " !")] {
        for aligned in ["", ".aligned"] {
            let not = more.trim_start();
            let name = format!("barrier.cta.red.{op}{aligned}.pred");
            list.full(
                format!("{name}{more}"),
                format!("{name} %q, 1, 32, {not}%pa; selp.b64 %x, 1, 0, %q;"),
            );
        }
        let name = format!("bar.cta.red.{op}.pred");
        list.full(
            format!("{name}{more}"),
            format!("{name} %q, 1, 32, {}%pa; selp.b64 %x, 1, 0, %q;", more.trim_start()),
        );
    }
    for name in ["bar.cta.red.popc.u32", "barrier.cta.red.popc.aligned.u32"] {
        list.full(name, format!("{name} %r0, 2, 32, %pb; cvt.u64.u32 %x, %r0;"));
    }
}

/// Loads and stores: the types, caches, orders and spaces that the first list has not.
fn accesses(list: &mut List) {
    let words = "mov.b64 %x, {%r0, %r1};";
    let mut load = |space: &str, name: &str, to: &str, out: &str| {
        let body = format!("{name} {to}, [%own]; {out}");
        if space == "shared" { list.shared(name, body) } else { list.push(name, body) }
    };
    for space in ["global", "shared"] {
        for ty in ["u64", "s64"] {
            load(space, &format!("ld.{space}.{ty}"), "%w0", "mov.b64 %x, %w0;");
            let both = "mov.b64 %x, %w0; mov.b64 %y, %w1;";
            load(space, &format!("ld.{space}.v2.{ty}"), "{%w0, %w1}", both);
        }
        load(space, &format!("ld.{space}.s32"), "%r0", "cvt.s64.s32 %x, %r0;");
        load(space, &format!("ld.{space}.v2.s32"), "{%r0, %r1}", words);
        let four = "mov.b64 %x, {%r0, %r1}; mov.b64 %y, {%r2, %r3};";
        load(space, &format!("ld.{space}.v4.s32"), "{%r0, %r1, %r2, %r3}", four);
        for how in
            ["volatile", "weak", "relaxed.cta", "relaxed.gpu", "acquire.sys", "acquire.cluster"]
        {
            load(space, &format!("ld.{how}.{space}.v2.u32"), "{%r0, %r1}", words);
        }
    }
    load("shared", "ld.shared::cta.v2.u32", "{%r0, %r1}", words);
    for how in [
        "global.ca",
        "global.cg",
        "global.cs",
        "global.lu",
        "global.cv",
        "global.L2::64B",
        "global.L2::128B",
        "global.L2::256B",
        "global.L1::no_allocate",
        "global.L1::evict_first",
        "global.nc",
        "global.ca.nc",
        "global.cg.nc",
        "global.cs.nc",
        "global.nc.L1::no_allocate",
    ] {
        load("global", &format!("ld.{how}.v2.u32"), "{%r0, %r1}", words);
    }
    load("global", "ldu.global.v2.u32", "{%r0, %r1}", words);
    let mut store = |space: &str, name: &str, from: &str| {
        let body = format!("{name} [%own], {from};");
        if space == "shared" { list.shared(name, body) } else { list.push(name, body) }
    };
    for space in ["global", "shared"] {
        for ty in ["u64", "s64"] {
            store(space, &format!("st.{space}.{ty}"), "%a");
            store(space, &format!("st.{space}.v2.{ty}"), "{%a, %b}");
        }
        store(space, &format!("st.{space}.s32"), "%ra");
        store(space, &format!("st.{space}.v4.s32"), "{%ra, %rb, %rc, %rd}");
        store(space, &format!("st.{space}.b16"), "%ha");
        store(space, &format!("st.{space}.v4.b16"), "{%ha, %hb, %hc, %ha}");
        for how in
            ["volatile", "weak", "relaxed.cta", "relaxed.gpu", "release.sys", "release.cluster"]
        {
            store(space, &format!("st.{how}.{space}.v2.u32"), "{%ra, %rb}");
        }
    }
    store("shared", "st.shared::cta.v2.u32", "{%ra, %rb}");
    for how in ["wb", "cg", "cs", "wt", "L1::no_allocate"] {
        store("global", &format!("st.global.{how}.v2.u32"), "{%ra, %rb}");
    }
    let local = ".local .align 16 .b8 mine[16];";
    list.push(
        "st.local.v4.u32",
        format!(
            "{{ {local} st.local.v4.u32 [mine], {{%ra, %rb, %rc, %rd}}; \
             ld.local.v2.u64 {{%x, %y}}, [mine]; }}"
        ),
    );
    for space in ["global", "shared"] {
        let mut both = |name: String, body: String| {
            if space == "shared" { list.shared(name, body) } else { list.push(name, body) }
        };
        let load = format!("ld.{space}.b128");
        let body =
            format!("{{ .reg .b128 %big; {load} %big, [%own]; mov.b128 {{%x, %y}}, %big; }}");
        both(load, body);
        let store = format!("st.{space}.b128");
        let body =
            format!("{{ .reg .b128 %big; mov.b128 %big, {{%a, %b}}; {store} [%own], %big; }}");
        both(store, body);
    }
}
