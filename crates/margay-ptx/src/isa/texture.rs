// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface instructions (PTX ISA, "Texture Instructions", "Surface Instructions").
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.mode = .trap .clamp .zero

# tex  texture-instructions-tex
@ ptx 1.0 sm_10
.geom = .1d .2d .3d .a1d .a2d .cube .acube .2dms .a2dms
.dtype = .u32 .s32 .f16 .f32
.ctype = .s32 .f32
tex.geom.v4.dtype.ctype d{|p}, [a, {b,} c]{, {e}}{, f}
tex.geom.v2.f16x2.ctype d{|p}, [a, {b,} c]{, {e}}{, f}
@ ptx 3.1 sm_20
tex.base.geom.v4.dtype.ctype d{|p}, [a, {b,} c]{, {e}}{, f}
tex.level.geom.v4.dtype.ctype d{|p}, [a, {b,} c], lod{, {e}}{, f}
tex.grad.geom.v4.dtype.ctype d{|p}, [a, {b,} c], dPdx, dPdy{, {e}}{, f}
tex.base.geom.v2.f16x2.ctype d{|p}, [a, {b,} c]{, {e}}{, f}
tex.level.geom.v2.f16x2.ctype d{|p}, [a, {b,} c], lod{, {e}}{, f}
tex.grad.geom.v2.f16x2.ctype d{|p}, [a, {b,} c], dPdx, dPdy{, {e}}{, f}

# tld4  texture-instructions-tld4
@ ptx 2.2 sm_20
.comp = .r .g .b .a
.geom = .2d .a2d .cube .acube
.dtype = .u32 .s32 .f32
tld4.comp.geom.v4.dtype.f32 d{|p}, [a, {b,} c]{, {e}}{, f}

# txq  texture-instructions-txq
@ ptx 1.5 sm_10
.query = .width .height .depth .channel_data_type .channel_order .normalized_coords .array_size .num_mipmap_levels .num_samples .force_unnormalized_coords .filter_mode .addr_mode_0 .addr_mode_1 .addr_mode_2
txq.query.b32 d, [a]
@ ptx 4.3 sm_30
.query = .width .height .depth
txq.level.query.b32 d, [a], lod

# istypep  texture-instructions-istypep
@ ptx 4.0 sm_30
.type = .texref .samplerref .surfref
istypep.type p, a

# suld  surface-instructions-suld
@ ptx 1.5 sm_20
.geom = .1d .2d .3d .a1d .a2d
.cop = .ca .cg .cs .cv
.vec = .v2 .v4
.dtype = .b8 .b16 .b32 .b64
suld.b.geom{.cop}{.vec}.dtype{.mode} d, [a, b]
.dtype = .b32 .u32 .s32 .f32
suld.p.geom{.cop}{.vec}.dtype{.mode} d, [a, b]

# sust  surface-instructions-sust
.geom = .1d .2d .3d .a1d .a2d
.cop = .wb .cg .cs .wt
.vec = .v2 .v4
.ctype = .b8 .b16 .b32 .b64
sust.b.geom{.cop}{.vec}.ctype{.mode} [a, b], c
.geom = .1d .2d .3d
.ctype = .b32 .u32 .s32 .f32
sust.p.geom{.cop}{.vec}.ctype{.mode} [a, b], c

# sured  surface-instructions-sured
@ ptx 3.0 sm_20
.op = .add .min .max .and .or
.geom = .1d .2d .3d
.ctype = .u32 .u64 .s32 .b32 .s64
sured.b.op.geom.ctype{.mode} [a, b], c
.ctype = .b32 .b64
sured.p.op.geom.ctype{.mode} [a, b], c

# suq  surface-instructions-suq
@ ptx 1.5 sm_10
.query = .width .height .depth .channel_data_type .channel_order .array_size .memory_layout
suq.query.b32 d, [a]
";
