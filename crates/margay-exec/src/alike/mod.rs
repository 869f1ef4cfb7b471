// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks of a launch that do what another does, each in its own place.
//!
//! Where neither ways nor addresses depend on what memory holds, most blocks of a grid differ by a distance alone: what their
//! registers hold is that of another block, and a multiple of the block's number more ([`kind`]). Then what one of them does
//! tells what all do. Such a block is *rehearsed* ([`rehearse`]): interpreted before the launch, with nothing stored, under
//! the eyes of the launch's observer. It is noted how far each comparison is from coming out otherwise, and each number from
//! wrapping ([`steps`]); that bounds the blocks that are like it ([`blocks`]). All of these, the rehearsed one too, run in code
//! that nobody watches.
//!
//! Where data decide some ways or addresses, that holds for the other accesses ([`plan`]): the rehearsed block tells of those,
//! and blocks that are like it run in code that tells of the rest.
//!
//! Invariant: by induction over what a block executes, it goes the ways of the rehearsed one as long as each comparison comes
//! out alike, and these are all that the ways depend on, outside of the parts of the code that data decide.
//!
//! Limit: lanes that parted meet again behind such a part. If the scheduler lets others go on before ([`crate::warp`]: some take
//! long there, or a slice of their warp ends), a rehearsal is given up; of other blocks, what comes then is counted as if they had
//! waited.

mod blocks;
mod kind;
mod lines;
mod plan;
mod rehearse;
mod steps;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use self::blocks::Like;
use self::kind::Moves;
use self::lines::Lines;
pub use self::plan::Plan;
use self::plan::Unlike;
use self::rehearse::Rehearsed;
use crate::interp::{COUNTERS, Env};
use crate::jit::{self, were_unwatched};
use crate::observe::{Interest, Kept, MarkedLines, Observer, Watch};

/// Grids of fewer blocks are not looked at, nor those of more: each has a byte.
const FEWEST: u64 = 128;
const MOST: u64 = 1 << 24;
/// Blocks that are left, at least, where another is rehearsed.
const WORTH: usize = 32;
/// Nanoseconds for each instruction of a block that it costs to watch it, about: as much as it takes to run it; and what is
/// saved if it is followed, and its accesses are looked up by what was rehearsed.
const WATCHING: f64 = 0.5;
const FOLLOWING: f64 = 2.5;
/// The same for each access of a block that is watched for others.
const TELLING: f64 = 5.0;
/// Launches in which a rehearsal would not pay, before what it takes is found out anew.
const RENEWED: u64 = 32;
/// Blocks that are rehearsed, at most, and so many of which nothing came.
const REHEARSALS: usize = 48;
const FAILURES: usize = 2;
/// Warp instructions of all these.
const PATIENCE: u64 = 8_000_000;

/// What launches of a kernel have found out.
#[derive(Default)]
pub struct Known {
    /// By register: whether it may be read before it is written.
    unwritten: OnceLock<Vec<bool>>,
    none: AtomicBool,
    /// Launches in which every rehearsal was in vain.
    vain: AtomicU64,
    /// Of the last block that was rehearsed: nanoseconds that it saves for another that is watched, and for one that is followed,
    /// and those that it took; 0 if there was none.
    saves: [AtomicU64; 2],
    took: AtomicU64,
    /// Of a million blocks that were left before the first rehearsal of a launch those that were like it, where they are watched
    /// partly; 0 before any.
    share: AtomicU64,
    /// Launches in which it was not likely to pay.
    refused: AtomicU64,
}

/// Rehearsals pay whatever they take: see [`rehearse_always`].
static ALWAYS: AtomicBool = AtomicBool::new(false);

/// For tests: blocks of this process are rehearsed also where to watch all would take less time.
pub fn rehearse_always() {
    ALWAYS.store(true, Ordering::Relaxed);
}

impl Known {
    /// Whether no launch will ever have blocks that are alike.
    fn are_none(&self) -> bool {
        self.none.load(Ordering::Relaxed)
    }

    fn will_be_none(&self) {
        self.none.store(true, Ordering::Relaxed);
    }

    /// Whether it is likely to take less time to rehearse a block than to watch so many, of which this part is followed. The
    /// first of all tells.
    fn pays(&self, blocks: u64, followed: f64) -> bool {
        let took = self.took.load(Ordering::Relaxed);
        let [watched, own] = self.saves.each_ref().map(|n| n.load(Ordering::Relaxed) as f64);
        let each = watched * (1.0 - followed) + own * followed;
        took == 0 || blocks as f64 * each >= took as f64 || ALWAYS.load(Ordering::Relaxed)
    }

    /// Whether it is for some part.
    fn may_pay(&self, blocks: u64) -> bool {
        self.pays(blocks, 0.0) || self.pays(blocks, 1.0) || self.refuses()
    }

    /// Counts a launch in which it is not likely. Now and then it is found out anew, as this tells: the first rehearsal of all takes
    /// longer than others.
    fn refuses(&self) -> bool {
        let renews = self.refused.fetch_add(1, Ordering::Relaxed) % RENEWED == RENEWED - 1;
        if renews {
            self.took.store(0, Ordering::Relaxed);
            self.share.store(0, Ordering::Relaxed);
        }
        renews
    }

    /// No block of a launch told of others.
    fn was_vain(&self) {
        if self.vain.fetch_add(1, Ordering::Relaxed) >= 2 {
            self.will_be_none();
        }
    }

    /// Which part of the blocks that are left a rehearsal is likely to tell of.
    fn share(&self) -> f64 {
        match self.share.load(Ordering::Relaxed) {
            0 => 1.0,
            n => n as f64 / 1e6,
        }
    }

    fn took(&self, saves: [f64; 2], time: Duration) {
        for (to, saves) in self.saves.iter().zip(saves) {
            to.store(saves as u64, Ordering::Relaxed);
        }
        self.took.store(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// A block that was rehearsed, for all that are like it.
struct Class {
    like: Like,
    lines: Vec<Lines>,
    counters: [u64; COUNTERS],
    kept: Kept,
}

/// The blocks of a launch that need not be watched.
pub struct Alike {
    classes: Vec<Class>,
    /// By block: the class, from 1 on; 0 if there is none.
    of: Vec<u8>,
    /// By class: how many of its blocks have run.
    ran: Vec<AtomicU64>,
    marks: MarkedLines,
    /// By multiprocessor.
    follows: Vec<bool>,
    /// Nothing is left to watch of these blocks; else the accesses that have no place.
    pub whole: bool,
    /// By instruction: how the addresses of accesses move.
    places: Vec<Option<Moves>>,
}

/// A block that is watched whatever it does.
const WATCHED: u8 = u8::MAX;

/// What is found of a launch, each once.
#[derive(Default)]
pub struct Search {
    plan: OnceLock<Option<Plan>>,
    found: OnceLock<Option<Alike>>,
}

impl Search {
    /// The plan, if the launch may have such blocks and it is likely to pay to look for them.
    pub fn plan(&self, env: &Env<'_>) -> Option<&Plan> {
        self.plan.get_or_init(|| make_plan(env)).as_ref()
    }

    /// The blocks, which are looked for with this plan.
    pub fn find(&self, env: &Env<'_>, plan: &Plan) -> Option<&Alike> {
        self.found.get_or_init(|| find(env, plan)).as_ref()
    }

    /// The blocks, if they were looked for and there are some.
    pub fn found(&self) -> Option<&Alike> {
        self.found.get()?.as_ref()
    }

    /// The same, at the launch's end.
    pub fn into_found(self) -> Option<Alike> {
        self.found.into_inner()?
    }
}

fn make_plan(env: &Env<'_>) -> Option<Plan> {
    let known = &env.program.kernels.alike;
    if known.are_none() || !possible(env).is_some_and(|blocks| known.may_pay(blocks)) {
        return None;
    }
    match Plan::of(env) {
        Ok(plan) => Some(plan),
        Err(why) => {
            if jit::log() {
                eprintln!("margay: blocks of `{}` are not compared: {why}", env.program.name());
            }
            if let Unlike::Code(_) = why {
                known.will_be_none();
            }
            None
        }
    }
}

/// How many blocks a launch has that may have such, before anything is known of its code.
fn possible(env: &Env<'_>) -> Option<u64> {
    let known = Interest::ACCESSES
        | Interest::PARAMETERS
        | Interest::RUNS
        | Interest::BRANCHES
        | Interest::TEXTURES;
    let blocks = env.config.grid.iter().fold(1u64, |n, &of| n.saturating_mul(u64::from(of)));
    let may = (FEWEST..=MOST).contains(&blocks)
        && env.config.seed.is_none()
        && env.config.cluster.iter().all(|&n| n <= 1)
        && !env.config.cooperative
        && env.observer.is_some_and(|o| known.contains(o.interest()));
    may.then_some(blocks)
}

/// Gives the blocks of a class that are of none yet its number. How many there were.
fn claim(of: &mut [u8], [columns, rows, _]: [u32; 3], like: &Like, number: u8) -> usize {
    let mut found = 0;
    like.each(|[x, y, z]| {
        let n = (u64::from(z) * u64::from(rows) + u64::from(y)) * u64::from(columns) + u64::from(x);
        let class = &mut of[n as usize];
        if *class == 0 {
            (*class, found) = (number, found + 1);
        }
    });
    found
}

/// Finds a launch's blocks that are like others.
fn find(env: &Env<'_>, plan: &Plan) -> Option<Alike> {
    let observer = env.observer?;
    let watch = observer.rehearsal()?;
    let blocks: u64 = env.config.grid.map(u64::from).iter().product();
    let multiprocessors = 0..env.machine.sm_count.max(1);
    let follows: Vec<bool> = multiprocessors.map(|smid| watch.follows(smid)).collect();
    let followed = follows.iter().filter(|follows| **follows).count() as f64 / follows.len() as f64;
    let mut of = vec![0u8; blocks as usize];
    let marks = watch.marked_lines();
    let (mut classes, mut failures) = (Vec::new(), 0);
    let mut instructions = 0;
    let known = &env.program.kernels.alike;
    let pays = |left, share| known.pays((left as f64 * share) as u64, followed);
    if !pays(blocks, known.share()) && !known.refuses() {
        return None;
    }
    let mut share = known.share();
    while classes.len() + failures < REHEARSALS && failures < FAILURES && instructions < PATIENCE {
        let left = of.iter().filter(|class| **class == 0).count();
        if left < WORTH || !pays(left as u64, share) {
            break;
        }
        // Somewhere in the middle, and in no row of its own.
        let mut open = of.iter().enumerate().filter(|(_, class)| **class == 0);
        let Some((n, _)) = open.nth(left * 5 / 8) else { break };
        let own = env.block_at(n as u64);
        let began = Instant::now();
        let rehearsed = rehearse::rehearse(env, plan, observer, own);
        let Rehearsed { watch, bounds, multiples, mut lines, counters, spent, told } =
            match rehearsed {
                Ok(rehearsed) => rehearsed,
                Err(why) => {
                    if jit::log() {
                        eprintln!(
                            "margay: block {own:?} of `{}` tells of no other: {why}",
                            env.program.name()
                        );
                    }
                    failures += 1;
                    // Not this one again.
                    of[n] = WATCHED;
                    continue;
                }
            };
        instructions += spent;
        let saves = match plan.whole {
            true => [WATCHING, FOLLOWING].map(|each| each * spent as f64),
            false => [TELLING * told as f64, 0.0],
        };
        known.took(saves, began.elapsed());
        lines.iter_mut().for_each(|lines| lines.hash(marks));
        let kept = watch.keep();
        let like = Like::new(env.config.grid, own, &bounds, &multiples);
        let number = classes.len() as u8 + 1;
        let found = claim(&mut of, env.config.grid, &like, number);
        // Who follows must see all accesses in their order.
        if !kept.repeats || !plan.whole {
            let followed = (0..).zip(&mut of).filter(|(n, class)| {
                **class == number && follows[env.multiprocessor_of(*n) as usize]
            });
            followed.for_each(|(_, class)| *class = WATCHED);
        }
        if !plan.whole {
            share = found as f64 / left as f64;
            if classes.is_empty() {
                known.share.store((share * 1e6) as u64 + 1, Ordering::Relaxed);
            }
        }
        // It was not worth its time.
        failures += usize::from(found < WORTH);
        classes.push(Class { like, lines, counters, kept });
    }
    if classes.is_empty() && failures > 0 {
        known.was_vain();
    }
    of.iter_mut().filter(|class| **class == WATCHED).for_each(|class| *class = 0);
    let ran = classes.iter().map(|_| AtomicU64::new(0)).collect();
    let (whole, places) = (plan.whole, plan.places.clone());
    (!classes.is_empty()).then_some(Alike { classes, of, ran, marks, follows, whole, places })
}

impl Alike {
    /// How many blocks were rehearsed, and for how many others.
    pub fn size(&self) -> (usize, usize) {
        (self.classes.len(), self.of.iter().filter(|class| **class != 0).count())
    }

    /// Whether an access of such a block was told by the one that was rehearsed.
    pub fn told(&self, pc: u32) -> bool {
        self.places.get(pc as usize).is_some_and(Option::is_some)
    }

    /// Whether every block is like one that was rehearsed.
    pub fn has_all(&self) -> bool {
        !self.of.contains(&0)
    }

    /// Whether a block, by its number, is like one that was rehearsed.
    pub fn has(&self, block: u64) -> bool {
        self.of.get(block as usize).is_some_and(|class| *class != 0)
    }

    /// Counts blocks that have run, and tells what they did to caches.
    pub fn ran(&self, env: &Env<'_>, blocks: std::ops::Range<u64>, watch: &mut dyn Watch) {
        let ([columns, rows, _], all) = (env.config.grid, self.follows.len() as u32);
        let (mut block, mut smid) =
            (env.block_at(blocks.start), env.multiprocessor_of(blocks.start));
        // Most that follow one another are of one class.
        let mut ran = (0, 0);
        for &class in self.of.get(blocks.start as usize..blocks.end as usize).unwrap_or(&[]) {
            if let Some(at) = usize::from(class).checked_sub(1) {
                if ran.0 != at {
                    self.ran[ran.0].fetch_add(std::mem::take(&mut ran.1), Ordering::Relaxed);
                    ran.0 = at;
                }
                ran.1 += 1;
                self.tell(at, block, smid, watch);
            }
            smid = if smid + 1 < all { smid + 1 } else { 0 };
            block[0] += 1;
            if block[0] == columns {
                (block[0], block[1]) = (0, block[1] + 1);
            }
            if block[1] == rows {
                (block[1], block[2]) = (0, block[2] + 1);
            }
        }
        self.ran[ran.0].fetch_add(ran.1, Ordering::Relaxed);
    }

    /// Tells what a block of a class did to caches.
    fn tell(&self, class: usize, block: [u32; 3], smid: u32, watch: &mut dyn Watch) {
        let class = &self.classes[class];
        if self.follows[smid as usize] {
            let by =
                |moves: &Option<Moves>| moves.map_or(0, |moves| class.like.bytes(block, moves));
            let by: Vec<i64> = self.places.iter().map(by).collect();
            return watch.repeated(class.kept.number, smid, &by);
        }
        for lines in &class.lines {
            let by = class.like.bytes(block, lines.moves);
            lines.marked(self.marks, by, |line, sectors| watch.touched(line, sectors));
        }
    }

    /// The launch is over: tells its observer what these blocks did. Adds to the accesses that were counted.
    pub fn finish(self, observer: Option<&dyn Observer>, counters: &mut [u64; COUNTERS]) {
        for (class, ran) in self.classes.into_iter().zip(self.ran) {
            let blocks = ran.into_inner();
            were_unwatched(blocks, self.whole);
            // Of blocks that are watched their code counts.
            for (sum, n) in counters.iter_mut().zip(class.counters).filter(|_| self.whole) {
                *sum += n * blocks;
            }
            if let Some(observer) = observer {
                observer.stands_for(class.kept.number, blocks);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rehearsal_takes_is_found_out_anew_now_and_then() {
        let known = Known::default();
        assert!(known.may_pay(128), "the first tells");
        known.took([10.0, 0.0], Duration::from_nanos(2_000));
        assert!(known.may_pay(1_000) && !known.pays(199, 0.0) && !known.pays(1_000, 1.0));
        // Some launch has more blocks, and finds that too few of them would be told of.
        assert_eq!((1..RENEWED).filter(|_| known.refuses()).count(), 0);
        assert!(!known.pays(1, 0.0) && known.refuses());
        assert!(known.pays(1, 0.0), "nothing is known any more");
    }
}
