// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay explain`.

use expect_test::expect_file;

use super::Place;

/// One text for each kind of answer. They should teach: read them when they change.
#[test]
fn texts() {
    let place = Place::empty();
    let lines: [&[&str]; 12] = [
        &["bank", "--gpu", "2.0", "--width", "4", "--stride", "3"],
        &["bank", "--pattern", "tid*32"],
        &["bank", "--gpu", "1.3", "--width", "8", "--stride", "1"],
        &["bank", "--gpu", "1.0", "--width", "1", "--stride", "1"],
        &["bank", "--gpu", "1.0,1.3,2.0,3.0,h200", "--pattern", "tid%16 < 2 ? 0 : tid%16"],
        &["bank", "--atomic", "add", "--pattern", "tid%4"],
        &["coalesce", "--gpu", "1.3", "--base", "64", "--stride", "3", "--mask", "ffff"],
        &["coalesce", "--gpu", "1.0,1.3,2.0,3.0,h200", "--stride", "2"],
        &["constant", "--pattern", "tid/8"],
        &["local", "--width", "8", "--pattern", "tid%2"],
        &["occupancy", "--registers", "40", "--shared", "8192", "--threads", "256"],
        &["occupancy", "--gpu", "1.0,2.0,h200", "--registers", "40", "--threads", "250"],
    ];
    let mut all = String::new();
    for line in lines {
        let got = place.margay(&[&["explain"], line].concat());
        assert_eq!((got.code, got.stderr.as_str()), (0, ""), "{line:?}");
        assert!(got.stdout.lines().all(|l| l.chars().count() <= 100), "{}", got.stdout);
        all += &format!("$ margay explain {}\n{}\n", line.join(" "), got.stdout);
    }
    expect_file!["expected/explain.txt"].assert_eq(&all);
}

#[test]
fn wrong_command_lines() {
    let place = Place::empty();
    let fails = |line: &[&str], words: &str| {
        let got = place.margay(&[&["explain"], line].concat());
        assert_eq!((got.code, got.stdout.as_str()), (2, ""), "{line:?}");
        assert!(got.stderr.contains(words), "{line:?}: {}", got.stderr);
    };
    fails(&["bank", "--gpu", "h20"], "Known: 8800gtx");
    fails(&["bank", "--gpu", "h20"], "Did you mean h200");
    fails(&["occupancy", "--gpu", "4.0", "--registers", "1", "--threads", "1"], "Known: 8800gtx");
    fails(&["bank", "--pattern", "tid*"], "  tid*\n      ^");
    fails(&["bank", "--pattern", "tid-1"], "element -1 for lane 0");
    fails(&["bank", "--pattern", "1/tid"], "divides by zero for lane 0");
    fails(&["bank", "--width", "3"], "not 3");
    fails(&["bank", "--width", "32"], "only global memory");
    fails(&["coalesce", "--width", "32"], "10.0 has");
    fails(&["bank", "--base", "2"], "lane 0's address 2 is no multiple of the width 4");
    fails(&["bank", "--mask", "xyz"], "hexadecimal");
    fails(&["bank", "--mask", "0"], "no lane is active");
    fails(&["bank", "--addresses", "0,4", "--stride", "2"], "cannot be used with");
    fails(&["bank", "--gpu", "1.0", "--atomic", "add"], "1.2 is the first that has it");
    fails(&["bank", "--bank-mode", "8"], "only 3.x");
    fails(&["constant", "--store"], "only be loaded from");
    fails(&["local", "--atomic", "add"], "no atomics on local");
    fails(&["occupancy"], "--registers");
    fails(&["occupancy", "--registers", "1", "--threads", "0"], "at least one thread");
}

/// What the JSON and the picture say of the same access.
#[test]
fn json_and_picture() {
    let place = Place::empty();
    let line = ["explain", "bank", "--gpu", "2.0,3.0", "--stride", "2"];
    let json = place.margay(&[&line[..], &["--json"]].concat()).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["gpus"][0]["counts"]["wavefronts"], 2);
    assert_eq!(json["gpus"][1]["counts"]["wavefronts"], 1);
    assert_eq!(json["gpus"][0]["bank_requests"][0]["banks"][0]["words"][1]["lanes"][0], 16);
    assert_eq!(json["gpus"][0]["rule"]["source"], "manual");
    assert_eq!(json["gpus"][1]["machine"]["names"][0], "LDS");
    let svg = place.margay(&[&line[..], &["--svg"]].concat()).stdout;
    assert!(svg.starts_with("<svg xmlns") && svg.trim_end().ends_with("</svg>"));
    // 16 banks of the first GPU are marked with their two passes, none of the second.
    assert_eq!(svg.matches("2×").count(), 16);
    for (what, mark) in [("coalesce", "/32<"), ("constant", "32.<"), ("local", "/32<")] {
        let svg = place.margay(&["explain", what, "--svg"]).stdout;
        assert!(svg.contains(mark), "{what}\n{svg}");
    }
    let bars = ["explain", "occupancy", "--registers", "40", "--threads", "256"];
    let svg = place.margay(&[&bars[..], &["--svg"]].concat()).stdout;
    assert!(svg.contains("6, the limit"));
    let json = place.margay(&[&bars[..], &["--json"]].concat()).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["blocks_per_sm"], 6);
    assert_eq!(json[0]["steps"][0]["to"], 32);
}

#[test]
fn rows_in_bulk() {
    let place = Place::empty();
    let offsets = (0..32).map(|lane| (lane * 32 * 4).to_string()).collect::<Vec<_>>().join(",");
    let row = |id: u32, space: &str, op: &str, width: u32, more: &str| {
        format!(
            "{{\"id\":{id},\"space\":\"{space}\",\"op\":\"{op}\",\"width\":{width},\"base\":0,\
             \"active\":\"ffffffff\",\"offsets\":[{offsets}],\"counters\":{{\"x\":1}}{more}}}\n"
        )
    };
    let rows = row(7, "shared", "ld", 4, "")
        + "\n"
        + &row(8, "global", "st", 16, "")
        + &row(9, "const", "ld", 4, "")
        + &row(10, "shared", "atom", 4, ",\"atomic\":\"add.f32\"");
    place.write("rows.jsonl", rows);
    let got = place.margay(&["explain", "access", "--gpu", "h200", "--jsonl", "rows.jsonl"]);
    assert_eq!((got.code, got.stderr.as_str()), (0, ""));
    let lines: Vec<serde_json::Value> =
        got.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let counter = |line: usize, name: &str| lines[line]["counters"][name].as_u64().unwrap();
    assert_eq!(lines.iter().map(|l| l["id"].as_u64().unwrap()).collect::<Vec<_>>(), [7, 8, 9, 10]);
    assert_eq!(counter(0, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld"), 32);
    assert_eq!(counter(1, "l1tex__t_sectors_pipe_lsu_mem_global_op_st"), 32);
    assert_eq!(counter(2, "sm__idc_divergent_instruction_replays"), 31);
    assert_eq!(counter(3, "smsp__inst_executed_op_shared_atom"), 32);

    let fails = |content: &str, stderr: &str| {
        place.write("bad.jsonl", content);
        let got = place.margay(&["explain", "access", "--jsonl", "bad.jsonl"]);
        assert_eq!(got.code, 1, "{content}");
        assert!(
            got.stderr.contains("bad.jsonl:1: ") && got.stderr.contains(stderr),
            "{}",
            got.stderr
        );
    };
    fails("{", "EOF");
    fails(&row(1, "texture", "ld", 4, ""), "space `texture`; known are shared");
    fails(&row(1, "shared", "add", 4, ""), "op `add`; known are ld");
    fails(&row(1, "shared", "ld", 5, ""), "width 5");
    fails(&row(1, "const", "st", 4, ""), "const memory has no `st`");
    fails(&row(1, "shared", "ld", 4, "").replace("[0,", "["), "31 offsets");
    fails(
        &row(1, "shared", "ld", 4, "").replace("[0,", "[2,"),
        "lane 0's address 2 is no multiple of 4",
    );
    let got = place.margay(&["explain", "access", "--jsonl", "missing.jsonl"]);
    assert_eq!(got.code, 125);
}

#[test]
fn occupancies_in_bulk() {
    let place = Place::empty();
    let recorded = include_str!("../../../../tests/vectors/h200/occupancy.csv");
    let question: String =
        recorded.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    place.write("in.csv", question);
    let got = place.margay(&["explain", "occupancy", "--gpu", "h200", "--csv", "in.csv"]);
    assert_eq!((got.code, got.stderr.as_str()), (0, ""));
    assert_eq!(got.stdout, recorded);
    place.write("bad.csv", "20,32,0\n20,x,0\n");
    let got = place.margay(&["explain", "occupancy", "--csv", "bad.csv"]);
    assert_eq!(got.code, 1);
    assert!(got.stderr.contains("bad.csv:2: `x` is no number"), "{}", got.stderr);
}
