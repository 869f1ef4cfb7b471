// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever stamps are forgotten of what is past, all that is ever asked of a cell has the answer that it has with all stamps
//! kept: random accesses of blocks that run at once, meet more often than there are slots, and release and acquire at any
//! time, against a plain list of cells.

use std::collections::HashMap;

use margay_ir::{Scope, Sem};

use super::ledger::Ledger;
use super::order::{Strong, Thread, Tick, Time};
use super::round::Round;
use super::shadow::{Cell, Cells, Found, Kind, Mark, PAGE, Room, Shadow, Spare, Width};
use super::stamped::Learns;
use super::state::{State, Used};
use super::variables::{Open, Variables};
use crate::sanitize::random::random;

const THREADS: u32 = 64;
const BLOCKS: u32 = 80;
/// Blocks that run at once.
const RUN: usize = 3;

/// What is known of a mark, whatever its stamp: whether what `me` of a block does comes after it.
fn is_known(state: &State, me: Thread, mark: Mark) -> bool {
    let (near, floor) = (mark.block == state.clock.id, state.clock.floor(me.warp));
    match mark.width() {
        Width::Thread => state.clock.knows(me, mark.thread(), mark.stamp),
        Width::Lanes | Width::Warps => near && mark.stamp <= floor,
        Width::Blocks => false,
    }
}

/// The threads of a block that widened marks, by strong accesses or by others, and when; and what is kept of that.
type Widened = (Vec<(Thread, bool, Tick)>, Used);

/// A launch of which the cells are kept as they are and by the shadow.
struct Launch<'s> {
    shadow: Shadow<'s>,
    learns: bool,
    time: Time,
    running: Vec<State>,
    /// Of blocks that have ended, to be used again.
    ended: Vec<State>,
    /// What each of them has done.
    ages: Vec<u32>,
    begun: u32,
    cells: HashMap<u64, Cell>,
    variables: Variables,
    asked: [usize; 2],
    /// How often blocks forgot what they released.
    forgotten: u32,
    /// By block which threads widened marks, and when: as it was, and as it is kept.
    widened: Vec<Widened>,
    /// How often it was asked for that, with each answer.
    asked_all: [usize; 2],
}

impl Launch<'_> {
    fn begin(&mut self) {
        let (block, time, ledger) = (self.begun, &self.time, self.shadow.ledger());
        let state = match self.ended.pop() {
            Some(mut state) => {
                let before = state.clock.id;
                state.renew(block, time, false);
                ledger.follow(before, block, &state.past);
                state
            }
            None => {
                let round = Round::new(0, 4, false);
                let state = State::new(block, THREADS, (0, round), time, (false, self.learns));
                ledger.begin(block, state.past.clone());
                state
            }
        };
        self.widened.push((Vec::new(), state.used.clone()));
        self.running.push(state);
        self.ages.push(0);
        self.begun += 1;
    }

    fn end(&mut self, n: usize) {
        let mut state = self.running.swap_remove(n);
        self.ages.swap_remove(n);
        self.forgotten += state.clock.releases().forgotten();
        state.used.write().end();
        match self.learns {
            true => self.shadow.ledger().end(state.clock.id, state.clock.is_known_by_others()),
            false => self.ended.push(state),
        }
    }

    /// All threads of a block meet, or those of a warp.
    fn meet(&mut self, n: usize, all: bool) {
        let (state, time) = (&mut self.running[n], &self.time);
        if !all {
            return state.clock.warp_barrier(1, u32::MAX, time);
        }
        (0..2).for_each(|warp| state.clock.arrive(0, warp, u32::MAX, true, time));
        state.clock.open(0, time);
    }

    /// A thread releases or acquires by a variable.
    fn synchronise(&mut self, n: usize, me: Thread, variable: usize, releases: bool, fence: bool) {
        let state = &mut self.running[n];
        let sem = match (fence, releases) {
            (true, _) => Sem::Relaxed,
            (false, true) => Sem::Release,
            (false, false) => Sem::Acquire,
        };
        let access =
            Strong { sem, scope: Scope::Gpu, reads: !releases, writes: releases, locks: false };
        let at = 4 * variable as u64;
        let own = |state: &mut State| {
            let mut words = self.variables.shard(Variables::shard_of(0, at)).lock();
            let mut open = Open::default();
            let mut word = words.word((0, at), &mut open);
            state.clock.synchronise(me.warp, me.lane, access, &mut word);
            if access.writes {
                state.clock.has_released_by(me.warp, sem, &self.time);
            }
        };
        let lane = 1 << me.lane;
        match (fence, releases) {
            (false, _) => own(state),
            (true, true) => {
                state.clock.fence(me.warp, lane, Scope::Gpu, &self.time);
                own(state);
            }
            (true, false) => {
                own(state);
                state.clock.fence(me.warp, lane, Scope::Gpu, &self.time);
            }
        }
    }

    /// Whether two marks are of the same access, and the same follows of both.
    fn check(&mut self, exact: Mark, told: Mark) {
        let same = exact.at(told.stamp) == told && exact.is_empty() == told.is_empty();
        assert!(same, "{told:?} for {exact:?}");
        if exact.is_empty() {
            return;
        }
        if self.learns && exact.width() != Width::Thread {
            assert_eq!(told, exact, "which stamps count depends on it");
        }
        for state in &self.running {
            if !self.learns && exact.block != state.clock.id {
                continue;
            }
            for (warp, lane) in [(0, 0), (0, 3), (1, 0), (1, 31)] {
                let me = Thread { block: state.clock.id, warp, lane };
                let known = is_known(state, me, exact);
                assert_eq!(is_known(state, me, told), known, "{me:?}: {told:?} for {exact:?}");
                self.asked[usize::from(known)] += 1;
            }
        }
    }

    /// A thread widens a mark. Whether threads come after all that a block did to widened marks is what follows of the last time
    /// of each of its threads.
    fn widen(&mut self, n: usize, me: Thread, strong: bool, draw: u64) {
        let state = &mut self.running[n];
        state.floor(me.warp);
        let stamp = state.clock.stamp(me.warp);
        state.note(me.warp, 1 << me.lane, stamp, strong);
        self.widened[me.block as usize].0.push((me, strong, stamp));
        let (exact, used) = &self.widened[draw as usize % self.widened.len()];
        let Some(&(Thread { block, .. }, strong, last)) =
            exact.get(draw as usize / 100 % exact.len().max(1))
        else {
            return;
        };
        let mut lasts = HashMap::new();
        let earlier = exact.iter().filter(|own| own.1 == strong && own.2 <= last);
        earlier.for_each(|&(thread, _, stamp)| {
            lasts.entry((thread.warp, thread.lane)).insert_entry((thread, stamp));
        });
        for state in &self.running {
            for (warp, lane) in [(0, 0), (0, 3), (1, 0), (1, 31)] {
                let me = Thread { block: state.clock.id, warp, lane };
                let known = lasts.values().all(|own| state.clock.knows(me, own.0, own.1));
                let told = match block == me.block {
                    true => state.clock.knows_warps(me, last, strong),
                    false => state.clock.knows_block(me, block, &used.read(), last, strong),
                };
                assert_eq!(told, known, "{me:?} of what {block} did up to {last}");
                self.asked_all[usize::from(known)] += 1;
            }
        }
    }

    /// A thread accesses bytes. Some reads join those that were before.
    fn access(&mut self, n: usize, me: Thread, (at, size): (u64, u64), kind: Kind, value: u16) {
        let state = &mut self.running[n];
        state.floor(me.warp);
        let stamp: Tick = state.clock.stamp(me.warp);
        let pc = 3 + u32::from(value % 2);
        // What joins comes later: else the mark has a stamp of what it joins, which may be forgotten.
        let own = |n| self.cells.get(&(at + n)).copied().unwrap_or_default();
        // Of wide marks stamps are never forgotten where others learn of them.
        let joins = value.is_multiple_of(if self.learns { 40 } else { 5 })
            && (!self.learns || self.begun < 5)
            && (0..size).all(|n| own(n).read.stamp <= stamp);
        let mark = Mark::new(me, stamp, pc, kind, None);
        let learns = self.learns;
        let change = |cell: &mut Cell| match kind {
            Kind::Read if joins && !cell.read.is_empty() => {
                // Of several blocks, with one of a few sets where others learn of them.
                let wide = cell.read.widen(mark);
                let of_blocks = learns && wide.width() == Width::Blocks;
                cell.read = if of_blocks { wide.with_value(value % 4) } else { wide };
            }
            Kind::Read => cell.read = mark,
            Kind::Write | Kind::Atomic => {
                let write = mark.with_value(super::look::hash(value.into()));
                *cell = Cell { write, read: Mark::default() };
            }
        };
        let mut seen = Vec::new();
        let mut visit = |cell: &mut Cell| {
            seen.push(*cell);
            change(cell);
        };
        match self.shadow.find(at / PAGE).unwrap() {
            Found::Page(page) => page.lock().cells(at % PAGE, size, &mut visit),
            Found::Scattered(mut page) => {
                page.cells(at % PAGE, size, &mut visit);
                page.settle();
            }
        }
        let bytes = size as usize / seen.len();
        for n in 0..size {
            let exact = self.cells.get(&(at + n)).copied().unwrap_or_default();
            let told = seen[n as usize / bytes];
            self.check(exact.write, told.write);
            self.check(exact.read, told.read);
            change(self.cells.entry(at + n).or_default());
        }
    }
}

#[test]
fn what_is_forgotten_changes_no_answer() {
    for (case, (learns, pages, apart, sizes)) in [
        // Bytes of some pages, close and apart, and of many; and parts of words.
        (false, 2, 1, &[1][..]),
        (true, 2, 1, &[1]),
        (false, 2, 24, &[1, 1, 2]),
        (true, 2, 24, &[1]),
        (false, 300, 512, &[1]),
        (true, 300, 512, &[1, 4]),
        (true, 3, 8, &[1, 2, 4]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut random = random(7 + case as u64);
        let tell = if learns { Learns::Maybe } else { Learns::Never };
        let spare = Spare::default();
        let ledger = Ledger::new(BLOCKS.into(), THREADS / 32, tell);
        let mut launch = Launch {
            shadow: Shadow::new(Room { bytes: 1 << 40, is_told: true }, &spare, ledger),
            learns,
            time: Time::default(),
            running: Vec::new(),
            ended: Vec::new(),
            ages: Vec::new(),
            begun: 0,
            cells: HashMap::new(),
            variables: Variables::default(),
            asked: [0; 2],
            forgotten: 0,
            widened: Vec::new(),
            asked_all: [0; 2],
        };
        for _ in 0..150_000 {
            while launch.running.len() < RUN && launch.begun < BLOCKS {
                launch.begin();
            }
            if launch.running.is_empty() {
                break;
            }
            let n = random(launch.running.len() as u64) as usize;
            let block = launch.running[n].clock.id;
            let (warp, lane) = (random(2) as u16, random(32) as u8);
            let me = Thread { block, warp, lane };
            launch.ages[n] += 1;
            let (age, released) = (launch.ages[n], launch.running[n].clock.has_released());
            // Some blocks release nothing, some when they have met more often than there are slots, some early on, and some
            // so often that nobody knows most of it.
            let releases = match block % 5 {
                0 => false,
                1 => age > 4500,
                2 => age > 3600,
                3 => age > 500 && random(3) == 0,
                _ => age > 500,
            };
            let often = if block % 5 == 4 && releases { 400 } else { 160 };
            match random(1000) {
                _ if age > 5000 + 100 * (block % 7) => launch.end(n),
                0..130 => launch.meet(n, true),
                130..150 if !released => launch.meet(n, false),
                draw @ 150..400 if learns && draw < often => {
                    let (acquires, fence) = (random(2) == 0, random(2) == 0 && releases);
                    if acquires || releases {
                        let variable = random(4) as usize;
                        launch.synchronise(n, me, variable, !acquires, fence);
                    }
                }
                400..430 if learns => launch.widen(n, me, random(2) == 0, random(1 << 32)),
                _ => {
                    let size = sizes[random(sizes.len() as u64) as usize];
                    let at = random(pages * PAGE / apart) * apart / size * size;
                    let kind = [Kind::Read, Kind::Write, Kind::Write];
                    let kind = kind[random(3) as usize];
                    launch.access(n, me, (at, size), kind, random(200) as u16);
                }
            }
        }
        assert!(launch.begun > 10, "{}", launch.begun);
        assert!(launch.asked.iter().all(|&asked| asked > 1000), "{:?}", launch.asked);
        let forgotten = launch.shadow.ledger().epoch();
        println!("case {case}: stamps were forgotten {forgotten} times");
        assert!(forgotten > 20, "{forgotten} times in case {case}");
        let releases = launch.forgotten;
        println!("case {case}: releases were forgotten {releases} times");
        assert!(releases > 10 || !learns, "releases {releases} times in case {case}");
        if learns {
            assert!(launch.asked_all.iter().all(|&asked| asked > 500), "{:?}", launch.asked_all);
            let counts = |own: &Widened| (own.0.len(), own.1.read().count());
            let (all, kept) = launch
                .widened
                .iter()
                .map(counts)
                .fold((0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
            assert!(kept * 2 < all, "{kept} of {all} stamps are kept");
            println!("case {case}: {kept} of {all} stamps of widened marks are kept");
        }
    }
}
