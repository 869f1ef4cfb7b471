// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay launch` and `margay ptx` on PTX files, which need no clang.

use super::Place;

const SCALE: &str = "\
.version 8.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 p, .param .u32 n, .param .f32 f)
{
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .pred %q;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.param.f32 %f1, [f];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %q, %r2, %r1;
  @%q bra done;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.f32 %f2, [%rd3];
  mul.f32 %f2, %f2, %f1;
  st.global.f32 [%rd3], %f2;
done:
  ret;
}
.visible .entry spin()
{
again:
  bra again;
}
";

/// An array of `count` ones of type f32, whose header says `shape`.
fn npy(shape: &str, count: usize) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(1f32.to_le_bytes().repeat(count));
    out
}

fn place() -> Place {
    let place = Place::empty();
    place.write("k.ptx", SCALE);
    place
}

#[test]
fn buffers_come_back() {
    let place = place();
    let got = place.margay(&[
        "launch",
        "k.ptx",
        "scale",
        "--block",
        "4",
        "--save",
        "0=out.npy",
        "buf:f32[4]=iota",
        "u32:3",
        "f32:2",
    ]);
    assert_eq!(
        (got.code, got.stdout.as_str()),
        (0, "argument 0: f32[4]\n  0 2 4 3\n"),
        "{}",
        got.stderr
    );
    let json = place.margay(&[
        "launch", "k.ptx", "scale", "--block", "4", "--json", "@out.npy", "u32:4", "f32:0.5",
    ]);
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["buffers"][0]["values"], serde_json::json!([0, 1, 2, 1.5]));
}

#[test]
fn wrong_arguments() {
    let place = place();
    place.write("two.npy", npy("(2, 2)", 4)).write("cut.npy", npy("(8,)", 4));
    place.write("huge.npy", npy("(4611686018427387903,)", 4)).write("no.npy", "PK");
    let cases = [
        ("buf:f32[4] u32:4", 2, "scale: the kernel takes 3 argument(s), 2 given"),
        (
            "buf:f32[4] f32:4 f32:2",
            2,
            "argument 1 (`f32:4`): a floating-point number, and the kernel's parameter is an integer or a pointer",
        ),
        (
            "buf:f32[4] u32:4 u32:2",
            2,
            "argument 2 (`u32:2`): an integer, and the kernel's parameter is a floating-point number",
        ),
        (
            "u32:1 u32:4 f32:2",
            2,
            "argument 0 (`u32:1`) has 4 bytes, and the kernel's parameter has 8",
        ),
        (
            "buf:f32[8]=@two.npy u32:4 f32:2",
            2,
            "argument `buf:f32[8]=@two.npy`: the file holds f32[2][2]",
        ),
        (
            "@cut.npy u32:4 f32:2",
            2,
            "cut.npy: the data is cut off: 16 of 32 bytes, which its shape asks for, are there",
        ),
        (
            "@huge.npy u32:4 f32:2",
            2,
            "huge.npy: the data is cut off: 16 of 18446744073709551612 bytes, which its shape asks for, are there",
        ),
        ("@no.npy u32:4 f32:2", 2, "no.npy: no .npy file"),
        (
            "@none.npy u32:4 f32:2",
            125,
            "none.npy: cannot read: No such file or directory (os error 2)",
        ),
    ];
    for (arguments, code, message) in cases {
        let mut line = vec!["launch", "k.ptx", "scale"];
        line.extend(arguments.split(' '));
        place.fails(&line, code, &format!("margay: error: {message}"));
    }
    place.fails(
        &["launch", "k.ptx", "scal"],
        2,
        "margay: error: no kernel `scal`; the file has: scale, spin",
    );
    place.fails(
        &["launch", "-O3", "k.ptx", "scale"],
        2,
        "margay: error: k.ptx: the compiler's flags are for .cu files",
    );
}

#[test]
fn a_kernel_without_end_is_stopped() {
    let place = place();
    let start = std::time::Instant::now();
    let got = place.margay(&["launch", "--timeout", "0.5", "k.ptx", "spin"]);
    assert_eq!(got.code, 124, "{}", got.stderr);
    assert!(got.stderr.contains("CUDA_ERROR_LAUNCH_TIMEOUT (702)"), "{}", got.stderr);
    assert!(got.stderr.contains("the kernel still ran after 0.5 s"), "{}", got.stderr);
    assert!(start.elapsed().as_secs() < 60);
}

#[test]
fn files_that_are_no_ptx() {
    let place = Place::empty();
    place.write(
        "bad.ptx",
        ".version 8.0\n.target sm_70\n.address_size 64\n.entry k() { frob.u32 %r1; }\n",
    );
    place.write("noise.ptx", [3u8, 0xff, 0xfe, 0, 1, 2, 0x80]);
    let unknown = "line 4, column 14: unknown instruction `frob`";
    place.fails(&["ptx", "bad.ptx"], 1, &format!("margay: error: bad.ptx:\nPTX {unknown}"));
    for line in [
        &["launch", "bad.ptx", "k"][..],
        &["launch", "noise.ptx", "k"],
        &["ptx", "--ir", "noise.ptx"],
    ] {
        let got = place.margay(line);
        assert_eq!((got.code, got.stdout.as_str()), (1, ""), "{line:?}: {}", got.stderr);
        assert!(got.stderr.starts_with("margay: error: "), "{line:?}: {}", got.stderr);
    }
    let missing = "margay: error: none.ptx: cannot read: No such file or directory (os error 2)";
    place.fails(&["ptx", "none.ptx"], 125, missing);
    place.fails(&["launch", "none.ptx", "k"], 125, missing);
}

#[test]
fn ptx_as_json() {
    let place = place();
    for (line, key) in
        [(&["ptx", "--json", "k.ptx"][..], "ptx"), (&["ptx", "--json", "--ir", "k.ptx"], "ir")]
    {
        let value: serde_json::Value = serde_json::from_str(&place.margay(line).stdout).unwrap();
        assert_eq!(value["file"], "k.ptx");
        assert!(value[key].as_str().unwrap().contains("scale"));
    }
    assert_eq!(place.margay(&["ptx", "k.ptx"]).stdout, SCALE);
}
