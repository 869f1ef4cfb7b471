// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the parser says about wrong texts: line, column, what is wrong and what was expected.

use margay_ptx::{parse, parse_bytes};

/// The errors of `text`, one a line.
fn errors(text: &str) -> String {
    match parse(text) {
        Ok(_) => "none".to_string(),
        Err(errors) => {
            errors.iter().map(|e| format!("{e}\n")).collect::<String>().trim_end().to_string()
        }
    }
}

/// The errors of a function body that begins on line 6.
fn in_body(body: &str) -> String {
    errors(&format!(".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n{body}\n}}\n"))
}

#[track_caller]
fn check(found: String, wanted: &str) {
    assert_eq!(found, wanted);
}

#[test]
fn the_header() {
    check(errors(""), "1:1: unexpected end of the text; expected `.version`");
    check(errors("hello"), "1:1: unexpected `hello`; expected `.version`");
    check(errors(".version x"), "1:10: unexpected `x`; expected a version, such as `8.3`");
    check(errors(".version 8"), "1:10: `8` is not a version; expected two numbers and a dot");
    check(errors(".version 8.0 .entry"), "1:14: unexpected `.entry`; expected `.target`");
    check(
        errors(".version 8.0 .target 90"),
        "1:22: unexpected `90`; expected a target, such as `sm_90`",
    );
    check(
        errors(".version 8.0 .target sm_90 .address_size 16"),
        "1:42: address size 16; expected 32 or 64",
    );
}

#[test]
fn unknown_instructions_and_modifiers() {
    check(in_body("ad.f32 a, b, c;"), "6:1: unknown instruction `ad`; expected `add`");
    check(in_body("frobnicate a;"), "6:1: unknown instruction `frobnicate`");
    check(in_body("  add.f23 a, b, c;"), "6:6: `add` has no modifier `.f23`; expected `.f32`");
    check(in_body("add.rn.zork.f32 a, b, c;"), &{
        let expected =
            "`.f64`, `.f16`, `.f16x2`, `.bf16`, `.bf16x2`, `.ftz`, `.f32x2`, `.sat` or `.f32`";
        let found = in_body("add.rn.zork.f32 a, b, c;");
        assert!(found.starts_with("6:7: `add` has no modifier `.zork`; expected "), "{found}");
        let mut names: Vec<&str> =
            found.split('`').filter(|n| n.starts_with('.') && *n != ".zork").collect();
        names.sort_unstable();
        let mut wanted: Vec<&str> = expected.split('`').filter(|n| n.starts_with('.')).collect();
        wanted.sort_unstable();
        assert_eq!(names, wanted);
        found
    });
    check(
        in_body("atom.global.add a, [b], c;"),
        "6:15: `atom.global.add` is not complete; expected `.L2::cache_hint`, `.b32`, `.b64`, `.u32`, `.u64`, `.s32`, \
         `.s64`, `.f32`, `.f64`, `.noftz`, `.v2` or `.v4`",
    );
    check(
        in_body("mad.sat.lo.u32 a, b, c, d;").split(';').next().unwrap().to_string(),
        "6:8: `.lo` cannot stand here in `mad.sat.lo.u32`",
    );
    check(in_body("bar.warp.sink 1;"), "6:9: `bar` has no modifier `.sink`; expected `.sync`");
    check(
        in_body("ld..u32 a, [b];").split(';').next().unwrap().to_string(),
        "6:3: `ld` has no modifier `.`",
    );
}

#[test]
fn operands_that_do_not_fit() {
    check(
        in_body("ld.global.u32 a, b;").split(';').next().unwrap().to_string(),
        "6:18: operand 2 of `ld.global.u32` does not fit",
    );
    check(
        in_body("add.u32 a, b;"),
        "6:13: too few operands for `add.u32`; expected `add.type d, a, b`",
    );
    check(
        in_body("add.u32 a, b, c, d;"),
        "6:18: too many operands for `add.u32`; expected `add.type d, a, b`",
    );
    check(
        in_body("add.u32 a, !b, c;"),
        "6:12: operand 2 of `add.u32` does not fit; expected `add.type d, a, b`",
    );
    check(
        in_body("elect.sync a, b;"),
        "6:12: operand 1 of `elect.sync` does not fit; expected `elect.sync d|p, membermask`",
    );
    check(
        in_body("cp.async.bulk.prefetch.L2.global [a], 16, c;"),
        "6:43: operand 3 of `cp.async.bulk.prefetch.L2.global` does not fit; expected \
         `cp.async.bulk.prefetch.L2.global{.hint} [srcMem], size{, cache-policy}`",
    );
    check(
        in_body("st.u32 [a].unified, b;").split(';').next().unwrap().to_string(),
        "6:11: `.unified` cannot follow an operand of `st.u32`",
    );
}

#[test]
fn broken_syntax() {
    check(in_body("add.u32 a, b c;"), "6:14: unexpected `c`; expected `,` or `;`");
    check(in_body("add.u32 a, , c;"), "6:12: unexpected `,`; expected an operand");
    check(in_body("mov.u32 a, 0x;"), "6:12: `0x` is not an integer of 64 bits");
    check(
        in_body("mov.f32 a, 0f3F8;"),
        "6:12: `0f3F8` is not a single: `0f` takes 8 hexadecimal digits",
    );
    check(in_body("mov.u32 a, 1/0;"), "6:12: division by zero");
    check(in_body("mov.f64 a, 1e999;"), "6:12: constant overflows a double");
    check(in_body("ret"), "7:1: unexpected `}`; expected an operand or `;`");
    check(in_body("@ ret;"), "6:6: unexpected `;`; expected an instruction");
    check(in_body("%r1 = 5;"), "6:1: unexpected `%r1`; expected an instruction");
    check(in_body("_;"), "6:1: unexpected `_`; expected an instruction");
    check(
        in_body(".branchtargets a;"),
        "6:1: `.branchtargets` without a label; expected a label before it",
    );
    check(in_body(".loc 1 2;"), "6:9: unexpected `;`; expected a column");
    check(
        in_body(".reg .u33 a;"),
        "6:6: unexpected `.u33`; expected a type, `.align`, `.v2` or `.v4`",
    );
    check(in_body(".reg .u32 %r<0x>;"), "6:14: `0x` is not an integer of 64 bits");
    check(in_body("ret; ;"), "6:6: unexpected `;`; expected a statement");
    check(in_body("/* open"), "6:1: comment without end; expected a statement");
    check(in_body("add.u32 a, b, \u{1}c;"), "6:15: unexpected `\\u{1}`; expected an operand");
    check(
        errors(".version 8.0 .target sm_90 .global .u32 x = ;"),
        "1:45: unexpected `;`; expected an initialiser",
    );
    check(errors(".version 8.0 .target sm_90 .file 1 \"abc"), "1:36: string without end");
    check(
        errors(".version 8.0 .target sm_90 .entry k() { ret;"),
        "1:45: unexpected end of the text; expected `}`",
    );
    check(
        errors(".version 8.0 .target sm_90 .entry k() .maxtid 1 {}")
            .split(';')
            .next()
            .unwrap()
            .to_string(),
        "1:39: unexpected `.maxtid`",
    );
}

#[test]
fn several_errors_are_reported_and_the_rest_is_parsed() {
    check(
        in_body("add.f23 a, b, c;\nmov.u32 a, b;\nfoo a;\n{ ld.u32 a; }\nret;"),
        "6:4: `add` has no modifier `.f23`; expected `.f32`\n\
         8:1: unknown instruction `foo`\n\
         9:11: too few operands for `ld.u32`; expected `ld{.weak}{.ss}{.cop}{.hint}{.prefetch_size}{.vec}.type d, \
         [a]{.unified}{, cache-policy}` or `ld{.weak}{.ss}{.L1::priority}{.L2::priority}{.hint}{.prefetch_size}{.vec}.type d, \
         [a]{.unified}{, cache-policy}`",
    );
    let text = ".version 8.0\n.target sm_90\n.global .u31 a;\n.entry k() { bad; }\n.visible nonsense;\n.entry l() { worse; }\n";
    let found = errors(text);
    let lines: Vec<&str> = found.lines().map(|l| l.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["3", "4", "5", "6"], "{found}");
    let many = "bad;\n".repeat(1000);
    assert_eq!(in_body(&many).lines().count(), 64);
}

#[test]
fn an_error_is_shown_in_its_line() {
    let text = ".version 8.0\n.target sm_90\n.entry k() {\n\tadd.f23 a, b, c; // ö\n}\n";
    let errors = parse(text).unwrap_err();
    assert_eq!(
        errors[0].render("k.ptx", text),
        "error: `add` has no modifier `.f23`; expected `.f32`\n --> k.ptx:4:5\n  |\n4 |  add.f23 a, b, c; // ö\n  |     ^^^^\n"
    );
}

#[test]
fn bytes_that_are_not_text() {
    let good = b".version 8.0 .target sm_90 // caf\xe9 \xff\n.file 1 \"\xfcber.cu\"\n\0\0\0";
    let module = parse_bytes(good).expect("bytes in comments and strings do no harm");
    assert_eq!(module.items.len(), 1);
    let bad = parse_bytes(b".version 8.0 .target sm_90 \xff.entry").unwrap_err();
    assert_eq!(bad[0].to_string(), "1:28: unexpected `\\u{1a}`; expected a directive");
    let nul = parse_bytes(b".version 8.0 .target sm_90 \0 .entry k").unwrap_err();
    assert_eq!(nul[0].to_string(), "1:28: unexpected NUL byte; expected a directive");
}

#[test]
fn depth_is_limited() {
    let blocks = format!("{}{}", "{".repeat(100_000), "}".repeat(100_000));
    assert!(in_body(&blocks).contains("blocks nested too deeply"));
    for open in ["{", "[a, ", "("] {
        assert_ne!(in_body(&format!("mov.u32 a, {}", open.repeat(100_000))), "none");
    }
    let init = format!(".version 8.0 .target sm_90 .global .u32 x = {};", "{".repeat(100_000));
    assert!(errors(&init).contains("initialiser nested too deeply"));
    let mask = format!(".version 8.0 .target sm_90 .global .u32 x = {};", "1(".repeat(100_000));
    assert!(errors(&mask).contains("initialiser nested too deeply"));
}

/// Texts that would show a step that is not linear, by the time they take.
#[test]
fn time_is_linear() {
    let n = 200_000;
    for text in [
        in_text(&"{ ".repeat(n)),
        in_text(&"} ".repeat(n)),
        in_text(&"/* ".repeat(n)),
        in_text(&"# ".repeat(n)),
        in_text(&"\" ".repeat(n)),
        in_text(&"a: ".repeat(n)),
        in_text(&format!("add{} a;", ".x".repeat(n))),
        in_text(&format!("mov.u32 a, {};", "1+".repeat(n))),
        in_text(&(0..n / 4).map(|i| format!("add.q{i} a;")).collect::<String>()),
    ] {
        let start = std::time::Instant::now();
        let _ = parse(&text);
        assert!(start.elapsed().as_secs() < 5, "{}", &text[..80]);
    }
}

fn in_text(body: &str) -> String {
    format!(".version 8.0 .target sm_90 .entry k() {{ {body}")
}
