// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device library: what each `__nv_*` function computes.
//!
//! Most functions of floating point are formulas of the crate `margay-math`, which every engine
//! shares. Here are the others, lane by lane: integer functions, conversions and constants.
//!
//! Accuracy is at least what the CUDA Programming Guide's appendix on mathematical functions
//! grants (`tests/math_tables.rs` measures it). Results do not depend on the host's C library.
//! Subnormals are never flushed, except by `.approx` operations and the `fast` functions made of
//! them.

mod convert;
mod integer;
mod lane;
mod parts;
mod rounded;

use margay_ir::Builtin;
use margay_math::Function;
use margay_math::planes::{self, Level};

pub use lane::{Plane, PlaneFn};

/// Computes a builtin in the lanes of `mask`. `args` and `rets` have as many planes as the
/// builtin's row has types.
pub fn eval(builtin: Builtin, args: &[Plane], mask: u32, rets: &mut [Plane]) {
    lookup(builtin)(args, mask, rets);
}

/// A function that `margay-math` has for all engines.
fn formula(builtin: Builtin) -> PlaneFn {
    match Function::by_name(builtin.name()) {
        Some(function) => planes::plane_fn(function, Level::best()),
        None => unreachable!("the table of margay-math has every function of this list"),
    }
}

/// The function of a builtin, to be looked up once and called often.
pub fn lookup(builtin: Builtin) -> PlaneFn {
    use Builtin::*;
    match builtin {
        Acos | Acosf | Acosh | Acoshf | Asin | Asinf | Asinh | Asinhf | Atan | Atan2 | Atan2f
        | Atanf | Atanh | Atanhf | Cbrt | Cbrtf | Ceil | Ceilf | Copysign | Copysignf | Cos
        | Cosf | Cosh | Coshf | Cospi | Cospif | Erf | Erfc | Erfcf | Erfcinvf | Erfcx | Erfcxf
        | Erff | Erfinvf | Exp | Exp10 | Exp10f | Exp2 | Exp2f | Expf | Expm1 | Expm1f | Fabs
        | Fabsf | FastCosf | FastExp10f | FastExpf | FastFdividef | FastLog10f | FastLog2f
        | FastLogf | FastPowf | FastSincosf | FastSinf | FastTanf | Fdim | Fdimf | Finitef
        | Floor | Floorf | Fma | Fmaf | Fmax | Fmaxf | Fmin | Fminf | Frexp | Frexpf | Hypot
        | Hypotf | Ilogb | Ilogbf | Isfinited | Isinfd | Isinff | Isnand | Isnanf | Ldexp
        | Ldexpf | Log | Log10 | Log10f | Log1p | Log1pf | Log2 | Log2f | Logb | Logbf | Logf
        | Modf | Modff | Nearbyint | Nearbyintf | Nextafter | Nextafterf | Norm3d | Norm3df
        | Norm4d | Norm4df | Normcdf | Normcdff | Normcdfinvf | Pow | Powf | Powi | Powif
        | Rcbrt | Rcbrtf | Rhypot | Rhypotf | Rint | Rintf | Rnorm3d | Rnorm3df | Rnorm4d
        | Rnorm4df | Round | Roundf | Rsqrt | Rsqrtf | Saturatef | Scalbn | Scalbnf | Signbitd
        | Signbitf | Sin | Sincos | Sincosf | Sincospi | Sincospif | Sinf | Sinh | Sinhf
        | Sinpi | Sinpif | Sqrt | Sqrtf | Tan | Tanf | Tanh | Tanhf | Trunc | Truncf | Erfcinv
        | Erfinv | Normcdfinv | Fmod | Fmodf | Remainder | Remainderf | Remquo | Remquof
        | FrsqrtRn | DaddRd | DsubRd | DmulRd | DdivRd | DrcpRd | DsqrtRd | FaddRd | FsubRd
        | FmulRd | FdivRd | FrcpRd | FsqrtRd | FmaRd | FmafRd | Double2floatRd | Int2floatRd
        | Uint2floatRd | Ll2floatRd | Ull2floatRd | Ll2doubleRd | Ull2doubleRd | DaddRu
        | DsubRu | DmulRu | DdivRu | DrcpRu | DsqrtRu | FaddRu | FsubRu | FmulRu | FdivRu
        | FrcpRu | FsqrtRu | FmaRu | FmafRu | Double2floatRu | Int2floatRu | Uint2floatRu
        | Ll2floatRu | Ull2floatRu | Ll2doubleRu | Ull2doubleRu | DaddRz | DsubRz | DmulRz
        | DdivRz | DrcpRz | DsqrtRz | FaddRz | FsubRz | FmulRz | FdivRz | FrcpRz | FsqrtRz
        | FmaRz | FmafRz | Double2floatRz | Int2floatRz | Uint2floatRz | Ll2floatRz
        | Ull2floatRz | Ll2doubleRz | Ull2doubleRz | Vabs2 | Vabs4 | Vabsdiffs2 | Vabsdiffs4
        | Vabsdiffu2 | Vabsdiffu4 | Vabsss2 | Vabsss4 | Vadd2 | Vadd4 | Vaddss2 | Vaddss4
        | Vaddus2 | Vaddus4 | Vavgs2 | Vavgs4 | Vavgu2 | Vavgu4 | Vcmpeq2 | Vcmpeq4 | Vcmpges2
        | Vcmpges4 | Vcmpgeu2 | Vcmpgeu4 | Vcmpgts2 | Vcmpgts4 | Vcmpgtu2 | Vcmpgtu4 | Vcmples2
        | Vcmples4 | Vcmpleu2 | Vcmpleu4 | Vcmplts2 | Vcmplts4 | Vcmpltu2 | Vcmpltu4 | Vcmpne2
        | Vcmpne4 | Vhaddu2 | Vhaddu4 | Vmaxs2 | Vmaxs4 | Vmaxu2 | Vmaxu4 | Vmins2 | Vmins4
        | Vminu2 | Vminu4 | Vneg2 | Vneg4 | Vnegss2 | Vnegss4 | Vsads2 | Vsads4 | Vsadu2
        | Vsadu4 | Vseteq2 | Vseteq4 | Vsetges2 | Vsetges4 | Vsetgeu2 | Vsetgeu4 | Vsetgts2
        | Vsetgts4 | Vsetgtu2 | Vsetgtu4 | Vsetles2 | Vsetles4 | Vsetleu2 | Vsetleu4 | Vsetlts2
        | Vsetlts4 | Vsetltu2 | Vsetltu4 | Vsetne2 | Vsetne4 | Vsub2 | Vsub4 | Vsubss2
        | Vsubss4 | Vsubus2 | Vsubus4 | Rcp64h | CylBesselI0 | CylBesselI0f | CylBesselI1
        | CylBesselI1f | J0 | J0f | J1 | J1f | Jn | Jnf | Lgamma | Lgammaf | Tgamma | Tgammaf
        | Y0 | Y0f | Y1 | Y1f | Yn | Ynf => formula(builtin),
        FmafIeeeRd => formula(Builtin::FmafRd),
        FmafIeeeRu => formula(Builtin::FmafRu),
        FmafIeeeRz => formula(Builtin::FmafRz),
        Nan => parts::nan,
        Nanf => parts::nanf,
        DaddRn => rounded::dadd_rn,
        DdivRn => rounded::ddiv_rn,
        DmulRn => rounded::dmul_rn,
        DrcpRn => rounded::drcp_rn,
        DsqrtRn => rounded::dsqrt_rn,
        DsubRn => rounded::dsub_rn,
        FaddRn => rounded::fadd_rn,
        FdivRn => rounded::fdiv_rn,
        FmaRn => rounded::fma_rn,
        FmafIeeeRn => rounded::fmaf_ieee_rn,
        FmafRn => rounded::fmaf_rn,
        FmulRn => rounded::fmul_rn,
        FrcpRn => rounded::frcp_rn,
        FsqrtRn => rounded::fsqrt_rn,
        FsubRn => rounded::fsub_rn,
        Double2floatRn => convert::double2float_rn,
        Double2hiint => convert::double2hiint,
        Double2intRd => convert::double2int_rd,
        Double2intRn => convert::double2int_rn,
        Double2intRu => convert::double2int_ru,
        Double2intRz => convert::double2int_rz,
        Double2llRd => convert::double2ll_rd,
        Double2llRn => convert::double2ll_rn,
        Double2llRu => convert::double2ll_ru,
        Double2llRz => convert::double2ll_rz,
        Double2loint => convert::double2loint,
        Double2uintRd => convert::double2uint_rd,
        Double2uintRn => convert::double2uint_rn,
        Double2uintRu => convert::double2uint_ru,
        Double2uintRz => convert::double2uint_rz,
        Double2ullRd => convert::double2ull_rd,
        Double2ullRn => convert::double2ull_rn,
        Double2ullRu => convert::double2ull_ru,
        Double2ullRz => convert::double2ull_rz,
        DoubleAsLonglong => convert::double_as_longlong,
        Float2halfRn => convert::float2half_rn,
        Float2intRd => convert::float2int_rd,
        Float2intRn => convert::float2int_rn,
        Float2intRu => convert::float2int_ru,
        Float2intRz => convert::float2int_rz,
        Float2llRd => convert::float2ll_rd,
        Float2llRn => convert::float2ll_rn,
        Float2llRu => convert::float2ll_ru,
        Float2llRz => convert::float2ll_rz,
        Float2uintRd => convert::float2uint_rd,
        Float2uintRn => convert::float2uint_rn,
        Float2uintRu => convert::float2uint_ru,
        Float2uintRz => convert::float2uint_rz,
        Float2ullRd => convert::float2ull_rd,
        Float2ullRn => convert::float2ull_rn,
        Float2ullRu => convert::float2ull_ru,
        Float2ullRz => convert::float2ull_rz,
        FloatAsInt => convert::float_as_int,
        FloatAsUint => convert::float_as_uint,
        Half2float => convert::half2float,
        Hiloint2double => convert::hiloint2double,
        Int2doubleRn => convert::int2double_rn,
        Int2floatRn => convert::int2float_rn,
        IntAsFloat => convert::int_as_float,
        Ll2doubleRn => convert::ll2double_rn,
        Ll2floatRn => convert::ll2float_rn,
        Llrint => convert::llrint,
        Llrintf => convert::llrintf,
        Llround => convert::llround,
        Llroundf => convert::llroundf,
        LonglongAsDouble => convert::longlong_as_double,
        Uint2doubleRn => convert::uint2double_rn,
        Uint2floatRn => convert::uint2float_rn,
        UintAsFloat => convert::uint_as_float,
        Ull2doubleRn => convert::ull2double_rn,
        Ull2floatRn => convert::ull2float_rn,
        Abs => integer::abs,
        Brev => integer::brev,
        Brevll => integer::brevll,
        BytePerm => integer::byte_perm,
        Clz => integer::clz,
        Clzll => integer::clzll,
        Ffs => integer::ffs,
        Ffsll => integer::ffsll,
        Hadd => integer::hadd,
        Llabs => integer::llabs,
        Llmax => integer::llmax,
        Llmin => integer::llmin,
        Max => integer::max,
        Min => integer::min,
        Mul24 => integer::mul24,
        Mul64hi => integer::mul64hi,
        Mulhi => integer::mulhi,
        Popc => integer::popc,
        Popcll => integer::popcll,
        Rhadd => integer::rhadd,
        Sad => integer::sad,
        Uhadd => integer::uhadd,
        Ullmax => integer::ullmax,
        Ullmin => integer::ullmin,
        Umax => integer::umax,
        Umin => integer::umin,
        Umul24 => integer::umul24,
        Umul64hi => integer::umul64hi,
        Umulhi => integer::umulhi,
        Urhadd => integer::urhadd,
        Usad => integer::usad,
    }
}
