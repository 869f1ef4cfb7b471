// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single-precision functions are within the documented errors on samples, and the table of them.
//! `docs/math-accuracy.md` has the same over all arguments (`examples/accuracy.rs`).

mod measure;

use measure::{SUBJECTS, Stratified};

#[test]
fn single_precision_is_within_the_documented_bounds() {
    let mut failures = Vec::new();
    for subject in SUBJECTS {
        let types = subject.function.args();
        // One argument: bits at a stride, with all exponents and both signs.
        let worst = if types.len() == 1 {
            let stride = 20_011u64;
            let mut next = 0u64;
            subject.measure(|args| {
                args[0] = std::array::from_fn(|l| (next + l as u64 * stride) & 0xffff_ffff);
                next += stride * 32;
                next < 1 << 32
            })
        } else {
            let mut samples = Stratified::new(200_000, 0);
            subject.measure(|args| samples.fill(types, args))
        };
        let name = subject.function.name();
        println!(
            "{name:22} {:6.3} ulp, {:5.1} % of the bound, at {:?} = {:e}",
            worst.ulps,
            worst.share * 100.0,
            worst.args,
            worst.result
        );
        // The way that all arguments are measured: also that odd functions are odd.
        let screened = subject.worst(80_021, 40_000);
        for worst in [&worst, &screened] {
            if let Some(special) = &worst.special {
                failures.push(format!("{name}{special}"));
            }
            if worst.share > 1.0 {
                failures.push(format!("{name}: {} ulp at {:?}", worst.ulps, worst.args));
            }
        }
        assert!(worst.samples >= 190_000, "{name}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
