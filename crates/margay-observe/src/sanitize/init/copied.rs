// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that the host program copies from the device, and that nobody ever wrote: most often by a grid that is too small.

use margay_exec::mem::AllocationInfo;

use super::memory::Globals;
use crate::sanitize::finding::{Check, Finding, Severity};
use crate::words::Words;

/// What may lie unwritten between members of a structure.
const PADDING: u64 = 8;
/// Bytes of a copy that may be one structure.
const STRUCTURE: u64 = 128;

/// The finding for a copy of so many bytes from an address in an allocation; `None` if they were written, but for what may be
/// padding. A note: programs copy whole arrays of which a kernel fills a part, and use that part.
pub fn never_written(
    globals: &Globals,
    (from, bytes): (u64, u64),
    allocation: &AllocationInfo,
) -> Option<Finding> {
    let (base, bits) = globals.find(from)?;
    let (mut holes, mut one) = (0u64, None);
    // Of those that are no padding where the first is, and how long all are.
    let (mut first, mut all) = (None, 0);
    bits.never_written(from - base, bytes, |hole| {
        let length = hole.end - hole.start;
        holes += 1;
        if length >= PADDING {
            first.get_or_insert(hole.start);
            all += length;
        }
        one = Some((hole.start, length));
    });
    // One element that was left out is told, too, where it is the only one.
    if let Some((start, length)) = one.filter(|_| holes == 1 && bytes > STRUCTURE) {
        (first, all) = (Some(start), length);
    }
    let first = first?;
    let place = first - (from - base);
    let message = match all == bytes {
        true => format!("none of the {bytes} bytes that are copied to the host was ever written"),
        false => format!(
            "{all} of the {bytes} bytes that are copied to the host were never written, from byte {place} on"
        ),
    };
    let words = if allocation.label.starts_with("cl") { Words::OpenCl } else { Words::Cuda };
    Some(Finding {
        check: Check::Init,
        severity: Severity::Note,
        code: "init/copy".to_owned(),
        kernel: String::new(),
        message,
        cure: words
            .say(
                "does the grid have a thread for each element? Else copy what was written only, or fill the memory first",
                "does the NDRange have a work-item for each element? Else read what was written only, or fill the buffer \
                 first",
            )
            .to_owned(),
        space: None,
        address: Some(base + first),
        bytes: None,
        object: Some(format!("{}, {} bytes", allocation.label, allocation.size)),
        words,
        actors: Vec::new(),
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use margay_exec::mem::{AddressSpace, AllocKind};

    use super::*;

    #[test]
    fn padding_is_not_told() {
        let space = AddressSpace::new().unwrap();
        let base = space.alloc(4096, 16, AllocKind::Device, 0, "cudaMalloc").unwrap();
        let (memory, globals) = (space.find(base).unwrap(), Globals::default());
        globals.allocated(&memory);
        let copy =
            |at, bytes| never_written(&globals, (base + at, bytes), &memory).map(|f| f.message);
        let none = "none of the 4096 bytes that are copied to the host was ever written";
        assert_eq!(copy(0, 4096).as_deref(), Some(none));
        // Structures of 12 bytes, with four bytes of padding.
        (0..256).for_each(|n| globals.copied(base + 16 * n, None, 12));
        assert_eq!(copy(0, 4096), None);
        assert_eq!(copy(0, 16), None);
        // Two of them side by side, never written.
        globals.freed(base);
        globals.allocated(&memory);
        globals.copied(base, None, 2048);
        globals.copied(base + 2056, None, 2040);
        let eight =
            "8 of the 1024 bytes that are copied to the host were never written, from byte 48 on";
        assert_eq!(copy(2000, 1024).as_deref(), Some(eight));
        // The last of many, alone.
        globals.freed(base);
        globals.allocated(&memory);
        globals.copied(base, None, 4092);
        let last =
            "4 of the 4096 bytes that are copied to the host were never written, from byte 4092 on";
        assert_eq!(copy(0, 4096).as_deref(), Some(last));
        globals.copied(base, None, 4096);
        assert_eq!(copy(0, 4096), None);
    }
}
