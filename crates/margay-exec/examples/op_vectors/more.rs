// SPDX-License-Identifier: MIT OR Apache-2.0
//! The second list of forms: integers of all types, packed halves and integers, conversions between
//! integers and to and from narrow floats, and the other orders, rounding and saturation of the first.

use super::{Form, ROUNDINGS};

const INTEGERS: [(&str, &str); 6] = [
    ("u16", "b16"),
    ("s16", "b16"),
    ("u32", "b32"),
    ("s32", "b32"),
    ("u64", "b64"),
    ("s64", "b64"),
];

/// Registers for the types of conversions: bytes sit in words.
const WIDTHS: [(&str, &str); 8] = [
    ("u8", "b32"),
    ("s8", "b32"),
    ("u16", "b16"),
    ("s16", "b16"),
    ("u32", "b32"),
    ("s32", "b32"),
    ("u64", "b64"),
    ("s64", "b64"),
];

pub fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    integers(&mut all);
    carries(&mut all);
    conversions(&mut all);
    narrow_floats(&mut all);
    floats(&mut all);
    packed(&mut all);
    simd_video(&mut all);
    all
}

fn push(all: &mut Vec<Form>, opcode: impl Into<String>, out: &'static str, ins: &[&'static str]) {
    let operands: Vec<String> = (0..=ins.len()).map(|i| format!("%{i}")).collect();
    let text = format!("{} {}", opcode.into(), operands.join(", "));
    all.push(Form { text, outs: vec![out], ins: ins.to_vec() });
}

fn integers(all: &mut Vec<Form>) {
    for (ty, reg) in INTEGERS {
        for op in ["add", "sub", "mul.lo"] {
            push(all, format!("{op}.{ty}"), reg, &[reg; 2]);
        }
        push(all, format!("mad.lo.{ty}"), reg, &[reg; 3]);
        let wide = match reg {
            "b16" => Some("b32"),
            "b32" => Some("b64"),
            _ => None,
        };
        if let Some(wide) = wide {
            push(all, format!("mul.wide.{ty}"), wide, &[reg; 2]);
            push(all, format!("mad.wide.{ty}"), wide, &[reg, reg, wide]);
        }
        if ty.starts_with('s') {
            push(all, format!("abs.{ty}"), reg, &[reg]);
            push(all, format!("neg.{ty}"), reg, &[reg]);
        }
    }
    for ty in ["u32", "s32"] {
        for mode in ["lo", "hi"] {
            push(all, format!("mul24.{mode}.{ty}"), "b32", &["b32"; 2]);
            push(all, format!("mad24.{mode}.{ty}"), "b32", &["b32"; 3]);
        }
        for other in ["u32", "s32"] {
            push(all, format!("dp4a.{ty}.{other}"), "b32", &["b32"; 3]);
            for mode in ["lo", "hi"] {
                push(all, format!("dp2a.{mode}.{ty}.{other}"), "b32", &["b32"; 3]);
            }
        }
        for mode in ["clamp", "wrap"] {
            push(all, format!("szext.{mode}.{ty}"), "b32", &["b32"; 2]);
        }
    }
    for direction in ["l", "r"] {
        for mode in ["clamp", "wrap"] {
            push(all, format!("shf.{direction}.{mode}.b32"), "b32", &["b32"; 3]);
        }
    }
    for mode in ["rc8", "rc16"] {
        push(all, format!("prmt.b32.{mode}"), "b32", &["b32"; 3]);
    }
    for op in ["min", "max"] {
        push(all, format!("{op}.relu.s32"), "b32", &["b32"; 2]);
        push(all, format!("{op}.u16x2"), "b32", &["b32"; 2]);
        push(all, format!("{op}.s16x2"), "b32", &["b32"; 2]);
        push(all, format!("{op}.s16x2.relu"), "b32", &["b32"; 2]);
    }
    for ty in ["u16x2", "s16x2"] {
        push(all, format!("add.{ty}"), "b32", &["b32"; 2]);
    }
}

/// The carry is no operand, so a second instruction shows it.
fn carries(all: &mut Vec<Form>) {
    for (ty, reg) in [("u32", "b32"), ("s32", "b32"), ("u64", "b64"), ("s64", "b64")] {
        for (first, second) in [("add", "addc"), ("sub", "subc")] {
            let text = format!(
                "{first}.cc.{ty} %0, %2, %3; {second}.cc.{ty} %0, %0, %4; {second}.{ty} %1, %2, 0"
            );
            all.push(Form { text, outs: vec![reg; 2], ins: vec![reg; 3] });
        }
        for (first, second) in [("lo", "hi"), ("hi", "lo")] {
            let text = format!(
                "mad.{first}.cc.{ty} %0, %2, %3, %4; madc.{second}.cc.{ty} %1, %2, %3, %4; \
                 addc.{ty} %0, %0, 0"
            );
            all.push(Form { text, outs: vec![reg; 2], ins: vec![reg; 3] });
        }
    }
}

/// Whether an integer type has all values of another.
fn holds(to: &str, from: &str) -> bool {
    let bits = |ty: &str| ty[1..].parse::<u32>().expect("a width");
    match (to.starts_with('s'), from.starts_with('s')) {
        (true, false) => bits(to) > bits(from),
        (false, true) => false,
        (true, true) | (false, false) => bits(to) >= bits(from),
    }
}

fn conversions(all: &mut Vec<Form>) {
    for (to, out) in WIDTHS {
        for (from, reg) in WIDTHS {
            push(all, format!("cvt.{to}.{from}"), out, &[reg]);
            // ptxas refuses what can never saturate.
            if !holds(to, from) {
                push(all, format!("cvt.sat.{to}.{from}"), out, &[reg]);
            }
        }
        for from in ["f32", "f64"] {
            push(all, format!("cvt.rzi.sat.{to}.{from}"), out, &[from]);
        }
        push(all, format!("cvt.rni.ftz.{to}.f32"), out, &["f32"]);
    }
    for (from, reg) in [("u8", "b32"), ("s8", "b32"), ("u16", "b16")] {
        for (to, out) in [("f16", "b16"), ("bf16", "b16"), ("f32", "f32"), ("f64", "f64")] {
            // As with bf16 to 8 bits: the manual lists it, but no version of ptxas takes it.
            if to == "bf16" && from != "u16" {
                continue;
            }
            for r in ROUNDINGS {
                push(all, format!("cvt.{r}.{to}.{from}"), out, &[reg]);
            }
        }
    }
    for r in ROUNDINGS {
        push(all, format!("cvt.{r}.sat.f32.f64"), "f32", &["f64"]);
        push(all, format!("cvt.{r}.ftz.f32.f64"), "f32", &["f64"]);
        push(all, format!("cvt.{r}.sat.f16.f32"), "b16", &["f32"]);
        push(all, format!("cvt.{r}.sat.f32.s32"), "f32", &["b32"]);
        push(all, format!("cvt.{r}i.ftz.f32.f32"), "f32", &["f32"]);
        push(all, format!("cvt.{r}i.sat.f32.f32"), "f32", &["f32"]);
        push(all, format!("cvt.{r}i.sat.f64.f64"), "f64", &["f64"]);
    }
    for (text, out, from) in [
        ("cvt.sat.f64.f64", "f64", "f64"),
        ("cvt.sat.f16.f16", "b16", "f16"),
        ("cvt.sat.f32.f16", "f32", "f16"),
        ("cvt.ftz.f32.f16", "f32", "f16"),
        ("cvt.sat.f64.f32", "f64", "f32"),
        ("cvt.ftz.f64.f32", "f64", "f32"),
        ("cvt.f64.f64", "f64", "f64"),
        ("cvt.f32.f32", "f32", "f32"),
        ("cvt.f16.f16", "b16", "f16"),
        ("cvt.rn.f16.bf16", "b16", "bf16"),
        ("cvt.rn.bf16.f16", "b16", "f16"),
    ] {
        push(all, text, out, &[from]);
    }
    for ty in ["u16", "s16"] {
        push(all, format!("cvt.pack.sat.{ty}.s32"), "b32", &["b32"; 2]);
    }
    for ty in ["u8", "s8", "u4", "s4", "u2", "s2"] {
        push(all, format!("cvt.pack.sat.{ty}.s32.b32"), "b32", &["b32"; 3]);
    }
}

fn narrow_floats(all: &mut Vec<Form>) {
    for r in ["rn", "rz"] {
        for more in ["", ".relu", ".satfinite", ".relu.satfinite"] {
            for half in ["f16", "bf16"] {
                push(all, format!("cvt.{r}{more}.{half}.f32"), "b16", &["f32"]);
                push(all, format!("cvt.{r}{more}.{half}x2.f32"), "b32", &["f32"; 2]);
            }
        }
    }
    push(all, "cvt.rna.satfinite.tf32.f32", "b32", &["f32"]);
    for ty in ["e4m3x2", "e5m2x2"] {
        for relu in ["", ".relu"] {
            push(all, format!("cvt.rn.satfinite{relu}.{ty}.f16x2"), "b16", &["f16x2"]);
            push(all, format!("cvt.rn{relu}.f16x2.{ty}"), "b32", &["b16"]);
        }
    }
}

fn floats(all: &mut Vec<Form>) {
    // Without a direction they round to nearest; alone in a kernel there is nothing to fuse with.
    for op in ["add", "sub", "mul"] {
        for more in ["", ".ftz", ".sat", ".ftz.sat"] {
            push(all, format!("{op}{more}.f32"), "f32", &["f32"; 2]);
        }
        push(all, format!("{op}.f64"), "f64", &["f64"; 2]);
        push(all, format!("{op}.f16"), "b16", &["f16"; 2]);
        push(all, format!("{op}.bf16"), "b16", &["bf16"; 2]);
    }
    for r in ROUNDINGS {
        for more in ["", ".ftz", ".sat"] {
            push(all, format!("mad.{r}{more}.f32"), "f32", &["f32"; 3]);
        }
        push(all, format!("mad.{r}.f64"), "f64", &["f64"; 3]);
    }
    for op in ["abs", "neg"] {
        push(all, format!("{op}.ftz.f32"), "f32", &["f32"]);
        push(all, format!("{op}.ftz.f16"), "b16", &["f16"]);
    }
    push(all, "copysign.f32", "f32", &["f32"; 2]);
    push(all, "copysign.f64", "f64", &["f64"; 2]);
}

fn packed(all: &mut Vec<Form>) {
    let f16 = "f16x2";
    let bf16 = "bf16x2";
    for op in ["add", "sub", "mul"] {
        for more in ["", ".ftz", ".sat", ".ftz.sat"] {
            push(all, format!("{op}.rn{more}.f16x2"), "b32", &[f16; 2]);
        }
        push(all, format!("{op}.rn.bf16x2"), "b32", &[bf16; 2]);
    }
    for more in ["", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"] {
        push(all, format!("fma.rn{more}.f16x2"), "b32", &[f16; 3]);
    }
    for more in ["", ".relu"] {
        push(all, format!("fma.rn{more}.bf16x2"), "b32", &[bf16; 3]);
    }
    for op in ["min", "max"] {
        for more in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
            for ftz in ["", ".ftz"] {
                push(all, format!("{op}{ftz}{more}.f16x2"), "b32", &[f16; 2]);
            }
            push(all, format!("{op}{more}.bf16x2"), "b32", &[bf16; 2]);
        }
    }
    for op in ["abs", "neg"] {
        push(all, format!("{op}.f16x2"), "b32", &[f16]);
        push(all, format!("{op}.ftz.f16x2"), "b32", &[f16]);
        push(all, format!("{op}.bf16x2"), "b32", &[bf16]);
    }
}

fn simd_video(all: &mut Vec<Form>) {
    let types = ["u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "u32.s32.u32"];
    for n in ["2", "4"] {
        for ty in types {
            for more in ["", ".sat", ".add"] {
                for op in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"] {
                    // The sum of the lanes is added to the third operand.
                    push(all, format!("{op}{n}.{ty}{more}"), "b32", &["b32"; 3]);
                }
            }
        }
        for ty in ["u32.u32", "s32.s32", "u32.s32"] {
            for compare in ["eq", "ne", "lt", "le", "gt", "ge"] {
                push(all, format!("vset{n}.{ty}.{compare}"), "b32", &["b32"; 3]);
                push(all, format!("vset{n}.{ty}.{compare}.add"), "b32", &["b32"; 3]);
            }
        }
    }
    for text in [
        "vadd2.u32.u32.u32 %0.h1, %1.h02, %2.h31, %3",
        "vsub2.s32.s32.s32.sat %0.h0, %1.h13, %2.h20, %3",
        "vadd4.u32.u32.u32 %0.b20, %1.b7610, %2.b5432, %3",
        "vmax4.s32.s32.s32 %0.b3, %1.b3210, %2.b0123, %3",
    ] {
        all.push(Form { text: text.into(), outs: vec!["b32"], ins: vec!["b32"; 3] });
    }
}
