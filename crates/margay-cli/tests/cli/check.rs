// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay check`: exit codes, formats, settings, fixes, bad input, and how long it takes.
//!
//! Whether a rule is right is for the tests of margay-rules; here is the command around them.

use std::time::{Duration, Instant};

use expect_test::{expect, expect_file};
use serde_json::Value;

use super::{Outcome, Place, clang};

const CLEAN: &str = "__global__ void k(int *p) { p[threadIdx.x] = 1; }\n";
/// A hint (MG303) and nothing else.
const HINT: &str = "\
__global__ void k(int *p) { p[threadIdx.x] = 1; }
int main() {
    k<<<8, 100>>>(nullptr);
    return cudaDeviceSynchronize();
}
";
/// A warning with a safe fix (MG202), and an error without one (MG209).
const BOTH: &str = "\
__constant__ int c;
__global__ void k(__shared__ int *q) {
    q[0] = c;
    c = 1;
}
";

fn ready(test: &str) -> bool {
    clang(test)
}

/// Checks one text with nothing of the machine's: the capability is fixed.
fn check(text: &str, arguments: &[&str]) -> (Place, Outcome) {
    let place = Place::empty();
    place.write("x.cu", text);
    let mut line = vec!["check", "--gpu", "sm_90"];
    line.extend(arguments);
    line.push("x.cu");
    let got = place.margay(&line);
    (place, got)
}

fn codes(got: &Outcome) -> Vec<String> {
    let report: Value = serde_json::from_str(&got.stdout).expect("JSON");
    let list = report["findings"].as_array().expect("a list");
    list.iter().map(|f| f["code"].as_str().unwrap_or("clang").to_string()).collect()
}

#[test]
fn exit_codes() {
    if !ready("exit_codes") {
        return;
    }
    let (_place, clean) = check(CLEAN, &[]);
    assert_eq!((clean.code, clean.stdout.as_str(), clean.stderr.as_str()), (0, "", ""));
    let (_place, hint) = check(HINT, &[]);
    assert_eq!((hint.code, hint.stderr.as_str()), (0, "margay: 1 hint\n"), "{}", hint.stdout);
    let (_place, both) = check(BOTH, &[]);
    assert_eq!((both.code, both.stderr.as_str()), (1, "margay: 1 error, 1 warning\n"));
    let (_place, raised) = check(HINT, &["--severity", "MG303=error"]);
    assert_eq!((raised.code, raised.stderr.as_str()), (1, "margay: 1 error\n"));
    let (_place, silenced) = check(BOTH, &["--severity", "MG209=off", "--severity", "MG202=hint"]);
    assert_eq!((silenced.code, silenced.stderr.as_str()), (0, "margay: 1 hint\n"));
    // The worst of several files decides.
    let place = Place::empty();
    place.write("good.cu", CLEAN).write("bad.cu", "int f( {\n");
    let got = place.margay(&["check", "good.cu", "bad.cu"]);
    assert_eq!(got.code, 2, "{}", got.stderr);
    assert!(got.stderr.contains("margay: 1 of 2 files could not be checked"), "{}", got.stderr);
}

#[test]
fn every_format() {
    if !ready("every_format") {
        return;
    }
    let (_place, text) = check(BOTH, &[]);
    expect_file!["expected/check.txt"].assert_eq(&text.stdout);
    let widest = text.stdout.lines().map(|l| l.chars().count()).max().unwrap_or(0);
    assert!(widest <= 120, "{widest} columns");
    let (_place, json) = check(BOTH, &["--format", "json"]);
    expect_file!["expected/check.json"].assert_eq(&json.stdout);
    let (_place, short) = check(BOTH, &["--json"]);
    assert_eq!(short.stdout, json.stdout);
    let (_place, github) = check(BOTH, &["--format", "github"]);
    expect_file!["expected/check.github.txt"].assert_eq(&github.stdout);
    let (_place, sarif) = check(BOTH, &["--format", "sarif"]);
    let mut log: Value = serde_json::from_str(&sarif.stdout).expect("SARIF is JSON");
    // The rules are docs/rules.md; one stands for all.
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array_mut().expect("rules");
    assert!(rules.len() > 80 && rules.iter().all(|r| r["shortDescription"]["text"].is_string()));
    rules.retain(|r| r["id"] == "MG202");
    let shown = format!("{log:#}\n").replace(env!("CARGO_PKG_VERSION"), "$VERSION");
    expect_file!["expected/check.sarif"].assert_eq(&shown);
    for got in [&text, &json, &github, &sarif] {
        assert_eq!(got.code, 1);
    }
}

#[test]
fn formats_of_what_cannot_be_checked() {
    if !ready("formats_of_what_cannot_be_checked") {
        return;
    }
    let (_place, json) = check("int f( {\n", &["--format", "json"]);
    let report: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let why = report["could_not_check"][0].as_str().expect("a reason");
    assert!(json.code == 2 && why.starts_with("x.cu: does not parse: "), "{why}");
    let (_place, sarif) = check("int f( {\n", &["--format", "sarif"]);
    let log: Value = serde_json::from_str(&sarif.stdout).expect("JSON");
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!((sarif.code, &invocation["executionSuccessful"]), (2, &false.into()));
    let (_place, github) = check("int f( {\n", &["--format", "github"]);
    assert_eq!(github.code, 2);
    assert!(github.stderr.contains("x.cu: does not parse: "), "{}", github.stderr);
}

#[test]
fn fixes() {
    if !ready("fixes") {
        return;
    }
    let text = "\
__global__ void k(__shared__ int *q, int *p) {
    p[threadIdx.x] = __shfl(q[threadIdx.x], 0);
}
";
    let place = Place::empty();
    place.write("x.cu", text);
    let line = ["check", "--gpu", "sm_90", "--fix", "--json", "x.cu"];
    let got = place.margay(&line);
    assert!(got.stderr.contains("margay: x.cu: 1 fixed"), "{}", got.stderr);
    // What needs a human's look is shown and left alone.
    assert_eq!((got.code, codes(&got)), (1, vec!["MG310".to_string()]), "{}", got.stdout);
    let fixed = std::fs::read_to_string(place.path("x.cu")).expect("the file");
    assert_eq!(fixed, text.replace("__shared__ int *q", "int *q"));
    let again = place.margay(&line);
    assert_eq!((again.code, again.stderr.as_str()), (1, ""));
    assert_eq!(std::fs::read_to_string(place.path("x.cu")).expect("the file"), fixed);
    // Two rounds: `static` is added to both, each on its own line.
    let text = "\
__global__ void k(int *p) {
    __constant__ int a[2] = {1, 2};
    __constant__ int b[2] = {3, 4};
    p[0] = a[p[1]] + b[p[2]];
}
";
    let (place, got) = check(text, &["--fix"]);
    let fixed = std::fs::read_to_string(place.path("x.cu")).expect("the file");
    assert_eq!(
        fixed,
        text.replace("    __constant__", "    static __constant__"),
        "{}",
        got.stdout
    );
    assert_eq!(got.code, 0, "{}{}", got.stdout, got.stderr);
}

#[test]
fn settings() {
    if !ready("settings") {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir_all(place.path("source/deep")).expect("a folder");
    std::fs::create_dir_all(place.path("headers")).expect("a folder");
    let program = "\
#include \"own.h\"
#if N != 4 || __cplusplus != 201402L
#error the settings did not come here
#endif
__global__ void k(double *p) { atomicAdd(p, own); }
";
    place.write("headers/own.h", "#define own 1.0\n").write("source/deep/x.cu", program).write(
        "margay.toml",
        "[check]\ngpu = \"sm_50\"\nstd = \"c++14\"\ninclude = [\"headers\"]\ndefine = [\"N=4\"]\n",
    );
    let line = ["check", "--json", "source/deep/x.cu"];
    let got = place.margay(&line);
    assert_eq!((got.code, codes(&got)), (1, vec!["MG307".to_string()]), "{}", got.stderr);
    // The command line has the last word.
    let newer = place.margay(&["check", "--json", "--gpu", "v100", "source/deep/x.cu"]);
    assert_eq!((newer.code, codes(&newer)), (0, vec![]), "{}", newer.stdout);
    // A nearer file hides the farther one; severities go by code or name.
    let near = "[check]\ngpu = \"sm_90\"\nstd = \"c++14\"\ninclude = [\"../../headers\"]\n\
                define = [\"N=4\"]\nseverity = { constant-written = \"warning\", MG202 = \"off\" }\n";
    place.write("source/deep/margay.toml", near).write("source/deep/y.cu", BOTH);
    let got = place.margay(&["check", "--json", "source/deep/y.cu"]);
    assert_eq!((got.code, codes(&got)), (1, vec!["MG209".to_string()]), "{}", got.stderr);
    assert!(got.stdout.contains("\"severity\": \"warning\""), "{}", got.stdout);
    let named = place.margay(&["check", "--json", "--config", "margay.toml", "source/deep/y.cu"]);
    assert_eq!(codes(&named), ["MG202", "MG209"]);
}

#[test]
fn settings_that_are_wrong() {
    if !ready("settings_that_are_wrong") {
        return;
    }
    let place = Place::empty();
    place.write("x.cu", CLEAN);
    for (text, says) in [
        ("[check]\nseverity = { MG999 = \"off\" }\n", "no rule is called `MG999`"),
        ("[check]\nseverity = { MG209 = \"loud\" }\n", "unknown variant `loud`"),
        ("[check]\ngpus = \"sm_90\"\n", "unknown field `gpus`"),
        ("[chekc]\n", "unknown field `chekc`"),
        ("[check]\ngpu = \"sm_91\"\n", "no GPU is called `sm_91`"),
        ("[check]\ncuda-version = \"new\"\n", "`new` is no CUDA version"),
        ("[check\n", "margay.toml"),
    ] {
        place.write("margay.toml", text);
        let got = place.margay(&["check", "x.cu"]);
        assert_eq!((got.code, got.stdout.as_str()), (2, ""), "{text}");
        assert!(got.stderr.contains("margay.toml") && got.stderr.contains(says), "{}", got.stderr);
    }
    let got = place.margay(&["check", "--config", "none.toml", "x.cu"]);
    assert!(got.code == 2 && got.stderr.contains("none.toml: cannot read"), "{}", got.stderr);
}

#[test]
fn comments() {
    if !ready("comments") {
        return;
    }
    let with = |first: &str, last: &str| {
        format!("{first}__constant__ int c;\n__global__ void k() {{\n    c = 1;{last}\n}}\n")
    };
    let of = |text: &str| {
        let (_place, got) = check(text, &["--json"]);
        (got.code, codes(&got))
    };
    let code = |c: &str| vec![c.to_string()];
    assert_eq!(of(&with("", "")), (1, code("MG209")));
    assert_eq!(of(&with("", " // margay: allow(MG209)")), (0, vec![]));
    assert_eq!(of(&with("", " // margay: allow(constant-written)")), (0, vec![]));
    assert_eq!(of(&with("// margay: allow-file(MG209, MG210)\n", "")), (0, vec![]));
    // Another code, or another line, excuses nothing.
    assert_eq!(of(&with("", " // margay: allow(MG210)")), (1, code("MG209")));
    assert_eq!(of(&with("// margay: allow(MG209)\n", "")), (1, code("MG209")));
    // A code that no rule has is reported, and the other code of the list holds.
    assert_eq!(of(&with("", " // margay: allow(MG999, MG209)")), (1, code("MG001")));
    // What stops the compiler cannot be allowed.
    let error = "__global__ int k() { return 1; } // margay: allow(MG101)\n";
    assert_eq!(of(error), (1, code("MG101")));
}

#[test]
fn compilation_databases() {
    if !ready("compilation_databases") {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir_all(place.path("build")).expect("a folder");
    std::fs::create_dir_all(place.path("inc")).expect("a folder");
    let program = "\
#include <own.h>
#if N != 7 || __cplusplus != 202002L
#error the flags did not come here
#endif
__global__ void k(double *p) { atomicAdd(p, own); }
";
    let line =
        "nvcc -gencode arch=compute_52,code=sm_52 -I../inc -DN=7 -std=c++20 -c ../x.cu -o x.o";
    let database = serde_json::json!([
        { "directory": place.path("build"), "file": "../x.cu", "command": line }
    ]);
    place
        .write("inc/own.h", "#define own 1.0\n")
        .write("x.cu", program)
        .write("y.cu", CLEAN)
        .write("build/compile_commands.json", database.to_string());
    for path in ["build", "build/compile_commands.json"] {
        let got = place.margay(&["check", "--json", "--compile-commands", path, "x.cu"]);
        assert_eq!((got.code, codes(&got)), (1, vec!["MG307".to_string()]), "{}", got.stderr);
    }
    let other = place.margay(&["check", "--compile-commands", "build", "y.cu"]);
    assert_eq!(
        (other.code, other.stderr.as_str()),
        (0, "margay: note: build does not name y.cu\n")
    );
    place.write("build/compile_commands.json", "{");
    let broken = place.margay(&["check", "--compile-commands", "build", "x.cu"]);
    assert!(broken.code == 2 && broken.stderr.contains("is no compilation database"));
}

#[test]
fn flags_of_the_compiler() {
    if !ready("flags_of_the_compiler") {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir_all(place.path("inc")).expect("a folder");
    let program = "\
#include \"own.h\"
#ifdef GONE
#error -U did not come here
#endif
#if __cplusplus == 201402L
__global__ void k(double *p) { atomicAdd(p + N, own); }
#endif
";
    place.write("inc/own.h", "#define own 1.0\n").write("x.cu", program);
    let expect_307 = |line: &[&str]| {
        let got = place.margay(line);
        assert_eq!((got.code, codes(&got)), (1, vec!["MG307".to_string()]), "{}", got.stderr);
    };
    expect_307(&[
        "check",
        "--json",
        "--gpu",
        "sm_50",
        "-Iinc",
        "-DN=4",
        "-DGONE",
        "-UGONE",
        "-std=c++14",
        "x.cu",
    ]);
    expect_307(&[
        "check",
        "--json",
        "-arch=sm_50",
        "-I",
        "inc",
        "-D",
        "N=4",
        "--std",
        "c++14",
        "x.cu",
    ]);
    expect_307(&[
        "check",
        "--json",
        "--gpu",
        "k80",
        "--cc=-Iinc",
        "--cc=-DN=4",
        "--std=c++14",
        "x.cu",
    ]);
    // OpenCL C has standards of its own.
    place.write("x.cl", "kernel void k(global int *p) { p[0] = 1; }\nglobal int g;\n");
    let old = place.margay(&["check", "--json", "--std", "CL1.2", "x.cl"]);
    assert_eq!((old.code, codes(&old)), (1, vec!["MG506".to_string()]), "{}", old.stderr);
    let new = place.margay(&["check", "--json", "--std=CL2.0", "x.cl"]);
    assert_eq!((new.code, codes(&new)), (0, vec![]), "{}{}", new.stderr, new.stdout);
    // A file of another name.
    place.write("program.txt", CLEAN);
    let unknown = place.margay(&["check", "program.txt"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("--language"), "{}", unknown.stderr);
    assert_eq!(place.margay(&["check", "--language", "cuda", "program.txt"]).code, 0);
    // The version of CUDA whose rules hold.
    place.write("v.cu", "__device__ int f() { static int n; return ++n; }\n");
    assert_eq!(place.margay(&["check", "v.cu"]).code, 0);
    let old = place.margay(&["check", "--json", "--cuda-version", "7.5", "v.cu"]);
    assert_eq!((old.code, codes(&old)), (1, vec!["MG110".to_string()]), "{}", old.stderr);
}

#[test]
fn explanations() {
    let place = Place::empty();
    let one = place.margay(&["check", "--explain", "MG101"]);
    assert_eq!((one.code, one.stderr.as_str()), (0, ""));
    expect![[r#"
        ## MG101 kernel-returns-void

        A `__global__` function returns void.

        ### What it does

        Reports kernels whose return type is not `void`.

        ### Why

        A launch is asynchronous: nobody waits for a value. Results go through memory.

        ### Illegal

        ```cuda
        __global__ int k(int *p) { return p[0]; }
        ```

        ### Legal

        ```cuda
        __global__ void k(int *p) { p[1] = p[0]; }
        ```

        - Severity: error
        - Holds for: all compute capabilities
        - Manual: CUDA C++ Programming Guide, "__global__"
        - Found by: clang
    "#]]
    .assert_eq(&one.stdout);
    assert_eq!(place.margay(&["check", "--explain", "kernel-returns-void"]).stdout, one.stdout);
    let page = include_str!("../../../../docs/rules.md");
    let all = place.margay(&["check", "--explain", "all"]);
    let listed: Vec<&str> = all.stdout.lines().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!((all.code, listed.len()), (0, page.matches("\n## MG").count()));
    for code in listed {
        let text = place.margay(&["check", "--explain", code]).stdout;
        assert!(page.contains(&text), "{code}: docs/rules.md says something else");
    }
    place.fails(
        &["check", "--explain", "MG999"],
        2,
        "margay: error: no rule is called `MG999`; `margay check --explain all` lists them",
    );
}

#[test]
fn bad_input() {
    if !ready("bad_input") {
        return;
    }
    let place = Place::empty();
    std::fs::create_dir(place.path("folder.cu")).expect("a folder");
    let mut large = String::with_capacity(5 << 20);
    while large.len() < 5 << 20 {
        large.push_str("// a comment that says nothing at all\n");
    }
    place
        .write("broken.cu", "__global__ void k(int *p) { p[0] = ; \n")
        .write("broken.cl", "kernel void k(global int *p) { p[0] = ; \n")
        .write("include.cu", "#include \"nowhere.h\"\nint main() { return 0; }\n")
        .write("binary.cu", b"\x7fELF\x02\x01\x01\0\0\0\0")
        .write("nul.cu", b"int a;\0int b;\n")
        .write("control.cu", b"\x01\x02\x03\x04\x05\x06")
        .write("large.cu", &large)
        .write("empty.cu", "")
        .write("latin.cu", b"// caf\xe9\n__global__ void k() {}\n");
    for (name, says) in [
        ("broken.cu", "broken.cu: does not parse: expected expression"),
        ("broken.cl", "broken.cl: does not parse: expected expression"),
        ("include.cu", "include.cu: does not parse: 'nowhere.h' file not found"),
        ("binary.cu", "binary.cu: is an ELF file, not source text"),
        ("nul.cu", "nul.cu: is not text: byte 6 is NUL"),
        ("control.cu", "control.cu: is not text: too many control characters"),
        (
            "large.cu",
            "large.cu: has 5.0 MiB, and `margay check` reads up to 4.0 MiB; `--max-file-size` raises that",
        ),
        ("missing.cu", "missing.cu: cannot read: No such file or directory"),
        ("folder.cu", "folder.cu: is a folder; name its files"),
    ] {
        let got = place.margay(&["check", name]);
        assert_eq!(got.code, 2, "{name}: {}", got.stderr);
        assert!(got.stderr.contains(&format!("margay: error: {says}")), "{name}: {}", got.stderr);
    }
    for name in ["empty.cu", "latin.cu"] {
        let got = place.margay(&["check", name]);
        assert_eq!((got.code, got.stderr.as_str()), (0, ""), "{name}");
    }
    let raised = place.margay(&["check", "--max-file-size", "8", "large.cu"]);
    assert_eq!((raised.code, raised.stderr.as_str()), (0, ""));
    // Where the reading stopped is shown.
    let got = place.margay(&["check", "include.cu"]);
    assert!(got.stdout.contains("include.cu:1:10"), "{}", got.stdout);
}

#[test]
fn wrong_options() {
    let place = Place::empty();
    place.write("x.cu", CLEAN);
    for (line, says) in [
        (&["check"][..], "<FILES>"),
        (&["check", "--frobnicate", "x.cu"], "--frobnicate"),
        (&["check", "--format", "xml", "x.cu"], "xml"),
        (&["check", "--gpu", "sm_91", "x.cu"], "no GPU is called `sm_91`"),
        (&["check", "--severity", "MG999=off", "x.cu"], "no rule is called `MG999`"),
        (&["check", "--severity", "MG209", "x.cu"], "expected CODE=off|hint|warning|error"),
        (&["check", "--severity", "MG209=loud", "x.cu"], "expected CODE=off|hint|warning|error"),
        (&["check", "--cuda-version", "new", "x.cu"], "`new` is no CUDA version"),
        (&["check", "--compile-commands", "none", "x.cu"], "none: cannot read"),
        (&["check", "--max-file-size", "much", "x.cu"], "much"),
        (&["check", "--language", "fortran", "x.cu"], "fortran"),
    ] {
        let got = place.margay(line);
        assert_eq!((got.code, got.stdout.as_str()), (2, ""), "{line:?}: {}", got.stderr);
        assert!(got.stderr.contains(says), "{line:?}: {}", got.stderr);
    }
}

/// 500 lines beyond clang's own time, and a large file. The bounds are several times what docs/check.md measured,
/// for slow machines and this profile.
#[test]
fn it_is_quick() {
    if !ready("it_is_quick") {
        return;
    }
    let kernel = |i: usize| {
        format!(
            "__constant__ float c{i}[4];\n\
             __global__ void k{i}(float *p, const float *q, int n) {{\n\
             \x20   __shared__ float s[256];\n\
             \x20   int t = threadIdx.x + blockIdx.x * blockDim.x;\n\
             \x20   s[threadIdx.x] = t < n ? q[t] * c{i}[1] : 0;\n\
             \x20   __syncthreads();\n\
             \x20   for (int h = 128; h > 0; h /= 2) {{\n\
             \x20       if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];\n\
             \x20       __syncthreads();\n\
             \x20   }}\n\
             \x20   if (threadIdx.x == 0) atomicAdd(p, s[0]);\n\
             \x20   if (t < n) p[t + 1] = s[threadIdx.x ^ 1] + sqrtf(q[t]);\n\
             }}\n"
        )
    };
    let program = |lines: usize| -> String { (0..lines.div_ceil(13)).map(kernel).collect() };
    let place = Place::empty();
    place.write("small.cu", CLEAN).write("x.cu", program(500)).write("large.cu", program(5000));
    let time = |name: &str| {
        let start = Instant::now();
        let got = place.margay(&["check", "--gpu", "sm_90", name]);
        assert_eq!(got.code, 0, "{}{}", got.stdout, got.stderr);
        start.elapsed()
    };
    // The first check parses the headers; one line is clang's own time with them.
    time("small.cu");
    let alone = (0..3).map(|_| time("small.cu")).min().expect("a time");
    let whole = (0..3).map(|_| time("x.cu")).min().expect("a time");
    let beyond = whole.saturating_sub(alone);
    eprintln!("one line {alone:.0?}, 500 lines {whole:.0?}");
    assert!(beyond < Duration::from_secs(2), "500 lines take {beyond:?} beyond one line");
    let large = time("large.cu");
    eprintln!("5,000 lines {large:.0?}");
    assert!(large < Duration::from_secs(20), "5,000 lines take {large:?}");
}
