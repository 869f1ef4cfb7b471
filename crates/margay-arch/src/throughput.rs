// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic: results per clock and multiprocessor, and what divergence wastes of them.
//!
//! The table is the CUDA C++ Programming Guide's, "Arithmetic Instructions"; 1.x to 3.0 as in edition 4.2
//! (5.4.1), 3.x as in 10.2, 5.0 to 8.6 as in 11 (table 3). From 9.0 on it stands in the Best Practices Guide
//! (13, 12.1.1), of which we know the cells that others quote; the rest is inferred and says so.

use serde::Serialize;

use crate::capability::ComputeCapability;
use crate::figure::{Figure, inferred_from, manual_in};

/// A row of the guide's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// 16-bit floating-point add, multiply, multiply-add, as `half2`.
    Half,
    /// 32-bit floating-point add, multiply, multiply-add.
    Single,
    /// 64-bit floating-point add, multiply, multiply-add.
    Double,
    /// Reciprocal, reciprocal square root, base-2 logarithm and exponential, sine, cosine of 32 bits.
    Special,
    /// 32-bit integer add, subtract, with carry too.
    IntegerAdd,
    /// 32-bit integer multiply, multiply-add.
    IntegerMultiply,
    /// `__mul24`.
    Multiply24,
    /// 32-bit shift.
    Shift,
    /// Compare, minimum, maximum.
    Compare,
    /// Bit reverse.
    BitReverse,
    /// Bit field extract and insert.
    BitField,
    /// 32-bit and, or, xor.
    Logic,
    /// Count of leading zeros, most significant bit.
    LeadingZeros,
    PopulationCount,
    Shuffle,
    /// Warp vote.
    Vote,
    /// Sum of absolute differences.
    AbsoluteDifference,
    /// From 8- and 16-bit integers to 32-bit types.
    ConvertNarrow,
    /// From and to 64-bit types.
    ConvertWide,
    /// All other conversions.
    Convert,
}

impl Operation {
    /// Every row, in the guide's order.
    pub const ALL: [Operation; 20] = [
        Operation::Half,
        Operation::Single,
        Operation::Double,
        Operation::Special,
        Operation::IntegerAdd,
        Operation::IntegerMultiply,
        Operation::Multiply24,
        Operation::Shift,
        Operation::Compare,
        Operation::BitReverse,
        Operation::BitField,
        Operation::Logic,
        Operation::LeadingZeros,
        Operation::PopulationCount,
        Operation::Shuffle,
        Operation::Vote,
        Operation::AbsoluteDifference,
        Operation::ConvertNarrow,
        Operation::ConvertWide,
        Operation::Convert,
    ];
}

/// How fast an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// Results per clock and multiprocessor.
    PerClock(u32),
    /// Several instructions; the guide gives no number.
    Several,
    /// The capability does not have it.
    None,
}

impl Rate {
    /// Clocks of a multiprocessor that one instruction of one warp takes of the units that execute it;
    /// the same for one active lane as for 32.
    pub fn clocks_per_warp(self) -> Option<f64> {
        match self {
            Rate::PerClock(results) => Some(32.0 / f64::from(results)),
            Rate::Several | Rate::None => None,
        }
    }
}

/// Capabilities with a column of their own, in the order of the rows below.
const COLUMNS: [(u32, u32); 19] = [
    (1, 0),
    (1, 3),
    (2, 0),
    (2, 1),
    (3, 0),
    (3, 5),
    (5, 0),
    (5, 3),
    (6, 0),
    (6, 1),
    (6, 2),
    (7, 0),
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 9),
    (9, 0),
    (10, 0),
    (12, 0),
];

/// Several instructions.
const S: i32 = -1;
/// Not available.
const N: i32 = 0;

#[rustfmt::skip]
const fn row(operation: Operation) -> [i32; 19] {
    match operation {
        //                                1.0 1.3 2.0 2.1  3.0  3.5  5.0  5.3  6.0  6.1  6.2  7.0  7.5  8.0  8.6  8.9  9.0 10.0 12.0
        Operation::Half =>               [ N,  N,  N,  N,   N,   N,   N, 256, 128,   2, 256, 128, 128, 256, 128, 128, 256, 128, 128],
        Operation::Single =>             [ 8,  8, 32, 48, 192, 192, 128, 128,  64, 128, 128,  64,  64,  64, 128, 128, 128, 128, 128],
        Operation::Double =>             [ N,  1, 16,  4,   8,  64,   4,   4,  32,   4,   4,  32,   2,  32,   2,   2,  64,  64,   2],
        Operation::Special =>            [ 2,  2,  4,  8,  32,  32,  32,  32,  16,  32,  32,  16,  16,  16,  16,  16,  16,  16,  16],
        Operation::IntegerAdd =>         [ 8,  8, 32, 48, 160, 160, 128, 128,  64, 128, 128,  64,  64,  64,  64,  64,  64,  64, 128],
        Operation::IntegerMultiply =>    [ S,  S, 16, 16,  32,  32,   S,   S,   S,   S,   S,  64,  64,  64,  64,  64,  64,  64,  64],
        Operation::Multiply24 =>         [ 8,  8,  S,  S,   S,   S,   S,   S,   S,   S,   S,   S,   S,   S,   S,   S,   S,   S,   S],
        Operation::Shift =>              [ 8,  8, 16, 16,  32,  64,  64,  64,  32,  64,  64,  64,  64,  64,  64,  64,  64,  64,  64],
        Operation::Compare =>            [ 8,  8, 32, 48, 160, 160,  64,  64,  32,  64,  64,  64,  64,  64,  64,  64,  64,  64,  64],
        Operation::BitReverse =>         [ S,  S, 16, 16,  32,  32,  64,  64,  32,  64,  64,  16,  16,  16,  16,  16,  16,  16,  16],
        Operation::BitField =>           [ S,  S, 16, 16,  32,  32,  64,  64,  32,  64,  64,   S,   S,   S,   S,   S,   S,   S,   S],
        Operation::Logic =>              [ 8,  8, 32, 48, 160, 160, 128, 128,  64, 128, 128,  64,  64,  64,  64,  64,  64,  64,  64],
        Operation::LeadingZeros =>       [ S,  S, 16, 16,  32,  32,  32,  32,  16,  32,  32,  16,  16,  16,  16,  16,  16,  16,  16],
        Operation::PopulationCount =>    [ S,  S, 16, 16,  32,  32,  32,  32,  16,  32,  32,  16,  16,  16,  16,  16,  16,  16,  16],
        Operation::Shuffle =>            [ N,  N,  N,  N,  32,  32,  32,  32,  32,  32,  32,  32,  16,  32,  32,  32,  32,  32,  32],
        Operation::Vote =>               [ N,  8, 16, 16,  32,  32,  64,  64,  64,  64,  64,  64,  64,  64,  64,  64,  64,  64, 128],
        Operation::AbsoluteDifference => [ S,  S, 16, 16,  32,  32,  64,  64,  32,  64,  64,  64,  64,  64,  64,  64,  64,  64,  64],
        Operation::ConvertNarrow =>      [ 8,  8, 16, 16, 128, 128,  32,  32,  16,  32,  32,  64,  64,  64,  64,  64,  64,  64,  64],
        Operation::ConvertWide =>        [ N,  1, 16,  4,   8,  32,   4,   4,  16,   4,   4,  16,   2,  16,   2,   2,  16,  16,   2],
        Operation::Convert =>            [ 8,  8, 16, 16,  32,  32,  32,  32,  16,  32,  32,  16,  16,  16,  16,  16,  16,  16,  16],
    }
}

/// Results per clock and multiprocessor.
///
/// Deviations inside a column, as the guide's footnotes have them: GeForce cards of 2.0 and 3.5 have a
/// quarter and an eighth of the 64-bit rate.
pub fn rate(cc: ComputeCapability, operation: Operation) -> Figure<Rate> {
    let own = COLUMNS.iter().rposition(|&(major, minor)| (major, minor) <= (cc.major, cc.minor));
    let column = own.unwrap_or(0);
    let value = match row(operation)[column] {
        // These have a data-centre part's column and a consumer part's 64-bit units.
        _ if operation == Operation::Double
            && matches!((cc.major, cc.minor), (10, 3) | (11, _)) =>
        {
            Rate::PerClock(2)
        }
        S => Rate::Several,
        N => Rate::None,
        results => Rate::PerClock(results as u32),
    };
    source(cc, operation).figure(value)
}

/// Who says so.
enum Said {
    Guide(&'static str),
    By(&'static str),
}

impl Said {
    fn figure(self, value: Rate) -> Figure<Rate> {
        match self {
            Said::Guide(place) => manual_in(value, place),
            Said::By(neighbours) => inferred_from(value, neighbours),
        }
    }
}

fn source(cc: ComputeCapability, operation: Operation) -> Said {
    const EARLY: &str = "CUDA C Programming Guide 4.2, 5.4.1 Arithmetic Instructions";
    const KEPLER: &str = "CUDA C++ Programming Guide 10.2, 5.4.1 Arithmetic Instructions";
    const GUIDE: &str = "CUDA C++ Programming Guide 11, 5.4.1 Arithmetic Instructions, table 3";
    const BEST: &str = "CUDA C++ Best Practices Guide 13, 12.1.1 Throughput of Native Arithmetic Instructions, as quoted by others";
    let printed_early = match operation {
        Operation::Vote => false,
        // 1.x: several instructions, which the guide does not count.
        Operation::BitReverse
        | Operation::BitField
        | Operation::LeadingZeros
        | Operation::AbsoluteDifference => cc.major > 1,
        Operation::Half
        | Operation::Single
        | Operation::Double
        | Operation::Special
        | Operation::IntegerAdd
        | Operation::IntegerMultiply
        | Operation::Multiply24
        | Operation::Shift
        | Operation::Compare
        | Operation::Logic
        | Operation::PopulationCount
        | Operation::Shuffle
        | Operation::ConvertNarrow
        | Operation::ConvertWide
        | Operation::Convert => true,
    };
    // Rows that are quoted of the newest table.
    let quoted = match operation {
        Operation::Half | Operation::Single | Operation::Double | Operation::IntegerAdd => true,
        Operation::IntegerMultiply
        | Operation::Shift
        | Operation::Logic
        | Operation::LeadingZeros
        | Operation::PopulationCount
        | Operation::Shuffle
        | Operation::Vote
        | Operation::Convert => cc.major >= 12,
        Operation::Special
        | Operation::Multiply24
        | Operation::Compare
        | Operation::BitReverse
        | Operation::BitField
        | Operation::AbsoluteDifference
        | Operation::ConvertNarrow
        | Operation::ConvertWide => false,
    };
    match (cc.major, cc.minor) {
        (0..=4, _) if !printed_early => {
            Said::By("neighbouring capabilities; the table has no such cell")
        }
        (0..=2, _) => Said::Guide(EARLY),
        (3 | 4, _) => Said::Guide(KEPLER),
        // No row of the table in any edition.
        (5.., _) if operation == Operation::Vote && cc.major < 12 => {
            Said::By("neighbouring capabilities; the table has no such row")
        }
        (8, 6) if operation == Operation::Half => Said::By(
            "NVIDIA's GA102 white paper, which has 16 bits at the rate of 32; the guide 11 prints 256",
        ),
        (5..=7, _) | (8, 0 | 6) => Said::Guide(GUIDE),
        (8, _) => Said::By("8.6, whose multiprocessor this is"),
        (9, 0) | (10, 0) | (12.., _) if quoted => Said::Guide(BEST),
        (9.., _) => Said::By("8.0, 8.6 and what is quoted of the newest table"),
    }
}

/// Threads of a warp that do useful work, of the 32 that are paid for.
///
/// `executed` are warp instructions, `lanes` the active lanes of all of them together. 1.0 where nothing
/// was executed.
pub fn divergence_efficiency(executed: u64, lanes: u64) -> f64 {
    if executed == 0 { 1.0 } else { lanes as f64 / (executed as f64 * 32.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(major: u32, minor: u32, operation: Operation) -> Rate {
        rate(ComputeCapability::new(major, minor), operation).value
    }

    /// Guide 4.2, 5.4.1, table 5-1; guide 10.2, 5.4.1, table 2.
    #[test]
    fn cells_of_the_guide() {
        assert_eq!(of(1, 1, Operation::Single), Rate::PerClock(8));
        assert_eq!(of(2, 1, Operation::Single), Rate::PerClock(48));
        assert_eq!(of(3, 7, Operation::Double), Rate::PerClock(64));
        assert_eq!(of(5, 2, Operation::IntegerMultiply), Rate::Several);
        assert_eq!(of(6, 1, Operation::Half), Rate::PerClock(2));
        assert_eq!(of(7, 2, Operation::Double), Rate::PerClock(32));
        assert_eq!(of(9, 0, Operation::Double), Rate::PerClock(64));
        assert_eq!(of(1, 2, Operation::Double), Rate::None);
    }

    /// Guide 11, 5.4.1, table 3: the columns 7.x, 8.0 and 8.6 with their footnotes.
    #[test]
    fn cells_of_newer_columns() {
        let column = |major, minor| {
            Operation::ALL.map(|operation| match of(major, minor, operation) {
                Rate::PerClock(n) => n,
                Rate::Several => 1,
                Rate::None => 0,
            })
        };
        let vote = 64;
        assert_eq!(
            column(7, 0),
            [128, 64, 32, 16, 64, 64, 1, 64, 64, 16, 1, 64, 16, 16, 32, vote, 64, 64, 16, 16]
        );
        assert_eq!(
            column(7, 5),
            [128, 64, 2, 16, 64, 64, 1, 64, 64, 16, 1, 64, 16, 16, 16, vote, 64, 64, 2, 16]
        );
        assert_eq!(
            column(8, 0),
            [256, 64, 32, 16, 64, 64, 1, 64, 64, 16, 1, 64, 16, 16, 32, vote, 64, 64, 16, 16]
        );
        assert_eq!(
            column(8, 6),
            [128, 128, 2, 16, 64, 64, 1, 64, 64, 16, 1, 64, 16, 16, 32, vote, 64, 64, 2, 16]
        );
        let figure =
            |major, minor, operation| rate(ComputeCapability::new(major, minor), operation);
        assert_eq!(figure(8, 0, Operation::Convert).source, crate::figure::Source::Manual);
        assert_eq!(figure(8, 9, Operation::Single).source, crate::figure::Source::Inferred);
        assert_eq!(figure(9, 0, Operation::Special).source, crate::figure::Source::Inferred);
    }

    /// The ratio of single to double precision is the limits' figure.
    #[test]
    fn ratios_agree_with_the_limits() {
        for limits in crate::gpu::ALL {
            let (single, double) = (
                rate(limits.cc, Operation::Single).value,
                rate(limits.cc, Operation::Double).value,
            );
            let ratio = match (single, double) {
                (Rate::PerClock(s), Rate::PerClock(d)) => s / d,
                _ => 0,
            };
            let stated = limits.single_to_double_ratio.value;
            // The guide gives 7.x one column; Xavier and Orin have fewer 64-bit units as devices.
            if !matches!((limits.cc.major, limits.cc.minor), (7, 2) | (8, 7)) {
                assert_eq!(ratio, stated, "{}", limits.cc);
            }
        }
    }

    #[test]
    fn divergence() {
        assert_eq!(divergence_efficiency(0, 0), 1.0);
        assert_eq!(divergence_efficiency(2, 32), 0.5);
        assert_eq!(Rate::PerClock(16).clocks_per_warp(), Some(2.0));
    }
}
