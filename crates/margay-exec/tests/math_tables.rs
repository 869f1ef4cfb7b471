// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every function of the CUDA guide's tables of mathematical functions, within the guide's bound; a
//! function that nothing measures fails the test. To see the table:
//!
//! `cargo test -p margay-exec --test math_tables -- --nocapture`
//!
//! Samples come from two sources: many, over all exponents and the edges of the formats, against
//! references that others wrote (`pxfm`, `libm`, exact arithmetic); and those of
//! `data/math_reference.txt`, against values that were rounded from 120 digits.

mod common;
mod lane;
#[allow(dead_code)]
#[path = "../../margay-math/tests/measure/mod.rs"]
mod measure;
mod tables;

use tables::guide::{DOUBLE, DOUBLE_INTRINSICS, SINGLE, SINGLE_INTRINSICS, rows};
use tables::measured::{Measured, measure, measure_norm, measure_stored};
use tables::subject::{Width, subject};

#[test]
fn every_function_is_within_its_bound() {
    let stored = tables::stored::read();
    let tables = [
        ("Single precision", SINGLE, Width::Single),
        ("Double precision", DOUBLE, Width::Double),
        ("Single-precision intrinsics", SINGLE_INTRINSICS, Width::Single),
        ("Double-precision intrinsics", DOUBLE_INTRINSICS, Width::Double),
    ];
    let mut failures = Vec::new();
    for (title, table, width) in tables {
        println!("\n## {title}\n");
        println!("| function | bound | worst | at | samples | of 120 digits |");
        println!("|---|---|---|---|---|---|");
        for (name, rule) in rows(table) {
            let mut measured = Measured::default();
            let mut exact = 0;
            if rule == "unstated" {
                measured = measure_norm(&name);
            } else if let Some(subject) = subject(&name, width) {
                measure(&subject, rule, &mut measured);
                for row in stored.iter().filter(|row| row.name == name) {
                    exact += row.values.len();
                    measure_stored(&subject, row, rule, &mut measured);
                }
            }
            println!("{}", measured.row(&name, rule, exact));
            if measured.samples < 1000 {
                failures.push(format!("{name}: measured at {} arguments", measured.samples));
            }
            failures.extend(measured.failures.iter().take(3).map(|f| format!("{name}{f}")));
        }
    }
    for row in &stored {
        let known = [SINGLE, DOUBLE].iter().any(|t| rows(t).iter().any(|(n, _)| *n == row.name));
        assert!(known, "{} is in no table", row.name);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
