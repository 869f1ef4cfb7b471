// SPDX-License-Identifier: MIT OR Apache-2.0
//! Causes and cures: what is told, and that the promised gain is what the changed program has.

mod common;

use common::Bench;
use margay_observe::report::Report;
use margay_observe::report::schema::{Access, Finding};
use margay_observe::report::text::{self, Options};

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// A kernel of two pointers; `%rd1` and `%rd2` are they, `%r1` the thread, `%rd3` 64-bit work.
fn kernel(name: &str, before: &str, body: &str) -> String {
    format!(
        "{before}\n.visible .entry {name}(.param .u64 a, .param .u64 b) {{\n\
         .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f64 %fd<4>;\n\
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    )
}

fn report(gpus: &[&str], text: &str) -> Report {
    let mut bench = Bench::new(gpus);
    let module = bench.load_text(&format!("{HEAD}{text}"));
    let buffer = vec![0; 1 << 16];
    let (a, b) = (bench.buffer(&buffer), bench.buffer(&buffer));
    for f in &module.ir.functions {
        bench.launch(&module, &f.name, [1; 3], [32, 1, 1], &[a, b]);
    }
    bench.report()
}

fn access<'a>(report: &'a Report, kernel: &str, space: &str) -> &'a Access {
    let kernel = report.kernels.iter().find(|k| k.symbol == kernel).unwrap();
    kernel.accesses.iter().find(|a| a.space == space).unwrap()
}

fn finding<'a>(report: &'a Report, kernel: &str, space: &str, g: usize) -> &'a Finding {
    access(report, kernel, space).gpus[g].finding.as_ref().unwrap_or_else(|| panic!("{kernel}"))
}

/// Rule, cure, and what it promises.
fn told(f: &Finding) -> (&str, &str, u64, u64) {
    let cure = f.cure.as_ref().unwrap_or_else(|| panic!("{f:?}"));
    (&f.rule, &cure.kind, cure.before, cure.after)
}

#[test]
fn shared_memory() {
    let tile = ".shared .align 8 .b8 tile[8192];";
    let column = |step: u32, width: &str| {
        format!(
            "mul.lo.u32 %r2, %r1, {step}; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; ld.shared.{width} %r4, [%r2];"
        )
    };
    let text = format!(
        "{tile}{}{}{}{}",
        kernel("column", "", &column(128, "u32")),
        kernel("pairs", "", &column(8, "u32")),
        kernel("bytes", "", &column(1, "u8")),
        kernel(
            "doubles",
            "",
            "mul.lo.u32 %r2, %r1, 8; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; ld.shared.f64 %fd1, [%r2];"
        ),
    );
    let report = report(&["h200", "c1060"], &text);
    let new = |k| told(finding(&report, k, "shared", 0));
    assert_eq!(new("column"), ("bank-conflict", "pad", 32, 1));
    assert_eq!(new("pairs"), ("bank-conflict", "pad", 2, 1));
    let cure = finding(&report, "column", "shared", 0).cure.as_ref().unwrap();
    assert_eq!(cure.text, "pad each row of `tile` by 4 bytes: [64][33] instead of [64][32]");
    assert!(cure.whole_variable && cure.coverage == 1.0);
    for fine in ["bytes", "doubles"] {
        assert_eq!(access(&report, fine, "shared").gpus[0].finding, None, "{fine}");
    }
    // 1.x: doubles conflict two ways, and two arrays of words do not; bytes share words.
    let old = |k| told(finding(&report, k, "shared", 1));
    assert_eq!(old("doubles"), ("bank-conflict", "split-words", 8, 4));
    assert_eq!(old("column").1, "pad");
}

#[test]
fn global_memory() {
    let at = |step: u32, from: u32, width: &str| {
        format!(
            "mul.wide.u32 %rd3, %r1, {step}; add.u64 %rd3, %rd3, %rd1; ld.global.{width} %r4, [%rd3+{from}];"
        )
    };
    let text = [
        kernel("far", "", &at(1024, 0, "u32")),
        kernel("members", "", &at(16, 0, "u32")),
        kernel("shifted", "", &at(4, 20, "u32")),
        kernel("straight", "", &at(4, 0, "u32")),
        kernel("one", "", &at(0, 0, "u32")),
    ]
    .concat();
    let report = report(&["h200", "8800gtx"], &text);
    let new = |k| told(finding(&report, k, "global", 0));
    assert_eq!(new("far"), ("strided", "transpose-index", 32, 4));
    assert_eq!(new("members"), ("strided", "member-arrays", 16, 4));
    assert_eq!(new("shifted"), ("misaligned", "align", 5, 4));
    assert_eq!(access(&report, "straight", "global").gpus[0].finding, None);
    assert_eq!(access(&report, "one", "global").gpus[0].finding, None);
    // 1.0 coalesces in order and from an aligned start, or not at all; one word for all is not.
    let old = |k| told(finding(&report, k, "global", 1));
    assert_eq!(old("shifted"), ("misaligned", "align", 32, 2));
    assert_eq!(old("one").1, "to-constant");
    assert_eq!(access(&report, "straight", "global").gpus[1].finding, None);
}

#[test]
fn constants_atomics_and_arrays() {
    let table = ".const .align 4 .b32 table[64];\n.shared .align 4 .b32 count;\n";
    let text = format!(
        "{table}{}{}{}{}",
        kernel(
            "lookup",
            "",
            "mul.wide.u32 %rd3, %r1, 4; mov.u64 %rd4, table; add.u64 %rd3, %rd3, %rd4; ld.const.u32 %r4, [%rd3];"
        ),
        kernel("total", "", "atom.global.add.u32 %r2, [%rd1], %r1;"),
        kernel("number", "", "atom.global.add.u32 %r2, [%rd1], %r1; st.global.u32 [%rd2], %r2;"),
        kernel(
            "counter",
            "",
            "mov.u32 %r3, count; atom.shared.max.u32 %r4, [%r3], %r1; st.global.u32 [%rd2], %r4;"
        ),
    );
    let report = report(&["h200"], &text);
    assert_eq!(
        told(finding(&report, "lookup", "constant", 0)),
        ("constant-serialisation", "to-shared", 32, 1)
    );
    let (rule, cure, before, after) = told(finding(&report, "total", "global", 0));
    assert_eq!((rule, cure, after), ("atomic-contention", "aggregate", 1));
    assert!(before > after);
    // The result of the one is used, that of the other is not.
    assert_eq!(access(&report, "total", "global").kind, "reduction");
    assert_eq!(access(&report, "number", "global").kind, "atomic");
    let shared = told(finding(&report, "counter", "shared", 0));
    assert_eq!(
        (shared.0, shared.1, shared.2, shared.3),
        ("shared-atomic-contention", "aggregate", 32, 1)
    );
}

/// A launch whose division of the store differs waits for kernels of other streams, which is said where there are some.
/// What is local in OpenCL's words is shared in CUDA's, and nothing of CUDA's API helps.
#[test]
fn opencl_kernels_are_told_in_its_words() {
    let column = "mul.lo.u32 %r2, %r1, 128; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; ld.shared.u32 %r4, [%r2];
        mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; ld.global.u32 %r5, [%rd4+4];";
    let told = |file: &str| {
        let loc = format!(".loc 1 3 1\n{column}");
        let before = format!(".file 1 \"{file}\"\n.shared .align 8 .b8 tile[4096];");
        text::render(&report(&["h200"], &kernel("f", &before, &loc)), &Options::default())
    };
    let (cuda, opencl) = (told("f.cu"), told("f.cl"));
    for words in ["  shared load ", "    shared load: 32 lanes", "cudaMallocPitch"] {
        assert!(cuda.contains(words) && !opencl.contains(words), "{words}: {cuda}{opencl}");
    }
    for words in
        ["  local (shared) load ", "    local (shared) load: 32 lanes", "work-groups of 32"]
    {
        assert!(opencl.contains(words) && !cuda.contains(words), "{words}: {cuda}{opencl}");
    }
}

#[test]
fn a_change_of_the_split_is_told() {
    use margay_arch::caches::SplitPreference;
    let text = format!("{HEAD}{}", kernel("plain", "", "st.global.u32 [%rd1], %r1;"));
    let notes = |streams: [u64; 3], splits: [SplitPreference; 3]| {
        let mut bench = Bench::new(&["h200"]);
        let module = bench.load_text(&text);
        let a = bench.buffer(&[0; 4096]);
        for (stream, split) in streams.into_iter().zip(splits) {
            (bench.stream, bench.split) = (stream, split);
            bench.launch(&module, "plain", [1; 3], [32, 1, 1], &[a, a]);
        }
        let report = bench.report();
        (report.notes, report.kernels[0].caches.l1_bytes)
    };
    let (most, least) = (SplitPreference::Percent(100), SplitPreference::Percent(0));
    let (told, l1) = notes([1, 2, 1], [least, most, least]);
    assert!(told[0].contains("changed 2 times") && told[0].contains("Carveout"), "{told:?}");
    assert_eq!(l1, 256 << 10);
    assert_eq!(notes([1, 1, 1], [least, most, least]).0, [""; 0], "one stream");
    assert_eq!(notes([1, 2, 3], [most; 3]), (Vec::new(), 28 << 10), "no change");
}

#[test]
fn what_a_gpu_lacks_is_told() {
    let text = [
        kernel("word", "", "atom.global.add.u32 %r2, [%rd1], %r1;"),
        kernel("wide", "", "mov.u64 %rd3, 1; atom.global.max.u64 %rd4, [%rd1], %rd3;"),
    ]
    .concat();
    let report = report(&["h200", "8800gtx", "1.1", "3.0"], &text);
    let of = |name: &str| report.kernels.iter().find(|k| k.symbol == name).unwrap();
    let missing = |name: &str| -> Vec<(usize, String)> {
        of(name).missing.iter().map(|m| (m.gpu, m.since.clone())).collect()
    };
    assert_eq!(missing("word"), [(1, "1.1".to_owned())]);
    assert_eq!(missing("wide"), [1, 2, 3].map(|g| (g, "3.5".to_owned())));
    let row = "global_reduction";
    let has = |name, g: usize| of(name).totals[g].spaces.contains_key(row);
    assert_eq!([0, 1, 2, 3].map(|g| has("word", g)), [true, false, true, true]);
    assert_eq!([0, 1, 2, 3].map(|g| has("wide", g)), [true, false, false, false]);
    assert_eq!(of("word").missing[0].row, row);
    let told = text::render(&report, &Options::default());
    assert!(told.contains("none: 1.1 has it") && told.contains("none: 3.5 has it"), "{told}");
}

/// A kernel that is launched with both widths of banks is two: neither has the other's counts, causes and pictures.
#[test]
fn each_width_of_banks_has_its_own_pictures() {
    use margay_arch::BankMode;
    let body =
        "shl.b32 %r2, %r1, 3; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; ld.shared.u64 %rd3, [%r2];";
    let text = format!("{HEAD}{}", kernel("f", ".shared .align 8 .b8 tile[4096];", body));
    let profiled = |gpus: &[&str]| {
        let mut bench = Bench::new(gpus);
        let module = bench.load_text(&text);
        let a = bench.buffer(&[0; 4096]);
        for mode in [BankMode::FourByte, BankMode::EightByte, BankMode::FourByte] {
            bench.bank_mode = mode;
            bench.launch(&module, "f", [1; 3], [32, 1, 1], &[a, a]);
        }
        bench.report()
    };
    let report = profiled(&["h200", "3.0"]);
    let of = |name: &str| {
        let kernel = report.kernels.iter().find(|k| k.name == name).unwrap();
        let access = kernel.accesses.iter().find(|a| a.space == "shared").unwrap();
        let picture = access.gpus[1].picture.as_ref().unwrap();
        (kernel.launches, access.gpus[1].counts.wavefronts, picture.wavefronts)
    };
    let (four, eight) = (of("f"), of("f (8-byte banks)"));
    assert_eq!((four.0, eight.0), (2, 1));
    // A picture is of one execution.
    assert_eq!((four.1, eight.1), (2 * u64::from(four.2), u64::from(eight.2)));
    // Where no GPU has a choice there is one kernel.
    assert_eq!(profiled(&["h200"]).kernels.len(), 1);
}
