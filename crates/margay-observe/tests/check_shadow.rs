// SPDX-License-Identifier: MIT OR Apache-2.0
//! Races are those that a plain list of all accesses says there are, however far apart the places lie: random kernels, in
//! which each thread accesses places of its block, and one may stray into another block's, against such a list.
//!
//! How far apart decides how the shadow keeps what was done to them: with other pages', in pages of their own, or first in
//! the one and then in the other way.

mod common;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use common::Bench;
use margay_exec::jit::{Engine, unavailable};
use margay_observe::Tool;
use margay_observe::sanitize::finding::Check;
use margay_observe::sanitize::{Checks, Filter};

const BLOCKS: u32 = 24;
const THREADS: u32 = 64;
const PLACES: u32 = BLOCKS * THREADS;

/// Random numbers, the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(below)) as u32
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next(of.len() as u32) as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Load,
    Store,
    Add,
}

/// An access by the threads of all blocks, of which each has a place of its block's.
#[derive(Clone, Copy, Debug)]
struct Step {
    after_barrier: bool,
    act: Act,
    /// Of the place.
    offset: u32,
    bytes: u32,
    /// The place of thread `t` is `t * times + more`.
    times: u32,
    more: u32,
    /// Threads with one of these bits set take no part.
    idle: u32,
    /// How often it comes, each time after a barrier.
    times_over: u32,
}

/// A thread that accesses another's place in a step.
#[derive(Clone, Copy, Debug)]
struct Stray {
    step: usize,
    thread: u32,
    place: u32,
}

#[derive(Debug)]
struct Case {
    steps: Vec<Step>,
    stray: Option<Stray>,
}

impl Case {
    /// `bytes`: single ones alone; `late`: one strays in the first block or in the last one.
    fn random(random: &mut Random, bytes: bool, racy: bool) -> Case {
        let mut steps: Vec<Step> = Vec::new();
        for n in 0..3 + random.next(5) {
            let (offset, size) = match bytes {
                true => (0, 1),
                false => random.one(&[(0, 4), (0, 4), (4, 4), (0, 1), (1, 1), (2, 2), (6, 1)]),
            };
            let act = match random.next(if size == 4 { 7 } else { 5 }) {
                0..2 => Act::Load,
                2..5 => Act::Store,
                _ => Act::Add,
            };
            let mut step = Step {
                after_barrier: random.next(2) == 0,
                act,
                offset,
                bytes: size,
                times: 2 * random.next(THREADS / 2) + 1,
                more: random.next(THREADS),
                idle: random.one(&[0, 0, 0, 1, 6]),
                times_over: 1,
            };
            match steps.last() {
                // The same thread again.
                Some(last) if random.next(2) == 0 => {
                    (step.times, step.more) = (last.times, last.more);
                }
                // Another: without a barrier that is a race in most cases.
                Some(_) if n > 0 => step.after_barrier = step.after_barrier || !racy,
                Some(_) | None => {}
            }
            steps.push(step);
        }
        Case { steps, stray: None }
    }

    fn place(&self, step: usize, block: u32, thread: u32) -> Option<u32> {
        let Step { times, more, idle, .. } = self.steps[step];
        let stray = self.stray.filter(|stray| stray.step == step);
        if let Some(stray) = stray.filter(|stray| stray.thread == block * THREADS + thread) {
            return Some(stray.place);
        }
        let own = block * THREADS + (thread * times + more) % THREADS;
        (thread & idle == 0).then_some(own)
    }

    /// Pairs of steps that race: two accesses of a byte by two threads, of which one writes and not both are atomic, in two
    /// blocks or without a barrier between.
    fn races(&self) -> BTreeSet<(usize, usize)> {
        let mut bytes = HashMap::<(u32, u32), Vec<(u32, usize, usize)>>::new();
        let mut round = 0;
        for (n, step) in self.steps.iter().enumerate() {
            round += usize::from(step.after_barrier);
            let first = round;
            round += step.times_over as usize - 1;
            for block in 0..BLOCKS {
                for thread in 0..THREADS {
                    let Some(place) = self.place(n, block, thread) else { continue };
                    for byte in step.offset..step.offset + step.bytes {
                        let all = bytes.entry((place, byte)).or_default();
                        // In the rounds between there is nothing else.
                        all.push((block * THREADS + thread, first, n));
                        if round != first {
                            all.push((block * THREADS + thread, round, n));
                        }
                    }
                }
            }
        }
        let mut races = BTreeSet::new();
        for all in bytes.values() {
            for (n, &(one, first, a)) in all.iter().enumerate() {
                for &(other, second, b) in &all[..n] {
                    let acts = [self.steps[a].act, self.steps[b].act];
                    let writes = acts != [Act::Load; 2] && acts != [Act::Add; 2];
                    let together = one / THREADS != other / THREADS || first == second;
                    if one != other && writes && together {
                        races.insert((a.min(b), a.max(b)));
                    }
                }
            }
        }
        races
    }

    /// The kernel with places so far apart; a line for each step, from this one on.
    fn kernel(&self, apart: u32) -> (String, usize) {
        let mut text = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
             .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n\
             ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n\
             mad.lo.u32 %r3, %r2, {THREADS}, %r1; and.b32 %r4, %r3, {};\n",
            !(THREADS - 1)
        );
        let first = text.lines().count() + 1;
        for (n, step) in self.steps.iter().enumerate() {
            let Step { times, more, idle, offset, bytes, times_over, .. } = *step;
            if times_over > 1 {
                let _ = write!(text, "mov.u32 %r8, 0; AGAIN{n}: ");
            }
            if step.after_barrier {
                text.push_str("bar.sync 0; ");
            }
            let _ = write!(
                text,
                "and.b32 %r5, %r1, {idle}; setp.eq.u32 %p1, %r5, 0; mad.lo.u32 %r6, %r1, {times}, {more}; \
                 and.b32 %r6, %r6, {}; add.u32 %r6, %r6, %r4; ",
                THREADS - 1
            );
            if let Some(stray) = self.stray.filter(|stray| stray.step == n) {
                let _ = write!(
                    text,
                    "setp.eq.u32 %p2, %r3, {}; selp.b32 %r6, {}, %r6, %p2; or.pred %p1, %p1, %p2; ",
                    stray.thread, stray.place
                );
            }
            let bits = 8 * bytes;
            let _ = write!(text, "mul.wide.u32 %rd2, %r6, {apart}; add.u64 %rd2, %rd2, %rd1; ");
            let _ = match step.act {
                Act::Load => write!(text, "@%p1 ld.global.u{bits} %r7, [%rd2+{offset}];"),
                Act::Store => write!(text, "@%p1 st.global.u{bits} [%rd2+{offset}], %r3;"),
                Act::Add => write!(text, "@%p1 red.global.add.u{bits} [%rd2+{offset}], %r3;"),
            };
            if times_over > 1 {
                let _ = write!(
                    text,
                    " add.u32 %r8, %r8, 1; setp.lt.u32 %p3, %r8, {times_over}; @%p3 bra AGAIN{n};"
                );
            }
            text.push('\n');
        }
        text.push_str("ret;\n}\n");
        (text, first)
    }

    /// Pairs of steps that the check says race.
    fn found(&self, apart: u32, engine: Engine, seed: Option<u64>) -> BTreeSet<(usize, usize)> {
        let (text, first) = self.kernel(apart);
        let mut bench = Bench::new(&["h200"]);
        (bench.engine, bench.seed) = (Some(engine), seed);
        let module = bench.load_text(&text);
        let buffer = bench.buffer(&vec![0; (PLACES * apart) as usize + 8]);
        let directory =
            std::env::temp_dir().join(format!("margay-check-shadow-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let checks = Checks::start(&directory, BTreeSet::from([Check::Race]), Filter::default());
        checks.allocated(&bench.memory.find(buffer).unwrap());
        bench.launch_under(&*checks, &module, "k", [BLOCKS, 1, 1], [THREADS, 1, 1], &[buffer]);
        let _ = std::fs::remove_dir_all(&directory);
        let findings = checks.report().findings;
        let pairs = findings.iter().map(|finding| {
            let lines = finding.actors.iter().map(|actor| actor.source.ptx_line as usize - first);
            let lines: Vec<usize> = lines.collect();
            (lines[0].min(lines[1]), lines[0].max(lines[1]))
        });
        pairs.collect()
    }

    /// Whether the check may say that these race: of many threads that read a place, or add to it, before another one does
    /// something else, one stands for all.
    fn is_race(&self, races: &BTreeSet<(usize, usize)>, (a, b): (usize, usize)) -> bool {
        let stands_for = |one: usize, other: usize| {
            let act = self.steps[one].act;
            one == other || act != Act::Store && act == self.steps[other].act
        };
        races.iter().any(|&(c, d)| {
            stands_for(a, c) && b == d
                || stands_for(b, d) && a == c
                || stands_for(a, d) && b == c
                || stands_for(b, c) && a == d
        })
    }

    /// The same races wherever places lie: some of those that there are, and one if there is any.
    fn check(&self, apart: &[u32], engine: Engine, seed: Option<u64>) {
        let races = self.races();
        let mut before = None;
        for &apart in apart {
            let found = self.found(apart, engine, seed);
            let text = || format!("{apart} bytes apart: {self:#?}\n{}", self.kernel(apart).0);
            let is_race = |pair: &(usize, usize)| self.is_race(&races, *pair);
            assert!(found.iter().all(is_race), "{found:?} of {races:?}, {}", text());
            assert_eq!(found.is_empty(), races.is_empty(), "{races:?}, {}", text());
            let last = before.get_or_insert_with(|| found.clone());
            assert_eq!(*last, found, "{}", text());
        }
    }
}

/// Lines of words that are accessed in part, words of a page's list, and of pages that have fewer.
const APART: [u32; 6] = [8, 16, 64, 512, 1024, 8192];
const BYTES_APART: [u32; 6] = [1, 2, 8, 72, 1000, 5000];

fn engines() -> Vec<Engine> {
    match unavailable() {
        None => vec![Engine::Interp, Engine::Jit],
        Some(why) => {
            eprintln!("nothing can be compiled: {why}");
            vec![Engine::Interp]
        }
    }
}

#[test]
fn random_kernels_race_where_a_list_of_accesses_says_so() {
    let (mut random, mut racy) = (Random(7), 0);
    for n in 0..96 {
        let bytes = n % 3 == 0;
        let case = Case::random(&mut random, bytes, n % 2 == 0);
        racy += usize::from(!case.races().is_empty());
        let engines = engines();
        let engine = engines[n / 2 % engines.len()];
        let seed = (n % 4 > 1).then_some(n as u64);
        case.check(if bytes { &BYTES_APART } else { &APART }, engine, seed);
    }
    assert!((24..=72).contains(&racy), "{racy} of 96 race");
}

/// Blocks meet more often than there are numbers for when each thread came to a place.
#[test]
fn it_counts_for_nothing_how_often_threads_meet() {
    let (mut random, mut racy) = (Random(13), 0);
    for n in 0..12 {
        let bytes = n % 3 != 0;
        let mut case = Case::random(&mut random, bytes, n % 4 == 0);
        let count = case.steps.len() as u32;
        for _ in 0..2 {
            let step = &mut case.steps[random.next(count) as usize];
            (step.after_barrier, step.times_over) = (true, 150 + random.next(200));
        }
        if n % 2 == 1 {
            let [block, other] = random.one(&[[0, BLOCKS - 1], [BLOCKS - 1, 0], [5, 6]]);
            let thread = block * THREADS + random.next(THREADS);
            let place = other * THREADS + random.next(THREADS);
            let step = random.next(count) as usize;
            case.stray = Some(Stray { step, thread, place });
        }
        racy += usize::from(!case.races().is_empty());
        let engines = engines();
        let engine = engines[n / 2 % engines.len()];
        let seed = (n % 4 > 1).then_some(n as u64);
        case.check(if bytes { &[1, 2, 72, 1000] } else { &[8, 64, 1024] }, engine, seed);
    }
    assert!((3..=9).contains(&racy), "{racy} of 12 race");
}

/// One thread of all goes where it must not, early or late: before the places have come to be kept in another way, or after.
#[test]
fn one_stray_thread_is_found_wherever_it_goes() {
    let mut random = Random(11);
    let mut found = 0;
    for n in 0..800 {
        if found == 48 {
            break;
        }
        let bytes = n % 2 == 0;
        let mut case = Case::random(&mut random, bytes, false);
        if !case.races().is_empty() {
            continue;
        }
        let step = random.next(case.steps.len() as u32) as usize;
        let [block, other] = random.one(&[[0, BLOCKS - 1], [BLOCKS - 1, 0], [5, 6], [9, 3]]);
        let thread = block * THREADS + random.next(THREADS);
        let place = other * THREADS + random.next(THREADS);
        case.stray = Some(Stray { step, thread, place });
        if case.races().is_empty() {
            continue;
        }
        let (apart, engines) = (if bytes { BYTES_APART } else { APART }, engines());
        case.check(&apart, engines[found % engines.len()], None);
        // The same without it.
        case.stray = None;
        case.check(&apart, engines[found % engines.len()], None);
        found += 1;
    }
    assert_eq!(found, 48);
}
