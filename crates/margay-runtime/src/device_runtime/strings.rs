// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names and texts of errors, where device code can read them.
//!
//! The runtime API's names of what the driver reports are the driver's in other letters, but for a few.

use std::collections::HashMap;

use margay_exec::mem::AllocKind;
use parking_lot::Mutex;

use crate::error::CudaError;
use crate::runtime;

/// Errors of the runtime API that the driver has no number for, or another word.
const OWN: &[(u32, &str, &str)] = &[
    (0, "cudaSuccess", "no error"),
    (2, "cudaErrorMemoryAllocation", "out of memory"),
    (3, "cudaErrorInitializationError", "initialization error"),
    (9, "cudaErrorInvalidConfiguration", "invalid configuration argument"),
    (68, "cudaErrorSyncDepthExceeded", "cannot wait for child grids at this depth of launches"),
    (69, "cudaErrorLaunchPendingCountExceeded", "too many launches of device code have not begun"),
    (98, "cudaErrorInvalidDeviceFunction", "invalid device function"),
    (400, "cudaErrorInvalidResourceHandle", "invalid resource handle"),
    (701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"),
];

/// `cudaGetErrorName`.
pub fn name(code: u32) -> String {
    if let Some((_, name, _)) = OWN.iter().find(|(own, _, _)| *own == code) {
        return (*name).to_owned();
    }
    let Some(error) = CudaError::from_code(code) else {
        return "unrecognized error code".to_owned();
    };
    let words = error.name().trim_start_matches("CUDA_ERROR_").split('_');
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    "cudaError".to_owned() + &words.filter(|w| !w.is_empty()).map(word).collect::<String>()
}

/// `cudaGetErrorString`.
pub fn text(code: u32) -> String {
    match OWN.iter().find(|(own, _, _)| *own == code) {
        Some((_, _, text)) => (*text).to_owned(),
        None => match CudaError::from_code(code) {
            Some(error) => error.text().to_owned(),
            None => "unrecognized error code".to_owned(),
        },
    }
}

/// The address of a string that device code can read: the same for the same string.
pub fn address(device: u32, text: String) -> u64 {
    static KEPT: Mutex<Option<HashMap<String, u64>>> = Mutex::new(None);
    let mut kept = KEPT.lock();
    let kept = kept.get_or_insert_default();
    if let Some(address) = kept.get(&text) {
        return *address;
    }
    let bytes = text.len() as u64 + 1;
    let memory = &runtime::get().memory;
    match memory.alloc(bytes, 16, AllocKind::Constant, device, "text of an error") {
        Ok(address) => {
            // SAFETY: the allocation has room for the text and its end, and is zeroed.
            unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), address as *mut u8, text.len()) };
            kept.insert(text, address);
            address
        }
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_runtime_api() {
        assert_eq!(name(0), "cudaSuccess");
        assert_eq!(name(1), "cudaErrorInvalidValue");
        assert_eq!(name(69), "cudaErrorLaunchPendingCountExceeded");
        assert_eq!(name(801), "cudaErrorNotSupported");
        assert_eq!(name(12345), "unrecognized error code");
        assert_eq!(text(0), "no error");
    }
}
