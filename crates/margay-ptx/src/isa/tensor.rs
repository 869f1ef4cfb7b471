// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrix instructions of a warp and of a warpgroup: `wmma`, `mma`, `ldmatrix`, `stmatrix`,
//! `movmatrix`, `wgmma` (PTX ISA, sections 9.7.14 and 9.7.15).
//!
//! The notation of the rows is explained in [`super::rows`].

pub(super) const ROWS: &str = r"
.layout .alayout .blayout = .row .col
.ss = .global .shared .shared::cta
.int8 = .u8 .s8
.int4 = .u4 .s4

# wmma.load.a  warp-level-matrix-instructions-wmma-ld
@ ptx 6.0 sm_70
.shape = .m16n16k16 .m8n32k16 .m32n8k16
.atype = .f16 .s8 .u8 .bf16
wmma.load.a.sync{.aligned}.layout.shape{.ss}.atype r, [p]{, stride}
.shape = .m16n16k8
wmma.load.a.sync{.aligned}.layout.shape{.ss}.tf32 r, [p]{, stride}
.shape = .m8n8k4
wmma.load.a.sync{.aligned}.layout.shape{.ss}.f64 r, [p]{, stride}
wmma.load.a.sync{.aligned}.row.m8n8k32{.ss}.int4 r, [p]{, stride}
wmma.load.a.sync{.aligned}.row.m8n8k128{.ss}.b1 r, [p]{, stride}

# wmma.load.b  warp-level-matrix-instructions-wmma-ld
.shape = .m16n16k16 .m8n32k16 .m32n8k16
.btype = .f16 .s8 .u8 .bf16
wmma.load.b.sync{.aligned}.layout.shape{.ss}.btype r, [p]{, stride}
.shape = .m16n16k8
wmma.load.b.sync{.aligned}.layout.shape{.ss}.tf32 r, [p]{, stride}
.shape = .m8n8k4
wmma.load.b.sync{.aligned}.layout.shape{.ss}.f64 r, [p]{, stride}
wmma.load.b.sync{.aligned}.col.m8n8k32{.ss}.int4 r, [p]{, stride}
wmma.load.b.sync{.aligned}.col.m8n8k128{.ss}.b1 r, [p]{, stride}

# wmma.load.c  warp-level-matrix-instructions-wmma-ld
.shape = .m16n16k16 .m8n32k16 .m32n8k16
.ctype = .f16 .f32 .s32
wmma.load.c.sync{.aligned}.layout.shape{.ss}.ctype r, [p]{, stride}
.shape = .m16n16k8
wmma.load.c.sync{.aligned}.layout.shape{.ss}.f32 r, [p]{, stride}
.shape = .m8n8k4
wmma.load.c.sync{.aligned}.layout.shape{.ss}.f64 r, [p]{, stride}
.shape = .m8n8k32 .m8n8k128
wmma.load.c.sync{.aligned}.layout.shape{.ss}.s32 r, [p]{, stride}

# wmma.store.d  warp-level-matrix-instructions-wmma-st
.shape = .m16n16k16 .m8n32k16 .m32n8k16
.type = .f16 .f32 .s32
wmma.store.d.sync{.aligned}.layout.shape{.ss}.type [p], r{, stride}
.shape = .m8n8k32 .m8n8k128
wmma.store.d.sync{.aligned}.layout.shape{.ss}.s32 [p], r{, stride}
wmma.store.d.sync{.aligned}.layout.m16n16k8{.ss}.f32 [p], r{, stride}
wmma.store.d.sync{.aligned}.layout.m8n8k4{.ss}.f64 [p], r{, stride}

# wmma.mma  warp-level-matrix-instructions-wmma-mma
.shape = .m16n16k16 .m8n32k16 .m32n8k16
.dtype .ctype = .f16 .f32
wmma.mma.sync{.aligned}.alayout.blayout.shape.dtype.ctype{.satfinite} d, a, b, c
@ ptx 6.3 sm_72
wmma.mma.sync{.aligned}.alayout.blayout.shape.s32.int8.int8.s32{.satfinite} d, a, b, c
wmma.mma.sync{.aligned}.row.col.m8n8k32.s32.int4.int4.s32{.satfinite} d, a, b, c
.op = .xor .and
wmma.mma.op.popc.sync{.aligned}.row.col.m8n8k128.s32.b1.b1.s32 d, a, b, c
@ ptx 7.0 sm_80
.rnd = .rn .rz .rm .rp
wmma.mma.sync{.aligned}.alayout.blayout.shape.f32.bf16.bf16.f32 d, a, b, c
wmma.mma.sync{.aligned}.alayout.blayout.m16n16k8.f32.tf32.tf32.f32 d, a, b, c
wmma.mma.sync{.aligned}.alayout.blayout.m8n8k4{.rnd}.f64.f64.f64.f64 d, a, b, c
wmma.mma.sync{.aligned}.alayout.blayout.m8n8k4.f64.f64.f64.f64{.rnd} d, a, b, c

# mma  warp-level-matrix-instructions-mma
@ ptx 6.4 sm_70
.dtype .ctype = .f16 .f32
mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype d, a, b, c
@ ptx 6.5 sm_75
.shape = .m16n8k8 .m16n8k16
mma.sync.aligned.shape.row.col.dtype.f16.f16.ctype d, a, b, c
@ ptx 7.0 sm_80
.shape = .m16n8k4 .m16n8k8
mma.sync.aligned.shape.row.col.f32.tf32.tf32.f32 d, a, b, c
.shape = .m16n8k8 .m16n8k16
mma.sync.aligned.shape.row.col.f32.bf16.bf16.f32 d, a, b, c
@ ptx 8.4 sm_89
.shape = .m16n8k16 .m16n8k32
.f8type = .e4m3 .e5m2
mma.sync.aligned.shape.row.col.dtype.f8type.f8type.ctype d, a, b, c
@ ptx 8.7 sm_120a
.f8f6f4type = .e4m3 .e5m2 .e3m2 .e2m3 .e2m1
mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.dtype.f8f6f4type.f8f6f4type.ctype d, a, b, c
mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d, a, b, c, scale-a, {byte-a, thread-a}, scale-b, {byte-b, thread-b}
.scale_vec = .scale_vec::2X .scale_vec::4X
.stype = .ue8m0 .ue4m3
mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec.f32.e2m1.e2m1.f32.stype d, a, b, c, scale-a, {byte-a, thread-a}, scale-b, {byte-b, thread-b}
mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.f8f6f4type.f8f6f4type.f32.ue8m0 d, a, b, c, scale-a, {byte-a, thread-a}, scale-b, {byte-b, thread-b}
@ ptx 7.0 sm_80
.rnd = .rn .rz .rm .rp
.shape = .m8n8k4 .m16n8k4 .m16n8k8 .m16n8k16
mma.sync.aligned.shape.row.col{.rnd}.f64.f64.f64.f64 d, a, b, c
@ ptx 6.5 sm_75
.shape = .m8n8k16 .m16n8k16 .m16n8k32
mma.sync.aligned.shape.row.col{.satfinite}.s32.int8.int8.s32 d, a, b, c
.shape = .m8n8k32 .m16n8k32 .m16n8k64
mma.sync.aligned.shape.row.col{.satfinite}.s32.int4.int4.s32 d, a, b, c
@ ptx 7.0 sm_80
.bitOp = .xor .and
.shape = .m8n8k128 .m16n8k128 .m16n8k256
mma.sync.aligned.shape.row.col.s32.b1.b1.s32.bitOp.popc d, a, b, c

# mma.sp  warp-level-matrix-instructions-for-sparse-mma
@ ptx 7.1 sm_80
.dtype .ctype = .f16 .f32
.shape = .m16n8k16 .m16n8k32
mma.sp.sync.aligned.shape.row.col.dtype.f16.f16.ctype d, a, b, c, e, f
mma.sp.sync.aligned.shape.row.col.f32.bf16.bf16.f32 d, a, b, c, e, f
.shape = .m16n8k8 .m16n8k16
mma.sp.sync.aligned.shape.row.col.f32.tf32.tf32.f32 d, a, b, c, e, f
.shape = .m16n8k32 .m16n8k64
mma.sp.sync.aligned.shape.row.col{.satfinite}.s32.int8.int8.s32 d, a, b, c, e, f
.shape = .m16n8k64 .m16n8k128
mma.sp.sync.aligned.shape.row.col{.satfinite}.s32.int4.int4.s32 d, a, b, c, e, f
@ ptx 8.4 sm_89
.f8type = .e4m3 .e5m2
mma.sp.sync.aligned.m16n8k64.row.col.dtype.f8type.f8type.ctype d, a, b, c, e, f

# mma.sp::ordered_metadata  warp-level-matrix-instructions-for-sparse-mma
@ ptx 8.5 sm_80
.dtype .ctype = .f16 .f32
.shape = .m16n8k16 .m16n8k32
mma.sp::ordered_metadata.sync.aligned.shape.row.col.dtype.f16.f16.ctype d, a, b, c, e, f
mma.sp::ordered_metadata.sync.aligned.shape.row.col.f32.bf16.bf16.f32 d, a, b, c, e, f
.shape = .m16n8k8 .m16n8k16
mma.sp::ordered_metadata.sync.aligned.shape.row.col.f32.tf32.tf32.f32 d, a, b, c, e, f
.shape = .m16n8k32 .m16n8k64
mma.sp::ordered_metadata.sync.aligned.shape.row.col{.satfinite}.s32.int8.int8.s32 d, a, b, c, e, f
.shape = .m16n8k64 .m16n8k128
mma.sp::ordered_metadata.sync.aligned.shape.row.col{.satfinite}.s32.int4.int4.s32 d, a, b, c, e, f
.f8type = .e4m3 .e5m2
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.dtype.f8type.f8type.ctype d, a, b, c, e, f
@ ptx 8.7 sm_120a
.f8f6f4type = .e4m3 .e5m2 .e3m2 .e2m3 .e2m1
.scale_vec = .scale_vec::2X .scale_vec::4X
.stype = .ue8m0 .ue4m3
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.dtype.f8f6f4type.f8f6f4type.ctype d, a, b, c, e, f
mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 d, a, b, c, e, f, scale-a, {byte-a, thread-a}, scale-b, {byte-b, thread-b}
mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec.f32.e2m1.e2m1.f32.stype d, a, b, c, e, f, scale-a, {byte-a, thread-a}, scale-b, {byte-b, thread-b}
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale{.scale_vec::1X}.f32.f8f6f4type.f8f6f4type.f32.ue8m0 d, a, b, c, e, f, scale-a, {byte-a, thread-a}, scale-b, {byte-b, thread-b}

# ldmatrix  warp-level-matrix-instructions-ldmatrix
@ ptx 6.5 sm_75
.shape = .m8n8 .m16n16
.num = .x1 .x2 .x4
.ss = .shared .shared::cta
.type = .b16 .b8
ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type r, [p]
ldmatrix.sync.aligned.num{.trans}.shape{.ss}.type r, [p]
@ ptx 8.6 sm_100a
.src_fmt = .b6x16_p32 .b4x16_p64
ldmatrix.sync.aligned.m8n16.num{.ss}.b8x16.src_fmt r, [p]
ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8x16.src_fmt r, [p]
@ ptx 9.4 sm_90a
ldmatrix.sync.aligned.m8n16.num{.ss}.s8.s4 r, [p]

# stmatrix  warp-level-matrix-instructions-stmatrix
@ ptx 7.8 sm_90
.shape = .m8n8 .m16n8
.num = .x1 .x2 .x4
.ss = .shared .shared::cta
.type = .b16 .b8
stmatrix.sync.aligned.shape.num{.trans}{.ss}.type [p], r
stmatrix.sync.aligned.num{.trans}.shape{.ss}.type [p], r

# movmatrix  warp-level-matrix-instructions-movmatrix
@ ptx 7.8 sm_75
movmatrix.sync.aligned.m8n8.trans.b16 d, a

# wgmma.mma_async  asynchronous-warpgroup-level-matrix-instructions-wgmma-mma-async
@ ptx 8.0 sm_90a
.dtype = .f16 .f32
.shape = .m64n<8-256:8>k16
wgmma.mma_async.sync.aligned.shape.dtype.f16.f16 d, a, b-desc, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a}, imm-trans-b
wgmma.mma_async.sync.aligned.shape.f32.bf16.bf16 d, a, b-desc, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a}, imm-trans-b
.shape = .m64n<8-256:8>k8
wgmma.mma_async.sync.aligned.shape.f32.tf32.tf32 d, a, b-desc, scale-d, imm-scale-a, imm-scale-b
.f8type = .e4m3 .e5m2
.shape = .m64n<8-256:8>k32
wgmma.mma_async.sync.aligned.shape.dtype.f8type.f8type d, a, b-desc, scale-d, imm-scale-a, imm-scale-b
.shape = .m64n8k32 .m64n24k32 .m64n<16-256:16>k32
wgmma.mma_async.sync.aligned.shape{.satfinite}.s32.int8.int8 d, a, b-desc, scale-d
wgmma.mma_async.sync.aligned.shape.s32.int8.int8{.satfinite} d, a, b-desc, scale-d
.shape = .m64n8k256 .m64n24k256 .m64n<16-256:16>k256
wgmma.mma_async.sync.aligned.shape.s32.b1.b1.and.popc d, a, b-desc, scale-d

# wgmma.mma_async.sp  asynchronous-warpgroup-level-matrix-instructions-wgmma-mma-async-sp
@ ptx 8.2 sm_90a
.dtype = .f16 .f32
.shape = .m64n<8-256:8>k32
wgmma.mma_async.sp.sync.aligned.shape.dtype.f16.f16 d, a, b-desc, sp-meta, sp-sel, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a}, imm-trans-b
wgmma.mma_async.sp.sync.aligned.shape.f32.bf16.bf16 d, a, b-desc, sp-meta, sp-sel, scale-d, imm-scale-a, imm-scale-b{, imm-trans-a}, imm-trans-b
.shape = .m64n<8-256:8>k16
wgmma.mma_async.sp.sync.aligned.shape.f32.tf32.tf32 d, a, b-desc, sp-meta, sp-sel, scale-d, imm-scale-a, imm-scale-b
.f8type = .e4m3 .e5m2
.shape = .m64n<8-256:8>k64
wgmma.mma_async.sp.sync.aligned.shape.dtype.f8type.f8type d, a, b-desc, sp-meta, sp-sel, scale-d, imm-scale-a, imm-scale-b
.shape = .m64n8k64 .m64n24k64 .m64n<16-256:16>k64
wgmma.mma_async.sp.sync.aligned.shape{.satfinite}.s32.int8.int8 d, a, b-desc, sp-meta, sp-sel, scale-d
wgmma.mma_async.sp.sync.aligned.shape.s32.int8.int8{.satfinite} d, a, b-desc, sp-meta, sp-sel, scale-d

# wgmma.fence  asynchronous-warpgroup-level-matrix-instructions-wgmma-fence
@ ptx 8.0 sm_90a
wgmma.fence.sync.aligned

# wgmma.commit_group  asynchronous-warpgroup-level-matrix-instructions-wgmma-commit-group
wgmma.commit_group.sync.aligned

# wgmma.wait_group  asynchronous-warpgroup-level-matrix-instructions-wgmma-wait-group
wgmma.wait_group.sync.aligned N
";
