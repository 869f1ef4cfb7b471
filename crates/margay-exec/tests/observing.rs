// SPDX-License-Identifier: MIT OR Apache-2.0
//! What observers are told, and that they change nothing.

mod common;

use std::collections::BTreeMap;

use common::{Device, Run, module};
use margay_exec::fault::Access;
use margay_exec::observe::{
    AccessEvent, BarrierEvent, BlockEvent, EventPlace, Interest, Observer, Watch,
};
use margay_exec::program::{Code, Program};
use margay_ir::Space;
use parking_lot::Mutex;

/// Everything that one launch told.
#[derive(Default, Clone)]
struct Told {
    accesses: BTreeMap<(Space, Space, bool, u32), u64>,
    warp_instructions: u64,
    thread_instructions: u64,
    executed: BTreeMap<u32, u64>,
    branches: Vec<(u32, u32)>,
    arrivals: u64,
    opened: u64,
    fences: u64,
    blocks: (u64, u64),
    finished: u64,
}

struct Recorder<'a> {
    program: &'a Program,
    told: Mutex<Told>,
}

struct Worker<'a> {
    recorder: &'a Recorder<'a>,
    told: Told,
}

impl Observer for Recorder<'_> {
    fn interest(&self) -> Interest {
        Interest::all()
    }
    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(Worker { recorder: self, told: Told::default() })
    }
}

impl Watch for Worker<'_> {
    fn access(&mut self, e: &AccessEvent<'_>) {
        assert_ne!(e.mask, 0);
        let key = (e.named, e.space, e.access == Access::Read, e.bytes);
        *self.told.accesses.entry(key).or_default() += 1;
    }
    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        for pc in at.pc..end {
            if let Some(view) = self.recorder.program.instruction(pc)
                && !matches!(view.code, Code::Nothing)
            {
                self.told.warp_instructions += 1;
                self.told.thread_instructions += u64::from(mask.count_ones());
                *self.told.executed.entry(pc).or_default() += 1;
            }
        }
    }
    fn branch(&mut self, _: EventPlace, active: u32, taken: u32) {
        self.told.branches.push((active, taken));
    }
    fn barrier(&mut self, e: &BarrierEvent) {
        assert_eq!((e.id, e.count), (Some(0), None));
        self.told.arrivals += u64::from(e.mask.count_ones());
    }
    fn barrier_opens(&mut self, _: [u32; 3], _: u32) {
        self.told.opened += 1;
    }
    fn fence(&mut self, _: EventPlace, _: u32) {
        self.told.fences += 1;
    }
    fn block_begins(&mut self, block: &BlockEvent) {
        assert_eq!((block.warps, block.shared_bytes), (2, 512));
        self.told.blocks.0 += 1;
    }
    fn block_ends(&mut self, _: &BlockEvent) {
        self.told.blocks.1 += 1;
    }
    fn finish(&mut self) {
        self.told.finished += 1;
        let mut all = self.recorder.told.lock();
        for (key, n) in &self.told.accesses {
            *all.accesses.entry(*key).or_default() += n;
        }
        for (pc, n) in &self.told.executed {
            *all.executed.entry(*pc).or_default() += n;
        }
        all.warp_instructions += self.told.warp_instructions;
        all.thread_instructions += self.told.thread_instructions;
        all.branches.extend(&self.told.branches);
        all.arrivals += self.told.arrivals;
        all.opened += self.told.opened;
        all.fences += self.told.fences;
        all.blocks.0 += self.told.blocks.0;
        all.blocks.1 += self.told.blocks.1;
        all.finished += 1;
    }
}

/// Reads `[a0]` in order, sums a value of another lane by a generic pointer to shared memory into
/// `[a1]`, in odd lanes twice, and counts in `[a2]`.
const BODY: &str = "
    mul.wide.u32 %d1, %t, 4;
    add.u64 %d2, %a0, %d1;
    ld.global.u32 %r1, [%d2];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d3, %r2, 4;
    mov.u64 %d4, tile;
    add.u64 %d5, %d4, %d3;
    st.shared.u32 [%d5], %r1;
    bar.sync 0;
    xor.b32 %r3, %r2, 33;
    mul.wide.u32 %d6, %r3, 8;
    cvta.shared.u64 %d7, %d4;
    add.u64 %d7, %d7, %d6;
    ld.u32 %r4, [%d7];
    and.b32 %r5, %r2, 1;
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra EVEN;
    add.u32 %r4, %r4, %r4;
EVEN:
    add.u64 %d8, %a1, %d1;
    st.global.u32 [%d8], %r4;
    fence.acq_rel.gpu;
    red.global.add.u32 [%a2], %r4;
    cp.async.ca.shared.global [tile], [%a0], 4;";

#[test]
fn all_events_are_told_and_nothing_changes() {
    let tile = ".shared .align 4 .b8 tile[512];";
    let input: Vec<u32> = (0..192).map(|n| n * 7 + 1).collect();
    let go = |watched: bool| {
        let device = Device::new();
        let m = device.load(&module(tile, BODY));
        let program = Program::link(&m, m.ir.function("k").unwrap()).unwrap();
        let (a, b, c) =
            (device.buffer(&input), device.buffer(&[0u32; 192]), device.buffer(&[0u32]));
        let recorder = Recorder { program: &program, told: Mutex::default() };
        let params = [a, b, c].iter().flat_map(|p| p.to_le_bytes()).collect();
        let observer = watched.then_some(&recorder as &dyn Observer);
        let run = Run { seed: Some(1), ..Run::new(3, 64) };
        let stats = run.go_observed(&device, &program, params, observer).unwrap();
        let results = (device.read::<u32>(b, 192), device.read::<u32>(c, 1), stats);
        let told = recorder.told.lock().clone();
        (results, told)
    };
    let (plain, nothing) = go(false);
    let (watched, told) = go(true);
    assert_eq!(plain, watched);
    assert_eq!(nothing.finished, 0);
    let stats = watched.2;
    assert_eq!(
        (told.warp_instructions, told.thread_instructions),
        (stats.warp_instructions, stats.thread_instructions)
    );
    let count = |named, space, reads, bytes| told.accesses[&(named, space, reads, bytes)];
    assert_eq!(count(Space::Global, Space::Global, true, 4), stats.global_loads);
    assert_eq!(count(Space::Generic, Space::Shared, true, 4), stats.generic_loads);
    // Stores and the reduction; stores to the tile and the copies to it.
    assert_eq!(count(Space::Global, Space::Global, false, 4), 6 + 6);
    assert_eq!(count(Space::Shared, Space::Shared, false, 4), 6 + 6);
    assert_eq!(count(Space::Param, Space::Param, true, 8), stats.param_loads);
    assert_eq!(told.branches, [(!0, 0x5555_5555); 6]);
    assert_eq!((told.arrivals, told.opened, told.fences), (192, 3, 6));
    assert_eq!((told.blocks, told.finished), ((3, 3), 1));
    // The one instruction of odd lanes ran once a warp, with half of the lanes.
    let odd = (0..64).filter(|pc| told.executed.get(pc) == Some(&6)).count();
    assert!(odd > 20, "{odd}");
}
