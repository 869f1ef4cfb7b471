// SPDX-License-Identifier: MIT OR Apache-2.0
//! Regions: code for whole blocks, cut where warps wait for one another.
//!
//! A *region* is what runs from one entry to the next exits. Each has a copy of the blocks that it reaches, and is a loop over the
//! warps that stand at its entry: who leaves goes straight to the next warp of the same region, as long as that one stands there
//! too, else by way of the place that looks up where a warp stands. So what does not change from warp to warp (parameters,
//! what is known of allocations, addresses that the rows of a block share) stays in registers, which it cannot where all
//! regions share one body with as many entries.
//!
//! Blocks that several regions reach are written several times. Where that would be more than [`MOST`] times all, the code has
//! one body, as code for single warps and code for checks do.

use std::collections::BTreeSet;

use super::Gen;
use super::blocks::{ENGINE, Lines};
use super::teams::rest_label;
use crate::AT_DONE;
use crate::analysis::Set;

/// How many times all of a function's instructions may be written, in hundredths.
const MOST: usize = 170;
/// Instructions that do not count: short functions may be written more often.
const FREE: usize = 60;

/// Where a region begins.
pub(super) struct Start {
    /// Its place in the list of entries, which is its number.
    entry: u32,
    /// The block, the instruction there, and whether other lanes wait.
    place: (usize, usize, bool),
    live: Set,
    pending: Vec<usize>,
    /// A store, in whose turn the warp is.
    held: bool,
}

/// What is written for the members of teams once they go on by themselves.
#[derive(Clone)]
pub(super) struct Rests {
    /// The region.
    pub number: u32,
    pub warps: usize,
    /// Where they go on.
    pub commits: Vec<(usize, usize)>,
    /// Registers of which the first member's slots are everybody's.
    pub same: Set,
}

/// The region that is being written, and those that are to come.
#[derive(Default)]
pub(super) struct Regions {
    to_come: Vec<Start>,
    /// Copies of blocks that the region reaches: whether lanes are apart there, and the block.
    reached: BTreeSet<(bool, usize)>,
    /// Instructions that have been written.
    written: usize,
    /// Regions that have been written, and the labels of their heads.
    heads: Vec<(u32, String)>,
    /// Regions that teams run, too.
    pub(super) teams: Vec<Rests>,
}

impl Gen<'_> {
    /// Writes the function's code by regions. False if it becomes too long.
    pub(super) fn write_regions(&mut self) -> bool {
        let total: usize = self.f.blocks.iter().map(|b| b.insts.len() + 1).sum();
        self.begin_region(0);
        if let Some(single) = self.write_team(0, (0, 0), None) {
            self.begin(&single);
        }
        self.zero_slots();
        let first = self.block_copy(false, 0);
        self.line(format!("br label %{first}"));
        loop {
            if !self.write_reached(total * MOST / 100 + FREE) || !self.write_rests() {
                return false;
            }
            let Some(start) = self.regions.as_mut().and_then(|r| r.to_come.pop()) else {
                return true;
            };
            self.begin_region(start.entry);
            self.enter_region(start);
        }
    }

    /// Writes the blocks that the region reaches. False if there are too many instructions.
    fn write_reached(&mut self, most: usize) -> bool {
        let mut done = BTreeSet::new();
        while let Some(&(apart, b)) =
            self.regions.as_ref().and_then(|r| r.reached.difference(&done).next())
        {
            done.insert((apart, b));
            self.block(b, apart);
            if self.regions.as_ref().is_none_or(|r| r.written > most) {
                return false;
            }
        }
        true
    }

    /// Writes what teams of the last region leave to their members. It is short, and does not count.
    fn write_rests(&mut self) -> bool {
        let Some(regions) = &self.regions else { return true };
        let (number, written) = (regions.heads.last().map(|h| h.0), regions.written);
        let last = regions.teams.last().filter(|rests| Some(rests.number) == number).cloned();
        let Some(rests) = last else { return true };
        for &commit in &rests.commits {
            if let Some(regions) = &mut self.regions {
                regions.reached.clear();
            }
            self.begin_rest(&rests, commit);
            if !self.write_reached(usize::MAX) {
                return false;
            }
        }
        if let Some(regions) = &mut self.regions {
            regions.written = written;
        }
        true
    }

    /// The head of a region's loop.
    fn begin_region(&mut self, number: u32) {
        self.tail = format!("R{number}");
        let head = self.entry_labels[number as usize].clone();
        if let Some(regions) = &mut self.regions {
            regions.reached.clear();
            regions.heads.push((number, head.clone()));
        }
        self.begin(&head);
        let mut t = Lines::named(format!("%h{number}_"));
        self.name_warp(&mut t);
        self.text(&t.text);
    }

    /// Names what a region needs of the warp whose turn it is.
    pub(super) fn name_warp(&self, t: &mut Lines) {
        let tail = &self.tail;
        t.line(format!("%wn{tail} = load i32, ptr %warp"));
        t.line(format!("%wn64{tail} = zext i32 %wn{tail} to i64"));
        t.line(format!("%atw{tail} = getelementptr i32, ptr %at, i64 %wn64{tail}"));
        self.begin_warp(t);
    }

    /// From a region's head to where its code goes on.
    fn enter_region(&mut self, start: Start) {
        let (b, inst, apart) = start.place;
        if !apart
            && !start.held
            && let Some(single) = self.write_team(start.entry, (b, inst), Some(&start.live))
        {
            self.begin(&single);
        }
        self.apart = apart;
        self.load_live(&start.live);
        if apart {
            self.take_parted(&start.pending);
        }
        self.begin_within(b, inst, start.held);
    }

    /// A region that begins at this entry is to come.
    pub(super) fn plan_region(
        &mut self,
        entry: u32,
        place: (usize, usize, bool),
        live: Set,
        pending: Vec<usize>,
        held: bool,
    ) {
        if let Some(regions) = &mut self.regions {
            regions.to_come.push(Start { entry, place, live, pending, held });
        }
    }

    /// The label of a block's copy for all lanes, or for some, in the region that is being written.
    pub(super) fn block_copy(&mut self, apart: bool, b: usize) -> String {
        if let Some(regions) = &mut self.regions {
            regions.reached.insert((apart, b));
        }
        format!("{}{b}{}", if apart { "D" } else { "C" }, self.tail)
    }

    /// Counts instructions that are written.
    pub(super) fn count_written(&mut self, insts: usize) {
        if let Some(regions) = &mut self.regions {
            regions.written += insts + 1;
        }
    }

    /// Where warps of each region go that have ended, or have left to be entered again.
    pub(super) fn region_ends(&self, t: &mut Lines, resumes: bool) {
        for (tail, head, mates) in self.loops() {
            t.label(&format!("done{tail}"));
            self.add_spent(t);
            if resumes {
                t.line(format!("store i32 {}, ptr %atw{tail}, {ENGINE}", AT_DONE as i32));
            }
            t.line(format!("br label %step{tail}"));
            t.label(&format!("step{tail}"));
            if !mates.is_empty() {
                // The next of the team goes on, and after all of them whoever comes next.
                let mate = t.ins("load i32, ptr %mate");
                let table: String = mates
                    .iter()
                    .enumerate()
                    .skip(1)
                    .map(|(i, label)| format!(" i32 {i}, label %{label}"))
                    .collect();
                t.line(format!("switch i32 {mate}, label %all{tail} [{table} ]"));
                t.label(&format!("all{tail}"));
            }
            let mut next = t.ins(format!("add i32 %wn{tail}, 1"));
            let more = match self.in_turns() {
                // In a circle, from wherever the round began.
                true => {
                    next = self.next_turn(t, &next);
                    let left = t.ins("load i32, ptr %left");
                    t.ins(format!("icmp ne i32 {left}, 0"))
                }
                false => t.ins(format!("icmp ult i32 {next}, {}", self.warps())),
            };
            t.line(format!("store i32 {next}, ptr %warp"));
            if !resumes {
                t.line(format!("br i1 {more}, label %{head}, label %pick"));
                continue;
            }
            t.line(format!("br i1 {more}, label %peek{tail}, label %pick"));
            t.label(&format!("peek{tail}"));
            let next = t.ins(format!("zext i32 {next} to i64"));
            let at = t.ins(format!("getelementptr i32, ptr %at, i64 {next}"));
            let there = t.ins(format!("load i32, ptr {at}, {ENGINE}"));
            let stood = t.ins("load i32, ptr %stood");
            let same = t.ins(format!("icmp eq i32 {there}, {stood}"));
            t.line(format!("br i1 {same}, label %{head}, label %pick"));
        }
    }

    /// The ends of names of each region's code, and of what its teams leave to their members, with the label of the region's head
    /// and those by which members come.
    fn loops(&self) -> Vec<(String, String, Vec<String>)> {
        let Some(regions) = &self.regions else { return Vec::new() };
        let heads = regions.heads.iter().map(|(n, head)| (format!("R{n}"), head.clone(), vec![]));
        let rests = regions.teams.iter().flat_map(|rests| {
            let head = regions.heads.iter().find(|h| h.0 == rests.number);
            rests.commits.iter().filter_map(move |&(b, n)| {
                let own = |i| rest_label(rests.number, (b, n), Some(i));
                let tail = format!("R{}c{b}_{n}", rests.number);
                Some((tail, head?.1.clone(), (0..rests.warps).map(own).collect()))
            })
        });
        heads.chain(rests).collect()
    }

    /// The running warp's number, in 32 or 64 bits.
    pub(super) fn warp_number(&self, bits: u32) -> String {
        format!("%wn{}{}", if bits == 64 { "64" } else { "" }, self.tail)
    }

    /// The running warp's register frame.
    pub(super) fn frame(&self) -> String {
        format!("%frame{}", self.tail)
    }

    /// Gives every register that lives where the function begins a zero: the warp is new.
    pub(super) fn zero_slots(&mut self) {
        let live = self.facts.live_in.first().cloned().unwrap_or_else(|| Set::new(0));
        for r in live.iter() {
            self.zero_slot(margay_ir::Reg(r as u32));
        }
    }

    /// Whether the code is written by regions.
    pub(super) fn by_regions(&self) -> bool {
        self.regions.is_some()
    }
}

/// Whether code may be written by regions: that for whole blocks that nobody watches, or who counts.
pub(super) fn pay(options: &crate::Options) -> bool {
    options.blocks && options.full && (!options.watched.any() || options.watched.notes_all)
}
