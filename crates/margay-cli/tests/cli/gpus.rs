// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay gpus`.

use std::process::Stdio;

use expect_test::expect_file;

use super::Place;

#[test]
fn the_list_and_one_card() {
    let place = Place::empty();
    let list = place.margay(&["gpus"]);
    expect_file!["expected/gpus.txt"].assert_eq(&list.stdout);
    let card = place.margay(&["gpus", "h200"]);
    expect_file!["expected/gpus_h200.txt"].assert_eq(&card.stdout);
    assert_eq!((list.code, card.code), (0, 0));
    assert_eq!(place.margay(&["gpus", "sm_90"]).stdout, card.stdout);
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_margay"));
    // More than a pipe holds.
    command.args(["gpus", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!(
        (done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()),
        (Some(141), "")
    );
}

#[test]
fn every_card_fits_a_terminal() {
    let place = Place::empty();
    let list = place.margay(&["gpus"]).stdout;
    for line in list.lines().skip(1).take_while(|l| !l.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        let got = place.margay(&["gpus", name]);
        assert_eq!(got.code, 0, "{name}");
        assert!(got.stdout.lines().all(|l| l.chars().count() <= 90), "{name}\n{}", got.stdout);
    }
}

#[test]
fn json_has_sources() {
    let place = Place::empty();
    let all: serde_json::Value =
        serde_json::from_str(&place.margay(&["gpus", "--json"]).stdout).unwrap();
    assert!(all.as_array().unwrap().len() >= 29);
    let one: serde_json::Value =
        serde_json::from_str(&place.margay(&["gpus", "h200", "--json"]).stdout).unwrap();
    assert_eq!(one["card"]["sm_count"]["value"], 132);
    assert_eq!(one["card"]["sm_count"]["source"], "measured");
}

#[test]
fn unknown_names_list_near_ones() {
    let place = Place::empty();
    let text = "margay: error: no GPU is called `v10`. Did you mean v100? `margay gpus` lists all.\n  Known: 8800gtx ";
    place.write("k.ptx", "");
    for line in [
        &["gpus", "v10"][..],
        &["run", "--gpu", "h200,v10", "x.cu"],
        &["ptx", "--gpu", "v10", "x.cu"],
        &["launch", "--gpu", "v10", "k.ptx", "k"],
    ] {
        let got = place.margay(line);
        assert_eq!(got.code, 2, "{line:?}: {}", got.stderr);
        assert!(got.stderr.starts_with(text), "{line:?}: {}", got.stderr);
        assert!(got.stderr.contains(" rtx5090 "), "{line:?}: {}", got.stderr);
    }
}
