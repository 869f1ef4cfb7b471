// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records what a card computes, and compares: one PTX kernel for each arithmetic form, run on all
//! combinations of edge values.
//!
//! ```text
//! cargo run -p margay-exec --example op_vectors > op_vectors.cu       a host program, PTX inside
//! nvcc op_vectors.cu -o op_vectors -lcuda && ./op_vectors > ops.txt   on a machine with a card
//! cargo run -p margay-exec --example op_vectors -- --check ops.txt    differences, exit code 1
//! ```
//!
//! With `--more` the program has the second list of forms, in `more.rs`; its results are a file of their own.
//!
//! The format of the results is described in tests/recorded.

#[path = "../../tests/lane/mod.rs"]
mod lane;
mod more;
#[path = "../../tests/recorded/mod.rs"]
mod recorded;

/// An instruction with its operands' types, results first.
struct Form {
    text: String,
    outs: Vec<&'static str>,
    ins: Vec<&'static str>,
}

/// Bits worth trying for a type; the first eight are those for three sources.
fn edges(ty: &str) -> &'static [u64] {
    match ty {
        "f32" => &[
            0x3f7f_ffff,
            0x0080_0000,
            0x8000_0000,
            0x7fc0_0123,
            0xff80_0000,
            0x3f80_0001,
            0x7f7f_ffff,
            1,
            0,
            0xbfc0_0000,
            0x807f_ffff,
            0x7f80_0000,
            0xff80_0456,
            0x7fff_ffff,
            0x00ff_ffff,
            0x4b00_0001,
            // Their product is just below the smallest normal, and rounds to it.
            0x0080_0400,
            0x3f7f_f800,
        ],
        "f64" => &[
            0x3fef_ffff_ffff_ffff,
            0x0010_0000_0000_0000,
            1 << 63,
            0x7ff8_0000_0000_0123,
            0xfff0_0000_0000_0000,
            0x3ff0_0000_0000_0001,
            0x7fef_ffff_ffff_ffff,
            0xfff8_4560_8000_0456,
            0,
            1,
            0xbff8_0000_0000_0000,
            0x800f_ffff_ffff_ffff,
            0x7ff0_0000_0000_0000,
            0x7ff0_0000_0000_0789,
        ],
        "f16" => &[
            0x3bff, 0x0400, 0x8000, 0x7e01, 0xfc00, 0x3c01, 0x7bff, 1, 0, 0xbe00, 0x83ff, 0x7c00,
            0xfc05, 0x7fff, 0x0408, 0x3bf0,
        ],
        "bf16" => &[
            0x3f7f, 0x0080, 0x8000, 0x7fc1, 0xff80, 0x3f81, 0x7f7f, 1, 0, 0xbfc0, 0x807f, 0x7f80,
            0xff85, 0x7fff,
        ],
        "b16" => &[0, 1, 0x7fff, 0x8000, 0xffff, 5, 0xfffb, 0x00ff],
        "f16x2" => &[
            0x0001_3bff,
            0x3c01_0400,
            0x7e01_8000,
            0xfc00_7e01,
            0x0408_fc00,
            0x8000_3c01,
            0x7bff_7bff,
            0xbe00_0001,
            0x0000_0000,
            0x3bf0_be00,
            0x7c00_83ff,
            0xfc05_7c00,
            0x83ff_fc05,
            0x0400_7fff,
            0x7fff_0408,
            0x3bff_3bf0,
        ],
        "bf16x2" => &[
            0x0001_3f7f,
            0x3f81_0080,
            0x7fc1_8000,
            0xff80_7fc1,
            0x807f_ff80,
            0x8000_3f81,
            0x7f7f_7f7f,
            0xbfc0_0001,
            0x0000_0000,
            0x0080_bfc0,
            0x7f80_807f,
            0xff85_7f80,
            0x3f7f_ff85,
            0x7fff_7fff,
        ],
        "b64" => &[
            0,
            1,
            u64::MAX,
            1 << 63,
            0x7fff_ffff_ffff_ffff,
            0x1234_5678_9abc_def0,
            33,
            0xffff_ffff_0000_0001,
        ],
        _ => &[
            0,
            1,
            0xffff_ffff,
            0x8000_0000,
            0x7fff_ffff,
            0x8091_7f65,
            31,
            33,
            32,
            0x00ff_ff00,
            0xfff6_0003,
            7,
        ],
    }
}

fn combinations(ins: &[&'static str]) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for ty in ins {
        let list = edges(ty);
        let list = match ins.len() {
            ..3 => list,
            3 => &list[..8],
            _ => &list[..6],
        };
        all = all
            .iter()
            .flat_map(|row: &Vec<u64>| {
                list.iter().map(move |&bits| row.iter().copied().chain([bits]).collect())
            })
            .collect();
    }
    all
}

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    let mut push = |opcode: String, out: &'static str, ins: &[&'static str]| {
        let operands: Vec<String> = (0..=ins.len()).map(|i| format!("%{i}")).collect();
        let text = format!("{opcode} {}", operands.join(", "));
        all.push(Form { text, outs: vec![out], ins: ins.to_vec() });
    };
    for r in ROUNDINGS {
        for ftz in ["", ".ftz"] {
            for sat in ["", ".sat"] {
                for op in ["add", "sub", "mul"] {
                    push(format!("{op}.{r}{ftz}{sat}.f32"), "f32", &["f32"; 2]);
                }
                push(format!("fma.{r}{ftz}{sat}.f32"), "f32", &["f32"; 3]);
            }
            push(format!("div.{r}{ftz}.f32"), "f32", &["f32"; 2]);
            push(format!("rcp.{r}{ftz}.f32"), "f32", &["f32"]);
            push(format!("sqrt.{r}{ftz}.f32"), "f32", &["f32"]);
        }
        for op in ["add", "sub", "mul", "div"] {
            push(format!("{op}.{r}.f64"), "f64", &["f64"; 2]);
        }
        push(format!("fma.{r}.f64"), "f64", &["f64"; 3]);
        push(format!("rcp.{r}.f64"), "f64", &["f64"]);
        push(format!("sqrt.{r}.f64"), "f64", &["f64"]);
        for (d, s) in
            [("f32", "f64"), ("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64")]
        {
            push(format!("cvt.{r}.{d}.{s}"), if d == "f32" { d } else { "b16" }, &[s]);
        }
        for d in ["f16", "f32", "f64", "bf16"] {
            let out = if d.ends_with("16") { "b16" } else { d };
            for (s, reg) in
                [("s16", "b16"), ("u32", "b32"), ("s32", "b32"), ("u64", "b64"), ("s64", "b64")]
            {
                push(format!("cvt.{r}.{d}.{s}"), out, &[reg]);
            }
        }
        for (d, out) in [
            ("u8", "b32"),
            ("s8", "b32"),
            ("s16", "b16"),
            ("u32", "b32"),
            ("s32", "b32"),
            ("u64", "b64"),
            ("s64", "b64"),
        ] {
            for s in ["f16", "bf16", "f32", "f64"] {
                // The manual lists bf16 to 8 bits, but no version of ptxas takes it.
                if s != "bf16" || !d.ends_with("8") {
                    push(format!("cvt.{r}i.{d}.{s}"), out, &[s]);
                }
            }
        }
        for s in ["f16", "bf16", "f32", "f64"] {
            push(format!("cvt.{r}i.{s}.{s}"), if s.ends_with("16") { "b16" } else { s }, &[s]);
        }
    }
    for op in ["min", "max"] {
        for ftz in ["", ".ftz"] {
            for more in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
                push(format!("{op}{ftz}{more}.f32"), "f32", &["f32"; 2]);
                push(format!("{op}{ftz}{more}.f16"), "b16", &["f16"; 2]);
            }
        }
        for more in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
            push(format!("{op}{more}.bf16"), "b16", &["bf16"; 2]);
        }
        push(format!("{op}.f64"), "f64", &["f64"; 2]);
    }
    for op in ["add", "sub", "mul"] {
        for more in ["", ".ftz", ".sat", ".ftz.sat"] {
            push(format!("{op}.rn{more}.f16"), "b16", &["f16"; 2]);
        }
        push(format!("{op}.rn.bf16"), "b16", &["bf16"; 2]);
    }
    for more in ["", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"] {
        push(format!("fma.rn{more}.f16"), "b16", &["f16"; 3]);
    }
    for more in ["", ".relu"] {
        push(format!("fma.rn{more}.bf16"), "b16", &["bf16"; 3]);
    }
    for op in ["abs", "neg"] {
        for (ty, out) in [("f16", "b16"), ("bf16", "b16"), ("f32", "f32"), ("f64", "f64")] {
            push(format!("{op}.{ty}"), out, &[ty]);
        }
    }
    for form in ["rna", "rn", "rz", "rn.relu", "rz.relu"] {
        push(format!("cvt.{form}.tf32.f32"), "b32", &["f32"]);
    }
    for (d, s) in [("f64", "f32"), ("f32", "f16"), ("f64", "f16"), ("f32", "bf16"), ("f64", "bf16")]
    {
        push(format!("cvt.{d}.{s}"), d, &[s]);
    }
    push("cvt.sat.f32.f32".into(), "f32", &["f32"]);
    push("cvt.ftz.f32.f32".into(), "f32", &["f32"]);
    push("cvt.rn.ftz.f16.f32".into(), "b16", &["f32"]);
    push("cvt.rn.relu.f16.f32".into(), "b16", &["f32"]);
    push("cvt.rz.satfinite.bf16.f32".into(), "b16", &["f32"]);
    for f8 in ["e4m3x2", "e5m2x2"] {
        push(format!("cvt.rn.satfinite.{f8}.f32"), "b16", &["f32"; 2]);
        push(format!("cvt.rn.satfinite.relu.{f8}.f32"), "b16", &["f32"; 2]);
        push(format!("cvt.rn.f16x2.{f8}"), "b32", &["b16"]);
    }
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        let reg = match &ty[1..] {
            "16" => "b16",
            "32" => "b32",
            _ => "b64",
        };
        for op in ["div", "rem", "mul.hi", "min", "max"] {
            push(format!("{op}.{ty}"), reg, &[reg; 2]);
        }
        push(format!("mad.hi.{ty}"), reg, &[reg; 3]);
        push(format!("sad.{ty}"), reg, &[reg; 3]);
        push(format!("shr.{ty}"), reg, &[reg, "b32"]);
    }
    for ty in ["u32", "s32", "u64", "s64"] {
        let reg = if ty.ends_with("32") { "b32" } else { "b64" };
        push(format!("bfe.{ty}"), reg, &[reg, "b32", "b32"]);
        push(format!("bfind.{ty}"), "b32", &[reg]);
        push(format!("bfind.shiftamt.{ty}"), "b32", &[reg]);
    }
    for op in [
        "mul24.hi.s32",
        "mul24.lo.u32",
        "szext.clamp.s32",
        "szext.wrap.u32",
        "bmsk.clamp.b32",
        "bmsk.wrap.b32",
        "add.sat.s32",
        "sub.sat.s32",
        "add.u16x2",
        "max.s16x2.relu",
        "cvt.pack.sat.u16.s32",
        "vadd.s32.u32.s32.sat",
        "vabsdiff.u32.s32.s32",
        "vset.s32.u32.lt",
        "vshl.u32.u32.u32.sat.clamp",
        "vshl.s32.s32.u32.clamp",
        "vshr.s32.s32.u32.wrap",
    ] {
        push(op.into(), "b32", &["b32"; 2]);
    }
    for op in [
        "mad24.hi.sat.s32",
        "mad.hi.sat.s32",
        "dp4a.s32.u32",
        "dp2a.hi.s32.u32",
        "prmt.b32",
        "prmt.b32.f4e",
        "prmt.b32.b4e",
        "prmt.b32.ecl",
        "prmt.b32.ecr",
        "shf.l.clamp.b32",
        "shf.r.wrap.b32",
        "fns.b32",
        "vadd.u32.u32.u32.max",
        "vsub.s32.u32.u32.min",
        "vmad.s32.u32.s32.sat.shr7",
        "vmad.u32.u32.u32.sat.shr15",
        "vadd2.s32.s32.u32.sat",
        "vavrg4.s32.s32.s32",
        "vabsdiff4.u32.u32.s32.add",
        "vset4.s32.s32.gt",
        "slct.b32.s32",
    ] {
        push(op.into(), "b32", &["b32"; 3]);
    }
    for (text, ins) in [
        ("add.cc.u32 %0, %2, %3; addc.cc.u32 %1, %2, %4; addc.u32 %0, %0, %1", 3),
        ("sub.cc.u32 %0, %2, %3; subc.cc.u32 %1, %2, %4; subc.u32 %0, %0, %1", 3),
        ("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %4", 3),
    ] {
        all.push(Form { text: text.into(), outs: vec!["b32"; 2], ins: vec!["b32"; ins] });
    }
    video(&mut all);
    all
}

/// Scalar video instructions: signs of operands, saturation and second operations.
fn video(all: &mut Vec<Form>) {
    let mut push = |opcode: String, ins: usize| {
        let operands: Vec<String> = (0..=ins).map(|i| format!("%{i}")).collect();
        let text = format!("{opcode} {}", operands.join(", "));
        all.push(Form { text, outs: vec!["b32"], ins: vec!["b32"; ins] });
    };
    let types = ["u32.u32.u32", "s32.s32.s32", "s32.u32.u32", "u32.s32.s32", "s32.s32.u32"];
    for ty in types {
        for sat in ["", ".sat"] {
            for op in ["vadd", "vsub", "vabsdiff", "vmin", "vmax"] {
                push(format!("{op}.{ty}{sat}"), 2);
                for second in ["min", "max", "add"] {
                    push(format!("{op}.{ty}{sat}.{second}"), 3);
                }
            }
        }
    }
    // The amount of a shift is unsigned.
    for ty in ["u32.u32.u32", "s32.s32.u32", "s32.u32.u32", "u32.s32.u32"] {
        for sat in ["", ".sat"] {
            for mode in ["clamp", "wrap"] {
                push(format!("vshl.{ty}{sat}.{mode}"), 2);
                push(format!("vshr.{ty}{sat}.{mode}"), 2);
            }
        }
        for op in ["vshl", "vshr"] {
            push(format!("{op}.{ty}.clamp.max"), 3);
            push(format!("{op}.{ty}.sat.clamp.add"), 3);
        }
    }
    for ty in ["u32.u32", "s32.s32", "u32.s32", "s32.u32"] {
        for cmp in ["lt", "ge", "eq"] {
            push(format!("vset.{ty}.{cmp}"), 2);
            push(format!("vset.{ty}.{cmp}.max"), 3);
        }
    }
    for ty in ["u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "s32.s32.u32"] {
        for more in ["", ".po", ".sat", ".shr7", ".po.sat.shr15"] {
            push(format!("vmad.{ty}{more}"), 3);
        }
    }
    for text in [
        "vmad.s32.u32.u32.sat.shr7 %0, -%1, %2, %3",
        "vmad.s32.u32.u32.sat %0, %1, %2, -%3",
        "vmad.s32.s32.s32.sat.shr15 %0, %1, -%2, %3",
        "vmad.s32.s32.u32.sat %0, %1, %2, -%3",
        "vmad.u32.u32.u32.sat %0, %1.h0, %2.h1, %3",
        "vmad.s32.s32.u32.sat.shr7 %0, %1.b3, %2.b0, %3",
        "vmad.s32.u32.s32 %0, %1.h1, %2.b2, %3",
        "vadd.u32.u32.u32.max %0, %1.h0, %2.b1, %3",
        "vsub.s32.u32.s32.min %0, %1.h1, %2.h0, %3",
        // Of the merges only this: see tests/vectors/h200/README.md.
        "vsub.s32.s32.s32 %0.b2, %1.b3, %2.b0, %3",
    ] {
        all.push(Form { text: text.into(), outs: vec!["b32"], ins: vec!["b32"; 3] });
    }
    for (ty, reg) in [("b32", "b32"), ("b64", "b64")] {
        let text = format!("bfi.{ty} %0, %1, %2, %3, %4");
        all.push(Form { text, outs: vec![reg], ins: vec![reg, reg, "b32", "b32"] });
    }
}

/// The declared register type: PTX has no arithmetic registers of 16 bits that every form takes.
fn register(ty: &'static str) -> &'static str {
    match ty {
        "f16" | "bf16" => "b16",
        "f16x2" | "bf16x2" => "b32",
        other => other,
    }
}

fn heading(form: &Form) -> String {
    format!("# {} : {} < {}", form.text, form.outs.join(" "), form.ins.join(" "))
}

fn kernel(index: usize, form: &Form) -> String {
    let mut ptx = format!(
        ".visible .entry k{index}(.param .u64 in, .param .u64 out, .param .u32 n) {{\n\
         .reg .pred %p;\n.reg .b32 %t, %c, %d;\n.reg .b64 %in, %out, %o;\n\
         mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.u32 %t, %c, %d, %t;\n\
         ld.param.u32 %c, [n]; setp.ge.u32 %p, %t, %c; @%p exit;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
         mul.wide.u32 %o, %t, {}; add.u64 %in, %in, %o;\nmul.wide.u32 %o, %t, {}; add.u64 %out, %out, %o;\n",
        8 * form.ins.len(),
        8 * form.outs.len()
    );
    let mut text = form.text.clone();
    for i in (0..form.outs.len() + form.ins.len()).rev() {
        text = text.replace(&format!("%{i}"), &format!("%x{i}"));
    }
    let types = form.outs.iter().chain(&form.ins).map(|ty| register(ty));
    for (i, ty) in types.enumerate() {
        ptx += &format!(".reg .{ty} %x{i};\n");
        if i >= form.outs.len() {
            let offset = 8 * (i - form.outs.len());
            ptx += &format!("ld.global.b{} %x{i}, [%in+{offset}];\n", &ty[1..]);
        }
    }
    ptx += &format!("{text};\n");
    for (i, ty) in form.outs.iter().enumerate() {
        ptx += &format!("st.global.b{} [%out+{}], %x{i};\n", &register(ty)[1..], 8 * i);
    }
    ptx + "ret;\n}\n"
}

/// A host program for the driver API with everything in it.
fn program(forms: &[Form]) -> String {
    let mut text = String::from(
        "// Generated by margay's op_vectors example.\n#include <cuda.h>\n#include <cstdint>\n\
         #include <cstdio>\n#include <cstdlib>\n#include <vector>\n\
         #define CHECK(call) do { CUresult r = (call); if (r) { const char *s = \"?\"; \
         cuGetErrorName(r, &s); fprintf(stderr, \"%s: %s: %s\\n\", heading, #call, s); \
         if (fatal) exit(1); bad = true; } } while (0)\n\
         static const uint64_t values[] = {",
    );
    let rows: Vec<Vec<Vec<u64>>> = forms.iter().map(|f| combinations(&f.ins)).collect();
    for bits in rows.iter().flatten().flatten() {
        text += &format!("0x{bits:x}ull,");
    }
    text +=
        "};\nstatic const struct { const char *heading, *ptx; int ins, outs, rows; } forms[] = {\n";
    for (i, (form, rows)) in forms.iter().zip(&rows).enumerate() {
        // One module a form: one that a driver refuses takes no other with it.
        text += &format!(
            "{{\"{}\", R\"(.version 8.4\n.target sm_90\n.address_size 64\n{})\", {}, {}, {}}},\n",
            heading(form),
            kernel(i, form),
            form.ins.len(),
            form.outs.len(),
            rows.len()
        );
    }
    text + r#"};
int main() {
    bool fatal = true, bad = false;
    const char *heading = "start";
    CUdevice device; CUcontext context; CUdeviceptr in, out;
    CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device)); CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc(&in, 1 << 20)); CHECK(cuMemAlloc(&out, 1 << 20));
    const uint64_t *next = values;
    int index = 0, failed = 0;
    for (auto &form : forms) {
        heading = form.heading; fatal = false; bad = false;
        CUmodule module; CUfunction function; char name[16];
        snprintf(name, sizeof name, "k%d", index++);
        const uint64_t *mine = next; next += (size_t)form.rows * form.ins;
        CHECK(cuModuleLoadData(&module, form.ptx));
        if (bad) { failed++; continue; }
        fatal = true;
        CHECK(cuModuleGetFunction(&function, module, name));
        CHECK(cuMemcpyHtoD(in, mine, (size_t)form.rows * form.ins * 8));
        CHECK(cuMemsetD8(out, 0, (size_t)form.rows * form.outs * 8));
        unsigned n = form.rows;
        void *args[] = {&in, &out, &n};
        CHECK(cuLaunchKernel(function, (n + 127) / 128, 1, 1, 128, 1, 1, 0, 0, args, 0));
        std::vector<uint64_t> result((size_t)form.rows * form.outs);
        CHECK(cuMemcpyDtoH(result.data(), out, result.size() * 8));
        CHECK(cuModuleUnload(module));
        printf("%s\n", form.heading);
        for (int row = 0; row < form.rows; row++) {
            for (int i = 0; i < form.ins; i++) printf("%llx ", (unsigned long long)mine[row * form.ins + i]);
            printf("=");
            for (int i = 0; i < form.outs; i++) printf(" %llx", (unsigned long long)result[row * form.outs + i]);
            printf("\n");
        }
    }
    fprintf(stderr, "%d forms, %d refused\n", index, failed);
    return failed != 0;
}
"#
}

/// Compares a recorded file with margay; the number of differences, 1 also where nothing was compared.
fn check(text: &str) -> usize {
    let (rows, differences) = recorded::compare(text);
    for line in &differences {
        println!("{line}");
    }
    println!("{rows} rows, {} differences", differences.len());
    if rows == 0 { 1 } else { differences.len() }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => print!("{}", program(&forms())),
        [flag] if flag == "--more" => print!("{}", program(&more::forms())),
        [flag, file] if flag == "--check" => {
            let text = std::fs::read_to_string(file).unwrap_or_else(|error| {
                eprintln!("{file}: {error}");
                std::process::exit(2)
            });
            std::process::exit(i32::from(check(&text) != 0));
        }
        _ => {
            eprintln!("usage: op_vectors [--more | --check FILE]");
            std::process::exit(2);
        }
    }
}
