// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each file of `tests/ptx` parses; what is printed parses to the same tree and prints the same.

use margay_ptx::{parse, print};
use std::path::Path;

/// Parses, prints, parses and prints, and gives what was printed.
fn round_trip(name: &str, text: &str) -> String {
    let rendered = |errors: Vec<margay_ptx::Diagnostic>, text: &str| -> String {
        errors.iter().map(|e| e.render(name, text)).collect()
    };
    let mut module = parse(text).unwrap_or_else(|e| panic!("{}", rendered(e, text)));
    let printed = print(&module);
    let mut again =
        parse(&printed).unwrap_or_else(|e| panic!("printed: {}", rendered(e, &printed)));
    assert_eq!(print(&again), printed, "{name}: printing is not stable");
    module.erase_spans();
    again.erase_spans();
    assert_eq!(module, again, "{name}: the round trip changed the tree");
    printed
}

#[test]
fn every_file_survives() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of samples") {
        let path = entry.expect("a sample").path();
        let text = std::fs::read_to_string(&path).expect("a readable sample");
        round_trip(&path.display().to_string(), &text);
        count += 1;
    }
    assert!(count >= 6, "only {count} files in {}", folder.display());
}

/// The constructs of each file are in what is printed, in the printer's spelling.
#[test]
fn nothing_is_lost() {
    let expect = |file: &str, wanted: &[&str]| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx").join(file);
        let printed = round_trip(file, &std::fs::read_to_string(path).expect("a readable sample"));
        for line in wanted {
            assert!(printed.contains(line), "{file}: no `{line}` in\n{printed}");
        }
    };
    expect(
        "directives.ptx",
        &[
            ".file 2 \"other header.h\", 1700000000, 4096",
            ".pragma \"nounroll\", \"frequency 3\";",
            ".extern .func fail(.param .align 8 .b8 message[16]) .noreturn;",
            ".abi_preserve 16 .abi_preserve_control 2",
            ".func .attribute(.unified(4660, 77)) (.param .align 16 .b8 s[32]) aggregate(.param .v4 .f32 v)",
            ".alias also_plain, plain;",
            ".global .attribute(.managed, .unified(1, 2)) .u32 both;",
            "{addr_mode_0 = clamp_to_border, filter_mode = nearest, force_unnormalized_coords = 1}",
            ".param .u64 .ptr .global .align 16 out",
            ".maxnreg 64 .maxntid 16, 4, 2 .minnctapersm 2 .maxnctapersm 4 .explicitcluster .maxclusterrank 8",
            ".loc 2 12 5, function_name .debug_str+16, inlined_at 1 21 7",
            ".reqntid 128 .reqnctapercluster 2, 1, 1 .blocksareclusters",
        ],
    );
    expect(
        "legacy_1.ptx",
        &[
            "@@DWARF .4byte 0x00000040, Lbegin",
            ".const[2] .align 4 .b8 coefficients[400];",
            "ld.const[2].f32 %f1, [coefficients+4];",
            "tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [tex_a, {%r1, %r1, %r1, %r1}];",
            "setp.eq.and.u32 p|%p2, %r1, %r2, !%p1;",
            "call (b), twice, (a);",
            ".extern .func (.reg .f32 result) sine(.reg .f32 x);",
        ],
    );
    expect(
        "operands.ptx",
        &[
            "mov.u32 a, 32;",
            "mov.b64 {_, b}, %rd1;",
            "vmad.s32.s32.s32.sat.shr15 d, -a.h0, b.b1, -c;",
            "@!p mov.pred q, !r;",
            "ld.global.u32 a, [%rd1-16];",
            "ld.global.u32 a, array[b+4];",
            "ld.u32 a, [%rd1].unified;",
            "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}|p, [%rd1, {%f0, %f1}], {a, b}, %f4;",
            "mov.u64 %rd0, 9223372036854775808U;",
            "mov.s64 %rd0, -9223372036854775807-1;",
            "mov.u32 a, 240;",
            "mov.f32 %f0, 0d3FE0000000000000;",
            "ld.u32.global a, [%rd1];",
        ],
    );
    expect(
        "calls.ptx",
        &["bare: .callprototype (.reg .f64 _) _(.reg .s64 _, .param .b8 _[4]);", "L<2>;"],
    );
    expect(
        "initialisers.ptx",
        &[
            "0xFF0000(generic(foo))",
            "generic(foo)-8",
            "{{{1, -2}, {3, 4}}, {{5}, {6}}}",
            "ptr_minus = foo+12;",
        ],
    );
    expect(
        "dwarf.ptx",
        &[".b32 $L__tmp0-$L__func_begin0", ".b32 .debug_line+4", ".section .debug_loc {"],
    );
}
