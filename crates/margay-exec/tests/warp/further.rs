// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forms recorded later: 128-bit atomics, shared memory of another block and what is asynchronous there, barriers seen
//! by what they order, state spaces with a variable or a call, orders of the same words, and shuffles and votes of the
//! targets that had them without a mask.

use super::forms::List;
use super::{Form, Kind};

/// The words of a form in the order of its second syntax line.
const REORDERED: [(&str, &str); 10] = [
    ("atom.global.relaxed.gpu.add.u32", "%r0, [%own], %ra"),
    ("atom.global.relaxed.gpu.cas.b32", "%r0, [%own], %ra, %rb"),
    ("atom.global.acquire.sys.exch.b32", "%r0, [%own], %ra"),
    ("ld.global.relaxed.gpu.u32", "%r0, [%own]"),
    ("ld.global.acquire.sys.u32", "%r0, [%own]"),
    ("ld.global.volatile.u32", "%r0, [%own]"),
    ("ld.global.nc.ca.u32", "%r0, [%own]"),
    ("match.sync.any.b32", "%r0, %r1, %m"),
    ("match.sync.all.b32", "%r0|%p, %r1, %m"),
    ("vote.ballot.sync.b32", "%r0, %pa, %m"),
];

pub(super) fn all(list: &mut List) {
    wide_atomics(list);
    longer_names(list);
    other_blocks(list);
    asynchronous(list);
    barriers(list);
    spaces(list);
    orders(list);
    uniform_loads(list);
    without_mask(list);
    zero_for_outside(list);
}

fn kind(list: &mut List, name: &str, body: String, kind: Kind) {
    // A barrier of two warps counts all their lanes.
    let full = matches!(kind, Kind::Warps { .. });
    list.add(Form { name: name.to_owned(), body, full, shared: false, kind });
}

fn wide_atomics(list: &mut List) {
    let big = ".reg .b128 %big, %next, %old; mov.b128 %big, {%a, %b};";
    let out = "mov.b128 {%x, %y}, %old;";
    let mut push = |space: &str, name: String, operands: &str, before: &str| {
        let body = format!("{{ {big} {before} {name} %old, [%own], {operands}; {out} }}");
        if space == "shared" { list.shared(name, body) } else { list.push(name, body) }
    };
    for space in ["global", "shared"] {
        for how in ["", ".relaxed.cta", ".acquire.gpu", ".release.sys", ".acq_rel.cluster"] {
            push(space, format!("atom{how}.{space}.exch.b128"), "%big", "");
            // Half of the lanes compare with what is there.
            let before = "mov.b128 %next, {%c, %d}; @%pa ld.#.b128 %big, [%own];";
            let before = before.replace('#', space);
            push(space, format!("atom{how}.{space}.cas.b128"), "%big, %next", &before);
        }
    }
    // What the two halves compare: only one of them differs.
    for half in ["{%a, %w1}", "{%w0, %b}", "{%w0, %w1}"] {
        let before = format!(
            "mov.b128 %next, {{%c, %d}}; ld.global.v2.u64 {{%w0, %w1}}, [%own]; mov.b128 %big, {half};"
        );
        let name = "atom.global.cas.b128";
        let body = format!("{{ {big} {before} {name} %old, [%own], %big, %next; {out} }}");
        list.push(format!("{name} {half}"), body);
    }
}

/// Shared memory of the own block by its longer names.
fn longer_names(list: &mut List) {
    for space in ["shared::cta", "shared::cluster"] {
        let out = "cvt.u64.u32 %x, %r0;";
        for op in ["add.u32", "exch.b32", "max.s32", "and.b32"] {
            let name = format!("atom.{space}.{op}");
            list.shared(&name, format!("{name} %r0, [%own], %ra; {out}"));
            if op != "exch.b32" {
                let name = format!("red.{space}.{op}");
                list.shared(&name, format!("{name} [%all], %ra;"));
            }
        }
        let name = format!("atom.{space}.cas.b32");
        let found = "ld.shared.u32 %r1, [%own]; @%pa mov.b32 %r1, %rc;";
        list.shared(&name, format!("{found} {name} %r0, [%own], %r1, %rb; {out}"));
        for ty in ["f16", "f16x2", "bf16", "bf16x2"] {
            let (to, from, out) = match ty {
                "f16" | "bf16" => ("%h0", "%ha", "cvt.u64.u16 %x, %h0;"),
                _ => ("%r0", "%r1", out),
            };
            let name = format!("atom.{space}.add.noftz.{ty}");
            list.shared(
                &name,
                format!("xor.b32 %r1, %ra, %rb; {name} {to}, [%own], {from}; {out}"),
            );
            let name = format!("red.{space}.add.noftz.{ty}");
            list.shared(&name, format!("xor.b32 %r1, %ra, %rb; {name} [%own], {from};"));
        }
        let name = format!("atom.{space}.exch.b128");
        let body = format!(
            "{{ .reg .b128 %big, %old; mov.b128 %big, {{%a, %b}}; {name} %old, [%own], %big; \
             mov.b128 {{%x, %y}}, %old; }}"
        );
        list.shared(&name, body);
        let name = format!("atom.{space}.cas.b128");
        let body = format!(
            "{{ .reg .b128 %big, %next, %old; mov.b128 %big, {{%a, %b}}; mov.b128 %next, {{%c, %d}}; \
             @%pa ld.shared.b128 %big, [%own]; {name} %old, [%own], %big, %next; mov.b128 {{%x, %y}}, %old; }}"
        );
        list.shared(&name, body);
    }
}

/// Loads, stores and atomics in the shared memory of the cluster's other block.
fn other_blocks(list: &mut List) {
    let mut push = |name: &str, body: String| kind(list, name, body, Kind::Cluster { bytes: 0 });
    for (ty, one) in [("u8", "%r0"), ("s16", "%r0"), ("u32", "%r0"), ("s64", "%w0"), ("f64", "%e0")]
    {
        let out = match one {
            "%r0" => "cvt.u64.u32 %x, %r0;",
            "%w0" => "mov.b64 %x, %w0;",
            _ => "mov.b64 %x, %e0;",
        };
        let name = format!("ld.shared::cluster.{ty}");
        push(&name, format!("{name} {one}, [%own]; {out}"));
        let from = match one {
            "%r0" => "%ra",
            "%w0" => "%a",
            _ => "%ea",
        };
        let name = format!("st.shared::cluster.{ty}");
        push(&name, format!("{name} [%own], {from};"));
    }
    let four = "mov.b64 %x, {%r0, %r1}; mov.b64 %y, {%r2, %r3};";
    let name = "ld.shared::cluster.v4.u32";
    push(name, format!("{name} {{%r0, %r1, %r2, %r3}}, [%own]; {four}"));
    let name = "st.shared::cluster.v4.u32";
    push(name, format!("{name} [%own], {{%ra, %rb, %rc, %rd}};"));
    for how in ["volatile", "relaxed.cluster", "acquire.cluster", "weak"] {
        let name = format!("ld.{how}.shared::cluster.v2.u32");
        push(&name, format!("{name} {{%r0, %r1}}, [%own]; mov.b64 %x, {{%r0, %r1}};"));
    }
    for how in ["volatile", "relaxed.cluster", "release.cluster", "weak"] {
        let name = format!("st.{how}.shared::cluster.v2.u32");
        push(&name, format!("{name} [%own], {{%ra, %rb}};"));
    }
    let name = "ld.shared::cluster.b128";
    push(name, format!("{{ .reg .b128 %big; {name} %big, [%own]; mov.b128 {{%x, %y}}, %big; }}"));
    let name = "st.shared::cluster.b128";
    push(name, format!("{{ .reg .b128 %big; mov.b128 %big, {{%a, %b}}; {name} [%own], %big; }}"));
    for op in ["add.u32", "min.s32", "xor.b32", "inc.u32", "exch.b32"] {
        let name = format!("atom.relaxed.cluster.shared::cluster.{op}");
        push(&name, format!("{name} %r0, [%own], %ra; cvt.u64.u32 %x, %r0;"));
        if op != "exch.b32" {
            let name = format!("red.relaxed.cluster.shared::cluster.{op}");
            push(&name, format!("{name} [%all], %ra;"));
        }
    }
    for op in ["add.u64", "max.s64"] {
        let name = format!("atom.shared::cluster.{op}");
        push(&format!("{name} of another"), format!("{name} %w0, [%own], %a; mov.b64 %x, %w0;"));
    }
    let name = "mapa.shared::cluster.u64";
    // The rank of the block that an address belongs to, and whether mapping is the same from both sides.
    push(
        name,
        format!(
            "and.b32 %r1, %ra, 1; {name} %w0, %near, %r1; \
             getctarank.shared::cluster.u64 %r0, %w0; cvt.u64.u32 %x, %r0;"
        ),
    );
}

fn asynchronous(list: &mut List) {
    let mech = "mbarrier::complete_tx::bytes";
    for (ty, from) in [
        ("b32", ["%ra", "%rb", "%rc", "%rd"]),
        ("u32", ["%rb", "%rc", "%rd", "%ra"]),
        ("s32", ["%rc", "%rd", "%ra", "%rb"]),
        ("f32", ["%fa", "%fb", "%fc", "%fa"]),
        ("b64", ["%a", "%b", "", ""]),
        ("u64", ["%b", "%c", "", ""]),
        ("s64", ["%c", "%d", "", ""]),
        ("f64", ["%ea", "%eb", "", ""]),
    ] {
        let size: u32 = if ty.ends_with("32") { 4 } else { 8 };
        for n in [1u32, 2, 4].into_iter().filter(|n| n * size <= 16) {
            let (vector, values) = match n {
                1 => (String::new(), from[0].to_owned()),
                _ => (format!(".v{n}"), format!("{{{}}}", from[..n as usize].join(", "))),
            };
            for weak in if ty == "b32" { &["", ".weak"][..] } else { &[".weak"] } {
                let name = format!("st.async{weak}.shared::cluster.{mech}{vector}.{ty}");
                let body = format!("{name} [%own], {values}, [%far];");
                kind(list, &name, body, Kind::Cluster { bytes: n * size });
            }
        }
    }
    for (op, from) in [
        ("inc.u32", "%ra"),
        ("dec.u32", "%ra"),
        ("min.u32", "%ra"),
        ("min.s32", "%rb"),
        ("max.u32", "%ra"),
        ("max.s32", "%rb"),
        ("and.b32", "%rc"),
        ("or.b32", "%rc"),
        ("xor.b32", "%rd"),
        ("add.u32", "%ra"),
        ("add.s32", "%rb"),
        ("add.u64", "%a"),
    ] {
        let name = format!("red.async.relaxed.cluster.shared::cluster.{mech}.{op}");
        // What counts to a bound gives the same in any order where each lane has a place of its own.
        let place = if op.ends_with("c.u32") { "%own" } else { "%all" };
        let bytes = if op.ends_with("64") { 8 } else { 4 };
        kind(list, &name, format!("{name} [{place}], {from}, [%far];"), Kind::Cluster { bytes });
    }
}

/// Barriers by the accesses that they order: what the lanes of another warp or block stored before.
fn barriers(list: &mut List) {
    let store = "st.shared.v2.u64 [%own], {%a, %b};";
    // From the lane on the other side.
    let load = "xor.b32 %u, %lane, 31; mul.wide.u32 %o, %u, 16; add.u64 %o, %mem, %o; add.u64 %o, %o, 512; \
                ld.shared.v2.u64 {%x, %y}, [%o];";
    for name in
        ["bar.sync 0;", "bar.cta.sync 1, 64;", "barrier.sync 2;", "barrier.cta.sync.aligned 3, 64;"]
    {
        let other = format!("{store} {name}");
        kind(list, name, format!("{name} {load}"), Kind::Warps { other });
    }
    for (arrive, wait) in [
        ("bar.arrive 1, 64;", "bar.sync 1, 64;"),
        ("bar.cta.arrive 2, 64;", "bar.cta.sync 2, 64;"),
        ("barrier.arrive 3, 64;", "barrier.sync 3, 64;"),
        ("barrier.cta.arrive.aligned 4, 64;", "barrier.cta.sync.aligned 4, 64;"),
    ] {
        let other = format!("{store} {arrive}");
        kind(list, arrive, format!("{wait} {load}"), Kind::Warps { other });
    }
    for (arrive, wait) in [
        ("barrier.cluster.arrive", "barrier.cluster.wait"),
        ("barrier.cluster.arrive.release", "barrier.cluster.wait.acquire"),
        ("barrier.cluster.arrive.release.aligned", "barrier.cluster.wait.acquire.aligned"),
        ("barrier.cluster.arrive.aligned", "barrier.cluster.wait.aligned"),
    ] {
        let body = format!(
            "st.shared::cluster.v2.u64 [%own], {{%a, %b}}; {arrive}; {wait}; \
             xor.b32 %u, %lane, 31; mul.wide.u32 %o, %u, 16; add.u64 %o, %near, %o; add.u64 %o, %o, 512; \
             ld.shared.v2.u64 {{%x, %y}}, [%o];"
        );
        list.add(Form {
            name: arrive.to_owned(),
            body,
            full: true,
            shared: false,
            kind: Kind::Cluster { bytes: 0 },
        });
    }
    // Relaxed: a fence orders.
    let body = "st.shared::cluster.v2.u64 [%own], {%a, %b}; fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; \
                barrier.cluster.wait; fence.acq_rel.cluster; add.u64 %o, %near, 512; mul.wide.u32 %v, %lane, 16; \
                add.u64 %o, %o, %v; ld.shared.v2.u64 {%x, %y}, [%o];";
    list.add(Form {
        name: "barrier.cluster.arrive.relaxed".into(),
        body: body.into(),
        full: true,
        shared: false,
        kind: Kind::Cluster { bytes: 0 },
    });
}

/// Spaces that need a variable, a parameter or a call.
fn spaces(list: &mut List) {
    let place = "and.b32 %u, %ra, 48; cvt.u64.u32 %o, %u; mov.u64 %v, fixed; add.u64 %o, %o, %v;";
    for (name, to, out) in [
        ("ld.const.u32", "%r0", "cvt.u64.u32 %x, %r0;"),
        ("ld.const.s16", "%r0", "cvt.u64.u32 %x, %r0;"),
        ("ld.const.v2.u64", "{%x, %y}", ""),
        (
            "ld.const.v4.u8",
            "{%r0, %r1, %r2, %r3}",
            "mov.b64 %x, {%r0, %r1}; mov.b64 %y, {%r2, %r3};",
        ),
    ] {
        list.push(name, format!("{place} {name} {to}, [%o]; {out}"));
    }
    for name in ["ld.param.u64", "ld.param::entry.u64"] {
        // Where the card's memory lies is not to be seen: only that both words are alike.
        let body = format!("{name} %w0, [pmem]; ld.param.u64 %w1, [pmem]; sub.u64 %x, %w0, %w1;");
        list.push(name, body);
    }
    for (name, store, load) in [
        ("call", "st.param.b64", "ld.param.b64"),
        ("call with ::func", "st.param::func.b64", "ld.param::func.b64"),
    ] {
        list.push(
            name,
            format!(
                "{{ .param .b64 in; .param .b64 back; {store} [in], %a; \
                 call.uni (back), turn, (in); {load} %x, [back]; }}"
            ),
        );
    }
}

fn orders(list: &mut List) {
    for (name, operands) in REORDERED {
        let out = if name.contains("match.sync.all") {
            "cvt.u64.u32 %x, %r0; selp.b64 %y, 1, 0, %p;"
        } else {
            "cvt.u64.u32 %x, %r0;"
        };
        list.push(name, format!("and.b32 %r1, %ra, 3; {name} {operands}; {out}"));
    }
    for (name, to) in [("match.sync.any.b64", "%r0"), ("match.sync.all.b64", "%r0|%p")] {
        let body = "and.b64 %w1, %a, 3; # %t, %w1, %m; cvt.u64.u32 %x, %r0;";
        list.push(name, body.replace('#', name).replace("%t", to));
    }
    for (name, operands) in [
        ("red.global.relaxed.gpu.add.u32", "[%all], %ra"),
        ("red.global.release.sys.add.u32", "[%all], %ra"),
        ("st.global.relaxed.gpu.u32", "[%own], %ra"),
        ("st.global.release.sys.u32", "[%own], %ra"),
        ("st.global.volatile.u32", "[%own], %ra"),
        ("st.mmio.relaxed.sys.global.u32", "[%own], %ra"),
        ("st.mmio.relaxed.sys.global.u64", "[%own], %a"),
    ] {
        list.push(name, format!("{name} {operands};"));
    }
    for ty in ["f16", "bf16"] {
        let name = format!("atom.global.relaxed.gpu.add.noftz.{ty}");
        list.push(&name, format!("{name} %h0, [%own], %ha; cvt.u64.u16 %x, %h0;"));
        let name = format!("red.global.relaxed.gpu.add.noftz.{ty}");
        list.push(&name, format!("{name} [%own], %ha;"));
    }
    for (name, to, out) in [
        ("ld.mmio.relaxed.sys.global.u32", "%r0", "cvt.u64.u32 %x, %r0;"),
        ("ld.mmio.relaxed.sys.global.u64", "%x", ""),
        ("ld.mmio.relaxed.sys.global.s8", "%r0", "cvt.u64.u32 %x, %r0;"),
    ] {
        list.push(name, format!("{name} {to}, [%own]; {out}"));
    }
}

fn uniform_loads(list: &mut List) {
    for (ty, to) in [
        ("b8", "%r0"),
        ("u8", "%r0"),
        ("s8", "%r0"),
        ("b16", "%r0"),
        ("u16", "%r0"),
        ("s16", "%r0"),
        ("b32", "%r0"),
        ("s32", "%r0"),
        ("f32", "%f0"),
        ("b64", "%w0"),
        ("u64", "%w0"),
        ("s64", "%w0"),
        ("f64", "%e0"),
    ] {
        let out = match to {
            "%r0" => "cvt.u64.u32 %x, %r0;",
            "%f0" => "mov.b32 %r0, %f0; cvt.u64.u32 %x, %r0;",
            "%w0" => "mov.b64 %x, %w0;",
            _ => "mov.b64 %x, %e0;",
        };
        let to = if ty == "b16" || ty == "u16" || ty == "s16" { "%r0" } else { to };
        let name = format!("ldu.global.{ty}");
        list.push(&name, format!("{name} {to}, [%own]; {out}"));
    }
    let name = "ldu.global.v4.u32";
    let four = "mov.b64 %x, {%r0, %r1}; mov.b64 %y, {%r2, %r3};";
    list.push(name, format!("{name} {{%r0, %r1, %r2, %r3}}, [%own]; {four}"));
    let name = "ldu.global.b128";
    list.push(
        name,
        format!("{{ .reg .b128 %big; {name} %big, [%own]; mov.b128 {{%x, %y}}, %big; }}"),
    );
}

/// Shuffles and votes of targets before sm_70, which the driver still takes in their modules.
fn without_mask(list: &mut List) {
    let both = "cvt.u64.u32 %x, %r0; selp.b64 %y, 1, 0, %p;";
    let mut push = |name: String, body: String| {
        list.add(Form { name, body, full: true, shared: false, kind: Kind::Old });
    };
    for mode in ["up", "down", "bfly", "idx"] {
        let name = format!("shfl.{mode}.b32");
        push(name.clone(), format!("{name} %r0|%p, %ra, %rb, %rc; {both}"));
    }
    for mode in ["all", "any", "uni"] {
        let name = format!("vote.{mode}.pred");
        push(name.clone(), format!("{name} %q, %pa; selp.b64 %x, 1, 0, %q;"));
        push(format!("{name} !"), format!("{name} %q, !%pa; selp.b64 %x, 1, 0, %q;"));
    }
    push("vote.ballot.b32".into(), "vote.ballot.b32 %r0, %pa; cvt.u64.u32 %x, %r0;".into());
}

/// `fma.oob`: some lanes hold the NaN of what lies outside of a tensor in one half, some in both.
fn zero_for_outside(list: &mut List) {
    let mix = "@%pa and.b32 %ra, %ra, 0xffff0000; @%pa or.b32 %ra, %ra, 0x7ff7; \
               @%pb and.b32 %rb, %rb, 0xffff; @%pb or.b32 %rb, %rb, 0xfff70000; cvt.u16.u32 %ha, %ra; \
               cvt.u16.u32 %hb, %rb; shr.u32 %r1, %rb, 16; @%pc cvt.u16.u32 %hb, %r1;";
    for relu in ["", ".relu"] {
        for ty in ["f16", "bf16"] {
            let name = format!("fma.rn.oob{relu}.{ty}");
            list.push(&name, format!("{mix} {name} %h0, %ha, %hb, %hc; cvt.u64.u16 %x, %h0;"));
            let name = format!("{name}x2");
            list.push(&name, format!("{mix} {name} %r0, %ra, %rb, %rc; cvt.u64.u32 %x, %r0;"));
        }
    }
}
