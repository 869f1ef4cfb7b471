// SPDX-License-Identifier: MIT OR Apache-2.0
//! What compiled code and the engine share while it runs.

/// A range that a guest may touch: the engine's own cache, as compiled code reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub lo: u64,
    pub hi: u64,
    pub writable: bool,
    pub constant: bool,
    pub host: bool,
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
    pub extents: *const Extent,
    /// Passed to `op`.
    pub context: *mut u8,
    /// Runs the handler of the instruction at an address for the lanes of a mask; 0 if it is done,
    /// 1 after a fault, 2 if it was not executed.
    pub op: unsafe extern "C" fn(*mut u8, u32, u32) -> u32,
    /// Instructions that may still run.
    pub fuel: i64,
    pub ctaid: [u32; 3],
    pub nctaid: [u32; 3],
    /// Number of the warp in its block.
    pub warp: u32,
    pub warps: u32,
    /// Planes of `%tid`.
    pub tid: [*const u8; 3],
    /// Not 0 once something was stored.
    pub changed: u32,
    /// Not 0 while the first store to global memory must wait.
    pub hold: u32,
    /// At an exit: lanes at its address.
    pub mask: u32,
    /// Lanes that have not exited.
    pub alive: u32,
    /// Masks of lanes that wait elsewhere.
    pub pending: [u32; crate::PENDING],
    pub shared_window: u64,
    pub local_window: u64,
    pub local: *mut u8,
    pub local_stride: u64,
    pub local_size: u64,
}
