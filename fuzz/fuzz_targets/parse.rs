// SPDX-License-Identifier: MIT OR Apache-2.0
//! No bytes make the PTX parser panic, errors can be rendered, and what parses survives being printed and
//! parsed again.
//!
//! Run it from the repository's root with `cargo +nightly fuzz run parse fuzz/corpus/parse
//! crates/margay-ptx/tests/ptx -- -dict=fuzz/ptx.dict`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use margay_ptx::{parse, print, text_of};

fuzz_target!(|bytes: &[u8]| {
    let text = text_of(bytes);
    let mut module = match parse(&text) {
        Ok(module) => module,
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                let _ = error.render("fuzz", &text);
            }
            return;
        }
    };
    let printed = print(&module);
    let mut again = match parse(&printed) {
        Ok(again) => again,
        Err(errors) => panic!("what was printed does not parse: {}\n{printed}", errors[0]),
    };
    assert_eq!(print(&again), printed, "printing is not stable");
    module.erase_spans();
    again.erase_spans();
    assert!(module == again, "the round trip changed the tree:\n{printed}");
});
