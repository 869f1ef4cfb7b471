// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many registers ptxas would give a thread: an estimate.
//!
//! Pressure alone knows nothing of what ptxas does with the time it has: it keeps parameters and constants
//! out of registers, orders loads early, unrolls loops, computes cheap values again, and calls routines
//! that have registers of their own. Here a function is first put as the hardware sees it ([`machine`]), then
//! measured in several orders ([`live`], [`schedule`], [`feeds`], [`counted`]), and boosted trees ([`trees`]) make one figure
//! of these. They were fitted to what ptxas 13.0 gave for 9.0; `docs/memory-model.md` says how far off
//! they are on other programs.
//!
//! Limit: an estimate, without launch bounds, which are a matter of the GPU. It answers queries and warns; it never refuses a launch.

mod classes;
mod counted;
mod counts;
pub mod features;
mod fed;
mod feeds;
mod linear;
mod live;
mod machine;
mod measure;
mod schedule;
mod trees;

use self::features::Features;
use self::trees::Trees;
use crate::module::Function;

/// What a function that calls another has at least: the registers that calls may change.
const WITH_CALLS: u32 = 24;
/// The least that ptxas gives.
const LEAST: u32 = 4;
/// The most that any capability's instructions can name.
const MOST: u32 = 255;

/// Registers of a thread, 4 to 255.
pub fn estimate(function: &Function) -> u32 {
    if function.blocks.is_empty() {
        return LEAST;
    }
    of_features(&Features::of(function))
}

/// Registers of a thread of a function that has these figures.
pub fn of_features(features: &Features) -> u32 {
    let learned = usual(Trees::built_in().registers(&features.values()));
    let least = if features.calls > 0 { WITH_CALLS } else { LEAST };
    // What is alive at once in the leanest order has to be somewhere, whatever was learned of smaller kernels.
    learned.max(least).max(features.lean.min(features.again) * 4 / 5).min(MOST)
}

/// The count that ptxas is likeliest to give where trees say so many: small ones are even, and it orders
/// instructions so that 32, with which a multiprocessor can be full of threads, are enough if they nearly are.
fn usual(registers: f64) -> u32 {
    // The trees hit the logarithm's mean; errors relative to the true count want somewhat less.
    let registers = registers * 0.985;
    match registers {
        ..32.0 => (registers / 2.0).round() as u32 * 2,
        32.0..38.5 => 32,
        _ => registers.round() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    fn estimated(regs: &str, body: &str) -> u32 {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\nentry \"k\" visible {{\nregs {regs}\n{body}\n}}\n"
        );
        estimate(&parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).functions[0])
    }

    #[test]
    fn constants_and_parameters_take_none() {
        let with = |value: &str| {
            estimated("w d", &format!("b0:\n {value}\n st.i32 {{global}} %1, %0\n ret"))
        };
        assert_eq!(with("%0 = mov.i32 0x1"), with("%0 = ld.i32 {param} 0x0"));
        assert!((4..12).contains(&with("%0 = mov.i32 0x1")));
    }

    #[test]
    fn what_is_alive_counts() {
        let count = 200;
        let loads: String =
            (1..=count).map(|n| format!(" %{n} = ld.i32 {{global}} %0\n")).collect();
        let stores: String =
            (1..=count).map(|n| format!(" st.i32 {{global}} %0, %{n}\n")).collect();
        let many = estimated(&format!("d w*{count}"), &format!("b0:\n{loads}{stores} ret"));
        assert!((160..=255).contains(&many), "{many}");
    }

    #[test]
    fn calls_keep_registers_of_their_own() {
        assert_eq!(estimated("w", "b0:\n ret"), LEAST);
        let with = |calls| of_features(&Features { calls, ..Features::default() });
        assert!(with(0) < WITH_CALLS && with(1) >= WITH_CALLS, "{} {}", with(0), with(1));
    }

    #[test]
    fn counts_that_ptxas_likes() {
        assert_eq!([11.2, 12.9, 31.0, 33.0, 37.0].map(usual), [12, 12, 30, 32, 32]);
        assert_eq!([45.7, 300.0].map(usual), [45, 296]);
        // No estimate falls as what the trees say rises.
        assert!((30..4000).map(|n| usual(f64::from(n) / 10.0)).is_sorted());
    }

    #[test]
    fn loads_that_may_all_be_under_way_take_more() {
        let body = |between: &str| {
            let loads: String = (1..=8)
                .map(|n| format!(" %{n} = ld.i32 {{global offset={}}} %0\n{between}", n * 4))
                .collect();
            let sums: String = (2..=8).map(|n| format!(" %1 = add.i32 %1, %{n}\n")).collect();
            format!("b0:\n %0 = ld.i64 {{param}} 0x0\n{loads}{sums} st.i32 {{global}} %0, %1\n ret")
        };
        let function = |text: &str| {
            let text = format!(
                "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\nentry \"k\" visible {{\nregs d w*8\n{text}\n}}\n"
            );
            parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).functions.remove(0)
        };
        let features = Features::of(&function(&body("")));
        // Eight loaded words; the address is a parameter.
        assert_eq!((features.early_long, features.flight_long, features.kept), (8, 8, 2));
        assert_eq!((features.loads, features.stores, features.loops), (8, 1, 0));
    }

    #[test]
    fn a_loop_that_counts_is_told_from_one_that_waits() {
        let of = |compare: &str| {
            let text = format!(
                "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\nentry \"k\" visible {{\nregs d w*4 p\n\
                 b0:\n %0 = ld.i64 {{param}} 0x0\n %1 = mov.i32 0x0\n %2 = mov.i32 0x0\n br b1\n\
                 b1:\n %3 = ld.i32 {{global}} %0\n %2 = add.i32 %2, %3\n %1 = add.i32 %1, 0x4\n {compare}\n condbr %5, b1, b2\n\
                 b2:\n st.i32 {{global}} %0, %2\n ret\n}}\n"
            );
            let module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            Features::of(&module.functions[0])
        };
        let counts = of("%5 = icmp.i32 {lt.s} %1, 0x40");
        assert_eq!((counts.counted_loops, counts.while_loops), (1, 0));
        assert_eq!((counts.step_most, counts.trips), (4, 16));
        let waits = of("%5 = icmp.i32 {eq} %3, 0x0");
        assert_eq!((waits.counted_loops, waits.while_loops), (0, 1));
        assert_eq!((waits.depth, waits.self_loops), (1, 1));
    }
}
