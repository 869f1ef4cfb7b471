// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of errors: what a program reads of its own failed calls.

mod common;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use common::*;

static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn hear(data: *mut c_void, level: CUlogLevel, text: *mut c_char, length: usize) {
    let mut version = 0;
    let mut memory = 0;
    // SAFETY: a text of that length, which ends; pointers to locals.
    unsafe {
        let text = CStr::from_ptr(text).to_str().unwrap();
        assert_eq!((data as usize, level, text.len()), (7, CUlogLevel::CU_LOG_LEVEL_ERROR, length));
        HEARD.lock().unwrap().push(text.to_owned());
        // Calls are not permitted here, and their failure is not told.
        ok(cuDriverGetVersion(&mut version));
        if !real() {
            fails(cuMemAlloc_v2(&mut memory, 16), CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
    }
}

fn dumped(iterator: *mut CUlogIterator, room: usize) -> String {
    let mut buffer = vec![0x55u8; room + 8];
    let mut size = room;
    // SAFETY: the buffer has `room` bytes and more.
    unsafe {
        ok(cuLogsDumpToMemory(iterator, buffer.as_mut_ptr().cast(), &mut size, 0));
    }
    assert_eq!((buffer[size], &buffer[room..]), (0, &[0x55; 8][..]));
    String::from_utf8(buffer[..size].to_vec()).unwrap()
}

#[test]
fn failed_calls_are_in_the_log() {
    let session = Session::alone();
    let (mut handle, mut start, mut stream) = (null_mut(), 0, null_mut());
    let path = std::env::temp_dir().join(format!("margay-logs-{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: pointers to locals; margay looks handles up.
    unsafe {
        ok(cuLogsCurrent(&mut start, 0));
        if !real() {
            fails(cuLogsCurrent(&mut start, 1), INVALID_VALUE);
        }
        fails(cuLogsDumpToMemory(null_mut(), null_mut(), null_mut(), 0), INVALID_VALUE);
        ok(cuLogsCurrent(&mut start, 0));
        ok(cuLogsRegisterCallback(Some(hear), 7 as *mut c_void, &mut handle));
        fails(cuStreamCreate(&mut stream, 77), INVALID_VALUE);
        ok(cuLogsUnregisterCallback(handle));
        if real() {
            // A driver follows the handle, and its log has other words.
            return;
        }
        fails(cuLogsUnregisterCallback(handle), INVALID_VALUE);
        ok(cuMemFree_v2(session.alloc(16)));
        let from = start;
        let text = dumped(&mut start, 4000);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(*HEARD.lock().unwrap(), [lines[0]]);
        let wanted = "][CUDA][E][cuStreamCreate] CUDA_ERROR_INVALID_VALUE (1): invalid argument";
        assert!(lines[0].ends_with(wanted), "{text}");
        assert!(lines.last().unwrap().contains("[cuLogsUnregisterCallback]"), "{text}");
        // The iterator has moved on; without one, all is there; what does not fit is said.
        assert_eq!(dumped(&mut start, 4000), "");
        assert!(dumped(null_mut(), 30000).ends_with(&text));
        let mut again = from;
        let short = dumped(&mut again, lines.last().unwrap().len() + 50);
        assert!(short.contains("earlier entries were dropped]\n"), "{short}");
        let mut again = from;
        ok(cuLogsDumpToFile(&mut again, name.as_ptr(), 0));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        fails(cuLogsDumpToFile(&mut again, c"/none/of/it".as_ptr(), 0), INVALID_VALUE);
    }
    std::fs::remove_file(path).unwrap();
}
