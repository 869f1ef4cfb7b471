// SPDX-License-Identifier: MIT OR Apache-2.0
//! The occupancy rule against everything that an H200 was asked.

use std::io::Read;

use margay_arch::{ComputeCapability, LaunchResources, Limits, occupancy};

fn h200() -> &'static Limits {
    ComputeCapability::new(9, 0).limits().unwrap()
}

fn blocks(registers: u32, threads: u32, shared: u32) -> u32 {
    let kernel = LaunchResources {
        registers_per_thread: registers,
        threads_per_block: threads,
        shared_per_block: shared,
    };
    occupancy(h200(), &kernel).blocks_per_sm
}

#[test]
fn combinations() {
    let table = include_str!("../../../tests/vectors/h200/occupancy.csv");
    let mut rows = 0;
    for line in table.lines().skip(1).filter(|l| !l.is_empty()) {
        let field: Vec<u32> = line.split(',').map(|f| f.parse().unwrap()).collect();
        assert_eq!(blocks(field[0], field[1], field[2]), field[3], "{line}");
        rows += 1;
    }
    assert_eq!(rows, 680);
}

/// Each line: registers, dynamic shared bytes, then runs of block sizes, `last:blocks`.
#[test]
fn every_block_size() {
    let packed: &[u8] = include_bytes!("../../../tests/vectors/h200/occupancy_runs.csv.zst");
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_string(&mut text).unwrap();
    let mut answers = 0;
    for line in text.lines() {
        let mut fields = line.split(',');
        let mut number = || fields.next().unwrap().parse::<u32>().unwrap();
        let (registers, shared) = (number(), number());
        let mut threads = 1;
        for run in fields {
            let (last, expected) = run.split_once(':').unwrap();
            let expected: u32 = expected.parse().unwrap();
            for threads in threads..=last.parse().unwrap() {
                assert_eq!(
                    blocks(registers, threads, shared),
                    expected,
                    "{registers} {threads} {shared}"
                );
                answers += 1;
            }
            threads = last.parse::<u32>().unwrap() + 1;
        }
    }
    assert_eq!(answers, 23 * 24 * 1024);
}
