// SPDX-License-Identifier: MIT OR Apache-2.0
//! The occupancy rule against every combination that an H200 was asked for.

use margay_arch::{ComputeCapability, LaunchResources, occupancy};

#[test]
fn agrees_with_an_h200() {
    let table = include_str!("../../../tests/vectors/h200/occupancy.csv");
    let limits = ComputeCapability::new(9, 0).limits().unwrap();
    let mut rows = 0;
    for line in table.lines().skip(1).filter(|l| !l.is_empty()) {
        let field: Vec<u32> = line.split(',').map(|f| f.parse().unwrap()).collect();
        let kernel = LaunchResources {
            registers_per_thread: field[0],
            threads_per_block: field[1],
            shared_per_block: field[2],
        };
        assert_eq!(occupancy(limits, &kernel).blocks_per_sm, field[3], "{line}");
        rows += 1;
    }
    assert_eq!(rows, 680);
}
