// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values with operators, so that functions read like formulas: `(x * y).mul_add(z, 1.0)`.
//!
//! A value is a handle of [`Ops`] and one of its lanes' types. The right-hand side of an operator
//! may be a Rust constant.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use crate::ops::Ops;

/// A constant or a value, as an operand next to a value of type `T`.
pub trait Operand<O: Ops, T> {
    fn with(self, o: O) -> T;
}

macro_rules! value {
    ($(#[$doc:meta])* $name:ident $lane:ident $select:ident) => {
        $(#[$doc])*
        pub struct $name<O: Ops> {
            pub o: O,
            pub v: O::$lane,
        }
        impl<O: Ops> Clone for $name<O> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<O: Ops> Copy for $name<O> {}
        impl<O: Ops> Operand<O, $name<O>> for $name<O> {
            #[inline(always)]
            fn with(self, _o: O) -> Self {
                self
            }
        }
        impl<O: Ops> Blend<O> for $name<O> {
            #[inline(always)]
            fn blend(m: Mask<O>, a: Self, b: Self) -> Self {
                $name { o: m.o, v: m.o.$select(m.v, a.v, b.v) }
            }
        }
    };
}

/// What a mask can select from.
pub trait Blend<O: Ops>: Copy {
    fn blend(m: Mask<O>, a: Self, b: Self) -> Self;
}

value! {
    /// Binary32.
    F32 F32 select_f32
}
value! {
    /// Binary64.
    F64 F64 select_f64
}
value! {
    /// 32-bit integer.
    I32 I32 select_i32
}
value! {
    /// 64-bit integer.
    I64 I64 select_i64
}

/// Truth value.
pub struct Mask<O: Ops> {
    pub o: O,
    pub v: O::Mask,
}
impl<O: Ops> Clone for Mask<O> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops> Copy for Mask<O> {}
impl<O: Ops> Mask<O> {
    /// `a` where set, else `b`. Either, not both, may be a constant.
    #[inline(always)]
    pub fn select<T: Blend<O>>(self, a: T, b: impl Operand<O, T>) -> T {
        T::blend(self, a, b.with(self.o))
    }
}
impl<O: Ops> BitAnd for Mask<O> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Mask { o: self.o, v: self.o.and_mask(self.v, other.v) }
    }
}
impl<O: Ops> BitOr for Mask<O> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Mask { o: self.o, v: self.o.or_mask(self.v, other.v) }
    }
}
impl<O: Ops> Not for Mask<O> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Mask { o: self.o, v: self.o.not_mask(self.v) }
    }
}

macro_rules! operator {
    ($name:ident: $($trait:ident $method:ident $op:ident)*) => { $(
        impl<O: Ops, R: Operand<O, $name<O>>> $trait<R> for $name<O> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: R) -> Self {
                $name { o: self.o, v: self.o.$op(self.v, other.with(self.o).v) }
            }
        }
    )* };
}

macro_rules! float {
    ($name:ident $f:ident $int:ident $constant:ident $neg:ident $abs:ident $fma:ident $sqrt:ident
     $rint:ident $floor:ident $ceil:ident $trunc:ident $eq:ident $lt:ident $le:ident $nan:ident
     $bits:ident: $($operator:tt)*) => {
        operator! { $name: $($operator)* }
        impl<O: Ops> Operand<O, $name<O>> for $f {
            #[inline(always)]
            fn with(self, o: O) -> $name<O> {
                $name { o, v: o.$constant(self) }
            }
        }
        impl<O: Ops> Neg for $name<O> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                $name { o: self.o, v: self.o.$neg(self.v) }
            }
        }
        impl<O: Ops> $name<O> {
            /// A constant beside this value.
            #[inline(always)]
            pub fn k(self, v: $f) -> Self {
                v.with(self.o)
            }
            /// `self * a + b`, rounded once.
            #[inline(always)]
            pub fn mul_add(self, a: impl Operand<O, Self>, b: impl Operand<O, Self>) -> Self {
                let o = self.o;
                $name { o, v: o.$fma(self.v, a.with(o).v, b.with(o).v) }
            }
            #[inline(always)]
            pub fn sqrt(self) -> Self {
                $name { o: self.o, v: self.o.$sqrt(self.v) }
            }
            #[inline(always)]
            pub fn abs(self) -> Self {
                $name { o: self.o, v: self.o.$abs(self.v) }
            }
            #[inline(always)]
            pub fn rint(self) -> Self {
                $name { o: self.o, v: self.o.$rint(self.v) }
            }
            #[inline(always)]
            pub fn floor(self) -> Self {
                $name { o: self.o, v: self.o.$floor(self.v) }
            }
            #[inline(always)]
            pub fn ceil(self) -> Self {
                $name { o: self.o, v: self.o.$ceil(self.v) }
            }
            #[inline(always)]
            pub fn trunc(self) -> Self {
                $name { o: self.o, v: self.o.$trunc(self.v) }
            }
            #[inline(always)]
            pub fn equals(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$eq(self.v, b.with(self.o).v) }
            }
            #[inline(always)]
            pub fn lt(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$lt(self.v, b.with(self.o).v) }
            }
            #[inline(always)]
            pub fn le(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$le(self.v, b.with(self.o).v) }
            }
            #[inline(always)]
            pub fn gt(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$lt(b.with(self.o).v, self.v) }
            }
            #[inline(always)]
            pub fn ge(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$le(b.with(self.o).v, self.v) }
            }
            #[inline(always)]
            pub fn is_nan(self) -> Mask<O> {
                Mask { o: self.o, v: self.o.$nan(self.v) }
            }
            #[inline(always)]
            pub fn bits(self) -> $int<O> {
                $int { o: self.o, v: self.o.$bits(self.v) }
            }
            /// The smaller; `b` where an operand is NaN.
            #[inline(always)]
            pub fn min(self, b: impl Operand<O, Self>) -> Self {
                let b = b.with(self.o);
                self.lt(b).select(self, b)
            }
            /// The larger; `b` where an operand is NaN.
            #[inline(always)]
            pub fn max(self, b: impl Operand<O, Self>) -> Self {
                let b = b.with(self.o);
                self.gt(b).select(self, b)
            }
            /// A polynomial in `self`, by Horner's rule with `mul_add`; the coefficient of the
            /// highest power comes first.
            #[inline(always)]
            pub fn poly<const N: usize>(self, coefficients: [$f; N]) -> Self {
                let mut sum = self.k(coefficients[0]);
                let mut i = 1;
                while i < N {
                    sum = sum.mul_add(self, coefficients[i]);
                    i += 1;
                }
                sum
            }
        }
    };
}

float! { F32 f32 I32 const_f32 neg_f32 abs_f32 fma_f32 sqrt_f32 rint_f32 floor_f32 ceil_f32 trunc_f32
eq_f32 lt_f32 le_f32 is_nan_f32 f32_as_i32:
Add add add_f32 Sub sub sub_f32 Mul mul mul_f32 Div div div_f32 }
float! { F64 f64 I64 const_f64 neg_f64 abs_f64 fma_f64 sqrt_f64 rint_f64 floor_f64 ceil_f64 trunc_f64
eq_f64 lt_f64 le_f64 is_nan_f64 f64_as_i64:
Add add add_f64 Sub sub sub_f64 Mul mul mul_f64 Div div div_f64 }

macro_rules! integer {
    ($name:ident $i:ident $u:ident $float:ident $constant:ident $shr:ident $eq:ident $lt:ident
     $ult:ident $from_bits:ident: $($operator:tt)*) => {
        operator! { $name: $($operator)* }
        impl<O: Ops> Operand<O, $name<O>> for $i {
            #[inline(always)]
            fn with(self, o: O) -> $name<O> {
                $name { o, v: o.$constant(self) }
            }
        }
        impl<O: Ops> Operand<O, $name<O>> for $u {
            #[inline(always)]
            fn with(self, o: O) -> $name<O> {
                $name { o, v: o.$constant(self as $i) }
            }
        }
        impl<O: Ops> $name<O> {
            /// A constant beside this value.
            #[inline(always)]
            pub fn k(self, v: $i) -> Self {
                v.with(self.o)
            }
            /// Shifted right, filled with zeros; `>>` fills with the sign.
            #[inline(always)]
            pub fn shr_logical(self, n: impl Operand<O, Self>) -> Self {
                $name { o: self.o, v: self.o.$shr(self.v, n.with(self.o).v) }
            }
            #[inline(always)]
            pub fn equals(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$eq(self.v, b.with(self.o).v) }
            }
            /// As signed integers.
            #[inline(always)]
            pub fn lt(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$lt(self.v, b.with(self.o).v) }
            }
            /// As signed integers.
            #[inline(always)]
            pub fn gt(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$lt(b.with(self.o).v, self.v) }
            }
            /// As unsigned integers.
            #[inline(always)]
            pub fn below(self, b: impl Operand<O, Self>) -> Mask<O> {
                Mask { o: self.o, v: self.o.$ult(self.v, b.with(self.o).v) }
            }
            #[inline(always)]
            pub fn as_float(self) -> $float<O> {
                $float { o: self.o, v: self.o.$from_bits(self.v) }
            }
        }
    };
}

integer! { I32 i32 u32 F32 const_i32 shr_i32 eq_i32 lt_i32 ult_i32 i32_as_f32:
Add add add_i32 Sub sub sub_i32 Mul mul mul_i32 BitAnd bitand and_i32 BitOr bitor or_i32
BitXor bitxor xor_i32 Shl shl shl_i32 Shr shr sar_i32 }
integer! { I64 i64 u64 F64 const_i64 shr_i64 eq_i64 lt_i64 ult_i64 i64_as_f64:
Add add add_i64 Sub sub sub_i64 Mul mul mul_i64 BitAnd bitand and_i64 BitOr bitor or_i64
BitXor bitxor xor_i64 Shl shl shl_i64 Shr shr sar_i64 }

impl<O: Ops> F32<O> {
    /// The same number in double precision.
    #[inline(always)]
    pub fn wide(self) -> F64<O> {
        F64 { o: self.o, v: self.o.f32_to_f64(self.v) }
    }
    /// The magnitude of `self` with the sign of `sign`, bit by bit.
    #[inline(always)]
    pub fn copysign(self, sign: Self) -> Self {
        F32 { o: self.o, v: self.o.copysign_f32(self.v, sign.v) }
    }
    /// NaN becomes the one NaN that single-precision functions give on a card: on integers, since
    /// a compiler may take one NaN for another.
    #[inline(always)]
    pub fn canonical(self) -> Self {
        let bits = self.bits();
        let nan = (bits & 0x7fff_ffff).gt(0x7f80_0000);
        nan.select(bits.k(0x7fff_ffff), bits).as_float()
    }
}

impl<O: Ops> F64<O> {
    /// Rounded to single precision.
    #[inline(always)]
    pub fn narrow(self) -> F32<O> {
        F32 { o: self.o, v: self.o.f64_to_f32(self.v) }
    }
    /// The magnitude of `self` with the sign of `sign`, bit by bit.
    #[inline(always)]
    pub fn copysign(self, sign: Self) -> Self {
        F64 { o: self.o, v: self.o.copysign_f64(self.v, sign.v) }
    }
    /// Whether exactly one of the two has its sign bit set.
    #[inline(always)]
    pub fn sign_differs(self, other: Self) -> Mask<O> {
        (self.bits() ^ other.bits()).lt(0i64)
    }
    /// NaN becomes the one NaN that double-precision functions give.
    #[inline(always)]
    pub fn canonical(self) -> Self {
        let bits = self.bits();
        let nan = (bits & 0x7fff_ffff_ffff_ffffu64).gt(0x7ff0_0000_0000_0000u64);
        nan.select(bits.k(0xfff8_0000_0000_0000u64 as i64), bits).as_float()
    }
}

impl<O: Ops> I32<O> {
    #[inline(always)]
    pub fn to_f32(self) -> F32<O> {
        F32 { o: self.o, v: self.o.i32_to_f32(self.v) }
    }
    #[inline(always)]
    pub fn to_f64(self) -> F64<O> {
        F64 { o: self.o, v: self.o.i32_to_f64(self.v) }
    }
    #[inline(always)]
    pub fn sign_extend(self) -> I64<O> {
        I64 { o: self.o, v: self.o.sign_extend(self.v) }
    }
    #[inline(always)]
    pub fn zero_extend(self) -> I64<O> {
        I64 { o: self.o, v: self.o.zero_extend(self.v) }
    }
    /// `table[self]`; the index must be within the table whatever the function's arguments.
    #[inline(always)]
    pub fn lookup(self, table: &'static [f64]) -> F64<O> {
        F64 { o: self.o, v: self.o.lookup_f64(table, self.v) }
    }
}

impl<O: Ops> I64<O> {
    #[inline(always)]
    pub fn to_f64(self) -> F64<O> {
        F64 { o: self.o, v: self.o.i64_to_f64(self.v) }
    }
    #[inline(always)]
    pub fn truncate(self) -> I32<O> {
        I32 { o: self.o, v: self.o.truncate(self.v) }
    }
}
