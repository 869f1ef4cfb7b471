// SPDX-License-Identifier: MIT OR Apache-2.0
//! The constant cache of a chosen size: what fits hits, what does not misses, and a write empties it.

mod common;

use common::Bench;
use margay_observe::Tool;
use margay_observe::constant_cache::{ConstantCache, Row};
use margay_observe::tool::CopyEvent;

/// Reads 64 words of a table, one after the other.
const TABLE: &str = "
.version 8.0
.target sm_90
.address_size 64
.const .align 64 .b8 table[256];
.visible .entry sum(.param .u64 out) {
  .reg .u32 %r<4>; .reg .u64 %d<4>; .reg .pred %p;
  ld.param.u64 %d0, [out];
  mov.u64 %d1, table;
  mov.u32 %r0, 0; mov.u32 %r1, 0;
loop:
  ld.const.u32 %r2, [%d1];
  add.u32 %r1, %r1, %r2;
  add.u64 %d1, %d1, 4;
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p, %r0, 64;
  @%p bra loop;
  st.global.u32 [%d0], %r1;
  ret;
}";

/// The row after `launches` of one warp; the host writes the table before each but the first, if `written`.
fn row(bytes: u32, launches: u32, written: bool) -> Row {
    let mut bench = Bench::new(&["h200"]);
    let module = bench.load_text(TABLE);
    let cache = ConstantCache::start(&[margay_arch::find("h200").unwrap()], Some(bytes));
    let out = bench.buffer(&[0; 4]);
    for n in 0..launches {
        if written && n > 0 {
            cache.copied(&CopyEvent {
                to: module.addresses[0] + 4,
                from: None,
                bytes: 4,
                stream: 0,
                order: None,
            });
        }
        bench.launch_under(&cache, &module, "sum", [1; 3], [32, 1, 1], &[out]);
    }
    let [row] = &cache.rows()[..] else { panic!("one row: {:?}", cache.rows()) };
    row.clone()
}

#[test]
fn a_table_that_fits_is_read_from_memory_once() {
    // Four lines of 64 bytes.
    let row = row(1024, 3, false);
    assert_eq!((row.kernel.as_str(), row.variable.as_str(), row.size), ("sum", "table", 256));
    assert_eq!((row.launches, row.hits, row.misses, row.emptied), (3, 188, 4, 0));
    assert_eq!(row.hint(1024), None);
}

#[test]
fn a_write_by_the_host_throws_it_away() {
    let row = row(1024, 3, true);
    assert_eq!((row.hits, row.misses, row.emptied), (180, 12, 2));
    assert!(row.hint(1024).unwrap().contains("global const"));
}

#[test]
fn a_cache_of_no_line_never_hits() {
    let row = row(32, 1, false);
    assert_eq!((row.hits, row.misses), (0, 64));
    assert!(row.hint(32).unwrap().contains("do not fit"));
}
