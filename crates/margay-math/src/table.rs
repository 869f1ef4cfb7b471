// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of all functions.
//!
//! A row has a function's name, its arguments' names and types, its results' types, its formula,
//! and, where some lanes need more than a formula, the function that computes one of those.

use crate::ops::Ops;
use crate::value::{F32, F64, I32, I64, Mask};
use crate::{approx, double, single};

/// A lane's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    F32,
    F64,
    I32,
    I64,
}

/// An argument or a result of [`emit`].
pub enum Value<O: Ops> {
    F32(O::F32),
    F64(O::F64),
    I32(O::I32),
    I64(O::I64),
}

impl<O: Ops> Clone for Value<O> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<O: Ops> Copy for Value<O> {}

/// What [`emit`] wrote.
pub struct Emitted<O: Ops> {
    /// The results, as many as [`Function::rets`] has.
    pub results: Vec<Value<O>>,
    /// Lanes whose results are of no use: [`crate::planes::slow`] computes them.
    pub slow: Option<O::Mask>,
}

/// Results of which some lanes are slow.
pub struct Checked<T, O: Ops> {
    pub value: T,
    pub slow: Mask<O>,
}

/// What a formula returns.
pub(crate) trait Results<O: Ops> {
    fn emitted(self) -> Emitted<O>;
}

/// A lane's value to and from the untyped one.
pub(crate) trait Typed<O: Ops>: Sized {
    fn from_value(o: O, v: Value<O>) -> Option<Self>;
    fn value(self) -> Value<O>;
}

macro_rules! typed {
    ($($t:ident)*) => { $(
        impl<O: Ops> Typed<O> for $t<O> {
            fn from_value(o: O, v: Value<O>) -> Option<Self> {
                match v {
                    Value::$t(v) => Some($t { o, v }),
                    _ => None,
                }
            }
            fn value(self) -> Value<O> {
                Value::$t(self.v)
            }
        }
        impl<O: Ops> Results<O> for $t<O> {
            fn emitted(self) -> Emitted<O> {
                Emitted { results: vec![self.value()], slow: None }
            }
        }
    )* };
}
typed!(F32 F64 I32 I64);

impl<O: Ops, A: Typed<O>, B: Typed<O>> Results<O> for (A, B) {
    fn emitted(self) -> Emitted<O> {
        Emitted { results: vec![self.0.value(), self.1.value()], slow: None }
    }
}

impl<O: Ops, T: Results<O>> Results<O> for Checked<T, O> {
    fn emitted(self) -> Emitted<O> {
        Emitted { slow: Some(self.slow.v), ..self.value.emitted() }
    }
}

/// Hands the table to another macro.
macro_rules! table {
    ($then:ident) => {
        $then! {
            Expf "__nv_expf" (x: F32) -> (F32) = single::exponential::expf;
            Exp2f "__nv_exp2f" (x: F32) -> (F32) = single::exponential::exp2f;
            Exp10f "__nv_exp10f" (x: F32) -> (F32) = single::exponential::exp10f;
            Expm1f "__nv_expm1f" (x: F32) -> (F32) = single::exponential::expm1f;
            Logf "__nv_logf" (x: F32) -> (F32) = single::logarithm::logf;
            Log2f "__nv_log2f" (x: F32) -> (F32) = single::logarithm::log2f;
            Log10f "__nv_log10f" (x: F32) -> (F32) = single::logarithm::log10f;
            Log1pf "__nv_log1pf" (x: F32) -> (F32) = single::logarithm::log1pf;
            Powf "__nv_powf" (x: F32, y: F32) -> (F32) = single::power::powf;
            Powif "__nv_powif" (x: F32, n: I32) -> (F32) = single::power::powif;
            Sinf "__nv_sinf" (x: F32) -> (F32) = single::trig::sinf, slow single::trig::slow_sinf;
            Cosf "__nv_cosf" (x: F32) -> (F32) = single::trig::cosf, slow single::trig::slow_cosf;
            Tanf "__nv_tanf" (x: F32) -> (F32) = single::trig::tanf, slow single::trig::slow_tanf;
            Sincosf "__nv_sincosf" (x: F32) -> (F32 F32) = single::trig::sincosf, slow single::trig::slow_sincosf;
            Sinpif "__nv_sinpif" (x: F32) -> (F32) = single::trig::sinpif;
            Cospif "__nv_cospif" (x: F32) -> (F32) = single::trig::cospif;
            Sincospif "__nv_sincospif" (x: F32) -> (F32 F32) = single::trig::sincospif;
            Asinf "__nv_asinf" (x: F32) -> (F32) = single::inverse::asinf;
            Acosf "__nv_acosf" (x: F32) -> (F32) = single::inverse::acosf;
            Atanf "__nv_atanf" (x: F32) -> (F32) = single::inverse::atanf;
            Atan2f "__nv_atan2f" (y: F32, x: F32) -> (F32) = single::inverse::atan2f;
            Sinhf "__nv_sinhf" (x: F32) -> (F32) = single::hyperbolic::sinhf;
            Coshf "__nv_coshf" (x: F32) -> (F32) = single::hyperbolic::coshf;
            Tanhf "__nv_tanhf" (x: F32) -> (F32) = single::hyperbolic::tanhf;
            Asinhf "__nv_asinhf" (x: F32) -> (F32) = single::hyperbolic::asinhf;
            Acoshf "__nv_acoshf" (x: F32) -> (F32) = single::hyperbolic::acoshf;
            Atanhf "__nv_atanhf" (x: F32) -> (F32) = single::hyperbolic::atanhf;
            Sqrtf "__nv_sqrtf" (x: F32) -> (F32) = single::roots::sqrtf;
            Rsqrtf "__nv_rsqrtf" (x: F32) -> (F32) = single::roots::rsqrtf;
            Cbrtf "__nv_cbrtf" (x: F32) -> (F32) = single::roots::cbrtf;
            Rcbrtf "__nv_rcbrtf" (x: F32) -> (F32) = single::roots::rcbrtf;
            Hypotf "__nv_hypotf" (x: F32, y: F32) -> (F32) = single::roots::hypotf;
            Rhypotf "__nv_rhypotf" (x: F32, y: F32) -> (F32) = single::roots::rhypotf;
            Norm3df "__nv_norm3df" (x: F32, y: F32, z: F32) -> (F32) = single::roots::norm3df;
            Rnorm3df "__nv_rnorm3df" (x: F32, y: F32, z: F32) -> (F32) = single::roots::rnorm3df;
            Norm4df "__nv_norm4df" (x: F32, y: F32, z: F32, w: F32) -> (F32) = single::roots::norm4df;
            Rnorm4df "__nv_rnorm4df" (x: F32, y: F32, z: F32, w: F32) -> (F32) = single::roots::rnorm4df;
            Erff "__nv_erff" (x: F32) -> (F32) = single::error::erff;
            Erfcf "__nv_erfcf" (x: F32) -> (F32) = single::error::erfcf;
            Erfcxf "__nv_erfcxf" (x: F32) -> (F32) = single::error::erfcxf;
            Erfinvf "__nv_erfinvf" (x: F32) -> (F32) = single::error::erfinvf;
            Erfcinvf "__nv_erfcinvf" (x: F32) -> (F32) = single::error::erfcinvf;
            Normcdff "__nv_normcdff" (x: F32) -> (F32) = single::error::normcdff;
            Normcdfinvf "__nv_normcdfinvf" (x: F32) -> (F32) = single::error::normcdfinvf;
            FastExpf "__nv_fast_expf" (x: F32) -> (F32) = single::exponential::expf;
            FastExp10f "__nv_fast_exp10f" (x: F32) -> (F32) = single::exponential::exp10f;
            FastLogf "__nv_fast_logf" (x: F32) -> (F32) = single::logarithm::logf;
            FastLog2f "__nv_fast_log2f" (x: F32) -> (F32) = single::logarithm::log2f_approx;
            FastLog10f "__nv_fast_log10f" (x: F32) -> (F32) = single::logarithm::log10f;
            FastSinf "__nv_fast_sinf" (x: F32) -> (F32) = approx::sin;
            FastCosf "__nv_fast_cosf" (x: F32) -> (F32) = approx::cos;
            FastTanf "__nv_fast_tanf" (x: F32) -> (F32) = single::fast::fast_tanf;
            FastSincosf "__nv_fast_sincosf" (x: F32) -> (F32 F32) = single::fast::fast_sincosf;
            FastPowf "__nv_fast_powf" (x: F32, y: F32) -> (F32) = single::fast::fast_powf;
            FastFdividef "__nv_fast_fdividef" (a: F32, b: F32) -> (F32) = approx::div_checked, slow units::quotient;
            Saturatef "__nv_saturatef" (x: F32) -> (F32) = single::fast::saturatef;
            Ceilf "__nv_ceilf" (x: F32) -> (F32) = single::parts::ceilf;
            Floorf "__nv_floorf" (x: F32) -> (F32) = single::parts::floorf;
            Truncf "__nv_truncf" (x: F32) -> (F32) = single::parts::truncf;
            Rintf "__nv_rintf" (x: F32) -> (F32) = single::parts::rintf;
            Roundf "__nv_roundf" (x: F32) -> (F32) = single::parts::roundf;
            Fabsf "__nv_fabsf" (x: F32) -> (F32) = single::parts::fabsf;
            Nearbyintf "__nv_nearbyintf" (x: F32) -> (F32) = single::parts::rintf;
            Copysignf "__nv_copysignf" (x: F32, y: F32) -> (F32) = single::parts::copysignf;
            Nextafterf "__nv_nextafterf" (x: F32, y: F32) -> (F32) = single::parts::nextafterf;
            Fminf "__nv_fminf" (x: F32, y: F32) -> (F32) = single::parts::fminf;
            Fmaxf "__nv_fmaxf" (x: F32, y: F32) -> (F32) = single::parts::fmaxf;
            Fdimf "__nv_fdimf" (x: F32, y: F32) -> (F32) = single::parts::fdimf;
            Fmaf "__nv_fmaf" (a: F32, b: F32, c: F32) -> (F32) = single::parts::fmaf;
            Signbitf "__nv_signbitf" (x: F32) -> (I32) = single::parts::signbitf;
            Finitef "__nv_finitef" (x: F32) -> (I32) = single::parts::finitef;
            Isinff "__nv_isinff" (x: F32) -> (I32) = single::parts::isinff;
            Isnanf "__nv_isnanf" (x: F32) -> (I32) = single::parts::isnanf;
            Ilogbf "__nv_ilogbf" (x: F32) -> (I32) = single::parts::ilogbf;
            Logbf "__nv_logbf" (x: F32) -> (F32) = single::parts::logbf;
            Ldexpf "__nv_ldexpf" (x: F32, n: I32) -> (F32) = single::parts::ldexpf;
            Scalbnf "__nv_scalbnf" (x: F32, n: I32) -> (F32) = single::parts::ldexpf;
            Frexpf "__nv_frexpf" (x: F32) -> (F32 I32) = single::parts::frexpf;
            Modff "__nv_modff" (x: F32) -> (F32 F32) = single::parts::modff;
Exp "__nv_exp" (x: F64) -> (F64) = double::exponential::exp;
            Exp2 "__nv_exp2" (x: F64) -> (F64) = double::exponential::exp2;
            Exp10 "__nv_exp10" (x: F64) -> (F64) = double::exponential::exp10;
            Expm1 "__nv_expm1" (x: F64) -> (F64) = double::exponential::expm1;
            Log "__nv_log" (x: F64) -> (F64) = double::logarithm::log;
            Log2 "__nv_log2" (x: F64) -> (F64) = double::logarithm::log2;
            Log10 "__nv_log10" (x: F64) -> (F64) = double::logarithm::log10;
            Log1p "__nv_log1p" (x: F64) -> (F64) = double::logarithm::log1p;
            Pow "__nv_pow" (x: F64, y: F64) -> (F64) = double::power::pow;
            Powi "__nv_powi" (x: F64, n: I32) -> (F64) = double::power::powi;
            Sin "__nv_sin" (x: F64) -> (F64) = double::trig::sin, slow double::trig::slow_sin;
            Cos "__nv_cos" (x: F64) -> (F64) = double::trig::cos, slow double::trig::slow_cos;
            Tan "__nv_tan" (x: F64) -> (F64) = double::trig::tan, slow double::trig::slow_tan;
            Sincos "__nv_sincos" (x: F64) -> (F64 F64) = double::trig::sincos, slow double::trig::slow_sincos;
            Sinpi "__nv_sinpi" (x: F64) -> (F64) = double::trig::sinpi;
            Cospi "__nv_cospi" (x: F64) -> (F64) = double::trig::cospi;
            Sincospi "__nv_sincospi" (x: F64) -> (F64 F64) = double::trig::sincospi;
            Asin "__nv_asin" (x: F64) -> (F64) = double::inverse::asin;
            Acos "__nv_acos" (x: F64) -> (F64) = double::inverse::acos;
            Atan "__nv_atan" (x: F64) -> (F64) = double::inverse::atan;
            Atan2 "__nv_atan2" (y: F64, x: F64) -> (F64) = double::inverse::atan2;
            Sinh "__nv_sinh" (x: F64) -> (F64) = double::hyperbolic::sinh;
            Cosh "__nv_cosh" (x: F64) -> (F64) = double::hyperbolic::cosh;
            Tanh "__nv_tanh" (x: F64) -> (F64) = double::hyperbolic::tanh;
            Asinh "__nv_asinh" (x: F64) -> (F64) = double::hyperbolic::asinh;
            Acosh "__nv_acosh" (x: F64) -> (F64) = double::hyperbolic::acosh;
            Atanh "__nv_atanh" (x: F64) -> (F64) = double::hyperbolic::atanh;
            Sqrt "__nv_sqrt" (x: F64) -> (F64) = double::roots::sqrt;
            Rsqrt "__nv_rsqrt" (x: F64) -> (F64) = double::roots::rsqrt;
            Cbrt "__nv_cbrt" (x: F64) -> (F64) = double::roots::cbrt;
            Rcbrt "__nv_rcbrt" (x: F64) -> (F64) = double::roots::rcbrt;
            Hypot "__nv_hypot" (x: F64, y: F64) -> (F64) = double::roots::hypot;
            Rhypot "__nv_rhypot" (x: F64, y: F64) -> (F64) = double::roots::rhypot;
            Norm3d "__nv_norm3d" (x: F64, y: F64, z: F64) -> (F64) = double::roots::norm3d;
            Rnorm3d "__nv_rnorm3d" (x: F64, y: F64, z: F64) -> (F64) = double::roots::rnorm3d;
            Norm4d "__nv_norm4d" (x: F64, y: F64, z: F64, w: F64) -> (F64) = double::roots::norm4d;
            Rnorm4d "__nv_rnorm4d" (x: F64, y: F64, z: F64, w: F64) -> (F64) = double::roots::rnorm4d;
            Erf "__nv_erf" (x: F64) -> (F64) = double::error::erf;
            Erfc "__nv_erfc" (x: F64) -> (F64) = double::error::erfc;
            Erfcx "__nv_erfcx" (x: F64) -> (F64) = double::error::erfcx;
            Normcdf "__nv_normcdf" (x: F64) -> (F64) = double::error::normcdf;
            Ceil "__nv_ceil" (x: F64) -> (F64) = double::parts::ceil;
            Floor "__nv_floor" (x: F64) -> (F64) = double::parts::floor;
            Trunc "__nv_trunc" (x: F64) -> (F64) = double::parts::trunc;
            Rint "__nv_rint" (x: F64) -> (F64) = double::parts::rint;
            Round "__nv_round" (x: F64) -> (F64) = double::parts::round;
            Fabs "__nv_fabs" (x: F64) -> (F64) = double::parts::fabs;
            Nearbyint "__nv_nearbyint" (x: F64) -> (F64) = double::parts::rint;
            Copysign "__nv_copysign" (x: F64, y: F64) -> (F64) = double::parts::copysign;
            Nextafter "__nv_nextafter" (x: F64, y: F64) -> (F64) = double::parts::nextafter;
            Fmin "__nv_fmin" (x: F64, y: F64) -> (F64) = double::parts::fmin;
            Fmax "__nv_fmax" (x: F64, y: F64) -> (F64) = double::parts::fmax;
            Fdim "__nv_fdim" (x: F64, y: F64) -> (F64) = double::parts::fdim;
            Fma "__nv_fma" (a: F64, b: F64, c: F64) -> (F64) = double::parts::fma;
            Signbitd "__nv_signbitd" (x: F64) -> (I32) = double::parts::signbitd;
            Isfinited "__nv_isfinited" (x: F64) -> (I32) = double::parts::isfinited;
            Isinfd "__nv_isinfd" (x: F64) -> (I32) = double::parts::isinfd;
            Isnand "__nv_isnand" (x: F64) -> (I32) = double::parts::isnand;
            Ilogb "__nv_ilogb" (x: F64) -> (I32) = double::parts::ilogb;
            Logb "__nv_logb" (x: F64) -> (F64) = double::parts::logb;
            Ldexp "__nv_ldexp" (x: F64, n: I32) -> (F64) = double::parts::ldexp;
            Scalbn "__nv_scalbn" (x: F64, n: I32) -> (F64) = double::parts::ldexp;
            Frexp "__nv_frexp" (x: F64) -> (F64 I32) = double::parts::frexp;
            Modf "__nv_modf" (x: F64) -> (F64 F64) = double::parts::modf;
            RcpApprox "rcp.approx.f32" (x: F32) -> (F32) = approx::rcp_checked, slow units::reciprocal;
            RcpApproxFtz "rcp.approx.ftz.f32" (x: F32) -> (F32) = approx::rcp::<_, true>;
            SqrtApprox "sqrt.approx.f32" (x: F32) -> (F32) = approx::sqrt_checked, slow units::root;
            SqrtApproxFtz "sqrt.approx.ftz.f32" (x: F32) -> (F32) = approx::sqrt::<_, true>;
            RsqrtApprox "rsqrt.approx.f32" (x: F32) -> (F32) = approx::rsqrt_checked, slow units::inverse_root;
            RsqrtApproxFtz "rsqrt.approx.ftz.f32" (x: F32) -> (F32) = approx::rsqrt::<_, true>;
            Ex2Approx "ex2.approx.f32" (x: F32) -> (F32) = approx::ex2_checked, slow units::power;
            Ex2ApproxFtz "ex2.approx.ftz.f32" (x: F32) -> (F32) = approx::ex2::<_, true>;
            Lg2Approx "lg2.approx.f32" (x: F32) -> (F32) = approx::lg2_checked, slow units::logarithm;
            Lg2ApproxFtz "lg2.approx.ftz.f32" (x: F32) -> (F32) = approx::lg2::<_, true>;
            SinApprox "sin.approx.f32" (x: F32) -> (F32) = approx::sin;
            SinApproxFtz "sin.approx.ftz.f32" (x: F32) -> (F32) = approx::sin;
            CosApprox "cos.approx.f32" (x: F32) -> (F32) = approx::cos;
            CosApproxFtz "cos.approx.ftz.f32" (x: F32) -> (F32) = approx::cos;
            TanhApprox "tanh.approx.f32" (x: F32) -> (F32) = approx::tanh;
            DivApprox "div.approx.f32" (a: F32, b: F32) -> (F32) = approx::div_checked, slow units::quotient;
            DivApproxFtz "div.approx.ftz.f32" (a: F32, b: F32) -> (F32) = approx::div::<_, true>;
            DivFull "div.full.f32" (a: F32, b: F32) -> (F32) = approx::div_full_checked, slow units::full_quotient;
            DivFullFtz "div.full.ftz.f32" (a: F32, b: F32) -> (F32) = approx::div_full::<_, true>;
            RcpApproxFtzF64 "rcp.approx.ftz.f64" (x: F64) -> (F64) = approx::rcp_f64;
            RsqrtApproxF64 "rsqrt.approx.f64" (x: F64) -> (F64) = approx::rsqrt_f64_checked, slow units::inverse_root_f64;
            RsqrtApproxFtzF64 "rsqrt.approx.ftz.f64" (x: F64) -> (F64) = approx::rsqrt_f64_ftz;
        }
    };
}
pub(crate) use table;

macro_rules! declare {
    ($( $variant:ident $name:literal ($($arg:ident: $ty:ident),*) -> ($($ret:ident)*)
        = $formula:expr $(, slow $slow:expr)?; )*) => {
        /// A function with a formula.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Function { $( #[doc = $name] $variant, )* }

        impl Function {
            pub const ALL: &'static [Function] = &[ $( Function::$variant, )* ];

            /// libdevice's name, or PTX's mnemonic.
            pub const fn name(self) -> &'static str {
                match self { $( Function::$variant => $name, )* }
            }

            /// Types of the arguments.
            pub const fn args(self) -> &'static [Type] {
                match self { $( Function::$variant => &[$(Type::$ty),*], )* }
            }

            /// Types of the results. Those that a C function writes through pointers come last.
            pub const fn rets(self) -> &'static [Type] {
                match self { $( Function::$variant => &[$(Type::$ret),*], )* }
            }

            /// The function of a libdevice name or a PTX mnemonic. `None` where there is no formula.
            pub fn by_name(name: &str) -> Option<Function> {
                match name { $( $name => Some(Function::$variant), )* _ => None }
            }
        }

        /// Writes a function's formula with `o`. `None` if the arguments' types are not
        /// [`Function::args`].
        pub fn emit<O: Ops>(o: O, function: Function, args: &[Value<O>]) -> Option<Emitted<O>> {
            let mut args = args.iter().copied();
            let emitted = match function {
                $( Function::$variant => {
                    $( let $arg = $ty::from_value(o, args.next()?)?; )*
                    let formula = $formula;
                    Results::<O>::emitted(formula($($arg),*))
                } )*
            };
            args.next().is_none().then_some(emitted)
        }
    };
}
table!(declare);
