// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay cc`: flags, what it makes, and what it says when it cannot.

use super::{Place, clang};

const KERNEL: &str = "__global__ void k(float *p, float x) { *p = *p / x; }\n";

#[test]
fn without_clang_the_package_is_named() {
    let place = Place::empty();
    place.write("x.cu", KERNEL);
    let install = "It is the package clang-19 of Debian and Ubuntu (`apt install clang-19`), clang of Fedora \
                   (`dnf install clang`) and Arch (`pacman -S clang`)";
    let got = place.finish(place.command(&["cc", "x.cu"]).env("MARGAY_CLANG", "/nowhere/clang++"));
    let named = "margay: error: MARGAY_CLANG names `/nowhere/clang++`, which is no clang++ of version 17 or \
                 newer.";
    assert_eq!((got.code, got.stderr.as_str()), (125, format!("{named} {install}\n").as_str()));
    let got =
        place.finish(place.command(&["run", "x.cu"]).env("PATH", "").env_remove("MARGAY_CLANG"));
    let missing = "margay: error: clang is missing: no clang++ of version 17 or newer is on PATH.";
    assert_eq!((got.code, got.stderr.as_str()), (125, format!("{missing} {install}\n").as_str()));
}

#[test]
fn wrong_flags() {
    let place = Place::empty();
    place.write("x.cu", KERNEL).write("y.cu", KERNEL);
    for (line, code, message) in [
        ("cc", 2, "no input file"),
        ("cc -frobnicate x.cu", 2, "margay cc does not know the flag `-frobnicate`"),
        (
            "cc -maxrregcount many x.cu",
            2,
            "-maxrregcount many: expected a number of registers, 1 to 255",
        ),
        ("cc -ftz=maybe x.cu", 2, "-ftz=maybe: expected true or false"),
        ("cc -m32 x.cu", 125, "unsupported: -m32: CUDA has no 32-bit programs any more"),
        ("cc none.cu", 125, "none.cu: cannot read: No such file or directory (os error 2)"),
        ("cc @none.rsp", 125, "none.rsp: cannot read: No such file or directory (os error 2)"),
        (
            "cc --cuda-version 9.0 x.cu",
            2,
            "--cuda-version 9.0: expected one of 12.9, 13.0, 12.4, 11.8",
        ),
        ("cc -c x.cu y.cu -o z.o", 2, "-o names one file, and there are several sources"),
        (
            "cc -arch=compute_80 -code=sm_70 x.cu",
            2,
            "incompatible code generation requested: arch=compute_80, code=sm_70: code for the one does not run on \
             the other",
        ),
        (
            "run -c x.cu",
            2,
            "a flag that chooses what is made (-c, -E, -M, -ptx, -fatbin) is for `margay cc`",
        ),
        (
            "run -frobnicate x.cu",
            2,
            "neither `margay run` nor `margay cc` knows the flag `-frobnicate`",
        ),
        ("ptx -o x.ptx x.cu", 2, "-o is for `margay cc`"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        place.fails(&words, code, &format!("margay: error: {message}"));
    }
}

#[test]
fn clang_s_errors_are_untouched() {
    if !clang("clang_s_errors_are_untouched") {
        return;
    }
    let place = Place::empty();
    place.write("e.cu", "int main() { return x; }\n");
    let message = "e.cu:1:21: error: use of undeclared identifier 'x'\n    1 | int main() { return x; }\n      \
                   |                     ^\n1 error generated when compiling for sm_90.";
    place.fails(&["cc", "e.cu"], 1, message);
    place.fails(&["run", "e.cu"], 1, message);
    place.fails(&["ptx", "e.cu"], 1, message);
}

#[test]
fn flags_without_effect_say_so_once() {
    if !clang("flags_without_effect_say_so_once") {
        return;
    }
    let place = Place::empty();
    place.write("x.cu", KERNEL);
    place.fails(
        &["cc", "-c", "x.cu", "-restrict", "-restrict", "-dlto", "-keep-dir=d", "-m", "64"],
        0,
        "margay: note: -restrict has no effect: clang reads __restrict__ in the source only\n\
         margay: note: -dlto has no effect: device code is linked as PTX\n\
         margay: note: -keep-dir has no effect, as -keep has none",
    );
    assert!(place.path("x.o").is_file());
}

#[test]
fn code_generation_flags_reach_the_ptx() {
    if !clang("code_generation_flags_reach_the_ptx") {
        return;
    }
    let place = Place::empty();
    place.write("x.cu", KERNEL);
    let ptx = |flags: &str| {
        let mut line = vec!["ptx"];
        line.extend(flags.split_whitespace());
        line.push("x.cu");
        let got = place.margay(&line);
        assert_eq!((got.code, got.stderr.as_str()), (0, ""), "{flags}");
        got.stdout
    };
    assert!(ptx("").contains(".target sm_90") && ptx("").contains("div.rn.f32"));
    assert!(ptx("-arch=sm_70").contains(".target sm_70"));
    assert!(ptx("--gpu v100").contains(".target sm_70"));
    assert!(ptx("-use_fast_math").contains("div.approx.ftz.f32"));
    assert!(ptx("-use_fast_math -ftz=false -prec-div=true").contains("div.rn.f32"));
    assert!(ptx("-prec-div=false").contains("div.full.f32"));
    assert!(ptx("-maxrregcount 40").contains(".maxnreg 40"));
}

#[test]
fn what_cc_makes() {
    if !clang("what_cc_makes") {
        return;
    }
    let place = Place::empty();
    place.write("h.h", "#define ONE 1\n").write("x.cu", format!("#include \"h.h\"\n{KERNEL}"));
    let said = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let got = place.margay(&words);
        assert_eq!(got.code, 0, "{line}: {}", got.stderr);
        got
    };
    assert_eq!(said("cc -MM x.cu").stdout, "x.o: x.cu \\\n  h.h\n");
    said("cc -c x.cu -MMD -MT tgt -MP -MF dep.d");
    let dependencies = std::fs::read_to_string(place.path("dep.d")).unwrap();
    assert_eq!(dependencies, "tgt: x.cu \\\n  h.h\nx.cu:\nh.h:\n");
    assert!(said("cc -E x.cu").stdout.contains("void k(float *p, float x)"));
    said("cc -fatbin x.cu -gencode arch=compute_70,code=sm_70 -gencode arch=compute_90,code=sm_90");
    let binary = std::fs::read(place.path("x.fatbin")).unwrap();
    assert_eq!(binary[..4], [0x50, 0xed, 0x55, 0xba]);
    let made = said("cc -ptx x.cu --json -o y.ptx").stdout;
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["outputs"], serde_json::json!(["y.ptx"]));
    assert!(std::fs::read_to_string(place.path("y.ptx")).unwrap().contains(".entry"));
    for flag in ["-v", "--dryrun"] {
        let shown = said(&format!("cc {flag} -c x.cu")).stderr;
        assert_eq!(
            shown.lines().filter(|l| l.contains("--cuda-device-only")).count(),
            1,
            "{shown}"
        );
        assert_eq!(shown.lines().filter(|l| l.contains("--cuda-host-only")).count(), 1, "{shown}");
    }
    place.write("all.rsp", "-c -o 'with space.o'\nx.cu");
    said("cc @all.rsp");
    assert!(place.path("with space.o").is_file());
}

#[test]
fn resource_usage_of_each_kernel_and_architecture() {
    if !clang("resource_usage_of_each_kernel_and_architecture") {
        return;
    }
    let place = Place::empty();
    place.write(
        "x.cu",
        "__constant__ float table[25];\n\
         __global__ void plain(float *p, float x) { *p = *p / x * table[threadIdx.x]; }\n\
         __global__ void shared(int *p) {\n  __shared__ int s[64];\n  s[threadIdx.x] = p[0];\n  \
           __syncthreads();\n  p[1] = s[63 - threadIdx.x];\n}\n\
         __global__ void stack(int *p, int i) {\n  int a[32];\n  for (int k = 0; k < 32; k++) a[k] = p[k];\n  \
           for (int k = 0; k < 32; k++) a[(k * i) & 31] += k;\n  p[0] = a[i & 31];\n}\n",
    );
    let two =
        "-gencode=arch=compute_70,code=sm_70 -gencode=arch=compute_90,code=[sm_90,compute_90]";
    let line = format!("cc -c x.cu {two} -Xptxas -v");
    let words: Vec<&str> = line.split(' ').collect();
    let first = place.margay(&words);
    assert_eq!((first.code, first.stdout.as_str()), (0, ""), "{}", first.stderr);
    for expected in [
        "ptxas info    : 0 bytes gmem, 100 bytes cmem[3]\n",
        "ptxas info    : Compiling entry function '_Z5plainPff' for 'sm_70'\n",
        "ptxas info    : Compiling entry function '_Z5plainPff' for 'sm_90'\n",
        "ptxas info    : Function properties for _Z6sharedPi\n    \
           0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
        " registers, 12 bytes cmem[0], 100 bytes cmem[3]\n",
        " registers, 256 bytes smem, 8 bytes cmem[0], 100 bytes cmem[3]\n",
        "ptxas info    : Function properties for _Z5stackPii\n    128 bytes stack frame",
    ] {
        assert!(first.stderr.contains(expected), "{expected}: {}", first.stderr);
    }
    // Out of the cache it says the same.
    assert_eq!(place.margay(&words).stderr, first.stderr);
    // Only the limit that is asked for; without the flag, nothing.
    let capped = place.margay(&["cc", "-fatbin", "x.cu", "-res-usage", "-maxrregcount", "4"]);
    assert!(capped.stderr.contains("Used 4 registers"), "{}", capped.stderr);
    assert_eq!(place.margay(&["cc", "-c", "x.cu"]).stderr, "");
}

#[test]
fn cache_operators_reach_the_ptx() {
    if !clang("cache_operators_reach_the_ptx") {
        return;
    }
    let place = Place::empty();
    place.write("x.cu", KERNEL);
    let got = place.margay(&["ptx", "-Xptxas", "-dlcm=cg,-dscm=cs", "x.cu"]);
    assert_eq!((got.code, got.stderr.as_str()), (0, ""));
    assert!(got.stdout.contains("ld.global.cg.f32") && got.stdout.contains("st.global.cs.f32"));
    place.fails(
        &["cc", "-Xptxas", "-dlcm=fast", "x.cu"],
        2,
        "margay: error: -Xptxas -dlcm=fast: expected ca, cg, cs, cv",
    );
}

/// Headers of NVIDIA's that there is nothing behind say so, and what to do instead.
#[test]
fn headers_without_a_library() {
    if !clang("headers_without_a_library") {
        return;
    }
    let place = Place::empty();
    place.write("m.cu", "#include <mma.h>\n").write("n.cu", "#include <nvrtc.h>\n");
    for (file, message) in [
        ("m.cu", "margay has no nvcuda::wmma"),
        ("m.cu", "mma.sync.m16n8k16"),
        ("n.cu", "margay has no NVRTC"),
        ("n.cu", "`margay cc -ptx`"),
    ] {
        let got = place.finish(&mut place.command(&["cc", "-c", file]));
        assert_ne!(got.code, 0);
        assert!(got.stderr.contains(message), "{}", got.stderr);
    }
}
