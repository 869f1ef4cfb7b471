// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words against plain variables of which nothing is shared or forgotten.

use margay_ir::Sem;

use super::*;
use crate::sanitize::race::order::{Block, Strong, Thread, Tick, Time};
use crate::sanitize::random::random;

const BLOCKS: u32 = 3;
const WORDS: u64 = 40;

/// Up to when each thread is known.
fn lasts(known: &Knowledge) -> Vec<Tick> {
    let lanes = [0, 1, 2, 3, 30, 31];
    let threads = (0..BLOCKS).flat_map(|block| (0..2).map(move |warp| (block, warp)));
    let threads =
        threads.flat_map(|(block, warp)| lanes.map(move |lane| Thread { block, warp, lane }));
    let last = |thread: Thread| {
        let (mut low, mut high): (Tick, Tick) = (0, 1 << 24);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match known.covers(thread, middle) {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        low
    };
    threads.map(last).collect()
}

/// Whether whoever reads the word learns what it would of a plain variable.
fn check(word: &Word<'_>, plain: &SyncVariable) -> usize {
    assert_eq!(word.is_released(), plain.is_released());
    for block in 0..BLOCKS {
        assert_eq!(word.is_only_of(block), plain.is_only_of(block));
        for scope in [Scope::Cta, Scope::Gpu] {
            let (own, other) = (word.known(block, scope), plain.known(block, scope));
            assert_eq!(lasts(&own), lasts(&other), "{word:?} for {plain:?}");
            assert!(!word.is_known(block, scope) || lasts(&own) == lasts(&plain.all()));
        }
    }
    usize::from(matches!(word.slot(), Some((Slot::Lanes(..), _))))
}

/// A fence for more threads still stands for what came before it, once there was one for fewer.
#[test]
fn a_wider_fence_stays() {
    let time = Time::default();
    let mut blocks: Vec<Block> = (0..2).map(|id| Block::new(id, 64, &time)).collect();
    let first = blocks[0].stamp(1);
    blocks[0].fence(1, u32::MAX, Scope::Gpu, &time);
    let second = blocks[0].stamp(1);
    blocks[0].fence(1, u32::MAX, Scope::Cta, &time);
    let mut shard = Shard::default();
    let access =
        Strong { sem: Sem::Relaxed, scope: Scope::Gpu, reads: true, writes: true, locks: false };
    let mut open = Open::default();
    let mut word = shard.word((0, 64), &mut open);
    blocks[0].synchronise(1, 3, access, &mut word);
    let me = Thread { block: 0, warp: 1, lane: 3 };
    let (own, other) = (word.known(0, Scope::Gpu), word.known(1, Scope::Gpu));
    let covers = |known: &Knowledge| [first, second].map(|stamp| known.covers(me, stamp));
    assert_eq!((covers(&own), covers(&other)), ([true, true], [true, false]));
}

/// What a thread did not know that released something by the same word stays, however often it does so again.
#[test]
fn what_others_released_stays() {
    for scope in [Scope::Gpu, Scope::Cta] {
        let time = Time::default();
        let mut blocks: Vec<Block> = (0..2).map(|id| Block::new(id, 64, &time)).collect();
        let (mut shard, mut plain) = (Shard::default(), SyncVariable::default());
        let access = Strong { sem: Sem::Release, scope, reads: true, writes: true, locks: false };
        // Two warps of a block, one of them again, and another block, lane by lane of one instruction.
        for (n, warp) in [(0, 0), (0, 1), (0, 1), (0, 0), (1, 1), (1, 1), (0, 1)] {
            let (block, mut open) = (&mut blocks[n], Open::default());
            for lane in [3, 1, 30] {
                let mut word = shard.word((0, 64), &mut open);
                block.synchronise(warp, lane, access, &mut word);
                for (scope, known) in block.released_by((warp, lane), access) {
                    plain.release(n as u32, scope, &known);
                }
                check(&word, &plain);
            }
            block.has_released_by(warp, access.sem, &time);
        }
        let known = plain.known(1, scope);
        let lasts = lasts(&known);
        assert!(lasts.iter().filter(|last| **last > 0).count() >= 3, "{lasts:?}");
    }
}

/// Lanes of some blocks fence, acquire, and release by stores and by atomics, each with a scope, alone and at once, by a
/// word of each or by the same.
#[test]
fn what_is_known_is_what_was_released() {
    let (mut alike, mut checked) = (0, 0);
    for case in 0..12 {
        let mut random = random(5 + case);
        let time = Time::default();
        let mut blocks: Vec<Block> = (0..BLOCKS).map(|id| Block::new(id, 64, &time)).collect();
        let mut shard = Shard::default();
        let mut plain: Vec<SyncVariable> = (0..WORDS).map(|_| SyncVariable::default()).collect();
        // Some cases have but wide scopes, or hardly a partial barrier.
        let wide = case % 3 == 0;
        for _ in 0..300 {
            let block = &mut blocks[random(BLOCKS.into()) as usize];
            let warp = random(2) as u16;
            let mask = match random(4) {
                0 => 1 << random(4),
                1 => 0b1011,
                2 => 0xc000_000f,
                _ => u32::MAX,
            };
            let scope = if wide || random(3) > 0 { Scope::Gpu } else { Scope::Cta };
            match random(24) {
                0 | 1 => block.fence(warp, mask, scope, &time),
                2 => block.warp_barrier(
                    warp,
                    if wide || random(4) > 0 { u32::MAX } else { mask },
                    &time,
                ),
                3 => {
                    (0..2).for_each(|w| block.arrive(0, w, u32::MAX, true, &time));
                    block.open(0, &time);
                }
                draw => {
                    let (reads, writes) =
                        [(true, true), (true, true), (true, false), (false, true)]
                            [draw as usize % 4];
                    let sem = match (reads, writes, random(4)) {
                        (.., 0) => Sem::Relaxed,
                        (true, true, 1 | 2) => Sem::AcqRel,
                        (true, true, _) => [Sem::Release, Sem::Acquire][random(2) as usize],
                        (true, false, _) => Sem::Acquire,
                        (false, ..) => Sem::Release,
                    };
                    let access = Strong { sem, scope, reads, writes, locks: false };
                    let (mut open, how) = (Open::default(), random(64));
                    let id = block.id;
                    for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                        // Each has a word of its own, or some have the same.
                        let n = (how ^ u64::from(lane)) % if wide { WORDS } else { 6 };
                        let own = &mut plain[n as usize];
                        let mut word = shard.word((0, 4 * n), &mut open);
                        let releases = writes && block.may_release(warp, lane, sem);
                        if releases || word.is_released() {
                            block.synchronise(warp, lane, access, &mut word);
                        }
                        if writes && !reads {
                            *own = SyncVariable::default();
                        }
                        if releases {
                            for (scope, known) in block.released_by((warp, lane), access) {
                                own.release(id, scope, &known);
                            }
                        }
                        if random(4) == 0 {
                            alike += check(&word, own);
                            checked += 1;
                        }
                    }
                    if writes {
                        block.has_released_by(warp, sem, &time);
                    }
                }
            }
            let n = random(WORDS);
            check(&shard.word((0, 4 * n), &mut Open::default()), &plain[n as usize]);
        }
        // What no word has is kept no more.
        let beside = shard.slots.iter().flat_map(|own| own.iter()).map(Slot::beside);
        assert_eq!(beside.sum::<u64>(), shard.beside);
        assert!(shard.beside > 0);
        match case % 2 {
            0 => shard.forget(0),
            _ => {
                (0..WORDS).for_each(|n| shard.word((0, 4 * n), &mut Open::default()).clear());
            }
        }
        assert_eq!((shard.words, shard.beside), (0, 0));
        assert!(
            shard.slots.iter().flat_map(|own| own.iter()).all(|own| matches!(own, Slot::Free(_)))
        );
        assert!(shard.slots.len() < 5, "{}", shard.slots.len());
    }
    println!("{alike} of {checked} were alike");
    assert!(alike > checked / 8 && alike < checked * 7 / 8, "{alike} of {checked}");
}

/// Where it is not told apart any more what was released, whoever reads a word knows all that it would, and all that threads
/// know of each other is known still; and not everything is.
#[test]
fn who_reads_what_is_passed_over_knows_all_that_it_would() {
    let (mut more, mut known) = (0, 0);
    for case in 0..12 {
        let mut random = random(77 + case);
        let times = [Time::default(), Time::default()];
        let all = || {
            times
                .iter()
                .map(|time| (0..BLOCKS).map(|id| Block::new(id, 64, time)).collect::<Vec<_>>())
        };
        let mut blocks: Vec<Vec<Block>> = all().collect();
        // Only the second are passed over.
        let words = [Variables::default(), Variables::default()];
        for step in 0..400 {
            let (n, warp, lane) =
                (random(BLOCKS.into()) as usize, random(2) as u16, random(4) as u8);
            let (draw, at) = (random(24), 4 * random(WORDS));
            let scope = if random(3) > 0 { Scope::Gpu } else { Scope::Cta };
            let (reads, writes) = [(true, true), (true, false), (false, true)][random(3) as usize];
            let sem = match (reads, writes, random(3)) {
                (.., 0) => Sem::Relaxed,
                (true, true, _) => Sem::AcqRel,
                (true, false, _) => Sem::Acquire,
                (false, ..) => Sem::Release,
            };
            let access = Strong { sem, scope, reads, writes, locks: false };
            if step % 50 == 49 {
                words[1].pass(&times[1]);
                while times[0].now() < times[1].now() {
                    times[0].next();
                }
            }
            for ((time, blocks), words) in times.iter().zip(&mut blocks).zip(&words) {
                let block = &mut blocks[n];
                match draw {
                    0 | 1 => block.fence(warp, 1 << lane, scope, time),
                    2 => block.warp_barrier(warp, u32::MAX, time),
                    3 => {
                        (0..2).for_each(|w| block.arrive(0, w, u32::MAX, true, time));
                        block.open(0, time);
                    }
                    _ => {
                        let shard = &mut *words.shard(Variables::shard_of(0, at)).lock();
                        let mut open = Open::default();
                        let mut word = shard.word((0, at), &mut open);
                        if word.is_released() || writes && block.may_release(warp, lane, sem) {
                            block.synchronise(warp, lane, access, &mut word);
                        }
                        if writes {
                            block.has_released_by(warp, sem, time);
                        }
                        words.settle(shard);
                    }
                }
            }
            assert_eq!(blocks[0][n].stamp(warp), blocks[1][n].stamp(warp));
            // Whoever could go by it exactly still may.
            let (me, lanes) = (Thread { block: n as u32, warp, lane }, [0, 1, 2, 3, 31]);
            let others = (0..BLOCKS).flat_map(|block| (0..2).map(move |warp| (block, warp)));
            for (block, warp) in others {
                let threads = lanes.map(|lane| Thread { block, warp, lane });
                let now = blocks[0][block as usize].stamp(warp);
                for other in threads {
                    for stamp in [1, now / 2, now.saturating_sub(20), now - 1, now] {
                        let [exact, told] = [0, 1].map(|k| blocks[k][n].knows(me, other, stamp));
                        assert!(told || !exact, "{me:?} {other:?} {stamp}");
                        more += usize::from(told && !exact);
                        known += usize::from(told);
                    }
                }
            }
        }
    }
    println!("{more} of {known} that are known are not exactly");
    assert!(more > known / 100 && more < known / 2, "{more} of {known}");
}

/// Words that are gone take nothing any more, and nothing is passed over for them.
#[test]
fn words_that_are_gone_take_nothing() {
    let (time, words) = (Time::default(), Variables::default());
    let mut block = Block::new(0, 64, &time);
    let (sem, scope) = (Sem::Release, Scope::Gpu);
    let access = Strong { sem, scope, reads: false, writes: true, locks: false };
    let mut each = |releases: bool| {
        let mut all = [0, 0];
        for at in (0..WORDS).map(|n| n * REGION) {
            let shard = &mut *words.shard(Variables::shard_of(0, at)).lock();
            let mut open = Open::default();
            let mut word = shard.word((0, at), &mut open);
            match releases {
                true => block.synchronise(0, 0, access, &mut word),
                false => word.clear(),
            }
            all = words.settle(shard);
        }
        all
    };
    let [count, bytes] = each(true);
    assert_eq!(count, WORDS);
    let [count, left] = each(false);
    assert!(count == 0 && left > 0 && left < bytes);
    assert!(!words.pass(&time) && !words.have_passed());
    assert_eq!(each(false), [0, 0]);
    each(true);
    words.forget(0);
    assert_eq!(each(false), [0, 0]);
    // It is said once that any were passed over.
    each(true);
    assert!(words.pass(&time) && words.have_passed());
    each(true);
    assert!(!words.pass(&time) && words.have_passed());
}
