// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kernels on both engines: the same bits, the same fault.
//!
//! `MARGAY_FUZZ_SECONDS` says how long (2 by default), `MARGAY_FUZZ_SEED` where to begin; a failure
//! prints the kernel that is left after cutting, as a filetest, and its own seed.
//! `MARGAY_FUZZ_ONLY=SEED` runs one kernel. `MARGAY_CPU=x86-64-v3` tests the code for AVX2.
//!
//! Kernels run in a child process, so that a crash of compiled code is a finding like any other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use margay_filetest::fuzz::compare::{Broken, compare, filetest};
use margay_filetest::fuzz::generate::kernel;
use margay_filetest::fuzz::kernel::Kernel;
use margay_filetest::fuzz::minimise::minimise;
use margay_filetest::fuzz::palette::Palette;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Same,
    Differs,
    /// Not a kernel that runs.
    Broken,
    Crash(i32),
    Hang,
}

const SAME: i32 = 10;
const DIFFERS: i32 = 11;
const BROKEN: i32 = 12;

/// What parent and children share.
struct Shared {
    seed: AtomicU64,
    tried: AtomicU64,
}

fn shared() -> &'static Shared {
    // SAFETY: a fresh shared mapping of zeros, which such atomics are, and which is never unmapped.
    unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            size_of::<Shared>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert!(at != libc::MAP_FAILED, "no shared memory");
        &*at.cast::<Shared>()
    }
}

/// Runs `work` in a child; kills it when `alive` has not changed for so long.
fn child(patience: Duration, alive: &dyn Fn() -> u64, work: impl FnOnce() -> i32) -> End {
    // SAFETY: the other threads of the test harness only wait; the child does its work and leaves.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "no child process");
    if pid == 0 {
        let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(BROKEN);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(status) };
    }
    let mut last = (alive(), Instant::now());
    loop {
        let mut status = 0;
        // SAFETY: our own child.
        let done = unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) };
        if done == pid {
            return match libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)) {
                Some(SAME) => End::Same,
                Some(DIFFERS) => End::Differs,
                Some(BROKEN) => End::Broken,
                Some(other) => End::Crash(other),
                None => End::Crash(-libc::WTERMSIG(status)),
            };
        }
        let now = alive();
        if now != last.0 {
            last = (now, Instant::now());
        }
        if last.1.elapsed() > patience {
            // SAFETY: as above.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, &mut status, 0);
            }
            return End::Hang;
        }
        std::thread::sleep(Duration::from_millis(if patience.as_secs() > 60 { 20 } else { 2 }));
    }
}

fn verdict(kernel: &Kernel, tell: bool) -> i32 {
    match compare(kernel) {
        Ok(None) => SAME,
        Ok(Some(difference)) => {
            if tell {
                println!("{}", difference.0);
            }
            DIFFERS
        }
        Err(broken) => {
            if tell {
                println!("{broken:?}");
            }
            BROKEN
        }
    }
}

fn alone(kernel: &Kernel, tell: bool) -> End {
    child(Duration::from_secs(60), &|| 0, || verdict(kernel, tell))
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

fn report(failing: &Kernel, how: End) -> ! {
    let seed = failing.seed;
    println!("seed {seed}: {how:?}; cutting {} lines", failing.size());
    let tries = number("MARGAY_FUZZ_TRIES").unwrap_or(1500) as usize;
    let small = minimise(failing, tries, &mut |k| alone(k, false) == how);
    alone(&small, true);
    panic!("MARGAY_FUZZ_ONLY={seed}: {how:?} on this kernel:\n{}", filetest(&small));
}

/// Kernels that LLVM 19 compiled without end, with AVX-512.
const FOUND: [u64; 7] =
    [7104000521, 7113000589, 2026112502000189, 12605000429, 12606000221, 27000068, 31500000000357];

#[test]
fn engines_agree_on_random_kernels() {
    if let Some(why) = margay_exec::jit::unavailable() {
        println!("skipped: {why}");
        return;
    }
    if let Some(seed) = number("MARGAY_FUZZ_ONLY") {
        let kernel = kernel(seed, &mut Palette::default());
        match alone(&kernel, true) {
            End::Same => return,
            End::Broken => panic!("seed {seed} is no kernel:\n{}", kernel.text()),
            other => report(&kernel, other),
        }
    }
    // Here, as a test of its own would be another thread that does not only wait.
    for seed in FOUND {
        let kernel = kernel(seed, &mut Palette::default());
        assert_eq!(alone(&kernel, true), End::Same, "MARGAY_FUZZ_ONLY={seed}");
    }
    let seconds = number("MARGAY_FUZZ_SECONDS").unwrap_or(2);
    let first = number("MARGAY_FUZZ_SEED").unwrap_or(1) * 1_000_000;
    let end = Instant::now() + Duration::from_secs(seconds);
    let shared = shared();
    let seen = || shared.tried.load(Ordering::Relaxed);
    let how = child(Duration::from_secs(90), &seen, || {
        let mut palette = Palette::default();
        for n in 0.. {
            let seed = first + n;
            shared.seed.store(seed, Ordering::Relaxed);
            let kernel = kernel(seed, &mut palette);
            match compare(&kernel) {
                Ok(None) => {}
                Ok(Some(_)) => return DIFFERS,
                Err(Broken::Compile(why) | Broken::Run(why)) => {
                    println!("seed {seed}: {why}");
                    return BROKEN;
                }
            }
            shared.tried.fetch_add(1, Ordering::Relaxed);
            if Instant::now() >= end && n >= 2 {
                break;
            }
        }
        SAME
    });
    let (tried, seed) = (seen(), shared.seed.load(Ordering::Relaxed));
    println!("{tried} kernels");
    match how {
        End::Same => {}
        End::Broken => {
            let text = kernel(seed, &mut Palette::default()).text();
            panic!("MARGAY_FUZZ_ONLY={seed}: no kernel that runs:\n{text}")
        }
        other => report(&kernel(seed, &mut Palette::default()), other),
    }
    assert!(tried >= 3, "only {tried} kernels");
}
