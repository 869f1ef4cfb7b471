// SPDX-License-Identifier: MIT OR Apache-2.0
//! Progress, order and ends of grids: locks, barriers, deadlocks, timeouts, determinism.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::{Device, Run, kernel, module};
use margay_exec::fault::FaultKind;
use margay_exec::launch::{LaunchConfig, LaunchFailure, Machine, Others, launch};
use margay_exec::mem::{AllocKind, Reach};
use margay_exec::program::Program;

/// Every thread takes a spin lock at `[a0]`, adds 1 to `[a1]` with plain accesses, gives it back.
const LOCKED_COUNT: &str = "
LOCK:
    atom.global.acquire.gpu.cas.b32 %r1, [%a0], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra LOCK;
    ld.global.u32 %r2, [%a1];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%a1], %r2;
    fence.acq_rel.gpu;
    atom.global.release.gpu.exch.b32 %r3, [%a0], 0;";

#[test]
fn lanes_warps_and_blocks_that_spin_on_a_lock_all_progress() {
    for (grid, block, threads) in [(1, 32, 1), (1, 256, 1), (6, 64, 2), (6, 64, 1)] {
        let device = Device::new();
        let m = device.load(&kernel(LOCKED_COUNT));
        let (lock, count) = (device.buffer(&[0u32]), device.buffer(&[0u32]));
        let run = Run { threads, ..Run::new(grid, block) };
        run.go(&device, &m, "k", &[lock, count, 0]).unwrap();
        assert_eq!(device.read::<u32>(count, 1), [grid * block], "{grid} blocks of {block}");
    }
}

/// A barrier over the whole grid: the last of `[a1]` blocks to arrive lets all go.
const GRID_BARRIER: &str = "
    cvt.u32.u64 %r9, %a1;
    atom.global.add.u32 %r1, [%a0], 1;
WAIT:
    ld.volatile.global.u32 %r2, [%a0];
    setp.lt.u32 %p1, %r2, %r9;
    @%p1 bra WAIT;
    mul.wide.u32 %d1, %c, 4;
    add.u64 %d1, %a2, %d1;
    st.global.u32 [%d1], %r2;";

#[test]
fn resident_blocks_wait_for_one_another() {
    for threads in [1, 2] {
        let device = Device::new();
        let m = device.load(&kernel(GRID_BARRIER));
        let (count, out) = (device.buffer(&[0u32]), device.buffer(&[0u32; 8]));
        let run = Run { threads, ..Run::new(8, 1) };
        run.go(&device, &m, "k", &[count, 8, out]).unwrap();
        assert_eq!(device.read::<u32>(out, 8), [8; 8]);
    }
}

#[test]
fn a_grid_barrier_of_too_many_blocks_is_a_deadlock() {
    let mut device = Device::new();
    device.others = Others::NOBODY;
    let m = device.load(&kernel(GRID_BARRIER));
    let (count, out) = (device.buffer(&[0u32]), device.buffer(&[0u32; 9]));
    let fault = Run::new(9, 1).faults(&device, &m, "k", &[count, 9, out]);
    match &fault.kind {
        FaultKind::Deadlock { who, .. } => assert!(who.contains("all 8 resident blocks"), "{who}"),
        other => panic!("{other:?}"),
    }
    assert!(fault.place.ptx_line != 0, "it says where a block spins: {fault}");
}

/// The same barrier, waiting by plain loads: between block barriers, and with a walk of some steps round each.
const PLAIN_WAITS: [&str; 2] = [
    "
    ld.global.u32 %r2, [%a0];
    bar.sync 0;
    setp.lt.u32 %p1, %r2, %r9;
    @%p1 bra WAIT;",
    "
    mov.u32 %r3, 0;
STEP:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 3;
    @%p2 bra STEP;
    ld.global.u32 %r2, [%a0];
    setp.lt.u32 %p1, %r2, %r9;
    @%p1 bra WAIT;",
];

#[test]
fn a_grid_barrier_of_plain_loads_is_a_deadlock_too() {
    for wait in PLAIN_WAITS {
        let body = format!(
            "cvt.u32.u64 %r9, %a1;
             mov.u32 %r4, %tid.x;
             setp.eq.u32 %p1, %r4, 0;
             @%p1 atom.global.add.u32 %r1, [%a0], 1;
             WAIT: {wait}"
        );
        let mut device = Device::new();
        device.others = Others::NOBODY;
        let m = device.load(&kernel(&body));
        let count = device.buffer(&[0u32]);
        Run::new(8, 32).go(&device, &m, "k", &[count, 8, 0]).unwrap();
        let count = device.buffer(&[0u32]);
        let fault = Run::new(9, 32).faults(&device, &m, "k", &[count, 9, 0]);
        assert!(matches!(&fault.kind, FaultKind::Deadlock { .. }), "{fault}");
    }
}

/// A block waits for a word of its shared memory: by volatile loads, with what else `wait` does in each round.
fn shared_wait(wait: &str) -> String {
    let body = format!(
        "st.shared.u32 [flag], 0;
         bar.sync 0;
         mov.u64 %d5, %globaltimer;
         WAIT:
         {wait}
         ld.volatile.shared.u32 %r2, [flag];
         setp.eq.u32 %p1, %r2, 0;
         @%p1 bra WAIT;
         DONE:
         atom.global.add.u32 %r1, [%a0], 1;"
    );
    kernel(&body).replacen(".reg", ".shared .align 4 .b32 flag;\n.reg", 1)
}

#[test]
fn a_wait_for_shared_memory_that_nobody_writes_is_a_deadlock() {
    let device = Device::new();
    let m = device.load(&shared_wait("nanosleep.u32 20;"));
    let count = device.buffer(&[0u32]);
    // No block waits to begin.
    let fault = Run::new(2, 64).faults(&device, &m, "k", &[count, 0, 0]);
    match &fault.kind {
        FaultKind::Deadlock { who, .. } => {
            assert!(who.contains("warp 1 lanes 0xffffffff spins"), "{who}")
        }
        other => panic!("{other:?}"),
    }
    assert!(fault.place.ptx_line != 0, "{fault}");
}

#[test]
fn a_wait_for_shared_memory_that_ends_by_itself_is_no_deadlock() {
    // By the clock, or by what another stream could write.
    let timed = "mov.u64 %d6, %globaltimer;
         sub.u64 %d6, %d6, %d5;
         setp.gt.u64 %p2, %d6, 4000000000;
         @%p2 bra DONE;";
    let other = "ld.relaxed.gpu.global.u32 %r3, [%a1];
         setp.ne.u32 %p2, %r3, 0;
         @%p2 bra DONE;";
    std::thread::scope(|s| {
        for wait in [timed, other] {
            s.spawn(move || {
                let device = Device::new();
                let m = device.load(&shared_wait(wait));
                let (count, flag) = (device.buffer(&[0u32]), device.buffer(&[0u32]));
                std::thread::scope(|s| {
                    s.spawn(|| {
                        std::thread::sleep(Duration::from_millis(4000));
                        // SAFETY: allocated above; the kernel reads it atomically.
                        unsafe { (*(flag as *const AtomicU32)).store(1, Ordering::Release) };
                    });
                    Run::new(2, 64).go(&device, &m, "k", &[count, flag, 0]).unwrap();
                });
                assert_eq!(device.read::<u32>(count, 1), [128]);
            });
        }
    });
}

#[test]
fn computing_long_without_memory_is_no_deadlock() {
    // Many slices in registers, by more blocks than are resident.
    let body = "
    mov.u32 %r1, 0;
    mov.u32 %r2, 1;
LOOP:
    mad.lo.u32 %r2, %r2, 1664525, 1013904223;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 400000;
    @%p1 bra LOOP;
    atom.global.add.u32 %r3, [%a0], 1;";
    let device = Device::new();
    let m = device.load(&kernel(body));
    let count = device.buffer(&[0u32]);
    Run::new(12, 1).go(&device, &m, "k", &[count, 0, 0]).unwrap();
    assert_eq!(device.read::<u32>(count, 1), [12]);
}

#[test]
fn a_wait_for_the_host_is_no_deadlock() {
    // More blocks than are resident wait for a flag in memory that the host writes after a while.
    let body = "
WAIT:
    ld.volatile.global.u32 %r2, [%a0];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra WAIT;
    atom.global.add.u32 %r1, [%a1], 1;";
    let device = Device::new();
    let m = device.load(&kernel(body));
    let flag = device.memory.alloc(4, 4, AllocKind::HostPinned, 0, "flag").unwrap();
    let count = device.buffer(&[0u32]);
    std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(4500));
            // SAFETY: allocated above; the kernel reads it atomically.
            unsafe { (*(flag as *const AtomicU32)).store(1, Ordering::Release) };
        });
        Run::new(20, 1).go(&device, &m, "k", &[flag, count, 0]).unwrap();
    });
    assert_eq!(device.read::<u32>(count, 1), [20]);
}

#[test]
fn a_grid_that_clusters_do_not_divide_is_refused() {
    let device = Device::new();
    let m = device.load(&kernel("atom.global.add.u32 %r1, [%a0], 1;"));
    let count = device.buffer(&[0u32]);
    let run = Run { cluster: [2, 1, 1], ..Run::new(5, 1) };
    let end = run.go(&device, &m, "k", &[count, 0, 0]);
    assert!(matches!(end, Err(LaunchFailure::Refused(_))), "{end:?}");
    assert_eq!(device.read::<u32>(count, 1), [0]);
}

/// Block 1 ends before the grid's barrier. Nobody else can write there, so the others wait for ever; elsewhere somebody might.
#[test]
fn a_grid_barrier_that_a_block_never_reaches_is_a_deadlock() {
    let body = "
    setp.eq.u32 %p1, %c, 1;
    @%p1 bra OUT;
    atom.global.release.gpu.add.u32 %r1, [%a0], 1;
WAIT:
    ld.acquire.gpu.global.u32 %r2, [%a0];
    setp.lt.u32 %p1, %r2, 4;
    @%p1 bra WAIT;
OUT:";
    for (of_the_grid, threads) in [(true, 1), (true, 2), (false, 2)] {
        let device = Device::new();
        let m = device.load(&kernel(body));
        let memory = device.buffer(&[0u32; 16]);
        let workspace = if of_the_grid { memory } else { 0 };
        let run = Run { workspace, threads, timeout: Duration::from_secs(8), ..Run::new(4, 1) };
        let fault = run.faults(&device, &m, "k", &[memory, 0, 0]);
        let who = match (&fault.kind, of_the_grid) {
            (FaultKind::Deadlock { who, .. }, true) | (FaultKind::Timeout { who, .. }, false) => {
                who
            }
            (other, _) => panic!("{other:?}"),
        };
        for block in [0, 2, 3] {
            assert!(who.contains(&format!("block ({block},0,0) warp 0")), "{who}");
        }
        assert!(!who.contains("block (1,0,0)"), "{who}");
    }
}

/// A wait for memory that nobody is left to write has no end; where somebody may be, it goes on.
#[test]
fn a_wait_for_global_memory_is_a_deadlock_where_nobody_is_left() {
    // How often it looks decides nothing, but would keep its registers from ever being the same.
    let body = "
WAIT:
    add.u32 %r1, %r1, 1;
    ld.volatile.global.u32 %r2, [%a0];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra WAIT;
    st.global.u32 [%a1], %r1;";
    let nobody = Others::NOBODY;
    let cases = [
        (AllocKind::Device, nobody, true),
        (AllocKind::Device, Others { host: true, ..nobody }, false),
        (AllocKind::Device, Others { busy: true, ..nobody }, false),
        (AllocKind::Device, Others { processes: true, ..nobody }, false),
        (AllocKind::Managed, nobody, true),
        (AllocKind::Managed, Others { signals: true, ..nobody }, false),
        (AllocKind::Device, Others { signals: true, ..nobody }, true),
        (AllocKind::HostPinned, Others { host: true, ..nobody }, false),
        (AllocKind::Buffer, Others { host: true, ..nobody }, false),
        (AllocKind::Buffer, nobody, true),
    ];
    std::thread::scope(|s| {
        for (kind, others, ends) in cases {
            s.spawn(move || {
                let mut device = Device::new();
                device.others = others;
                let m = device.load(&kernel(body));
                let flag = device.memory.alloc(4, 4, kind, 0, "flag").unwrap();
                let out = device.buffer(&[0u32]);
                let run = Run { timeout: Duration::from_secs(8), ..Run::new(3, 64) };
                let fault = run.faults(&device, &m, "k", &[flag, out, 0]);
                match (&fault.kind, ends) {
                    (FaultKind::Deadlock { who, spins: true }, true) => {
                        assert!(who.contains("global memory (flag, 4 bytes"), "{who}");
                        assert!(
                            who.contains("block (0,0,0) warp 1 lanes 0xffffffff spins"),
                            "{who}"
                        );
                    }
                    (FaultKind::Timeout { .. }, false) => {}
                    (other, _) => panic!("{kind:?} {others:?}: {other:?}"),
                }
            });
        }
    });
}

#[test]
fn a_loop_that_nothing_can_end_is_told() {
    let device = Device::new();
    let m = device.load(&kernel("LOOP: add.u32 %r1, %r1, 1;\nbra LOOP;"));
    let run = Run { timeout: Duration::from_secs(30), ..Run::new(3, 64) };
    let fault = run.faults(&device, &m, "k", &[0, 0, 0]);
    let FaultKind::Deadlock { who, .. } = &fault.kind else { panic!("{fault:?}") };
    assert!(who.starts_with("nothing can change any more"), "{who}");
}

#[test]
fn an_endless_kernel_times_out() {
    let device = Device::new();
    let m = device.load(&kernel("LOOP: add.u32 %r1, %r1, 1;\nbra LOOP;"));
    let run = Run { timeout: Duration::from_millis(200), ..Run::new(3, 64) };
    let start = Instant::now();
    let fault = run.faults(&device, &m, "k", &[0, 0, 0]);
    let FaultKind::Timeout { who, .. } = &fault.kind else { panic!("{fault:?}") };
    assert!(who.contains("spins (PTX line"), "{who}");
    assert!(fault.place.ptx_line != 0, "it says where the kernel was: {fault}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_launch_can_be_cancelled() {
    let device = Device::new();
    let m = device.load(&kernel("LOOP: add.u32 %r1, %r1, 1;\nbra LOOP;"));
    let program = Program::link(&m, m.ir.function("k").unwrap()).unwrap();
    let machine = Machine {
        sm: 90,
        sm_count: 1,
        blocks_per_sm: 1,
        clock_khz: 1,
        reserved_shared: 0,
        reach: Reach::EVERYTHING,
    };
    let config = LaunchConfig {
        grid: [4, 1, 1],
        block: [32, 1, 1],
        cluster: [1; 3],
        dynamic_shared: 0,
        params: vec![0; 24],
        shared_arguments: Vec::new(),
        cooperative: false,
        stack_limit: 0,
        timeout: None,
        threads: 2,
        seed: None,
        grid_id: 0,
        grid_workspace: 0,
        graph_exec: 0,
        envreg: [0; 32],
        engine: None,
    };
    let cancel = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            cancel.store(true, Ordering::Relaxed);
        });
        let end = launch(&program, &machine, &config, &device.memory, &device, &cancel);
        let Err(LaunchFailure::Cancelled { kernel, spot }) = end else { panic!("{end:?}") };
        assert_eq!(kernel, "k");
        assert!(spot.is_some_and(|spot| spot.place.ptx_line != 0));
    });
}

#[test]
fn from_7_0_threads_of_a_diverged_warp_meet_at_a_barrier() {
    let body = "
    and.b32 %r1, %lane, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra EVEN;
    st.shared.u32 [buf+4], 7;
    bar.sync 0;
    ld.shared.u32 %r2, [buf];
    bra DONE;
EVEN:
    st.shared.u32 [buf], 5;
    bar.sync 0;
    ld.shared.u32 %r2, [buf+4];
DONE:
    mul.wide.u32 %d1, %t, 4;
    add.u64 %d1, %a0, %d1;
    st.global.u32 [%d1], %r2;";
    let device = Device::new();
    let m = device.load(&module(".shared .align 4 .b8 buf[8];", body));
    let out = device.buffer(&[0u32; 64]);
    Run::new(1, 64).go(&device, &m, "k", &[out, 0, 0]).unwrap();
    let expected: Vec<u32> = (0..64).map(|t| if t % 2 == 0 { 7 } else { 5 }).collect();
    assert_eq!(device.read::<u32>(out, 64), expected);
}

#[test]
fn exited_threads_do_not_hold_a_barrier() {
    let body = "
    setp.gt.u32 %p1, %t, 39;
    @%p1 exit;
    bar.sync 0;
    atom.global.add.u32 %r1, [%a0], 1;";
    for sm in [60, 90] {
        let device = Device::new();
        let m = device.load(&kernel(body));
        let out = device.buffer(&[0u32]);
        Run { sm, ..Run::new(1, 128) }.go(&device, &m, "k", &[out, 0, 0]).unwrap();
        assert_eq!(device.read::<u32>(out, 1), [40]);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_or_the_seed() {
    let body = "
    mov.u32 %r1, %t;
    mov.u32 %r2, 0;
LOOP:
    mul.lo.u32 %r1, %r1, 1664525;
    add.u32 %r1, %r1, 1013904223;
    and.b32 %r3, %r1, 31;
    setp.gt.u32 %p1, %r3, %lane;
    @%p1 add.u32 %r2, %r2, %r1;
    add.u32 %r4, %r4, 1;
    shr.u32 %r5, %t, 3;
    setp.lt.u32 %p1, %r4, %r5;
    @%p1 bra LOOP;
    mul.wide.u32 %d1, %t, 4;
    add.u64 %d1, %a0, %d1;
    st.global.u32 [%d1], %r2;
    atom.global.add.u32 %r6, [%a1], %r2;";
    let mut first: Option<(Vec<u32>, Vec<u32>)> = None;
    for (threads, seed) in [(1, None), (2, None), (4, None), (1, Some(1)), (1, Some(99))] {
        let device = Device::new();
        let m = device.load(&kernel(body));
        let (out, sum) = (device.buffer(&vec![0u32; 64 * 96]), device.buffer(&[0u32]));
        let run = Run { threads, seed, ..Run::new(64, 96) };
        run.go(&device, &m, "k", &[out, sum, 0]).unwrap();
        let got = (device.read::<u32>(out, 64 * 96), device.read::<u32>(sum, 1));
        assert_eq!(*first.get_or_insert_with(|| got.clone()), got);
    }
}

#[test]
fn below_7_0_volatile_warp_synchronous_code_is_right() {
    let body = "
    mov.u64 %d1, buf;
    mul.wide.u32 %d2, %lane, 4;
    add.u64 %d1, %d1, %d2;
    add.u32 %r1, %lane, 1;
    st.volatile.shared.u32 [%d1], %r1;
    mov.u32 %r5, 16;
STEP:
    setp.lt.u32 %p1, %lane, %r5;
    @!%p1 bra SKIP;
    mul.wide.u32 %d3, %r5, 4;
    add.u64 %d3, %d1, %d3;
    ld.volatile.shared.u32 %r2, [%d3];
    ld.volatile.shared.u32 %r3, [%d1];
    add.u32 %r3, %r3, %r2;
    st.volatile.shared.u32 [%d1], %r3;
SKIP:
    shr.u32 %r5, %r5, 1;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 bra STEP;
    ld.volatile.shared.u32 %r2, [buf];
    st.global.u32 [%a0], %r2;";
    let device = Device::new();
    let m = device.load(&module(".shared .align 4 .b8 buf[128];", body));
    let out = device.buffer(&[0u32]);
    Run { sm: 60, ..Run::new(1, 32) }.go(&device, &m, "k", &[out, 0, 0]).unwrap();
    assert_eq!(device.read::<u32>(out, 1), [32 * 33 / 2]);
}

#[test]
fn a_block_that_waits_in_a_barrier_for_ever_is_named() {
    let body = "
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra ONE;
    bar.sync 2, 64;
    bra DONE;
ONE:
    bar.sync 1, 64;
DONE:";
    let device = Device::new();
    let m = device.load(&kernel(body));
    let fault = Run::new(1, 64).faults(&device, &m, "k", &[0, 0, 0]);
    match fault.kind {
        FaultKind::Deadlock { who, .. } => {
            assert!(who.contains("barrier 1") && who.contains("barrier 2"), "{who}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn memory_that_was_freed_is_out_of_reach() {
    let body = "ld.global.u32 %r1, [%a0];";
    let device = Device::new();
    let m = device.load(&kernel(body));
    let buffer = device.buffer(&[1u32; 16]);
    Run::new(1, 1).go(&device, &m, "k", &[buffer, 0, 0]).unwrap();
    device.memory.free(buffer).unwrap();
    let fault = Run::new(1, 1).faults(&device, &m, "k", &[buffer, 0, 0]);
    assert!(matches!(fault.kind, FaultKind::IllegalAddress { .. }), "{fault:?}");
}

#[test]
fn patterned_accesses_are_checked_to_the_byte() {
    // Lanes read consecutive words; the last is beyond the end in the second case.
    let body = "
    mul.wide.u32 %d1, %t, 4;
    add.u64 %d1, %a0, %d1;
    ld.global.u32 %r1, [%d1];
    add.u64 %d2, %a1, 0;
    st.global.u32 [%d2], %r1;";
    let device = Device::new();
    let m = device.load(&kernel(body));
    let values: Vec<u32> = (0..64).collect();
    let (whole, short, out) =
        (device.buffer(&values), device.buffer(&values[..63]), device.buffer(&[0u32]));
    Run::new(2, 32).go(&device, &m, "k", &[whole, out, 0]).unwrap();
    let fault = Run { threads: 1, ..Run::new(2, 32) }.faults(&device, &m, "k", &[short, out, 0]);
    match fault.kind {
        FaultKind::IllegalAddress { address, nearest, .. } => {
            assert_eq!(address, short + 63 * 4);
            assert_eq!(nearest.unwrap().base, short);
            assert_eq!((fault.block, fault.thread), ([1, 0, 0], [31, 0, 0]));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn loads_are_counted_by_their_path() {
    let body = "
    ld.global.u32 %r1, [%a0];
    ld.global.nc.u32 %r2, [%a0];
    ld.global.nc.v2.u32 {%r3, %r4}, [%a0];
    st.global.u32 [%a0], %r1;";
    let device = Device::new();
    let m = device.load(&kernel(body));
    let buffer = device.buffer(&[1u32; 4]);
    let stats = Run::new(2, 64).go(&device, &m, "k", &[buffer, 0, 0]).unwrap();
    let counts = (stats.global_loads, stats.read_only_loads, stats.global_stores, stats.blocks);
    assert_eq!(counts, (4, 8, 4, 2));
}
