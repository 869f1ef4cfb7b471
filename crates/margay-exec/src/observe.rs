// SPDX-License-Identifier: MIT OR Apache-2.0
//! The border towards everything that watches a kernel run.
//!
//! An [`Observer`] watches one launch. Each worker thread of the launch gets a [`Watch`] of its own,
//! so that counting needs no lock; what the workers found is put together when they finish. Observers
//! see warp-wide events and cannot steer: results with and without one are bit-identical. They say
//! what they are interested in, and only that is reported; without an observer an access pays for
//! one test of a flag and a jump for nothing.
//!
//! A block is one worker's from its beginning to its end, and so are the blocks of a cluster: what belongs to them may be kept
//! in the worker's watch. Blocks of a worker take turns, so it is found by the `ctaid`.

use std::ops::Range;

use margay_ir::texture::TextureAttr;
use margay_ir::{BarKind, Space};

use crate::fault::Access;
pub use margay_codegen::Noted;

pub use crate::jit::{NotedAccess, NotedAccesses, NotedAddresses, NotedList, PlainNote};
use crate::mem::texture::{Filter, Image};
use crate::variables::VariableSite;

bitflags::bitflags! {
    /// Kinds of events.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Interest: u32 {
        /// [`Watch::access`].
        const ACCESSES = 1;
        /// [`Watch::run`].
        const RUNS = 1 << 1;
        /// [`Watch::branch`].
        const BRANCHES = 1 << 2;
        /// [`Watch::barrier`] and [`Watch::barrier_opens`].
        const BARRIERS = 1 << 3;
        /// [`Watch::fence`].
        const FENCES = 1 << 4;
        /// [`Watch::block_begins`] and [`Watch::block_ends`].
        const BLOCKS = 1 << 5;
        /// [`AccessEvent::values`].
        const VALUES = 1 << 6;
        /// [`Watch::warp_sync`], [`Watch::warp_barrier`] and [`Watch::mbarrier`].
        const WARP_SYNCS = 1 << 7;
        /// [`Watch::texture`].
        const TEXTURES = 1 << 8;
        /// [`Watch::argument`].
        const ARGUMENTS = 1 << 9;
        /// [`Watch::admits`] and [`Watch::interprets`].
        const ADMISSIONS = 1 << 10;
        /// [`Watch::access`] for parameters, too.
        const PARAMETERS = 1 << 11;
        /// [`Watch::choice`] and [`Watch::shuffle`], of the instructions that [`Observer::choices`] names.
        const CHOICES = 1 << 12;
        /// [`Watch::operands`] of these, too.
        const OPERANDS = 1 << 13;
        /// [`Watch::beyond`].
        const VARIABLES = 1 << 14;
        /// A launch is ended as a deadlock also where the host program might still end it, but has done nothing for half a minute.
        const DEADLOCKS = 1 << 15;
    }
}

/// Where an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventPlace {
    pub ctaid: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Index of the decoded instruction, for [`crate::program::Program::place`] and
    /// [`crate::program::Program::instruction`], where its op, order and scope are.
    pub pc: u32,
    /// The multiprocessor that the block is on.
    pub smid: u32,
}

/// One warp-wide memory access, before it is carried out.
///
/// A generic access is reported once for each space that its lanes turn out to reach; `mask` has
/// those lanes only. `cp.async` is a read of global memory and a write of shared memory.
#[derive(Clone, Copy, Debug)]
pub struct AccessEvent<'a> {
    pub at: EventPlace,
    /// The space that is accessed: never generic.
    pub space: Space,
    /// The space that the instruction names.
    pub named: Space,
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    /// Not empty.
    pub mask: u32,
    /// Address in each lane; those outside `mask` mean nothing. Shared, local and parameter ones
    /// are offsets; an offset of shared memory from 2^24 on is in another block of the cluster.
    pub addresses: &'a [u64; 32],
    /// What each lane of `mask` stores, if the instruction stores one element a lane and
    /// [`Interest::VALUES`] was declared.
    pub values: Option<&'a [u64; 32]>,
    /// Compiled code makes it, or a handler that it calls.
    pub compiled: bool,
}

/// An access of all 32 lanes by groups of eight neighbours, each of which is at one address or at consecutive elements.
#[derive(Clone, Copy, Debug)]
pub struct GroupedEvent {
    pub at: EventPlace,
    /// The space that is named and accessed: never generic.
    pub space: Space,
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    /// Address in the first lane of each group.
    pub starts: [u64; 4],
    /// A bit for each group that is at consecutive elements.
    pub consecutive: u32,
}

impl GroupedEvent {
    /// Address in each lane.
    pub fn addresses(&self) -> [u64; 32] {
        std::array::from_fn(|lane| {
            let step = self.consecutive >> (lane / 8) & 1;
            self.starts[lane / 8].wrapping_add(u64::from(step * self.bytes) * (lane % 8) as u64)
        })
    }

    /// Calls `each` on the same as an event of addresses.
    pub fn with_addresses<R>(&self, each: impl FnOnce(&AccessEvent<'_>) -> R) -> R {
        let GroupedEvent { at, space, access, bytes, .. } = *self;
        let (named, mask, addresses, compiled) = (space, u32::MAX, &self.addresses(), false);
        let values = None;
        each(&AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled })
    }
}

/// An access of compiled code whose lanes' addresses are a base and a pattern that an instruction always has.
#[derive(Clone, Copy, Debug)]
pub struct PatternedEvent<'a> {
    pub at: EventPlace,
    /// A number of the instruction and its pattern, in this launch.
    pub site: u64,
    /// The space that is named and accessed: never generic.
    pub space: Space,
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    /// Not empty.
    pub mask: u32,
    /// Address in lane 0, and what to add to it in each lane.
    pub base: u64,
    pub pattern: &'a [i64; 32],
    /// More to add: a factor for each lane, and what it is of.
    pub second: Option<(&'a [i64; 32], u64)>,
    /// How often it came: once, but for what [`Watch::patterned`] has agreed to.
    pub times: u64,
    /// As [`AccessEvent::values`].
    pub values: Option<&'a [u64; 32]>,
    /// It is told together with others, some time after.
    pub late: bool,
}

/// Lines of 128 bytes, chosen by a hash: those whose number times `factor`, modulo 2^64, is below `bound`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkedLines {
    pub factor: u64,
    pub bound: u64,
}

impl MarkedLines {
    /// Whether a line is one of them, by its number.
    #[inline]
    pub fn has(self, line: u64) -> bool {
        line.wrapping_mul(self.factor) < self.bound
    }
}

impl PatternedEvent<'_> {
    /// Address in each lane.
    pub fn addresses(&self) -> [u64; 32] {
        let mut all = self.pattern.map(|step| self.base.wrapping_add_signed(step));
        if let Some((factors, of)) = self.second {
            for (a, factor) in all.iter_mut().zip(factors) {
                *a = a.wrapping_add((*factor as u64).wrapping_mul(of));
            }
        }
        all
    }

    /// Calls `each` on the same as an event of addresses.
    pub fn with_addresses<R>(&self, each: impl FnOnce(&AccessEvent<'_>) -> R) -> R {
        let PatternedEvent { at, space, access, bytes, mask, values, .. } = *self;
        let (addresses, named, compiled) = (&self.addresses(), space, true);
        each(&AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled })
    }
}

/// One warp-wide access through the texture unit, as it was carried out: `tex`, `tld4`, `suld`, `sust`,
/// `sured`. Queries are none.
///
/// Lanes that name different objects are told apart: an event for each.
#[derive(Clone, Copy)]
pub struct TextureEvent<'a> {
    pub at: EventPlace,
    /// The instruction's form.
    pub attr: &'a TextureAttr,
    pub access: Access,
    /// What the lanes name: a texture, surface or image object, or the address of a module's variable.
    pub handle: u64,
    pub image: &'a Image,
    /// How it is filtered, if it is.
    pub filter: Option<Filter>,
    /// Not empty.
    pub mask: u32,
    /// Texels of the image that were read or written, lane by lane, those of no weight left out.
    pub texels: &'a [TexelAccess],
    /// Texels outside of the image, which nothing was read for: borders, zeros, ignored stores.
    pub outside: u32,
}

/// Texels of a lane that lie one behind the other; one, but for surface accesses that are wider than a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TexelAccess {
    pub lane: u32,
    pub level: u32,
    pub layer: u32,
    /// Bytes from the row's start.
    pub x: u32,
    /// Row and slice.
    pub y: u32,
    pub z: u32,
    pub bytes: u32,
    /// Where the texel is: an address of the device's if the image lies in an allocation, which
    /// [`Image::placement`] tells.
    pub address: u64,
}

/// Lanes arrive at a barrier of their block, or of their cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierEvent {
    pub at: EventPlace,
    /// The barrier's number; `None` is the cluster's.
    pub id: Option<u32>,
    /// Threads that the instruction waits for, if it says so.
    pub count: Option<u32>,
    pub kind: BarKind,
    pub mask: u32,
    /// Lanes of the warp that have not exited.
    pub alive: u32,
}

/// Lanes execute an op with a member mask: `bar.warp.sync`, `shfl.sync`, `vote.sync` ….
#[derive(Clone, Copy, Debug)]
pub struct WarpSyncEvent<'a> {
    pub at: EventPlace,
    /// Lanes that execute it together.
    pub mask: u32,
    /// Lanes of the warp that have not exited.
    pub alive: u32,
    /// The mask that each lane of `mask` names.
    pub named: &'a [u32; 32],
    /// Where each lane is, if not all are at one place: at equal ops, which they execute together all the same.
    pub places: Option<&'a [u32; 32]>,
}

impl WarpSyncEvent<'_> {
    /// Where a lane is.
    pub fn place(&self, lane: u32) -> EventPlace {
        let pc = self.places.map_or(self.at.pc, |places| places[lane as usize & 31]);
        EventPlace { pc, ..self.at }
    }
}

/// Lanes do something to mbarrier objects: what, the instruction's [`margay_ir::MbarrierOp`] tells.
#[derive(Clone, Copy, Debug)]
pub struct MbarrierEvent<'a> {
    pub at: EventPlace,
    /// Not empty.
    pub mask: u32,
    /// Where each lane's object is, as in an access of shared memory.
    pub addresses: &'a [u64; 32],
    /// The operand of each lane.
    pub operands: &'a [u32; 32],
}

/// Executions of a conditional branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchSums {
    pub executions: u64,
    /// Those at which lanes parted.
    pub divergent: u64,
    /// Lanes that executed it, and those that took it.
    pub lanes: u64,
    pub taken: u64,
}

/// Every warp of a block that has not ended is at one barrier, with all its 32 lanes.
#[derive(Clone, Copy, Debug)]
pub struct BarrierRound {
    /// The instruction; the warp is the one that came last.
    pub at: EventPlace,
    /// The barrier's number.
    pub id: u32,
    /// Warps of the block, and which of them are there.
    pub warps: u32,
    pub there: u32,
}

impl BarrierRound {
    /// The warps that are there, in the order in which they came: in a circle, to the last.
    pub fn arrivals(&self) -> impl Iterator<Item = BarrierEvent> + use<> {
        let BarrierRound { at, id, warps, there } = *self;
        let (kind, mask, alive, id) = (BarKind::Sync, u32::MAX, u32::MAX, Some(id));
        circle(at.warp, warps).filter(move |w| there >> w & 1 != 0).map(move |warp| {
            let at = EventPlace { warp, ..at };
            BarrierEvent { at, id, count: None, kind, mask, alive }
        })
    }
}

/// The numbers of `warps` warps from the one after `last` on to it.
pub(crate) fn circle(last: u32, warps: u32) -> impl Iterator<Item = u32> + Clone + use<> {
    (1..=warps).map(move |n| (last + n) % warps.max(1))
}

/// A block of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    pub ctaid: [u32; 3],
    pub smid: u32,
    pub warps: u32,
    /// Bytes of its shared memory, static and dynamic.
    pub shared_bytes: u32,
}

/// An argument on its way to a function, or a result on its way back.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentEvent {
    /// The call, or the return.
    pub at: EventPlace,
    /// The call.
    pub call: u32,
    /// The function.
    pub callee: margay_ir::FuncId,
    /// Its number among the arguments or the results.
    pub index: usize,
    pub returns: bool,
    pub mask: u32,
    pub bytes: u32,
    /// Addresses in the lanes' local memory, where it is not in a register.
    pub from: Option<[u64; 32]>,
    pub to: Option<[u64; 32]>,
}

/// Watches a launch.
pub trait Observer: Sync {
    /// What is reported to the watches. Asked once for each worker.
    fn interest(&self) -> Interest;
    /// Whether [`Watch::runs`] and [`Watch::branches`] do instead of [`Watch::run`] and [`Watch::branch`]: their sums,
    /// told late. Else who is interested in these has the launch interpreted. If nothing but accesses and textures is of interest
    /// beside, accesses of compiled code are told late too: in their order, and maybe after they were carried out.
    fn takes_sums(&self) -> bool {
        false
    }
    /// What compiled code reports: less than all where [`Watch::admits`] has the interpreter run what the rest is for.
    fn compiled(&self) -> Interest {
        self.interest()
    }
    /// Whether compiled code need not report reads of this memory, an allocation, as long as the launch runs.
    fn is_quiet(&self, _memory: Range<u64>) -> bool {
        false
    }
    /// Whether each instruction of the code is a choice, if [`Interest::CHOICES`] was declared.
    fn choices(&self) -> &[bool] {
        &[]
    }
    /// What watches one worker thread of the launch.
    fn worker(&self) -> Box<dyn Watch + '_>;
    /// What watches a block that is run without leaving a trace, to learn what many blocks will do. If there is one, these
    /// may go by unwatched.
    fn rehearsal(&self) -> Option<Box<dyn Rehearsal + Send + '_>> {
        None
    }
    /// So many blocks have done what a block did that was rehearsed, by [the number](Kept::number) that was given for it, each
    /// at addresses of its own that differ from that one's by multiples of [the period](Rehearsal::period). That one has not run but as one of them.
    fn stands_for(&self, _rehearsed: usize, _blocks: u64) {}
}

/// Watches a block whose events are those of others, too.
///
/// Caches see nothing of them. What others do to caches is told by [`Watch::touched`] or
/// [`Watch::repeated`] when they have run.
pub trait Rehearsal: Watch {
    /// The addresses around one in global memory that are told as one variable's.
    fn variable(&mut self, address: u64) -> Range<u64>;
    /// Bytes by which accesses may be apart, and be told as one: a multiple of 128.
    fn period(&self) -> u64;
    /// Whether accesses of which all lanes are at one address may be told as one wherever that is.
    fn is_free(&self) -> bool;
    /// Keeps what it was told until [`Observer::stands_for`] says how often that was done.
    fn keep(self: Box<Self>) -> Kept;
}

/// What an observer keeps of a block that was rehearsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// A number of the observer's.
    pub number: usize,
    /// Whether [`Watch::repeated`] does for blocks that are [followed](Watch::follows). Else these are watched.
    pub repeats: bool,
}

/// Watches a worker thread. Events of a warp come in program order.
pub trait Watch {
    /// A load, store or atomic of a warp.
    fn access(&mut self, _event: &AccessEvent<'_>) {}
    /// The same of all lanes in the interpreter, where their addresses are of that form and no values are to be told.
    fn grouped(&mut self, event: &GroupedEvent) {
        event.with_addresses(|event| self.access(event));
    }
    /// A load, store or atomic of a warp in compiled code.
    ///
    /// The answer, if any, allows for more such accesses by all lanes, from a base in this range that differs from this
    /// one by a multiple of 256, to be told together and late: those of blocks for which [`Watch::follows`] says the same
    /// as for this one, and of them in global memory those that touch none of the [`Watch::marked_lines`].
    fn patterned(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        event.with_addresses(|event| self.access(event));
        None
    }
    /// What [`Watch::patterned`] would answer about an access that was told before; `None` if that is not known.
    fn counts_more(&self, _: &PatternedEvent<'_>) -> Option<Range<u64>> {
        None
    }
    /// Accesses of shared and global memory by warps of a block, in their order, told some time after, and before anything
    /// else of that block.
    fn noted(&mut self, noted: &NotedAccesses<'_>) {
        for event in noted.events() {
            self.patterned(&event);
        }
    }
    /// Accesses of compiled code, in their order, told some time after: those at the front that the watch counts at once it
    /// [passes](NotedList::pass). The first that it leaves is told as an event, and it is asked about those behind it.
    ///
    /// It must leave those of which [`Watch::patterned`] might allow the code to count others.
    fn passes(&mut self, _accesses: &mut NotedList<'_>) {}
    /// Whether all accesses of the block's shared memory by compiled code would be [admitted](Watch::admits) and tell nothing
    /// new, until anything but a load, a store and a barrier comes of the block; but for those that touch one of the few
    /// ranges of it that are put in `holes`.
    fn admits_shared_reads(&mut self, _ctaid: [u32; 3], _holes: &mut Vec<Range<u64>>) -> bool {
        false
    }
    /// Whether nothing needs to be known of accesses by this warp to the frame that the kernel itself has in local memory,
    /// as long as it runs in compiled code.
    fn is_settled(&mut self, _ctaid: [u32; 3], _warp: u32) -> bool {
        false
    }
    /// Asked before compiled code makes an access (of stores that a handler makes: after). If not, the warp leaves the
    /// code: the interpreter makes the access, of which nobody was told yet, and goes on with the warp as long as it is
    /// [to be interpreted](Watch::interprets). Stores are not turned away.
    fn admits(&mut self, _event: &AccessEvent<'_>) -> bool {
        true
    }
    /// [`Watch::admits`] for an access of one pattern.
    fn admits_patterned(&mut self, event: &PatternedEvent<'_>) -> bool {
        event.with_addresses(|event| self.admits(event))
    }
    /// Whether a warp is not to enter compiled code now.
    fn interprets(&mut self, _ctaid: [u32; 3], _warp: u32) -> bool {
        false
    }
    /// Told before all else if no other worker of the launch ever runs beside this one.
    fn alone(&mut self) {}
    /// Whether accesses by blocks of this multiprocessor matter one by one, and in their order.
    fn follows(&self, _smid: u32) -> bool {
        true
    }
    /// Lines whose accesses matter one by one on every multiprocessor.
    fn marked_lines(&self) -> MarkedLines {
        MarkedLines::default()
    }
    /// An access of shared or local memory by lanes that leave the variable which their address is computed from, and come to what
    /// lies before or behind it in the block's, or the thread's. It is carried out.
    fn beyond(&mut self, _event: &AccessEvent<'_>, _site: &VariableSite) {}
    /// A texture or surface access of a warp.
    fn texture(&mut self, _event: &TextureEvent<'_>) {}
    /// Lanes `mask` have executed the instructions from `at.pc` up to, not including, `end`.
    fn run(&mut self, _at: EventPlace, _end: u32, _mask: u32) {}
    /// The interpreter executes one of the [`Observer::choices`] in the lanes `mask`, after its guard. Told before the run that it is
    /// in; `operands` are lane masks: for [`margay_ir::Op::PAnd`] and `POr` the two operands, for `Select` which lanes take
    /// the first.
    fn choice(&mut self, _pc: u32, _mask: u32, _operands: [u32; 2]) {}
    /// The same of a [`margay_ir::Op::Shfl`]: the lane whose value each lane reads, which may not be in the mask. The instruction may have to
    /// wait, and is told again then.
    fn shuffle(&mut self, _pc: u32, _mask: u32, _sources: &[u8; 32]) {}
    /// What the first three operands of such an instruction are in each lane, 0 or 1 if they are predicates.
    fn operands(&mut self, _pc: u32, _mask: u32, _operands: &[[u64; 32]; 3]) {}
    /// A block that is [not followed](Watch::follows), and was [not watched](Observer::rehearsal), has touched sectors, a bit
    /// each, of a line that matters, by its number.
    fn touched(&mut self, _line: u64, _sectors: u8) {}
    /// A block that is followed, on this multiprocessor, has done what a rehearsed one did, and was not watched. `by`: by
    /// instruction, bytes from that one's addresses to this one's.
    fn repeated(&mut self, _rehearsed: usize, _smid: u32, _by: &[i64]) {}
    /// A conditional branch: `taken` of the lanes `active` take it.
    fn branch(&mut self, _at: EventPlace, _active: u32, _taken: u32) {}
    /// The instructions from `from` up to, not including, `end` were executed so often, by so many lanes in all; told
    /// some time after. A negative number takes back what was told before, never more.
    fn runs(&mut self, _from: u32, _end: u32, _executions: i64, _lanes: i64) {}
    /// The conditional branch at `pc` was executed so often; told some time after.
    fn branches(&mut self, _pc: u32, _sums: &BranchSums) {}
    /// All [`Watch::runs`] and [`Watch::branches`] of this moment are told.
    fn sums_told(&mut self) {}
    fn barrier(&mut self, _event: &BarrierEvent) {}
    /// Barrier `id` of the block is complete: its threads go on.
    fn barrier_opens(&mut self, _ctaid: [u32; 3], _id: u32) {}
    /// The arrivals at a barrier that opens, and that it does, at once.
    fn barrier_round(&mut self, round: &BarrierRound) {
        round.arrivals().for_each(|arrival| self.barrier(&arrival));
        self.barrier_opens(round.at.ctaid, round.id);
    }
    /// Lanes arrive at an op with a member mask; they may have to wait, and are reported again then.
    fn warp_sync(&mut self, _event: &WarpSyncEvent<'_>) {}
    /// Lanes `mask` of a warp have met at `bar.warp.sync`.
    fn warp_barrier(&mut self, _at: EventPlace, _mask: u32) {}
    /// An operation on mbarrier objects: before the accesses that it is made of, of a wait after them.
    fn mbarrier(&mut self, _event: &MbarrierEvent<'_>) {}
    /// A call or a return has handed over an argument or a result: no instruction stores it.
    fn argument(&mut self, _event: &ArgumentEvent) {}
    fn fence(&mut self, _at: EventPlace, _mask: u32) {}
    /// Device `malloc` gave a thread this memory: what was done to it before is of no matter to anybody.
    fn allocated(&mut self, _memory: Range<u64>) {}
    fn block_begins(&mut self, _block: &BlockEvent) {}
    /// Every thread of the block has exited.
    fn block_ends(&mut self, _block: &BlockEvent) {}
    /// The worker has nothing more to do, also after a fault.
    fn finish(&mut self) {}
}
