// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the addresses of 32 lanes to 32 host pointers, checked.
//!
//! Invariant: a pointer that leaves this module may be dereferenced for the bytes that were asked
//! for. The fast path checks a warp at once against one extent; whatever it cannot prove goes lane
//! by lane through [`resolve_slowly`], which is also where faults are made.

use margay_ir::{Class, Op, Space, Value};

use crate::fault::{
    Access, FaultKind, GENERIC_AS_SHARED, GLOBAL_AS_SHARED, LOCAL_AS_GLOBAL, SHARED_AS_GLOBAL,
};
use crate::interp::Cx;
use crate::jit::AccessSite;
use crate::lanes::{FULL, Inst, WARP, active};
use crate::mem::{Extent, LOCAL_WINDOW, SHARED_WINDOW};
use crate::observe::{AccessEvent, EventPlace, GroupedEvent, Interest};
use crate::program::Code;
use crate::variables::{Variable, VariableSite};

/// Spaces as const parameters.
pub mod space {
    pub const GENERIC: u8 = 0;
    pub const GLOBAL: u8 = 1;
    pub const SHARED: u8 = 2;
    pub const LOCAL: u8 = 3;
    pub const CONST: u8 = 4;
    pub const PARAM: u8 = 5;
}

/// Accesses as const parameters.
pub mod access {
    pub const READ: u8 = 0;
    pub const WRITE: u8 = 1;
    pub const ATOMIC: u8 = 2;
}

const fn space_of(code: u8) -> Space {
    match code {
        space::GENERIC => Space::Generic,
        space::GLOBAL => Space::Global,
        space::SHARED => Space::Shared,
        space::LOCAL => Space::Local,
        space::CONST => Space::Const,
        _ => Space::Param,
    }
}

const fn access_of(code: u8) -> Access {
    match code {
        access::READ => Access::Read,
        access::WRITE => Access::Write,
        _ => Access::Atomic,
    }
}

/// The cache slot of an instruction; the byte above it is its counter.
pub const SLOT_BITS: u32 = 24;

#[inline(always)]
pub fn slot(i: &Inst) -> usize {
    (i.slot & ((1 << SLOT_BITS) - 1)) as usize
}

/// The address that an access has which names its space. Of one in shared memory a card takes 32 bits, whatever the register has:
/// an H200 does so, and programs have `p[~n]` with an unsigned `n`.
#[inline(always)]
fn in_window(space: Space, address: u64) -> u64 {
    if space == Space::Shared { address & 0xffff_ffff } else { address }
}

/// Counts the access and turns the lanes' addresses into host pointers. Inactive lanes get the
/// leader's, so that a load may read all 32. False means that `cx.fault` is set.
///
/// # Safety
/// As for handlers; `cx.mask` is not empty.
#[inline(always)]
pub unsafe fn resolve<const SPACE: u8, const ACCESS: u8>(
    cx: &mut Cx<'_>,
    i: &Inst,
    bytes: u64,
    out: &mut [u64; WARP],
) -> bool {
    // SAFETY: `a` is a D plane of this frame.
    let plane = unsafe { &*(cx.plane(i.a) as *const [u64; WARP]) };
    for l in 0..WARP {
        out[l] = in_window(space_of(SPACE), plane[l].wrapping_add(i.imm));
    }
    if cx.mask != FULL {
        let stand_in = out[cx.leader()];
        for (l, o) in out.iter_mut().enumerate() {
            *o = if cx.mask >> l & 1 != 0 { *o } else { stand_in };
        }
    }
    cx.counters[(i.slot >> SLOT_BITS) as usize] += 1;
    if cx.observing {
        observe(cx, i, space_of(SPACE), access_of(ACCESS), bytes as u32, out);
    }
    let (mut or, mut min, mut max) = (0, u64::MAX, 0);
    for &a in out.iter() {
        or |= a;
        min = a.min(min);
        max = a.max(max);
    }
    let aligned = or & (bytes - 1) == 0;
    match SPACE {
        space::SHARED => {
            if aligned && bytes <= cx.shared_size && max <= cx.shared_size - bytes {
                let base = cx.shared as u64;
                for o in out.iter_mut() {
                    *o += base;
                }
                return true;
            }
        }
        space::GLOBAL | space::GENERIC | space::CONST => {
            let e = &cx.extents[slot(i)];
            let allowed = match ACCESS {
                access::READ => SPACE != space::CONST || e.constant,
                _ => e.writable,
            };
            let known = allowed && bytes <= e.hi - e.lo && cx.epoch == cx.env.memory.epoch();
            if aligned && known && min >= e.lo && max <= e.hi - bytes {
                return true;
            }
            if SPACE == space::GENERIC && aligned {
                let (shared, local) = (cx.env.shared_window, cx.env.local_window);
                if bytes <= cx.shared_size {
                    // All go to shared memory, or some, and the others where the last ones went.
                    let (lo, last) = if known { (e.lo, e.hi - bytes) } else { (1, 0) };
                    let end = cx.shared_size - bytes;
                    let base = (cx.shared as u64).wrapping_sub(shared);
                    let in_shared = |a: u64| a.wrapping_sub(shared) <= end;
                    let good = |a: u64| in_shared(a) | ((a >= lo) & (a <= last));
                    if out.iter().fold(true, |all, a| all & good(*a)) {
                        for o in out.iter_mut() {
                            *o = o.wrapping_add(if in_shared(*o) { base } else { 0 });
                        }
                        return true;
                    }
                }
                if lies_within((min, max), local, (bytes, cx.env.local_size.into())) {
                    let base = (cx.local as u64).wrapping_sub(local);
                    add_rows(out, base, cx.local_stride);
                    return true;
                }
            }
        }
        space::LOCAL => {
            let size = cx.env.local_size as u64;
            if aligned && bytes <= size && max <= size - bytes {
                add_rows(out, cx.local as u64, cx.local_stride);
                return true;
            }
        }
        _ => {
            let size = cx.env.params_size;
            if ACCESS == access::READ && aligned && bytes <= size && max <= size - bytes {
                let base = cx.env.params as u64;
                for o in out.iter_mut() {
                    *o += base;
                }
                return true;
            }
        }
    }
    // SAFETY: by the contract.
    unsafe { resolve_slowly(cx, i, space_of(SPACE), access_of(ACCESS), bytes, out) }
}

/// Whether all lanes' bytes are in so many bytes of a window from `base` on.
#[inline(always)]
fn lies_within((min, max): (u64, u64), base: u64, (bytes, size): (u64, u64)) -> bool {
    min >= base && bytes <= size && max - base <= size - bytes
}

/// Makes offsets in the lanes' local memory pointers.
#[inline(always)]
fn add_rows(out: &mut [u64; WARP], base: u64, stride: u64) {
    for (l, o) in out.iter_mut().enumerate() {
        *o = o.wrapping_add(base).wrapping_add(l as u64 * stride);
    }
}

/// Lane by lane. Also fills the instruction's cache slot.
///
/// # Safety
/// As for [`resolve`].
#[cold]
#[inline(never)]
unsafe fn resolve_slowly(
    cx: &mut Cx<'_>,
    i: &Inst,
    space: Space,
    access: Access,
    bytes: u64,
    out: &mut [u64; WARP],
) -> bool {
    let by_lane = matches!(space, Space::Shared | Space::Local | Space::Param)
        || space == Space::Generic && out[0].wrapping_sub(cx.env.local_window) < LOCAL_WINDOW;
    if !by_lane && out.iter().all(|&a| a == out[0]) {
        // All at one place, as a virtual method's object mostly is.
        return match resolve_lane(cx, slot(i), cx.leader(), space, access, out[0], bytes) {
            Ok(pointer) => {
                out.fill(pointer);
                true
            }
            Err(kind) => {
                cx.fail(cx.leader(), *kind);
                false
            }
        };
    }
    for lane in active(cx.mask) {
        // Whole, so that a fault can tell whose it is.
        let address = match space {
            // SAFETY: `a` is a D plane of this frame.
            Space::Shared => unsafe { cx.double(i.a, lane) }.wrapping_add(i.imm),
            Space::Generic | Space::Global | Space::Local | Space::Const | Space::Param => {
                out[lane]
            }
        };
        match resolve_lane(cx, slot(i), lane, space, access, address, bytes) {
            Ok(pointer) => out[lane] = pointer,
            Err(kind) => {
                cx.fail(lane, *kind);
                return false;
            }
        }
    }
    if cx.mask != FULL {
        let stand_in = out[cx.leader()];
        for (l, o) in out.iter_mut().enumerate() {
            *o = if cx.mask >> l & 1 != 0 { *o } else { stand_in };
        }
    }
    true
}

/// One lane's address as a host pointer that is good for `bytes` bytes.
pub fn resolve_lane(
    cx: &mut Cx<'_>,
    slot: usize,
    lane: usize,
    space: Space,
    access: Access,
    address: u64,
    bytes: u64,
) -> Result<u64, Box<FaultKind>> {
    let (named, whole) = (space, address);
    // A fault in a window names the space and the place there, not where the host has put the window.
    let from = |base: u64, size: u64| Some(address.wrapping_sub(base)).filter(|&a| a < size);
    let (space, address) = match space {
        Space::Shared => (space, in_window(space, address)),
        Space::Generic => match from(cx.env.shared_window, SHARED_WINDOW) {
            Some(offset) => (Space::Shared, offset),
            None => match from(cx.env.local_window, LOCAL_WINDOW) {
                Some(offset) => (Space::Local, offset),
                None => (space, address),
            },
        },
        _ => (space, address),
    };
    if bytes.is_power_of_two() && address & (bytes - 1) != 0 {
        let bytes = bytes as u32;
        return Err(Box::new(FaultKind::Misaligned { space, address, bytes, access }));
    }
    let pointer = match space {
        Space::Shared => shared_pointer(cx, address, bytes),
        Space::Local => local_pointer(cx, lane, address, bytes),
        Space::Param if access != Access::Read => Err("kernel parameters are read-only"),
        Space::Param => match address.checked_add(bytes) {
            Some(end) if end <= cx.env.params_size => Ok(cx.env.params as u64 + address),
            _ => Err("beyond the kernel's parameters"),
        },
        Space::Global | Space::Const | Space::Generic => {
            global_pointer(cx, slot, space, access, address, bytes)
        }
    };
    pointer.map_err(|why| {
        let why = other_space(cx, named, whole).unwrap_or(why);
        let nearest = match space {
            Space::Generic | Space::Global | Space::Const => cx.env.memory.nearest(address),
            Space::Shared | Space::Local | Space::Param => None,
        };
        let bytes = bytes as u32;
        Box::new(FaultKind::IllegalAddress { space, address, bytes, access, nearest, why })
    })
}

/// Whose an address is, whole as a register has it, that is none of the space which an instruction names.
fn other_space(cx: &Cx<'_>, space: Space, address: u64) -> Option<&'static str> {
    let within = |base: u64, size: u64| address.wrapping_sub(base) < size;
    let shared = within(cx.env.shared_window, SHARED_WINDOW);
    match space {
        Space::Global | Space::Const if shared => Some(SHARED_AS_GLOBAL),
        Space::Global | Space::Const => {
            within(cx.env.local_window, LOCAL_WINDOW).then_some(LOCAL_AS_GLOBAL)
        }
        Space::Shared if shared => Some(GENERIC_AS_SHARED),
        Space::Shared => cx.env.memory.find(address).map(|_| GLOBAL_AS_SHARED),
        Space::Generic | Space::Local | Space::Param => None,
    }
}

fn global_pointer(
    cx: &mut Cx<'_>,
    slot: usize,
    space: Space,
    access: Access,
    address: u64,
    bytes: u64,
) -> Result<u64, &'static str> {
    let epoch = cx.env.memory.epoch();
    if cx.epoch != epoch {
        cx.epoch = epoch;
        cx.extents.fill(Extent::default());
    }
    let holds = |e: &Extent| e.lo <= address && bytes <= e.hi.saturating_sub(address);
    if !holds(&cx.extents[slot]) {
        let params = cx.env.params as u64;
        let found = if address.wrapping_sub(params) < cx.env.params_size {
            let hi = params + cx.env.params_size;
            Extent { lo: params, hi, writable: false, constant: true }
        } else {
            let (memory, reach) = ((cx.env.memory, epoch), cx.env.machine.reach);
            cx.recent.extent_for(memory, (address, bytes), reach)
        };
        if !holds(&found) {
            return Err(if address < 4096 {
                "a null pointer"
            } else if holds(&cx.env.memory.extent(address)) {
                "memory of another device, to which this one has no access (cudaDeviceEnablePeerAccess; for memory of \
                 pools cudaMemPoolSetAccess, for mapped memory cuMemSetAccess)"
            } else if found.lo <= address && address < found.hi {
                "runs past the end of the allocation"
            } else {
                "outside every allocation"
            });
        }
        let mut kept = found;
        if cx.interpreting {
            cx.reads.note(address, &mut kept, cx.env);
            kept = if holds(&kept) { kept } else { found };
        }
        cx.extents[slot] = kept;
    }
    let e = cx.extents[slot];
    if access != Access::Read && !e.writable {
        return Err(
            "constant memory, parameters and mappings granted for reading are read-only for kernels",
        );
    }
    if space == Space::Const && !e.constant {
        return Err("not constant memory");
    }
    Ok(address)
}

fn shared_pointer(cx: &Cx<'_>, offset: u64, bytes: u64) -> Result<u64, &'static str> {
    let (buffer, within) = if offset < 1 << 24 {
        (cx.shared, offset)
    } else {
        let rank = (offset >> 24) as usize - 1;
        // SAFETY: `peers` points to the running cluster's table of buffers.
        match unsafe { (&*cx.peers).get(rank) } {
            Some(&peer) => (peer, offset & ((1 << 24) - 1)),
            None => return Err("no such block in the cluster"),
        }
    };
    match within.checked_add(bytes) {
        Some(end) if end <= cx.shared_size => Ok(buffer as u64 + within),
        _ => Err("beyond the block's shared memory"),
    }
}

fn local_pointer(cx: &Cx<'_>, lane: usize, offset: u64, bytes: u64) -> Result<u64, &'static str> {
    match offset.checked_add(bytes) {
        Some(end) if end <= cx.env.local_size as u64 => {
            Ok(cx.local as u64 + lane as u64 * cx.local_stride + offset)
        }
        _ => Err("beyond the thread's local memory"),
    }
}

/// Reports the access of the lanes in `cx.mask`; a generic one by the spaces that it reaches.
#[cold]
#[inline(never)]
pub fn observe(
    cx: &mut Cx<'_>,
    i: &Inst,
    named: Space,
    access: Access,
    bytes: u32,
    addresses: &[u64; WARP],
) {
    if named == Space::Param && !cx.interest.contains(Interest::PARAMETERS) {
        return;
    }
    let at = cx.event_at(cx.env.program.pc_of(i));
    let may_have = matches!(named, Space::Shared | Space::Local | Space::Generic);
    if may_have && cx.interest.contains(Interest::VARIABLES) {
        tell_beyond(cx, at, named, access, bytes, addresses);
    }
    if !cx.interest.contains(Interest::ACCESSES) || cx.is_told(at.pc) {
        return;
    }
    let values = match access {
        Access::Write if cx.interest.contains(Interest::VALUES) => stored(cx, i, at.pc, bytes),
        Access::Read | Access::Write | Access::Atomic => None,
    };
    let (mask, values, compiled) = (cx.mask, values.as_ref(), cx.in_code);
    let (shared, local) = (cx.env.shared_window, cx.env.local_window);
    let space = named;
    let Some(watch) = &mut cx.watch else { return };
    // Parameters, constants and local memory are mostly at one offset; of the other spaces handlers have looked.
    let alike = matches!(space, Space::Param | Space::Const | Space::Local)
        && mask == FULL
        && values.is_none()
        && !compiled
        && addresses.iter().fold(0, |differs, a| differs | a ^ addresses[0]) == 0;
    if alike {
        let (starts, consecutive) = ([addresses[0]; 4], 0);
        return watch.grouped(&GroupedEvent { at, space, access, bytes, starts, consecutive });
    }
    let event = AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled };
    by_space(&event, shared, local, |event| {
        watch.access(event);
        true
    });
}

/// Tells of the lanes that leave the variable which their address is computed from, if that is known.
fn tell_beyond(
    cx: &mut Cx<'_>,
    at: EventPlace,
    named: Space,
    access: Access,
    bytes: u32,
    addresses: &[u64; WARP],
) {
    let sites = cx.env.variable_sites();
    let Ok(n) = sites.binary_search_by_key(&at.pc, |site| site.pc) else { return };
    let site = &sites[n];
    let &VariableSite { variable, first, end, .. } = site;
    let (space, window, all) = match variable {
        Variable::Local(_) => (Space::Local, cx.env.local_window, u64::from(cx.env.local_size)),
        Variable::Global(_) | Variable::Argument(_) => {
            (Space::Shared, cx.env.shared_window, cx.shared_size)
        }
    };
    let window = if named == Space::Generic { window } else { 0 };
    let addresses = &addresses.map(|a| a.wrapping_sub(window));
    let beyond = |a: u64| match a.checked_add(u64::from(bytes)) {
        // What is beyond all of it faults, or is elsewhere.
        Some(last) if last <= all => a < first || last > end,
        Some(_) | None => false,
    };
    let mask = active(cx.mask).filter(|&l| beyond(addresses[l])).fold(0, |m, l| m | 1 << l);
    if mask == 0 {
        return;
    }
    let (values, compiled) = (None, cx.in_code);
    let event = AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled };
    if let Some(watch) = &mut cx.watch {
        watch.beyond(&event, site);
    }
}

/// Calls `each` on the parts of an access, by the spaces that it reaches, as long as it says so.
fn by_space(
    event: &AccessEvent<'_>,
    shared: u64,
    local: u64,
    mut each: impl FnMut(&AccessEvent<'_>) -> bool,
) -> bool {
    let AccessEvent { mask, addresses, .. } = *event;
    if event.named != Space::Generic {
        return mask == 0 || each(event);
    }
    let within = |base: u64, size: u64| {
        active(mask).filter(|&l| addresses[l].wrapping_sub(base) < size).fold(0, |m, l| m | 1 << l)
    };
    let (in_shared, in_local) = (within(shared, SHARED_WINDOW), within(local, LOCAL_WINDOW));
    let parts = [(Space::Shared, in_shared, shared), (Space::Local, in_local, local)];
    for (space, mask, base) in parts {
        let addresses = &addresses.map(|a| a.wrapping_sub(base));
        if mask != 0 && !each(&AccessEvent { space, mask, addresses, ..*event }) {
            return false;
        }
    }
    let (space, mask) = (Space::Global, mask & !in_shared & !in_local);
    mask == 0 || each(&AccessEvent { space, mask, ..*event })
}

/// Reports an access that compiled code makes, with what it stores, if it is admitted.
#[inline]
pub fn observe_compiled(
    cx: &mut Cx<'_>,
    (at, mask): (EventPlace, u32),
    addresses: &[u64; WARP],
    values: Option<&[u64; WARP]>,
) -> bool {
    let site = cx.tallies.accesses.get(at.pc as usize).copied().flatten();
    let Some(site) = site else { return true };
    let (shared, local) = (cx.env.shared_window, cx.env.local_window);
    let AccessSite { space, access, bytes } = site;
    let (named, compiled) = (space, true);
    let event = AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled };
    let asks = cx.interest.contains(Interest::ADMISSIONS);
    let Some(watch) = &mut cx.watch else { return true };
    if asks && !by_space(&event, shared, local, |event| watch.admits(event)) {
        return false;
    }
    by_space(&event, shared, local, |event| {
        watch.access(event);
        true
    })
}

/// Asks whether a handler that compiled code calls may make the access of the instruction at `pc`, or tells that it has.
///
/// # Safety
/// The address plane of the instruction is in the running frame, and `cx.mask` is set.
#[cold]
#[inline(never)]
pub unsafe fn admitted(cx: &mut Cx<'_>, pc: u32, site: AccessSite) -> bool {
    let inst = &cx.env.program.code[pc as usize];
    // SAFETY: by the contract.
    let plane = unsafe { &*(cx.plane(inst.a) as *const [u64; WARP]) };
    let AccessSite { space, access, bytes } = site;
    let addresses = &plane.map(|a| in_window(space, a.wrapping_add(inst.imm)));
    let (at, mask) = (cx.event_at(pc), cx.mask);
    let (shared, local) = (cx.env.shared_window, cx.env.local_window);
    let (named, compiled, values) = (space, true, None);
    let event = AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled };
    let Some(watch) = &mut cx.watch else { return true };
    by_space(&event, shared, local, |event| watch.admits(event))
}

/// What a store of one element stores, cut to its `bytes`.
fn stored(cx: &Cx<'_>, i: &Inst, pc: u32, bytes: u32) -> Option<[u64; WARP]> {
    let view = cx.env.program.instruction(pc)?;
    let Code::Inst(inst) = view.code else { return None };
    let (Op::St, [_, value]) = (inst.op, inst.srcs.as_slice()) else { return None };
    let class = match value {
        Value::Reg(reg) => *view.function.regs.get(reg.0 as usize)?,
        Value::Imm(_) => inst.ty.class(),
    };
    let wide = class == Class::D;
    let keep = u64::MAX >> (64 - 8 * bytes.clamp(1, 8));
    // SAFETY: `b` is the plane of the one value that this store was decoded with, of this class.
    let plane = unsafe { cx.plane(i.b) };
    // SAFETY: as above.
    let value = |l| unsafe {
        match wide {
            true => *(plane as *const u64).add(l),
            false => u64::from(*(plane as *const u32).add(l)),
        }
    };
    Some(std::array::from_fn(|l| value(l) & keep))
}

/// Reports an access of all lanes of the plane `a` to a space, as [`observe`] does: groups of eight neighbours are at one
/// address, or, with a bit in `consecutive`, at consecutive elements.
///
/// # Safety
/// `a` is a D plane of the running frame.
#[cold]
#[inline(never)]
pub unsafe fn observe_groups<const SPACE: u8, const ACCESS: u8>(
    cx: &mut Cx<'_>,
    i: &Inst,
    bytes: u64,
    consecutive: u32,
) {
    // SAFETY: by the contract.
    let plane = unsafe { &*(cx.plane(i.a) as *const [u64; WARP]) };
    let tells_values = ACCESS == access::WRITE && cx.interest.contains(Interest::VALUES);
    // What a handler does for compiled code is the code's.
    let tells_variables =
        matches!(SPACE, space::SHARED | space::LOCAL) && cx.interest.contains(Interest::VARIABLES);
    if SPACE == space::GENERIC || tells_values || tells_variables || cx.in_code {
        let addresses = plane.map(|a| a.wrapping_add(i.imm));
        return observe(cx, i, space_of(SPACE), access_of(ACCESS), bytes as u32, &addresses);
    }
    let starts = std::array::from_fn(|group| plane[8 * group].wrapping_add(i.imm));
    let at = cx.event_at(cx.env.program.pc_of(i));
    if cx.is_told(at.pc) {
        return;
    }
    if !cx.interest.contains(Interest::ACCESSES) {
        return;
    }
    let (space, access, bytes) = (space_of(SPACE), access_of(ACCESS), bytes as u32);
    let Some(watch) = &mut cx.watch else { return };
    watch.grouped(&GroupedEvent { at, space, access, bytes, starts, consecutive });
}

/// Reads bytes from generic memory on behalf of one lane, checked; used by the device run time
/// (strings of `printf`). Stops at `limit` or at a byte for which `until` holds.
pub fn read_bytes(
    cx: &mut Cx<'_>,
    lane: usize,
    address: u64,
    limit: usize,
    until: impl Fn(u8) -> bool,
) -> Result<Vec<u8>, Box<FaultKind>> {
    let mut bytes = Vec::new();
    // The last slot is kept for the run time.
    let slot = cx.extents.len() - 1;
    while bytes.len() < limit {
        let at = address.wrapping_add(bytes.len() as u64);
        let p = resolve_lane(cx, slot, lane, Space::Generic, Access::Read, at, 1)?;
        // SAFETY: resolved for one byte.
        let byte = unsafe { (p as *const u8).read_volatile() };
        if until(byte) {
            break;
        }
        bytes.push(byte);
    }
    Ok(bytes)
}
