// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compiled code and the engine share while it runs.

/// A range that a guest may touch, as the engine keeps what it has found of memory. Empty (`lo == hi`) means nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub lo: u64,
    pub hi: u64,
    pub writable: bool,
    /// Whether `ld.const` reaches it.
    pub constant: bool,
}

/// Extents that were found last, each at the place that an address in it names ([`recent`]): a table that is asked where an
/// access goes from one object to another.
pub const RECENT: usize = 256;
/// Addresses that differ by less than 2 to this mostly share a place.
pub const RECENT_STEP: u32 = 6;

/// The place of an address among [`RECENT`] extents.
pub fn recent(address: u64) -> usize {
    (address >> RECENT_STEP) as usize % RECENT
}

/// Where accesses of one kind are known to be good: see [`RoomSite`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// First address of the memory.
    pub lo: u64,
    /// Number of addresses from there on at which such an access may start.
    pub starts: u64,
    /// Not 0 if whoever watches need not be told of such accesses.
    pub quiet: u64,
}

/// What a [`Room`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoomSite {
    /// Which accesses share what is known: index in [`crate::Outline::groups`].
    pub group: u32,
    pub write: bool,
    pub constant: bool,
    /// Bytes that follow the first.
    pub less: u64,
}

impl RoomSite {
    /// The room in a range.
    pub fn of(&self, e: &Extent) -> Room {
        let allowed = (!self.write || e.writable) && (!self.constant || e.constant);
        let bytes = if allowed { e.hi.saturating_sub(e.lo) } else { 0 };
        Room { lo: e.lo, starts: bytes.saturating_sub(self.less), quiet: 0 }
    }
}

/// Accesses that are held to touch one allocation. Their rooms must not change while code runs if a
/// root is known.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomGroup {
    /// The pointer behind them, if it is known.
    pub root: Option<crate::Root>,
    /// Their addresses, and the numbers of their extents.
    pub accesses: Vec<(u32, u32)>,
}

/// Lanes of a warp that wait in the middle of a branch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parted {
    /// Lanes at the exit's address.
    pub mask: u32,
    /// Lanes that have not exited.
    pub alive: u32,
    /// Lanes at the exit's pending addresses.
    pub pending: [u32; crate::PENDING],
}

/// The block of memory whose address compiled code is called with.
#[repr(C)]
pub struct Io {
    /// The register frame.
    pub frame: *mut u8,
    /// The program's constant planes.
    pub consts: *const u8,
    pub shared: *mut u8,
    pub shared_size: u64,
    pub params: *const u8,
    pub params_size: u64,
    pub rooms: *const Room,
    /// [`RECENT`] extents.
    pub recent: *const Extent,
    /// Passed to `op`.
    pub context: *mut u8,
    /// Runs the handler of the instruction at an address for the lanes of a mask; 0 if it is done,
    /// 1 after a fault, 2 if it was not executed.
    pub op: unsafe extern "C" fn(*mut u8, u32, u32) -> u32,
    /// The same, but every register except that of the result, and the flags, stays as it is; the
    /// stack need not be aligned.
    pub op_keeping: unsafe extern "C" fn(*mut u8, u32, u32) -> u32,
    /// Instructions that may still run.
    pub fuel: i64,
    pub ctaid: [u32; 3],
    pub nctaid: [u32; 3],
    /// Threads of the grid, or the largest number.
    pub threads: u64,
    /// Environment registers.
    pub envreg: [u32; 32],
    /// Number of the warp in its block; code for whole blocks writes it before it calls a handler, and before it returns
    /// where a warp has left; at any time if it is watched.
    pub warp: u32,
    pub warps: u32,
    /// For whole blocks: how many are still to run, this one counted, from `ctaid` on.
    pub blocks: u32,
    /// Rounds of barriers of one block before the code returns with [`crate::AGAIN`].
    pub rounds: u32,
    /// Bytes from one warp's register frame to the next one's.
    pub frame_bytes: u64,
    /// Where each warp of the block stands: 0 at its start, an exit's number, [`crate::AT_DONE`];
    /// with [`crate::AT_BARRIER`] added while others hold.
    pub at: *mut u32,
    /// Lanes of warps that hold while their lanes are apart.
    pub parted: *mut Parted,
    /// Warps whose first store has waited.
    pub held: u32,
    /// `%tid` of the block's warps: three planes each.
    pub tids: *const u8,
    /// Strong loads and atomics made.
    pub polls: u64,
    /// Turns that loops in parts of the lanes run for all lanes, after one that did not work out (`emit/part_loop.rs`).
    pub part_skips: u32,
    /// Planes of `%tid`.
    pub tid: [*const u8; 3],
    /// Not 0 once something was stored; code for whole blocks says so only if it is watched.
    pub changed: u32,
    /// Not 0 while the first store to global memory must wait.
    pub hold: u32,
    /// At an exit: lanes at its address.
    pub mask: u32,
    /// Lanes that have not exited: written as [`Io::warp`] is.
    pub alive: u32,
    /// Masks of lanes that wait elsewhere.
    pub pending: [u32; crate::PENDING],
    pub shared_window: u64,
    pub local_window: u64,
    pub local: *mut u8,
    pub local_stride: u64,
    pub local_size: u64,
    /// Counts of executions, by block of the function: see [`crate::Tally`].
    pub tallies: *mut u64,
    /// By number in [`crate::Outline::watched`].
    pub cells: *mut u64,
    /// What need not be reported.
    pub notes: *mut crate::Notes,
    /// Lines of 128 bytes that are marked: those whose number times the first, modulo 2^64, is below the second.
    pub marks: [u64; 2],
    /// Reports an access: the context, address of the instruction, lanes, the addresses of all 32, and what they store
    /// or null. The answer of this and the next: 0, or 1 if the code is to be left before the access.
    pub watch: unsafe extern "C" fn(*mut u8, u32, u32, *const [u64; 32], *const [u64; 32]) -> u32,
    /// Reports an access by its number in [`crate::Outline::watched`]: the context, number, lanes, lane 0's address,
    /// the second scalar, and what the lanes store or null.
    pub watch_linear: unsafe extern "C" fn(*mut u8, u32, u32, u64, u64, *const [u64; 32]) -> u32,
    /// The same, but every register except that of the result, and the flags, stays as it is. It takes this block of memory in
    /// place of the context, and in place of values the [notes](Io::notes), or null: with these the access is noted as long as
    /// there is room.
    pub watch_keeping: unsafe extern "C" fn(*mut Io, u32, u32, u64, u64, *mut crate::Notes) -> u32,
    /// Tells what code for whole blocks does with them: the context, and a [`Turn`].
    pub turn: unsafe extern "C" fn(*mut u8, u32),
}

/// What code for whole blocks tells of them, the one in [`Io::ctaid`].
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The barrier opens at which the warps are that [`Io::at`] says are there; the last was [`Io::warp`], and they came in
    /// a circle from the one after it on.
    Opens,
    /// The block has ended.
    Ends,
    /// The block begins.
    Begins,
}

impl Turn {
    /// Of its number.
    pub fn of(n: u32) -> Option<Turn> {
        [Turn::Opens, Turn::Ends, Turn::Begins].into_iter().find(|t| *t as u32 == n)
    }
}
