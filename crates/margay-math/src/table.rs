// SPDX-License-Identifier: MIT OR Apache-2.0
//! The list of all functions.
//!
//! A row has a function's name, its arguments' names and types, its results' types, its formula,
//! and, where some lanes need more than a formula, the function that computes one of those.

use crate::ops::Ops;
use crate::value::{F32, F64, I32, I64, Mask};
use crate::{approx, double, remainder, rounded, simd, single};

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
            Tgammaf "__nv_tgammaf" (x: F32) -> (F32) = single::gamma::tgammaf;
            Lgammaf "__nv_lgammaf" (x: F32) -> (F32) = single::gamma::lgammaf;
            CylBesselI0f "__nv_cyl_bessel_i0f" (x: F32) -> (F32) = single::bessel::i0f;
            CylBesselI1f "__nv_cyl_bessel_i1f" (x: F32) -> (F32) = single::bessel::i1f;
            J0f "__nv_j0f" (x: F32) -> (F32) = single::bessel::j0f, slow single::bessel::slow_j0f;
            J1f "__nv_j1f" (x: F32) -> (F32) = single::bessel::j1f, slow single::bessel::slow_j1f;
            Y0f "__nv_y0f" (x: F32) -> (F32) = single::bessel::y0f, slow single::bessel::slow_y0f;
            Y1f "__nv_y1f" (x: F32) -> (F32) = single::bessel::y1f, slow single::bessel::slow_y1f;
            Jnf "__nv_jnf" (n: I32, x: F32) -> (F32) = single::bessel::jnf, slow single::bessel::slow_jnf;
            Ynf "__nv_ynf" (n: I32, x: F32) -> (F32) = single::bessel::ynf, slow single::bessel::slow_ynf;
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
            Fmodf "__nv_fmodf" (x: F32, y: F32) -> (F32) = remainder::fmodf, slow remainder::slow_fmodf;
            Remainderf "__nv_remainderf" (x: F32, y: F32) -> (F32) = remainder::remainderf, slow remainder::slow_remainderf;
            Remquof "__nv_remquof" (x: F32, y: F32) -> (F32 I32) = remainder::remquof, slow remainder::slow_remquof;
            FaddRd "__nv_fadd_rd" (a: F32, b: F32) -> (F32) = rounded::single::add::<_, rounded::Down>;
            FsubRd "__nv_fsub_rd" (a: F32, b: F32) -> (F32) = rounded::single::sub::<_, rounded::Down>;
            FmulRd "__nv_fmul_rd" (a: F32, b: F32) -> (F32) = rounded::single::mul::<_, rounded::Down>;
            FdivRd "__nv_fdiv_rd" (a: F32, b: F32) -> (F32) = rounded::single::div::<_, rounded::Down>;
            FrcpRd "__nv_frcp_rd" (a: F32) -> (F32) = rounded::single::rcp::<_, rounded::Down>;
            FsqrtRd "__nv_fsqrt_rd" (a: F32) -> (F32) = rounded::single::sqrt::<_, rounded::Down>;
            FmafRd "__nv_fmaf_rd" (a: F32, b: F32, c: F32) -> (F32) = rounded::single::fma::<_, rounded::Down>;
            Double2floatRd "__nv_double2float_rd" (x: F64) -> (F32) = rounded::single::of_double::<_, rounded::Down>, slow rounded::single::slow_of_double;
            Int2floatRd "__nv_int2float_rd" (n: I32) -> (F32) = rounded::single::of_int::<_, rounded::Down>;
            Uint2floatRd "__nv_uint2float_rd" (n: I32) -> (F32) = rounded::single::of_uint::<_, rounded::Down>;
            Ll2floatRd "__nv_ll2float_rd" (n: I64) -> (F32) = rounded::single::of_long::<_, rounded::Down>;
            Ull2floatRd "__nv_ull2float_rd" (n: I64) -> (F32) = rounded::single::of_ulong::<_, rounded::Down>;
            FaddRu "__nv_fadd_ru" (a: F32, b: F32) -> (F32) = rounded::single::add::<_, rounded::Up>;
            FsubRu "__nv_fsub_ru" (a: F32, b: F32) -> (F32) = rounded::single::sub::<_, rounded::Up>;
            FmulRu "__nv_fmul_ru" (a: F32, b: F32) -> (F32) = rounded::single::mul::<_, rounded::Up>;
            FdivRu "__nv_fdiv_ru" (a: F32, b: F32) -> (F32) = rounded::single::div::<_, rounded::Up>;
            FrcpRu "__nv_frcp_ru" (a: F32) -> (F32) = rounded::single::rcp::<_, rounded::Up>;
            FsqrtRu "__nv_fsqrt_ru" (a: F32) -> (F32) = rounded::single::sqrt::<_, rounded::Up>;
            FmafRu "__nv_fmaf_ru" (a: F32, b: F32, c: F32) -> (F32) = rounded::single::fma::<_, rounded::Up>;
            Double2floatRu "__nv_double2float_ru" (x: F64) -> (F32) = rounded::single::of_double::<_, rounded::Up>, slow rounded::single::slow_of_double;
            Int2floatRu "__nv_int2float_ru" (n: I32) -> (F32) = rounded::single::of_int::<_, rounded::Up>;
            Uint2floatRu "__nv_uint2float_ru" (n: I32) -> (F32) = rounded::single::of_uint::<_, rounded::Up>;
            Ll2floatRu "__nv_ll2float_ru" (n: I64) -> (F32) = rounded::single::of_long::<_, rounded::Up>;
            Ull2floatRu "__nv_ull2float_ru" (n: I64) -> (F32) = rounded::single::of_ulong::<_, rounded::Up>;
            FaddRz "__nv_fadd_rz" (a: F32, b: F32) -> (F32) = rounded::single::add::<_, rounded::Zero>;
            FsubRz "__nv_fsub_rz" (a: F32, b: F32) -> (F32) = rounded::single::sub::<_, rounded::Zero>;
            FmulRz "__nv_fmul_rz" (a: F32, b: F32) -> (F32) = rounded::single::mul::<_, rounded::Zero>;
            FdivRz "__nv_fdiv_rz" (a: F32, b: F32) -> (F32) = rounded::single::div::<_, rounded::Zero>;
            FrcpRz "__nv_frcp_rz" (a: F32) -> (F32) = rounded::single::rcp::<_, rounded::Zero>;
            FsqrtRz "__nv_fsqrt_rz" (a: F32) -> (F32) = rounded::single::sqrt::<_, rounded::Zero>;
            FmafRz "__nv_fmaf_rz" (a: F32, b: F32, c: F32) -> (F32) = rounded::single::fma::<_, rounded::Zero>;
            Double2floatRz "__nv_double2float_rz" (x: F64) -> (F32) = rounded::single::of_double::<_, rounded::Zero>, slow rounded::single::slow_of_double;
            Int2floatRz "__nv_int2float_rz" (n: I32) -> (F32) = rounded::single::of_int::<_, rounded::Zero>;
            Uint2floatRz "__nv_uint2float_rz" (n: I32) -> (F32) = rounded::single::of_uint::<_, rounded::Zero>;
            Ll2floatRz "__nv_ll2float_rz" (n: I64) -> (F32) = rounded::single::of_long::<_, rounded::Zero>;
            Ull2floatRz "__nv_ull2float_rz" (n: I64) -> (F32) = rounded::single::of_ulong::<_, rounded::Zero>;
            MulDownFtz "mul.rm.ftz.f32" (a: F32, b: F32) -> (F32) = rounded::single::mul::<_, rounded::DownFlushing>;
            DivDownFtz "div.rm.ftz.f32" (a: F32, b: F32) -> (F32) = rounded::single::div::<_, rounded::DownFlushing>;
            RcpDownFtz "rcp.rm.ftz.f32" (a: F32) -> (F32) = rounded::single::rcp::<_, rounded::DownFlushing>;
            FmaDownFtz "fma.rm.ftz.f32" (a: F32, b: F32, c: F32) -> (F32) = rounded::single::fma::<_, rounded::DownFlushing>;
            CvtDownFtz "cvt.rm.ftz.f32.f64" (x: F64) -> (F32) = rounded::single::of_double::<_, rounded::DownFlushing>, slow rounded::single::slow_of_double;
            MulUpFtz "mul.rp.ftz.f32" (a: F32, b: F32) -> (F32) = rounded::single::mul::<_, rounded::UpFlushing>;
            DivUpFtz "div.rp.ftz.f32" (a: F32, b: F32) -> (F32) = rounded::single::div::<_, rounded::UpFlushing>;
            RcpUpFtz "rcp.rp.ftz.f32" (a: F32) -> (F32) = rounded::single::rcp::<_, rounded::UpFlushing>;
            FmaUpFtz "fma.rp.ftz.f32" (a: F32, b: F32, c: F32) -> (F32) = rounded::single::fma::<_, rounded::UpFlushing>;
            CvtUpFtz "cvt.rp.ftz.f32.f64" (x: F64) -> (F32) = rounded::single::of_double::<_, rounded::UpFlushing>, slow rounded::single::slow_of_double;
            FrsqrtRn "__nv_frsqrt_rn" (a: F32) -> (F32) = rounded::single::rsqrt_to_nearest;
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
            Tgamma "__nv_tgamma" (x: F64) -> (F64) = double::gamma::tgamma;
            Lgamma "__nv_lgamma" (x: F64) -> (F64) = double::gamma::lgamma;
            CylBesselI0 "__nv_cyl_bessel_i0" (x: F64) -> (F64) = double::bessel::i0;
            CylBesselI1 "__nv_cyl_bessel_i1" (x: F64) -> (F64) = double::bessel::i1;
            J0 "__nv_j0" (x: F64) -> (F64) = double::bessel::j0, slow double::bessel::slow_j0;
            J1 "__nv_j1" (x: F64) -> (F64) = double::bessel::j1, slow double::bessel::slow_j1;
            Y0 "__nv_y0" (x: F64) -> (F64) = double::bessel::y0, slow double::bessel::slow_y0;
            Y1 "__nv_y1" (x: F64) -> (F64) = double::bessel::y1, slow double::bessel::slow_y1;
            Jn "__nv_jn" (n: I32, x: F64) -> (F64) = double::orders::jn, slow double::orders::slow_jn;
            Yn "__nv_yn" (n: I32, x: F64) -> (F64) = double::orders::yn, slow double::orders::slow_yn;
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
            Erfinv "__nv_erfinv" (x: F64) -> (F64) = double::error_inverse::erfinv;
            Erfcinv "__nv_erfcinv" (x: F64) -> (F64) = double::error_inverse::erfcinv;
            Normcdfinv "__nv_normcdfinv" (x: F64) -> (F64) = double::error_inverse::normcdfinv;
            Fmod "__nv_fmod" (x: F64, y: F64) -> (F64) = remainder::fmod, slow remainder::slow_fmod;
            Remainder "__nv_remainder" (x: F64, y: F64) -> (F64) = remainder::remainder, slow remainder::slow_remainder;
            Remquo "__nv_remquo" (x: F64, y: F64) -> (F64 I32) = remainder::remquo, slow remainder::slow_remquo;
            DaddRd "__nv_dadd_rd" (a: F64, b: F64) -> (F64) = rounded::double::add::<_, rounded::Down>, slow rounded::exact::slow_add::<rounded::Down>;
            DsubRd "__nv_dsub_rd" (a: F64, b: F64) -> (F64) = rounded::double::sub::<_, rounded::Down>, slow rounded::exact::slow_sub::<rounded::Down>;
            DmulRd "__nv_dmul_rd" (a: F64, b: F64) -> (F64) = rounded::double::mul::<_, rounded::Down>, slow rounded::exact::slow_mul::<rounded::Down>;
            DdivRd "__nv_ddiv_rd" (a: F64, b: F64) -> (F64) = rounded::double::div::<_, rounded::Down>, slow rounded::exact::slow_div::<rounded::Down>;
            DrcpRd "__nv_drcp_rd" (a: F64) -> (F64) = rounded::double::rcp::<_, rounded::Down>, slow rounded::exact::slow_rcp::<rounded::Down>;
            DsqrtRd "__nv_dsqrt_rd" (a: F64) -> (F64) = rounded::double::sqrt::<_, rounded::Down>, slow rounded::exact::slow_sqrt::<rounded::Down>;
            FmaRd "__nv_fma_rd" (a: F64, b: F64, c: F64) -> (F64) = rounded::double::fma::<_, rounded::Down>, slow rounded::exact::slow_fma::<rounded::Down>;
            Ll2doubleRd "__nv_ll2double_rd" (n: I64) -> (F64) = rounded::double::of_long::<_, rounded::Down>;
            Ull2doubleRd "__nv_ull2double_rd" (n: I64) -> (F64) = rounded::double::of_ulong::<_, rounded::Down>;
            DaddRu "__nv_dadd_ru" (a: F64, b: F64) -> (F64) = rounded::double::add::<_, rounded::Up>, slow rounded::exact::slow_add::<rounded::Up>;
            DsubRu "__nv_dsub_ru" (a: F64, b: F64) -> (F64) = rounded::double::sub::<_, rounded::Up>, slow rounded::exact::slow_sub::<rounded::Up>;
            DmulRu "__nv_dmul_ru" (a: F64, b: F64) -> (F64) = rounded::double::mul::<_, rounded::Up>, slow rounded::exact::slow_mul::<rounded::Up>;
            DdivRu "__nv_ddiv_ru" (a: F64, b: F64) -> (F64) = rounded::double::div::<_, rounded::Up>, slow rounded::exact::slow_div::<rounded::Up>;
            DrcpRu "__nv_drcp_ru" (a: F64) -> (F64) = rounded::double::rcp::<_, rounded::Up>, slow rounded::exact::slow_rcp::<rounded::Up>;
            DsqrtRu "__nv_dsqrt_ru" (a: F64) -> (F64) = rounded::double::sqrt::<_, rounded::Up>, slow rounded::exact::slow_sqrt::<rounded::Up>;
            FmaRu "__nv_fma_ru" (a: F64, b: F64, c: F64) -> (F64) = rounded::double::fma::<_, rounded::Up>, slow rounded::exact::slow_fma::<rounded::Up>;
            Ll2doubleRu "__nv_ll2double_ru" (n: I64) -> (F64) = rounded::double::of_long::<_, rounded::Up>;
            Ull2doubleRu "__nv_ull2double_ru" (n: I64) -> (F64) = rounded::double::of_ulong::<_, rounded::Up>;
            DaddRz "__nv_dadd_rz" (a: F64, b: F64) -> (F64) = rounded::double::add::<_, rounded::Zero>, slow rounded::exact::slow_add::<rounded::Zero>;
            DsubRz "__nv_dsub_rz" (a: F64, b: F64) -> (F64) = rounded::double::sub::<_, rounded::Zero>, slow rounded::exact::slow_sub::<rounded::Zero>;
            DmulRz "__nv_dmul_rz" (a: F64, b: F64) -> (F64) = rounded::double::mul::<_, rounded::Zero>, slow rounded::exact::slow_mul::<rounded::Zero>;
            DdivRz "__nv_ddiv_rz" (a: F64, b: F64) -> (F64) = rounded::double::div::<_, rounded::Zero>, slow rounded::exact::slow_div::<rounded::Zero>;
            DrcpRz "__nv_drcp_rz" (a: F64) -> (F64) = rounded::double::rcp::<_, rounded::Zero>, slow rounded::exact::slow_rcp::<rounded::Zero>;
            DsqrtRz "__nv_dsqrt_rz" (a: F64) -> (F64) = rounded::double::sqrt::<_, rounded::Zero>, slow rounded::exact::slow_sqrt::<rounded::Zero>;
            FmaRz "__nv_fma_rz" (a: F64, b: F64, c: F64) -> (F64) = rounded::double::fma::<_, rounded::Zero>, slow rounded::exact::slow_fma::<rounded::Zero>;
            Ll2doubleRz "__nv_ll2double_rz" (n: I64) -> (F64) = rounded::double::of_long::<_, rounded::Zero>;
            Ull2doubleRz "__nv_ull2double_rz" (n: I64) -> (F64) = rounded::double::of_ulong::<_, rounded::Zero>;
            Vabs2 "__nv_vabs2" (a: I32) -> (I32) = simd::vabs::<_, 16>;
            Vabsss2 "__nv_vabsss2" (a: I32) -> (I32) = simd::vabsss::<_, 16>;
            Vneg2 "__nv_vneg2" (a: I32) -> (I32) = simd::vneg::<_, 16>;
            Vnegss2 "__nv_vnegss2" (a: I32) -> (I32) = simd::vnegss::<_, 16>;
            Vabsdiffs2 "__nv_vabsdiffs2" (a: I32, b: I32) -> (I32) = simd::vabsdiffs::<_, 16>;
            Vabsdiffu2 "__nv_vabsdiffu2" (a: I32, b: I32) -> (I32) = simd::vabsdiffu::<_, 16>;
            Vadd2 "__nv_vadd2" (a: I32, b: I32) -> (I32) = simd::vadd::<_, 16>;
            Vsub2 "__nv_vsub2" (a: I32, b: I32) -> (I32) = simd::vsub::<_, 16>;
            Vaddss2 "__nv_vaddss2" (a: I32, b: I32) -> (I32) = simd::vaddss::<_, 16>;
            Vsubss2 "__nv_vsubss2" (a: I32, b: I32) -> (I32) = simd::vsubss::<_, 16>;
            Vaddus2 "__nv_vaddus2" (a: I32, b: I32) -> (I32) = simd::vaddus::<_, 16>;
            Vsubus2 "__nv_vsubus2" (a: I32, b: I32) -> (I32) = simd::vsubus::<_, 16>;
            Vavgs2 "__nv_vavgs2" (a: I32, b: I32) -> (I32) = simd::vavgs::<_, 16>;
            Vavgu2 "__nv_vavgu2" (a: I32, b: I32) -> (I32) = simd::vavgu::<_, 16>;
            Vhaddu2 "__nv_vhaddu2" (a: I32, b: I32) -> (I32) = simd::vhaddu::<_, 16>;
            Vmaxs2 "__nv_vmaxs2" (a: I32, b: I32) -> (I32) = simd::vmaxs::<_, 16>;
            Vmaxu2 "__nv_vmaxu2" (a: I32, b: I32) -> (I32) = simd::vmaxu::<_, 16>;
            Vmins2 "__nv_vmins2" (a: I32, b: I32) -> (I32) = simd::vmins::<_, 16>;
            Vminu2 "__nv_vminu2" (a: I32, b: I32) -> (I32) = simd::vminu::<_, 16>;
            Vsads2 "__nv_vsads2" (a: I32, b: I32) -> (I32) = simd::vsads::<_, 16>;
            Vsadu2 "__nv_vsadu2" (a: I32, b: I32) -> (I32) = simd::vsadu::<_, 16>;
            Vcmpeq2 "__nv_vcmpeq2" (a: I32, b: I32) -> (I32) = simd::vcmpeq::<_, 16>;
            Vcmpne2 "__nv_vcmpne2" (a: I32, b: I32) -> (I32) = simd::vcmpne::<_, 16>;
            Vcmpges2 "__nv_vcmpges2" (a: I32, b: I32) -> (I32) = simd::vcmpges::<_, 16>;
            Vcmpgeu2 "__nv_vcmpgeu2" (a: I32, b: I32) -> (I32) = simd::vcmpgeu::<_, 16>;
            Vcmpgts2 "__nv_vcmpgts2" (a: I32, b: I32) -> (I32) = simd::vcmpgts::<_, 16>;
            Vcmpgtu2 "__nv_vcmpgtu2" (a: I32, b: I32) -> (I32) = simd::vcmpgtu::<_, 16>;
            Vcmples2 "__nv_vcmples2" (a: I32, b: I32) -> (I32) = simd::vcmples::<_, 16>;
            Vcmpleu2 "__nv_vcmpleu2" (a: I32, b: I32) -> (I32) = simd::vcmpleu::<_, 16>;
            Vcmplts2 "__nv_vcmplts2" (a: I32, b: I32) -> (I32) = simd::vcmplts::<_, 16>;
            Vcmpltu2 "__nv_vcmpltu2" (a: I32, b: I32) -> (I32) = simd::vcmpltu::<_, 16>;
            Vseteq2 "__nv_vseteq2" (a: I32, b: I32) -> (I32) = simd::vseteq::<_, 16>;
            Vsetne2 "__nv_vsetne2" (a: I32, b: I32) -> (I32) = simd::vsetne::<_, 16>;
            Vsetges2 "__nv_vsetges2" (a: I32, b: I32) -> (I32) = simd::vsetges::<_, 16>;
            Vsetgeu2 "__nv_vsetgeu2" (a: I32, b: I32) -> (I32) = simd::vsetgeu::<_, 16>;
            Vsetgts2 "__nv_vsetgts2" (a: I32, b: I32) -> (I32) = simd::vsetgts::<_, 16>;
            Vsetgtu2 "__nv_vsetgtu2" (a: I32, b: I32) -> (I32) = simd::vsetgtu::<_, 16>;
            Vsetles2 "__nv_vsetles2" (a: I32, b: I32) -> (I32) = simd::vsetles::<_, 16>;
            Vsetleu2 "__nv_vsetleu2" (a: I32, b: I32) -> (I32) = simd::vsetleu::<_, 16>;
            Vsetlts2 "__nv_vsetlts2" (a: I32, b: I32) -> (I32) = simd::vsetlts::<_, 16>;
            Vsetltu2 "__nv_vsetltu2" (a: I32, b: I32) -> (I32) = simd::vsetltu::<_, 16>;
            Vabs4 "__nv_vabs4" (a: I32) -> (I32) = simd::vabs::<_, 8>;
            Vabsss4 "__nv_vabsss4" (a: I32) -> (I32) = simd::vabsss::<_, 8>;
            Vneg4 "__nv_vneg4" (a: I32) -> (I32) = simd::vneg::<_, 8>;
            Vnegss4 "__nv_vnegss4" (a: I32) -> (I32) = simd::vnegss::<_, 8>;
            Vabsdiffs4 "__nv_vabsdiffs4" (a: I32, b: I32) -> (I32) = simd::vabsdiffs::<_, 8>;
            Vabsdiffu4 "__nv_vabsdiffu4" (a: I32, b: I32) -> (I32) = simd::vabsdiffu::<_, 8>;
            Vadd4 "__nv_vadd4" (a: I32, b: I32) -> (I32) = simd::vadd::<_, 8>;
            Vsub4 "__nv_vsub4" (a: I32, b: I32) -> (I32) = simd::vsub::<_, 8>;
            Vaddss4 "__nv_vaddss4" (a: I32, b: I32) -> (I32) = simd::vaddss::<_, 8>;
            Vsubss4 "__nv_vsubss4" (a: I32, b: I32) -> (I32) = simd::vsubss::<_, 8>;
            Vaddus4 "__nv_vaddus4" (a: I32, b: I32) -> (I32) = simd::vaddus::<_, 8>;
            Vsubus4 "__nv_vsubus4" (a: I32, b: I32) -> (I32) = simd::vsubus::<_, 8>;
            Vavgs4 "__nv_vavgs4" (a: I32, b: I32) -> (I32) = simd::vavgs::<_, 8>;
            Vavgu4 "__nv_vavgu4" (a: I32, b: I32) -> (I32) = simd::vavgu::<_, 8>;
            Vhaddu4 "__nv_vhaddu4" (a: I32, b: I32) -> (I32) = simd::vhaddu::<_, 8>;
            Vmaxs4 "__nv_vmaxs4" (a: I32, b: I32) -> (I32) = simd::vmaxs::<_, 8>;
            Vmaxu4 "__nv_vmaxu4" (a: I32, b: I32) -> (I32) = simd::vmaxu::<_, 8>;
            Vmins4 "__nv_vmins4" (a: I32, b: I32) -> (I32) = simd::vmins::<_, 8>;
            Vminu4 "__nv_vminu4" (a: I32, b: I32) -> (I32) = simd::vminu::<_, 8>;
            Vsads4 "__nv_vsads4" (a: I32, b: I32) -> (I32) = simd::vsads::<_, 8>;
            Vsadu4 "__nv_vsadu4" (a: I32, b: I32) -> (I32) = simd::vsadu::<_, 8>;
            Vcmpeq4 "__nv_vcmpeq4" (a: I32, b: I32) -> (I32) = simd::vcmpeq::<_, 8>;
            Vcmpne4 "__nv_vcmpne4" (a: I32, b: I32) -> (I32) = simd::vcmpne::<_, 8>;
            Vcmpges4 "__nv_vcmpges4" (a: I32, b: I32) -> (I32) = simd::vcmpges::<_, 8>;
            Vcmpgeu4 "__nv_vcmpgeu4" (a: I32, b: I32) -> (I32) = simd::vcmpgeu::<_, 8>;
            Vcmpgts4 "__nv_vcmpgts4" (a: I32, b: I32) -> (I32) = simd::vcmpgts::<_, 8>;
            Vcmpgtu4 "__nv_vcmpgtu4" (a: I32, b: I32) -> (I32) = simd::vcmpgtu::<_, 8>;
            Vcmples4 "__nv_vcmples4" (a: I32, b: I32) -> (I32) = simd::vcmples::<_, 8>;
            Vcmpleu4 "__nv_vcmpleu4" (a: I32, b: I32) -> (I32) = simd::vcmpleu::<_, 8>;
            Vcmplts4 "__nv_vcmplts4" (a: I32, b: I32) -> (I32) = simd::vcmplts::<_, 8>;
            Vcmpltu4 "__nv_vcmpltu4" (a: I32, b: I32) -> (I32) = simd::vcmpltu::<_, 8>;
            Vseteq4 "__nv_vseteq4" (a: I32, b: I32) -> (I32) = simd::vseteq::<_, 8>;
            Vsetne4 "__nv_vsetne4" (a: I32, b: I32) -> (I32) = simd::vsetne::<_, 8>;
            Vsetges4 "__nv_vsetges4" (a: I32, b: I32) -> (I32) = simd::vsetges::<_, 8>;
            Vsetgeu4 "__nv_vsetgeu4" (a: I32, b: I32) -> (I32) = simd::vsetgeu::<_, 8>;
            Vsetgts4 "__nv_vsetgts4" (a: I32, b: I32) -> (I32) = simd::vsetgts::<_, 8>;
            Vsetgtu4 "__nv_vsetgtu4" (a: I32, b: I32) -> (I32) = simd::vsetgtu::<_, 8>;
            Vsetles4 "__nv_vsetles4" (a: I32, b: I32) -> (I32) = simd::vsetles::<_, 8>;
            Vsetleu4 "__nv_vsetleu4" (a: I32, b: I32) -> (I32) = simd::vsetleu::<_, 8>;
            Vsetlts4 "__nv_vsetlts4" (a: I32, b: I32) -> (I32) = simd::vsetlts::<_, 8>;
            Vsetltu4 "__nv_vsetltu4" (a: I32, b: I32) -> (I32) = simd::vsetltu::<_, 8>;
            Rcp64h "__nv_rcp64h" (x: F64) -> (F64) = approx::rcp_f64;
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
