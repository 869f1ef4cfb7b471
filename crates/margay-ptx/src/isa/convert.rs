// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions of values and of addresses (PTX ISA, `cvt`, `cvt.pack`, `cvta`, `isspacep`, `mapa`,
//! `getctarank`).
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
# cvt  data-movement-and-conversion-instructions-cvt
@ ptx 1.0 sm_10
.irnd = .rni .rzi .rmi .rpi
.frnd = .rn .rz .rm .rp
.dtype .atype = .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .bf16 .f16 .f32 .f64
cvt{.irnd}{.ftz}{.sat}.dtype.atype d, a
cvt{.frnd}{.ftz}{.sat}.dtype.atype d, a
@ ptx 7.0 sm_80
.frnd2 = .rn .rz
.half = .f16 .bf16
cvt.frnd2{.relu}{.satfinite}.half.f32 d, a
.halfx2 = .f16x2 .bf16x2
cvt.frnd2{.relu}{.satfinite}.halfx2.f32 d, a, b
cvt.rna{.satfinite}.tf32.f32 d, a
@ ptx 7.8 sm_90
cvt.frnd2{.satfinite}{.relu}.tf32.f32 d, a
@ ptx 8.7 sm_100a
cvt.rs{.relu}{.satfinite}.halfx2.f32 d, a, b, rbits
@ ptx 7.8 sm_89
.f8x2type = .e4m3x2 .e5m2x2
cvt.rn.satfinite{.relu}.f8x2type.f32 d, a, b
cvt.rn.satfinite{.relu}.f8x2type.f16x2 d, a
cvt.rn{.relu}.f16x2.f8x2type d, a
@ ptx 8.6 sm_100a
.f46x2type = .e2m1x2 .e2m3x2 .e3m2x2
cvt.rn.satfinite{.relu}.f46x2type.f32 d, a, b
cvt.rn{.relu}.f16x2.f46x2type d, a
.frnd3 = .rz .rp
cvt.frnd3{.satfinite}.ue8m0x2.f32 d, a, b
cvt.frnd3{.satfinite}.ue8m0x2.bf16x2 d, a
cvt.rn.bf16x2.ue8m0x2 d, a
@ ptx 8.7 sm_100a
.f8x4type = .e4m3x4 .e5m2x4 .e2m1x4 .e2m3x4 .e3m2x4
cvt.rs{.relu}.satfinite.f8x4type.f32 d, {a, b, e, f}, rbits
@ ptx 9.1 sm_100a
.fx2type = .e4m3x2 .e5m2x2 .e2m1x2 .e2m3x2 .e3m2x2
.h2type = .f16x2 .bf16x2
cvt.rn.satfinite{.relu}.fx2type.h2type d, a
cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2.fx2type d, a{, scale-factor}
@ ptx 9.4 sm_107f
.halfx2 = .f16x2 .bf16x2
.narrow = .e4m3x2 .e5m2x2 .e2m1x2 .e2m3x2 .e3m2x2
cvt.rn.pzo{.relu}{.satfinite}.halfx2.f32 d, a, b
cvt.frnd2.pzo.satfinite{.relu}.narrow.f32 d, a, b
cvt.rz.satfinite{.relu}.narrow.f32 d, a, b
cvt.rz.satfinite{.relu}.narrow.halfx2 d, a
cvt.rn{.satfinite}.ue5m3x2.f32 d, a, b
cvt.rn{.satfinite}.ue5m3x2.bf16x2 d, a
cvt.rn.halfx2.ue5m3x2 d, a
@ ptx 9.1 sm_100a
.s2rnd = .rn
cvt.s2rnd.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.f32 d, a, b{, scale-factor}
cvt.s2rnd.satfinite{.relu}{.scaled::n2::ue8m0}.s2f6x2.bf16x2 d, a{, scale-factor}
cvt.rn{.satfinite}{.relu}{.scaled::n2::ue8m0}.bf16x2.s2f6x2 d, a{, scale-factor}

# cvt.pack  data-movement-and-conversion-instructions-cvt-pack
@ ptx 6.5 sm_72
.convertType = .u16 .s16
cvt.pack.sat.convertType.s32 d, a, b
.convertType = .u2 .s2 .u4 .s4 .u8 .s8
cvt.pack.sat.convertType.s32.b32 d, a, b, c

# cvta  data-movement-and-conversion-instructions-cvta
@ ptx 2.0 sm_20
.space = .const .global .local .shared .shared::cta .shared::cluster .param .param::entry
.size  = .u32 .u64
cvta.space.size p, a
cvta.to.space.size p, a

# isspacep  data-movement-and-conversion-instructions-isspacep
.space = .const .global .local .shared .shared::cta .shared::cluster .param .param::entry
isspacep.space p, a

# mapa  data-movement-and-conversion-instructions-mapa
@ ptx 7.8 sm_90
.type = .u32 .u64
mapa{.shared::cluster}.type d, a, b

# getctarank  data-movement-and-conversion-instructions-getctarank
.type = .u32 .u64
getctarank{.shared::cluster}.type d, a
";
