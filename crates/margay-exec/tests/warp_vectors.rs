// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparisons, logic, atomics, shuffles, votes, matches, reductions, barriers and vector accesses, with lanes left out,
//! bit by bit as an H200 computed them (tests/vectors/h200/README.md; the `warp_vectors` example records them).

mod common;
mod warp;

use std::collections::BTreeMap;
use std::io::Read;

use common::{Device, Run};
use warp::{AREA, Form, WARPS};

const RECORDED: &[u8] = include_bytes!("../../../tests/vectors/h200/warp_vectors.txt.zst");

/// The hashes of a form, one for each warp.
fn run(form: &Form) -> Vec<u32> {
    let device = Device::new();
    let module = device.load(&warp::module(form));
    let (inputs, memory, masks) = (warp::inputs(), warp::memory(), warp::masks());
    let out = device.buffer(&vec![0u8; WARPS * 32 * 16]);
    let (inputs, area, masks) =
        (device.buffer(&inputs), device.buffer(&memory), device.buffer(&masks));
    let launch = Run::new(WARPS as u32, 32);
    let done = launch.go(&device, &module, "k", &[inputs, out, area, masks]);
    done.unwrap_or_else(|e| panic!("{}: {e}", form.name));
    let results = device.read::<u8>(out, WARPS * 32 * 16);
    let memory = device.read::<u8>(area, WARPS * AREA);
    results.chunks(32 * 16).zip(memory.chunks(AREA)).map(|(r, m)| warp::hash(r, m)).collect()
}

#[test]
fn every_form_leaves_what_it_left_on_the_card() {
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(RECORDED)
        .expect("a zstd frame")
        .read_to_string(&mut text)
        .expect("the whole text");
    let mut recorded = BTreeMap::new();
    for line in text.lines() {
        let (name, hashes) = line.split_once(" = ").unwrap_or_else(|| panic!("no row: {line}"));
        let hashes = hashes.split(' ').map(|h| u32::from_str_radix(h, 16).expect("a hash"));
        recorded.insert(name.to_owned(), hashes.collect::<Vec<_>>());
    }
    let forms = warp::forms::all();
    assert!(forms.len() > 500 && recorded.len() == forms.len(), "{} forms", forms.len());
    let mut wrong = Vec::new();
    for form in &forms {
        let (ours, card) = (run(form), &recorded[&form.name]);
        let at: Vec<usize> = (0..WARPS).filter(|&w| card.get(w) != Some(&ours[w])).collect();
        if !at.is_empty() {
            wrong.push(format!("{}: warps {at:?}", form.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), forms.len(), wrong.join("\n"));
}
