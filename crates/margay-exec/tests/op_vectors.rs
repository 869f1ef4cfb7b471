// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every arithmetic form that an H200 was asked for, on edge values, bit by bit
//! (tests/vectors/h200/README.md; the `op_vectors` example records them).

mod lane;
mod recorded;

use std::io::Read;

const RECORDED: &[u8] = include_bytes!("../../../tests/vectors/h200/op_vectors.txt.zst");
const MORE: &[u8] = include_bytes!("../../../tests/vectors/h200/op_vectors_2.txt.zst");

#[test]
fn everything_recorded_agrees() {
    compare(RECORDED, 200_000);
}

#[test]
fn everything_of_the_second_list_agrees() {
    compare(MORE, 181_000);
}

fn compare(packed: &[u8], least: usize) {
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(packed)
        .expect("a zstd frame")
        .read_to_string(&mut text)
        .expect("the whole text");
    let (rows, differences) = recorded::compare(&text);
    assert!(rows > least, "only {rows} rows");
    let first = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} of {rows} rows differ:\n{first}", differences.len());
}

#[test]
fn a_wrong_result_and_a_damaged_file_are_noticed() {
    let good = "# add.u32 %0, %1, %2 : b32 < b32 b32\n1 2 = 3\n";
    assert_eq!(recorded::compare(good), (1, vec![]));
    for bad in [
        "# add.u32 %0, %1, %2 : b32 < b32 b32\n1 2 = 4\n",
        "# add.u32 %0, %1, %2 : b32 < b32 b32\n1 2 3\n",
        "# add.u32 %0, %1, %2 : b32 < b32 b32\n1 = 3\n",
        "# add.u32 %0, %1, %2\n1 2 = 3\n",
        "1 2 = 3\n",
    ] {
        assert_eq!(recorded::compare(bad).1.len(), 1, "{bad}");
    }
}
