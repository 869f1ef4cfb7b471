// SPDX-License-Identifier: MIT OR Apache-2.0
//! The help texts.

use expect_test::expect_file;

use super::Place;

#[test]
fn of_the_command_and_every_subcommand() {
    let place = Place::empty();
    let texts: Vec<(&str, Vec<&str>, expect_test::ExpectFile)> = vec![
        ("margay", vec!["--help"], expect_file!["expected/help.txt"]),
        ("run", vec!["run", "--help"], expect_file!["expected/help_run.txt"]),
        ("cc", vec!["cc", "--help"], expect_file!["expected/help_cc.txt"]),
        ("launch", vec!["launch", "--help"], expect_file!["expected/help_launch.txt"]),
        ("ptx", vec!["ptx", "--help"], expect_file!["expected/help_ptx.txt"]),
        ("gpus", vec!["gpus", "--help"], expect_file!["expected/help_gpus.txt"]),
    ];
    for (name, arguments, expected) in texts {
        let got = place.margay(&arguments);
        assert_eq!((got.code, got.stderr.as_str()), (0, ""), "{name}");
        let widest = got.stdout.lines().map(|l| l.chars().count()).max().unwrap_or(0);
        assert!(widest <= 100, "{name}: {widest} columns");
        expected.assert_eq(&got.stdout);
    }
}

#[test]
fn versions() {
    let place = Place::empty();
    assert_eq!(place.margay(&["--version"]).stdout, "margay $VERSION\n");
    let nvcc = place.margay(&["cc", "--version", "--cuda-version", "13.0"]);
    assert!(nvcc.stdout.contains("release 13.0, V13.0.0"), "{}", nvcc.stdout);
}

#[test]
fn wrong_command_lines() {
    let place = Place::empty();
    for line in
        [&["frobnicate"][..], &["run"], &["gpus", "--frobnicate"], &["launch", "x.ptx"], &[]]
    {
        let got = place.margay(line);
        assert_eq!((got.code, got.stdout.as_str()), (2, ""), "{line:?}");
        assert!(!got.stderr.is_empty(), "{line:?}");
    }
}
