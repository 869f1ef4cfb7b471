// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point comparisons (PTX ISA, `set`, `setp`: "Comparison operators").
//!
//! The ordered forms are false when an operand is NaN, those ending in `u` are true then.
//! Integer comparisons are beside the other integer operations in [`super::int`].

use margay_ir::FloatCmp;

macro_rules! comparisons {
    ($name:ident, $doc:literal, $lane:ty, $float:ty, $value:expr) => {
        #[doc = $doc]
        pub mod $name {
            use super::*;

            #[inline(always)]
            fn value<const FTZ: bool>(a: $lane) -> $float {
                ($value)(a, FTZ)
            }
            comparisons!(@ordered $lane, eq ==, lt <, le <=, gt >, ge >=);
            comparisons!(@unordered $lane, neu !=);
            #[inline(always)]
            fn either_nan<const FTZ: bool>(a: $lane, b: $lane) -> bool {
                value::<FTZ>(a).is_nan() | value::<FTZ>(b).is_nan()
            }
            #[inline(always)]
            pub fn ne<const FTZ: bool>(a: $lane, b: $lane) -> bool {
                neu::<FTZ>(a, b) & !either_nan::<FTZ>(a, b)
            }
            comparisons!(@or_nan $lane, equ eq, ltu lt, leu le, gtu gt, geu ge);
            /// Both are numbers.
            #[inline(always)]
            pub fn num<const FTZ: bool>(a: $lane, b: $lane) -> bool {
                !either_nan::<FTZ>(a, b)
            }
            /// One is NaN.
            #[inline(always)]
            pub fn nan<const FTZ: bool>(a: $lane, b: $lane) -> bool {
                either_nan::<FTZ>(a, b)
            }
            /// The comparison's function, chosen once when an instruction is decoded.
            pub fn fcmp<const FTZ: bool>(cmp: FloatCmp) -> fn($lane, $lane) -> bool {
                match cmp {
                    FloatCmp::Eq => eq::<FTZ>,
                    FloatCmp::Ne => ne::<FTZ>,
                    FloatCmp::Lt => lt::<FTZ>,
                    FloatCmp::Le => le::<FTZ>,
                    FloatCmp::Gt => gt::<FTZ>,
                    FloatCmp::Ge => ge::<FTZ>,
                    FloatCmp::EqU => equ::<FTZ>,
                    FloatCmp::NeU => neu::<FTZ>,
                    FloatCmp::LtU => ltu::<FTZ>,
                    FloatCmp::LeU => leu::<FTZ>,
                    FloatCmp::GtU => gtu::<FTZ>,
                    FloatCmp::GeU => geu::<FTZ>,
                    FloatCmp::Num => num::<FTZ>,
                    FloatCmp::Nan => nan::<FTZ>,
                }
            }
        }
    };
    (@ordered $lane:ty, $($f:ident $op:tt),*) => { $(
        #[inline(always)]
        pub fn $f<const FTZ: bool>(a: $lane, b: $lane) -> bool {
            value::<FTZ>(a) $op value::<FTZ>(b)
        }
    )* };
    (@unordered $lane:ty, $f:ident $op:tt) => {
        #[inline(always)]
        pub fn $f<const FTZ: bool>(a: $lane, b: $lane) -> bool {
            value::<FTZ>(a) $op value::<FTZ>(b)
        }
    };
    (@or_nan $lane:ty, $($f:ident $ordered:ident),*) => { $(
        #[inline(always)]
        pub fn $f<const FTZ: bool>(a: $lane, b: $lane) -> bool {
            $ordered::<FTZ>(a, b) | either_nan::<FTZ>(a, b)
        }
    )* };
}

comparisons!(single, "f32.", u32, f32, |a, ftz| if ftz {
    super::super::float::single::input::<true>(a)
} else {
    f32::from_bits(a)
});
comparisons!(double, "f64; `FTZ` has no effect.", u64, f64, |a, _ftz| f64::from_bits(a));
comparisons!(f16, "f16.", u32, f32, |a, ftz| if ftz {
    super::super::half_float::f16::input::<true>(a)
} else {
    super::super::half_float::f16_to_f32(a)
});
comparisons!(bf16, "bf16.", u32, f32, |a, ftz| if ftz {
    super::super::half_float::bf16::input::<true>(a)
} else {
    super::super::half_float::bf16_to_f32(a)
});

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(FloatCmp, [bool; 4]); 14] = [
        // less, equal, greater, unordered
        (FloatCmp::Eq, [false, true, false, false]),
        (FloatCmp::Ne, [true, false, true, false]),
        (FloatCmp::Lt, [true, false, false, false]),
        (FloatCmp::Le, [true, true, false, false]),
        (FloatCmp::Gt, [false, false, true, false]),
        (FloatCmp::Ge, [false, true, true, false]),
        (FloatCmp::EqU, [false, true, false, true]),
        (FloatCmp::NeU, [true, false, true, true]),
        (FloatCmp::LtU, [true, false, false, true]),
        (FloatCmp::LeU, [true, true, false, true]),
        (FloatCmp::GtU, [false, false, true, true]),
        (FloatCmp::GeU, [false, true, true, true]),
        (FloatCmp::Num, [true, true, true, false]),
        (FloatCmp::Nan, [false, false, false, true]),
    ];

    #[test]
    fn every_relation() {
        for (cmp, expected) in ALL {
            let relation = |a: f32, b: f32| match a.partial_cmp(&b) {
                Some(order) => expected[(order as i8 + 1) as usize],
                None => expected[3],
            };
            // All of these are exact in f16 and bf16 as well.
            let values = [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 0.5, 1.0, f32::INFINITY];
            for a in values {
                for b in values {
                    let want = relation(a, b);
                    let name = format!("{cmp:?} {a} {b}");
                    let (x, y) = (a.to_bits(), b.to_bits());
                    assert_eq!(single::fcmp::<false>(cmp)(x, y), want, "{name}");
                    assert_eq!(bf16::fcmp::<false>(cmp)(x >> 16, y >> 16), want, "{name}");
                    let (x, y) = ((a as f64).to_bits(), (b as f64).to_bits());
                    assert_eq!(double::fcmp::<false>(cmp)(x, y), want, "{name}");
                    let half = super::super::half_float::f32_to_f16;
                    assert_eq!(f16::fcmp::<false>(cmp)(half(a), half(b)), want, "{name}");
                }
            }
        }
    }

    #[test]
    fn flushing_makes_subnormals_equal_to_zero() {
        assert!(single::eq::<true>(1, 0x8000_0001) && !single::eq::<false>(1, 0));
        assert!(f16::eq::<true>(1, 0x8000) && f16::gt::<false>(1, 0x8000));
        assert!(single::lt::<true>(0x8080_0000, 1), "the smallest normal stays");
    }
}
