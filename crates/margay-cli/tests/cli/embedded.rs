// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay ptx` of what compilers make.

use super::{Place, clang, libraries};

const KERNEL: &str = "__global__ void k(float *p) { *p = 1; }\nint main() {}\n";

#[test]
fn ptx_out_of_fat_binaries_objects_and_programs() {
    const TEST: &str = "ptx_out_of_fat_binaries_objects_and_programs";
    if !libraries(TEST) || !clang(TEST) {
        return;
    }
    let place = Place::empty();
    place.write("x.cu", KERNEL).write("y.cu", "__global__ void other() {}\n");
    let made = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let got = place.margay(&words);
        assert_eq!(got.code, 0, "{line}: {}", got.stderr);
        got
    };
    let two = "-gencode arch=compute_70,code=sm_70 -gencode arch=compute_90,code=sm_90";
    made(&format!("cc -fatbin x.cu {two}"));
    made("cc -c -arch=sm_80 x.cu");
    made("cc -dc -arch=sm_80 y.cu");
    made("cc -arch=sm_80 x.cu y.cu -o app");
    // Of several, what a load on the device would take.
    for (line, target) in [("", 90), ("--arch sm_75 ", 70), ("--gpu h200 ", 90)] {
        let got = made(&format!("ptx {line}x.fatbin"));
        assert!(got.stdout.contains(&format!(".target sm_{target}")), "{line}: {}", got.stdout);
        let note = format!(
            "margay: note: x.fatbin: a fat binary with images for sm_70, sm_90; this is what is for sm_{target}\n"
        );
        assert_eq!(got.stderr, note);
    }
    let object = made("ptx x.o");
    assert!(
        object.stdout.contains(".entry _Z1kPf(") && object.stderr.is_empty(),
        "{}",
        object.stderr
    );
    assert!(made("ptx y.o").stdout.contains(".entry _Z5otherv("));
    assert!(made("ptx --ir x.o").stdout.contains("_Z1kPf"));
    let program = made("ptx app").stdout;
    let numbers: Vec<&str> = program.lines().filter(|l| l.ends_with("of 2 in app")).collect();
    assert_eq!(numbers, ["// 1 of 2 in app", "// 2 of 2 in app"]);
    assert!(program.contains("_Z1kPf") && program.contains("_Z5otherv"));
    let json: serde_json::Value = serde_json::from_str(&made("ptx --json app").stdout).unwrap();
    assert_eq!(json["ptx"].as_array().map(Vec::len), Some(2));
    // A kernel of a fat binary can be launched, too.
    assert!(made("launch x.fatbin k buf:f32[1]=zeros").stdout.contains('1'));
}

#[test]
fn what_has_no_ptx_says_what_it_is() {
    let place = Place::empty();
    let entry = |kind: u16, sm: u32| {
        let mut bytes = 0xBA55_ED50u32.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0, 72, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(kind.to_le_bytes());
        bytes.extend([1, 1, 64, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0; 12]);
        bytes.extend(sm.to_le_bytes());
        bytes.resize(16 + 64 + 8, 0);
        bytes
    };
    let mut cubin = b"\x7fELF\x02\x01\x01".to_vec();
    cubin.resize(64, 0);
    cubin[18] = 190;
    place
        .write("machine.fatbin", entry(2, 90))
        .write("newer.fatbin", entry(1, 120))
        .write("cut.fatbin", &entry(1, 50)[..40])
        .write("k.cubin", cubin)
        .write("host", std::fs::read("/bin/true").unwrap());
    let cure = "build PTX with it: nvcc -gencode arch=compute_XX,code=compute_XX, or margay cc";
    for (file, code, message) in [
        (
            "machine.fatbin",
            125,
            format!("unsupported: machine.fatbin: a fat binary with machine code only (for sm_90); {cure}"),
        ),
        (
            "newer.fatbin",
            1,
            "newer.fatbin: a fat binary with PTX for sm_120, which sm_90 cannot run; choose another with --arch"
                .into(),
        ),
        (
            "cut.fatbin",
            1,
            "cut.fatbin: a fat binary that is damaged or cut short: its entries do not fit its size".into(),
        ),
        ("k.cubin", 125, format!("unsupported: k.cubin: a cubin, which is machine code only; {cure}")),
        (
            "host",
            1,
            "host: an ELF file without CUDA device code; expected a .cu, .cl or .ptx file, or a fat binary"
                .into(),
        ),
    ] {
        place.fails(&["ptx", file], code, &format!("margay: error: {message}"));
    }
    place.fails(
        &["ptx", "-O3", "machine.fatbin"],
        2,
        "margay: error: machine.fatbin: the compiler's flags are for .cu files",
    );
}
