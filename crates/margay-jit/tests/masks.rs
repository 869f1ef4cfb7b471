// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels have hundreds of words of bits, and all of them meet wherever paths do. How long LLVM takes for that must not depend on
//! whether the processor has registers for masks.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Words that meet, and how often they do.
const WORDS: usize = 32;
const JOINS: usize = 400;

/// A function in which each join gives every word another one or itself, so that none can be left out.
fn text() -> String {
    let mut text = String::from("define void @f(ptr %p) {\nbegin:\n");
    for w in 0..WORDS {
        let _ = writeln!(text, "  %v0.{w} = load volatile i32, ptr %p");
    }
    text.push_str("  br label %join0\njoin0:\n");
    for j in 0..JOINS {
        let next = j + 1;
        let _ = write!(
            text,
            "  %c{j} = load volatile i1, ptr %p\n  br i1 %c{j}, label %other{j}, label %join{next}\n\
             other{j}:\n  store volatile i32 {j}, ptr %p\n  br label %join{next}\njoin{next}:\n"
        );
        for w in 0..WORDS {
            let other = (w + 1) % WORDS;
            let _ = writeln!(
                text,
                "  %v{next}.{w} = phi i32 [ %v{j}.{w}, %join{j} ], [ %v{j}.{other}, %other{j} ]"
            );
        }
    }
    for w in 0..WORDS {
        let _ = writeln!(text, "  store volatile i32 %v{JOINS}.{w}, ptr %p");
    }
    text.push_str("  ret void\n}\n");
    text
}

fn took(text: &str, features: &str) -> Duration {
    let started = Instant::now();
    margay_jit::compile(text, "x86-64-v4", features, "early-cse", 2).expect("LLVM compiles it");
    started.elapsed()
}

/// The square takes twenty times the rest here.
#[test]
fn joins_of_words_take_as_long_with_mask_registers() {
    let text = text();
    // LLVM sets up some things late.
    took("define void @f() {\n  ret void\n}\n", "");
    let without = took(&text, "-avx512bw");
    let with = took(&text, "");
    assert!(with < without * 4, "{with:?} with 64-bit mask registers, {without:?} without them");
}
