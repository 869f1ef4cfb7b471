// SPDX-License-Identifier: MIT OR Apache-2.0
//! The manual's own examples for 1.x, 2.x and 3.x. Sections are those of the CUDA C Programming Guide 4.2,
//! appendix F, unless a test says otherwise.

use margay_arch::{
    BankMode, CacheOperator, ComputeCapability, Counts, Kind, MemoryModel, Space, WarpAccess,
};

fn model(major: u32, minor: u32) -> MemoryModel {
    MemoryModel::new(ComputeCapability::new(major, minor).limits().unwrap())
}

fn count(
    model: MemoryModel,
    space: Space,
    kind: Kind,
    width: u32,
    mask: u32,
    address: impl Fn(u64) -> u64,
) -> Counts {
    let addresses = std::array::from_fn(|lane| address(lane as u64));
    let cache = CacheOperator::Default;
    model.count(&WarpAccess { space, kind, width, mask, addresses: &addresses, cache })
}

/// `shared[BaseIndex + index(tid)]` for an array of elements of `width` bytes.
fn shared(model: MemoryModel, width: u32, index: impl Fn(u64) -> u64) -> Counts {
    count(model, Space::Shared, Kind::Load, width, u32::MAX, |tid| index(tid) * u64::from(width))
}

fn global(model: MemoryModel, width: u32, mask: u32, address: impl Fn(u64) -> u64) -> Counts {
    count(model, Space::Global, Kind::Load, width, mask, address)
}

/// F.3.3.1, 32-Bit Strided Access: free of conflicts exactly when the stride is odd.
#[test]
fn strides_on_16_banks() {
    for stride in 1..=64u64 {
        let counts = shared(model(1, 0), 4, |tid| stride * tid);
        // d = gcd(16, s) words of a bank for each half-warp.
        let ways = 1 << stride.trailing_zeros().min(4);
        assert_eq!(counts.wavefronts, 2 * ways, "stride {stride}");
        assert_eq!(counts.wavefronts_least, counts.wavefronts_most);
        assert_eq!(counts.bank_conflicts() == 0, stride % 2 == 1, "stride {stride}");
    }
}

/// F.3.3.2, 32-Bit Broadcast Access: all threads of a half-warp at one word are free of conflicts. What
/// more than one shared word costs depends on choices that the manual leaves open.
#[test]
fn broadcasts_on_1_x() {
    let all = shared(model(1, 0), 4, |_| 7);
    assert_eq!((all.wavefronts, all.bank_conflicts()), (2, 0));
    // Two words in the same bank, eight lanes each: one is broadcast after the other.
    let two = shared(model(1, 0), 4, |tid| tid % 2 * 16);
    assert_eq!((two.wavefronts_least, two.wavefronts_most), (4, 4));
    // A pair of lanes and a single one in one bank, the rest elsewhere: it depends.
    let open = shared(model(1, 0), 4, |tid| match tid % 16 {
        0 | 1 => 0,
        lane => lane,
    });
    assert_eq!((open.wavefronts_least, open.wavefronts_most), (2, 4));
}

/// F.3.3 and F.4.3: of threads that write one location, one does; there is no conflict.
#[test]
fn stores_to_one_location() {
    for model in [model(1, 1), model(2, 0), model(3, 0)] {
        let counts = count(model, Space::Shared, Kind::Store, 4, u32::MAX, |_| 64);
        assert_eq!(counts.bank_conflicts(), 0, "{}", model.cc);
    }
}

/// F.3.3.3, 8-Bit and 16-Bit Access: an array of char conflicts at stride 1 and not at stride 4.
#[test]
fn chars_on_1_x() {
    let close = shared(model(1, 3), 1, |tid| tid);
    assert_eq!((close.wavefronts, close.wavefronts_least, close.wavefronts_most), (8, 8, 8));
    assert_eq!(shared(model(1, 3), 1, |tid| 4 * tid).bank_conflicts(), 0);
    assert!(shared(model(1, 3), 2, |tid| tid).bank_conflicts() > 0);
}

/// F.3.3.4, Larger Than 32-Bit Access: doubles are two 32-bit requests with a stride of two, 2-way each;
/// high and low words in two arrays have no conflict.
#[test]
fn doubles_on_1_x() {
    let doubles = shared(model(1, 3), 8, |tid| tid);
    assert_eq!((doubles.requests, doubles.wavefronts), (4, 8));
    let words = shared(model(1, 3), 4, |tid| tid);
    assert_eq!(2 * words.wavefronts, 4);
}

/// F.3.3.4: the members of `struct { float x, y, z; }` are read without conflicts, of `{ float x, y; }`
/// with them.
#[test]
fn structures_on_1_x() {
    assert_eq!(shared(model(1, 0), 4, |tid| 3 * tid).bank_conflicts(), 0);
    assert!(shared(model(1, 0), 4, |tid| 2 * tid).bank_conflicts() > 0);
}

/// F.4.3.1, 32-Bit Strided Access on 2.x.
#[test]
fn strides_on_32_banks() {
    for stride in 1..=64u64 {
        let ways = 1 << stride.trailing_zeros().min(5);
        assert_eq!(shared(model(2, 0), 4, |tid| stride * tid).wavefronts, ways, "stride {stride}");
        assert_eq!(shared(model(5, 0), 4, |tid| stride * tid).wavefronts, ways, "stride {stride}");
    }
}

/// F.4.3: several words are broadcast at once; an array of char has no conflicts; threads of the two
/// half-warps may conflict.
#[test]
fn multicast_on_2_x() {
    assert_eq!(shared(model(2, 0), 1, |tid| tid).wavefronts, 1);
    assert_eq!(shared(model(2, 0), 4, |tid| tid / 2).wavefronts, 1);
    assert_eq!(shared(model(2, 0), 4, |tid| tid % 16 + tid / 16 * 32).wavefronts, 2);
    assert_eq!(shared(model(1, 0), 4, |tid| tid % 16 + tid / 16 * 32).bank_conflicts(), 0);
}

/// F.4.3.2, Larger Than 32-Bit Access: an array of doubles has no conflicts; most 128-bit accesses are
/// 2-way.
#[test]
fn wide_accesses_on_2_x() {
    assert_eq!(shared(model(2, 0), 8, |tid| tid).bank_conflicts(), 0);
    let quads = shared(model(2, 0), 16, |tid| tid);
    assert_eq!((quads.requests, quads.wavefronts), (2, 4));
    // Two different addresses of a bank in a quarter-warp: 2 + 1.
    assert_eq!(shared(model(2, 0), 16, |tid| 8 * (tid % 2) + tid / 8 * 16).wavefronts, 6);
}

/// Figure F-2 (edition 5.0's caption adds "in 32-bit mode"): strides of one, two and three words are free
/// of conflicts on 3.0. On 2.x the stride of two is 2-way.
#[test]
fn strides_on_3_0() {
    for stride in 1..=3 {
        assert_eq!(shared(model(3, 0), 4, |tid| stride * tid).wavefronts, 1, "{stride}");
    }
    assert_eq!(shared(model(2, 0), 4, |tid| 2 * tid).wavefronts, 2);
}

/// F.5.3.1 and F.5.3.2: words in one 64-bit word never conflict in 64-bit mode; words i and i + 32 of
/// an aligned segment of 64 never do in 32-bit mode, elsewhere they do.
#[test]
fn bank_modes_of_3_x() {
    let wide = model(3, 5).with_bank_mode(BankMode::EightByte);
    assert_eq!(shared(wide, 4, |tid| tid % 2 + tid / 2 * 2).wavefronts, 1);
    assert_eq!(shared(wide, 8, |tid| tid).wavefronts, 1);
    assert_eq!(shared(wide, 8, |tid| 32 * tid).wavefronts, 32);
    let narrow = model(3, 5);
    assert_eq!(shared(narrow, 4, |tid| tid % 2 * 32).wavefronts, 1);
    assert_eq!(shared(narrow, 4, |tid| tid % 2 * 32 + 32).wavefronts, 2, "across two segments");
    assert_eq!(shared(narrow, 8, |tid| tid).wavefronts, 1);
    // The setting is 3.x's only.
    assert_eq!(model(5, 0).with_bank_mode(BankMode::EightByte).bank_mode, BankMode::FourByte);
}

/// Figure F-3: a random permutation; five lanes at one word of a bank; all lanes at few words.
#[test]
fn irregular_accesses_of_figure_3() {
    let permutation = |tid: u64| (tid * 13 + 5) % 32;
    assert_eq!(shared(model(3, 0), 4, permutation).wavefronts, 1);
    assert_eq!(shared(model(1, 0), 4, |tid| (tid * 5) % 16 + tid / 16 * 16).bank_conflicts(), 0);
    let some_share = |tid: u64| if matches!(tid, 3 | 4 | 6 | 7 | 9) { 5 } else { tid };
    assert_eq!(shared(model(2, 0), 4, some_share).wavefronts, 1);
    // "the pattern at the right" is 2-way on 1.x: two words of a half-warp are read by several lanes each.
    let few_words = |tid: u64| if tid % 16 < 8 { 3 } else { 12 };
    assert_eq!(shared(model(2, 0), 4, few_words).wavefronts, 1);
}

/// Best Practices Guide, 10.2.3 (matrix product): a column of `tile[32][32]` is 32-way, of
/// `tile[32][33]` free.
#[test]
fn padding() {
    assert_eq!(shared(model(2, 0), 4, |tid| 32 * tid).wavefronts, 32);
    assert_eq!(shared(model(2, 0), 4, |tid| 33 * tid).wavefronts, 1);
    assert_eq!(shared(model(1, 3), 4, |tid| 16 * tid).wavefronts, 32);
    assert_eq!(shared(model(1, 3), 4, |tid| 17 * tid).bank_conflicts(), 0);
}

/// F.3.2.1, 1.0 and 1.1: in sequence, aligned, inactive threads allowed; else 16 transactions of 32 bytes.
#[test]
fn coalescing_on_1_0() {
    let m = model(1, 0);
    for (width, transactions, bytes) in [(4, 2, 128), (8, 2, 256), (16, 4, 512)] {
        let counts = global(m, width, u32::MAX, |tid| 1024 + tid * u64::from(width));
        assert_eq!((counts.transactions, counts.bytes_moved), (transactions, bytes), "{width}");
    }
    assert_eq!(global(m, 4, 0x0000_7ffe, |tid| tid * 4).transactions, 1, "divergent, coalesced");
    assert_eq!(global(m, 4, u32::MAX, |tid| 4 + tid * 4).transactions, 32, "misaligned");
    assert_eq!(global(m, 4, u32::MAX, |tid| (tid ^ 1) * 4).transactions, 32, "out of sequence");
    assert_eq!(global(m, 4, u32::MAX, |tid| tid * 8).transactions, 32, "strided");
    assert_eq!(global(m, 1, u32::MAX, |tid| tid).transactions, 32, "words of a byte");
    // F.3.2.1's third condition: 12-byte structures do not coalesce.
    assert_eq!(global(m, 4, u32::MAX, |tid| tid * 12).bytes_moved, 1024);
}

/// F.3.2.2, 1.2 and 1.3: the protocol's steps.
#[test]
fn coalescing_on_1_2() {
    let m = model(1, 3);
    let whole = global(m, 4, u32::MAX, |tid| tid * 4);
    assert_eq!(
        (whole.transactions, whole.bytes_moved),
        (2, 128),
        "128 shrinks to 64 for a half-warp"
    );
    assert_eq!(global(m, 4, u32::MAX, |tid| (tid ^ 1) * 4).transactions, 2, "any order");
    // Figure F-1, misaligned by one word: 64 + 32 bytes for one half-warp, 128 for one inside a segment.
    let misaligned = global(m, 4, 0x0000_ffff, |tid| 128 - 4 + tid * 4);
    assert_eq!((misaligned.transactions, misaligned.bytes_moved), (2, 32 + 64));
    let inside = global(m, 4, 0x0000_ffff, |tid| 4 + tid * 4);
    assert_eq!((inside.transactions, inside.bytes_moved), (1, 128));
    assert_eq!(global(m, 4, 1, |_| 100).bytes_moved, 32, "one lane");
    assert_eq!(global(m, 1, u32::MAX, |tid| tid).bytes_moved, 64, "32 bytes for each half-warp");
    assert_eq!(global(m, 2, u32::MAX, |tid| tid * 2).bytes_moved, 64);
    let strided = global(m, 4, 0x0000_ffff, |tid| tid * 8);
    assert_eq!((strided.transactions, strided.bytes_moved), (1, 128));
}

/// F.4.2, 2.x: lines of 128 bytes with L1, segments of 32 bytes without; requests of half- and
/// quarter-warps. Figure F-1's rows for 2.0.
#[test]
fn lines_on_2_x() {
    let (ca, cg) = (model(2, 0), model(2, 0).with_global_loads_in_l1(false));
    let aligned = |tid: u64| 128 + tid * 4;
    let misaligned = |tid: u64| 132 + tid * 4;
    assert_eq!(global(ca, 4, u32::MAX, aligned).transactions, 1);
    assert_eq!(global(cg, 4, u32::MAX, aligned).transactions, 4);
    assert_eq!(global(ca, 4, u32::MAX, |tid| 128 + (tid ^ 3) * 4).transactions, 1);
    assert_eq!(global(ca, 4, u32::MAX, misaligned).bytes_moved, 256);
    assert_eq!(global(cg, 4, u32::MAX, misaligned).bytes_moved, 160);
    let eight = global(ca, 8, u32::MAX, |tid| tid * 8);
    assert_eq!((eight.requests, eight.transactions), (2, 2));
    let sixteen = global(ca, 16, u32::MAX, |tid| tid * 16);
    assert_eq!((sixteen.requests, sixteen.transactions), (4, 4));
    assert_eq!(global(ca, 4, u32::MAX, |tid| tid * 128).transactions, 32);
    assert_eq!(global(cg, 4, u32::MAX, |tid| tid * 128).bytes_moved, 1024);
}

/// F.5.2: 3.0 behaves as 2.x; edition 9.0, H.3.2: its global loads are not cached in L1.
#[test]
fn segments_on_3_x() {
    assert_eq!(global(model(3, 0), 4, u32::MAX, |tid| tid * 4).transactions, 4);
    let through = model(3, 5).with_global_loads_in_l1(true);
    assert_eq!(global(through, 4, u32::MAX, |tid| tid * 4).transactions, 1);
}

/// 5.3.2.3, Local Memory: threads at the same relative address coalesce fully.
#[test]
fn local_memory() {
    for (m, transactions) in
        [(model(1, 3), 2), (model(2, 0), 1), (model(3, 0), 1), (model(7, 0), 4)]
    {
        let counts = count(m, Space::Local, Kind::Load, 4, u32::MAX, |_| 40);
        assert_eq!((counts.transactions, counts.bytes_moved), (transactions, 128), "{}", m.cc);
    }
    let spread = count(model(2, 0), Space::Local, Kind::Load, 4, u32::MAX, |tid| tid * 4);
    assert_eq!(spread.transactions, 32);
}

/// 5.3.2.5, Constant Memory: as many requests as there are different addresses; F.3.1: on 1.x for each
/// half-warp.
#[test]
fn constant_memory() {
    let constant = |m, address: fn(u64) -> u64| {
        count(m, Space::Constant, Kind::Load, 4, u32::MAX, address).requests
    };
    assert_eq!(constant(model(2, 0), |_| 16), 1);
    assert_eq!(constant(model(2, 0), |tid| tid * 4), 32);
    assert_eq!(constant(model(2, 0), |tid| tid / 8 * 4), 4);
    assert_eq!(constant(model(1, 0), |_| 16), 2);
    assert_eq!(constant(model(1, 0), |tid| tid % 2 * 4), 4);
}

/// B.11, Atomic Functions, and the feature table: from which capability on each exists.
#[test]
fn atomics_by_capability() {
    use margay_arch::AtomicOp::{Add, AddFloat, And, CompareSwap, Exchange, Max, Xor};
    use margay_arch::atomics::available;
    let first = |shared, op, width| {
        let limits = margay_arch::gpu::ALL.iter().find(|l| available(l.cc, shared, op, width));
        limits.map_or(0, |l| l.cc.sm())
    };
    assert_eq!(first(false, Add, 4), 11);
    assert_eq!(first(true, Add, 4), 12);
    for op in [Add, Exchange, CompareSwap] {
        assert_eq!((first(false, op, 8), first(true, op, 8)), (12, 20), "{op:?}");
    }
    assert_eq!((first(false, AddFloat, 4), first(true, AddFloat, 4)), (20, 20));
    for op in [Max, And, Xor] {
        assert_eq!((first(false, op, 8), first(true, op, 8)), (35, 35), "{op:?}");
    }
    assert_eq!(first(false, AddFloat, 8), 60);
    assert_eq!(first(false, CompareSwap, 16), 90);
    assert_eq!(first(false, margay_arch::AtomicOp::Inc, 8), 0);
}

/// The lock loop of 1.2 to 3.x: up to 32 rounds for one word; words 1 KB apart share a lock.
#[test]
fn locks() {
    let atomic = |m, address: fn(u64) -> u64| {
        let kind = Kind::Atomic(margay_arch::AtomicOp::Add);
        count(m, Space::Shared, kind, 4, u32::MAX, address)
    };
    assert_eq!(atomic(model(2, 0), |tid| tid * 4).instructions, 2);
    assert_eq!(atomic(model(2, 0), |_| 0).instructions, 64);
    assert_eq!(atomic(model(3, 5), |tid| tid * 1024).instructions, 64);
    assert_eq!(atomic(model(3, 5), |tid| tid * 512).instructions, 32);
    // Native from 5.0 on: the lanes of a bank take turns in one instruction.
    assert_eq!(atomic(model(5, 0), |tid| tid * 1024).instructions, 1);
    assert_eq!(atomic(model(5, 0), |_| 0).wavefronts, 32);
}
