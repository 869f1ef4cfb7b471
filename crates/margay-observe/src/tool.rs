// SPDX-License-Identifier: MIT OR Apache-2.0
//! The border between the runtime and what watches a program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use margay_arch::BankMode;
use margay_arch::Gpu;
use margay_arch::caches::SplitPreference;
use margay_exec::launch::{LaunchConfig, LaunchFailure, LaunchStats, Machine};
use margay_exec::mem::{AddressSpace, AllocationInfo};
use margay_exec::observe::{
    AccessEvent, ArgumentEvent, BarrierEvent, BarrierRound, BlockEvent, BranchSums, EventPlace,
    GroupedEvent, Interest, MarkedLines, MbarrierEvent, NotedAccesses, Observer, PatternedEvent,
    TextureEvent, WarpSyncEvent, Watch,
};
use margay_exec::program::Program;
use margay_exec::variables::VariableSite;

/// A launch that is about to run.
pub struct LaunchView<'a> {
    pub program: &'a Arc<Program>,
    pub config: &'a LaunchConfig,
    pub machine: &'a Machine,
    pub memory: &'a AddressSpace,
    pub gpu: Gpu,
    /// Ordinal of the device.
    pub device: u32,
    /// Handle of the stream: `CU_STREAM_LEGACY` or `CU_STREAM_PER_THREAD` for a default stream.
    pub stream: u64,
    /// Registers of a thread: an estimate, unless a directive decides it.
    pub registers: u32,
    pub registers_decided: bool,
    /// Resident blocks of a multiprocessor, with those registers.
    pub blocks_per_sm: u32,
    /// How the program wants shared memory and L1 to divide their store.
    pub split: SplitPreference,
    /// How wide the program wants the banks of shared memory; only 3.x listens.
    pub bank_mode: BankMode,
    /// The kernel whose device code launched it; `None` if the host did.
    pub parent: Option<&'a str>,
    /// Kept if a tool [wants it](Tool::wants_order) and the program has several streams.
    pub order: Option<Order>,
    /// Known if a tool [wants it](Tool::wants_host_accesses): what the host program did between the launch and its next
    /// wait to managed memory that the kernel's arguments point into.
    pub host: Vec<HostAccess>,
}

/// The host program's own access to managed memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAccess {
    /// Of the first byte.
    pub address: u64,
    pub writes: bool,
    pub place: Option<HostPlace>,
}

/// A place in the host program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPlace {
    pub function: String,
    pub file: Option<String>,
    /// From 1; 0 if unknown.
    pub line: u32,
    pub column: u32,
}

/// A call of an API by the host program, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiCall {
    /// "cudaMemcpy", "clCreateBuffer", ….
    pub name: Option<String>,
    pub place: Option<HostPlace>,
}

/// Tells of a call once somebody asks, as looking its lines up takes time.
#[derive(Clone)]
pub struct Caller(Arc<dyn Fn() -> ApiCall + Send + Sync>);

impl Caller {
    pub fn new(call: impl Fn() -> ApiCall + Send + Sync + 'static) -> Caller {
        Caller(Arc::new(call))
    }

    pub fn call(&self) -> ApiCall {
        (self.0)()
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.call().fmt(f)
    }
}

/// How far each queue of work (a stream's, by number; 0 is the host program) is known to be done.
pub type Clock = BTreeMap<u64, u64>;

/// Where a launch or a copy stands among all that the program queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    pub queue: u64,
    /// Its place in the queue.
    pub sequence: u64,
    /// What comes before it, and itself.
    pub clock: Arc<Clock>,
    /// The node of a graph that it is, within one launch; after it the nodes within that one.
    pub nodes: Vec<NodeOrder>,
    /// The command queue of OpenCL's that it is in.
    pub commands: Option<CommandQueue>,
}

/// A command queue of OpenCL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandQueue {
    /// From 1, as the program made them.
    pub number: u64,
    pub in_order: bool,
}

/// Where a node stands among those of its graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeOrder {
    /// Which launch of a graph it is part of.
    pub launch: u64,
    pub number: usize,
    /// The nodes that come before it, a bit each.
    pub after: Arc<[u64]>,
}

impl NodeOrder {
    fn follows(&self, other: &NodeOrder) -> bool {
        let word = self.after.get(other.number / 64).copied().unwrap_or(0);
        word >> (other.number % 64) & 1 != 0
    }
}

impl Order {
    /// Whether the other one ends before this one starts, by what the program asked for.
    pub fn follows(&self, other: &Order) -> bool {
        let mut levels = self.nodes.iter().zip(&other.nodes).peekable();
        if levels.peek().is_none_or(|(a, b)| a.launch != b.launch) {
            return self.clock.get(&other.queue).is_some_and(|known| *known >= other.sequence);
        }
        let parts = levels.find(|(a, b)| (a.launch, a.number) != (b.launch, b.number));
        // What is within one node is in order, but for graphs there; and those follow each other.
        parts.is_none_or(|(a, b)| a.launch != b.launch || a.follows(b))
    }

    /// Whether both are nodes of one launch of a graph.
    pub fn is_in_graph_of(&self, other: &Order) -> bool {
        let launches = self.nodes.first().zip(other.nodes.first());
        launches.is_some_and(|(a, b)| a.launch == b.launch)
    }
}

/// A copy or a fill that an API call made. Addresses are those of the first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyEvent {
    pub to: u64,
    /// `None` for a fill.
    pub from: Option<u64>,
    pub bytes: u64,
    pub stream: u64,
    /// As [`LaunchView::order`].
    pub order: Option<Order>,
}

/// Memory that a stream allocates or frees in its turn (`cudaMallocAsync`, `cudaFreeAsync`).
#[derive(Clone, Debug)]
pub struct StreamOrdered {
    pub allocation: AllocationInfo,
    /// It is about to be freed; else it was allocated.
    pub freed: bool,
    pub stream: u64,
    /// As [`LaunchView::order`].
    pub order: Option<Order>,
}

/// What the program promised that kernels do with memory (`CL_MEM_READ_ONLY` and its like). Nothing holds them to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    ReadOnly,
    WriteOnly,
}

/// What an API call wanted to do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Read or write it: a copy or a fill.
    Copy,
    Free,
    /// Free what a stream is to free already, and may not have come to.
    FreeAgain,
    /// Anything, by the object that it was.
    Use,
}

/// An API call that the runtime refused, for memory that is not the program's to use so.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub wanted: Wanted,
    /// The first byte.
    pub address: u64,
    /// 0 for a free.
    pub bytes: u64,
    /// The allocation that holds the address, or is next to it.
    pub nearest: Option<AllocationInfo>,
}

/// Something that watches a program. Called from the threads that do the work, in each stream's
/// order.
pub trait Tool: Send + Sync {
    /// Whether the order of launches and copies is to be kept.
    fn wants_order(&self) -> bool {
        false
    }
    /// Whether it is to be known what the host program does to managed memory while kernels may use it.
    fn wants_host_accesses(&self) -> bool {
        false
    }
    /// Whether it is to be known which calls allocate and free, and which are refused.
    fn wants_callers(&self) -> bool {
        false
    }
    /// Whether what the program copies from the device is of interest.
    fn wants_results(&self) -> bool {
        false
    }
    /// An observer for the launch, or nothing if it is not of interest.
    fn launch<'a>(&'a self, _launch: &'a LaunchView<'a>) -> Option<Box<dyn Observer + 'a>> {
        None
    }
    /// The launch has ended, in whatever way. Its observer is gone.
    fn launched(&self, _launch: &LaunchView<'_>, _outcome: &Result<LaunchStats, LaunchFailure>) {}
    fn allocated(&self, _allocation: &AllocationInfo) {}
    fn freed(&self, _allocation: &AllocationInfo) {}
    /// The call that made what was announced just before; not told if nobody [wants it](Tool::wants_callers).
    fn allocated_by(&self, _allocation: &AllocationInfo, _caller: Caller) {}
    /// The call that frees what is announced just after.
    fn freed_by(&self, _allocation: &AllocationInfo, _caller: Caller) {}
    /// Kernels are to keep this promise on the allocation, which was announced before.
    fn promised(&self, _allocation: &AllocationInfo, _promise: Promise) {}
    fn copied(&self, _copy: &CopyEvent) {}
    /// Announced as [allocated](Tool::allocated) before, or as [freed](Tool::freed) next.
    fn stream_ordered(&self, _event: &StreamOrdered) {}
    /// Whether it is to be known what the program copies from the device.
    fn wants_reads(&self) -> bool {
        false
    }
    /// The program copies so many bytes from an address of the device's, which is in this allocation, after what was
    /// [announced](Tool::copied) before; not told if nobody [wants it](Tool::wants_reads). The caller is known where this is the
    /// call's own thread, and if a tool [wants it](Tool::wants_callers).
    fn read(
        &self,
        _from: u64,
        _bytes: u64,
        _allocation: &AllocationInfo,
        _caller: &dyn Fn() -> Option<Caller>,
    ) {
    }
    /// The program copies from the device what has this hash; not told if nobody [wants it](Tool::wants_results).
    fn result(&self, _hash: u64) {}
    /// An API call failed; which one is known if a tool [wants it](Tool::wants_callers).
    fn refused(&self, _refusal: &Refusal, _caller: Option<&Caller>) {}
    /// The process ends: the last chance to write anything.
    fn finish(&self) {}
}

/// One observer that stands for all of these.
pub fn together<'a>(mut observers: Vec<Box<dyn Observer + 'a>>) -> Option<Box<dyn Observer + 'a>> {
    match observers.len() {
        0 | 1 => observers.pop(),
        _ => Some(Box::new(Several(observers))),
    }
}

struct Several<'a>(Vec<Box<dyn Observer + 'a>>);

/// Watches, each with what it is interested in.
struct SeveralWatches<'w>(Vec<Listener<'w>>);

/// A watch, with what it is interested in, also of compiled code.
type Listener<'w> = (Interest, Interest, Box<dyn Watch + 'w>);

impl Observer for Several<'_> {
    fn interest(&self) -> Interest {
        self.0.iter().fold(Interest::empty(), |all, o| all | o.interest())
    }
    fn takes_sums(&self) -> bool {
        let counts = Interest::RUNS | Interest::BRANCHES;
        self.0.iter().all(|o| o.takes_sums() || !o.compiled().intersects(counts))
    }
    fn is_quiet(&self, memory: Range<u64>) -> bool {
        let quiet = |o: &dyn Observer| {
            let wants = o.compiled().intersects(Interest::ACCESSES | Interest::ADMISSIONS);
            !wants || o.is_quiet(memory.clone())
        };
        self.0.iter().all(|o| quiet(&**o))
    }
    fn compiled(&self) -> Interest {
        self.0.iter().fold(Interest::empty(), |all, o| all | o.compiled())
    }
    fn choices(&self) -> &[bool] {
        // One check has any.
        self.0.iter().map(|o| o.choices()).find(|choices| !choices.is_empty()).unwrap_or_default()
    }
    fn worker(&self) -> Box<dyn Watch + '_> {
        let all = self.0.iter().map(|o| (o.interest(), o.compiled(), o.worker()));
        Box::new(SeveralWatches(all.collect()))
    }
}

impl SeveralWatches<'_> {
    fn tell(&mut self, kind: Interest, mut event: impl FnMut(&mut dyn Watch)) {
        for (interest, _, watch) in &mut self.0 {
            if interest.contains(kind) {
                event(&mut **watch);
            }
        }
    }

    /// The same of compiled code.
    fn tell_compiled(&mut self, kind: Interest, mut event: impl FnMut(&mut dyn Watch)) {
        for (_, compiled, watch) in &mut self.0 {
            if compiled.contains(kind) {
                event(&mut **watch);
            }
        }
    }
}

impl Watch for SeveralWatches<'_> {
    fn access(&mut self, event: &AccessEvent<'_>) {
        match event.compiled {
            true => self.tell_compiled(Interest::ACCESSES, |w| w.access(event)),
            false => self.tell(Interest::ACCESSES, |w| w.access(event)),
        }
    }
    fn grouped(&mut self, event: &GroupedEvent) {
        self.tell(Interest::ACCESSES, |w| w.grouped(event));
    }
    fn patterned(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        let mut range = Some(0..u64::MAX);
        self.tell_compiled(Interest::ACCESSES, |w| {
            let own = w.patterned(event);
            range = range.take().zip(own).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end));
        });
        // Code can leave the lines of one hash to be told one by one.
        let alike = |w: &dyn Watch| {
            let marked = w.marked_lines();
            marked == MarkedLines::default() || marked == self.marked_lines()
        };
        range.filter(|_| self.0.iter().all(|(_, _, w)| alike(&**w)))
    }
    fn noted(&mut self, noted: &NotedAccesses<'_>) {
        self.tell_compiled(Interest::ACCESSES, |w| w.noted(noted));
    }
    fn admits_shared_reads(&mut self, ctaid: [u32; 3], holes: &mut Vec<Range<u64>>) -> bool {
        let mut all = true;
        self.tell(Interest::ADMISSIONS, |w| all = all && w.admits_shared_reads(ctaid, holes));
        all
    }
    fn is_settled(&mut self, ctaid: [u32; 3], warp: u32) -> bool {
        let wants = Interest::ACCESSES | Interest::ADMISSIONS;
        self.0.iter_mut().all(|(_, compiled, watch)| {
            !compiled.intersects(wants) || watch.is_settled(ctaid, warp)
        })
    }
    fn admits(&mut self, event: &AccessEvent<'_>) -> bool {
        let mut all = true;
        self.tell(Interest::ADMISSIONS, |w| all = all && w.admits(event));
        all
    }
    fn admits_patterned(&mut self, event: &PatternedEvent<'_>) -> bool {
        let mut all = true;
        self.tell(Interest::ADMISSIONS, |w| all = all && w.admits_patterned(event));
        all
    }
    fn interprets(&mut self, ctaid: [u32; 3], warp: u32) -> bool {
        let mut any = false;
        self.tell(Interest::ADMISSIONS, |w| any |= w.interprets(ctaid, warp));
        any
    }
    fn alone(&mut self) {
        self.tell(Interest::empty(), |w| w.alone());
    }
    fn follows(&self, smid: u32) -> bool {
        self.0.iter().any(|(_, _, w)| w.follows(smid))
    }
    fn marked_lines(&self) -> MarkedLines {
        let mut all = self.0.iter().map(|(_, _, w)| w.marked_lines());
        all.find(|m| *m != MarkedLines::default()).unwrap_or_default()
    }
    fn beyond(&mut self, event: &AccessEvent<'_>, site: &VariableSite) {
        self.tell(Interest::VARIABLES, |w| w.beyond(event, site));
    }
    fn texture(&mut self, event: &TextureEvent<'_>) {
        self.tell(Interest::TEXTURES, |w| w.texture(event));
    }
    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        self.tell(Interest::RUNS, |w| w.run(at, end, mask));
    }
    fn choice(&mut self, pc: u32, mask: u32, operands: [u32; 2]) {
        self.tell(Interest::CHOICES, |w| w.choice(pc, mask, operands));
    }
    fn shuffle(&mut self, pc: u32, mask: u32, sources: &[u8; 32]) {
        self.tell(Interest::CHOICES, |w| w.shuffle(pc, mask, sources));
    }
    fn branch(&mut self, at: EventPlace, active: u32, taken: u32) {
        self.tell(Interest::BRANCHES, |w| w.branch(at, active, taken));
    }
    fn runs(&mut self, from: u32, end: u32, executions: i64, lanes: i64) {
        self.tell(Interest::RUNS, |w| w.runs(from, end, executions, lanes));
    }
    fn branches(&mut self, pc: u32, sums: &BranchSums) {
        self.tell(Interest::BRANCHES, |w| w.branches(pc, sums));
    }
    fn sums_told(&mut self) {
        self.tell(Interest::empty(), |w| w.sums_told());
    }
    fn barrier(&mut self, event: &BarrierEvent) {
        self.tell(Interest::BARRIERS, |w| w.barrier(event));
    }
    fn barrier_opens(&mut self, ctaid: [u32; 3], id: u32) {
        self.tell(Interest::BARRIERS, |w| w.barrier_opens(ctaid, id));
    }
    fn barrier_round(&mut self, round: &BarrierRound) {
        self.tell(Interest::BARRIERS, |w| w.barrier_round(round));
    }
    fn warp_sync(&mut self, event: &WarpSyncEvent<'_>) {
        self.tell(Interest::WARP_SYNCS, |w| w.warp_sync(event));
    }
    fn warp_barrier(&mut self, at: EventPlace, mask: u32) {
        self.tell(Interest::WARP_SYNCS, |w| w.warp_barrier(at, mask));
    }
    fn mbarrier(&mut self, event: &MbarrierEvent<'_>) {
        self.tell(Interest::WARP_SYNCS, |w| w.mbarrier(event));
    }
    fn argument(&mut self, event: &ArgumentEvent) {
        self.tell(Interest::ARGUMENTS, |w| w.argument(event));
    }
    fn fence(&mut self, at: EventPlace, mask: u32) {
        self.tell(Interest::FENCES, |w| w.fence(at, mask));
    }
    fn allocated(&mut self, memory: Range<u64>) {
        self.tell(Interest::ACCESSES, |w| w.allocated(memory.clone()));
    }
    fn block_begins(&mut self, block: &BlockEvent) {
        self.tell(Interest::BLOCKS, |w| w.block_begins(block));
    }
    fn block_ends(&mut self, block: &BlockEvent) {
        self.tell(Interest::BLOCKS, |w| w.block_ends(block));
    }
    fn finish(&mut self) {
        self.tell(Interest::empty(), |w| w.finish());
    }
}
