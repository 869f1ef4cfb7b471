// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each code stands for, in a sentence: services that show findings show it beside them.

/// What is wrong where a code is found. One that is newer than this list is described by its check.
pub fn meaning(code: &str) -> &'static str {
    match code {
        "memory/out-of-bounds" => "A kernel accesses memory outside of every allocation.",
        "memory/shared-out-of-bounds" => {
            "A kernel accesses shared memory outside of the variable, or of what its block has."
        }
        "memory/local-out-of-bounds" => {
            "A kernel accesses a thread's own memory outside of its arrays."
        }
        "memory/misaligned" => "An access is at an address that its size does not divide.",
        "memory/read-only" => "A kernel writes to memory that it may only read.",
        "memory/read-only-buffer" => {
            "A kernel writes to a buffer that was created as one to be read."
        }
        "memory/write-only-buffer" => {
            "A kernel reads a buffer that was created as one to be written."
        }
        "memory/array-bounds" => {
            "An index lies outside of an array that is a part of something larger."
        }
        "memory/stack-overflow" => "A thread's stack is too small for its calls and arrays.",
        "memory/address-space" => "An operation does not work on the memory that it was given.",
        "memory/use-after-free" => "Memory is used after it was freed.",
        "memory/double-free" => "Memory is freed a second time.",
        "memory/invalid-free" => "Something is freed that is no allocation of that kind.",
        "memory/invalid-copy" => {
            "A copy or a fill goes past the end of an allocation, or is of none."
        }
        "memory/leak" => "Memory is never freed.",
        "race/write-write" => "Two threads write to one place, and nothing orders them.",
        "race/read-write" => "A thread reads what another writes, and nothing orders them.",
        "race/atomic-plain" => "An atomic and a plain access to one place have no order.",
        "race/scope" => "Atomics to one place have a scope that does not hold both threads.",
        "race/streams" => "Two launches or copies touch the same bytes, and nothing orders them.",
        "race/host" => "The host program touches memory that a kernel may still be using.",
        "race/same-value" => "Two threads write one value to one place, and nothing orders them.",
        "race/incomplete" => "Not all of the memory was watched for races.",
        "init/branch" => "A branch depends on a value that was never written.",
        "init/address" => "An address depends on a value that was never written.",
        "init/atomic" => "An atomic depends on a value that was never written.",
        "init/result" => "A result depends on a value that was never written.",
        "init/padding" => "What was never written is copied, and may be padding of a structure.",
        "init/copy" => "The host program copies memory from the device that was never written.",
        "sync/divergent-barrier" => {
            "Some threads of a block go past a barrier that others wait at."
        }
        "sync/different-barriers" => "Threads of a block wait at different barriers at once.",
        "sync/mask" => "A member mask does not fit the threads that execute the operation.",
        "sync/exited" => {
            "Threads that others wait for execute another operation instead, and exit."
        }
        "sync/cluster-barrier" => "Arrivals and waits at a cluster's barrier are out of turn.",
        "sync/mbarrier-init" => {
            "A barrier object is used before it is initialised, or initialised while in use."
        }
        "sync/mbarrier-count" => {
            "A barrier object is initialised or arrived at with a wrong count."
        }
        "sync/mbarrier-access" => {
            "A barrier object is accessed by something else than its operations."
        }
        "sync/deadlock" => "Threads wait for what nobody is left to do.",
        other => match other.split('/').next() {
            Some("race") => "Accesses to one place have no order.",
            Some("init") => "A value that was never written is used.",
            Some("sync") => "Threads synchronise wrongly.",
            Some(_) | None => "Memory is used wrongly.",
        },
    }
}

/// The code as an identifier: `race/read-write` is `RaceReadWrite`.
pub fn identifier(code: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|c| c.to_ascii_uppercase())
            .into_iter()
            .chain(letters)
            .collect::<String>()
    };
    code.split(['/', '-']).map(capital).collect()
}
