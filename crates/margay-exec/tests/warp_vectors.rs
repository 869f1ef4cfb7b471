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
const FURTHER: &[u8] = include_bytes!("../../../tests/vectors/h200/warp_vectors_2.txt.zst");

/// The hashes of a form, one for each warp.
fn run(form: &Form) -> Vec<u32> {
    let device = Device::new();
    let module = device.load(&warp::module(form));
    let (inputs, memory, masks) = (warp::inputs(), warp::memory(), warp::masks());
    let out = device.buffer(&vec![0u8; WARPS * 32 * 16]);
    let (inputs, area, masks) =
        (device.buffer(&inputs), device.buffer(&memory), device.buffer(&masks));
    let mut launch = Run::new(WARPS as u32, form.block());
    launch.cluster[0] = form.cluster();
    let done = launch.go(&device, &module, "k", &[inputs, out, area, masks]);
    done.unwrap_or_else(|e| panic!("{}: {e}", form.name));
    let results = device.read::<u8>(out, WARPS * 32 * 16);
    let memory = device.read::<u8>(area, WARPS * AREA);
    results.chunks(32 * 16).zip(memory.chunks(AREA)).map(|(r, m)| warp::hash(r, m)).collect()
}

#[test]
fn every_form_leaves_what_it_left_on_the_card() {
    compare(RECORDED, warp::forms::all());
}

#[test]
fn so_do_the_forms_recorded_later() {
    compare(FURTHER, warp::forms::further());
}

fn compare(packed: &[u8], forms: Vec<Form>) {
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(packed)
        .expect("a zstd frame")
        .read_to_string(&mut text)
        .expect("the whole text");
    let mut recorded = BTreeMap::new();
    for line in text.lines() {
        let (name, hashes) = line.split_once(" = ").unwrap_or_else(|| panic!("no row: {line}"));
        let hashes = hashes.split(' ').map(|h| u32::from_str_radix(h, 16).expect("a hash"));
        recorded.insert(name.to_owned(), hashes.collect::<Vec<_>>());
    }
    assert!(forms.len() > 100 && recorded.len() == forms.len(), "{} forms", forms.len());
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

const OOB: &str = include_str!("../../../tests/vectors/h200/fma_oob.txt");

/// `form role p q = hash`: operand `role` takes every half, the others are `p` and `q` in their order.
#[test]
fn fma_oob_of_every_half() {
    let device = Device::new();
    let out = device.buffer(&vec![0u16; 65_536]);
    let mut wrong = Vec::new();
    let mut lines = 0;
    for line in OOB.lines() {
        let (head, hash) = line.split_once(" = ").unwrap_or_else(|| panic!("no row: {line}"));
        let [form, role, p, q] = *head.split(' ').collect::<Vec<_>>() else { panic!("{line}") };
        let operands = match role {
            "0" => "%h0, %h1, %h2",
            "1" => "%h1, %h0, %h2",
            _ => "%h1, %h2, %h0",
        };
        let body = format!(
            "cvt.u16.u32 %h0, %t; mov.u16 %h1, 0x{p}; mov.u16 %h2, 0x{q}; {form} %h3, {operands};\n\
             mul.wide.u32 %d0, %t, 2; add.u64 %d0, %d0, %a0; st.global.u16 [%d0], %h3; ret;"
        );
        let module = device.load(&common::kernel(&body));
        let done = Run::new(256, 256).go(&device, &module, "k", &[out, 0, 0]);
        done.unwrap_or_else(|e| panic!("{line}: {e}"));
        let bytes = device.read::<u8>(out, 131_072);
        let ours = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        if format!("{ours:016x}") != hash {
            wrong.push(line);
        }
        lines += 1;
    }
    assert_eq!(lines, 120);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
