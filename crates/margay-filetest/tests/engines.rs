// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold of the engines beside giving the same bits: bad input, seeds, the cache of compiled
//! code, and a machine without LLVM.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use margay_exec::jit::{Counts, Engine, counts, unavailable};
use margay_filetest::compile::compile;
use margay_filetest::device::{Argument, Shape, run};

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

fn shape(grid: u32, block: u32, engine: Engine, threads: usize, seed: Option<u64>) -> Shape {
    Shape { threads, engine: Some(engine), seed, ..Shape::new([grid, 1, 1], [block, 1, 1]) }
}

/// What a kernel with one buffer leaves there.
fn result(text: &str, words: usize, shape: &Shape) -> Vec<u32> {
    let module = Arc::new(compile(text).unwrap_or_else(|e| panic!("{e:?}")));
    let bytes = vec![0u8; words * 4];
    let arguments = [Argument::Buffer { bytes, label: "out".to_owned() }];
    let outcome = run(module, "k", &arguments, shape).unwrap_or_else(|e| panic!("{e}"));
    let word = |c: &[u8]| u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
    outcome.buffers[0].chunks_exact(4).map(word).collect()
}

fn kernel(registers: &str, body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n\
         .reg .b64 %d<8>;\n{registers}\nld.param.u64 %d0, [out];\ncvta.to.global.u64 %d0, %d0;\n\
         mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n\
         mad.lo.u32 %r3, %r1, %r2, %r0;\nmul.wide.u32 %d1, %r3, 4;\nadd.u64 %d1, %d0, %d1;\n\
         {body}\nret;\n}}\n"
    )
}

#[test]
fn a_kernel_of_100_000_instructions_ends() {
    let mut body = "mov.u32 %r4, %r0;\n".to_owned();
    for n in 0..50_000u32 {
        let _ = writeln!(body, "mad.lo.u32 %r4, %r4, 5, {n};\nxor.b32 %r4, %r4, %r3;");
    }
    body += "st.global.u32 [%d1], %r4;";
    let text = kernel("", &body);
    let wanted: Vec<u32> = (0..64u32)
        .map(|t| (0..50_000).fold(t % 32, |x, n| (x.wrapping_mul(5).wrapping_add(n)) ^ t))
        .collect();
    let started = Instant::now();
    for engine in [Engine::Interp, Engine::Jit, Engine::Auto] {
        assert_eq!(result(&text, 64, &shape(2, 32, engine, 1, None)), wanted, "{engine:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(100), "{:?}", started.elapsed());
}

#[test]
fn registers_255_live_over_a_barrier() {
    let mut body = String::new();
    for n in 0..255 {
        let _ = writeln!(body, "mad.lo.u32 %v{n}, %r3, {}, {n};", 2 * n + 1);
    }
    // All of them live around a loop with a barrier, and afterwards.
    body += "mov.u32 %r5, 0;\nLOOP:\nbar.sync 0;\n";
    for n in 0..255 {
        let _ = writeln!(body, "add.u32 %v{n}, %v{n}, %v{};", (n + 7) % 255);
    }
    body += "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 3;\n@%p0 bra LOOP;\nmov.u32 %r4, 0;\n";
    for n in 0..255 {
        let _ = writeln!(body, "mad.lo.u32 %r4, %r4, 31, %v{n};");
    }
    body += "st.global.u32 [%d1], %r4;";
    let text = kernel(".reg .b32 %v<255>;", &body);
    let wanted: Vec<u32> = (0..192u32)
        .map(|t| {
            let mut v: Vec<u32> =
                (0..255).map(|n| t.wrapping_mul(2 * n + 1).wrapping_add(n)).collect();
            for _ in 0..3 {
                for n in 0..255 {
                    v[n] = v[n].wrapping_add(v[(n + 7) % 255]);
                }
            }
            v.iter().fold(0u32, |x, v| x.wrapping_mul(31).wrapping_add(*v))
        })
        .collect();
    for engine in [Engine::Interp, Engine::Jit] {
        assert_eq!(result(&text, 192, &shape(2, 96, engine, 1, None)), wanted, "{engine:?}");
    }
}

#[test]
fn barriers_in_loops_of_a_block_of_1024() {
    // A sum over the block, by halves, five times over.
    let body = "mov.u64 %d2, sums;\nmul.wide.u32 %d3, %r0, 4;\nadd.u64 %d2, %d2, %d3;\n\
                mov.u32 %r9, 0;\nmov.u32 %r4, %r3;\n\
                OUTER:\nst.shared.u32 [%d2], %r4;\nbar.sync 0;\nmov.u32 %r5, 512;\n\
                LOOP:\nsetp.ge.u32 %p0, %r0, %r5;\n@%p0 bra SKIP;\n\
                mul.wide.u32 %d4, %r5, 4;\nadd.u64 %d4, %d2, %d4;\nld.shared.u32 %r6, [%d2];\n\
                ld.shared.u32 %r7, [%d4];\nadd.u32 %r6, %r6, %r7;\nst.shared.u32 [%d2], %r6;\n\
                SKIP:\nbar.sync 0;\nshr.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r5, 0;\n@%p1 bra LOOP;\n\
                ld.shared.u32 %r8, [sums];\nbar.sync 0;\nadd.u32 %r4, %r8, %r0;\n\
                add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 5;\n@%p2 bra OUTER;\n\
                st.global.u32 [%d1], %r4;";
    let text = kernel(".shared .align 4 .b8 sums[4096];", body);
    let mut wanted = Vec::new();
    for block in 0..2u32 {
        let mut v: Vec<u32> = (0..1024).map(|t| block * 1024 + t).collect();
        for _ in 0..5 {
            let sum = v.iter().fold(0u32, |a, b| a.wrapping_add(*b));
            v = (0..1024).map(|t| sum.wrapping_add(t)).collect();
        }
        wanted.extend(v);
    }
    for (engine, threads) in [(Engine::Interp, 1), (Engine::Jit, 1), (Engine::Jit, 2)] {
        let found = result(&text, 2048, &shape(2, 1024, engine, threads, None));
        assert_eq!(found, wanted, "{engine:?}");
    }
}

#[test]
fn a_seed_gives_the_same_bits_on_both_engines_at_any_number_of_threads() {
    // Which thread comes when is in every word: a product and sum by compare-and-swap, a sum of
    // floats, and the place in line.
    let body = "ld.volatile.global.u32 %r4, [%d0];\n\
                AGAIN:\nmad.lo.u32 %r5, %r4, 3, %r3;\natom.global.cas.b32 %r6, [%d0], %r4, %r5;\n\
                setp.ne.u32 %p0, %r6, %r4;\nmov.u32 %r4, %r6;\n@%p0 bra AGAIN;\n\
                cvt.rn.f32.u32 %r7, %r3;\nadd.f32 %r7, %r7, 0f3DCCCCCD;\n\
                red.global.add.f32 [%d0+4], %r7;\natom.global.add.u32 %r8, [%d0+8], 1;\n\
                st.global.u32 [%d1+16], %r8;";
    let text = kernel("", body);
    let mut all = Vec::new();
    for seed in [1, 2, 77] {
        let mut found = Vec::new();
        for engine in [Engine::Interp, Engine::Jit, Engine::Auto] {
            for threads in [1, 2, 4] {
                found.push(result(&text, 4 + 8 * 64, &shape(8, 64, engine, threads, Some(seed))));
            }
        }
        assert!(found.iter().all(|f| *f == found[0]), "seed {seed}");
        all.push(found.remove(0));
    }
    assert!(all[0] != all[1], "two seeds give one order");
}

fn tell_counts() {
    let Counts { compiled, cached, .. } = counts();
    println!("compiled {compiled}, cached {cached}");
}

/// What the tests below run in a process of its own.
#[test]
#[ignore = "a child of other tests"]
fn child() {
    let Ok(which) = std::env::var("MARGAY_TEST_CHILD") else { return };
    let engine = if which == "jit" { Engine::Jit } else { Engine::default() };
    if which == "long" {
        // One block, long enough that compiling it pays.
        let body = "mov.u32 %r4, %r3;\nmov.u32 %r5, 0;\nLOOP:\nmad.lo.u32 %r4, %r4, 5, %r5;\n\
                    add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p0, %r5, 8000000;\n@%p0 bra LOOP;\n\
                    st.global.u32 [%d1], %r4;";
        let found = result(&kernel("", body), 32, &shape(1, 32, engine, 2, None));
        let wanted = |t| (0..8_000_000u32).fold(t, |x: u32, n| x.wrapping_mul(5).wrapping_add(n));
        assert!(found.iter().enumerate().all(|(t, &v)| v == wanted(t as u32)), "{found:?}");
        tell_counts();
        return;
    }
    let text = kernel("", "mad.lo.u32 %r4, %r3, 7, 5;\nst.global.u32 [%d1], %r4;");
    // A part of a warp, so that there are two functions.
    let found = result(&text, 96, &shape(2, 48, engine, 1, None));
    assert!(found.iter().enumerate().all(|(t, &v)| v == t as u32 * 7 + 5), "{found:?}");
    tell_counts();
}

fn run_child(which: &str, settings: &[(&str, &str)]) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    command.env("MARGAY_TEST_CHILD", which);
    for setting in ["MARGAY_JIT_CACHE", "MARGAY_ENGINE", "MARGAY_LOG"] {
        command.env_remove(setting);
    }
    command.envs(settings.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    let (out, err) = (text(stdout), text(stderr));
    assert!(status.success(), "{out}\n{err}");
    (out, err)
}

/// A folder that goes with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("margay-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_second_process_compiles_nothing() {
    if let Some(why) = unavailable() {
        println!("skipped: {why}");
        return;
    }
    let place = Place::new("second-process");
    let settings = [("MARGAY_CACHE_DIR", place.text()), ("MARGAY_JIT_LOG", "1")];
    let (first, log) = run_child("jit", &settings);
    assert!(first.contains("compiled 2, cached 0"), "{first}");
    assert!(log.contains("compiled in"), "{log}");
    let (second, log) = run_child("jit", &settings);
    assert!(second.contains("compiled 0, cached 2"), "{second}");
    assert!(log.contains("taken from the cache") && !log.contains("compiled in"), "{log}");
    // Damage in one file costs one compilation, and mends the file.
    // The folder holds the processor's name too, which is short.
    let files = std::fs::read_dir(place.0.join("jit")).unwrap().flatten();
    let file = files.max_by_key(|f| f.metadata().unwrap().len()).unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let (third, _) = run_child("jit", &settings);
    assert!(third.contains("compiled 1, cached 1"), "{third}");
    assert_eq!(std::fs::read(&file).unwrap().len(), bytes.len());
    // A key that holds another thing, whole by its hash, is no object.
    let files = std::fs::read_dir(place.0.join("jit")).unwrap().flatten();
    let short = files.min_by_key(|f| f.metadata().unwrap().len()).unwrap().path();
    std::fs::copy(short, &file).unwrap();
    let (fourth, _) = run_child("jit", &settings);
    assert!(fourth.contains("compiled 1, cached 1"), "{fourth}");
    assert_eq!(std::fs::read(&file).unwrap().len(), bytes.len());
    // Without the cache nothing comes from there.
    let other = run_child("jit", &[("MARGAY_CACHE_DIR", place.text()), ("MARGAY_JIT_CACHE", "0")]);
    assert!(other.0.contains("compiled 2, cached 0"), "{}", other.0);
}

#[test]
fn a_long_launch_is_compiled_while_it_runs() {
    if let Some(why) = unavailable() {
        println!("skipped: {why}");
        return;
    }
    let (out, err) = run_child("long", &[("MARGAY_JIT_CACHE", "0")]);
    assert!(!out.contains("compiled 0"), "{out}\n{err}");
}

#[test]
fn without_llvm_the_interpreter_serves() {
    let place = Place::new("no-llvm");
    let none = place.0.join("libmargay_jit.so");
    let (out, err) = run_child("jit", &[("MARGAY_JIT_LIBRARY", none.to_str().unwrap())]);
    assert!(out.contains("compiled 0, cached 0"), "{out}");
    let said = || err.lines().filter(|l| l.starts_with("margay: kernels are interpreted: "));
    assert_eq!(said().count(), 1, "{err}");
    // Of another version.
    let source = place.0.join("version.c");
    std::fs::write(&source, "unsigned margay_jit_version(void) { return 999; }\n").unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&none)
        .arg(&source)
        .status()
        .is_ok_and(|s| s.success());
    if made {
        let (out, err) = run_child("jit", &[("MARGAY_JIT_LIBRARY", none.to_str().unwrap())]);
        assert!(out.contains("compiled 0, cached 0"), "{out}");
        assert!(err.contains("has version 999, not 1: install it again"), "{err}");
    } else {
        println!("skipped: no `cc`");
    }
    // No library at all, and nobody asked for one by name: not a word where it matters to nobody.
    std::fs::write(&none, "no library").unwrap();
    let missing = ("MARGAY_JIT_LIBRARY", none.to_str().unwrap());
    let (_, err) = run_child("auto", &[missing]);
    assert!(!err.contains("margay:"), "{err}");
    let (_, err) = run_child("long", &[missing]);
    let said = || err.lines().filter(|l| l.starts_with("margay: kernels are interpreted: "));
    assert_eq!(said().count(), usize::from(cfg!(target_arch = "x86_64")), "{err}");
    let (_, err) = run_child("long", &[missing, ("MARGAY_LOG", "off")]);
    assert!(!err.contains("margay:"), "{err}");
    let (_, err) = run_child("jit", &[("MARGAY_JIT_LIBRARY", none.to_str().unwrap())]);
    assert!(err.contains("margay: kernels are interpreted: "), "{err}");
}
