// SPDX-License-Identifier: MIT OR Apache-2.0
//! The samples of `data/math_reference.txt`, drawn as `math_reference.py` drew them.

use std::io::Read;

const SPECIFICATION: &str = include_str!("../data/math_reference.txt");
const VALUES: &[u8] = include_bytes!("../data/math_reference.bin.zst");

/// A line's samples.
pub struct Row {
    pub name: String,
    /// For each sample its arguments.
    pub args: Vec<Vec<f64>>,
    /// The nearest doubles of the exact results.
    pub values: Vec<f64>,
}

fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn draw(specification: &str, r: u64) -> f64 {
    let words: Vec<&str> = specification.split(':').collect();
    let number = |i: usize| words[i].parse::<f64>().unwrap();
    match words[0] {
        "i" => number(1),
        "u" => number(1) + (number(2) - number(1)) * ((r >> 11) as f64 * 2f64.powi(-53)),
        kind => {
            let (from, to) = (number(1) as i64, number(2) as i64);
            let exponent = from + ((r >> 53) % (to - from + 1) as u64) as i64;
            let sign = if kind == "s" { r >> 52 & 1 } else { 0 };
            f64::from_bits(sign << 63 | ((exponent + 1023) as u64) << 52 | r & ((1 << 52) - 1))
        }
    }
}

pub fn read() -> Vec<Row> {
    let mut bytes = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(VALUES).unwrap().read_to_end(&mut bytes).unwrap();
    let mut values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    let mut rows = Vec::new();
    for line in SPECIFICATION.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, count) = (words[0], words[1].parse::<usize>().unwrap());
        let fnv = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
        let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
        let mut args = Vec::new();
        for _ in 0..count {
            let mut sample = Vec::new();
            for specification in &words[2..] {
                state = state.wrapping_add(1);
                let x = draw(specification, mix(state));
                // `jnf`, `ynf`: the only ones of single precision here.
                let narrow = name.ends_with("nf");
                sample.push(if narrow { f64::from(x as f32) } else { x });
            }
            args.push(sample);
        }
        let values: Vec<f64> = values.by_ref().take(count).collect();
        assert_eq!(values.len(), count, "{name}: run math_reference.py again");
        rows.push(Row { name: name.to_owned(), args, values });
    }
    assert!(values.next().is_none(), "run math_reference.py again");
    rows
}
